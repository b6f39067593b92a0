"""Forecasts of small releases, for their pages."""

from __future__ import annotations

import numpy as np

from small_worlds import days_places_and_kinds, reported, simulated_estimate
from tacit.collection.tallying import estimate_tally
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.forecast import Forecast
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.past import series_of
from tacit.mechanisms.registry import plan_for
from tacit.release import Release

HOLIDAYS = {"2019-01-01": "New Year's Day"}


def doubs_release(n_days: int = 120) -> Release:
    last = np.datetime64("2018-12-31")
    time = TimeAxis.between(str(last - n_days + 1), str(last), zone="Europe/Paris")
    domain = Domain(time, PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
    means = 30 / (1 + np.arange(17.0)) * (1 + 0.3 * (np.arange(n_days)[:, None] % 7 == 5))
    counts = np.random.default_rng(7).poisson(means)
    return Release.of(*simulated_estimate(counts, domain=domain), refine="project")


def release_with_kinds(private: tuple[str, ...] = ("place", "kind")) -> Release:
    """Three kinds of events in two groups, in three places."""
    domain = days_places_and_kinds(120, 3)
    counts = np.random.default_rng(5).poisson([3, 9, 1, 2, 6, 1, 1, 4, 0.5], domain.shape)
    plan = plan_for(domain, epsilon=4.0, mechanism="unary", private=private)
    return Release.of(plan, estimate_tally(reported(plan, counts, 3), plan), refine="project")


def forecast_of(release: Release, horizon: int) -> Forecast:
    return WeekdayMean().fit(series_of(release)).predict(horizon)
