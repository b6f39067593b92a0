"""The figures that counting must reach, and that the least of them is picked."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.counts.continual_noise import BufferedRoot, KaryTree
from tacit.errors import SettingError
from tacit.mechanisms.continual.picker import ENDLESS, compare, pick, tune
from tacit.privacy.cost import Cost


def mean_error(noise_model, n_bins=2048):
    return noise_model.range_variances(np.zeros(n_bins, np.int64), np.arange(1, n_bins + 1)).mean()


def test_a_causal_total_errs_by_less_than_300():
    noise_model = pick(Cost.pure(1.0), 2048)
    assert noise_model.is_causal
    assert mean_error(noise_model) <= 300
    assert mean_error(KaryTree.binary(2048, Cost.pure(1.0))) == pytest.approx(1584, rel=1e-3)


def test_noise_drawn_ahead_errs_by_less_than_160():
    noise_model = pick(Cost.pure(1.0), 2048, reacts=False)
    assert not noise_model.is_causal
    assert mean_error(noise_model) <= 160


def test_a_total_without_end_errs_by_less_than_500():
    noise_model = pick(Cost.pure(1.0))
    assert noise_model.is_causal
    assert mean_error(noise_model) <= 500
    assert noise_model.horizon > 1e12


@pytest.mark.parametrize("rho", [0.01, 0.5, 3.0])
def test_a_total_under_zcdp_errs_by_less_than_11_5_over_2_rho(rho):
    noise_model = pick(Cost.zcdp(rho), 2048)
    assert isinstance(noise_model, BufferedRoot)
    assert len(noise_model.decays) == 4
    assert mean_error(noise_model) <= 11.5 / (2 * rho)


def test_a_total_under_zcdp_without_end_is_close_to_the_square_root_at_every_time():
    noise_model = pick(Cost.zcdp(0.5))
    assert noise_model.horizon == ENDLESS
    for n_bins, root in ((64, 5.71), (2048, 12.20), (8192, 15.48), (65536, 21.13)):
        assert noise_model.range_variances(np.array([0]), np.array([n_bins]))[0] < 2 * root


def test_the_mean_over_few_totals_is_that_over_all():
    for candidate in compare(Cost.pure(1.0), 10_000, reacts=False):
        assert candidate.mean == pytest.approx(mean_error(candidate.noise_model, 10_000), rel=0.02)


def test_candidates_stand_in_order_and_the_binary_tree_is_among_them():
    found = compare(Cost.pure(0.5), 1000)
    assert [one.mean for one in found] == sorted(one.mean for one in found)
    assert KaryTree.binary(1000, Cost.pure(0.5)) in [one.noise_model for one in found]
    assert all(one.noise_model.is_causal for one in found)


@pytest.mark.parametrize("horizon", [1, 2, 3, 5, 17, 100])
@pytest.mark.parametrize("cost", [Cost.pure(1.0), Cost.zcdp(0.5)], ids=str)
def test_short_streams_are_served(horizon, cost):
    noise_model = pick(cost, horizon, most=2)
    assert noise_model.horizon == horizon
    assert noise_model.most == 2


def test_weak_budgets_shrink_the_grid_rather_than_overflow():
    noise_model = tune(1000, Cost.zcdp(1e-6))
    assert noise_model.grid_bits < 20
    assert mean_error(noise_model, 1000) * 2e-6 < 12


@pytest.mark.parametrize(
    ("cost", "horizon"),
    [(Cost(), 10), (Cost(epsilon=1.0, rho=1.0), 10), (Cost.pure(1.0), 0), (Cost.pure(1.0), 2.5), (Cost.pure(1.0), -3)],
)
def test_what_nobody_can_count_by_is_refused(cost, horizon):
    with pytest.raises(SettingError):
        pick(cost, horizon)


@pytest.mark.parametrize("cost", [Cost.pure(1e-6), Cost.zcdp(5e-13)], ids=str)
def test_too_little_for_a_counter_without_end_is_told_in_few_words(cost):
    with pytest.raises(SettingError, match="is too little for a counter without end") as told:
        pick(cost)
    assert len(str(told.value)) < 250


def test_so_little_still_counts_where_the_end_is_known():
    assert pick(Cost.zcdp(5e-13), 2048).cost == Cost.zcdp(5e-13)
    with pytest.raises(SettingError, match=r"must stay within 64-bit numbers; got rho 1e-10 \(zCDP\) and most=1"):
        tune(2048, Cost.zcdp(5e-13))
