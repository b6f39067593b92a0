"""Every place where noise is drawn gives its distribution and variance, and noise a tenth too small is caught there.

Frequencies are held against exact probabilities at a false-failure probability of 1e-9, shared by all outcomes. The
variance is held against Bernstein's inequality for squares that are cut off at 12 standard deviations.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tacit
from small_worlds import days_and_places
from tacit.audit.testing import assert_frequencies
from tacit.counts import node_distributions
from tacit.counts.continual_noise import KaryTree
from tacit.counts.node_distributions import DiscreteGaussian, DiscreteLaplace
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.mechanisms.central.marginals import MarginalTables
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.continual.counter import Counter
from tacit.mechanisms.continual.engines import NodeDraws
from tacit.privacy.cost import Cost
from tacit.privacy.spend import Spend
from tacit.randomness import KeyedRandomness, SeededRandomness, discrete_gaussian, discrete_laplace

N = 150_000
FALSE_FAILURE = 1e-9
VARIANCE, RATE = Fraction(4), Fraction(1, 2)
MOST_DEVIATIONS = 12


def masses(is_gaussian):
    """P(z) for z from -60 to 60: beyond, less than 1e-12 is left of either distribution."""
    z = np.arange(-60, 61)
    weights = np.exp(-(z**2) / (2 * float(VARIANCE))) if is_gaussian else np.exp(-float(RATE) * np.abs(z))
    return z, weights / weights.sum()


def assert_drawn(values, is_gaussian):
    """The values have the distribution's frequencies and its variance."""
    z, chances = masses(is_gaussian)
    width = 7 if is_gaussian else 12
    inside = values[np.abs(values) <= width]
    counts = np.append(np.bincount(inside + width, minlength=2 * width + 1), values.size - inside.size)
    shown = chances[np.abs(z) <= width]
    assert_frequencies(counts, np.append(shown, 1 - shown.sum()), false_failure=FALSE_FAILURE)
    assert_variance(values, z, chances)


def assert_variance(values, z, chances):
    """The mean of squares is the distribution's, within what Bernstein's inequality allows at FALSE_FAILURE."""
    most = MOST_DEVIATIONS**2 * float((z**2) @ chances)
    squares, drawn = np.minimum(z**2, most), np.minimum(np.asarray(values, float) ** 2, most)
    mean = float(squares @ chances)
    spread, nats = float((squares - mean) ** 2 @ chances), math.log(2 / FALSE_FAILURE)
    allowed = math.sqrt(2 * spread * nats / drawn.size) + 2 * most * nats / (3 * drawn.size)
    assert abs(drawn.mean() - mean) <= allowed, f"a variance of {drawn.mean():.4f}, expected {mean:.4f} ± {allowed:.4f}"


def cost(is_gaussian):
    """What one node with this noise costs."""
    return Cost.zcdp(float(1 / (2 * VARIANCE))) if is_gaussian else Cost.pure(float(RATE))


def by_sampler(is_gaussian, seed):
    draw, parameter = (discrete_gaussian, VARIANCE) if is_gaussian else (discrete_laplace, RATE)
    return draw(N, parameter, randomness=SeededRandomness(seed))


def by_key(is_gaussian, seed):
    draw, parameter = (discrete_gaussian, VARIANCE) if is_gaussian else (discrete_laplace, RATE)
    return draw(N, parameter, randomness=KeyedRandomness(seed.to_bytes(32, "little")))


def by_node_distribution(is_gaussian, seed):
    distribution = DiscreteGaussian(VARIANCE) if is_gaussian else DiscreteLaplace(RATE)
    return distribution.draw(N, randomness=SeededRandomness(seed))


def by_flat_table(is_gaussian, seed):
    plan = plan_of(is_gaussian, days_and_places(N // 50, 50), "flat")
    mechanism = central_mechanism_of(plan)
    counts = ExactTally(np.full(plan.domain.shape, 7))
    nodes = mechanism.noisy_nodes(counts, plan, spend=Spend.simulation(mechanism.cost, seed=seed))
    return nodes[mechanism.hierarchy.level_slice(mechanism.hierarchy.n_levels - 1)].ravel() - 7


def by_tree(is_gaussian, seed):
    """Two levels, each with half of the budget, so that a node's noise is that of half: given twice as much."""
    double = Cost(2 * cost(is_gaussian).epsilon, 2 * cost(is_gaussian).rho)
    claim = {"rho": double.rho, "delta": 1e-6} if is_gaussian else {"epsilon": double.epsilon}
    plan = central_plan_for(days_and_places(16, N // 16), mechanism="tree", fan_outs=(4, 4), **claim)
    mechanism = central_mechanism_of(plan)
    counts = ExactTally(np.ones(plan.domain.shape, np.int64))
    noisy = mechanism.noisy_nodes(counts, plan, spend=Spend.simulation(mechanism.cost, seed=seed))
    exact = mechanism.hierarchy.sum_leaves(counts.reveal())
    return (noisy - exact)[1:].ravel()  # the root is not measured


def by_tables(is_gaussian, seed):
    """The table of places and the joint one, each with half of the budget, given twice as much."""
    kinds = KindAxis.of(["fire", "flood"])
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-10"), PlaceAxis.of(list(map(str, range(N // 30)))), kinds)
    double = Cost(2 * cost(is_gaussian).epsilon, 2 * cost(is_gaussian).rho)
    mechanism = MarginalTables(domain.sizes, (0, 1, 0, 1), double)
    counts = ExactTally(np.ones(domain.shape, np.int64))
    plan = plan_of(is_gaussian, domain, "tables")
    noisy = mechanism.noisy_nodes(counts, plan, spend=Spend.simulation(double, seed=seed))
    is_measured = np.repeat([False, True, False, True], mechanism.level_sizes)
    return (noisy - mechanism.sum_nodes(counts.reveal()))[is_measured].ravel()


def by_node_draws(is_gaussian, seed):
    noise = DiscreteGaussian(VARIANCE) if is_gaussian else DiscreteLaplace(RATE)
    return NodeDraws(seed.to_bytes(32, "little"), 50).take(noise, 3, 5, 5 + N // 50).ravel()


def by_counter(is_gaussian, seed):
    """The first total of a counter whose every bin is one node."""
    noise_model = KaryTree(2, cost(is_gaussian), 1, ())
    domain = Domain(TimeAxis.between("2025-01-01", None), PlaceAxis.of([str(place) for place in range(N // 2)]))
    counter = Counter.start(Spend.simulation(noise_model.cost, seed=seed), domain, noise_model=noise_model)
    _, totals = counter.steps(counter.begin(), np.full((2, N // 2), 9))
    return np.diff(totals, axis=0, prepend=0).ravel() - 9


def plan_of(is_gaussian, domain, mechanism):
    price = cost(is_gaussian)
    claim = {"rho": price.rho, "delta": 1e-6} if is_gaussian else {"epsilon": price.epsilon}
    return central_plan_for(domain, mechanism=mechanism, **claim)


DRAWS = {
    "tacit.randomness.gaussian.discrete_gaussian, tacit.randomness.laplace.discrete_laplace": by_sampler,
    "tacit.randomness.source.KeyedRandomness": by_key,
    "tacit.counts.node_distributions.DiscreteGaussian.draw, "
    "tacit.counts.node_distributions.DiscreteLaplace.draw": by_node_distribution,
    "tacit.mechanisms.central.tree.NoisyTree.noisy_nodes, flat": by_flat_table,
    "tacit.mechanisms.central.tree.NoisyTree.noisy_nodes, tree": by_tree,
    "tacit.mechanisms.central.marginals.MarginalTables.noisy_nodes": by_tables,
    "tacit.mechanisms.continual.engines.NodeDraws.take": by_node_draws,
    "tacit.mechanisms.continual.counter.Counter.steps": by_counter,
}
"""Where noise is drawn, by qualified name."""

CALLERS = {"counts/node_distributions.py"}
"""The modules that call the samplers."""


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("is_gaussian", [True, False], ids=["Gaussian", "Laplace"])
@pytest.mark.parametrize("name", DRAWS)
def test_a_draw_has_its_distribution_and_its_variance(name, is_gaussian, seed):
    assert_drawn(DRAWS[name](is_gaussian, seed), is_gaussian)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("is_gaussian", [True, False], ids=["Gaussian", "Laplace"])
@pytest.mark.parametrize("name", list(DRAWS)[2:])
def test_noise_a_tenth_too_small_is_caught_where_it_is_drawn(name, is_gaussian, seed, monkeypatch):
    """The twin: both checks fail, each by itself."""
    share = Fraction(9, 10)
    monkeypatch.setattr(
        node_distributions,
        "discrete_gaussian",
        lambda n, v, *, randomness: discrete_gaussian(n, v * share**2, randomness=randomness),
    )
    monkeypatch.setattr(
        node_distributions,
        "discrete_laplace",
        lambda n, rate, *, randomness: discrete_laplace(n, rate / share, randomness=randomness),
    )
    values = DRAWS[name](is_gaussian, seed)
    with pytest.raises(AssertionError, match="came"):
        assert_drawn(values, is_gaussian)
    with pytest.raises(AssertionError, match="a variance of"):
        assert_variance(values, *masses(is_gaussian))


def test_samplers_are_called_nowhere_else():
    """A new caller gets a place in the table above."""
    root = Path(tacit.__file__).parent
    calls = re.compile(r"^(?!.*(>>>|\.\.\.)).*\bdiscrete_(gaussian|laplace)\b(?! import)", re.MULTILINE)
    found = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if path.parent.name != "randomness" and calls.search(path.read_text(encoding="utf-8"))
    }
    assert found == CALLERS
