"""Our own central mechanisms and counters as functions of counts, many runs at once.

What a curator publishes for one place does not depend on the counts and the noise of another. So places stand in for
runs: one release over as many made-up places as there are runs is as many independent releases, through the very code
that releases. Where the tree is over places, days stand in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.audit.answers import Build, BuildMany
from tacit.audit.games import FloatArray, IntArray
from tacit.audit.nodes import MeasuredNodes
from tacit.central.continual.counter import Counter
from tacit.central.continual.stream import Stream
from tacit.central.table import central_mechanism_of
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.noise.node_laws import DiscreteLaplace
from tacit.plan import Plan
from tacit.privacy.spend import Spend
from tacit.randomness import Randomness, SecureRandomness
from tacit.stream_laws import NestedTree
from tacit.tally import ExactTally

LONGEST: Final = 512
"""Bins of a counter that are looked at."""

_CELLS_AT_ONCE: Final = 1 << 22
_MOST_WORLDS: Final = 1 << 12
_SEED_BITS: Final = np.uint64(2)


@dataclass(frozen=True, slots=True, eq=False)
class CuratedAnswers:
    """A mechanism of ours to be audited: its runs, the number of bins of one, and what a unit adds to a bin."""

    build: BuildMany
    n_bins: int
    unit: int


def answers_of_plan(plan: Plan, *, randomness: Randomness | None = None) -> CuratedAnswers:
    """Releases under a curator's plan; the answers are the published counts of one place, or of one day."""
    source = SecureRandomness() if randomness is None else randomness
    mechanism = central_mechanism_of(plan)
    is_over_time = mechanism.axis == "time"
    n_bins = plan.domain.shape[0] if is_over_time else plan.domain.shape[1]

    def build(tables: IntArray) -> FloatArray:
        wide = _widened(plan, len(tables), is_over_time)
        spend = Spend.simulation(mechanism.cost, seed=_seed(source))
        counts = ExactTally(tables.T if is_over_time else tables)
        values = central_mechanism_of(wide).release(counts, wide, spend=spend).values
        return values.T if is_over_time else values

    return CuratedAnswers(_in_pieces(build, n_bins), n_bins, plan.most)


def answers_of_counter(stream: Stream, *, randomness: Randomness | None = None) -> CuratedAnswers:
    """A counter's totals of one place, bin after bin, from the start on."""
    source = SecureRandomness() if randomness is None else randomness
    law, unit = stream.law, stream.unit
    n_bins = min(stream.n_bins, LONGEST)

    def build(tables: IntArray) -> FloatArray:
        domain = Domain(stream.domain.time, _worlds(len(tables)))
        spend = Spend.simulation(law.cost, seed=_seed(source))
        counter = Counter.start(spend, domain, law=law, unit=unit)
        _, totals = counter.steps(counter.begin(), tables.T)
        return totals.T / law.grid

    return CuratedAnswers(_in_pieces(build, n_bins), n_bins, unit.sensitivity)


def nodes_of_plan(plan: Plan, *, randomness: Randomness | None = None) -> MeasuredNodes | None:
    """The noisy nodes of a tree with Laplace noise; none of a flat table, which publishes its own."""
    source = SecureRandomness() if randomness is None else randomness
    mechanism = central_mechanism_of(plan)
    if not mechanism.cost.is_pure or sum(law is not None for law in mechanism.laws) < 2:
        return None
    tree, is_over_time = mechanism.hierarchy, mechanism.axis == "time"
    rates = [law.rate if isinstance(law, DiscreteLaplace) else 0 for law in mechanism.laws]

    def build(tables: IntArray) -> FloatArray:
        wide = _widened(plan, len(tables), is_over_time)
        spend = Spend.simulation(mechanism.cost, seed=_seed(source))
        counts = ExactTally(tables.T if is_over_time else tables)
        return central_mechanism_of(wide).noisy_nodes(counts, wide, spend=spend).T.astype(np.float64)

    def exactly(tables: IntArray) -> IntArray:
        leaves = tables.T if mechanism.order is None else tables.T[mechanism.order]
        return tree.sum_leaves(leaves).T

    return MeasuredNodes(
        _in_pieces(build, tree.n_leaves),
        exactly,
        np.repeat(np.array(rates, np.float64), tree.level_sizes),
        tree.n_leaves,
        plan.most,
    )


def nodes_of_counter(stream: Stream, *, randomness: Randomness | None = None) -> MeasuredNodes | None:
    """The noisy nodes that a counter's totals add up, got back from them by subtraction; none of other laws."""
    law = stream.law
    if not isinstance(law, NestedTree) or law.node_noise.is_gaussian:
        return None
    published = answers_of_counter(stream, randomness=randomness)
    numbers = np.arange(1, published.n_bins + 1)
    bases = numbers - law.spans(numbers)

    def apart(totals: NDArray[Any]) -> NDArray[Any]:
        """A node is its total less the total it starts from."""
        before = np.column_stack([np.zeros_like(totals[:, :1]), totals])
        return np.asarray(totals - before[:, bases])

    return MeasuredNodes(
        lambda tables: apart(published.build(tables)),
        lambda tables: apart(np.cumsum(tables, axis=1)),
        np.full(published.n_bins, float(law.node_noise.parameter)),
        published.n_bins,
        published.unit,
    )


def _widened(plan: Plan, n_runs: int, is_over_time: bool) -> Plan:
    """The same plan for as many places, or days, as there are runs."""
    if is_over_time:
        return replace(plan, domain=Domain(plan.domain.time, _worlds(n_runs)))
    last = np.datetime64("2000-01-01") + n_runs - 1
    return replace(plan, domain=Domain(TimeAxis.between("2000-01-01", str(last)), plan.domain.place))


@lru_cache(maxsize=4)
def _worlds(n_runs: int) -> PlaceAxis:
    return PlaceAxis.of([f"run {number}" for number in range(n_runs)])


def _in_pieces(build: BuildMany, n_bins: int) -> BuildMany:
    """The same in pieces that fit into memory."""
    n_at_once = min(_MOST_WORLDS, max(1, _CELLS_AT_ONCE // n_bins))

    def build_all(tables: IntArray) -> FloatArray:
        parts = [build(tables[first : first + n_at_once]) for first in range(0, len(tables), n_at_once)]
        return np.concatenate(parts)

    return build_all


def _seed(randomness: Randomness) -> int:
    return int(randomness.words(1)[0] >> _SEED_BITS)


def ask_again_of_plan(plan: Plan, *, randomness: Randomness | None = None) -> Build:
    """A release that can be asked for again under the same spend, as after an interruption: it must be the same."""
    source = SecureRandomness() if randomness is None else randomness
    mechanism = central_mechanism_of(plan)
    is_over_time = mechanism.axis == "time"

    def build(counts: IntArray) -> Callable[[], FloatArray]:
        one = _widened(plan, 1, is_over_time)
        spend = Spend.simulation(mechanism.cost, seed=_seed(source))
        exact = ExactTally(counts[:, None] if is_over_time else counts[None, :])
        return lambda: central_mechanism_of(one).release(exact, one, spend=spend).values.reshape(-1)

    return build
