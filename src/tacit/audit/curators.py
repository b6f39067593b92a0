r"""Our own central mechanisms and counters as functions of counts, many runs at once.

What a curator publishes for one place does not depend on the counts and the noise of another. So places stand in for
runs: one release over as many made-up places as there are runs is as many independent releases, through the very code
that releases. Where the tree is over places, days stand in.

Audits of the noisy nodes that a mechanism of ours is made of, where the best score is known beforehand.

A unit moves node v by :math:`g_v`: by m, for a unit of m counts in one bin, in every node on the way from its leaf to
the root, and by the encoder's coefficients in a factorization. A person of at most c events in a cell is spread over
bins in a row, c in each. With noise :math:`z_v` of their own, nodes are more likely with
the unit than without by

.. math:: \sum_v r_v \bigl(|z_v| - |z_v - g_v|\bigr) \le \sum_v r_v |g_v| = \epsilon
          \qquad\text{or}\qquad \sum_v \frac{g_v}{\sigma_v^2}\Bigl(z_v - \frac{g_v}{2}\Bigr), \quad
          \sum_v \frac{g_v^2}{2 \sigma_v^2} = \rho

for Laplace noise of rates r and for Gaussian noise of variances :math:`\sigma^2`, and that is all that the nodes say.
So the bound comes near the claim, while least squares blurs it. Leaves that share no noisy node are guessed from one
release, a coin for each. A group of k units may cost :math:`k \epsilon` or :math:`k^2 \rho` (:class:`Contest`), and is
told apart more easily than one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.kernels import repeated
from tacit.audit.answers import DEFAULT_COUNT, Build, BuildMany
from tacit.audit.claims import Audit, Claim
from tacit.audit.games import Contest, Progress, play_game, tossed
from tacit.counts.continual_noise import BufferedRoot, Epochs, FusedTree, NestedTree, RefinedTree
from tacit.counts.node_distributions import DiscreteLaplace, NodeDistribution
from tacit.counts.tally import ExactTally
from tacit.domain import AXES, Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.central.table import central_mechanism_of
from tacit.mechanisms.continual.counter import Counter, Stream
from tacit.mechanisms.continual.engines import NodeDraws
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.spend import Spend
from tacit.privacy.unit import Unit
from tacit.randomness import Randomness, SecureRandomness

_STEPS: Final = 128
"""Into so many steps the score is cut on either side: a step is a sixteenth of a standard error of Gaussian scores.
Coarser ones hide what tells the inputs apart, finer ones leave fewer runs in each."""
_MOST_ERRORS: Final = 8.0
"""Gaussian scores are told apart up to so many standard errors from their middle: beyond, less than 1e-15 is left."""
_MOST_TRIED: Final = 256  # bins at which a unit is tried: more find faults of single bins, and take as much longer
_MOST_CELLS: Final = 1 << 23  # 64 MiB of counts
_MOST_COINS: Final = 1_000_000  # that are guessed: four times as many halve the distance of a bound
_MOST_TABLES: Final = (5 * _MOST_CELLS, 15 * _MOST_CELLS)
"""Nodes that are drawn in all, of Laplace and of Gaussian noise: a few seconds' worth."""
_ENOUGH: Final = (50_000, 300_000)
"""Coins that refute noise a tenth too small at 99 %, Laplace and Gaussian; with half as many one audit in ten fails."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredNodes:
    """The noisy nodes of a mechanism of ours: a row of counts in, a row of nodes out, for each run.

    ``exactly`` gives the same without noise. ``precisions`` are the rates of Laplace noise, or one over the variance of
    Gaussian noise, of every node; 0 where a node is not measured. ``claim`` is what all nodes may tell of one unit.
    ``added`` is what one unit adds to bins in a row. ``levels`` are those of a tree, root first; none where nodes have
    no levels.
    """

    build: BuildMany
    exactly: Callable[[IntArray], NDArray[Any]]
    precisions: FloatArray
    n_bins: int
    added: tuple[int, ...]
    claim: Claim
    levels: IntArray | None = None

    def beneath(self) -> MeasuredNodes | None:
        """Return the nodes without the topmost measured level and its part of the claim; None if there is one only.

        Each level has noise of its own, so what the others tell of a unit costs their part of the claim.
        """
        measured = np.empty(0) if self.levels is None else np.unique(self.levels[self.precisions > 0])
        if measured.size < 2:
            return None
        rest = replace(self, precisions=np.where(self.levels == measured[0], 0.0, self.precisions))
        gaps = self.exactly(self.units(_tried(self)))
        telling = rest.telling(gaps)
        most = int(telling.argmax())
        share = float(telling[most] / self.telling(gaps)[most])
        return replace(rest, claim=replace(self.claim, value=share * self.claim.value))

    def units(self, bins: IntArray | list[int]) -> IntArray:
        """Return one unit for each of these bins, as counts: it begins there."""
        tables = np.zeros((len(bins), self.n_bins), np.int64)
        for offset, count in enumerate(self.added):
            tables[np.arange(len(bins)), np.asarray(bins) + offset] = count
        return tables

    @property
    def is_gaussian(self) -> bool:
        return self.claim.measure == "rho"

    def telling(self, gaps: NDArray[Any]) -> FloatArray:
        """Return what nodes that move by these gaps (rows) may tell: an epsilon, or a rho."""
        sizes = gaps**2 / 2 if self.is_gaussian else np.abs(gaps)
        return np.asarray(sizes @ self.precisions, np.float64)


def audit_nodes(
    nodes: MeasuredNodes,
    *,
    n_runs: int | None = None,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound the claim from below by what the noisy nodes say of a unit, or a group of them, in each of several bins.

    A run is one coin; without ``n_runs`` there are a million, or fewer where nodes are many.

    Formal guarantee: refutes a true pure epsilon with probability 1 - ``confidence`` at most, whatever the noise. For a
    rho that needs noise which is independent from place to place, as the mechanism states; whether it is, the audit
    of dependent noise looks into.
    """
    source = SecureRandomness() if randomness is None else randomness
    said: tuple[str, ...] = ()
    lots, all_of_it = separate_bins(nodes), nodes.claim.value
    while n_runs is None and _n_coins(nodes, lots) < _ENOUGH[nodes.is_gaussian] and (rest := nodes.beneath()):
        nodes, lots = rest, separate_bins(rest)
        said = (f"of {nodes.claim.measure} {all_of_it:.4g}, the part of the lower levels is looked at",)
    n_runs = _n_coins(nodes, lots) if n_runs is None else n_runs
    return play_game(
        "noisy nodes",
        [_contest(nodes, bins, group, source) for bins in lots for group in nodes.claim.groups],
        **nodes.claim.settings,
        n_runs=n_runs,
        confidence=confidence,
        randomness=source,
        progress=progress,
        found=said,
    )


def _n_coins(nodes: MeasuredNodes, lots: list[list[int]]) -> int:
    n_tables = _MOST_TABLES[nodes.is_gaussian] // nodes.precisions.size
    return max(1_000, min(_MOST_COINS, len(lots[0]) * n_tables))


def separate_bins(nodes: MeasuredNodes) -> list[list[int]]:
    """Return lots of bins at which a unit may begin: no two share a noisy node, and each tells most."""
    tried = _tried(nodes)
    gaps = nodes.exactly(nodes.units(tried)) * (nodes.precisions > 0)
    telling = nodes.telling(gaps)
    good = np.flatnonzero(telling > 0.999 * telling.max())  # the best but for rounding
    lots = []
    for order in (good, good[::-1], np.roll(good, good.size // 2)):
        taken, lot = np.zeros(nodes.precisions.size, bool), []
        for row in order.tolist():
            if not ((gaps[row] != 0) & taken).any():
                taken |= gaps[row] != 0
                lot.append(int(tried[row]))
        lots.append(sorted(lot))
    return [list(lot) for lot in dict.fromkeys(map(tuple, lots))]


def _tried(nodes: MeasuredNodes) -> IntArray:
    """Return bins at which a unit is tried: evenly spread ones, where there are many."""
    n_first = nodes.n_bins - len(nodes.added) + 1
    return np.unique(np.linspace(0, n_first - 1, min(n_first, _MOST_TRIED)).astype(np.int64))


def _contest(nodes: MeasuredNodes, bins: list[int], group: int, source: Randomness) -> Contest:
    start = np.full((1, nodes.n_bins), DEFAULT_COUNT, np.int64)
    units = group * nodes.units(bins)
    center = nodes.exactly(start)
    gaps = nodes.exactly(start + units) - center
    ways = [np.flatnonzero((gap != 0) & (nodes.precisions > 0)) for gap in gaps]
    most = nodes.telling(gaps).max()

    def score(off: FloatArray, gap: NDArray[Any], precision: FloatArray) -> FloatArray:
        if nodes.is_gaussian:  # in standard errors of itself
            return np.asarray((off - gap / 2) @ (gap * precision) / np.sqrt(2 * most), np.float64)
        return np.asarray((np.abs(off) - np.abs(off - gap)) @ precision, np.float64)

    def play(coins: BoolArray) -> FloatArray:
        n_here = -(-len(coins) // len(bins))
        is_there = np.concatenate([coins, tossed(n_here * len(bins) - len(coins), source)]).reshape(n_here, len(bins))
        off = nodes.build(start + is_there.astype(np.int64) @ units) - center
        scores = [score(off[:, way], gap[way], nodes.precisions[way]) for way, gap in zip(ways, gaps, strict=True)]
        return np.column_stack(scores).reshape(-1)[: len(coins)]

    runs_at_once = len(bins) * max(1, _MOST_CELLS // nodes.precisions.size)
    name = f"{group * sum(nodes.added):,} more in {len(bins)} of {nodes.n_bins:,} bins or not, each by itself"
    width = _MOST_ERRORS if nodes.is_gaussian else float(most)
    return Contest(name, play, [_Score(width)], runs_at_once, group)


@dataclass(frozen=True, slots=True)
class _Score:
    """A view: the log-likelihood ratio of all nodes of a leaf with and without the unit, in steps up to ``width``."""

    width: float
    name: str = "the likelihood of all nodes that hold a bin"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        def reduce(seen: Any) -> IntArray:
            return np.rint(_STEPS * (1 + np.clip(np.asarray(seen) / self.width, -1, 1))).astype(np.int64)

        return reduce


LONGEST: Final = 512
"""Bins of a counter that are looked at: a fault that begins later is not found; doubled, twice the time."""

_FEW_DAYS: Final = 8  # of a release that is built thousands of times: more days take as much longer
_FEW_BINS: Final = 32  # of a counter that is run thousands of times: as above, and five levels of a binary tree
_MOST_ANSWERS: Final = 256
"""Of one release whose noise is looked at for dependence: twice as many take eight times as long."""
_CELLS_AT_ONCE: Final = 1 << 22  # 32 MiB of counts
_MOST_WORLDS: Final = 1 << 12  # built in one call
_SEED_BITS: Final = np.uint64(2)


@dataclass(frozen=True, slots=True, eq=False)
class CuratedAnswers:
    """A mechanism of ours to be audited: its runs, the number of bins of one, and what a unit may add to a bin."""

    build: BuildMany
    n_bins: int
    unit: int


def answers_of_plan(plan: Plan, *, randomness: Randomness | None = None) -> CuratedAnswers:
    """Return releases under a curator's plan; their answers are the published counts of one place, or of one day."""
    source = SecureRandomness() if randomness is None else randomness
    mechanism = central_mechanism_of(plan)
    is_over_time = mechanism.axis == "time"
    n_bins = plan.domain.shape[0] if is_over_time else plan.domain.shape[1]

    def build(tables: IntArray) -> FloatArray:
        wide = _widened(plan, len(tables), is_over_time)
        spend = Spend.simulation(mechanism.cost, seed=_seed(source))
        counts = ExactTally(tables.T if is_over_time else tables)
        values = central_mechanism_of(wide).measure(counts, wide, spend=spend).values
        return values.T if is_over_time else values

    return CuratedAnswers(_in_pieces(build, n_bins), n_bins, plan.protected_unit.most_per_cell)


def answers_of_counter(
    stream: Stream, *, randomness: Randomness | None = None, longest: int = LONGEST
) -> CuratedAnswers:
    """Return a counter's totals of one place, bin after bin, from the start on."""
    source = SecureRandomness() if randomness is None else randomness
    noise_model, unit = stream.noise_model, stream.unit
    n_bins = min(stream.n_bins, longest)

    def build(tables: IntArray) -> FloatArray:
        domain = Domain(stream.domain.time, _worlds(len(tables)))
        spend = Spend.simulation(noise_model.cost, seed=_seed(source))
        counter = Counter.start(spend, domain, noise_model=noise_model, unit=unit)
        _, totals = counter.steps(counter.begin(), tables.T)
        return totals.T / noise_model.grid

    return CuratedAnswers(_in_pieces(build, n_bins), n_bins, unit.most_per_cell)


def releases_of_plan(plan: Plan, *, randomness: Randomness | None = None) -> CuratedAnswers:
    """Return whole releases, one for each run, of several places (or days): what noise they share shows in one."""
    source = SecureRandomness() if randomness is None else randomness
    is_over_time = central_mechanism_of(plan).axis == "time"
    if plan.mechanism == "flat":  # every cell is by itself: a few days are as good as all
        n_days = min(plan.domain.shape[0], _FEW_DAYS)
        last = np.datetime64("2000-01-01") + n_days - 1
        days = TimeAxis.between("2000-01-01", str(last))
        plan = replace(plan, domain=Domain(days, plan.domain.place, plan.domain.kind))
    n_bins = plan.domain.shape[0] if is_over_time else plan.domain.shape[1]
    n_others = max(2, _MOST_ANSWERS // n_bins)
    small = _widened(plan, n_others, is_over_time)
    mechanism = central_mechanism_of(small)

    def build(tables: IntArray) -> FloatArray:
        runs = [
            mechanism.measure(
                ExactTally(table.reshape(small.domain.shape)),
                small,
                spend=Spend.simulation(mechanism.cost, seed=_seed(source)),
            )
            for table in tables
        ]
        return np.array([run.values.reshape(-1) for run in runs])

    return CuratedAnswers(build, n_bins * n_others, plan.protected_unit.most_per_cell)


def runs_of_counter(stream: Stream, *, randomness: Randomness | None = None) -> CuratedAnswers:
    """Return whole counters, one for each run, of several places."""
    source = SecureRandomness() if randomness is None else randomness
    noise_model = stream.noise_model
    n_bins = min(stream.n_bins, _FEW_BINS)
    n_places = max(2, _MOST_ANSWERS // n_bins)
    domain = Domain(stream.domain.time, _worlds(n_places))

    def build(tables: IntArray) -> FloatArray:
        runs = []
        with repeated(len(tables)):  # each counter draws a block of 16,000 values and uses a few
            for table in tables:
                spend = Spend.simulation(noise_model.cost, seed=_seed(source))
                counter = Counter.start(spend, domain, noise_model=noise_model, unit=stream.unit)
                _, totals = counter.steps(counter.begin(), table.reshape(n_bins, n_places))
                runs.append(np.diff(totals, axis=0, prepend=0).reshape(-1) / noise_model.grid)
        return np.array(runs)

    return CuratedAnswers(build, n_bins * n_places, stream.unit.most_per_cell)


def nodes_of_plan(plan: Plan, *, randomness: Randomness | None = None) -> MeasuredNodes:
    """Return the noisy nodes of a flat table, a tree or tables: all that a release is made of."""
    source = SecureRandomness() if randomness is None else randomness
    mechanism = central_mechanism_of(plan)
    is_over_time = mechanism.axis == "time"
    n_bins = plan.domain.shape[0] if is_over_time else plan.domain.shape[1]

    def build(tables: IntArray) -> FloatArray:
        wide = _widened(plan, len(tables), is_over_time)
        spend = Spend.simulation(mechanism.cost, seed=_seed(source))
        counts = ExactTally(tables.T if is_over_time else tables)
        return central_mechanism_of(wide).noisy_nodes(counts, wide, spend=spend).T.astype(np.float64)

    def exactly(tables: IntArray) -> IntArray:
        return mechanism.sum_nodes(tables.T if is_over_time else tables).T

    precisions = np.array([_precision(distribution) for distribution in mechanism.distributions])
    return MeasuredNodes(
        _in_pieces(build, n_bins),
        exactly,
        np.repeat(precisions, mechanism.level_sizes),
        n_bins,
        _in_a_row(plan.protected_unit, n_bins),
        _claim(mechanism.cost),
        np.repeat(np.arange(len(precisions)), mechanism.level_sizes),
    )


def nodes_of_counter(stream: Stream, *, randomness: Randomness | None = None) -> MeasuredNodes:
    """Return the noisy nodes that a counter's totals are made of.

    Those of nested trees are differences of totals, and those of a buffered root are what its encoder makes of them.
    What refined and fused trees publish does not give their nodes back; there the noise is drawn as the engine draws
    it, and the counts of the nodes are added.
    """
    noise_model = stream.noise_model
    if isinstance(noise_model, NestedTree):
        return _nested_nodes(stream, noise_model, randomness)
    if isinstance(noise_model, BufferedRoot):
        return _encoded_nodes(stream, noise_model, randomness)
    return _drawn_nodes(stream, randomness)


def _nested_nodes(stream: Stream, noise_model: NestedTree, randomness: Randomness | None) -> MeasuredNodes:
    published = answers_of_counter(stream, randomness=randomness)
    numbers = np.arange(1, published.n_bins + 1)
    bases = numbers - noise_model.spans(numbers)

    def apart(totals: NDArray[Any]) -> NDArray[Any]:
        """Return each node: its total less the total it starts from."""
        before = np.column_stack([np.zeros_like(totals[:, :1]), totals])
        return np.asarray(totals - before[:, bases])

    return MeasuredNodes(
        lambda tables: apart(published.build(tables)),
        lambda tables: apart(np.cumsum(tables, axis=1)),
        np.full(published.n_bins, _precision(noise_model.node_noise)),
        published.n_bins,
        _in_a_row(stream.unit, published.n_bins),
        _claim(noise_model.cost),
    )


def _encoded_nodes(stream: Stream, noise_model: BufferedRoot, randomness: Randomness | None) -> MeasuredNodes:
    """Return the independent noises of a buffered root and what counts add to them: the encoder of the totals.

    Within the bins that are looked at, no more can be told than the noise model of as many bins costs with this noise.
    """
    published = answers_of_counter(stream, randomness=randomness, longest=_FEW_BINS)
    n_bins = published.n_bins
    decays, weights = noise_model.exponentials.decays, noise_model.exponentials.weights
    coefficients = np.append(1.0, np.power(1 - decays, np.arange(n_bins - 1)[:, None]) @ weights)
    lags = np.arange(n_bins)[:, None] - np.arange(n_bins)
    encoder = np.where(lags >= 0, coefficients[np.abs(lags)], 0.0)
    seen = replace(noise_model, horizon=n_bins).squared_sensitivity / (2 * noise_model.node_noise.parameter)
    return MeasuredNodes(
        lambda tables: np.diff(published.build(tables), axis=1, prepend=0.0) @ encoder.T,
        lambda tables: tables @ encoder.T,
        np.full(n_bins, 1 / noise_model.variance),
        n_bins,
        _in_a_row(stream.unit, n_bins),
        Claim.of(rho=min(noise_model.cost.rho, float(seen))),
    )


def _drawn_nodes(stream: Stream, randomness: Randomness | None) -> MeasuredNodes:
    source = SecureRandomness() if randomness is None else randomness
    noise_model = stream.noise_model
    # of several epochs, the longest whose bins are all looked at
    trees = noise_model.trees if isinstance(noise_model, Epochs) else (noise_model,)
    section, tree = max((place, one) for place, one in enumerate(trees) if place == 0 or one.horizon <= LONGEST)
    assert isinstance(tree, RefinedTree | FusedTree)
    n_bins = min(tree.horizon, LONGEST) // tree.sizes[-1] * tree.sizes[-1] or tree.sizes[-1]
    n_nodes = sum(n_bins // size for size in tree.sizes)

    def exactly(tables: IntArray) -> IntArray:
        return np.column_stack([tables.reshape(len(tables), -1, size).sum(axis=2) for size in tree.sizes])

    def build(tables: IntArray) -> FloatArray:
        draws = NodeDraws(source.words(4).astype("<u8").tobytes(), len(tables))
        return (exactly(tables) + draws.take(tree.node_noise, section, 0, n_nodes).T).astype(np.float64)

    return MeasuredNodes(
        _in_pieces(build, n_nodes),
        exactly,
        np.full(n_nodes, _precision(tree.node_noise)),
        n_bins,
        _in_a_row(stream.unit, n_bins),
        _claim(noise_model.cost),
    )


def _in_a_row(unit: Unit, n_bins: int) -> tuple[int, ...]:
    """Return what a unit adds to bins in a row: as much as may be in one cell, until all is used up or bins end.

    >>> _in_a_row(Unit.person(most=7, most_per_cell=3), 16), _in_a_row(Unit.user_day(most=3), 16)
    ((3, 3, 1), (3,))
    """
    n_full, rest = divmod(unit.most, unit.most_per_cell)
    return ((unit.most_per_cell,) * n_full + (rest,) * (rest > 0))[:n_bins]


def _precision(distribution: NodeDistribution | None) -> float:
    if distribution is None:
        return 0.0
    return float(distribution.rate) if isinstance(distribution, DiscreteLaplace) else 1 / distribution.variance


def _claim(cost: Cost) -> Claim:
    return Claim.of(rho=cost.rho) if cost.rho else Claim.of(epsilon=cost.epsilon)


def _widened(plan: Plan, n_runs: int, is_over_time: bool) -> Plan:
    """Return the plan for as many places, or days, as there are runs; columns of a tree over time are alike."""
    if is_over_time:
        return replace(plan, domain=Domain(plan.domain.time, _worlds(n_runs)), private=AXES[:2])
    last = np.datetime64("2000-01-01") + n_runs - 1
    days = TimeAxis.between("2000-01-01", str(last))
    return replace(plan, domain=Domain(days, plan.domain.place, plan.domain.kind))


@lru_cache(maxsize=4)
def _worlds(n_runs: int) -> PlaceAxis:
    return PlaceAxis.of([f"run {number}" for number in range(n_runs)])


def _in_pieces(build: BuildMany, n_bins: int) -> BuildMany:
    """Return the same in pieces that fit into memory."""
    n_at_once = min(_MOST_WORLDS, max(1, _CELLS_AT_ONCE // n_bins))

    def build_all(tables: IntArray) -> FloatArray:
        firsts = range(0, len(tables), n_at_once)
        with repeated(len(firsts)):
            return np.concatenate([build(tables[first : first + n_at_once]) for first in firsts])

    return build_all


def _seed(randomness: Randomness) -> int:
    return int(randomness.words(1)[0] >> _SEED_BITS)


def ask_again_of_plan(plan: Plan, *, randomness: Randomness | None = None) -> Build:
    """Return a release that can be asked for again under the same spend, and must then be the same."""
    source = SecureRandomness() if randomness is None else randomness
    mechanism = central_mechanism_of(plan)
    is_over_time = mechanism.axis == "time"

    def build(counts: IntArray) -> Callable[[], FloatArray]:
        one = _widened(plan, 1, is_over_time)
        spend = Spend.simulation(mechanism.cost, seed=_seed(source))
        exact = ExactTally(counts[:, None] if is_over_time else counts[None, :])
        return lambda: central_mechanism_of(one).measure(exact, one, spend=spend).values.reshape(-1)

    return build
