r"""Trees, their level chances and the oracles of their levels that make ranges of fused leaves err least.

Where level l of a tree has nodes of :math:`m_l` leaves, measured with variance :math:`\sigma_l^2`, and the total is
known, least squares leave a range with the indicator u the variance

.. math:: \sum_{l \ge 1} \frac{|A_l u|^2 - |A_{l-1} u|^2}{\lambda_l}, \qquad
          \lambda_l = \sum_{j \ge l} \frac{m_j}{\sigma_j^2},

where :math:`A_l` averages over the nodes of level l. The mean of :math:`|A_l u|^2` over all ranges has a closed form,
and so has the mean variance: exact for equal fan-outs, and close where the last nodes are cut short.

Reference: Kulkarni2019; Hay2010.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.counts.oracle_distributions import mean_variance
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.randomizer import FrequencyOracle
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.local.unary import UnaryEncoding

LevelOracle = Callable[[float, int], FrequencyOracle]
"""Makes a level's oracle of an epsilon and a number of nodes."""

MOST_NAMED: Final = 128
"""Up to so many nodes subsets are named, a bit for each node."""
_TOLERANCE: Final = 1.03  # a report may err 3 % more if it is shorter


def subset_oracle(epsilon: float, n_cells: int) -> FrequencyOracle:
    """The oracle of least variance; its reports have a bit for each node."""
    return SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=n_cells)


def short_oracle(epsilon: float, n_cells: int) -> FrequencyOracle:
    """The oracle of least variance for a small level; for a large one, the shortest report that errs 3 % more at most.

    >>> short_oracle(1.0, 128).report_bytes, short_oracle(1.0, 2048).report_bytes
    (16, 2)
    """
    subset = subset_oracle(epsilon, n_cells)
    if n_cells <= MOST_NAMED:
        return subset
    made: list[FrequencyOracle] = [
        subset,
        LocalHashing.from_epsilon(epsilon=epsilon, n_cells=n_cells),
        HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells),
    ]
    least = min(mean_variance(one.distribution) for one in made)
    good = [one for one in made if mean_variance(one.distribution) <= _TOLERANCE * least]
    return min(good, key=lambda one: (one.report_bytes, mean_variance(one.distribution)))


def oracle_from_thresholds(thresholds: Mapping[str, int], n_cells: int) -> FrequencyOracle:
    """Make the oracle that has thresholds of these names.

    >>> oracle_from_thresholds({"keep": 1 << 62}, 5)
    HadamardResponse(n_cells=5, keep=4611686018427387904)
    """
    make = _KINDS.get(frozenset(thresholds))
    if make is None:
        raise SettingError("the thresholds of a level must be those of a known oracle. Install a newer Tacit.")
    return make(n_cells=n_cells, **thresholds)


_KINDS: Final[Mapping[frozenset[str], Callable[..., FrequencyOracle]]] = {
    frozenset(("include", "size")): SubsetSelection,
    frozenset(("ones", "zeros")): UnaryEncoding,
    frozenset(("bits", "keep")): LocalHashing,
    frozenset(("keep",)): HadamardResponse,
}


DEGREES: Final = (2, 3, 4, 8, 16)
"""The fan-outs that are tried."""
_STEPS: Final = 100
_GRID: Final = 1024  # shares are whole parts of so many
_LEAST_SHARE: Final = 1e-6
_TOO_FEW: Final = 8
"""A level that deserves less than 8 of 1024 reports is not worth a level."""


def range_energies(hierarchy: Hierarchy) -> FloatArray:
    r"""For each level, root first, the mean of :math:`|A u|^2` over all ranges u.

    Two leaves i <= j lie together in (i + 1) (N - j) ranges.

    >>> range_energies(Hierarchy.of_degree(2, 2)).round(4).tolist()   # ranges 10, 01 and 11
    [1.0, 1.3333]
    """
    n = hierarchy.n_leaves
    leaves = np.arange(n, dtype=np.float64)
    energies = []
    for boundaries in hierarchy.boundaries:
        starts, sizes = boundaries[:-1], np.diff(boundaries)
        first = np.repeat(starts, sizes)
        before = (leaves - first) * (leaves + first + 1) / 2  # the sum of i + 1 over the node's leaves before this one
        together = np.add.reduceat((n - leaves) * (leaves + 1 + 2 * before), starts)
        energies.append(float((together / sizes).sum()) / (n * (n + 1) / 2))
    return np.array(energies)


def mean_range_variance(hierarchy: Hierarchy, level_variances: Sequence[float]) -> float:
    """The variance of a range of fused leaves, on average over all ranges; the root is known."""
    gains = np.diff(range_energies(hierarchy))
    return float((gains / _precisions(_node_sizes(hierarchy), np.array(level_variances[1:]))).sum())


def best_shares(hierarchy: Hierarchy, errors: Sequence[float]) -> list[int]:
    r"""The shares of reports of the levels below the root that minimize the mean variance of ranges, out of 1024.

    ``errors`` are the oracles' variances a for one report and node; the variance of a node is then
    :math:`(a_l + (1 - \alpha_l)/k_l)/\alpha_l`. Shares are multiplied by the root of what they gain until they settle.
    """
    gains, sizes = np.diff(range_energies(hierarchy)), _node_sizes(hierarchy)
    own, even = np.array(errors), 1 / np.array(hierarchy.level_sizes[1:])
    shares = np.full(len(own), 1 / len(own))
    for _ in range(_STEPS):
        spread = own + (1 - shares) * even
        precisions = _precisions(sizes, spread / shares)
        falls = np.cumsum(gains / precisions**2) * sizes * (own + even) / spread**2
        shares *= np.sqrt(falls)
        shares = np.maximum(shares / shares.sum(), _LEAST_SHARE)
    return _rounded(shares)


def best_tree(n_leaves: int, errors_of: Callable[[int], float]) -> tuple[Hierarchy, list[int]]:
    """The tree whose ranges err least, and the shares of its levels below the root, out of 1024.

    ``errors_of`` gives an oracle's variance for one report and node, by the number of nodes of its level. Trees of one
    degree are tried; of the best, levels that hardly any report should answer for are left out.

    >>> best_tree(64, lambda n_nodes: 3.7)[0].level_sizes
    (1, 4, 8, 16, 32, 64)
    """
    best = (math.inf, Hierarchy.of_degree(n_leaves, n_leaves), [_GRID])
    for degree in DEGREES:
        if degree <= n_leaves:
            tree = Hierarchy.of_degree(n_leaves, degree)
            errors = [errors_of(size) for size in tree.level_sizes[1:]]
            shares = best_shares(tree, errors)
            variance = mean_range_variance(tree, _variances(tree, errors, shares))
            if variance < best[0]:
                best = variance, tree, shares
    _, tree, shares = best
    if min(shares) < _TOO_FEW:
        inner = [tree.boundaries[level] for level, share in enumerate(shares[:-1], 1) if share >= _TOO_FEW]
        tree = Hierarchy.of_levels(inner, n_leaves)
        shares = best_shares(tree, [errors_of(size) for size in tree.level_sizes[1:]])
    return tree, shares


def _variances(hierarchy: Hierarchy, errors: Sequence[float], shares: Sequence[int]) -> list[float]:
    """The variances of nodes, root first."""
    parts = zip(errors, hierarchy.level_sizes[1:], shares, strict=True)
    return [0.0, *((error + (1 - share / _GRID) / size) * _GRID / share for error, size, share in parts)]


def _node_sizes(hierarchy: Hierarchy) -> FloatArray:
    """The mean number of leaves of a node, for each level below the root."""
    return hierarchy.n_leaves / np.array(hierarchy.level_sizes[1:], np.float64)


def _precisions(sizes: FloatArray, variances: FloatArray) -> FloatArray:
    """lambda of each level below the root: what it and all finer levels know."""
    return np.cumsum((sizes / variances)[::-1])[::-1]


def _rounded(shares: FloatArray) -> list[int]:
    """Whole numbers of at least 1 in proportion to the shares, 1024 in all: the same on every platform."""
    whole = np.maximum(np.rint(shares * _GRID).astype(np.int64), 1)
    whole[np.argmax(whole)] += _GRID - whole.sum()
    return [int(share) for share in whole]
