"""The memory of a device that reports again and again, and the protocol of randomizers that report from it.

A device keeps *permanent rows*, each drawn once: one for every *slot* that its values have had. A slot is the value
itself, or its hash value under a function that the device drew once for its life. A report is a permanent row seen
through fresh coins. So all reports of one slot together tell no more than its permanent row.

A memo is private. Whoever reads it knows about the values the device has held, so it stays on the device: it has no
wire form, shows no value, and its file may be read by its owner alone. It must not be lost either: a device that draws
its permanent rows again spends epsilon_infinity again.

The file is JSON with ``format``, ``kind`` (``"memo"``), ``notice``, ``mechanism`` (``name``, ``n_cells`` and
``thresholds`` in hexadecimal), ``is_simulation`` and ``permanent``: the permanent row of each slot, packed as a report,
in hexadecimal under the number of the slot. Format 2 has the device's ``function`` too, null before the first report.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.files import write_whole
from tacit.counts.oracle_distributions import SupportDistribution
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle, checked_cells
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


FORMATS: Final = (1, 2)
"""2 where the device has a function of its own, which readers of 1 do not know. All other memos stay 1."""
NOTICE: Final = (
    "PRIVATE. This file says which values the device has held. Keep it on the device; do not send or copy it."
)


class DeviceMemo:
    """The permanent rows of one device, in memory or in a file.

    With a file, new permanent rows are on the disk before the first report made of them exists, so a crash or a
    restart never draws them again. One process at a time may use a file.

    >>> from tacit.mechanisms.local.memoized import LongitudinalRappor
    >>> from tacit.randomness import SeededRandomness
    >>> rappor = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17)
    >>> memo = DeviceMemo(rappor)
    >>> memo.report(3, randomness=SeededRandomness(1)).shape
    (3,)
    >>> memo
    DeviceMemo(values withheld, simulation)
    """

    __slots__ = ("_function", "_is_simulation", "_path", "_rows", "mechanism")

    def __init__(self, mechanism: RepeatedRandomizer) -> None:
        if not _is_bounded(mechanism):
            raise SettingError(
                "f must be above 0 for a device that reports more than once; got f=0, where averaging its reports "
                "gives the value away. Choose a larger f."
            )
        self.mechanism = mechanism
        self._path: Path | None = None
        self._function: int | None = None
        self._rows: dict[int, NDArray[np.uint8]] = {}
        self._is_simulation: bool | None = None

    @classmethod
    def create(cls, mechanism: RepeatedRandomizer, path: str | Path) -> DeviceMemo:
        """Start an empty memo in a new file; a file that is there is never replaced."""
        memo = cls(mechanism)
        memo._path = Path(path).resolve()  # a link must keep pointing at the memo
        if memo._path.exists():
            raise SettingError(
                f"there is a file at {path} already. Go on with DeviceMemo.read: a new memo would draw permanent rows "
                "again, which spends epsilon_infinity again."
            )
        memo._save()
        return memo

    @classmethod
    def read(cls, mechanism: RepeatedRandomizer, path: str | Path) -> DeviceMemo:
        """Go on with the memo of a file, made under the same mechanism."""
        memo = cls(mechanism)
        memo._path = Path(path).resolve()  # a link must keep pointing at the memo
        try:
            content: dict[str, Any] = json.loads(memo._path.read_text(encoding="utf-8"))
            if content["kind"] != "memo" or content["format"] not in FORMATS:
                known = " or ".join(map(str, FORMATS))
                raise FormatError(f"{path} is not a memo of format {known}. Install a newer Tacit.")
            if content["mechanism"] != memo._mechanism():
                raise FormatError(f"the memo at {path} belongs to another mechanism. Use the plan it was made under.")
            if content["format"] != memo._format:
                raise ValueError("format")
            memo._is_simulation = content["is_simulation"]
            memo._function = memo._known_function(content)
            memo._rows = {int(slot): memo._row(row) for slot, row in content["permanent"].items()}
            checked_cells(np.array(list(memo._rows), np.int64), mechanism.slot_limit)
        except FileNotFoundError:
            raise FormatError(
                f"there is no memo at {path}. Bring it back from a backup; only for a device that never reported, "
                "start one with DeviceMemo.create."
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise FormatError(
                f"{path} is not a memo, or is damaged. Bring it back from a backup: a new one spends epsilon_infinity "
                "again."
            ) from None
        return memo

    def __repr__(self) -> str:
        return f"DeviceMemo(values withheld{', simulation' if self._is_simulation else ''})"

    def __reduce__(self) -> str:
        raise SettingError("a memo stays on its device. Use a file of its own: DeviceMemo.create.")

    def report(self, cell: int, *, randomness: Randomness) -> NDArray[np.uint8]:
        """Make one report about a value: fresh coins around a permanent row that is drawn only the first time."""
        (report,) = DeviceMemo.reports_of([self], [cell], randomness=randomness)
        return np.asarray(report, np.uint8)

    @staticmethod
    def reports_of(memos: Sequence[DeviceMemo], cells: Sequence[int], *, randomness: Randomness) -> NDArray[np.uint8]:
        """Make one report of each device, of one mechanism, about the cell it holds now."""
        mechanism = memos[0].mechanism
        functions = np.array([memo._own_function(randomness) for memo in memos])
        slots = mechanism.slots(functions, np.array(cells)).tolist()
        permanent = [memo._remembered(slot, randomness) for memo, slot in zip(memos, slots, strict=True)]
        return mechanism.instantaneous(np.array(permanent, np.uint8), randomness=randomness)

    def _own_function(self, randomness: Randomness) -> int:
        """Return the device's function, drawn the first time; it is saved with the first permanent row."""
        if self._is_simulation is None:
            self._is_simulation = randomness.is_simulation
        if self._is_simulation != randomness.is_simulation:
            raise SettingError(
                "a memo must be used with the kind of randomness it was made with: simulated permanent rows protect "
                "nobody, and secure ones are not for simulations. Make a memo of its own for a simulation."
            )
        if self._function is None:
            self._function = int(self.mechanism.functions(1, randomness=randomness)[0])
        return self._function

    def _remembered(self, slot: int, randomness: Randomness) -> NDArray[np.uint8]:
        """Return the permanent row of a slot, drawn and saved the first time."""
        if slot not in self._rows:
            functions = np.array([self._function])
            self._rows[slot] = self.mechanism.permanent_rows(functions, np.array([slot]), randomness=randomness)[0]
            try:
                self._save()
            except BaseException:
                del self._rows[slot]  # nothing may be sent of a row that would be forgotten
                if not self._rows:
                    self._function = None
                raise
        return self._rows[slot]

    @property
    def _has_function(self) -> bool:
        return self.mechanism.n_functions > 1

    @property
    def _format(self) -> int:
        return 2 if self._has_function else 1

    def _mechanism(self) -> dict[str, Any]:
        thresholds = {name: hex(threshold) for name, threshold in self.mechanism.thresholds().items()}
        return {"name": self.mechanism.memo_name, "n_cells": self.mechanism.n_cells, "thresholds": thresholds}

    def _known_function(self, content: dict[str, Any]) -> int | None:
        """Return the device's function in a file: none before the first report, and where there is nothing to draw."""
        function = content["function"] if self._has_function else None
        if function is None:
            if self._has_function and content["permanent"]:
                raise ValueError("rows without their function")
            return None
        if type(function) is not int or not 0 <= function < self.mechanism.n_functions:
            raise ValueError("function")
        return function

    def _row(self, text: str) -> NDArray[np.uint8]:
        row = np.frombuffer(bytes.fromhex(text), np.uint8)
        try:
            self.mechanism.statistics(row[None, :], np.array([1]))
        except FormatError:
            raise ValueError("not a permanent row") from None
        if (
            self._has_function
            and int.from_bytes(row.tobytes(), "little") % self.mechanism.n_functions != self._function
        ):
            raise ValueError("a permanent row of another function")
        return row

    def _save(self) -> None:
        if self._path is None:
            return
        content = {
            "format": self._format,
            "kind": "memo",
            "notice": NOTICE,
            "mechanism": self._mechanism(),
            "is_simulation": self._is_simulation,
            # in order of the slots, not of the days on which they were first had
            "permanent": {str(slot): self._rows[slot].tobytes().hex() for slot in sorted(self._rows)},
            **({"function": self._function} if self._has_function else {}),
        }
        write_whole(self._path, json.dumps(content, indent=1).encode(), is_private=True)


class FleetMemo:
    """The permanent rows of many simulated devices, in memory.

    >>> from tacit.mechanisms.local.memoized import LongitudinalRappor
    >>> from tacit.randomness import SeededRandomness
    >>> rappor = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17)
    >>> fleet, source = FleetMemo(rappor), SeededRandomness(1)
    >>> days = [fleet.randomize(np.arange(1000), np.arange(1000) % 17, randomness=source) for _ in range(3)]
    >>> days[0].shape
    (1000, 3)
    """

    __slots__ = ("_devices", "_functions", "_keys", "_rows", "mechanism")

    def __init__(self, mechanism: RepeatedRandomizer) -> None:
        self.mechanism = mechanism
        self._devices, self._functions = np.empty((2, 0), np.int64)
        self._keys = np.empty(0, np.int64)
        self._rows = np.empty((0, mechanism.report_bytes), np.uint8)

    def __repr__(self) -> str:
        return "FleetMemo(values withheld)"

    def randomize(
        self, devices: NDArray[np.integer], cells: NDArray[np.integer], *, randomness: Randomness
    ) -> NDArray[np.uint8]:
        """Make one report for each pair of a device's number and the cell it holds now."""
        held_by = np.asarray(devices, np.int64)
        limit = self.mechanism.slot_limit
        largest = (1 << 62) // limit
        if held_by.size and not (held_by.min() >= 0 and held_by.max() < largest):
            raise SettingError(f"devices must be numbers from 0 to {largest - 1}. Number the devices again.")
        keys = held_by * limit + self.mechanism.slots(self._functions_of(held_by, randomness), cells)
        new = np.setdiff1d(keys, self._keys)
        functions = self._functions_of(new // limit, randomness)
        drawn = self.mechanism.permanent_rows(functions, new % limit, randomness=randomness)
        self._keys, order = _merged(self._keys, new)
        self._rows = np.concatenate([self._rows, drawn])[order]
        permanent = self._rows[np.searchsorted(self._keys, keys)]
        return self.mechanism.instantaneous(permanent, randomness=randomness)

    def _functions_of(self, devices: NDArray[np.int64], randomness: Randomness) -> NDArray[np.int64]:
        """Return the function of each device, drawn where it has none yet."""
        new = np.setdiff1d(devices, self._devices)
        drawn = self.mechanism.functions(new.size, randomness=randomness)
        self._devices, order = _merged(self._devices, new)
        self._functions = np.concatenate([self._functions, drawn])[order]
        return self._functions[np.searchsorted(self._devices, devices)]


@lru_cache(maxsize=16)
def _is_bounded(mechanism: RepeatedRandomizer) -> bool:
    """Return whether all reports about one value together tell no more than some epsilon."""
    return not math.isinf(mechanism.epsilon_infinity)


def _merged(known: NDArray[np.int64], new: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return known and new keys in order, and the order."""
    both = np.concatenate([known, new])
    order = np.argsort(both)
    return both[order], order
