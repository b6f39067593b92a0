"""The choice among mechanisms with a memo has the least exact variance, within what all reports may tell."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from tacit.errors import SettingError
from tacit.mechanisms.local.hashing import MOST_BITS
from tacit.mechanisms.local.memo import FleetMemo
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.planner import choose_repeated, compare_repeated
from tacit.randomness import SeededRandomness

GRID = [
    (k, infinity, once, n) for k in (2, 3, 17, 1000) for infinity, once in ((4.0, 1.0), (2.0, 2.0)) for n in (1, 30)
]


@pytest.mark.parametrize(("k", "infinity", "once", "n_reports"), GRID)
def test_the_choice_errs_least_of_all_there_are(k, infinity, once, n_reports):
    epsilons = {"epsilon_infinity": infinity, "epsilon_1": once, "n_cells": k}
    all_of_them = [
        LongitudinalRappor.from_epsilons(**epsilons),
        LongitudinalRappor.from_epsilons(**epsilons, optimized=True),
        *(LongitudinalHashing.from_epsilons(**epsilons, bits=bits) for bits in range(1, MOST_BITS + 1)),
    ]

    def error(one):
        variances = [
            float(d.q * (1 - d.q) / (d.p - d.q) ** 2 + (1 - d.p - d.q) / (d.p - d.q) / k)
            for d in (one.permanent_distribution, one.distribution)
        ]
        return variances[0] + (variances[1] - variances[0]) / n_reports

    ranked = compare_repeated(k, epsilon_infinity=infinity, epsilon_1=once, n_reports=n_reports)
    assert ranked[0].mean_variance <= min(map(error, all_of_them)) * (1 + 1e-3)  # equal ones by their length
    assert len({candidate.name for candidate in ranked}) == len(ranked) == 4
    for candidate in ranked:
        assert candidate.randomizer.epsilon_infinity <= infinity
        assert candidate.randomizer.epsilon_1 <= once
        assert candidate.mean_variance == pytest.approx(error(candidate.randomizer))
    errors = [candidate.mean_variance for candidate in ranked]
    assert all(later >= first / (1 + 1e-3) for first, later in pairwise(errors))


def test_many_bins_ask_for_the_hash_values_of_epsilon_infinity():
    sizes = [
        LongitudinalHashing.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=1000, n_reports=n).n_values
        for n in (1, 3, 30, 10**6)
    ]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (4, 64)  # as local hashing at epsilon 1 and 4


@pytest.mark.parametrize("n_values", [1, 2, 5, None])
def test_what_all_values_tell_stays_within_its_bound(n_values):
    for candidate in compare_repeated(
        17, epsilon_infinity=4.0, epsilon_1=1.0, n_values=n_values, epsilon_of_values=6.0
    ):
        assert candidate.epsilon_of_values <= 6.0
        assert candidate.randomizer.epsilon_1 <= candidate.randomizer.epsilon_infinity <= 4.0


def test_where_values_change_for_ever_few_hash_values_err_least():
    settings = {"epsilon_infinity": 4.0, "epsilon_1": 1.0, "epsilon_of_values": 4.0}
    assert choose_repeated(100, **settings, n_values=1).name == "optimized longitudinal"
    ranked = compare_repeated(100, **settings, n_values=None)
    assert "hashing" in ranked[0].name
    assert ranked[0].randomizer.n_values <= 4
    rappor = next(one for one in ranked if one.name == "longitudinal")
    assert rappor.mean_variance > 50 * ranked[0].mean_variance


def test_settings_that_leave_nothing_are_refused():
    with pytest.raises(SettingError, match="leave a mechanism"):
        choose_repeated(1000, epsilon_infinity=4.0, epsilon_1=1.0, most_bytes=1)
    with pytest.raises(SettingError, match="epsilon_1 must be"):
        choose_repeated(17, epsilon_infinity=1.0, epsilon_1=2.0)
    with pytest.raises(SettingError, match="n_values"):
        choose_repeated(17, epsilon_infinity=1.0, epsilon_1=1.0, n_values=0)
    assert choose_repeated(1000, epsilon_infinity=4.0, epsilon_1=1.0, most_bytes=2).name == "longitudinal hashing"


@pytest.mark.slow
@pytest.mark.false_failure(1e-9)
@pytest.mark.parametrize("name", ["optimized longitudinal", "longitudinal hashing", "binary longitudinal hashing"])
def test_means_over_bins_of_simulated_devices_err_as_predicted(name, seed):
    """2,000 groups of 20 devices in 5 bins; the mean square within 7 standard errors of the prediction (1e-9)."""
    k, n_bins, n_groups, n_devices = 4, 5, 2_000, 20
    ranked = compare_repeated(k, epsilon_infinity=3.0, epsilon_1=1.5, n_reports=n_bins)
    candidate = next(one for one in ranked if one.name == name)
    mechanism, source = candidate.randomizer, SeededRandomness(seed)
    fleet, devices = FleetMemo(mechanism), np.arange(n_groups * n_devices)
    cells = np.tile(np.arange(n_devices) % k, n_groups)
    truth = np.bincount(cells[:n_devices], minlength=k)
    total = np.zeros((n_groups, k))
    for _ in range(n_bins):
        reports = fleet.randomize(devices, cells, randomness=source)
        supports = mechanism.statistics(reports, np.full(n_groups, n_devices))
        p, q = float(mechanism.distribution.p), float(mechanism.distribution.q)
        total += (supports - n_devices * q) / (p - q) / n_bins
    squares = ((total - truth) ** 2).mean(axis=1)
    expected = n_devices * candidate.mean_variance
    margin = 7 * squares.std() / math.sqrt(n_groups)
    assert abs(squares.mean() - expected) < margin
    assert not abs(squares.mean() - expected / n_bins) < margin  # as if reports of one device were independent
