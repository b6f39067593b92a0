"""Hadamard response is exactly as private as it says, and exactly unbiased."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit._base import kernels as _kernels
from tacit.audit.testing import assert_frequencies, check_channel, check_one_at_a_time, check_reports
from tacit.counts.oracle_distributions import HadamardDistribution, distribution_from_dict
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.plan import Plan
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN

RESPONSES = [
    HadamardResponse.from_epsilon(epsilon=0.01, n_cells=3),
    HadamardResponse.from_epsilon(epsilon=1.0, n_cells=5),
    HadamardResponse.from_epsilon(epsilon=10.0, n_cells=2),
    HadamardResponse(n_cells=7, keep=COIN // 2),
    HadamardResponse(n_cells=8, keep=COIN // 3),
]


def domain_of(n_days: int, n_places: int) -> Domain:
    last = np.datetime64("2018-01-01") + n_days - 1
    return Domain(TimeAxis.between("2018-01-01", str(last)), PlaceAxis.of([f"place {i}" for i in range(n_places)]))


def plan_of(response: HadamardResponse, n_days: int) -> Plan:
    thresholds = tuple(response.thresholds().items())
    return Plan(domain_of(n_days, response.n_cells), "hadamard", response.epsilon, thresholds)


def supports(column: int, cell: int) -> bool:
    return (column & (cell + 1)).bit_count() % 2 == 0


@pytest.mark.parametrize("response", RESPONSES)
def test_the_channel_adds_up_and_gives_the_stated_epsilon_exactly(response):
    check_channel(response)


@pytest.mark.parametrize("response", RESPONSES)
def test_the_channel_has_the_distributions_p_and_q_for_every_pair_of_cells(response):
    for cell, row in enumerate(response.channel()):
        for other in range(response.n_cells):
            chance = sum(share for column, share in enumerate(row) if supports(column, other))
            assert chance == (response.distribution.p if other == cell else response.distribution.q)


@pytest.mark.parametrize("response", RESPONSES)
def test_moving_the_threshold_by_one_changes_the_channel(response):
    def ratio(keep: int) -> Fraction:
        return Fraction(COIN + keep, COIN - keep)

    for step in (1, -1):
        moved = HadamardResponse(response.n_cells, response.keep + step)
        assert moved.channel() != response.channel()
        assert (ratio(moved.keep) > ratio(response.keep)) == (step > 0)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.4, 1.0, 2.2, 4.39, 5.89, 8.0, 10.0])
@pytest.mark.parametrize("n_cells", [2, 3, 17, 127, 128, 1024, 10_000])
def test_the_realized_epsilon_equals_the_one_asked_for_on_a_grid(epsilon, n_cells):
    realized = HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells).epsilon
    assert epsilon * (1 - 1e-9) <= realized <= epsilon


@given(st.floats(0.01, 10), st.integers(2, 10_000))
def test_the_realized_epsilon_equals_the_one_asked_for_and_never_exceeds_it(epsilon, n_cells):
    realized = HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells).epsilon
    assert epsilon * (1 - 1e-9) <= realized <= epsilon


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("response", RESPONSES)
def test_reports_have_the_channels_distribution(response, seed):
    check_reports(response, seed=seed, false_failure=1e-9)


@pytest.mark.false_failure(2e-9)
def test_reports_of_a_wrong_epsilon_are_caught(seed):
    right, wrong = (HadamardResponse.from_epsilon(epsilon=e, n_cells=2) for e in (1.0, 1.1))
    reports = wrong.randomize(np.zeros(100_000, int), randomness=SeededRandomness(seed))
    with pytest.raises(AssertionError, match="probability"):
        assert_frequencies(np.bincount(reports[:, 0], minlength=4), right.channel()[0], false_failure=1e-9)


@pytest.mark.parametrize(
    ("n_cells", "n_bytes"), [(2, 1), (17, 1), (255, 1), (256, 2), (1024, 2), (65_535, 2), (65_536, 3), (1 << 24, 4)]
)
def test_every_report_has_the_same_length_whatever_the_value(n_cells, n_bytes):
    response = HadamardResponse.from_epsilon(epsilon=1.0, n_cells=n_cells)
    check_one_at_a_time(response, [0, 1, n_cells // 2, n_cells - 1], seed=1)
    assert response.report_bytes == n_bytes


@pytest.mark.parametrize("n_cells", [3, 17, 1024, 70_000])
def test_compiled_and_plain_kernels_give_the_same_bytes_from_the_same_seed(n_cells):
    response = HadamardResponse.from_epsilon(epsilon=1.0, n_cells=n_cells)
    cells = np.random.default_rng(1).integers(0, n_cells, 300_001)
    made = []
    for worth_loading in (0, 1 << 62):
        with patch.object(_kernels, "WORTH_LOADING", worth_loading):
            reports = response.randomize(cells, randomness=SeededRandomness(25))
            made.append((reports.tobytes(), response.statistics(reports, np.array([200_000, 0, 100_001])).tobytes()))
    assert made[0] == made[1]


@pytest.mark.false_failure(2e-9)
@pytest.mark.parametrize("n_cells", [2, 17, 300, 70_000])
def test_one_at_a_time_and_millions_share_one_distribution(n_cells, seed):
    """Single reports and a batch: the true cell and another one are supported as often as p and q say, both ways."""
    response = HadamardResponse(n_cells, COIN // 4)
    cell, other, n_single, n_many = n_cells - 1, 0, 2_000, 300_000
    source = SeededRandomness(seed)
    single = np.concatenate([response.randomize(np.array([cell]), randomness=source) for _ in range(n_single)])
    many = response.randomize(np.full(n_many, cell), randomness=SeededRandomness(seed + 1))
    for rows in (single, many):
        counts = response.statistics(rows, np.array([len(rows)]))[0]
        for j, chance in ((cell, response.distribution.p), (other, response.distribution.q)):
            assert_frequencies([counts[j], len(rows) - counts[j]], [chance, 1 - chance], false_failure=1e-11)


def test_the_estimate_is_unbiased_with_the_stated_variance_by_listing_all_outcomes():
    """Three events in three cells, all 4**3 outcomes with their exact probabilities."""
    response, truth = HadamardResponse(n_cells=3, keep=COIN // 3), [0, 0, 2]
    channel, p, q = response.channel(), response.distribution.p, response.distribution.q
    weights, counts = [1, 2, -1], [2, 0, 1]
    mean = square = Fraction(0)
    for columns in product(range(4), repeat=3):
        chance = math.prod((channel[t][y] for t, y in zip(truth, columns, strict=True)), start=Fraction(1))
        found = response.statistics(np.array([[y] for y in columns], np.uint8), np.array([3]))[0].tolist()
        assert found == [sum(supports(y, v) for y in columns) for v in range(3)]
        value = sum(w * (c - 3 * q) / (p - q) for w, c in zip(weights, found, strict=True))
        mean += chance * value
        square += chance * value**2
    assert mean == sum(w * c for w, c in zip(weights, counts, strict=True))
    per_report = response.distribution.variances(np.array(weights, float))
    assert float(square - mean**2) == pytest.approx(float(np.array(counts) @ per_report), rel=1e-12)


@pytest.mark.parametrize("n_cells", [2, 3, 4, 7, 8, 20])
@pytest.mark.parametrize("keep", [COIN // 5, COIN - COIN // 100])
def test_the_distribution_gives_the_variance_that_listing_all_columns_gives(n_cells, keep):
    response = HadamardResponse(n_cells, keep)
    weights = np.random.default_rng(n_cells).integers(-3, 4, n_cells)
    gap = response.distribution.p - response.distribution.q
    listed = []
    for row in response.channel():
        says = [sum(int(w) for v, w in enumerate(weights) if supports(y, v)) for y in range(len(row))]
        mean = sum(chance * value for chance, value in zip(row, says, strict=True))
        listed.append(sum(chance * (value - mean) ** 2 for chance, value in zip(row, says, strict=True)) / gap**2)
    np.testing.assert_allclose(
        response.distribution.variances(weights.astype(float)), np.array(listed, float), rtol=1e-9
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_a_cells_variance_is_the_formula(epsilon):
    response = HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=17)
    per_report = response.distribution.variances(np.eye(17)[3])
    kept = math.tanh(epsilon / 2)
    expected = np.full(17, 1 / kept**2)
    expected[3] -= 1
    np.testing.assert_allclose(per_report, expected, rtol=1e-9)


def test_a_distribution_survives_its_plain_data():
    distribution = HadamardDistribution(1000, COIN // 3)
    assert distribution_from_dict(distribution.to_dict()) == distribution


@pytest.mark.false_failure(2e-9)
def test_large_simulations_meet_the_truth(seed):
    """z-scores of 4,000 cells: their mean square is 1 within 7 standard errors (false failure below 1e-9)."""
    rng = np.random.default_rng(seed)
    n_days, k = 400, 10
    response = HadamardResponse.from_epsilon(epsilon=1.5, n_cells=k)
    plan = plan_of(response, n_days)
    counts = rng.poisson(40, (n_days, k))
    cells = np.repeat(np.tile(np.arange(k), n_days), counts.ravel())
    per_day = counts.sum(axis=1)
    statistics = response.statistics(response.randomize(cells, randomness=SeededRandomness(seed)), per_day)
    estimate = response.estimate(Tally(Provenance(plan.fingerprint), statistics, per_day), plan, plan.domain)
    z = (estimate.values - counts) / estimate.noise.standard_errors()
    assert abs((z**2).mean() - 1) < 7 * math.sqrt(2 / z.size)
    assert abs(z.mean()) < 7 / math.sqrt(z.size)


@pytest.mark.parametrize(("n_cells", "report"), [(17, [32]), (2, [4]), (1024, [0, 8]), (70_000, [0, 0, 2])])
def test_a_report_with_pad_bits_is_refused_by_number_and_place(n_cells, report):
    response = HadamardResponse(n_cells, COIN // 2)
    reports = np.zeros((5, response.report_bytes), np.uint8)
    reports[2] = report
    with pytest.raises(FormatError, match="1 of 5 do not, the first at position 2"):
        response.statistics(reports, np.array([5]))


def test_reports_of_another_length_are_refused():
    with pytest.raises(FormatError, match="1 bytes each"):
        HadamardResponse(17, COIN // 2).statistics(np.zeros((5, 2), np.uint8), np.array([5]))


def test_no_reports_are_no_counts():
    response = HadamardResponse(17, COIN // 2)
    reports = response.randomize(np.empty(0, int), randomness=SeededRandomness(1))
    assert reports.shape == (0, 1)
    assert response.statistics(reports, np.array([0, 0])).tolist() == [[0] * 17] * 2


@pytest.mark.parametrize("cells", [[-1], [0, 17], [2**40]])
def test_cells_outside_the_domain_are_refused_by_count(cells):
    with pytest.raises(SettingError, match=f"1 of {len(cells)} do not"):
        HadamardResponse(17, COIN // 2).randomize(np.array(cells), randomness=SeededRandomness(1))


@pytest.mark.parametrize("cells", [[[1]], [0.5]])
def test_cells_of_another_form_are_refused(cells):
    with pytest.raises(SettingError, match="one-dimensional array of whole numbers"):
        HadamardResponse(17, COIN // 2).randomize(np.array(cells), randomness=SeededRandomness(1))


@pytest.mark.parametrize(
    ("n_cells", "keep", "words"),
    [(1, 5, "n_cells"), (2**31, 5, "n_cells"), (3, 0, "keep"), (3, COIN, "keep"), (3, 0.5, "keep")],
)
def test_settings_out_of_range_are_refused(n_cells, keep, words):
    with pytest.raises(SettingError, match=words):
        HadamardResponse(n_cells, keep)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 33.0, 1e-25])
def test_an_epsilon_that_cannot_be_kept_or_used_is_refused(epsilon):
    with pytest.raises(SettingError, match="epsilon"):
        HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=3)


def test_a_channel_too_large_to_list_is_refused():
    with pytest.raises(SettingError, match="at most"):
        HadamardResponse(1 << 13, COIN // 2).channel()
