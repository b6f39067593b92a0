"""What stands out is told with its reason, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from small_series import noisy_series, small_series
from tacit.forecast import CountDistribution
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.forecast import UNUSUAL, Forecast, notable_bins


def made(series, horizon=7, totals=None) -> Forecast:
    found = WeekdayMean(years=1).fit(series).predict(horizon)
    if totals is None:
        return found
    distribution = CountDistribution(np.asarray(totals, float), np.asarray(totals, float))
    return Forecast(found.domain, found.counts, distribution, found.sums, found.total_sum, "a model")


def test_ordinary_days_do_not_stand_out():
    series = small_series(n_days=550)  # to July, when there is least to do
    usual = [float(series.totals[-56 + bin :: 7][:8].mean()) for bin in range(7)]
    assert notable_bins(made(series, totals=usual), series) == {}


def test_holidays_are_named_on_their_day():
    series = noisy_series()
    found = notable_bins(made(series), series, {"2018-01-01": "New Year's Day", "2018-05-01": "May Day"})
    assert next(iter(found)) == 1
    assert found[1][0] == "Public holiday: New Year's Day."


def test_unusual_and_busy_days_say_how_much():
    series = small_series(n_days=550)  # to July, when there is least to do
    usual = [float(series.totals[-56 + bin :: 7][:8].mean()) for bin in range(7)]
    usual[2] *= 2
    usual[4] /= 2
    found = {bin: " ".join(why) for bin, why in notable_bins(made(series, totals=usual), series).items()}
    assert found.keys() == {2, 4}
    assert "100% more expected than on Thursdays of the last 8 weeks" in found[2]
    assert "A busy day" in found[2]
    assert "50% fewer expected" in found[4]


@pytest.mark.parametrize(("factor", "is_told"), [(0.9, True), (1.1, False)])
def test_noise_of_totals_is_no_reason_to_be_astonished(factor, is_told):
    """The mean of eight totals is known to the deviation of one over the root of eight; twice that is doubt."""
    series = small_series(n_days=550)
    usual = [float(series.totals[-56 + bin :: 7][:8].mean()) for bin in range(7)]
    doubt = factor * (1 - UNUSUAL) * usual[2] / 2
    known = replace(series.observations, total_variance=np.full(len(series), 8 * doubt**2))
    usual[2] *= 2
    found = notable_bins(made(series, totals=usual), replace(series, observations=known))
    assert any("more expected" in why for why in found.get(2, ())) == is_told


def test_a_short_series_calls_nothing_unusual():
    series = small_series(n_days=20)
    assert notable_bins(made(series, totals=[500.0] * 7), series) == {}
