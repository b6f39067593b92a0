"""Smoothing over time: what it gains, what its intervals cover, and what it survives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from small_worlds import days_and_places, simulated_estimate
from statistical import Recorded, assert_as_recorded
from tacit.collection.tallying import estimate_tally
from tacit.counts.estimate import Estimate
from tacit.counts.node_distributions import DiscreteLaplace
from tacit.counts.noise import LinearMap
from tacit.counts.noise.tree import fuse
from tacit.counts.provenance import Provenance
from tacit.counts.query import answer
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Box, sum_groups
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.pages.laboratory import error_rates
from tacit.postprocess import clip, clip_and_rescale, filtered, smooth
from tacit.postprocess.smoothing import Hyperparameters
from tacit.privacy.cost import Cost
from tacit.privacy.spend import Spend
from tacit.randomness import SeededRandomness
from tacit.randomness.laplace import discrete_laplace
from tacit.release.files import noise_from_dict
from tacit.statespace.settings import SETTINGS
from tacit.statespace.smoothed_noise import SmoothedNoise

Counts = NDArray[np.int64]
STEPS = [smooth, filtered]


def random_walks(rng: np.random.Generator, n_days: int = 700, n_places: int = 8) -> Counts:
    """Shares that walk: no level to come back to."""
    logs = np.log(rng.dirichlet(np.full(n_places, 2.0))) + np.cumsum(rng.normal(0, 0.03, (n_days, n_places)), axis=0)
    shares = np.exp(logs)
    return rng.multinomial(rng.poisson(60, n_days), shares / shares.sum(axis=1, keepdims=True))


def outlying(rng: np.random.Generator, n_days: int = 700, n_places: int = 10) -> Counts:
    """Days on which one place has as many events as all others, or many more."""
    counts = rng.multinomial(rng.poisson(80, n_days), rng.dirichlet(np.full(n_places, 3.0)))
    for day in rng.choice(n_days, 30, replace=False):
        counts[day, rng.integers(n_places)] += rng.poisson(rng.choice([30, 150]))
    return counts


def shifting(rng: np.random.Generator, n_days: int = 700, n_places: int = 8) -> Counts:
    """One place grows over night, one appears, one vanishes."""
    shares = np.tile(rng.dirichlet(np.full(n_places, 4.0)), (n_days, 1))
    shares[n_days // 2 :, 0] *= 2.5
    shares[: n_days // 3, 1] = 0
    shares[2 * n_days // 3 :, 2] = 0
    return rng.multinomial(rng.poisson(50, n_days), shares / shares.sum(axis=1, keepdims=True))


def oracle_estimate(counts: Counts, epsilon: float, seed: int) -> Estimate:
    plan = plan_for(days_and_places(*counts.shape), mechanism="subset" if epsilon < 4 else "response", epsilon=epsilon)
    mechanism = mechanism_of(plan)
    cells = np.repeat(np.tile(np.arange(counts.shape[1]), len(counts)), counts.ravel())
    per_day = counts.sum(axis=1)
    statistics = mechanism.statistics(mechanism.randomize(cells, randomness=SeededRandomness(seed)), per_day)
    return estimate_tally(Tally(Provenance(plan.fingerprint, is_simulation=True), statistics, per_day), plan)


def curators_estimate(counts: Counts, seed: int) -> Estimate:
    """Counts with Laplace noise and no public totals."""
    distribution = DiscreteLaplace(Fraction(1, 4))
    randomness = Spend.simulation(Cost.pure(0.25), seed=seed).draw("rates", b"")
    n_days, n_places = counts.shape
    drawn = [discrete_laplace(n_days, distribution.rate, randomness=randomness) for _ in range(n_places)]
    return fuse(
        Hierarchy.of_degree(n_days, n_days),
        np.concatenate([np.zeros((1, n_places)), counts + np.stack(drawn, axis=1)]),
        (None, distribution),
        domain=days_and_places(n_days, n_places),
        provenance=Provenance("plan", is_simulation=True),
    )


def mean_error(counts: Counts, values: NDArray[np.float64]) -> float:
    return float(error_rates(ExactTally(counts), values).mean())


def breaking(rng: np.random.Generator, n_days: int = 700, n_places: int = 8) -> Counts:
    """Levels that hold for months and break, by half or to twice as much; days vary by more than chance."""
    logs = np.tile(rng.normal(0, 0.7, n_places), (n_days, 1))
    for place in range(n_places):
        for day in rng.integers(0, n_days, rng.poisson(1.2)):
            logs[day:, place] += rng.normal(0, 0.5)
    shares = np.exp(logs) * rng.gamma(60, 1 / 60, logs.shape)
    return rng.multinomial(rng.poisson(80, n_days), shares / shares.sum(axis=1, keepdims=True))


def unsteady(rng: np.random.Generator, n_days: int = 700, n_places: int = 10) -> Counts:
    """Days vary around their shares with heavy tails, in some places five times as much as in others."""
    scales = np.exp(rng.normal(np.log(0.15), 0.7, n_places))
    factors = np.exp(np.clip(rng.standard_t(3, (n_days, n_places)) / np.sqrt(3), -6, 6) * scales)
    shares = factors * np.exp(rng.normal(0, 0.8, n_places))
    return rng.multinomial(rng.poisson(100, n_days), shares / shares.sum(axis=1, keepdims=True))


def sparse(rng: np.random.Generator, n_days: int = 500, n_places: int = 14) -> Counts:
    """Two events a day and place: answers err by 0 or 1."""
    return rng.multinomial(rng.poisson(30, n_days), rng.dirichlet(np.full(n_places, 4.0)))


def unequal(rng: np.random.Generator, n_days: int = 90, n_places: int = 15) -> Counts:
    """A few weeks of places of very different size."""
    logs = rng.normal(0, 1, n_places) + np.cumsum(rng.normal(0, 0.02, (n_days, n_places)), axis=0)
    shares = np.exp(logs)
    return rng.multinomial(rng.poisson(150, n_days), shares / shares.sum(axis=1, keepdims=True))


def covered(found: Estimate, counts: Counts, level: float) -> float:
    """The part of the counts, spread over their unit, within the limits."""
    if isinstance(found.noise, LinearMap):
        assert isinstance(found.noise.base, SmoothedNoise)
        lower, upper = found.noise.base.limits(found.values, level, found.noise.grouping)
    else:
        assert isinstance(found.noise, SmoothedNoise)
        lower, upper = found.noise.limits(found.values, level)
    return float(np.clip(np.minimum(upper, counts + 0.5) - np.maximum(lower, counts - 0.5), 0, 1).mean())


def errors_and_covers(world: Callable[..., Counts], epsilon: float, seed: int) -> dict[str, float]:
    """The error of days beside the paper's, and what intervals cover of days and of months."""
    counts = world(np.random.default_rng(seed))
    estimate = oracle_estimate(counts, epsilon, seed)
    found = smooth(estimate)
    months, truth = found.coarsen(time="month"), found.domain.coarsen(time="month")[1].sums(counts)
    return {
        "error": mean_error(counts, found.values) / mean_error(counts, clip_and_rescale(estimate).values),
        "days at 80 %": covered(found, counts, 0.8),
        "days at 95 %": covered(found, counts, 0.95),
        "months at 80 %": covered(months, truth, 0.8),
        "months at 95 %": covered(months, truth, 0.95),
    }


ERRORS_AND_COVERS: dict[tuple[Callable[..., Counts], float], Recorded] = {
    (random_walks, 0.4): {
        "error": (0.3112, 0.03),
        "days at 80 %": (0.7871, 0.066),
        "days at 95 %": (0.9457, 0.035),
        "months at 80 %": (0.7599, 0.13),
        "months at 95 %": (0.9183, 0.091),
    },
    (random_walks, 1.69): {
        "error": (0.4404, 0.011),
        "days at 80 %": (0.8043, 0.011),
        "days at 95 %": (0.9605, 0.0044),
        "months at 80 %": (0.8231, 0.041),
        "months at 95 %": (0.9592, 0.021),
    },
    (random_walks, 4.39): {
        "error": (0.895, 0.011),
        "days at 80 %": (0.796, 0.0063),
        "days at 95 %": (0.9482, 0.003),
        "months at 80 %": (0.8038, 0.028),
        "months at 95 %": (0.9476, 0.015),
    },
    (outlying, 0.4): {
        "error": (0.3084, 0.019),
        "days at 80 %": (0.8023, 0.042),
        "days at 95 %": (0.9539, 0.019),
        "months at 80 %": (0.7949, 0.095),
        "months at 95 %": (0.9444, 0.051),
    },
    (outlying, 1.69): {
        "error": (0.4118, 0.0039),
        "days at 80 %": (0.8012, 0.0092),
        "days at 95 %": (0.9607, 0.0051),
        "months at 80 %": (0.8293, 0.035),
        "months at 95 %": (0.9637, 0.014),
    },
    (outlying, 4.39): {
        "error": (0.881, 0.0078),
        "days at 80 %": (0.7958, 0.006),
        "days at 95 %": (0.9478, 0.0029),
        "months at 80 %": (0.8039, 0.027),
        "months at 95 %": (0.9496, 0.016),
    },
    (shifting, 0.4): {
        "error": (0.3566, 0.023),
        "days at 80 %": (0.7696, 0.042),
        "days at 95 %": (0.9401, 0.023),
        "months at 80 %": (0.7484, 0.083),
        "months at 95 %": (0.9069, 0.061),
    },
    (shifting, 1.69): {
        "error": (0.4404, 0.0064),
        "days at 80 %": (0.7975, 0.013),
        "days at 95 %": (0.9578, 0.0078),
        "months at 80 %": (0.8334, 0.04),
        "months at 95 %": (0.9547, 0.029),
    },
    (shifting, 4.39): {
        "error": (0.8836, 0.0078),
        "days at 80 %": (0.7924, 0.0058),
        "days at 95 %": (0.9461, 0.0032),
        "months at 80 %": (0.8069, 0.025),
        "months at 95 %": (0.9527, 0.013),
    },
}
"""Worlds that smoothing was not tuned on."""


@pytest.mark.false_failure(3e-6)
@pytest.mark.parametrize(("world", "epsilon"), ERRORS_AND_COVERS)
@pytest.mark.slow
def test_days_and_months_err_and_are_covered_as_recorded(
    world: Callable[..., Counts], epsilon: float, seed: int
) -> None:
    recorded = ERRORS_AND_COVERS[world, epsilon]
    assert_as_recorded(partial(errors_and_covers, world, epsilon), recorded, seed, n_runs=2)


def test_what_is_recorded_errs_less_than_the_papers_and_is_covered_as_said() -> None:
    for (_, epsilon), recorded in ERRORS_AND_COVERS.items():
        means = {name: mean for name, (mean, _) in recorded.items()}
        assert means["error"] < (0.5 if epsilon < 1 else 0.62 if epsilon < 4 else 0.95)
        for period, slack in (("days", (0.04, 0.02)), ("months", (0.06, 0.05))):
            assert abs(means[f"{period} at 80 %"] - 0.8) < slack[0]
            assert abs(means[f"{period} at 95 %"] - 0.95) < slack[1]


def covers(world: Callable[..., Counts], epsilon: float, seed: int) -> dict[str, float]:
    """What intervals cover of days and of months."""
    return {name: found for name, found in errors_and_covers(world, epsilon, seed).items() if name != "error"}


COVERED: dict[tuple[float, Callable[..., Counts]], Recorded] = {
    (epsilon, world): dict(
        zip(("days at 80 %", "days at 95 %", "months at 80 %", "months at 95 %"), noted, strict=True)
    )
    for epsilon, world, *noted in (
        (0.81, breaking, (0.781, 0.015), (0.946, 0.006), (0.793, 0.063), (0.942, 0.036)),
        (0.81, unsteady, (0.778, 0.050), (0.938, 0.021), (0.815, 0.067), (0.954, 0.041)),
        (2.2, breaking, (0.783, 0.009), (0.953, 0.005), (0.821, 0.031), (0.953, 0.014)),
        (2.2, unsteady, (0.820, 0.025), (0.965, 0.008), (0.834, 0.030), (0.963, 0.019)),
    )
}
"""Noted over 24 worlds."""


@pytest.mark.false_failure(2e-6)
@pytest.mark.parametrize(("epsilon", "world"), COVERED)
@pytest.mark.slow
def test_days_and_months_are_covered_where_levels_break_and_where_places_vary_unequally(
    world: Callable[..., Counts], epsilon: float, seed: int
) -> None:
    assert_as_recorded(partial(covers, world, epsilon), COVERED[epsilon, world], seed, n_runs=4, n_recorded=24)


def test_recorded_coverage_is_near_what_intervals_say() -> None:
    for recorded in COVERED.values():
        means = np.array(list(recorded.values()))[:, 0]
        assert (np.abs(means - (0.8, 0.95, 0.8, 0.95)) < (0.03, 0.02, 0.04, 0.02)).all()


def small_counts_covered(epsilon: float, seed: int) -> dict[str, float]:
    counts = sparse(np.random.default_rng(seed))
    found = smooth(oracle_estimate(counts, epsilon, seed))
    covers = {}
    for level in (0.8, 0.95):
        covers[f"{level:.0%}"] = covered(found, counts, level)
        lower, upper = found.noise.intervals(found.values, level)
        assert ((lower <= counts) & (counts <= upper)).mean() >= covers[f"{level:.0%}"]
    return covers


SMALL_COUNTS_COVERED: dict[float, Recorded] = {
    4.39: {"80%": (0.8037, 0.0075), "95%": (0.9443, 0.0026)},
    5.89: {"80%": (0.8051, 0.0045), "95%": (0.9492, 0.0022)},
}


@pytest.mark.false_failure(1e-6)
@pytest.mark.parametrize("epsilon", SMALL_COUNTS_COVERED)
@pytest.mark.slow
def test_small_counts_are_covered_as_often_as_said_and_whole_intervals_at_least_as_often(
    epsilon: float, seed: int
) -> None:
    assert_as_recorded(partial(small_counts_covered, epsilon), SMALL_COUNTS_COVERED[epsilon], seed)
    for said, (mean, _) in zip((0.8, 0.95), SMALL_COUNTS_COVERED[epsilon].values(), strict=True):
        assert abs(mean - said) < 0.02


def squares_of_levels(seed: int) -> dict[str, float]:
    counts = unequal(np.random.default_rng(seed))
    year = smooth(oracle_estimate(counts, 0.4, seed), non_negative=False).coarsen(time="year")
    errors = (year.values[0] - counts.sum(axis=0)) / year.noise.standard_errors()[0]
    return {"square": float(np.square(errors).mean())}


SQUARES_OF_LEVELS: Recorded = {"square": (1.026, 0.51)}


@pytest.mark.false_failure(1e-6)
@pytest.mark.slow
def test_what_is_said_of_levels_under_much_noise_is_about_how_far_off_they_are(seed: int) -> None:
    """Mean squares over standard errors: 1 is right."""
    assert_as_recorded(squares_of_levels, SQUARES_OF_LEVELS, seed, n_runs=4)
    assert 0.8 < SQUARES_OF_LEVELS["square"][0] < 1.2


def gap_of_forty_days(step: Callable[[Estimate], Estimate], seed: int) -> dict[str, float]:
    """How far counts are off in the gap and before it, of a curator's counts and of reports without their places."""
    counts = np.random.default_rng(seed).poisson(np.array([12.0, 4.0, 1.0]), (200, 3))
    found = {}
    for name, estimate in (
        ("curator", curators_estimate(counts, seed)),
        ("reports", oracle_estimate(counts, 3.0, seed)),
    ):
        values = estimate.values.copy()
        values[80:120] = np.nan
        shown = step(replace(estimate, values=values)).values
        assert np.isfinite(shown).all()
        found[f"{name}, in it"] = float(np.abs(shown[80:120].mean(axis=0) - [12, 4, 1]).max())
        if step is smooth:
            moved = shown[:80].mean(axis=0) - step(estimate).values[:80].mean(axis=0)
            found[f"{name}, before it"] = float(np.abs(moved).max())
    return found


GAP_OF_FORTY_DAYS: dict[Callable[[Estimate], Estimate], Recorded] = {
    smooth: {
        "curator, in it": (0.7101, 0.19),
        "curator, before it": (0.2279, 0.083),
        "reports, in it": (0.5006, 0.35),
        "reports, before it": (0.02331, 0.016),
    },
    filtered: {"curator, in it": (0.9322, 0.34), "reports, in it": (0.5644, 0.3)},
}


@pytest.mark.false_failure(2e-6)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.slow
def test_days_that_are_missing_are_not_days_without_events(step: Callable[[Estimate], Estimate], seed: int) -> None:
    """A curator's counts, and reports whose places are not known on some days: levels stay where they were."""
    assert_as_recorded(partial(gap_of_forty_days, step), GAP_OF_FORTY_DAYS[step], seed, n_recorded=12)
    assert all(mean < (1.5 if "in it" in name else 0.4) for name, (mean, _) in GAP_OF_FORTY_DAYS[step].items())


@pytest.mark.false_failure(1e-9)
def test_an_outlier_just_before_a_gap_is_no_level_shift(seed: int) -> None:
    """Inside the gap nothing tells the two apart, and the level stayed at -30; now it is 11.7 +- 0.94 over 60 seeds."""
    counts = np.random.default_rng(seed).poisson(np.array([12.0, 4.0, 1.0]), (90, 3))
    estimate = curators_estimate(counts, seed)
    values = estimate.values.copy()
    values[49, 0], values[50:] = -30, np.nan
    found = filtered(replace(estimate, values=values), hyperparameters=SETTINGS.rates_prior, non_negative=False)
    assert abs(found.values[60:, 0].mean() - 12) < 10


def test_a_release_of_before_is_read_as_it_was() -> None:
    """Files without the skews of shares and the part of chance: intervals by the variances alone."""
    found = smooth(oracle_estimate(random_walks(np.random.default_rng(1), 60), 1.0, 8))
    content = found.noise.to_dict()
    del content["share_skews"], content["model"]["excess"]
    noise = noise_from_dict(json.loads(json.dumps(content)))
    np.testing.assert_allclose(noise.standard_errors(), found.noise.standard_errors())
    lower, upper = noise.intervals(found.values, 0.9)
    assert (lower <= upper).all()


@pytest.mark.slow
def test_places_add_up_to_the_public_total_and_nothing_is_negative() -> None:
    counts = shifting(np.random.default_rng(5), 120)
    estimate = oracle_estimate(counts, 0.8, 6)
    for step in STEPS:
        values = step(estimate).values
        np.testing.assert_allclose(values.sum(axis=1), counts.sum(axis=1), rtol=2e-4)
        assert values.min() >= 0


def test_the_values_shown_do_not_move_the_interval() -> None:
    counts = shifting(np.random.default_rng(5), 300)
    estimate = oracle_estimate(counts, 1.69, 6)
    shown, linear = smooth(estimate), smooth(estimate, non_negative=False)
    assert shown.values.min() >= 0 > linear.values.min()
    limits = [found.noise.intervals(found.values, 0.9) for found in (shown, linear)]
    np.testing.assert_allclose(limits[0], limits[1], atol=1e-5)
    assert len(shown.steps) == len(linear.steps) + 1


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.slow
def test_a_release_read_elsewhere_answers_every_box_with_the_same_interval(
    step: Callable[[Estimate], Estimate],
) -> None:
    counts = shifting(np.random.default_rng(7), 90)
    found = step(oracle_estimate(counts, 1.0, 8))
    elsewhere = replace(found, noise=noise_from_dict(json.loads(json.dumps(found.noise.to_dict()))))
    rng = np.random.default_rng(9)
    for _ in range(25):
        first, last = np.sort(rng.integers(0, 90, 2))
        places = tuple(np.flatnonzero(rng.random(8) < 0.4).tolist()) or (0,)
        box = Box(range(int(first), int(last) + 1), places)
        assert answer(found, box) == answer(elsewhere, box)


@pytest.mark.parametrize("step", STEPS)
def test_all_sums_at_once_are_those_asked_one_by_one(step: Callable[[Estimate], Estimate]) -> None:
    counts = shifting(np.random.default_rng(7), 90)
    found = step(oracle_estimate(counts, 1.0, 8))
    months = found.coarsen(time="month")
    lower, upper = months.noise.intervals(months.values, 0.9)
    cells = found.noise.intervals(found.values, 0.9)
    for month, place in ((0, 0), (1, 3), (2, 7)):
        weights = np.zeros(months.values.shape)
        weights[month, place] = 1
        asked = months.noise.interval(float(months.values[month, place]), weights, 0.9)
        np.testing.assert_allclose(asked, (lower[month, place], upper[month, place]), rtol=1e-6, atol=1e-6)
        fine = np.zeros(found.values.shape)
        fine[month, place] = 1
        asked = found.noise.interval(float(found.values[month, place]), fine, 0.9)
        if step is smooth:
            np.testing.assert_allclose(asked, (cells[0][month, place], cells[1][month, place]), rtol=1e-6, atol=1e-6)


def test_what_all_places_add_up_to_is_known() -> None:
    counts = random_walks(np.random.default_rng(1), 60)
    noise = smooth(oracle_estimate(counts, 1.0, 8)).noise
    assert noise.variance(np.ones(counts.shape)) == pytest.approx(0, abs=1e-6)
    assert noise.variance(np.eye(60, 8)) > 1


def square_of_a_known_model(seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    world = rng.multinomial(rng.poisson(60, 40), [0.4, 0.3, 0.2, 0.1])
    known = Hyperparameters(level_sd=0.5, ar_sd=0.1, timescale_days=5.0)
    month = smooth(oracle_estimate(world, 2.0, seed), hyperparameters=known, non_negative=False).coarsen(time="month")
    error = month.values[0] - sum_groups(world, (np.arange(40) > 30).astype(np.int64), n_groups=2)[0]
    return {"square": float(np.square(error / month.noise.standard_errors()[0]).mean())}


SQUARE_OF_A_KNOWN_MODEL: Recorded = {"square": (0.7377, 0.56)}
"""Below 1: these levels hold still, and the model says that they may move."""


@pytest.mark.false_failure(1e-6)
@pytest.mark.slow
def test_the_variance_of_a_model_is_that_of_its_own_worlds(seed: int) -> None:
    assert_as_recorded(square_of_a_known_model, SQUARE_OF_A_KNOWN_MODEL, seed, n_runs=60)
    assert 0.6 < SQUARE_OF_A_KNOWN_MODEL["square"][0] < 1.1


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("shape", [(7, 3), (1, 2), (45, 2)])
def test_short_series_and_few_places_are_smoothed(step: Callable[[Estimate], Estimate], shape: tuple[int, int]) -> None:
    counts = np.random.default_rng(1).poisson(9, shape)
    found = step(simulated_estimate(counts)[1])
    np.testing.assert_allclose(found.values.sum(axis=1), counts.sum(axis=1), rtol=1e-3)
    lower, upper = found.noise.intervals(found.values, 0.95)
    assert (lower <= upper).all()
    assert np.isfinite(upper).all()


@pytest.mark.parametrize("step", STEPS)
def test_nothing_at_all_stays_nothing(step: Callable[[Estimate], Estimate]) -> None:
    found = step(simulated_estimate(np.zeros((60, 3), np.int64))[1])
    assert not found.values.any()
    assert not np.concatenate(found.noise.intervals(found.values, 0.95)).any()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.slow
def test_months_without_reports_and_days_with_one_are_bridged(step: Callable[[Estimate], Estimate]) -> None:
    counts = random_walks(np.random.default_rng(2), 300)
    counts[100:190] = 0
    counts[250:270] = 0
    counts[np.arange(250, 270), np.arange(20) % 8] = 1
    found = step(oracle_estimate(counts, 1.7, 3))
    assert not found.values[100:190].any()
    assert found.values[250:270].sum() == pytest.approx(20, rel=1e-3)
    assert np.isfinite(found.noise.standard_errors()).all()


@pytest.mark.slow
def test_filtering_takes_nothing_from_the_future() -> None:
    counts = random_walks(np.random.default_rng(2), 150)
    estimate = oracle_estimate(counts, 1.7, 3)
    values = estimate.values.copy()
    values[100:] = values[100:, ::-1]
    changed = filtered(replace(estimate, values=values))
    np.testing.assert_array_equal(changed.values[:100], filtered(estimate).values[:100])
    assert not np.array_equal(smooth(replace(estimate, values=values)).values[:100], smooth(estimate).values[:100])


def test_smoothing_and_filtering_are_told_apart_in_the_release() -> None:
    estimate = oracle_estimate(random_walks(np.random.default_rng(2), 30), 1.7, 3)
    assert "whole series" in smooth(estimate).steps[0]
    assert "nothing from the future" in filtered(estimate).steps[0]


def anomaly(seed: int) -> dict[str, float]:
    """One place has 60 events more on one day: the weight of the day's own reports, and how many events are shown."""
    counts = outlying(np.random.default_rng(seed), 400)
    day, place = 200, 0
    counts[day] = counts[day - 1]
    usual = counts[day, place]
    counts[day, place] += 60
    found = {}
    for noise, epsilon in (("much", 0.4), ("little", 5.0)):
        smoothed = smooth(oracle_estimate(counts, epsilon, seed))
        found[f"gain, {noise} noise"] = float(smoothed.noise.model.gains[day].mean())  # type: ignore[attr-defined]
        found[f"shown, {noise} noise"] = float(smoothed.values[day, place] - usual)
    return found


ANOMALY: Recorded = {
    "gain, much noise": (0.0534, 0.05),
    "shown, much noise": (8.749, 7.4),
    "gain, little noise": (0.9946, 0.003),
    "shown, little noise": (59.78, 2.3),
}


@pytest.mark.false_failure(2e-6)
@pytest.mark.slow
def test_below_the_noise_a_day_cannot_show_its_anomaly_and_says_so(seed: int) -> None:
    """Much noise hides the events, little noise shows most of them."""
    assert_as_recorded(anomaly, ANOMALY, seed, n_runs=4)
    assert ANOMALY["gain, much noise"][0] < 0.06 < 0.6 < ANOMALY["gain, little noise"][0]
    assert ANOMALY["shown, much noise"][0] < 20 < 50 < ANOMALY["shown, little noise"][0]


def curators_rates(step: Callable[[Estimate], Estimate], seed: int) -> dict[str, float]:
    """Counts with Laplace noise and no public totals: the error beside the noise, and what intervals cover."""
    counts = np.random.default_rng(seed).poisson(np.array([12.0, 4.0, 1.0]), (300, 3))
    estimate = curators_estimate(counts, seed)
    found = step(estimate)
    lower, upper = found.noise.intervals(found.values, 0.8)
    return {
        "error": float(np.abs(found.values - counts).mean() / np.abs(estimate.values - counts).mean()),
        "80 %": float(((lower <= counts) & (counts <= upper)).mean()),
    }


CURATORS_RATES: dict[Callable[[Estimate], Estimate], Recorded] = {
    smooth: {"error": (0.4054, 0.019), "80 %": (0.8742, 0.031)},
    filtered: {"error": (0.4222, 0.02), "80 %": (0.8836, 0.032)},
}


@pytest.mark.false_failure(1e-6)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.slow
def test_a_curators_counts_are_smoothed_as_rates(step: Callable[[Estimate], Estimate], seed: int) -> None:
    assert_as_recorded(partial(curators_rates, step), CURATORS_RATES[step], seed, n_recorded=12)
    assert CURATORS_RATES[step]["error"][0] < 0.6
    assert 0.78 < CURATORS_RATES[step]["80 %"][0] < 0.9  # whole numbers: at least as many as said


@pytest.mark.parametrize("step", STEPS)
def test_a_biased_estimate_is_refused(step: Callable[[Estimate], Estimate]) -> None:
    estimate = simulated_estimate(np.full((10, 3), 5))[1]
    with pytest.raises(SettingError, match="Smooth before clipping"):
        step(clip(estimate))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("mechanism", ["subset", "hierarchical"])
def test_reports_that_hide_the_time_are_not_smoothed_over_it(step, mechanism):
    domain = days_and_places(70, 2)
    plan = plan_for(domain, epsilon=2.0, mechanism=mechanism, private=("time",))
    device = mechanism_of(plan)
    reports = device.randomize(np.arange(140) % 70, randomness=SeededRandomness(1))
    statistics, per_place = device.statistics(reports, np.array([100, 40])), np.array([100, 40])
    estimate = estimate_tally(Tally(Provenance(plan.fingerprint, True), statistics, per_place), plan)
    with pytest.raises(SettingError, match="hide the time"):
        step(estimate)


def timetable(seed: int) -> dict[str, float]:
    """The error of days, the width of intervals beside those of events by chance, and what they cover."""
    rng = np.random.default_rng(seed)
    usual = np.array([12, 8, 5, 3, 1])
    counts = usual + (rng.random((400, 5)) < 0.1) - (rng.random((400, 5)) < 0.1) * (usual > 1)
    found, chance = (smooth(oracle_estimate(one, 4.0, seed)) for one in (counts, rng.poisson(usual, (400, 5))))
    width, usual_width = (np.subtract(*one.noise.limits(one.values, 0.8)[::-1]).mean() for one in (found, chance))  # type: ignore[attr-defined]
    return {
        "error": float(np.abs(found.values - counts).mean()),
        "width": float(width / usual_width),
        "80 %": covered(found, counts, 0.8),
    }


TIMETABLE: Recorded = {
    "error": (0.2496, 0.018),
    "width": (0.5738, 0.038),
    "80 %": (0.8295, 0.016),
}


@pytest.mark.false_failure(2e-6)
@pytest.mark.slow
def test_events_by_timetable_vary_less_than_chance_and_the_intervals_of_their_days_say_so(seed: int) -> None:
    assert_as_recorded(timetable, TIMETABLE, seed, n_recorded=12)
    assert TIMETABLE["error"][0] < 0.4
    assert TIMETABLE["width"][0] < 0.85
    assert 0.77 < TIMETABLE["80 %"][0] < 0.92
