"""The same questions asked of the package: whole-number noise, better oracles, least squares between levels."""

from __future__ import annotations

import numpy as np

from experiments.thesis_structures.structures import Integers, Structures
from tacit.collection import range_counting
from tacit.collection.range_counting import RangeCounts
from tacit.counts.estimate import Estimate
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.events.datasets import library
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.privacy.ledger import Spend


def central_flat(counts: Integers, epsilon: float, *, n_structures: int, generator: np.random.Generator) -> Structures:
    """Discrete Laplace noise on every day."""
    return _made(
        [
            range_counting.central_flat(epsilon, _days(counts), counts, seed=seed)
            for seed in _seeds(n_structures, generator)
        ]
    )


def continual_tree(
    counts: Integers, epsilon: float, degree: int, *, n_structures: int, generator: np.random.Generator
) -> Structures:
    """A tree of the same degree: no noise is paid for at the root, and least squares fuse the levels."""
    return _made(
        [
            range_counting.continual_tree(epsilon, degree, _days(counts), counts, seed=seed)
            for seed in _seeds(n_structures, generator)
        ]
    )


def local_flat(counts: Integers, epsilon: float, *, n_structures: int, generator: np.random.Generator) -> Structures:
    """The oracle that errs least for so many days."""
    return _made(
        [
            range_counting.local_flat(epsilon, _days(counts), counts, seed=seed)
            for seed in _seeds(n_structures, generator)
        ]
    )


def local_hierarchy(
    counts: Integers, epsilon: float, degree: int, *, n_structures: int, generator: np.random.Generator
) -> Structures:
    """A tree of the same degree: the best oracle and share of visits for each level, fused by least squares."""
    return _made(
        [
            range_counting.local_hierarchical(epsilon, degree, _days(counts), counts, seed=seed)
            for seed in _seeds(n_structures, generator)
        ]
    )


def designed_tree(counts: Integers, epsilon: float, *, n_structures: int, generator: np.random.Generator) -> Structures:
    """The tree that a curator's plan has by default: the fan-outs and shares of least error over all ranges."""
    domain = Domain(TimeAxis.between(_days(counts)[0], _days(counts)[-1]), PlaceAxis.of(["all"]))
    plan = central_plan_for(domain, epsilon=epsilon)
    mechanism, tally = central_mechanism_of(plan), ExactTally(counts[:, None])
    released = [
        mechanism.measure(tally, plan, spend=Spend.simulation(mechanism.cost, seed=seed))
        for seed in _seeds(n_structures, generator)
    ]
    return _published(released, plan.epsilon)


def _made(made: list[RangeCounts]) -> Structures:
    return _published([one.estimate for one in made], made[0].plan.epsilon)


def _published(estimates: list[Estimate], epsilon: float) -> Structures:
    """Fused leaves add up to every node, so that they are all there is to ask."""
    leaves = np.stack([estimate.values[:, 0] for estimate in estimates])
    return Structures((leaves,), 2, leaves.shape[1], epsilon)


def _days(counts: Integers) -> list[str]:
    return (library.FIRST_DAY + np.arange(len(counts))).astype(str).tolist()


def _seeds(n_structures: int, generator: np.random.Generator) -> list[int]:
    return generator.integers(1, 2**62, size=n_structures).tolist()
