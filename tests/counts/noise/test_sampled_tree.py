"""Fused trees of sampled levels: unbiased, with the exact variance of any question, covered as stated."""

from __future__ import annotations

import json
import math
from functools import lru_cache

import numpy as np
import pytest

from tacit.counts.estimate import LEAST_SQUARES
from tacit.counts.noise import LinearMap, SampledNoise, errors_of_questions, intervals_of_questions
from tacit.counts.noise.sampled import FEW_REPORTS, MOST_LISTED
from tacit.counts.provenance import Provenance
from tacit.counts.query import answer
from tacit.counts.tally import Tally
from tacit.domain import Domain, Grouping, PlaceAxis, TimeAxis
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import FormatError, PlanMismatch, SettingError
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.plan import Plan
from tacit.randomness import SeededRandomness
from tacit.release.files import noise_from_dict

ORACLES = {
    "subset": lambda epsilon, k: SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=k),
    "unary": lambda epsilon, k: UnaryEncoding.optimized(epsilon=epsilon, n_cells=k),
    "hashing": lambda epsilon, k: LocalHashing.from_epsilon(epsilon=epsilon, n_cells=k),
    "hadamard": lambda epsilon, k: HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=k),
    "response": lambda epsilon, k: RandomizedResponse.from_epsilon(epsilon=epsilon, n_cells=k),
}
TREES = [Hierarchy.of_degree(4, 2), Hierarchy.of_degree(5, 2), Hierarchy.of_levels([(0, 1, 5), (0, 1, 3, 5)], 5)]


def domain_of(n_days, n_places=1):
    axis = TimeAxis.between("2018-01-01", None).with_end(n_days)
    return Domain(axis, PlaceAxis.of([f"place {number}" for number in range(n_places)]))


def estimate_of(histogram, statistics, reports, private=("time",)):
    shape = (histogram.n_cells, len(reports)) if private == ("time",) else (len(reports), histogram.n_cells)
    domain = domain_of(*shape)
    plan = Plan(domain, "hierarchical", histogram.epsilon, (), private=private)
    return histogram.estimate(Tally(Provenance(plan.fingerprint), statistics, np.asarray(reports)), plan, domain)


@pytest.mark.parametrize("oracle", ORACLES)
@pytest.mark.parametrize("tree", TREES)
def test_one_report_is_unbiased_with_the_exact_variance_of_any_question(tree, oracle):
    """All reports that can be, one in each public bin, with their exact probabilities."""
    histogram = HierarchicalHistogram.over(
        tree, epsilon=1.0, level_oracle=ORACLES[oracle], weights=range(1, tree.n_levels)
    )
    channel, width = histogram.channel(), histogram.report_bytes
    numbers = [number for number, chance in enumerate(channel[0]) if chance]
    rows = np.array([list(number.to_bytes(width, "little")) for number in numbers], np.uint8)
    ones = np.ones(len(rows), np.int64)
    estimate = estimate_of(histogram, histogram.statistics(rows, ones), ones)
    chances = np.array([[float(row[number]) for number in numbers] for row in channel])
    np.testing.assert_allclose(chances @ estimate.values.T, np.eye(tree.n_leaves), atol=1e-9)
    rng = np.random.default_rng(1)
    for weights in (np.eye(tree.n_leaves)[1], np.arange(tree.n_leaves) < 3, rng.normal(size=tree.n_leaves)):
        weights = weights.astype(float)
        answers = weights @ estimate.values
        exact = chances @ answers**2 - (chances @ answers) ** 2
        np.testing.assert_allclose(estimate.noise.per_report(weights), exact, rtol=1e-9)
    # the public total is known
    np.testing.assert_allclose(estimate.values.sum(axis=0), 1, atol=1e-9)
    assert estimate.noise.variance(np.ones(estimate.values.shape)) == pytest.approx(0, abs=1e-12)


@lru_cache
def planned(n_days, n_places, epsilon):
    plan = plan_for(domain_of(n_days, n_places), epsilon=epsilon, mechanism="hierarchical", private=("time",))
    return plan, mechanism_of(plan)


def simulated(counts, seed, epsilon=1.0):
    """A tree of private days for every public place."""
    n_days, _ = counts.shape
    plan, mechanism = planned(*counts.shape, epsilon)
    cells = np.concatenate([np.repeat(np.arange(n_days), column) for column in counts.T])
    reports = mechanism.randomize(cells, randomness=SeededRandomness(seed % 2**32))
    per_place = counts.sum(axis=0)
    tally = Tally(Provenance(plan.fingerprint, is_simulation=True), mechanism.statistics(reports, per_place), per_place)
    return plan, mechanism.estimate(tally, plan, plan.domain)


@pytest.mark.false_failure(1e-8)
@pytest.mark.slow
def test_simulated_ranges_err_as_stated(seed):
    """Mean squared z-scores of 300 draws within 8 standard errors of 1 (wider tails than normal allowed for)."""
    counts = np.random.default_rng(7).poisson(np.outer(20 + 15 * (np.arange(60) % 7 == 3), [1, 3]))
    asked = [np.outer((np.arange(60) >= a) & (np.arange(60) < b), places) for a, b, places in
             ((3, 40, [1, 0]), (0, 10, [1, 1]), (17, 18, [0, 1]), (30, 60, [0, 1]))]  # fmt: skip
    squares = np.zeros((300, len(asked)))
    for draw in range(300):
        _, estimate = simulated(counts, seed + draw)
        for number, weights in enumerate(asked):
            error = float((weights * (estimate.values - counts)).sum())
            squares[draw, number] = error**2 / estimate.noise.variance(weights.astype(float))
    assert (np.abs(squares.mean(axis=0) - 1) < 8 * math.sqrt(2.5 / 300)).all()


@pytest.mark.false_failure(1e-8)
@pytest.mark.parametrize(("n_reports", "epsilon"), [(FEW_REPORTS, 1.0), (FEW_REPORTS, 4.0), (40, 1.0), (3, 2.0)])
@pytest.mark.slow
def test_intervals_cover_the_truth_at_least_about_as_often_as_stated(n_reports, epsilon, seed):
    """1,200 questions at 90 %; those of one draw are correlated, so 100 draws count: 6.5 standard deviations below."""
    rng, hits = np.random.default_rng(seed), []
    for draw in range(100):
        shares = rng.dirichlet(np.full(24, rng.choice([0.1, 5.0])))
        counts = rng.multinomial(n_reports, shares)[:, None]
        _, estimate = simulated(counts, seed + draw, epsilon)
        lower, upper = estimate.noise.intervals(estimate.values, 0.9)
        cells = rng.integers(0, 24, 6)
        hits.append(((lower <= counts) & (counts <= upper))[cells].mean() / 2)
        for _ in range(6):
            first, stop = np.sort(rng.choice(25, 2, replace=False))
            weights = ((np.arange(24) >= first) & (np.arange(24) < stop))[:, None].astype(float)
            low, high = estimate.noise.interval(float((weights * estimate.values).sum()), weights, 0.9)
            assert 0 <= low <= high <= n_reports
            hits[-1] += (low <= (weights * counts).sum() <= high) / 12
    assert np.mean(hits) > 0.9 - 6.5 * np.std(hits) / 10 - 0.01


def test_errors_of_leaves_months_and_places_are_those_of_their_questions():
    counts = np.random.default_rng(3).poisson(12, (70, 2))
    _, estimate = simulated(counts, 5)
    noise = estimate.noise
    assert isinstance(noise, SampledNoise)
    for cell in ((0, 0), (13, 1), (69, 1)):
        weights = np.zeros((70, 2))
        weights[cell] = 1
        assert noise.standard_errors()[cell] ** 2 == pytest.approx(noise.variance(weights))
        limits = noise.interval(float(estimate.values[cell]), weights, 0.9)
        lower, upper = noise.intervals(estimate.values, 0.9)
        assert limits == pytest.approx((lower[cell], upper[cell]))
    months = estimate.coarsen(time="month")
    assert isinstance(months.noise, LinearMap)
    np.testing.assert_allclose(months.noise.standard_errors(), errors_of_questions(noise, months.noise.grouping))
    for ours, theirs in zip(
        months.noise.intervals(months.values, 0.9),
        intervals_of_questions(noise, months.values, months.noise.grouping, 0.9),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs)
    both = noise.coarsen(Grouping.of_columns(np.arange(70), np.array([0, 0]), (70, 1)))
    assert isinstance(both, SampledNoise)
    weights = (np.arange(70) < 20)[:, None].astype(float)
    assert both.variance(weights) == pytest.approx(noise.variance(np.repeat(weights, 2, axis=1)))


def test_large_trees_state_the_errors_of_leaves_as_if_events_were_even():
    n_days = 2 * MOST_LISTED
    counts = np.full((n_days, 1), 50)
    _, estimate = simulated(counts, 1)
    errors = estimate.noise.standard_errors()
    for day in (0, 100, n_days - 1):
        assert errors[day, 0] ** 2 == pytest.approx(estimate.noise.variance(np.eye(n_days)[:, [day]]), rel=0.05)
    few = np.zeros((n_days, 1), int)
    few[:5] = 3
    _, estimate = simulated(few, 1)
    lower, upper = estimate.noise.intervals(estimate.values, 0.9)
    assert (lower == 0).all()
    assert (upper == 15).all()


@pytest.mark.false_failure(1e-12)
@pytest.mark.parametrize("private", [("time",), ("place",), ("time", "place")])
def test_every_division_into_public_and_private_is_estimated(private, seed):
    domain = domain_of(6, 5)
    plan = plan_for(domain, epsilon=8.0, mechanism="hh", private=private)
    mechanism, counts = mechanism_of(plan), np.random.default_rng(seed).poisson(400, (6, 5))
    times, places = np.repeat(np.arange(6), counts.sum(axis=1)), np.repeat(np.tile(np.arange(5), 6), counts.ravel())
    public, hidden = plan.split(times, places)
    order = np.argsort(public, kind="stable")
    reports = mechanism.randomize(hidden[order], randomness=SeededRandomness(seed))
    per_bin = np.bincount(public)
    tally = Tally(Provenance(plan.fingerprint), mechanism.statistics(reports, per_bin), per_bin)
    estimate = mechanism.estimate(tally, plan, domain)
    errors = estimate.noise.standard_errors()
    assert errors.shape == (6, 5)
    assert (np.abs(estimate.values - counts) < 8 * errors).all()
    box = domain.box(first="2018-01-02", last="2018-01-04", places=["place 1", "place 2"])
    found = answer(estimate, box)
    assert abs(found.value - counts[1:4, 1:3].sum()) < 8 * found.standard_error
    assert answer(estimate, domain.box()).value == counts.sum()
    with pytest.raises(PlanMismatch):
        mechanism.estimate(Tally.zero("another", mechanism.n_statistics), plan, domain)


def test_places_without_reports_are_known_to_be_empty():
    counts = np.zeros((10, 2), int)
    counts[:, 1] = 100
    _, estimate = simulated(counts, 1)
    assert (estimate.values[:, 0] == 0).all()
    assert (estimate.noise.standard_errors()[:, 0] == 0).all()
    assert estimate.steps == (LEAST_SQUARES,)


def test_the_noise_survives_plain_data():
    _, estimate = simulated(np.random.default_rng(3).poisson(12, (300, 2)), 5)
    for noise in (estimate.noise, estimate.coarsen(time="month").noise):
        again = noise_from_dict(json.loads(json.dumps(noise.to_dict())))
        assert type(again) is type(noise)
        rng = np.random.default_rng(1)
        weights = rng.normal(size=noise.shape)
        assert again.variance(weights) == noise.variance(weights)
        box = (rng.random(noise.shape) < 0.5).astype(float)
        assert again.interval(30.0, box, 0.8) == noise.interval(30.0, box, 0.8)
        np.testing.assert_array_equal(again.standard_errors(), noise.standard_errors())
    content = estimate.noise.to_dict()
    for wrong in (
        {"chances": content["chances"][1:]},
        {"chances": ["0x0", *content["chances"][1:]]},
        {"distributions": content["distributions"][::-1]},
        {"hierarchy": Hierarchy.of_degree(300, 3).to_dict()},
        {"hierarchy": {"n_leaves": 300, "levels": [[0, 400]]}},
        {"shape": [2, 300]},
        {"private": ["place"]},
        {"counts": content["reports"]},
    ):
        with pytest.raises(FormatError):
            noise_from_dict(content | wrong)
    with pytest.raises(SettingError, match="level"):
        estimate.noise.interval(1.0, np.ones((300, 2)), 1.5)
