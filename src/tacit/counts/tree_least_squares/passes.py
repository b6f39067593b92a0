r"""What the two passes over a tree sum, gain and share at every node, and the tables that answer ranges of leaves.

A range needs little of the nodes along its two ends. Let a question put the weight w on the fused count x of a node,
and nothing else on its subtree. In terms of the measurements it puts weights on z too; from there the subtree answers
alone:

* K, the fourth cumulant from below: of the noise in z, that is :math:`k^4 c + (1-k)^4 \sum_c K_c` with the fourth
  cumulant c of the node's own measurement.
* :math:`\gamma` and O, the weight of z in x and the fourth cumulant of x from everything outside the node's subtree.
  With the share :math:`r = s/S` of a node in its parent p,

.. math:: \gamma = 1 + r\,((1-k_p)\gamma_p - 1), \qquad
          O = r^4 \Bigl( O_p + (k_p \gamma_p)^4 c_p + ((1-k_p)\gamma_p - 1)^4 \sum_{c' \ne c} K_{c'} \Bigr).

Sums of K over siblings before a node make each level of a range O(1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit.domain.hierarchy import Hierarchy

_Number = TypeVar("_Number", np.int64, np.float64)

_WIDEST = 4  # a table of siblings, side by side, may have this many places for each


@dataclass(frozen=True, slots=True, eq=False)
class Passes:
    """Lists by level, root first: variances s from below, gains k (of all levels but the last) and shares s_c / S."""

    hierarchy: Hierarchy
    children: list[tuple[IntArray, int | IntArray]]
    from_below: list[FloatArray]
    gains: list[FloatArray]
    shares: list[FloatArray]

    @classmethod
    def over(cls, hierarchy: Hierarchy, level_variances: Sequence[float]) -> Passes:
        """Make them for a tree whose levels were measured with these variances."""
        children: list[tuple[IntArray, int | IntArray]] = []
        for level in range(hierarchy.height):
            starts = hierarchy.first_children(level)
            numbers = np.diff(starts)
            is_equal = bool((numbers == numbers[0]).all())
            children.append((starts[:-1], int(numbers[0]) if is_equal else numbers))
        passes = cls(hierarchy, children, [np.full(hierarchy.n_leaves, float(level_variances[-1]))], [], [])
        for level in range(hierarchy.height - 1, -1, -1):
            below = passes.from_below[0]
            sums = passes.sum_children(level, below)
            # where all children are known exactly nothing is left to share, and a measurement adds nothing
            passes.shares.insert(0, below * passes.spread(level, inverse(sums)))
            known = sums + level_variances[level]
            gains = np.divide(sums, known, out=np.zeros_like(sums), where=known > 0)
            passes.gains.insert(0, gains)
            passes.from_below.insert(0, sums * (1 - gains))
        passes.shares.insert(0, np.ones(1))
        return passes

    def sum_children(self, level: int, below: FloatArray) -> FloatArray:
        """For every node of a level, the sum over its children."""
        starts, numbers = self.children[level]
        if isinstance(numbers, int):
            total: FloatArray = below.reshape(-1, numbers, *below.shape[1:]).sum(axis=1)
            return total
        return np.add.reduceat(below, starts, axis=0)

    def sum_before(self, level: int, below: FloatArray) -> FloatArray:
        """For every node below a level, the sum over its siblings before it."""
        starts, numbers = self.children[level]
        most = numbers if isinstance(numbers, int) else int(numbers.max())
        if most * starts.size > _WIDEST * below.size:
            # extended precision, so that differences of running sums over a million leaves keep their digits
            running = np.concatenate([[0], np.cumsum(below, dtype=np.longdouble)])[:-1]
            return np.asarray(running - np.repeat(running[starts], numbers), np.float64)
        filled = slice(None) if isinstance(numbers, int) else np.arange(most) < numbers[:, None]
        siblings = np.zeros((starts.size, most))
        siblings[filled] = below.reshape(-1, most) if isinstance(numbers, int) else below
        before = np.zeros_like(siblings)
        np.cumsum(siblings[:, :-1], axis=1, out=before[:, 1:])
        return before[filled].ravel()

    def spread(self, level: int, above: NDArray[_Number]) -> NDArray[_Number]:
        """The number of a node of a level, at every one of its children."""
        return np.repeat(above, self.children[level][1], axis=0)


def inverse(numbers: FloatArray) -> FloatArray:
    """1 over each number; 0 where it is 0."""
    return np.divide(1.0, numbers, out=np.zeros_like(numbers), where=numbers > 0)


N_COLUMNS = 11  # of a row, as kernels.tree_plain lists them


def range_tables(
    passes: Passes, node_variances: FloatArray, level_cumulants: Sequence[float]
) -> tuple[NDArray[np.uint32], FloatArray]:
    """The parent and the row of every node; and the rows, as :mod:`tacit._base.kernels.tree_plain` wants them."""
    tree = passes.hierarchy
    below = [np.full(tree.n_leaves, level_cumulants[-1])]
    for level in range(tree.height - 1, -1, -1):
        gains = passes.gains[level]
        below.insert(0, gains**4 * level_cumulants[level] + (1 - gains) ** 4 * passes.sum_children(level, below[0]))
    links = np.zeros((tree.n_nodes, 2), np.uint32)
    root = np.zeros((N_COLUMNS, 1))
    root[[0, 3, 4, 7, 8, 10], 0] = (
        passes.from_below[0][0],
        passes.gains[0][0] if tree.height else 1.0,
        below[0][0],
        1.0,
        level_cumulants[0],
        node_variances[0],
    )
    tables, n_rows, above = [root], 1, root
    for level in range(1, tree.n_levels):
        here = np.empty((N_COLUMNS, tree.level_sizes[level]))
        own, K = passes.from_below[level], below[level]
        sum_K = passes.sum_children(level - 1, K)
        here[0] = own
        here[1] = passes.sum_before(level - 1, own)
        here[2] = passes.spread(level - 1, inverse(passes.sum_children(level - 1, own)))
        here[3] = passes.gains[level] if level < tree.height else 1.0
        here[4] = K
        here[5] = passes.sum_before(level - 1, K)
        here[6] = np.maximum(passes.spread(level - 1, sum_K) - here[5] - K, 0.0)
        shift = (1 - above[3]) * above[7] - 1
        outside = above[9] + (above[3] * above[7]) ** 4 * above[8]
        share = passes.shares[level]
        shift = passes.spread(level - 1, shift)
        here[7] = 1 + share * shift
        here[8] = level_cumulants[level]
        here[9] = share**4 * (passes.spread(level - 1, outside) + shift**4 * (here[5] + here[6]))
        here[10] = node_variances[tree.level_slice(level)]
        part = tree.level_slice(level)
        start = tree.level_slice(level - 1).start
        links[part, 0] = passes.spread(level - 1, np.arange(start, part.start))
        chosen, same_as = _distinct(passes, level, here)
        links[part, 1] = same_as + n_rows
        tables.append(here[:, chosen])
        n_rows, above = n_rows + len(chosen), here
    return links, np.ascontiguousarray(np.concatenate(tables, axis=1).T)


def _distinct(passes: Passes, level: int, here: FloatArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes equal to the first parent's child at their position share its row: all of a regular tree's, or nearly."""
    starts, numbers = passes.children[level - 1]
    n_first = numbers if isinstance(numbers, int) else int(numbers[0])
    position = np.arange(here.shape[1]) - passes.spread(level - 1, starts)
    like = np.minimum(position, n_first - 1)
    differs = position >= n_first
    for column in here:
        differs |= column != column[like]
    own = np.flatnonzero(differs)
    same_as = like
    same_as[own] = n_first + np.arange(own.size)
    return np.concatenate([np.arange(n_first), own]), same_as
