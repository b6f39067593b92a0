r"""Least squares on a tree whose nodes were measured with independent noise, one variance for each level.

A node's count is the sum of its children's, so measurements of nodes say something about one another. The estimate of
least variance among all unbiased ones takes two passes. Upward, every node v is estimated from its own subtree,

.. math:: z_v = (1 - k_v) \sum_c z_c + k_v y_v, \qquad k_v = \frac{S_v}{S_v + \sigma_l^2}, \qquad
          S_v = \sum_c s_c, \qquad s_v = (1 - k_v) S_v,

with the measurement y of variance :math:`\sigma_l^2` and the variance s of z over the children c; a leaf has z = y.
Downward, the children share what their parent knows better, in proportion to their variances:

.. math:: x_c = z_c + \frac{s_c}{S_v} \Bigl(x_v - \sum_{c'} z_{c'}\Bigr), \qquad x_\mathrm{root} = z_\mathrm{root}.

The leaves x then add up to every node. Nothing asks for equal fan-outs. A level of infinite variance was not measured;
one of variance 0 is known exactly, as a public total is.

Reference: Hay2010 (equal fan-outs and variances); the passes are Kalman smoothing on a tree, Chou1994.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.kernels import tree_kernels
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError

_Number = TypeVar("_Number", np.int64, np.float64)

# a table of siblings, side by side, may have this many places for each; of more uneven nodes running sums are taken,
# which cost less memory and some digits
_WIDEST = 4


@dataclass(frozen=True, slots=True, eq=False)
class Passes:
    r"""The sums, gains and shares of both passes over a tree at every node, and tables that answer ranges of leaves.

    A range needs little of the nodes along its two ends. Let a question put the weight w on the fused count x of a
    node, and nothing else on its subtree. In terms of the measurements it puts weights on z too; from there the subtree
    answers alone:

    * K, the fourth cumulant from below: of the noise in z, that is :math:`k^4 c + (1-k)^4 \sum_c K_c` with the fourth
      cumulant c of the node's own measurement.
    * :math:`\gamma` and O, the weight of z in x and the fourth cumulant of x from everything outside the node's
      subtree. With the share :math:`r = s/S` of a node in its parent p,

    .. math:: \gamma = 1 + r\,((1-k_p)\gamma_p - 1), \qquad
              O = r^4 \Bigl( O_p + (k_p \gamma_p)^4 c_p + ((1-k_p)\gamma_p - 1)^4 \sum_{c' \ne c} K_{c'} \Bigr).

    Sums of K over siblings before a node make each level of a range O(1).

    Lists by level, root first: variances s from below, gains k (of all levels but the last) and shares s_c / S.
    """

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
        """Return, for every node of a level, the sum over its children."""
        starts, numbers = self.children[level]
        if isinstance(numbers, int):
            total: FloatArray = below.reshape(-1, numbers, *below.shape[1:]).sum(axis=1)
            return total
        return np.add.reduceat(below, starts, axis=0)

    def sum_before(self, level: int, below: FloatArray) -> FloatArray:
        """Return, for every node below a level, the sum over its siblings before it."""
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
        """Return the number of a node of a level, at every one of its children."""
        return np.repeat(above, self.children[level][1], axis=0)


def inverse(numbers: FloatArray) -> FloatArray:
    """Return 1 over each number; 0 where it is 0."""
    return np.divide(1.0, numbers, out=np.zeros_like(numbers), where=numbers > 0)


N_COLUMNS = 11  # of a row, as kernels.tree_plain lists them


def range_tables(
    passes: Passes, node_variances: FloatArray, level_cumulants: Sequence[float]
) -> tuple[NDArray[np.uint32], FloatArray]:
    """Return the parent and the row of every node, and the rows for :mod:`tacit._base.kernels.tree_plain`."""
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
    """Return rows of nodes; those equal to the first parent's child at their position share its row, as most do."""
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


def mean_over_ranges(passes: Passes) -> float:
    r"""Return the mean variance over all ranges of any fused tree, exactly, in O(nodes).

    Below a node v its leaves follow its count in fixed parts :math:`\pi_v`, the products of the shares s_c / S on the
    way down, so the covariance of the leaves is

    .. math:: C = \sum_{\text{leaves}} s\, \pi \pi^\top - \sum_{\text{inner } v} (S_v - s_v)\, \pi_v \pi_v^\top .

    Two leaves i <= j lie together in (i + 1)(N - j) of the N (N + 1) / 2 ranges, so the mean is the same sum of

    .. math:: Q_v = \frac{2}{N (N + 1)} \sum_{i, j} \pi_{vi} \pi_{vj} (\min(i, j) + 1) (N - \max(i, j)),

    which parts into the children's, and into products of first moments :math:`A_v = \sum_i \pi_{vi} (i + 1)` for leaves
    of two children. A tree of equal fan-outs whose last nodes are cut short has nodes of two kinds a level, whole ones
    and the last: its mean takes O(height).
    """
    tree = passes.hierarchy
    n = tree.n_leaves
    starts = tree.boundaries[-1][1:].astype(np.float64)
    first_moments, products = starts, starts * (n + 1 - starts)
    total = float((passes.from_below[-1] * products).sum())
    for level in range(tree.height - 1, -1, -1):
        shares = passes.shares[level + 1]
        parts = shares * first_moments
        # pairs of leaves in two children, the earlier one's first
        across = 2 * passes.sum_before(level, parts) * shares * (n + 1 - first_moments)
        products = passes.sum_children(level, shares**2 * products + across)
        first_moments = passes.sum_children(level, parts)
        saved = passes.sum_children(level, passes.from_below[level + 1]) - passes.from_below[level]
        total -= float((saved * products).sum())
    return total * 2 / (n * (n + 1))


def mean_over_ranges_of_fan_outs(fan_outs: Sequence[int], n_leaves: int, level_variances: Sequence[float]) -> float:
    """Return the mean variance over all ranges of the tree of these fan-outs, root first, cut short; O(height).

    >>> round(mean_over_ranges_of_fan_outs([4], 4, [float("inf"), 1.0]), 12)  # mean length 2
    2.0
    """
    n = n_leaves
    sizes = [prod(fan_outs[level:]) for level in range(len(fan_outs) + 1)]
    whole = level_variances[-1]  # s of a whole node
    last: tuple[float, float, float] | None = None  # s, A and Q of the node cut short, if there is one
    total = whole * sum_of_products(n, n, 1)
    for level in range(len(fan_outs) - 1, -1, -1):
        size, below = sizes[level], sizes[level + 1]
        n_whole, rest = divmod(n, size)
        total_below = fan_outs[level] * whole
        own = total_below * _kept(total_below, level_variances[level])
        total -= (total_below - own) * sum_of_products(n, n_whole, size)
        if rest:
            count, offset = rest // below, n - rest
            last_s, last_moment, last_product = last or (0.0, 0.0, 0.0)
            sums = count * whole + last_s
            share, last_share = (whole / sums, last_s / sums) if sums else (0.0, 0.0)
            moments = sum(offset + below * k + (below + 1) / 2 for k in range(count))
            inside = sum_of_products(n, count, below, offset)
            # the pairs in two whole children: all pairs in the run of them, less those in one
            pairs = _run_product(n, count * below, offset) * count**2 - inside if count else 0.0
            product = share**2 * (inside + pairs) + last_share**2 * last_product
            product += 2 * share * last_share * moments * (n + 1 - last_moment)
            kept = sums * _kept(sums, level_variances[level])
            total -= (sums - kept) * product
            last = kept, share * moments + last_share * last_moment, product
        else:
            last = None
        whole = own
    return total * 2 / (n * (n + 1))


def sum_of_products(n: int, count: int, size: int, offset: int = 0) -> float:
    """Return the sum of Q N (N + 1) / 2 over ``count`` nodes of ``size`` evenly weighted leaves each, side by side."""
    if not count:
        return 0.0
    # of two leaves of a node, counted from its first: the means of the smaller, of the larger and of their product
    larger = (size - 1) * (4 * size + 1) / (6 * size)
    smaller, product = size - 1 - larger, ((size - 1) / 2) ** 2
    steps, squares = count * (count - 1) // 2, (count - 1) * count * (2 * count - 1) // 6
    firsts = count * offset + size * steps
    first_squares = count * offset**2 + 2 * offset * size * steps + size**2 * squares
    # (o + 1)(n - o) + (n - o) smaller - (o + 1) larger - product, summed over the nodes' first leaves o
    whole = count * n + (n - 1) * firsts - first_squares
    return whole + smaller * (count * n - firsts) - larger * (count + firsts) - product * count


def _run_product(n: int, size: int, offset: int) -> float:
    return sum_of_products(n, 1, size, offset)


def _kept(below: float, variance: float) -> float:
    """Return 1 - k: the part of the variance from below that a measurement leaves."""
    known = below + variance
    return 1.0 if known == float("inf") or not known else variance / known


@dataclass(frozen=True, eq=False)
class TreeFusion:
    """The least-squares leaves of a measured tree, and the exact error of every question put to them.

    ``level_variances`` stand root first, as the levels of the hierarchy do; arrays of nodes are numbered as the
    hierarchy numbers them. ``level_cumulants`` are the fourth cumulants of the measurements' noise, 0 if it is normal:
    they say how far from normal an answer still is. O(nodes) to make, to fuse and for the variance of a question;
    O(height) for a range.

    >>> fusion = TreeFusion(Hierarchy.of_degree(4, 2), [math.inf, 2.0, 2.0])
    >>> fusion.fuse(np.array([0.0, 10.0, 2.0, 4.0, 3.0, 1.0, 1.0])).tolist()
    [5.0, 4.0, 1.0, 1.0]
    >>> fusion.range_variances(np.array([0, 0, 0]), np.array([1, 2, 4])).round(4).tolist()
    [1.3333, 1.3333, 2.6667]
    """

    hierarchy: Hierarchy
    level_variances: Sequence[float]
    level_cumulants: Sequence[float] | None = None

    def __post_init__(self) -> None:
        variances = tuple(float(variance) for variance in self.level_variances)
        object.__setattr__(self, "level_variances", variances)
        cumulants = self.level_cumulants or [0.0] * len(variances)
        object.__setattr__(self, "level_cumulants", tuple(float(cumulant) for cumulant in cumulants))
        if len(variances) != self.hierarchy.n_levels or not all(variance >= 0 for variance in variances):
            raise SettingError(
                f"level_variances must be {self.hierarchy.n_levels} numbers of at least 0, root first; "
                f"got level_variances={variances}. Write inf for a level that was not measured."
            )
        if math.isinf(variances[-1]):
            raise SettingError(
                "level_variances must be finite for the leaves; got inf. "
                "Measure the leaves, or make a tree whose leaves are the finest level that was measured."
            )

    def fuse(self, nodes: NDArray[np.floating] | NDArray[np.integer]) -> FloatArray:
        """Return the leaves of least variance from measurements of all nodes: of one tree, or of many in columns.

        Values of levels that were not measured are not looked at, and may be NaN.
        """
        nodes = np.asarray(nodes)
        if nodes.ndim not in (1, 2) or len(nodes) != self.hierarchy.n_nodes:
            raise SettingError(
                f"nodes must have {self.hierarchy.n_nodes} rows, one for each node; got shape={nodes.shape}."
            )
        last = self.hierarchy.height
        from_below = [np.asarray(nodes[self.hierarchy.level_slice(last)], np.float64)]
        sums: list[FloatArray] = []
        for level in range(last - 1, -1, -1):
            below = self.passes.sum_children(level, from_below[0])
            sums.insert(0, below)
            if math.isfinite(self.level_variances[level]):
                own = nodes[self.hierarchy.level_slice(level)]
                below = below + _beside(self.passes.gains[level], below) * (own - below)
            from_below.insert(0, below)
        fused = from_below[0]
        for level in range(last):
            correction = self.passes.spread(level, fused - sums[level])
            correction *= _beside(self.passes.shares[level + 1], correction)
            correction += from_below[level + 1]
            fused = correction
        return fused

    def node_weights(self, leaf_weights: FloatArray) -> FloatArray:
        """Return a question's weights on measurements: ``leaf_weights @ fuse(y) == node_weights(leaf_weights) @ y``.

        Columns of leaf weights give columns of node weights.
        """
        weights = np.asarray(leaf_weights, np.float64)
        if weights.ndim not in (1, 2) or len(weights) != self.hierarchy.n_leaves:
            raise SettingError(
                f"leaf_weights must have {self.hierarchy.n_leaves} rows, one for each leaf; got shape={weights.shape}."
            )
        last = self.hierarchy.height
        beyond = [weights] * (last + 1)
        for level in range(last - 1, -1, -1):
            means = self.passes.sum_children(level, weights * _beside(self.passes.shares[level + 1], weights))
            beyond[level + 1] = weights - self.passes.spread(level, means)
            weights = means
        beyond[0] = weights
        result = np.zeros((self.hierarchy.n_nodes, *weights.shape[1:]))
        for level in range(last):
            gains = _beside(self.passes.gains[level], beyond[level])
            result[self.hierarchy.level_slice(level)] = gains * beyond[level]
            beyond[level + 1] = beyond[level + 1] + self.passes.spread(level, (1 - gains) * beyond[level])
        result[self.hierarchy.level_slice(last)] = beyond[last]
        return result

    def variance(self, leaf_weights: FloatArray) -> float:
        """Return the variance of a question about the leaves."""
        return float(self.moments(leaf_weights)[0])

    def moments(self, leaf_weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the variance and the fourth cumulant of a question about the leaves, or of each column of them."""
        squares = self.node_weights(leaf_weights) ** 2
        variance, cumulant = np.zeros((2, *squares.shape[1:]))
        for level, (own_variance, own_cumulant) in enumerate(
            zip(self.level_variances, self._level_cumulants, strict=True)
        ):
            if math.isfinite(own_variance):
                here = squares[self.hierarchy.level_slice(level)]
                variance = variance + own_variance * here.sum(axis=0)
                cumulant = cumulant + own_cumulant * (here**2).sum(axis=0)
        return variance, cumulant

    @cached_property
    def node_variances(self) -> FloatArray:
        """The variance of every node's fused count."""
        fused = [self.passes.from_below[0]]
        for level in range(self.hierarchy.height):
            shares, below = self.passes.shares[level + 1], self.passes.from_below[level + 1]
            fused.append(below * (1 - shares) + shares**2 * self.passes.spread(level, fused[level]))
        variances = np.concatenate(fused)
        variances.flags.writeable = False
        return variances

    def range_variances(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> FloatArray:
        r"""Return the variances of sums of the leaves from ``first`` up to but not including ``stop``, elementwise.

        Up to the node v that holds both ends of a range, its sum is :math:`\alpha_v x_v` plus a rest that is
        uncorrelated with it. Where children carry the weights w (1 inside the range, :math:`\alpha_c` at its ends),

        .. math:: \alpha_v = \frac{\sum_c w_c s_c}{S_v}, \qquad
                  \rho_v = \sum_c \rho_c + \sum_c w_c^2 s_c - \frac{(\sum_c w_c s_c)^2}{S_v}, \qquad
                  \mathrm{Var} = \rho_v + \alpha_v^2 \mathrm{Var}(x_v).
        """
        return self.range_moments(first, stop)[0]

    def range_moments(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> tuple[FloatArray, FloatArray]:
        """Return the variances and the fourth cumulants of sums of leaves, O(height) each: see :mod:`.ranges`."""
        first, stop = self._checked_ranges(first, stop)
        variances, cumulants = np.empty(first.shape), np.empty(first.shape)
        kernels = tree_kernels(first.size * self.hierarchy.n_levels)
        kernels.range_moments(
            first.ravel(),
            stop.ravel(),
            self.hierarchy.level_slice(self.hierarchy.height).start,
            *self._range_tables,
            variances.reshape(-1),
            cumulants.reshape(-1),
        )
        return variances, cumulants

    def mean_range_variance(self) -> float:
        """Return the mean variance over all ranges, each as likely as any other; O(nodes)."""
        return mean_over_ranges(self.passes)

    def _checked_ranges(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> tuple[IntArray, IntArray]:
        starts, stops = np.broadcast_arrays(np.asarray(first, np.int64), np.asarray(stop, np.int64))
        wrong = (starts < 0) | (starts >= stops) | (stops > self.hierarchy.n_leaves)
        if wrong.any():
            raise SettingError(
                f"ranges must satisfy 0 <= first < stop <= {self.hierarchy.n_leaves}; {np.count_nonzero(wrong)} of "
                f"{wrong.size} do not, the first at position {np.argmax(wrong.ravel())}."
            )
        return np.ascontiguousarray(starts), np.ascontiguousarray(stops)

    @property
    def _level_cumulants(self) -> Sequence[float]:
        assert self.level_cumulants is not None
        return self.level_cumulants

    @cached_property
    def passes(self) -> Passes:
        """Return what is summed, gained and shared at every node."""
        return Passes.over(self.hierarchy, self.level_variances)

    @cached_property
    def _range_tables(self) -> tuple[NDArray[np.uint32], FloatArray]:
        return range_tables(self.passes, self.node_variances, self._level_cumulants)


def _beside(one_each: FloatArray, rows: FloatArray) -> FloatArray:
    """Return a number for each row, shaped to multiply rows of any width."""
    return one_each if rows.ndim == 1 else one_each[:, None]
