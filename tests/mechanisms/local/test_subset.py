"""Subset selection is exactly as private as it says, exactly unbiased, and of the best size."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_worlds import days_and_places
from tacit.audit.testing import assert_frequencies, check_channel, check_one_at_a_time, check_reports
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.subset import CHUNK_WORDS, SubsetSelection
from tacit.plan import Plan
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN

GRID = list(product((2, 3, 17, 100, 1000, 10_000), (0.01, 0.1, 0.4, 1.0, 2.2, 5.89, 10.0)))
SELECTIONS = [
    SubsetSelection.from_epsilon(epsilon=0.01, n_cells=4),
    SubsetSelection.from_epsilon(epsilon=1.0, n_cells=7),
    SubsetSelection.from_epsilon(epsilon=10.0, n_cells=2),
    SubsetSelection.of_size(3, epsilon=2.0, n_cells=4),
    SubsetSelection.of_size(4, epsilon=0.5, n_cells=9),
    SubsetSelection(n_cells=5, size=2, include=COIN // 2),
]


def plan_of(selection: SubsetSelection, domain: Domain) -> Plan:
    return Plan(domain, "subset", selection.epsilon, tuple(sorted(selection.thresholds().items())))


@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_channel_adds_up_and_gives_the_stated_epsilon_exactly(selection):
    check_channel(selection)


@pytest.mark.parametrize("selection", SELECTIONS)
def test_moving_one_threshold_by_one_changes_the_channel(selection):
    for step in (-1, 1):
        moved = SubsetSelection(selection.n_cells, selection.size, selection.include + step)
        assert moved.channel() != selection.channel()
        assert (moved.p > selection.p) == (step > 0)


@pytest.mark.parametrize(("n_cells", "epsilon"), GRID)
def test_the_realized_epsilon_equals_the_one_asked_for_and_never_exceeds_it(n_cells, epsilon):
    selection = SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=n_cells)
    assert epsilon * (1 - 1e-9) <= selection.epsilon <= epsilon
    size, odds = selection.size, math.exp(epsilon)
    total = size * odds + n_cells - size
    assert float(selection.p) == pytest.approx(size * odds / total, rel=1e-9)
    assert float(selection.q) == pytest.approx(
        size * (odds * (size - 1) + n_cells - size) / ((n_cells - 1) * total), rel=1e-9
    )


@given(st.floats(0.01, 10), st.integers(2, 10_000))
def test_the_next_threshold_would_exceed_the_epsilon_asked_for(epsilon, n_cells):
    made = SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=n_cells)
    assert made.epsilon <= epsilon <= SubsetSelection(n_cells, made.size, made.include + 1).epsilon


@pytest.mark.parametrize("n_cells", [2, 3, 5, 17, 40])
@pytest.mark.parametrize("epsilon", [0.01, 0.4, 0.81, 1.69, 2.2, 4.39, 10.0])
def test_no_other_size_has_less_variance_on_average(n_cells, epsilon):
    chosen = SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=n_cells)
    others = [SubsetSelection.of_size(w, epsilon=epsilon, n_cells=n_cells) for w in range(1, n_cells)]
    assert chosen.mean_variance == min(other.mean_variance for other in others)


@pytest.mark.parametrize(
    ("epsilon", "size", "per_report"), [(0.4013, 7, 21.66), (0.811, 5, 5.05), (1.6946, 3, 0.927), (2.1972, 2, 0.447)]
)
def test_seventeen_cells_have_the_variances_known_for_them(epsilon, size, per_report):
    selection = SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=17)
    assert selection.size == size
    assert float(selection.mean_variance) == pytest.approx(per_report, rel=2e-3)


@pytest.mark.parametrize("epsilon", [4.39, 5.89])
def test_a_subset_of_one_cell_is_randomized_response(epsilon):
    selection = SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=17)
    response = RandomizedResponse.from_epsilon(epsilon=epsilon, n_cells=17)
    assert selection.size == 1
    assert float(selection.p) == pytest.approx(float(response.p), rel=1e-12)
    assert float(selection.q) == pytest.approx(float(response.q), rel=1e-12)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("selection", SELECTIONS)
def test_reports_have_the_channels_distribution(selection, seed):
    check_reports(selection, seed=seed, false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
def test_reports_of_a_wrong_epsilon_are_caught(seed):
    right, wrong = (SubsetSelection.of_size(2, epsilon=e, n_cells=4) for e in (1.0, 1.1))
    reports = wrong.randomize(np.zeros(200_000, int), randomness=SeededRandomness(seed))
    with pytest.raises(AssertionError, match="probability"):
        assert_frequencies(np.bincount(reports[:, 0], minlength=16), right.channel()[0], false_failure=1e-9)


@pytest.mark.parametrize("n_cells", [2, 8, 9, 17, 64, 65, 1024])
def test_every_report_has_the_same_length_and_size_whatever_the_value(n_cells):
    selection = SubsetSelection.from_epsilon(epsilon=1.0, n_cells=n_cells)
    check_one_at_a_time(selection, range(0, n_cells, max(1, n_cells // 5)), seed=1)
    assert selection.report_bytes == -(-n_cells // 8)
    reports = selection.randomize(np.arange(n_cells), randomness=SeededRandomness(1))
    assert (np.unpackbits(reports, axis=1).sum(axis=1) == selection.size).all()


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("n_cells", [2, 17, 100])
def test_one_at_a_time_and_millions_share_one_distribution(n_cells, seed):
    selection = SubsetSelection.from_epsilon(epsilon=1.0, n_cells=n_cells)
    cell, source = n_cells // 2, SeededRandomness(seed)
    single = np.concatenate([selection.randomize(np.array([cell]), randomness=source) for _ in range(2_000)])
    n_many = CHUNK_WORDS + 50_000
    many = selection.randomize(np.full(n_many, cell), randomness=SeededRandomness(seed + 1))
    for reports in (single, many):
        counts = selection.statistics(reports, np.array([len(reports)]))[0]
        for j, count in enumerate(counts.tolist()):
            chance = selection.p if j == cell else selection.q
            assert_frequencies([count, len(reports) - count], [chance, 1 - chance], false_failure=1e-11)


@pytest.mark.false_failure(2e-9)
@pytest.mark.slow
def test_pairs_of_other_cells_are_even(seed):
    """With 100 cells the reports cannot be listed; their pairs of cells can."""
    selection = SubsetSelection.of_size(30, epsilon=1.0, n_cells=100)
    reports = selection.randomize(np.full(200_000, 50), randomness=SeededRandomness(seed))
    bits = np.unpackbits(reports, axis=1, count=100, bitorder="little").astype(bool)
    p, w, k = selection.p, 30, 100
    both = (p * (w - 1) * (w - 2) + (1 - p) * w * (w - 1)) / ((k - 1) * (k - 2))
    pairs = list(combinations((0, 1, 49, 51, 69, 70, 71, 98, 99), 2))
    for a, b in pairs:
        n_both = int((bits[:, a] & bits[:, b]).sum())
        assert_frequencies([n_both, len(bits) - n_both], [both, 1 - both], false_failure=1e-9 / len(pairs))


@pytest.mark.parametrize("size", [1, 2])
def test_the_estimate_is_unbiased_with_the_stated_variance_by_listing_all_outcomes(size):
    """Three events in three cells: all 27 outcomes with their exact probabilities."""
    truth, weights = (0, 0, 2), (1, 2, -1)
    selection = SubsetSelection.of_size(size, epsilon=1.0, n_cells=3)
    channel, p, q = selection.channel(), selection.p, selection.q
    possible = [y for y in range(8) if channel[0][y]]
    mean = square = Fraction(0)
    for reports in product(possible, repeat=3):
        chance = math.prod((channel[t][y] for t, y in zip(truth, reports, strict=True)), start=Fraction(1))
        supports = [sum(y >> v & 1 for y in reports) for v in range(3)]
        answer = sum(w * (c - 3 * q) / (p - q) for w, c in zip(weights, supports, strict=True))
        mean, square = mean + chance * answer, square + chance * answer**2
    assert mean == sum(w * truth.count(v) for v, w in enumerate(weights))
    one = selection.distribution.variances(np.array(weights, np.float64))
    assert float(square - mean**2) == pytest.approx(sum(one[t] for t in truth), rel=1e-12)


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize(("n_cells", "epsilon"), [(10, 1.0), (200, 3.0)])
def test_large_simulations_meet_the_truth(n_cells, epsilon, seed):
    """z-scores of many cells: their mean square is 1 within 7 standard errors (false failure below 1e-9)."""
    n_days = 4000 // n_cells
    domain = days_and_places(n_days, n_cells)
    selection = SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=n_cells)
    plan = plan_of(selection, domain)
    counts = np.random.default_rng(seed).poisson(60, (n_days, n_cells))
    cells = np.repeat(np.tile(np.arange(n_cells), n_days), counts.ravel())
    per_day = counts.sum(axis=1)
    statistics = selection.statistics(selection.randomize(cells, randomness=SeededRandomness(seed)), per_day)
    estimate = selection.estimate(Tally(Provenance(plan.fingerprint), statistics, per_day), plan, domain)
    np.testing.assert_allclose(estimate.values.sum(axis=1), per_day)
    p, q = float(selection.p), float(selection.q)
    variances = (per_day[:, None] * q * (1 - q) + counts * (p - q) * (1 - p - q)) / (p - q) ** 2
    z = (estimate.values - counts) / np.sqrt(variances)
    assert abs((z**2).mean() - 1) < 7 * math.sqrt(3 / z.size)
    assert abs(z.mean()) < 7 / math.sqrt(z.size)


@pytest.mark.parametrize("spoil", ["add", "drop", "pad", "none"])
def test_reports_that_are_no_subset_of_the_right_size_are_refused_with_their_number(spoil):
    selection = SubsetSelection.of_size(5, epsilon=1.0, n_cells=17)
    reports = selection.randomize(np.zeros(10, int), randomness=SeededRandomness(1))
    bits = np.unpackbits(reports, axis=1, bitorder="little")
    row = bits[6]
    if spoil == "add":
        row[np.flatnonzero(row[:17] == 0)[0]] = 1
    elif spoil == "drop":
        row[np.flatnonzero(row)[0]] = 0
    elif spoil == "pad":
        row[np.flatnonzero(row)[0]], row[23] = 0, 1
    else:
        row[:] = 0
    with pytest.raises(FormatError, match="1 of 10 reports"):
        selection.statistics(np.packbits(bits, axis=1, bitorder="little"), np.array([4, 6]))


@pytest.mark.parametrize(
    "bad",
    [
        {"include": 2 * COIN // 5},
        {"include": COIN},
        {"include": 1},
        {"size": 0},
        {"size": 5},
        {"n_cells": 1},
        {"n_cells": 1 << 32},
    ],
)
def test_thresholds_without_noise_or_without_signal_are_refused(bad):
    with pytest.raises(SettingError):
        SubsetSelection(**({"n_cells": 5, "size": 2, "include": COIN // 2} | bad))


@pytest.mark.parametrize("cells", [np.array([0, 5]), np.array([-1]), np.array([0.5]), np.array([[0, 1]])])
def test_cells_outside_the_domain_are_refused_without_naming_them(cells):
    with pytest.raises(SettingError, match="cells must"):
        SubsetSelection(5, 2, COIN // 2).randomize(cells, randomness=SeededRandomness(1))


def test_no_cells_make_no_reports():
    selection = SubsetSelection(5, 2, COIN // 2)
    reports = selection.randomize(np.array([], int), randomness=SeededRandomness(1))
    assert reports.shape == (0, 1)
    assert selection.statistics(reports, np.array([0])).tolist() == [[0] * 5]


def test_a_channel_too_large_to_list_says_so():
    with pytest.raises(SettingError, match="Ask for epsilon"):
        SubsetSelection.from_epsilon(epsilon=1.0, n_cells=17).channel()
