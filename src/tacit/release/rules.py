"""Rules of publication: which cells of a table are greyed, left blank, or have no data at all.

They help readers, and protect nobody: a release is private before any rule, and whoever asks it for a sum gets the sum
of all its cells, those left blank included. A table, a page and a map tell three things apart that look alike: a count
of **zero**, a count that is **suppressed** because it says too little, and a period for which data are **missing**.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import TimeAxis
from tacit.errors import FormatError, SettingError

FloatArray = NDArray[np.float64]

SHOWN: Final = "shown"
GREYED: Final = "greyed"
SUPPRESSED: Final = "suppressed"
MISSING: Final = "missing"
STATUSES: Final = (SHOWN, GREYED, SUPPRESSED, MISSING)

_MEASURES: Final = {"relative error": ">", "count": "<"}
_RULE: Final = re.compile(r"\s*(relative error|count)\s*([<>])\s*(\d+(?:\.\d+)?)\s*")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition on a cell: its relative error is above a limit, or its refined count below one.

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
        return f"{self.measure} {_MEASURES[self.measure]} {self.limit:g}"

    def holds(self, counts: FloatArray, errors: FloatArray) -> NDArray[np.bool_]:
        """Where the rule applies. A count of zero without error has no relative error; with one it is infinite."""
        if self.measure == "count":
            return counts < self.limit
        is_large: NDArray[np.bool_] = errors > self.limit * np.maximum(counts, 0.0)
        return is_large


@dataclass(frozen=True, slots=True)
class Rules:
    """What to suppress, what to grey, and for which days data are missing (both ends included, ISO dates)."""

    suppress: tuple[Rule, ...] = ()
    grey: tuple[Rule, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for first, last in self.missing:
            if not (_is_day(first) and _is_day(last) and first <= last):
                raise SettingError(
                    f"missing days must read 2018-03-01 to 2018-03-31, first day first; got {first} to {last}."
                )

    @classmethod
    def parse(
        cls, *, suppress: tuple[str, ...] = (), grey: tuple[str, ...] = (), missing: tuple[str, ...] = ()
    ) -> Rules:
        """Read rules as people write them; missing days as ``2018-03-01/2018-03-31`` or one day alone.

        >>> Rules.parse(grey=("count < 10",), missing=("2018-03-01",)).missing
        (('2018-03-01', '2018-03-01'),)
        """
        spans = [span.partition("/")[::2] for span in missing]
        return cls(
            tuple(map(Rule.parse, suppress)),
            tuple(map(Rule.parse, grey)),
            tuple((first.strip(), (last or first).strip()) for first, last in spans),
        )

    @property
    def are_none(self) -> bool:
        return self == Rules()

    def statuses(self, counts: FloatArray, errors: FloatArray, time: TimeAxis) -> NDArray[np.object_]:
        """The status of every cell: missing before suppressed, suppressed before greyed."""
        found = np.full(counts.shape, SHOWN, object)
        for status, rules in ((GREYED, self.grey), (SUPPRESSED, self.suppress)):
            for rule in rules:
                found[rule.holds(counts, errors)] = status
        found[self.missing_bins(time, len(counts))] = MISSING
        return found

    def missing_bins(self, time: TimeAxis, n_bins: int, *, partly: bool = False) -> NDArray[np.bool_]:
        """Bins that lie wholly in days without data, or ``partly``: those were counted in part."""
        starts = time.without_end().starts(n_bins + 1).astype("datetime64[s]")
        is_missing = np.zeros(n_bins, bool)
        for first, last in self.missing:
            low, high = np.datetime64(first, "s"), np.datetime64(last, "D").astype("datetime64[s]") + 86_400
            if partly:
                is_missing |= (starts[1:] > low) & (starts[:-1] < high)
            else:
                is_missing |= (starts[:-1] >= low) & (starts[1:] <= high)
        return is_missing

    def to_dict(self) -> dict[str, Any]:
        return {
            "suppress": [str(rule) for rule in self.suppress],
            "grey": [str(rule) for rule in self.grey],
            "missing": [list(span) for span in self.missing],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Rules:
        try:
            return cls(
                tuple(map(Rule.parse, content["suppress"])),
                tuple(map(Rule.parse, content["grey"])),
                tuple((str(first), str(last)) for first, last in content["missing"]),
            )
        except (KeyError, TypeError, ValueError, SettingError):
            raise FormatError("the release's rules are damaged. Ask for the release anew.") from None


NO_RULES: Final = Rules()


def _is_day(text: str) -> bool:
    try:
        return bool(_DAY.fullmatch(text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False
