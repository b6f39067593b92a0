"""Forecasts of counts from private data: what to expect tomorrow, in each place and in all.

A :class:`Forecaster` sees a :class:`~tacit.series.Series` and nothing else of the data.
"""

from tacit.forecast.covariates import Covariates
from tacit.forecast.forecast import Forecast, Forecasts
from tacit.forecast.forecaster import Forecaster
from tacit.forecast.laws import CountLaw

__all__ = ["CountLaw", "Covariates", "Forecast", "Forecaster", "Forecasts"]
