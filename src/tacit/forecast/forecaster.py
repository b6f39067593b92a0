"""What every forecaster can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tacit.counts.series import Series
from tacit.forecast.forecast import Forecast, Forecasts
from tacit.statespace.covariates import Covariates


class Forecaster(Protocol):
    """Learns from a series how counts come about, and says what to expect.

    The conventions are scikit-learn's: settings are arguments of the constructor (``get_params``, ``set_params``),
    ``fit`` learns and returns the forecaster, the same data and seed give the same model. Nothing but the series and
    the covariates is seen, and a series is never exact where data are private.
    """

    name: str

    def fit(self, series: Series, covariates: Covariates | None = None) -> Self:
        """Learn from all bins of a series."""

    def predict(self, horizon: int = 1) -> Forecast:
        """Say what to expect in the ``horizon`` bins after the series it was fitted on."""

    def predict_from(self, series: Series, origins: NDArray[np.int64], horizon: int = 1) -> Forecasts:
        """Say, at each origin, what to expect from there on, with what was learned and the bins before that origin.

        The series is the one it was fitted on with later bins added; nothing at or after an origin is looked at.
        """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings."""

    def set_params(self, **params: Any) -> Self:
        """Other settings."""

    def state(self) -> Mapping[str, Any]:
        """What was learned, as plain data and arrays, to be written to a file."""

    def with_state(self, state: Mapping[str, Any]) -> Self:
        """The forecaster that learned this."""
