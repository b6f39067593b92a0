"""Hierarchical histograms are exactly as private as their oracles, and ranges are unbiased sums of a few nodes."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_worlds import days_and_places
from tacit.audit.testing import assert_frequencies, check_channel, check_one_at_a_time, check_reports, check_words
from tacit.domain import TimeAxis
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import FormatError, NoInterval, SettingError
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram, level_chances, range_weights
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.tree_design import NodeEstimate
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.mechanisms.registry import level_oracles, mechanism_of, plan_for
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN


def unary(epsilon: float, n_cells: int) -> UnaryEncoding:
    return UnaryEncoding.symmetric(epsilon=epsilon, n_cells=n_cells)


def response(epsilon: float, n_cells: int) -> RandomizedResponse:
    return RandomizedResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells)


def hadamard(epsilon: float, n_cells: int) -> HadamardResponse:
    return HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells)


TREES = [Hierarchy.of_degree(4, 2), Hierarchy.of_degree(5, 3), Hierarchy.of_levels([(0, 1, 5), (0, 1, 3, 5)], 5)]
HISTOGRAMS = [
    HierarchicalHistogram.over(tree, epsilon=epsilon, level_oracle=oracle, weights=weights)
    for tree, epsilon, oracle, weights in (
        (TREES[0], 1.0, unary, "uniform"),
        (TREES[0], 0.3, response, [1, 3]),
        (TREES[1], 2.0, unary, "ranges"),
        (TREES[2], 1.0, response, "uniform"),
        (TREES[1], 1.0, hadamard, "uniform"),
    )
] + [HierarchicalHistogram(TREES[1], (unary(1.0, 2), response(0.5, 5)), (COIN // 4, 3 * COIN // 4))]


@pytest.mark.parametrize("histogram", HISTOGRAMS)
def test_the_channel_adds_up_and_gives_the_stated_epsilon_exactly(histogram):
    check_channel(histogram)


def test_epsilon_is_that_of_the_least_private_level():
    mixed = HISTOGRAMS[-1]
    assert mixed.epsilon == 1.0 == max(oracle.epsilon for oracle in mixed.oracles)


@given(st.floats(0.01, 10), st.integers(2, 300), st.integers(2, 6))
def test_the_realized_epsilon_equals_the_one_asked_for_and_never_exceeds_it(epsilon, n_cells, fan_out):
    histogram = HierarchicalHistogram.from_epsilon(epsilon=epsilon, n_cells=n_cells, fan_out=fan_out)
    assert epsilon * (1 - 1e-9) <= histogram.epsilon <= epsilon


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("histogram", HISTOGRAMS)
def test_reports_have_the_channels_distribution(histogram, seed):
    check_reports(histogram, seed=seed, false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
def test_reports_of_a_wrong_epsilon_or_with_levels_of_wrong_chances_are_caught(seed):
    right = HISTOGRAMS[0]
    for wrong in (
        HierarchicalHistogram.over(TREES[0], epsilon=1.3, level_oracle=unary),
        HierarchicalHistogram.over(TREES[0], epsilon=1.0, level_oracle=unary, weights=[1, 1.3]),
    ):
        reports = wrong.randomize(np.zeros(100_000, int), randomness=SeededRandomness(seed))
        drawn = np.bincount(reports[:, 0] + 256 * reports[:, 1].astype(int), minlength=len(right.channel()[0]))
        with pytest.raises(AssertionError, match="probability"):
            assert_frequencies(drawn, right.channel()[0], false_failure=1e-9)


@pytest.mark.parametrize("histogram", HISTOGRAMS)
def test_moving_one_threshold_by_one_changes_the_channel(histogram):
    channel = histogram.channel()
    for level, oracle in enumerate(histogram.oracles):
        for name, threshold in oracle.thresholds().items():
            moved = replace(oracle, **{name: threshold - 1})
            oracles = (*histogram.oracles[:level], moved, *histogram.oracles[level + 1 :])
            assert replace(histogram, oracles=oracles).channel() != channel
    first, second, *rest = histogram.chances
    moved = HierarchicalHistogram(histogram.hierarchy, histogram.oracles, (first + 1, second - 1, *rest))
    assert moved.channel() != channel
    assert moved.epsilon == histogram.epsilon


def test_thresholds_give_the_histogram_back():
    for n_cells, epsilon, fan_out in (
        (2, 1.0, None),
        (50, 1.0, None),
        (50, 1.0, 4),
        (1000, 1.0, 3),
        (1000, 0.02, None),
    ):
        histogram = HierarchicalHistogram.from_epsilon(epsilon=epsilon, n_cells=n_cells, fan_out=fan_out)
        thresholds = histogram.thresholds()
        assert HierarchicalHistogram.from_thresholds(thresholds, n_cells) == histogram
        assert all(0 <= threshold <= COIN for threshold in thresholds.values())
    mixed = HierarchicalHistogram(TREES[1], (unary(1.0, 2), hadamard(0.5, 5)), (COIN // 4, 3 * COIN // 4))
    assert HierarchicalHistogram.from_thresholds(mixed.thresholds(), 5) == mixed


def test_thresholds_that_are_no_tree_are_refused():
    histogram = HierarchicalHistogram.from_epsilon(epsilon=1.0, n_cells=50, fan_out=4)
    thresholds = histogram.thresholds()
    for wrong in (
        {"level 1 fan-out": 5},  # the same tree, but another agreement
        {"level 1 fan-out": 3},
        {"level 2 fan-out": 0},
        {"level 3 fan-out": 1},
        {"level 1 chance": 1},
        {"level 9 chance": 1},
        {"level 1 keep": 1},
        {"gossip": 1},
    ):
        with pytest.raises((SettingError, KeyError)):
            HierarchicalHistogram.from_thresholds(thresholds | wrong, 50)
    with pytest.raises((SettingError, KeyError)):
        HierarchicalHistogram.from_thresholds({}, 50)
    with pytest.raises(SettingError, match="one fan-out for each level"):
        HISTOGRAMS[3].thresholds()


@pytest.mark.parametrize("oracle", [unary, response, hadamard])
def test_every_report_has_the_same_length_whatever_the_value_and_the_level(oracle):
    histogram = HierarchicalHistogram.from_epsilon(epsilon=1.0, n_cells=300, level_oracle=oracle)
    check_one_at_a_time(histogram, range(0, 300, 37), seed=1)
    check_words(histogram, seed=1)
    assert histogram.report_bytes == 1 + oracle(1.0, 300).report_bytes
    reports = histogram.randomize(np.arange(300), randomness=SeededRandomness(1))
    assert len(np.unique(reports[:, 0])) == histogram.hierarchy.n_levels - 1


def test_statistics_hold_each_levels_reports_and_supports_and_add_up():
    histogram = HierarchicalHistogram.from_epsilon(epsilon=1.0, n_cells=20, level_oracle=unary)
    reports = histogram.randomize(np.arange(500) % 20, randomness=SeededRandomness(1))
    apart = histogram.statistics(reports, np.array([200, 0, 300]))
    together = histogram.statistics(reports, np.array([500]))
    assert apart.shape == (3, histogram.n_statistics)
    np.testing.assert_array_equal(apart.sum(axis=0), together[0])
    sizes = histogram.hierarchy.level_sizes[1:]
    starts = np.cumsum([0, *(1 + size for size in sizes)])[:-1]
    assert together[0, starts].sum() == 500
    assert together[0, starts].tolist() == np.bincount(reports[:, 0])[1:].tolist()


def outcomes_of(histogram: HierarchicalHistogram, truth: list[int]):
    """Every row of statistics of a few events with its exact probability."""
    channel = histogram.channel()
    width = histogram.report_bytes
    possible = [[(y, chance) for y, chance in enumerate(channel[cell]) if chance] for cell in truth]
    rows = {}
    for reports in product(*possible):
        drawn = np.array([list(y.to_bytes(width, "little")) for y, _ in reports], np.uint8)
        row = tuple(histogram.statistics(drawn, np.array([len(truth)]))[0].tolist())
        rows[row] = rows.get(row, Fraction(0)) + math.prod((c for _, c in reports), start=Fraction(1))
    return rows


@pytest.mark.parametrize("oracle", [unary, response])
@pytest.mark.slow
def test_ranges_are_unbiased_with_the_exact_variance_given_the_reports_of_each_level_by_listing_all_outcomes(oracle):
    """Three events in a tree of four leaves: every level, every report, and every range."""
    tree, truth = Hierarchy.of_degree(4, 2), [0, 0, 2]
    histogram = HierarchicalHistogram.over(tree, epsilon=1.0, level_oracle=oracle, weights=[1, 2])
    counts = np.bincount(truth, minlength=4)
    by_levels: dict[tuple[int, ...], list[tuple[NodeEstimate, float]]] = {}
    for row, chance in outcomes_of(histogram, truth).items():
        estimate = histogram.estimate_nodes(np.array(row))
        by_levels.setdefault(estimate.level_reports, []).append((estimate, float(chance)))
    for first, stop in ((0, 1), (0, 2), (0, 3), (1, 3), (1, 4), (0, 4), (3, 4)):
        for level_reports, drawn in by_levels.items():
            needed = {level for level, _ in tree.decompose(first, stop)}
            if any(level and not level_reports[level - 1] for level in needed | {2}):
                continue
            chances = np.array([chance for _, chance in drawn])
            chances /= chances.sum()
            values = np.array([estimate.answer(first, stop).value for estimate, _ in drawn])
            mean = chances @ values
            assert mean == pytest.approx(counts[first:stop].sum(), abs=1e-10)
            variance = chances @ (values - mean) ** 2
            assert drawn[0][0].exact_variance(first, stop, counts) == pytest.approx(variance, rel=1e-9, abs=1e-9)


def simulated(histogram: HierarchicalHistogram, counts: np.ndarray, seed: int) -> NodeEstimate:
    cells = np.repeat(np.arange(len(counts)), counts)
    reports = histogram.randomize(cells, randomness=SeededRandomness(seed))
    return histogram.estimate_nodes(histogram.statistics(reports, np.array([cells.size]))[0])


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("oracle", [unary, None])
@pytest.mark.slow
def test_simulated_ranges_meet_the_truth_with_the_stated_variance(oracle, seed):
    """300 draws: each range's mean and variance within 8 standard errors.

    A mean square of 300 normal errors leaves them with probability below 1e-11; the false failure of all is below 1e-9.
    """
    counts = 30 + 20 * (np.arange(40) % 7 == 3)
    settings = {} if oracle is None else {"level_oracle": oracle}
    histogram = HierarchicalHistogram.from_epsilon(epsilon=1.5, n_cells=40, fan_out=3, **settings)
    ranges = [(0, 40), (0, 1), (3, 31), (1, 39), (9, 27)]
    drawn = [simulated(histogram, counts, (seed + draw) % 2**32) for draw in range(300)]

    @cache
    def answers(first: int, stop: int) -> tuple[np.ndarray, float]:
        values = [estimate.answer(first, stop).value for estimate in drawn]
        return np.array(values), float(np.mean([estimate.exact_variance(first, stop, counts) for estimate in drawn]))

    def is_met(first: int, stop: int, truth: float, inflate: float) -> bool:
        values, variance = answers(first, stop)
        errors, stated = values - truth, variance * inflate
        if not stated:
            return bool(np.all(errors == 0))
        mean_is_met = abs(errors.mean()) < 8 * math.sqrt(stated / len(drawn))
        return mean_is_met and abs((errors**2).mean() / stated - 1) < 8 * math.sqrt(2 / len(drawn))

    for first, stop in ranges:
        truth = counts[first:stop].sum()
        assert is_met(first, stop, truth, 1.0)
        # what stands in for the true counts changes little
        stated, exact = drawn[0].answer(first, stop).variance, drawn[0].exact_variance(first, stop, counts)
        assert stated == pytest.approx(exact, rel=0.2)
    # the test has power: four times the variance, or a truth that is off by a standard error, is seen
    assert not is_met(3, 31, counts[3:31].sum(), 4.0)
    off = math.sqrt(drawn[0].exact_variance(3, 31, counts))
    assert not is_met(3, 31, counts[3:31].sum() + off, 1.0)


def test_variances_of_nodes_are_those_of_ranges_that_are_nodes():
    histogram = HierarchicalHistogram.from_epsilon(epsilon=1.0, n_cells=21, fan_out=3)
    estimate = simulated(histogram, np.arange(21) * 5, seed=1)
    for number in range(estimate.hierarchy.n_nodes):
        node = estimate.hierarchy.locate(number)
        leaves = estimate.hierarchy.leaves(*node)
        if estimate.hierarchy.decompose(leaves.start, leaves.stop) != [node]:
            continue  # an only child: its parent answers
        answer = estimate.answer(leaves.start, leaves.stop)
        assert answer.value == pytest.approx(estimate.values[number])
        assert answer.variance == pytest.approx(estimate.variances[number], rel=1e-9)
    assert (estimate.values[0], estimate.variances[0]) == (estimate.n_reports, 0.0)


def test_levels_without_reports_are_answered_from_the_levels_below():
    histogram = HierarchicalHistogram.over(Hierarchy.of_degree(4, 2), epsilon=1.0, level_oracle=unary)
    only_leaves = histogram.estimate_nodes(np.array([0, 0, 0, 8, 5, 4, 3, 2]))
    assert np.isnan(only_leaves.values[1:3]).all()
    assert np.isinf(only_leaves.variances[1:3]).all()
    assert only_leaves.answer(0, 2).value == pytest.approx(only_leaves.values[3] + only_leaves.values[4])
    no_leaves = histogram.estimate_nodes(np.array([8, 5, 4, 0, 0, 0, 0, 0]))
    assert no_leaves.answer(0, 4).value == 8
    with pytest.raises(NoInterval, match="Collect more"):
        no_leaves.answer(0, 1)


def test_the_thesis_structure_keeps_the_privacy_it_claims():
    """2,006 days, degree 2, claimed epsilon 0.2: the thesis' oracle, which may pick the truth twice, gave 1.24."""
    histogram = HierarchicalHistogram.from_epsilon(epsilon=0.2, n_cells=2006, fan_out=2, level_oracle=response)
    assert histogram.hierarchy.n_levels == 12
    assert histogram.epsilon <= 0.2
    answer = simulated(histogram, np.full(2006, 1), seed=1).answer(0, 2005)
    assert answer.variance > 0


@pytest.mark.false_failure(2e-9)
def test_uneven_trees_of_months_and_years_are_asked_as_well(seed):
    tree = Hierarchy.of_time(TimeAxis.between("2018-01-01", "2019-12-31"))
    histogram = HierarchicalHistogram.over(tree, epsilon=2.0, weights="ranges")
    estimate = simulated(histogram, np.full(730, 20), seed)
    answer = estimate.answer(59, 365)  # March to December 2018: ten months
    # 8 standard errors, false failure below 1e-14
    assert abs(answer.value - 306 * 20) < 8 * math.sqrt(answer.variance)


@pytest.mark.slow
def test_weights_for_ranges_beat_uniform_ones_on_the_mean_over_all_ranges():
    tree = Hierarchy.of_degree(27, 3)
    counts, total = np.full(27, 10**5), 27 * 10**5

    def mean_variance(weights):
        histogram = HierarchicalHistogram.over(tree, epsilon=1.0, level_oracle=unary, weights=weights)
        reports = [round(total * chance / COIN) for chance in histogram.chances]
        estimate = NodeEstimate(
            tree, np.zeros(tree.n_nodes), tuple(reports), tuple(o.distribution for o in histogram.oracles)
        )
        asked = [(first, stop) for first in range(27) for stop in range(first + 1, 28)]
        return np.mean([estimate.exact_variance(first, stop, counts) for first, stop in asked])

    best = range_weights(tree, [unary(1.0, size) for size in tree.level_sizes[1:]])
    assert mean_variance(best) == mean_variance("ranges") < mean_variance("uniform")
    for level in range(3):
        moved = [weight * (1.2 if level == other else 1.0) for other, weight in enumerate(best)]
        assert mean_variance(moved) > mean_variance(best)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=12))
def test_chances_add_up_and_follow_the_weights(weights):
    chances = level_chances(weights)
    assert sum(chances) == COIN
    for weight, chance in zip(weights, chances, strict=True):
        assert chance / COIN == pytest.approx(weight / sum(weights), rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [math.nan, 1.0], "even"])
def test_weights_that_are_not_shares_are_refused(weights):
    with pytest.raises(SettingError):
        HierarchicalHistogram.over(Hierarchy.of_degree(4, 2), epsilon=1.0, weights=weights)


def test_oracles_that_do_not_fit_their_levels_are_refused():
    tree, halves = Hierarchy.of_degree(4, 2), (COIN // 2, COIN // 2)
    with pytest.raises(SettingError, match="oracles must"):
        HierarchicalHistogram(tree, (unary(1.0, 2), unary(1.0, 3)), halves)
    with pytest.raises(SettingError, match="chances must"):
        HierarchicalHistogram(tree, (unary(1.0, 2), unary(1.0, 4)), (COIN, 1))
    with pytest.raises(SettingError, match="nothing to hide"):
        HierarchicalHistogram(Hierarchy.of_degree(1, 2), (), ())


def test_reports_that_nobody_could_have_sent_are_refused():
    histogram = HierarchicalHistogram.from_epsilon(epsilon=1.0, n_cells=20, fan_out=4, level_oracle=unary)
    good = histogram.randomize(np.arange(20), randomness=SeededRandomness(1))
    run = np.array([20])
    for level, byte in ((0, 0), (4, 0), (255, 0), (1, 2), (2, 3)):
        wrong = good.copy()
        wrong[5] = 0
        wrong[5, 0] = level
        wrong[5, byte] |= byte and 1
        with pytest.raises(FormatError, match="1 of 20 do not, the first at position 5"):
            histogram.statistics(wrong, run)
    no_cell = HierarchicalHistogram.from_epsilon(epsilon=1.0, n_cells=20, fan_out=4, level_oracle=response)
    with pytest.raises(FormatError):  # refused by the level's oracle
        no_cell.statistics(np.array([[3, 20]], np.uint8), np.array([1]))
    with pytest.raises(FormatError, match="4 bytes"):
        histogram.statistics(good[:, :3], run)
    with pytest.raises(SettingError, match="one row"):
        histogram.estimate_nodes(np.zeros((2, histogram.n_statistics), np.int64))


@pytest.mark.parametrize("cells", [np.array([0, 4]), np.array([-1]), np.array([0.5]), np.array([[0, 1]])])
def test_cells_outside_the_domain_are_refused_without_naming_them(cells):
    with pytest.raises(SettingError, match="cells must"):
        HISTOGRAMS[0].randomize(cells, randomness=SeededRandomness(1))


@pytest.mark.parametrize("oracle", level_oracles())
def test_a_plan_may_name_the_fan_outs_and_the_oracle_of_all_levels(oracle):
    plan = plan_for(days_and_places(6, 1), epsilon=1.0, fan_outs=[3, 2], oracle=oracle, private=("time",))
    made = mechanism_of(plan)
    assert made.hierarchy.level_sizes == (1, 3, 6)
    assert made.oracles == tuple(
        mechanism_of(plan_for(days_and_places(1, size), epsilon=1.0, mechanism=oracle)) for size in (3, 6)
    )
    check_channel(made)
    designed = mechanism_of(plan_for(days_and_places(6, 1), epsilon=1.0, oracle=oracle, private=("time",)))
    assert {type(one) for one in designed.oracles} == {type(made.oracles[0])}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"fan_outs": [2, 2]}, r"number of values, 6; got fan_outs=\[2, 2\] with product 4"),
        ({"fan_outs": [2, 3, 2]}, "no level to spare"),
        ({"fan_outs": [1, 6]}, r"fan_outs\[0\] must be"),
        ({"fan_outs": [3, 2], "mechanism": "subset"}, "belong to the mechanism hierarchical"),
        ({"oracle": "subset", "mechanism": "subset"}, "belong to the mechanism hierarchical"),
        ({"oracle": "response"}, "oracle must be one of unary, "),
        ({"oracle": "longitudinal"}, "oracle must be one of unary, "),
        ({"oracle": "hierarchical"}, "oracle must be one of unary, "),
    ],
)
def test_fan_outs_and_oracles_that_make_no_tree_are_refused_with_the_reason(settings, words):
    with pytest.raises(SettingError, match=words):
        plan_for(days_and_places(6, 1), epsilon=1.0, private=("time",), **settings)
    with pytest.raises(SettingError):
        plan_for(days_and_places(6, 1), f=0.5, private=("time",), **settings)
