"""The most likely counts satisfy the conditions of a maximum, and no optimizer finds better ones."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from small_worlds import days_and_places
from tacit.collection.tallying import estimate_tally, histogram_reports, likelihood_of, tally_reports
from tacit.collection.wire import ReportWriter
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import KindAxis
from tacit.errors import NoInterval, SettingError
from tacit.mechanisms.central.marginals import MarginalTables
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.postprocess import likelihood, project
from tacit.postprocess.coherence import HANDED_DOWN, add_up
from tacit.postprocess.likelihood import MOST_LIKELY, ReportHistogram, maximize_likelihood, most_likely_shares
from tacit.postprocess.normal_likelihood import (
    LIKELY_TABLES,
    LIKELY_UNDER_NORMAL_NOISE,
    covariances,
    maximize_normal_likelihood,
    nearest_counts,
)
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Spend
from tacit.randomness import SeededRandomness

ORACLES = [
    "unary",
    "optimized unary",
    "response",
    "subset",
    "hadamard",
    "hashing",
    "binary hashing",
    "longitudinal",
    "optimized longitudinal",
    "longitudinal hashing",
]
COUNTS = np.random.default_rng(5).poisson([9, 4, 1, 0], (40, 4))


def histogram_of(supports, counts, odds):
    supports = np.asarray(supports, np.uint8)
    counts = np.asarray(counts, np.int64)
    starts = np.arange(0, counts.size + 1, counts.shape[1])
    which = np.tile(np.arange(counts.shape[1]), len(counts))
    return ReportHistogram(Provenance("any"), odds, supports, starts, which, counts.ravel())


def written(path, mechanism, epsilon=1.5, counts=COUNTS, kind=None, **settings):
    n_days, n_columns = counts.shape
    domain = days_and_places(n_days, n_columns // (1 if kind is None else kind.n_cells))
    plan = plan_for(replace(domain, kind=kind), epsilon=epsilon, mechanism=mechanism, **settings)
    cells = np.repeat(np.tile(np.arange(n_columns), n_days), counts.ravel())
    bins = np.repeat(np.repeat(np.arange(n_days), n_columns), counts.ravel())
    public, private = plan.split(bins, cells)
    reports = mechanism_of(plan).randomize(private, randomness=SeededRandomness(3))
    label = Provenance(plan.fingerprint, is_simulation=True)
    with ReportWriter(path, label, mechanism_of(plan).report_bytes) as writer:
        writer.add(public, reports)
    return plan


def log_likelihood(histogram, shares, bin=0):
    entries = slice(histogram.starts[bin], histogram.starts[bin + 1])
    supported = histogram.supports[histogram.which[entries]] @ shares
    return histogram.counts[entries] @ np.log1p((histogram.odds - 1) * supported)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.2, 4.0))
@pytest.mark.slow
def test_no_optimizer_finds_shares_that_are_more_likely(seed, epsilon):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    supports = rng.random((12, k)) < 0.4
    histogram = histogram_of(supports, rng.integers(0, 9, (1, 12)) + np.eye(1, 12, dtype=int), math.exp(epsilon))
    shares, trace = most_likely_shares(histogram, tolerance=1e-7, most_rounds=20_000)
    ours = log_likelihood(histogram, shares[0])
    best = max(
        -minimize(
            lambda x: -log_likelihood(histogram, np.abs(x) / np.abs(x).sum()),
            start,
            method="Nelder-Mead",
            options={"maxiter": 2000, "xatol": 1e-8, "fatol": 1e-10},
        ).fun
        for start in (np.full(k, 1 / k), shares[0] + 0.05)
    )
    assert ours >= best - 1e-5
    assert trace.n_open == 0
    assert trace.gaps[0] <= 1e-7


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_optimality_conditions_hold(epsilon):
    """m = 1 where shares are positive and at most 1 elsewhere; the stated gap bounds what is missing."""
    rng = np.random.default_rng(1)
    histogram = histogram_of(rng.random((30, 5)) < 0.5, rng.integers(0, 20, (8, 30)), math.exp(epsilon))
    shares, trace = most_likely_shares(histogram, tolerance=1e-6, most_rounds=50_000)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (shares >= 0).all()
    for bin, found in enumerate(shares):
        likelihoods = 1 + (histogram.odds - 1) * histogram.supports
        counts = histogram.counts[histogram.starts[bin] : histogram.starts[bin + 1]]
        m = (counts / (likelihoods @ found)) @ likelihoods / counts.sum()
        assert m.max() <= 1 + 1.0001e-6 / counts.sum()
        np.testing.assert_allclose(m[found > 1e-3], 1, atol=1e-5)
        assert found @ m == pytest.approx(1)
    assert (np.diff(trace.log_likelihoods) >= -1e-7).all()
    assert trace.largest_gaps[-1] <= 1e-6


def test_two_cells_have_the_closed_form():
    """Randomized response on two cells: the share of answers, undone and cut at 0 and 1."""
    odds = 3.0
    for yes in range(11):
        histogram = histogram_of(np.eye(2), [[yes, 10 - yes]], odds)
        shares, _ = most_likely_shares(histogram, tolerance=1e-10, most_rounds=100_000)
        p, q = odds / (1 + odds), 1 / (1 + odds)
        assert shares[0, 0] == pytest.approx(min(max((yes / 10 - q) / (p - q), 0), 1), abs=1e-4)


def test_shares_that_begin_nowhere_near_do_not_freeze_at_zero():
    """All reports support one cell alone: its share goes to one, though leaps would overshoot."""
    histogram = histogram_of(np.eye(5), [[200, 0, 0, 0, 1]], math.exp(0.3))
    shares, trace = most_likely_shares(histogram, tolerance=1e-8, most_rounds=10_000)
    assert shares[0, 0] > 1 - 1e-6
    assert trace.n_open == 0


@pytest.mark.parametrize("epsilon", [0.1, 0.4, 2.0, 6.0])
def test_a_dozen_rounds_are_enough_whatever_epsilon_and_however_few_reports(epsilon):
    """Plain expectation maximization takes thousands where reports tell little."""
    rng = np.random.default_rng(4)
    supports = np.array([rng.permutation(17) < 7 for _ in range(300)])
    n_reports = [1, 2, 5, 80, 80, 3000]
    starts = np.concatenate(([0], np.cumsum(n_reports)))
    which = rng.integers(0, 300, starts[-1])
    histogram = ReportHistogram(
        Provenance("any"), math.exp(epsilon), supports.astype(np.uint8), starts, which, np.ones(starts[-1], np.int64)
    )
    shares, trace = most_likely_shares(histogram)
    assert trace.n_open == 0
    assert len(trace.largest_gaps) <= 12
    assert (shares >= 0).all()


def test_with_too_many_cells_for_newton_it_leaps(monkeypatch):
    rng = np.random.default_rng(6)
    histogram = histogram_of(rng.random((30, 5)) < 0.5, rng.integers(0, 20, (8, 30)), math.exp(1.0))
    by_newton, _ = most_likely_shares(histogram, tolerance=1e-8, most_rounds=50_000)
    monkeypatch.setattr(likelihood, "MOST_CELLS", 4)
    by_leaps, trace = most_likely_shares(histogram, tolerance=1e-8, most_rounds=50_000)
    assert trace.n_open == 0
    np.testing.assert_allclose(by_leaps, by_newton, atol=1e-4)


def test_bins_without_reports_have_even_shares():
    histogram = histogram_of(np.eye(2), [[0, 0], [5, 0]], 3.0)
    empty = ReportHistogram(
        histogram.provenance, 3.0, histogram.supports, np.array([0, 0, 2]), histogram.which[2:], histogram.counts[2:]
    )
    shares, _ = most_likely_shares(empty)
    assert shares[0].tolist() == [0.5, 0.5]
    assert shares[1, 0] > 0.99


@pytest.mark.parametrize("mechanism", ORACLES)
def test_the_supports_give_the_exact_channel(tmp_path, mechanism):
    """P(report | cell), up to a factor of the report's own, is the odds where it supports the cell, else one."""
    plan = plan_for(days_and_places(3, 4), epsilon=1.3, mechanism=mechanism)
    randomizer = mechanism_of(plan)
    channel = np.array([[float(chance) for chance in row] for row in randomizer.channel()])
    possible = np.flatnonzero(channel.sum(axis=0) > 0)
    if mechanism in ("hashing", "binary hashing"):
        size = 1 << randomizer.degree
        codes = (possible % size) | (possible // size << randomizer.degree)
    else:
        codes = possible
    width = randomizer.report_bytes
    reports = np.ascontiguousarray(codes.astype("<u8")).view(np.uint8).reshape(-1, 8)[:, :width]
    supports = randomizer.statistics(np.ascontiguousarray(reports), np.ones(len(codes), np.int64))
    likelihoods = 1 + (math.exp(randomizer.epsilon) - 1) * supports.T
    ratios = channel[:, possible] / likelihoods
    np.testing.assert_allclose(ratios, np.broadcast_to(ratios[:1], ratios.shape), rtol=1e-9)


@pytest.mark.parametrize("mechanism", ORACLES)
def test_a_file_of_reports_gives_the_same_counts_in_any_grouping(tmp_path, mechanism):
    path = tmp_path / "a.reports"
    plan = written(path, mechanism)
    histogram, tally = histogram_reports([path], plan), tally_reports([path], plan)
    np.testing.assert_array_equal(histogram.reports, tally.reports)
    for bin in (0, 17):
        entries = slice(histogram.starts[bin], histogram.starts[bin + 1])
        supports = histogram.counts[entries] @ histogram.supports[histogram.which[entries]].astype(int)
        np.testing.assert_array_equal(supports, tally.statistics[bin])
    estimate = estimate_tally(tally, plan)
    refine = likelihood_of(histogram, plan).refine
    for coarse in (estimate, estimate.coarsen(time="month"), estimate.coarsen(time="year")):
        likely = refine(coarse)
        assert re.fullmatch(rf"{MOST_LIKELY} \(every public bin within 0.001 of .* after \d+ rounds\)", likely.steps[0])
        assert likely.domain == coarse.domain
        assert likely.provenance.is_simulation
        assert (likely.values >= 0).all()
        np.testing.assert_allclose(likely.values.sum(axis=1, keepdims=True), coarse.totals)
        with pytest.raises(NoInterval):
            likely.noise.standard_errors()


@pytest.mark.parametrize("private", [("time",), ("time", "place")])
def test_time_may_be_private(tmp_path, private):
    path = tmp_path / "a.reports"
    plan = written(path, "subset", private=private, counts=COUNTS[:6])
    estimate = estimate_tally(tally_reports([path], plan), plan)
    likely = likelihood_of(histogram_reports([path], plan), plan).refine(estimate)
    assert likely.values.shape == (6, 4)
    assert likely.values.sum() == pytest.approx(COUNTS[:6].sum())


@pytest.mark.parametrize("private", [("place",), ("kind",), ("place", "kind"), ("time", "kind")])
@pytest.mark.parametrize("kinds", [None, "all"])
def test_kinds_may_be_public_or_private_and_added_up(tmp_path, private, kinds):
    path = tmp_path / "a.reports"
    plan = written(path, "subset", counts=COUNTS[:6], kind=KindAxis.of(["fire", "flood"]), private=private, epsilon=3)
    estimate = estimate_tally(tally_reports([path], plan), plan).coarsen(kind=kinds)
    likely = likelihood_of(histogram_reports([path], plan), plan).refine(estimate)
    assert likely.domain == estimate.domain
    assert likely.values.sum() == pytest.approx(COUNTS[:6].sum())


def test_reports_that_support_no_single_cells_are_refused(tmp_path):
    path = tmp_path / "a.reports"
    plan = written(path, "hierarchical", private=("time",))
    with pytest.raises(SettingError, match="no single cells"):
        histogram_reports([path], plan)


def test_a_histogram_of_other_reports_is_refused(tmp_path):
    plan = written(tmp_path / "a.reports", "unary")
    histogram = histogram_reports([tmp_path / "a.reports"], plan)
    tally = Tally(Provenance(plan.fingerprint), np.ones((40, 4), np.int64), np.ones(40, np.int64))
    with pytest.raises(SettingError, match="same reports"):
        maximize_likelihood(estimate_tally(tally, plan), histogram)


def covariance_of(distribution, truth):
    per_report = covariances(distribution)
    return (truth[:, None, None] * per_report).sum(axis=0) if len(per_report) > 1 else truth.sum() * per_report[0]


@pytest.mark.parametrize("mechanism", ["response", "subset", "optimized unary", "hadamard", "hashing"])
def test_covariances_answer_every_question_as_the_distribution_does(mechanism):
    distribution = mechanism_of(plan_for(days_and_places(3, 5), epsilon=1.0, mechanism=mechanism)).distribution
    weights = np.random.default_rng(0).normal(size=5)
    expected = distribution.variances(weights)
    np.testing.assert_allclose(
        np.einsum("a,uab,b->u", weights, covariances(distribution), weights), expected, rtol=1e-8
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_no_counts_are_nearer_in_the_metric_of_the_noise(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    values, total = rng.normal(2, 6, k), int(rng.integers(1, 20))
    root = rng.normal(size=(k, k))
    covariance = root @ root.T + 0.1 * np.eye(k)
    found = nearest_counts(values[None], np.array([float(total)]), covariance[None])[0]
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total)
    metric = np.linalg.inv(covariance)
    gradient = metric @ (found - values)
    price = gradient[found > 1e-9].mean()
    np.testing.assert_allclose(gradient[found > 1e-9], price, atol=1e-6 * (1 + abs(price)))
    assert (gradient[found <= 1e-9] >= price - 1e-6 * (1 + abs(price))).all()


def test_symmetric_unary_supports_are_projected():
    """Independent bits that err alike: the metric is the plain one."""
    from small_worlds import simulated_estimate

    _, estimate = simulated_estimate(COUNTS)
    likely = maximize_normal_likelihood(estimate)
    np.testing.assert_allclose(likely.values, project(estimate).values, atol=1e-8)
    assert likely.steps == (LIKELY_UNDER_NORMAL_NOISE,)


@pytest.mark.parametrize("mechanism", ["response", "subset", "optimized unary", "hashing"])
def test_counts_from_supports_add_up_and_are_near_those_from_reports(tmp_path, mechanism):
    path = tmp_path / "a.reports"
    plan = written(path, mechanism, epsilon=3.0)
    estimate = estimate_tally(tally_reports([path], plan), plan).coarsen(time="year")
    by_supports = maximize_normal_likelihood(estimate).values
    by_reports = likelihood_of(histogram_reports([path], plan), plan).refine(estimate).values
    assert by_supports.sum() == pytest.approx(COUNTS.sum())
    errors = estimate.noise.standard_errors()
    assert (np.abs(by_supports - by_reports) <= 1.5 * errors).all()


def test_noise_without_reports_and_too_many_cells_are_refused():
    from small_worlds import simulated_estimate

    _, estimate = simulated_estimate(COUNTS)
    with pytest.raises(SettingError, match="Use project"):
        maximize_normal_likelihood(project(estimate))
    _, wide = simulated_estimate(np.ones((1, 200), int))
    with pytest.raises(SettingError, match="at most 128"):
        maximize_normal_likelihood(wide)


def test_every_support_oracle_of_the_table_is_tested():
    assert set(ORACLES) | {"tuned unary", "hierarchical", "sampled tables", "binary longitudinal hashing"} == set(
        MECHANISMS
    )


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("shares", [(0, 2, 1, 4), (0, 0, 0, 1)])
def test_the_most_likely_counts_of_tables_are_those_of_constrained_least_squares(shares, seed):
    """None is negative, the total stays, and no move between two cells that keeps both makes them more likely."""
    domain = replace(days_and_places(3, 4), kind=KindAxis.of(["fire", "flood", "fall"]))
    tables = MarginalTables(domain.sizes, shares, Cost.zcdp(0.05))
    plan = central_plan_for(domain, rho=0.05, delta=1e-6, mechanism="tables")
    counts = ExactTally(np.random.default_rng(seed).poisson(3, domain.shape))
    made = tables.measure(counts, plan, spend=Spend.simulation(tables.cost, seed=seed))
    likely = maximize_normal_likelihood(made)
    assert likely.steps[-1] == LIKELY_TABLES
    assert (likely.values >= 0).all()
    totals = np.maximum(made.values.sum(axis=1), 0.0)
    np.testing.assert_allclose(likely.values.sum(axis=1), totals, atol=1e-6)
    metric = np.linalg.inv(made.noise.bin_covariance())
    for values, found, total in zip(made.values, likely.values, totals, strict=True):
        slopes = metric @ (found - values)
        if total > 0:
            assert slopes[found > 1e-9].max() - slopes.min() < 1e-6 * np.abs(slopes).max() + 1e-9


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("n_days", [1, 40])
def test_coherent_tables_add_up_to_the_most_likely_tables_over_all_time(n_days, seed):
    domain = replace(days_and_places(n_days, 4), kind=KindAxis.of(["fire", "flood", "fall"]))
    tables = MarginalTables(domain.sizes, (0, 2, 1, 4), Cost.zcdp(0.05))
    plan = central_plan_for(domain, rho=0.05, delta=1e-6, mechanism="tables")
    counts = ExactTally(np.random.default_rng(seed).poisson(3 / n_days, domain.shape))
    made = tables.measure(counts, plan, spend=Spend.simulation(tables.cost, seed=seed))
    found = add_up(made)
    assert found.steps[-2:] == (LIKELY_TABLES, HANDED_DOWN)
    assert (found.values >= 0).all()
    whole = replace(
        made,
        domain=replace(domain, time=domain.time.with_end(1)),
        values=made.values.sum(axis=0, keepdims=True),
        noise=replace(made.noise, sizes=(1, *domain.sizes[1:])),
    )
    np.testing.assert_allclose(found.values.sum(axis=0), maximize_normal_likelihood(whole).values[0], atol=1e-6)


def test_a_curators_tree_has_no_likelihood():
    plan = central_plan_for(days_and_places(4, 2), epsilon=1.0)
    mechanism = central_mechanism_of(plan)
    made = mechanism.measure(
        ExactTally(np.ones((4, 2), np.int64)), plan, spend=Spend.simulation(mechanism.cost, seed=1)
    )
    with pytest.raises(SettingError, match="or a curator's tables"):
        maximize_normal_likelihood(made)
