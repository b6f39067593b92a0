"""Series: what a forecaster may see."""

from __future__ import annotations

import numpy as np
import pytest

from small_series import noisy_series, small_counts, small_domain, small_series
from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.series import Series
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.randomness import SeededRandomness


def test_true_counts_have_no_noise_and_public_totals() -> None:
    series = small_series()
    np.testing.assert_array_equal(series.values, small_counts())
    np.testing.assert_array_equal(series.totals, small_counts().sum(axis=1))
    assert series.has_public_totals
    assert not series.variances.any()
    assert not series.total_variances.any()
    assert repr(series) == "Series(730 x 3 counts)"


def test_true_counts_must_fit_their_domain() -> None:
    with pytest.raises(SettingError, match="must have the domain's shape"):
        Series.exact(small_domain(10), small_counts(n_days=11))


def test_an_estimate_of_reports_keeps_its_public_totals_and_the_variance_of_its_law() -> None:
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-30"), PlaceAxis.of(["a", "b", "c"]))
    plan = plan_for(domain, mechanism="randomized response", epsilon=1.0)
    mechanism = mechanism_of(plan)
    totals = np.full(30, 400)
    places = np.tile(np.arange(400) % 3, 30)
    statistics = mechanism.statistics(mechanism.randomize(places, randomness=SeededRandomness(1)), totals)
    estimate = estimate_tally(Tally(Provenance(plan.fingerprint, is_simulation=True), statistics, totals), plan)
    series = Series.of(estimate, origin="checksum")
    assert series.is_simulation
    assert series.origin == "checksum"
    np.testing.assert_array_equal(series.totals, totals)
    np.testing.assert_allclose(series.values, estimate.values, atol=1e-9)
    # those of independent places, of which the stated ones are what is left once their sum is known
    stated = np.square(estimate.noise.standard_errors())
    independent = series.variances
    given_sum = independent - np.square(independent) / independent.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(given_sum, stated, rtol=0.15)


def test_a_series_read_back_knows_which_counts_were_taken() -> None:
    series = noisy_series(n_days=60)
    observed = np.ones(series.values.shape, bool)
    observed[3, 1] = False
    series = series.masked(observed)
    again = Series.from_dict(series.to_dict())
    np.testing.assert_array_equal(again.observations.observed, observed)
    with pytest.raises(FormatError, match="observed"):
        Series.from_dict(series.to_dict() | {"observed": np.ones((2, 2), bool)})


def test_what_was_known_after_some_bins_is_a_series_of_those() -> None:
    series = noisy_series()
    part = series.until(100)
    assert len(part) == 100
    assert part.domain.time.n_bins == 100
    np.testing.assert_array_equal(part.values, series.values[:100])
    np.testing.assert_array_equal(part.totals, series.totals[:100])
    with pytest.raises(SettingError, match="n_times must be a whole number of at least 1"):
        series.until(0)
