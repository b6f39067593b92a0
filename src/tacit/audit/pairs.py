"""Which two values to tell apart: some of them give away more than others, and nobody says which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.audit.claims import Claim
from tacit.audit.rules import View, best_rule

MOST_PAIRS: Final = 24
_MOST_VALUES: Final = 24
_SHARE: Final = 0.06
_MOST_EACH: Final = 2_000
_FEWEST_EACH: Final = 40
_KEPT: Final = 8


def pairs_of(n_values: int) -> list[tuple[int, int]]:
    """Pairs of values to tell apart: the farthest first, then neighbours, so that every value has its turn.

    >>> pairs_of(4)
    [(0, 3), (0, 1), (1, 2), (2, 3)]
    >>> len(pairs_of(1000))
    24
    """
    firsts = np.unique(np.linspace(0, n_values - 2, min(n_values - 1, MOST_PAIRS - 1)).astype(int)).tolist()
    pairs = [(0, n_values - 1), *((first, first + 1) for first in firsts)]
    return list(dict.fromkeys(pairs))


def likely_pairs(
    n_values: int,
    reports_of: Callable[[NDArray[np.int64]], NDArray[Any]],
    views: Sequence[View],
    *,
    claim: Claim,
    n_runs: int,
    confidence: float,
) -> tuple[list[tuple[int, int]], int]:
    """The pairs that promise most of all there are among up to 24 values, and how many runs were spent on that.

    Every value is run on its own, so that 17 values tell of 136 pairs: two values may be far from each other while
    neither is far from a third. ``reports_of`` takes numbers of values.
    """
    every = list(combinations(range(n_values), 2))
    if len(every) <= MOST_PAIRS:
        return [*pairs_of(n_values), *(pair for pair in every if pair not in pairs_of(n_values))], 0
    some = np.unique(np.linspace(0, n_values - 1, min(n_values, _MOST_VALUES)).astype(np.int64))
    n_each = min(_MOST_EACH, int(_SHARE * n_runs) // some.size) // 2 * 2
    if n_each < _FEWEST_EACH:
        return pairs_of(n_values), 0
    reports = reports_of(np.repeat(some, n_each)).reshape(some.size, n_each, -1)
    coins = np.repeat([False, True], n_each // 2)

    def worth(one: int, other: int) -> float:
        learned, judged = (np.concatenate([reports[one, half::2], reports[other, half::2]]) for half in (0, 1))
        best = best_rule(
            views, (learned, coins), (judged, coins), claim=claim, group=1, n_runs=n_runs, error=1 - confidence
        )
        return best.worth

    order = sorted(combinations(range(some.size), 2), key=lambda pair: -worth(*pair))
    best = [(int(some[one]), int(some[other])) for one, other in order[:_KEPT]]
    others = [] if some.size == n_values else pairs_of(n_values)  # values that had no turn
    return list(dict.fromkeys([*best, *others]))[:MOST_PAIRS], some.size * n_each
