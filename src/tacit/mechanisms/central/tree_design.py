r"""The tree of least error for a curator's noise, and how much of the budget each of its levels gets.

A tree of node sizes :math:`m_0 \ge \dots \ge m_h = 1`, its levels measured with precisions w (one over the variance),
fused by least squares, answers the question u with variance

.. math:: \sum_j \frac{|A_j u|^2 - |A_{j-1} u|^2}{\lambda_j}, \qquad \lambda_j = \sum_{l \ge j} w_l m_l,

where :math:`A_j` averages over the nodes of level j. The energies :math:`|A_j u|^2` are averaged over the questions
once; the best shares of a tree then come from the derivatives of a short sum, and the best tree from trying
neighbouring fan-outs. Nothing is spent on the root: the optimum is always there. Last nodes are cut short, not padded;
for all ranges their exact mean (:mod:`tacit.counts.tree_least_squares`) decides. Everything is deterministic.

Reference: Hay2010; Qardaji2013.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit._base.validation import check_at_least, check_positive
from tacit.counts.tree_least_squares import TreeFusion, mean_over_ranges_of_fan_outs, sum_of_products
from tacit.domain import Hierarchy
from tacit.errors import SettingError
from tacit.mechanisms.central.tree import EVENT
from tacit.privacy.cost import Cost
from tacit.privacy.unit import Unit

PARTS: Final = 1000
"""Shares are whole parts of a thousand: half or twice as many change the error by less than 0.01 %."""

# Half or twice of the first, second or fourth finds the same trees for 365, 2,048 and 65,536 leaves.
_SMALLEST_SHARE: Final = 0.005  # half a percent of the budget: a level that deserves less is left out
_WIDEST: Final = 64  # fan-out of the trees that a search starts from
_N_STARTS: Final = 4  # of the best of them, from which a search descends; two find errors 0.02 % larger, eight the same
_MOST_STEPS: Final = 24  # of a descent, which ends earlier where no neighbour is better
# Half or twice of the next three changes the error by 5e-5 at most.
_MOST_ROUNDS: Final = 60  # of finding shares, which ends earlier where a round gains nothing
_LEAST_STEP: Final = 1e-3  # below, moving shares helps no more
_SETTLED: Final = 1e-9  # relative gain of a round that is none
_RANGES_A_LENGTH: Final = 512  # positions that stand for all of a length: half or twice change its error by 0.07 %


@dataclass(frozen=True, slots=True)
class TreeDesign:
    """Fan-outs and shares of the budget of the levels below the root, coarsest first, and the error they lead to."""

    n_leaves: int
    fan_outs: tuple[int, ...]
    shares: tuple[int, ...]
    mean_variance: float

    @property
    def hierarchy(self) -> Hierarchy:
        return Hierarchy.of_fan_outs(self.fan_outs, self.n_leaves)


def best_tree(
    n_leaves: int, *, cost: Cost, unit: Unit = EVENT, questions: str | Mapping[int, float] = "ranges"
) -> TreeDesign:
    """Find the tree and the shares of least mean variance, among flat counts and trees of any fan-outs.

    ``questions`` are "ranges" (every range as likely as any other), "points" (single leaves), or lengths of ranges with
    their weights, at any place. Of a person's bounds Gaussian noise follows those of each level's nodes.

    >>> design = best_tree(2048, cost=Cost.pure(1.0))
    >>> design.fan_outs, round(math.sqrt(design.mean_variance), 1)
    ((11, 13, 15), 14.1)
    """
    check_at_least(1, n_leaves=n_leaves)
    if bool(cost.epsilon) == bool(cost.rho):
        raise SettingError(f"cost must be pure or zCDP, not both and not nothing; got {cost}.")
    if isinstance(questions, str):
        if questions not in ("ranges", "points"):
            raise SettingError(f"questions must be ranges, points or lengths; got questions={questions}.")
        return _designed(n_leaves, cost, unit, questions)
    for length, weight in questions.items():
        check_at_least(1, length=length)
        check_positive(weight=weight)
        if length > n_leaves:
            raise SettingError(f"length must be at most the number of leaves, {n_leaves}; got length={length}.")
    if not questions:
        raise SettingError('questions must name at least one length. Use "ranges" for all of them.')
    return _designed(n_leaves, cost, unit, tuple(sorted(questions.items())))


@lru_cache(maxsize=256)
def _designed(n: int, cost: Cost, unit: Unit, questions: str | tuple[tuple[int, float], ...]) -> TreeDesign:
    asked = _Questions.of(n, questions)
    if n == 1:
        alone = _Precision.of_levels(cost, unit, np.ones(1)).of(np.ones(1))
        return TreeDesign(1, (), (), 1 / float(alone[0]))
    search = _Search(n, cost, unit, asked)
    starts = sorted(_starts(n), key=search.error)
    best = min((search.descend(start) for start in starts[:_N_STARTS]), key=search.error)
    shares = _whole_parts(search.shares(best))
    variances = (1 / search.precision(best).of(np.array(shares) / sum(shares))).tolist()
    return TreeDesign(n, best, shares, asked.mean_variance(best, variances))


@dataclass(frozen=True, slots=True)
class _Precision:
    """One over the variance of a node, for each level below the root and its share of the budget.

    ``rate`` is that of Laplace noise with the whole budget, 0 for Gaussian noise; ``slopes`` are the precisions of
    Gaussian noise with the whole budget, which follow the bounds of a unit on nodes of the level's size.
    """

    rate: float
    slopes: FloatArray

    @classmethod
    def of_levels(cls, cost: Cost, unit: Unit, sizes: FloatArray) -> _Precision:
        slopes = [2 * cost.rho / unit.squared_sensitivity(int(size)) for size in sizes]
        return cls(cost.epsilon / unit.sensitivity, np.array(slopes))

    def of(self, shares: FloatArray) -> FloatArray:
        return 2 * np.sinh(self.rate * shares / 2) ** 2 if self.rate else self.slopes * shares

    def derivative(self, shares: FloatArray) -> FloatArray:
        return self.rate * np.sinh(self.rate * shares) if self.rate else self.slopes


def _node_sizes(fan_outs: tuple[int, ...]) -> FloatArray:
    """Return the leaves under a node of each level, root first."""
    return np.cumprod([1, *fan_outs[::-1]])[::-1].astype(np.float64)


@dataclass(frozen=True, slots=True)
class _Questions:
    """The questions asked: mean energies of averages over nodes, and the mean variance of a tree."""

    n: int
    energy: Callable[[int], float]
    mean_variance: Callable[[tuple[int, ...], list[float]], float]
    has_closed_form: bool

    @classmethod
    def of(cls, n: int, questions: str | tuple[tuple[int, float], ...]) -> _Questions:
        if questions == "ranges":

            def exactly(fan_outs: tuple[int, ...], variances: list[float]) -> float:
                return mean_over_ranges_of_fan_outs(fan_outs, n, [math.inf, *variances])

            return cls(n, lambda size: _range_energy(n, size), exactly, True)
        if questions == "points":
            lengths: tuple[tuple[int, float], ...] = ((1, 1.0),)
        else:
            assert not isinstance(questions, str)
            lengths = questions
        first, stop, weights = _sampled_ranges(n, lengths)

        def by_asking(fan_outs: tuple[int, ...], variances: list[float]) -> float:
            tree = Hierarchy.of_fan_outs(fan_outs, n)
            return float(weights @ TreeFusion(tree, [math.inf, *variances]).range_variances(first, stop))

        return cls(n, lambda size: _energy(first, stop, weights, size), by_asking, False)


class _Search:
    """Trees tried so far, each with its best shares."""

    def __init__(self, n: int, cost: Cost, unit: Unit, asked: _Questions) -> None:
        self.n, self.cost, self.unit, self.asked = n, cost, unit, asked
        self._tried: dict[tuple[int, ...], tuple[float, FloatArray]] = {}
        self._energies: dict[int, float] = {}

    def error(self, fan_outs: tuple[int, ...]) -> float:
        return self._try(fan_outs)[0]

    def shares(self, fan_outs: tuple[int, ...]) -> FloatArray:
        return self._try(fan_outs)[1]

    def precision(self, fan_outs: tuple[int, ...]) -> _Precision:
        return _Precision.of_levels(self.cost, self.unit, _node_sizes(fan_outs)[1:])

    def descend(self, fan_outs: tuple[int, ...]) -> tuple[int, ...]:
        """Step to the best neighbour until there is none better."""
        for _ in range(_MOST_STEPS):
            better = min(_neighbours(self.n, fan_outs), key=self.error, default=fan_outs)
            if not self.error(better) < self.error(fan_outs):
                break
            fan_outs = better
        return fan_outs

    def _try(self, fan_outs: tuple[int, ...]) -> tuple[float, FloatArray]:
        if fan_outs not in self._tried:
            sizes = _node_sizes(fan_outs)
            energies = np.diff([self._energy(int(size)) for size in sizes], prepend=0.0)
            precision = self.precision(fan_outs)
            shares, error = _best_shares(energies, sizes, precision)
            if shares.min() < _SMALLEST_SHARE:
                error = math.inf  # the tree without this level is another one, and better
            elif self.asked.has_closed_form:
                error = self.asked.mean_variance(fan_outs, (1 / precision.of(shares)).tolist())
            self._tried[fan_outs] = error, shares
        return self._tried[fan_outs]

    def _energy(self, size: int) -> float:
        if size not in self._energies:
            self._energies[size] = self.asked.energy(size)
        return self._energies[size]


def _best_shares(energies: FloatArray, sizes: FloatArray, precision: _Precision) -> tuple[FloatArray, float]:
    """Return the shares of the levels below the root that minimize the sum of energies over lambda, and that sum.

    At the optimum the derivatives by all shares are equal; shares grow where theirs is larger.
    """
    height = len(sizes) - 1
    shares = np.full(height, 1 / height)

    def state(shares: FloatArray) -> tuple[float, FloatArray]:
        below = np.cumsum((precision.of(shares) * sizes[1:])[::-1])[::-1]  # lambda of the levels below the root
        lambdas = np.concatenate([below[:1], below])  # that of the root, which is not measured, comes last in the sum
        gains = np.cumsum(energies / lambdas**2)[1:] * sizes[1:] * precision.derivative(shares)
        return float((energies / lambdas).sum()), gains

    error, gains = state(shares)
    step = 0.5
    for _ in range(_MOST_ROUNDS if height > 1 else 0):
        moved = shares * gains**step
        moved /= moved.sum()
        moved_error, moved_gains = state(moved)
        if moved_error > error:
            step /= 2
            if step < _LEAST_STEP:
                break
            continue
        is_settled = moved_error > error * (1 - _SETTLED)
        shares, error, gains = moved, moved_error, moved_gains
        if is_settled:
            break
    return shares, error


def _whole_parts(shares: FloatArray) -> tuple[int, ...]:
    if len(shares) == 1:
        return (1,)
    parts = np.rint(shares * PARTS).astype(int)
    parts[parts.argmax()] += PARTS - parts.sum()
    return tuple(parts.tolist())


def _starts(n: int) -> Iterator[tuple[int, ...]]:
    """Yield trees of one fan-out below the top, of every height."""
    yield (n,)
    for fan_out in range(2, min(_WIDEST, n - 1) + 1):
        height = 2
        while fan_out ** (height - 1) < n:
            yield _topped(n, [fan_out] * height)
            height += 1


def _topped(n: int, fan_outs: list[int]) -> tuple[int, ...]:
    """Return the same fan-outs below, and as many nodes at the top as it takes to hold all leaves."""
    below = math.prod(fan_outs[1:])
    return (-(-n // below), *fan_outs[1:])


def _neighbours(n: int, fan_outs: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield trees with one fan-out changed below the top, or a level more or less."""
    for level in range(1, len(fan_outs)):
        for change in (-4, -2, -1, 1, 2, 4):
            changed = [*fan_outs[:level], fan_outs[level] + change, *fan_outs[level + 1 :]]
            if changed[level] >= 2 and math.prod(changed[1:]) < n:
                yield _topped(n, changed)
        without = [*fan_outs[:level], *fan_outs[level + 1 :]]
        yield _topped(n, without)
    for fan_out in {2, 4, fan_outs[-1]}:
        if math.prod(fan_outs[1:]) * fan_out < n:
            yield _topped(n, [2, *fan_outs[1:], fan_out])


def _range_energy(n: int, size: int) -> float:
    """Return the mean over all ranges of the energy of averages over nodes of a size; the last one is filled up."""
    n_whole, rest = divmod(n, size)
    squares = size**2 * sum_of_products(n, n_whole, size) + rest**2 * sum_of_products(n, min(rest, 1), rest, n - rest)
    return squares / size * 2 / (n * (n + 1))


def _sampled_ranges(
    n: int, lengths: tuple[tuple[int, float], ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Return ranges of the lengths at all places, or evenly at as many as suffice; and their weights, 1 together."""
    firsts, stops, weights = [], [], []
    total = sum(weight for _, weight in lengths)
    for length, weight in lengths:
        n_places = n - length + 1
        count = min(n_places, _RANGES_A_LENGTH)
        # multiples of the golden ratio fall evenly whatever the sizes of nodes are
        places = np.arange(n_places) if count == n_places else (np.arange(count) * 0.6180339887498949 % 1) * n_places
        first = places.astype(np.int64)
        firsts.append(first)
        stops.append(first + length)
        weights.append(np.full(count, weight / total / count))
    return np.concatenate(firsts), np.concatenate(stops), np.concatenate(weights)


def _energy(first: NDArray[np.int64], stop: NDArray[np.int64], weights: FloatArray, size: int) -> float:
    first_node, last_node = first // size, (stop - 1) // size
    is_one = first_node == last_node
    left, right = (first_node + 1) * size - first, stop - last_node * size
    squares = np.where(
        is_one, (stop - first) ** 2.0, left**2.0 + right**2.0 + (last_node - first_node - 1) * float(size) ** 2
    )
    return float(weights @ squares) / size
