"""What forecasters have in common whose laws come from the residuals of the past."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.count_law import CountLaw
from tacit.counts.series import Series
from tacit.domain import Domain, TimeAxis
from tacit.errors import PlanMismatch, SettingError
from tacit.forecast.forecast import Forecast, Forecasts
from tacit.forecast.history import History, check_origins, long_run_shares, series_of_state, series_state
from tacit.forecast.settings import Settings
from tacit.forecast.spread import Expected, Spread
from tacit.statespace.covariates import Covariates


class SpreadForecaster(Settings, ABC):
    """A rule for means, and a :class:`Spread` learned from how far it was off.

    A forecaster of this kind says how it learns (:meth:`_learn`), what it expects (:meth:`_expect`), and what of it is
    to be kept (:meth:`_kept`, :meth:`_restore`).
    """

    name: str
    _series: Series | None = None
    _spread: Spread | None = None

    def fit(self, series: Series, covariates: Covariates | None = None) -> Self:
        """Learn from all bins of a series."""
        if covariates is not None:
            covariates.check_starts_with(series.domain)
        self._series = series
        self._spread = self._learn(series, History.of(series), covariates)
        return self

    def predict(self, horizon: int = 1) -> Forecast:
        """Say what to expect in the ``horizon`` bins after the series it was fitted on."""
        check_at_least(1, horizon=horizon)
        series, spread = self._fitted()
        origins = np.array([len(series)])
        history = History.of(series)
        expected, leads = self._expect(history, origins, horizon), self._leads(origins, horizon)
        unseen = history.since_counted(origins)
        law, sums = spread.law(expected, leads, unseen), spread.law_of_sums(expected, leads, unseen)
        return Forecast(
            domain=coming(series.domain, horizon),
            counts=CountLaw(law.means[0, :, :-1], law.variances[0, :, :-1]),
            totals=CountLaw(law.means[0, :, -1], law.variances[0, :, -1]),
            sums=CountLaw(sums.means[0, :-1], sums.variances[0, :-1]),
            total_sum=CountLaw(sums.means[0, -1:], sums.variances[0, -1:]),
            forecaster=self.name,
            origin=series.origin,
            is_simulation=series.is_simulation,
            notes=(*gap_notes(int(unseen[0]), series.domain.time.step), *self._notes()),
        )

    def predict_from(self, series: Series, origins: IntArray, horizon: int = 1) -> Forecasts:
        """Say, at each origin, what to expect from there on, with what was learned and the bins before that origin."""
        check_at_least(1, horizon=horizon)
        learned, spread = self._fitted()
        if series.places != learned.places or not _same_bins(series.domain.time, learned.domain.time):
            raise PlanMismatch(
                f"{self.name} was fitted on other places or times than those of this series. Fit it on this series."
            )
        origins = check_origins(origins, len(series))
        # what is learned settles the noise, too: shares of the whole series would look at what comes after an origin
        history = History.of(series, long_run_shares(learned))
        expected, unseen = self._expect(history, origins, horizon), history.since_counted(origins)
        law = spread.law(expected, self._leads(origins, horizon), unseen)
        return Forecasts(
            origins,
            CountLaw(law.means[:, :, :-1], law.variances[:, :, :-1]),
            CountLaw(law.means[:, :, -1], law.variances[:, :, -1]),
        )

    def state(self) -> Mapping[str, Any]:
        """What was learned, as plain data and arrays, to be written to a file."""
        series, spread = self._fitted()
        return {"series": series_state(series), "spread": spread.state(), **self._kept()}

    def with_state(self, state: Mapping[str, Any]) -> Self:
        """The forecaster that learned this."""
        made = type(self)(**self.get_params())
        made._series = series_of_state(state["series"])
        made._spread = Spread.of_state(state["spread"])
        made._restore(state)
        return made

    def _fitted(self) -> tuple[Series, Spread]:
        if self._series is None or self._spread is None:
            raise SettingError(f"{self.name} must be fitted before it is asked. Call fit with a series.")
        return self._series, self._spread

    def _leads(self, origins: IntArray, horizon: int) -> FloatArray:
        """How many bins ago the model was last told anything, for each bin ahead."""
        return np.broadcast_to(np.arange(1.0, horizon + 1), (len(origins), horizon))

    def _notes(self) -> tuple[str, ...]:
        return ()

    @abstractmethod
    def _learn(self, series: Series, history: History, covariates: Covariates | None) -> Spread: ...

    @abstractmethod
    def _expect(self, history: History, origins: IntArray, horizon: int) -> Expected: ...

    @abstractmethod
    def _kept(self) -> dict[str, Any]: ...

    @abstractmethod
    def _restore(self, state: Mapping[str, Any]) -> None: ...


def gap_notes(n_bins: int, step: str) -> tuple[str, ...]:
    """What to say of a series whose last bins were not counted."""
    if n_bins == 0:
        return ()
    what = f"the last {step} was" if n_bins == 1 else f"the last {n_bins} {step}s were"
    return (f"{what} not counted, or not in full: the forecast looks further ahead, and its intervals are wider",)


def coming(domain: Domain, horizon: int) -> Domain:
    """The ``horizon`` bins after a domain, with its places."""
    time, n_times = domain.time, domain.shape[0]
    begins = time.without_end().starts(n_times + 1)[-1].item()
    return replace(domain, time=TimeAxis(begins, time.step, time.zone, horizon))


def _same_bins(one: TimeAxis, other: TimeAxis) -> bool:
    return one.without_end() == other.without_end()
