"""The protocol of randomizers for devices that report again and again from a memo.

A device keeps *permanent rows*, each drawn once: one for every *slot* that its values have had. A slot is the value
itself, or its hash value under a function that the device drew once for its life. A report is a permanent row seen
through fresh coins. So all reports of one slot together tell no more than its permanent row.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.counts.oracle_distributions import SupportDistribution
from tacit.errors import SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle
from tacit.privacy.device import DeviceLoss
from tacit.privacy.epsilon import check_epsilon
from tacit.randomness import Randomness


class RepeatedRandomizer(FrequencyOracle, Protocol):
    """A randomizer in two rounds: a permanent row for each slot, and instantaneous coins for each report.

    Formal guarantees, for a device that keeps its function and its permanent rows, against whoever knows which reports
    are the device's:

    ==================  ==============================================================================================
    epsilon_1           One report: the value replaced by any other.
    epsilon_after(n)    n reports about one value: it replaced by any other throughout.
    epsilon_infinity    Any number of them.
    epsilon_of_values   Any number of reports about several values: each slot replaced by another one, different slots
                        by different ones. *When* the slot changes is not hidden.
    ==================  ==============================================================================================
    """

    memo_name: ClassVar[str]
    """Its name in the file of a memo."""

    @property
    def epsilon_1(self) -> float:
        """The epsilon of one report."""

    @property
    def epsilon_infinity(self) -> float:
        """The epsilon of any number of reports about one value."""

    def epsilon_after(self, n_reports: int) -> float:
        """Return the epsilon of ``n_reports`` reports about one value."""

    def epsilon_of_values(self, n_values: int | None = None) -> float:
        """Return the epsilon of which values all reports are about, for so many different values; None: for all."""

    def __hash__(self) -> int:
        """Return equal hashes for equal mechanisms, so that what is known of one is known of all."""

    @property
    def loss(self) -> DeviceLoss:
        """The privacy loss of reports of one device, with the chances of both rounds."""

    @property
    def permanent_distribution(self) -> SupportDistribution:
        """The joint distribution of the cells that a permanent row supports: what of the error does not average out."""

    @property
    def n_slots(self) -> int:
        """The largest number of permanent rows that a device remembers."""

    @property
    def slot_limit(self) -> int:
        """The number that all slots lie below; there may be more of them than a device ever uses."""

    @property
    def n_functions(self) -> int:
        """The number of functions that a device draws its own from; 1 where there is nothing to draw."""

    def functions(self, count: int, *, randomness: Randomness) -> NDArray[np.int64]:
        """Draw the functions of so many new devices."""

    def slots(self, functions: NDArray[np.int64], cells: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the slots of cells on devices with these functions, one by one."""

    def permanent_rows(
        self, functions: NDArray[np.int64], slots: NDArray[np.int64], *, randomness: Randomness
    ) -> NDArray[np.uint8]:
        """Draw new permanent rows. Private: a device keeps them and never sends them."""

    def instantaneous(self, permanent: NDArray[np.uint8], *, randomness: Randomness) -> NDArray[np.uint8]:
        """Make reports of permanent rows: one fresh report for each row."""


class Remembering:
    """The epsilons of a :class:`RepeatedRandomizer`, all from its ``loss``."""

    __slots__ = ()

    @property
    def loss(self) -> DeviceLoss:
        """The privacy loss of reports of one device, with the chances of both rounds."""
        raise NotImplementedError

    @property
    def epsilon(self) -> float:
        """The epsilon of one report, as for any randomizer."""
        return self.epsilon_1

    @property
    def epsilon_1(self) -> float:
        """The epsilon of one report."""
        return self.epsilon_after(1)

    @property
    def epsilon_infinity(self) -> float:
        """The epsilon of any number of reports about one value: that of its permanent row."""
        return self.loss.epsilon_infinity

    def epsilon_after(self, n_reports: int) -> float:
        """Return the epsilon of ``n_reports`` reports about one value, with the same permanent row."""
        return self.loss.epsilon_after(n_reports)

    def epsilon_of_values(self, n_values: int | None = None) -> float:
        """Return the epsilon of which slots all reports are about, for so many different ones; None: for all."""
        return self.loss.epsilon_of_values(n_values)


def check_epsilons(epsilon_infinity: float, epsilon_1: float) -> None:
    """Refuse two epsilons that no memo can have."""
    check_epsilon(epsilon_infinity)
    check_epsilon(epsilon_1)
    if not epsilon_1 <= epsilon_infinity:
        raise SettingError(
            f"epsilon_1 must be at most epsilon_infinity; got epsilon_1={epsilon_1} and "
            f"epsilon_infinity={epsilon_infinity}. One report cannot tell more than all of them."
        )
