"""The noise models of filtered counts and of strata, and their base: intervals from the moments of a posterior."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import numbers, pack_array, packed, truth, unpacked
from tacit._base.validation import check_share
from tacit.counts.exact_intervals import normal_quantile
from tacit.counts.noise.model import LinearMap, Noise, evened
from tacit.counts.noise.quantiles import limits_of, settings_of_limits, within
from tacit.domain import Grouping, sum_groups
from tacit.errors import SettingError
from tacit.statespace.settings import SETTINGS

if TYPE_CHECKING:
    from tacit.statespace.smoothed_noise import SmoothedNoise

_FILTERED: Final = ("exposures", "gains", "share_variance", "count_variance", "count_skew")
"""The arrays of filtered counts, in the order of their fields."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Posterior moments of answers: variances by way of shares and of counts around them, and joint cumulants.

    ``chance`` is the variance of the realized counts around the expected ones, ``excess`` the part that is more than
    that of a Poisson count; 0 where they are not kept.
    """

    of_shares: FloatArray
    of_counts: FloatArray
    third: FloatArray
    fourth: FloatArray = field(default_factory=lambda: np.zeros(()))
    chance: FloatArray = field(default_factory=lambda: np.zeros(()))
    excess: FloatArray = field(default_factory=lambda: np.zeros(()))

    @property
    def variances(self) -> FloatArray:
        return self.of_shares + self.of_counts

    def given(self, centre: FloatArray) -> FloatArray:
        """Return the variances once answers are known: in those of chance expected counts become what was found."""
        found = np.maximum(centre, 0.0) + self.excess
        ratios = np.divide(found, self.chance, out=np.ones_like(found), where=self.chance > 0)
        return np.asarray(self.of_shares + self.of_counts * np.clip(ratios, *SETTINGS.chance_ratios), np.float64)

    def limits(self, centre: FloatArray, level: float, *, is_whole: bool = True) -> tuple[FloatArray, FloatArray]:
        return limits_of(centre, self.given(centre), self.third, self.fourth, level, is_whole=is_whole)


class PosteriorNoise(Noise):
    """The posterior of counts given a time-series model. A subclass gives the moments of questions.

    ``offsets`` are what was added to values before they are shown (negative ones become 0, say): intervals are those
    of the values before. Limits are those of a whole number spread over its unit
    (:mod:`tacit.counts.noise.quantiles`). Intervals are cut to what counts can be, and end at whole numbers of which a
    part is covered.
    """

    offsets: FloatArray | None

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]: ...

    @property
    def totals(self) -> FloatArray | None:
        """The public totals that counts add up to, for each time; None where there are none."""
        return None

    @abstractmethod
    def moments(self, weights: FloatArray) -> Moments:
        """Return the moments of one question of our shape."""

    @abstractmethod
    def group_moments(self, grouping: Grouping) -> Moments:
        """Return the moments of sums of cells."""

    def common_errors(self, asked: FloatArray | Grouping) -> list[FloatArray]:
        """Return the errors, in standard deviations, that a question or sums of cells have in common with other strata.

        There is one for each kind, or for each place where kinds are strata; none where nothing is in common.
        """
        return []

    @cached_property
    def _cells(self) -> Grouping:
        """Every cell as a sum of itself alone."""
        n_times, n_columns = self.shape
        return Grouping.of_columns(np.arange(n_times), np.arange(n_columns), self.shape)

    @cached_property
    def cell_moments(self) -> Moments:
        return self.group_moments(self._cells)

    def _sum_moments(self, grouping: Grouping) -> Moments:
        return self.cell_moments if grouping is self._cells else self.group_moments(grouping)

    def variance(self, weights: FloatArray) -> float:
        return float(self._asked_moments(weights).variances)

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        check_share(level=level)
        asked = np.asarray(weights, np.float64)
        centre = np.array(value if self.offsets is None else value - float((asked * self.offsets).sum()))
        is_whole = bool((asked % 1 == 0).all())
        lower, upper = self._asked_moments(asked).limits(centre, level, is_whole=is_whole)
        if asked.min() >= 0:
            lower, upper = within(lower, upper, self.largest(asked), is_whole=is_whole)
        return float(lower), float(upper)

    def largest(self, asked: FloatArray) -> float:
        """Return the largest answer to a question that public totals leave room for."""
        return math.inf if self.totals is None else float((asked.max(axis=1) * self.totals).sum())

    def largest_sums(self, grouping: Grouping) -> FloatArray | float:
        """Return the largest sums of cells that public totals leave room for."""
        if self.totals is None:
            return math.inf
        return sum_groups(self.totals[:, None], grouping.time, n_groups=grouping.shape[0])

    def standard_errors(self) -> FloatArray:
        return self.sum_errors(self._cells)

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        return self.sum_intervals(values, self._cells, level)

    def coarsen(self, grouping: Grouping) -> Noise:
        return LinearMap(self, grouping)

    def browser_model(self, level: float) -> dict[str, Any]:
        return {
            "kind": "posterior",
            "moments": self._browser_moments(),
            "n_columns": self.shape[1],
            "offsets": packed(self.offsets),
            "level": level,
            "normal": normal_quantile(level),
            "chance_ratios": SETTINGS.chance_ratios,
            "quantiles": settings_of_limits(level),
        }

    def _browser_moments(self) -> dict[str, Any]:
        """Return plain data from which a script finds the moments of a box: a file's, by the file's own names."""
        return self.to_dict() | {"offsets": None}

    def sum_errors(self, grouping: Grouping) -> FloatArray:
        return np.sqrt(self._sum_moments(grouping).variances)

    def sum_intervals(self, values: FloatArray, grouping: Grouping, level: float) -> tuple[FloatArray, FloatArray]:
        return within(*self.limits(values, level, grouping), self.largest_sums(grouping))

    def limits(self, values: FloatArray, level: float, sums: Grouping | None = None) -> tuple[FloatArray, FloatArray]:
        """Return limits for sums of cells, or every cell, not yet cut to what counts can be."""
        check_share(level=level)
        sums = sums or self._cells
        centre = values if self.offsets is None else values - sums.sums(self.offsets)
        return self._sum_moments(sums).limits(centre, level)

    def _offsets_without(self, cells: BoolArray) -> FloatArray | None:
        return None if self.offsets is None else np.where(cells, 0.0, self.offsets)

    def _asked_moments(self, weights: FloatArray) -> Moments:
        asked = np.asarray(weights, np.float64)
        if asked.shape != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={asked.shape}.")
        if not self._last or not np.array_equal(self._last[0][0], asked):
            self._last[:] = [(asked.copy(), self.moments(asked))]
        return self._last[0][1]

    @cached_property
    def _last(self) -> list[tuple[FloatArray, Moments]]:
        """The last question and its moments: its variance and its interval are asked for one after another."""
        return []


@dataclass(frozen=True, eq=False)
class FilteredNoise(PosteriorNoise):
    """The posterior of each count at its time: exact for questions about one time bin, safe for sums over time.

    Each time bin is as it stood at its end, nothing revised: the error of a count is that of
    :mod:`tacit.statespace.smoothed_noise`, with the error of the share as it was then known. Errors of shares at
    different times are correlated, because they learn from the same bins; how is not kept. So sums over time are given
    the largest variance they can have: standard deviations of shares add up, while counts around them are independent.

    ``gains``, ``share_variance``, ``count_variance`` and ``count_skew`` (third cumulants) are times x places. Where
    ``is_shared`` the counts of a time add up to its exposure; what is missing goes to places by posterior variances.
    """

    exposures: FloatArray
    gains: FloatArray
    share_variance: FloatArray
    count_variance: FloatArray
    count_skew: FloatArray
    is_shared: bool
    offsets: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.gains.shape[0], self.gains.shape[1]

    @property
    def totals(self) -> FloatArray | None:
        return self.exposures if self.is_shared else None

    @cached_property
    def weights(self) -> tuple[FloatArray, FloatArray]:
        """The weights by which the rest of each total was disaggregated: for shares, and for counts around them."""
        if not self.is_shared:
            return np.zeros(self.shape), np.zeros(self.shape)
        of_shares, of_counts = parts_of_one(self.share_variance), parts_of_one(self.count_variance)
        kept = (of_shares * self.gains).sum(axis=1, keepdims=True)
        return of_shares * (1 - self.gains) + of_counts * kept, of_counts

    def to_dict(self) -> dict[str, Any]:
        arrays = {name: pack_array(getattr(self, name)) for name in _FILTERED}
        return {"kind": "filtered"} | arrays | {"is_shared": self.is_shared, "offsets": packed(self.offsets)}

    def _browser_moments(self) -> dict[str, Any]:
        return super()._browser_moments() | {"weights": [pack_array(part) for part in self.weights]}

    def forget(self, cells: BoolArray) -> FilteredNoise:
        """Return the same without what gains, variances and skewness (nearly counts) say of cells."""
        rows = cells if self.is_shared else cells.reshape(1, -1)
        arrays = {name: getattr(self, name).reshape(rows.shape) for name in _FILTERED[1:]}
        changes: dict[str, Any] = {name: evened(part, rows).reshape(cells.shape) for name, part in arrays.items()}
        return replace(self, offsets=self._offsets_without(cells), **changes)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> FilteredNoise:
        exposures, gains, of_shares, of_counts, skews = (numbers(content, key) for key in _FILTERED)
        n_times, _ = shape = gains.shape
        if exposures.shape != (n_times,) or any(part.shape != shape for part in (of_shares, of_counts, skews)):
            raise ValueError("shapes")
        is_shared, offsets = truth(content, "is_shared"), unpacked(content, "offsets", shape)
        return cls(exposures, gains, of_shares, of_counts, skews, is_shared, offsets)

    def moments(self, weights: FloatArray) -> Moments:
        variances, of_counts, third = self._of_times(weights)
        return Moments(np.square(np.sqrt(variances).sum()), of_counts.sum(), third.sum())

    def group_moments(self, grouping: Grouping) -> Moments:
        places, times, n_times = grouping.columns, grouping.time, grouping.shape[0]
        groups = (np.broadcast_to(places == group, self.shape) * 1.0 for group in range(grouping.shape[1]))
        found = map(self._of_times, groups)
        variances, of_counts, third = (np.stack(part, axis=1) for part in zip(*found, strict=True))
        sums = [sum_groups(part, times, n_groups=n_times) for part in (np.sqrt(variances), of_counts, third)]
        return Moments(np.square(sums[0]), sums[1], sums[2])

    def _of_times(self, asked: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the variance of every time by way of shares, that of counts around them, and their third cumulant."""
        k, m = self.weights
        of_shares = asked - (asked * k).sum(axis=1, keepdims=True)
        of_counts = asked - (asked * m).sum(axis=1, keepdims=True)
        on_shares = self.exposures[:, None] * (of_shares - self.gains * of_counts)
        variances = (np.square(on_shares) * self.share_variance).sum(axis=1)
        counts = (np.square(of_counts) * self.count_variance).sum(axis=1)
        return variances, counts, (of_counts**3 * self.count_skew).sum(axis=1)


@dataclass(frozen=True, eq=False)
class StrataNoise(PosteriorNoise):
    """The posterior of columns in strata that were smoothed apart, each with public totals of its own.

    Strata are independent but for what the size prior does to all alike: moments of their sums add up, and errors in
    common before they are squared. ``columns`` are those of each of the ``parts``.
    """

    parts: tuple[SmoothedNoise | FilteredNoise, ...]
    columns: tuple[IntArray, ...]
    offsets: FloatArray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.parts[0].shape[0], sum(len(columns) for columns in self.columns)

    @property
    def _pairs(self) -> Iterator[tuple[SmoothedNoise | FilteredNoise, IntArray]]:
        return zip(self.parts, self.columns, strict=True)

    def moments(self, weights: FloatArray) -> Moments:
        asked = [(part, weights[:, some]) for part, some in self._pairs if weights[:, some].any()]
        return _with_common([(part.moments(one), part.common_errors(one)) for part, one in asked])

    def group_moments(self, grouping: Grouping) -> Moments:
        asked = [(part, _of_stratum(grouping, columns)) for part, columns in self._pairs]
        return _with_common([(part.group_moments(one), part.common_errors(one)) for part, one in asked])

    def largest(self, asked: FloatArray) -> float:
        return sum(part.largest(asked[:, columns]) for part, columns in self._pairs)

    def largest_sums(self, grouping: Grouping) -> FloatArray | float:
        found = np.zeros(grouping.shape)
        for part, columns in self._pairs:
            has_some = np.bincount(grouping.columns[columns], minlength=grouping.shape[1]) > 0
            found += np.where(has_some, part.largest_sums(_of_stratum(grouping, columns)), 0.0)
        return found

    def forget(self, cells: BoolArray) -> StrataNoise:
        parts: tuple[Any, ...] = tuple(part.forget(cells[:, some]) for part, some in self._pairs)
        return replace(self, parts=parts, offsets=self._offsets_without(cells))

    def _browser_moments(self) -> dict[str, Any]:
        columns = [columns.tolist() for columns in self.columns]
        return {"kind": "strata", "parts": [part._browser_moments() for part in self.parts], "columns": columns}

    def to_dict(self) -> dict[str, Any]:
        parts = [part.to_dict() for part in self.parts]
        return self._browser_moments() | {"parts": parts, "offsets": packed(self.offsets)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Noise]) -> StrataNoise:
        """Read it back; ``read`` reads the noise of a stratum."""
        parts: tuple[Any, ...] = tuple(map(read, content["parts"]))
        columns = tuple(np.array(some, np.int64) for some in content["columns"])
        if not all(isinstance(part, PosteriorNoise) for part in parts) or not 0 < len(parts) == len(columns):
            raise ValueError("parts")
        found = cls(parts, columns)
        is_whole = np.array_equal(np.sort(np.concatenate(columns)), np.arange(found.shape[1]))
        if not is_whole or any(part.shape != (found.shape[0], len(some)) for part, some in found._pairs):
            raise ValueError("strata")
        return replace(found, offsets=unpacked(content, "offsets", found.shape))


def _with_common(strata: Sequence[tuple[Moments, list[FloatArray]]]) -> Moments:
    """Return the moments of sums over strata, from those of each, which have the squares of its errors of kinds."""
    parts = ([getattr(moments, name) for moments, _ in strata] for name in Moments.__slots__)
    found = Moments(*(np.asarray(np.sum(part, axis=0), np.float64) for part in parts))
    of_kinds = zip(*(errors for _, errors in strata), strict=True)
    crossed = sum(np.square(sum(errors)) - sum(map(np.square, errors)) for errors in of_kinds)
    return replace(found, of_shares=np.maximum(found.of_shares + crossed, 0.0))


def _of_stratum(grouping: Grouping, columns: IntArray) -> Grouping:
    return Grouping.of_columns(grouping.time, grouping.columns[columns], grouping.shape)


def parts_of_one(variances: FloatArray) -> FloatArray:
    """Return the parts of variances in their sums over the last axis; even ones where nothing varies."""
    total = variances.sum(axis=-1, keepdims=True)
    even = np.full(variances.shape, 1 / variances.shape[-1])
    return np.asarray(np.divide(variances, total, out=even, where=total > 0), np.float64)
