"""Bins of which nothing is known, though nobody said so: runs of zeros that cannot be."""

from __future__ import annotations

from typing import Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray

_SHORTEST: Final = 3
_ROUNDS: Final = 8
_LEAST_EXPECTED: Final = 20.0


def gaps(totals: FloatArray, seen: BoolArray, season: int, *, shortest: int = _SHORTEST) -> BoolArray:
    """Where totals are zero for so long that it cannot be chance: nothing was counted there.

    What was to be expected of a bin is the median of the bins a season (week, year) and several before it that were
    counted. A run of at least ``shortest`` zeros where 20 or more events were expected would be chance once in five
    hundred million times. The past alone decides, so that a bin's verdict never changes: the first zeros of a run are
    believed, until it gets too long.

    >>> days = np.concatenate([np.full(30, 10.0), np.zeros(5), np.full(9, 10.0)])
    >>> np.flatnonzero(gaps(days, np.ones(44, bool), 7)).tolist()
    [32, 33, 34]
    """
    found = np.zeros(len(totals), bool)
    run, expected = 0, 0.0
    for t in np.flatnonzero(seen & (totals <= 0)).tolist():
        if not (t > 0 and seen[t - 1] and totals[t - 1] <= 0):
            run, expected = 0, 0.0
        run += 1
        before = np.arange(t - season, max(t - (_ROUNDS * season) - 1, -1), -season)
        before = before[seen[before] & ~found[before]]
        if len(before):
            expected += float(np.median(totals[before]))
        found[t] = run >= shortest and expected >= _LEAST_EXPECTED
    return found


def leading_zeros(totals: FloatArray, seen: BoolArray, season: int) -> BoolArray:
    """Zeros before the first event, where the level just after them says that nothing was counted yet."""
    found = np.zeros(len(totals), bool)
    events = np.flatnonzero(seen & (totals > 0))
    if not len(events) or events[0] < _SHORTEST:
        return found
    first = int(events[0])
    level = float(np.median(totals[first : first + season * _ROUNDS]))
    found[:first] = level * first >= _LEAST_EXPECTED
    return found & seen
