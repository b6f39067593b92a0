"""Forecasts of counts from private data: what to expect tomorrow, in each place and in all.

A :class:`Forecaster` sees the :func:`series_of` a release and nothing else of the data. Find one by name
(:func:`forecaster_named`) or take its class: :class:`ShareForecaster`, :class:`WeekdayMean`, :class:`SeasonalNaive`,
:class:`BoostingForecaster`, :class:`PaperForecaster`. Names are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.counts.count_distribution import CountDistribution
    from tacit.forecast.baselines import SeasonalNaive, WeekdayMean
    from tacit.forecast.boosting import BoostingForecaster, PaperForecaster
    from tacit.forecast.forecast import Forecast, Forecasts, crews_for
    from tacit.forecast.forecaster import FORECASTERS, Forecaster, forecaster_named
    from tacit.forecast.holidays import calendar_covariates
    from tacit.forecast.past import series_of
    from tacit.forecast.share_forecaster import ShareForecaster
    from tacit.statespace.covariates import Covariates

__all__ = [
    "FORECASTERS",
    "BoostingForecaster",
    "CountDistribution",
    "Covariates",
    "Forecast",
    "Forecaster",
    "Forecasts",
    "PaperForecaster",
    "SeasonalNaive",
    "ShareForecaster",
    "WeekdayMean",
    "calendar_covariates",
    "crews_for",
    "forecaster_named",
    "series_of",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "FORECASTERS": "tacit.forecast.forecaster",
        "BoostingForecaster": "tacit.forecast.boosting",
        "CountDistribution": "tacit.counts.count_distribution",
        "Covariates": "tacit.statespace.covariates",
        "Forecast": "tacit.forecast.forecast",
        "Forecaster": "tacit.forecast.forecaster",
        "Forecasts": "tacit.forecast.forecast",
        "PaperForecaster": "tacit.forecast.boosting",
        "SeasonalNaive": "tacit.forecast.baselines",
        "ShareForecaster": "tacit.forecast.share_forecaster",
        "WeekdayMean": "tacit.forecast.baselines",
        "calendar_covariates": "tacit.forecast.holidays",
        "crews_for": "tacit.forecast.forecast",
        "forecaster_named": "tacit.forecast.forecaster",
        "series_of": "tacit.forecast.past",
    },
)
