"""Forecasts of counts from private data: what to expect tomorrow, in each place and in all.

A :class:`Forecaster` sees a :class:`~tacit.counts.series.Series` and nothing else of the data.
"""

from tacit.counts.count_law import CountLaw
from tacit.forecast.forecast import Forecast, Forecasts
from tacit.forecast.forecaster import Forecaster
from tacit.statespace.covariates import Covariates

__all__ = ["CountLaw", "Covariates", "Forecast", "Forecaster", "Forecasts"]
