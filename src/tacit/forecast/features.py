"""What a model over all places at once is told of a bin to come, at an origin before it.

Everything is made of bins before the origin, of the calendar and of covariates. Counts are unbiased and may be
negative, and stay so; they are told relative to the level of their place, so that what is learned of a busy place holds
for a quiet one, and what is learned of one year for the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit.forecast.habits import Levels, fading
from tacit.forecast.history import History
from tacit.statespace.calendar import calendar_columns, season_length
from tacit.statespace.covariates import Covariates

_LONGEST_LEAD: Final = 28  # bins; what is further off looks alike
_WINDOWS: Final = (1, 4, 13, 52)  # in seasons
_FAST_SHARE: Final = 8  # seasons
_CALENDAR: Final = ("month", "day", "weekday", "day of year", "hour")


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """Summaries of the bins before each origin (bins + 1): mean counts over windows, and the recent share."""

    levels: Levels
    means: dict[int, FloatArray]
    fast_shares: FloatArray

    @classmethod
    def of(cls, history: History, levels: Levels) -> Past:
        season = season_length(history.time.step)
        sums, n_bins = (
            _running(np.where(history.counted[:, None], history.values, 0.0)),
            _running(history.counted[:, None].astype(float)),
        )
        means = {width * season: _recent(sums, n_bins, width * season) for width in _WINDOWS}
        faded = fading(history.values * levels.weights[:, None], 0.5 ** (1 / (_FAST_SHARE * season)))
        return cls(levels, means, faded[:, :-1] / np.maximum(faded[:, -1:], 1e-6))


def feature_names(history: History, covariates: Covariates | None) -> tuple[str, ...]:
    """The names of the columns of :func:`feature_rows`."""
    return tuple(name for members in feature_groups(history, covariates).values() for name in members)


def feature_groups(history: History, covariates: Covariates | None) -> dict[str, tuple[str, ...]]:
    """The features by what they are about; every covariate is a group of its own."""
    season = season_length(history.time.step)
    windows = [f"mean of {width * season} {history.time.step}s" for width in _WINDOWS]
    return {
        "place": ("place",),
        "horizon": ("bins ahead",),
        "level": ("expected count",),
        "recent counts": ("last count", "count a season before", *windows),
        "recent share": ("recent share",),
        "recent totals": ("last total", *(f"{window}, all places" for window in windows)),
        "calendar": tuple(name for name in _CALENDAR if name in calendar_columns(history.time, 1)),
        **{name: (name,) for name in (() if covariates is None else covariates.names)},
    }


def feature_rows(
    history: History,
    past: Past,
    covariates: Covariates | None,
    ranks: IntArray,
    origins: IntArray,
    leads: IntArray,
    base: FloatArray,
) -> NDArray[np.float32]:
    """A row for each origin, lead and place, and last all places together, in this order.

    ``leads`` (1 is the bin at the origin) are the same for all origins; ``base`` (origins x leads x (places and all))
    is what is expected before any of this is known, and ``ranks`` numbers the places.
    """
    levels = past.levels
    targets = origins[:, None] + leads[None, :] - 1
    shape = base.shape
    season = season_length(history.time.step)
    shares = _with_all(levels.shares[origins])
    level = levels.level[origins][:, None]
    before = origins[:, None] + ((leads - 1) % season)[None, :] - season
    found = [
        np.broadcast_to(np.append(ranks, -1).astype(np.float64), shape),
        np.broadcast_to(np.minimum(leads, _LONGEST_LEAD).astype(np.float64)[:, None], shape),
        np.log(np.maximum(base, 1e-6)),
        _at_origin(_relative(history, levels, origins, origins - 1), shape),
        _relative(history, levels, np.broadcast_to(origins[:, None], before.shape), before),
        *(_at_origin(means[origins] / (level * shares) - 1, shape) for means in past.means.values()),
        _at_origin(_with_all(past.fast_shares[origins]) / shares - 1, shape),
        _at_origin(_relative(history, levels, origins, origins - 1)[:, -1:], shape),
        *(_at_origin(means[origins, -1:] / level - 1, shape) for means in past.means.values()),
    ]
    calendar = calendar_columns(history.time, int(targets.max()) + 1)
    found += [np.broadcast_to(calendar[name][targets][:, :, None], shape) for name in _CALENDAR if name in calendar]
    if covariates is not None:
        known = covariates.rows(0, int(targets.max()) + 1)
        found += [_of_targets(known[name], targets, shape) for name in covariates.names]
    return np.stack([column.reshape(-1).astype(np.float32) for column in found], axis=1)


def _relative(history: History, levels: Levels, origins: IntArray, bins: IntArray) -> FloatArray:
    """Counts of bins against what was expected of them at origins: shape x (places and all), NaN where not counted."""
    inside = np.maximum(bins, 0)
    expected = _with_all(levels.expected(origins, inside))
    is_known = (bins >= 0) & history.counted[inside]
    return np.where(is_known[..., None], history.values[inside] / np.maximum(expected, 1e-6) - 1, np.nan)


def _with_all(values: FloatArray) -> FloatArray:
    """Values of places with their sum as another."""
    return np.concatenate([values, values.sum(axis=-1, keepdims=True)], axis=-1)


def _at_origin(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    return np.broadcast_to(values[:, None, :], shape)


def _of_targets(column: FloatArray, targets: IntArray, shape: tuple[int, ...]) -> FloatArray:
    found = column[targets]
    if found.ndim == 2:
        return np.broadcast_to(found[:, :, None], shape)
    # of all places together, what is usual among them
    is_known = np.isfinite(found)
    n_known = is_known.sum(axis=2, keepdims=True)
    sums = np.where(is_known, found, 0.0).sum(axis=2, keepdims=True)
    usual = np.divide(sums, n_known, out=np.full(sums.shape, np.nan), where=n_known > 0)
    return np.concatenate([found, usual], axis=2)


def _running(values: FloatArray) -> FloatArray:
    return np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])


def _recent(sums: FloatArray, n_bins: FloatArray, width: int) -> FloatArray:
    """The mean of the last ``width`` bins before each origin; NaN where none of them was counted."""
    first = np.maximum(np.arange(len(sums)) - width, 0)
    counts = n_bins - n_bins[first]
    means = np.divide(sums - sums[first], counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return np.asarray(means, np.float64)
