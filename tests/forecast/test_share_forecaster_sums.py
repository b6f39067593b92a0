"""Totals disaggregated to places."""

from __future__ import annotations

import numpy as np

from small_series import noisy_series, small_series
from tacit.counts.series import Series
from tacit.forecast.share_forecaster import ShareForecaster


def _forecaster(series: Series) -> ShareForecaster:
    return ShareForecaster().fit(series)


def test_a_sum_over_one_bin_is_that_bin() -> None:
    forecast = _forecaster(noisy_series(n_days=200)).predict(1)
    np.testing.assert_allclose(forecast.sums.means, forecast.counts.means[0])
    np.testing.assert_allclose(forecast.total_sum.variances, forecast.totals.variances, rtol=0.02)
    np.testing.assert_allclose(forecast.sums.variances, forecast.counts.variances[0], rtol=0.1)


def test_errors_of_bins_hang_together_so_sums_vary_more_than_if_they_did_not() -> None:
    forecast = _forecaster(noisy_series(n_days=200)).predict(60)
    np.testing.assert_allclose(forecast.counts.means.sum(axis=1), forecast.totals.means)
    assert forecast.total_sum.variances[0] > 1.5 * forecast.totals.variances.sum()
    assert (forecast.sums.variances > forecast.counts.variances.sum(axis=0)).all()


def test_a_single_place_has_all_of_the_total() -> None:
    series = small_series(n_days=200)
    one = Series.exact(
        type(series.domain)(series.domain.time, type(series.domain.place).of(["all"])),
        series.values.sum(axis=1, keepdims=True).astype(np.int64),
    )
    forecast = _forecaster(one).predict(7)
    np.testing.assert_array_equal(forecast.counts.means[:, 0], forecast.totals.means)
    np.testing.assert_array_equal(forecast.sums.variances, forecast.total_sum.variances)
