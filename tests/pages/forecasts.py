"""Forecasts of small releases, for their pages."""

from __future__ import annotations

import numpy as np

from small_worlds import simulated_estimate
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.forecast import Forecast
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.past import series_of
from tacit.release import Release

HOLIDAYS = {"2019-01-01": "New Year's Day"}


def doubs_release(n_days: int = 120) -> Release:
    last = np.datetime64("2018-12-31")
    time = TimeAxis.between(str(last - n_days + 1), str(last), zone="Europe/Paris")
    domain = Domain(time, PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
    means = 30 / (1 + np.arange(17.0)) * (1 + 0.3 * (np.arange(n_days)[:, None] % 7 == 5))
    counts = np.random.default_rng(7).poisson(means)
    return Release.of(*simulated_estimate(counts, domain=domain), refine="project")


def forecast_of(release: Release, horizon: int) -> Forecast:
    return WeekdayMean().fit(series_of(release)).predict(horizon)
