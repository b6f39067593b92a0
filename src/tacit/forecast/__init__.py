"""Forecasts of counts from private data: what to expect tomorrow, in each place and in all.

A :class:`Forecaster` sees the :func:`series_of` a release and nothing else of the data. Find one by name
(:func:`forecaster_named`) or take its class: :class:`ShareForecaster`, :class:`WeekdayMean`, :class:`SeasonalNaive`,
:class:`BoostingForecaster`, :class:`PaperForecaster`. Names are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.counts.count_distribution import CountDistribution as CountDistribution
    from tacit.forecast.baselines import SeasonalNaive as SeasonalNaive
    from tacit.forecast.baselines import WeekdayMean as WeekdayMean
    from tacit.forecast.boosting import BoostingForecaster as BoostingForecaster
    from tacit.forecast.boosting import PaperForecaster as PaperForecaster
    from tacit.forecast.forecast import Forecast as Forecast
    from tacit.forecast.forecast import Forecasts as Forecasts
    from tacit.forecast.forecast import crews_for as crews_for
    from tacit.forecast.forecaster import FORECASTERS as FORECASTERS
    from tacit.forecast.forecaster import Forecaster as Forecaster
    from tacit.forecast.forecaster import forecaster_named as forecaster_named
    from tacit.forecast.holidays import calendar_covariates as calendar_covariates
    from tacit.forecast.past import series_of as series_of
    from tacit.forecast.share_forecaster import ShareForecaster as ShareForecaster
    from tacit.statespace.covariates import Covariates as Covariates

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.counts.count_distribution": "CountDistribution",
        "tacit.forecast.baselines": "SeasonalNaive WeekdayMean",
        "tacit.forecast.boosting": "BoostingForecaster PaperForecaster",
        "tacit.forecast.forecast": "Forecast Forecasts crews_for",
        "tacit.forecast.forecaster": "FORECASTERS Forecaster forecaster_named",
        "tacit.forecast.holidays": "calendar_covariates",
        "tacit.forecast.past": "series_of",
        "tacit.forecast.share_forecaster": "ShareForecaster",
        "tacit.statespace.covariates": "Covariates",
    },
)
