r"""What is shown of smoothed counts: none below zero, and sums that are still what was found.

A posterior mean may be below zero where next to nothing happens. Moving it to zero day by day would add up to events
that nobody found: a year of small rests. So the longest periods are moved first, to the nearest counts that can be;
then the months of each year, and the days of each month, so that they add up to them, and in each period all places to
its public total. Both are kept by scaling rows and columns in turn.

Reference: Deming1940.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit.counts.norm_sub import norm_sub
from tacit.counts.observations import Observations
from tacit.domain import TimeAxis
from tacit.postprocess.coherence import calendar_tree, handed_down

SHOWN: Final = "negative counts shown as 0, the others lowered to keep the total"
SHOWN_WITHOUT_TOTAL: Final = "negative counts shown as 0"
SHOWN_IN_PERIODS: Final = "negative counts shown as 0, the others lowered to keep totals, and years, then months"
SHOWN_ADDING_UP: Final = "negative counts shown as 0, the others lowered to keep years, then months"

_MOST_ROUNDS: Final = 30
_SLACK: Final = 1e-4


def shown_alone(values: FloatArray, known: Observations) -> FloatArray:
    """The nearest values that counts can have, each time for itself."""
    if known.is_shared:
        return norm_sub(values, known.exposures.astype(np.int64))
    return np.maximum(values, 0.0)


def shown_in_periods(values: FloatArray, known: Observations, time: TimeAxis) -> FloatArray:
    """Values that counts can have, whose years and months are the nearest that those can have."""
    tree = calendar_tree(time)
    if not known.is_shared:
        return known.exposures[:, None] * handed_down(tree, values, None)
    totals = tree.sum_leaves(known.exposures)
    nodes = norm_sub(tree.sum_leaves(values), totals)
    for level in range(1, tree.n_levels):
        part, above = tree.level_slice(level), tree.level_slice(level - 1)
        nodes[part] = _raked(nodes[part], totals[part], nodes[above], tree.first_children(level - 1))
    return nodes[tree.level_slice(tree.height)]


def _raked(rows: FloatArray, totals: FloatArray, parents: FloatArray, first: IntArray) -> FloatArray:
    """Rows scaled so that their groups add up to their parents, nearly, and each to its total."""
    groups = np.repeat(np.arange(len(first) - 1), np.diff(first))
    for _ in range(_MOST_ROUNDS):
        sums = np.add.reduceat(rows, first[:-1], axis=0)
        if np.abs(sums - parents).max() <= _SLACK * (1 + parents.max()):
            break
        scaled = rows * np.divide(parents, sums, out=np.ones_like(sums), where=sums > 0)[groups]
        found = scaled.sum(axis=1, keepdims=True)
        rows = np.where(found > 0, scaled * np.divide(totals[:, None], found, where=found > 0, out=found.copy()), rows)
    return rows
