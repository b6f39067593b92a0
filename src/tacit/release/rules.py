"""Rules of publication: which cells of a table are greyed, left blank, or have no data at all.

They help readers, and protect nobody: a release is private before any rule. What is **suppressed** is gone from the
release, and with it every sum that needs it, unless the rules keep it; what is **greyed** stays, marked. A table, a
page and a map tell three things apart that look alike: a count of **zero**, a count that is suppressed because it says
too little, and a period for which data are **missing**, wholly or for some of its days.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, FloatArray
from tacit._base.languages import stored
from tacit.counts.estimate import Estimate
from tacit.domain import TimeAxis
from tacit.domain.step import When, parse_period
from tacit.errors import FormatError, SettingError

SHOWN: Final = "shown"
GREYED: Final = "greyed"
SUPPRESSED: Final = "suppressed"
MISSING: Final = "missing"
STATUSES: Final = (SHOWN, GREYED, SUPPRESSED, MISSING)

LARGEST_RELATIVE_ERROR: Final = 1 / 3
"""The relative error up to which a count is reliable, unless rules name another.

From there on a 95 % interval spans more than from a third to five thirds of the count. At half of it a count needs four
times as many reports to be reliable, at twice it intervals reach zero.
"""

_MEASURES: Final = {"relative error": ">", "count": "<"}
_RULE: Final = re.compile(r"\s*(relative error|count)\s*([<>])\s*(\d+(?:\.\d+)?)\s*")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition on a cell: its relative error is above a limit, or its count below one.

    >>> str(Rule.parse("relative error > 0.5")), str(Rule.parse("count<10"))
    ('relative error > 0.5', 'count < 10')
    """

    measure: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read a rule as people write it."""
        found = _RULE.fullmatch(text)
        if found is None or _MEASURES[found[1]] != found[2]:
            raise SettingError(
                f"a rule must read 'relative error > 0.5' or 'count < 10', with a number of yours; got rule={text!r}."
            )
        return cls(found[1], float(found[3]))

    def __str__(self) -> str:
        limit = f"{self.limit:g}"
        if self.measure == "count":
            return stored("count < %(limit)s", limit=limit)
        return stored("relative error > %(limit)s", limit=limit)

    def holds(self, counts: FloatArray, errors: FloatArray) -> NDArray[np.bool_]:
        """Return where the rule applies. Zero without an error has no relative error; with one it is infinite."""
        if self.measure == "count":
            return counts < self.limit
        is_large: NDArray[np.bool_] = errors > self.limit * np.maximum(counts, 0.0)
        return is_large


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that say what to suppress, what to grey, and for which days data are missing (both ends, ISO dates).

    Counts that are suppressed are removed from a release. With ``keep_suppressed`` they are blank in its table only,
    and sums over them can still be asked.
    """

    suppress: tuple[Rule, ...] = ()
    grey: tuple[Rule, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    keep_suppressed: bool = False

    def __post_init__(self) -> None:
        for first, last in self.missing:
            if not (_is_day(first) and _is_day(last) and first <= last):
                raise SettingError(
                    f"missing days must read 2018-03-01 to 2018-03-31, first day first; got {first} to {last}."
                )

    @classmethod
    def parse(
        cls,
        *,
        suppress: tuple[str, ...] = (),
        grey: tuple[str, ...] = (),
        missing: tuple[When, ...] = (),
        keep_suppressed: bool = False,
    ) -> Rules:
        """Read rules as people write them; missing days as a day, a month, a year, or from one to another.

        >>> Rules.parse(grey=("count < 10",), missing=("2018-03-01", "2018-12", "2019-01/2019-02-03")).missing
        (('2018-03-01', '2018-03-01'), ('2018-12-01', '2018-12-31'), ('2019-01-01', '2019-02-03'))
        """
        return cls(
            tuple(map(Rule.parse, suppress)),
            tuple(map(Rule.parse, grey)),
            tuple(map(_days_of, missing)),
            keep_suppressed,
        )

    @property
    def are_none(self) -> bool:
        return not (self.suppress or self.grey or self.missing)

    @property
    def remove(self) -> bool:
        """Whether what is suppressed leaves the release."""
        return bool(self.suppress) and not self.keep_suppressed

    @property
    def largest_relative_error(self) -> float | None:
        """The relative error above which the rules grey or suppress a count; None if they do not ask for it."""
        limits = [rule.limit for rule in (*self.suppress, *self.grey) if rule.measure == "relative error"]
        return min(limits, default=None)

    def reliable(self, counts: FloatArray, errors: FloatArray, statuses: NDArray[np.object_]) -> NDArray[np.bool_]:
        """Return whether each count is worth a number of its own: shown, not greyed, and of a small relative error.

        Tables, files, pages and queries all ask here, with the counts that they show first
        (:attr:`tacit.release.Release.recommended`) and the standard errors of these.
        """
        limit = self.largest_relative_error
        is_small: NDArray[np.bool_] = errors <= (LARGEST_RELATIVE_ERROR if limit is None else limit) * counts
        is_shown: NDArray[np.bool_] = np.equal(statuses.astype(str), SHOWN)
        return is_small & is_shown

    def suppresses(self, counts: FloatArray, errors: FloatArray) -> NDArray[np.bool_]:
        """Return counts that a rule suppresses, or that are gone already."""
        found = np.isnan(counts)
        for rule in self.suppress:
            found = found | rule.holds(counts, errors)
        return found

    def judged(self, counts: FloatArray, errors: FloatArray) -> NDArray[np.object_]:
        """Return the status of counts, wherever they stand: shown, greyed or suppressed."""
        found = np.full(counts.shape, SHOWN, object)
        for rule in self.grey:
            found[rule.holds(counts, errors)] = GREYED
        found[self.suppresses(counts, errors)] = SUPPRESSED
        return found

    def statuses(self, counts: FloatArray, errors: FloatArray, time: TimeAxis) -> NDArray[np.object_]:
        """Return the status of every cell: missing before suppressed, suppressed before greyed."""
        found = self.judged(counts, errors)
        found[self.missing_bins(time)] = MISSING
        return found

    def days_missing(self, time: TimeAxis) -> NDArray[np.int64]:
        """Return the number of days without data of every bin; a day counts wherever the bin covers a part of it."""
        first, last = _days_covered(time)
        days = self._missing_days()
        found = np.searchsorted(days, last, side="right") - np.searchsorted(days, first, side="left")
        return np.asarray(found, np.int64)

    def missing_bins(self, time: TimeAxis, *, partly: bool = False) -> NDArray[np.bool_]:
        """Return bins all of whose days have no data; ``partly``: bins that lack some of their days, but not all."""
        first, last = _days_covered(time)
        n_days, n_missing = (last - first).astype(np.int64) + 1, self.days_missing(time)
        return (n_missing > 0) & (n_missing < n_days) if partly else n_missing == n_days

    def check_within(self, time: TimeAxis) -> None:
        """Refuse missing days that the release does not cover: a slip of the pen, or a plan that ends too early."""
        covered = _days_covered(time)
        first, last = str(covered[0][0]), str(covered[1][-1])
        for low, high in self.missing:
            if low < first or high > last:
                raise SettingError(
                    f"missing days must lie within the time of the release, {first} to {last}; got {low} to {high}. "
                    "Leave out the days before and after it."
                )

    @property
    def n_days_missing(self) -> int:
        """The number of days without data in all."""
        return len(self._missing_days())

    def _missing_days(self) -> NDArray[np.datetime64]:
        """Return every day without data, once, in order."""
        spans = [np.arange(np.datetime64(low, "D"), np.datetime64(high, "D") + 1) for low, high in self.missing]
        return np.unique(np.concatenate(spans)) if spans else np.zeros(0, "datetime64[D]")

    def to_dict(self) -> dict[str, Any]:
        return {
            "suppress": [str(rule) for rule in self.suppress],
            "grey": [str(rule) for rule in self.grey],
            "missing": [list(span) for span in self.missing],
            "keep_suppressed": self.keep_suppressed,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Rules:
        try:
            return cls(
                tuple(map(Rule.parse, content["suppress"])),
                tuple(map(Rule.parse, content["grey"])),
                tuple((str(first), str(last)) for first, last in content["missing"]),
                bool(content.get("keep_suppressed", True)),  # as it was before files said so
            )
        except (KeyError, TypeError, ValueError, SettingError):
            raise FormatError("the release's rules are damaged. Ask for the release again.") from None


NO_RULES: Final = Rules()


def _days_of(span: When) -> tuple[str, str]:
    """Return the first and the last day of what a person wrote; of a time given as such, its day."""
    span = span if isinstance(span, str) else str(span)[:10]
    first, _, last = span.partition("/")
    begin, end = (parse_period(part, setting="missing") for part in (first, last or first))
    if end.end is None or begin.end is None:
        raise SettingError(f"missing must be whole days; got missing={span!r}. Leave out the time of day.")
    return begin.start.date().isoformat(), (end.end - timedelta(days=1)).date().isoformat()


def _days_covered(time: TimeAxis) -> tuple[NDArray[np.datetime64], NDArray[np.datetime64]]:
    """Return the first and the last day of which each bin counts at least a part."""
    starts = time.without_end().starts((time.n_bins or 1) + 1).astype("datetime64[s]")
    ends = starts[1:].copy()
    if time.covered_until is not None:
        ends[-1] = np.datetime64(time.covered_until, "s")
    return starts[:-1].astype("datetime64[D]"), (ends - np.timedelta64(1, "s")).astype("datetime64[D]")


def _is_day(text: str) -> bool:
    try:
        return bool(_DAY.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def without_cells(estimate: Estimate, cells: BoolArray) -> Estimate:
    """Return the estimate without the values of these cells, which are NaN; all others carry the noise they had.

    Some noise depends on the counts themselves, and its model holds estimates of them, or variances that follow them.
    For removed cells these become their mean over all removed cells of a public bin, whose sum anyone can work out
    from the public number of reports; where nothing is public, over all removed cells. The errors of counts that stay
    change by a few hundredths at most where smoothing ties them to removed ones, and not at all elsewhere.
    """
    if not cells.any():
        return estimate
    return replace(estimate, values=np.where(cells, np.nan, estimate.values), noise=estimate.noise.forget(cells))


def intervals(estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
    """Return limits for every cell; NaN for those that were removed."""
    is_gone = np.isnan(estimate.values)
    lower, upper = estimate.noise.intervals(np.where(is_gone, 0.0, estimate.values), level)
    return np.where(is_gone, np.nan, lower), np.where(is_gone, np.nan, upper)
