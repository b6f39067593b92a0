r"""The four epsilons of all reports of one device that remembers its permanent answers.

A permanent row supports the true value with chance :math:`\alpha` and another with :math:`\varphi < \alpha`; a report
supports what its permanent row supports with chance q and all else with p < q. Bits are drawn apart; a hash value is
one of g. Each epsilon is the largest log-ratio of exact fractions, rounded up; theorems and their neighbours stand in
``docs/proofs/longitudinal-rappor.md`` and ``docs/proofs/longitudinal-hashing.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tacit._base.languages import gettext, message
from tacit._base.rounding import epsilon_at_most, float_above, whole
from tacit._base.validation import check_at_least
from tacit.privacy.epsilon import log_of_ratio
from tacit.randomness.bernoulli import COIN

LARGEST_LISTED_REPORTS: Final = 10_000
"""Reports of one value up to which what they tell is computed: 27 years of days. Beyond, it is stated as that of any
number of them, which is larger; the time grows with their number."""


@dataclass(frozen=True, slots=True)
class DeviceLoss:
    """The chances of both rounds, the number of slots, and of hash values or of bits that tell two values apart.

    ``n_slots`` is how many permanent rows a device may come to draw. ``n_hash_values`` is 0 where values are rows of
    bits, of which ``n_differing`` are set for one value and not for another.

    >>> loss = DeviceLoss.of({"permanent": COIN // 4, "ones": 3 * (COIN // 4), "zeros": COIN // 4}, n_values=17)
    >>> [round(loss.epsilon_after(n), 2) for n in (1, 7)], round(loss.epsilon_infinity, 2)
    ([1.02, 2.19], 2.2)
    >>> round(loss.epsilon_of_values(2), 2), round(loss.epsilon_of_values(), 2)
    (4.39, 37.35)
    """

    n_slots: int
    permanent: tuple[Fraction, Fraction]
    instantaneous: tuple[Fraction, Fraction]
    n_differing: int = 1
    n_hash_values: int = 0

    @classmethod
    def of(cls, thresholds: Mapping[str, int], n_values: int, *, n_differing: int = 1) -> DeviceLoss:
        """Return the losses of the thresholds that a plan carries, for so many values."""
        if "permanent_keep" in thresholds:
            g = 1 << thresholds["bits"]
            permanent, instantaneous = (_kept_or_drawn(thresholds[name], g) for name in ("permanent_keep", "keep"))
            return cls(min(g, n_values), permanent, instantaneous, n_hash_values=g)
        kept = thresholds.get("kept", COIN - thresholds["permanent"])
        permanent = Fraction(kept, COIN), Fraction(thresholds["permanent"], COIN)
        instantaneous = Fraction(thresholds["ones"], COIN), Fraction(thresholds["zeros"], COIN)
        return cls(n_values, permanent, instantaneous, n_differing)

    @property
    def is_hashed(self) -> bool:
        """Whether permanent rows are for hash values, under a function that stands in every report."""
        return self.n_hash_values > 0

    @property
    def epsilon_infinity(self) -> float:
        """The epsilon of any number of reports about one value: that of its permanent row."""
        true, other = self.permanent
        if other == 0 or (true == 1 and not self.is_hashed):
            return math.inf
        if self.is_hashed:
            return log_of_ratio(true / other)
        return log_of_ratio((true * (1 - other) / (other * (1 - true))) ** self.n_differing)

    def epsilon_after(self, n_reports: int) -> float:
        """Return the epsilon of ``n_reports`` reports about one value and permanent row; it nears epsilon_infinity.

        The most telling reports all support the one value, and of bits never the other.
        """
        check_at_least(1, n_reports=n_reports)
        (true, other), (one, zero) = self.permanent, self.instantaneous
        if n_reports > LARGEST_LISTED_REPORTS or (self.is_hashed and zero == 0):
            return self.epsilon_infinity
        if self.is_hashed:
            often, g = (one / zero) ** n_reports, self.n_hash_values
            return log_of_ratio((true * often + (g - 1) * other) / (other * often + true + (g - 2) * other))

        def odds(if_one: Fraction, if_zero: Fraction) -> Fraction:
            """Return the odds of a true one against a true zero, from a report's chances for each permanent bit."""
            return (true * if_one + (1 - true) * if_zero) / (other * if_one + (1 - other) * if_zero)

        always_one = odds(one**n_reports, zero**n_reports)
        always_zero = odds((1 - one) ** n_reports, (1 - zero) ** n_reports)
        return log_of_ratio((always_one / always_zero) ** self.n_differing)

    def epsilon_of_values(self, n_values: int | None = None) -> float:
        """Return the epsilon of which values all reports are about, for so many different ones; None: for all."""
        if n_values is not None:
            check_at_least(1, n_values=n_values)
        epsilon = self.epsilon_infinity
        if math.isinf(epsilon):
            return epsilon
        return float_above(min(self.n_slots, n_values or self.n_slots) * Fraction(epsilon))


def remembers(thresholds: Mapping[str, int]) -> bool:
    """Return whether a mechanism of these thresholds draws permanent answers, which a device remembers."""
    return not {"permanent", "permanent_keep"}.isdisjoint(thresholds)


_DRAWN_AGAIN: Final = message(
    "The figures above are for reports that are each made once, with all coins drawn again. A device that remembers "
    "its permanent answers, and reports in every period, is promised something else, against all who see all of its "
    "reports: its value cannot be told from any other that it might hold throughout, beyond these."
)
_REMEMBERED: Final = message(
    "Every device remembers its permanent answers, and reports at most once in a period. Against all who see all of "
    "its reports, its value cannot be told from any other that it might hold throughout, beyond these."
)


@dataclass(frozen=True, slots=True)
class DeviceFigures:
    """A statement's part on devices that report from a memo: the four epsilons, as plain numbers.

    ``n_reports`` is the number of reports expected of a device, one in each period; None where there is no last one.
    """

    epsilon_1: float
    n_reports: int | None
    epsilon_n: float | None
    epsilon_infinity: float
    n_slots: int
    epsilon_of_values: float
    is_hashed: bool

    @classmethod
    def of(cls, thresholds: Mapping[str, int], n_values: int, n_reports: int | None) -> DeviceFigures | None:
        """Return the figures of a plan's thresholds; None where the mechanism remembers nothing or nothing is bounded.

        The bits of Bloom filters are not known here.
        """
        if "n_bits" in thresholds or not remembers(thresholds):
            return None
        loss = DeviceLoss.of(thresholds, n_values)
        if math.isinf(loss.epsilon_infinity):
            return None
        return cls(
            epsilon_1=loss.epsilon_after(1),
            n_reports=n_reports,
            epsilon_n=loss.epsilon_after(n_reports) if n_reports else None,
            epsilon_infinity=loss.epsilon_infinity,
            n_slots=loss.n_slots,
            epsilon_of_values=loss.epsilon_of_values(),
            is_hashed=loss.is_hashed,
        )

    def sentences(self, *, is_unit: bool = False) -> tuple[str, ...]:
        """Return in plain words what holds for a device that reports again and again.

        Where the device ``is_unit`` of the plan this is what is promised, else what would hold if reports were made so.

        >>> thresholds = {"bits": 1, "keep": COIN // 2, "permanent_keep": COIN // 2}
        >>> figures = DeviceFigures.of(thresholds, n_values=17, n_reports=None)
        >>> for sentence in figures.sentences()[1:]:
        ...     print(sentence)
        One report: epsilon 0.5109. Any number of reports, for ever: epsilon 1.0987.
        If its value changes, all reports ever made tell at most epsilon 2.1973 of which of 2 hash values it had.
        When the hash value changes is not hidden; a change between values of one hash value is.
        Its hash function stands in every report, so everyone can tell which reports may be of one device.
        """
        once, infinity, values = (
            epsilon_at_most(epsilon) for epsilon in (self.epsilon_1, self.epsilon_infinity, self.epsilon_of_values)
        )
        reports = [gettext("One report: epsilon %(epsilon)s.", epsilon=once)]
        if self.epsilon_n is not None and self.n_reports is not None and self.n_reports > 1:
            several, epsilon = whole(self.n_reports), epsilon_at_most(self.epsilon_n)
            reports.append(
                gettext("%(n)s reports, one in each period: epsilon %(epsilon)s.", n=several, epsilon=epsilon)
            )
        reports.append(gettext("Any number of reports, for ever: epsilon %(epsilon)s.", epsilon=infinity))
        told = {"epsilon": values, "n": whole(self.n_slots)}
        changes = (
            (
                gettext(
                    "If its value changes, all reports ever made tell at most epsilon %(epsilon)s of which of %(n)s "
                    "hash values it had.",
                    **told,
                ),
                gettext("When the hash value changes is not hidden; a change between values of one hash value is."),
                gettext(
                    "Its hash function stands in every report, so everyone can tell which reports may be of one device."
                ),
            )
            if self.is_hashed
            else (
                gettext(
                    "If its value changes, all reports ever made tell at most epsilon %(epsilon)s of which of %(n)s "
                    "values it had.",
                    **told,
                ),
                gettext("When the value changes is not hidden."),
                gettext("Its permanent bits may be like no other's, so that its reports can be recognized."),
            )
        )
        return gettext(_REMEMBERED if is_unit else _DRAWN_AGAIN), " ".join(reports), *changes


def _kept_or_drawn(threshold: int, g: int) -> tuple[Fraction, Fraction]:
    """Return P(a given one of g values comes out) where it went in, and where another did."""
    other = Fraction(COIN - threshold, COIN * g)
    return other + Fraction(threshold, COIN), other
