"""The contract of forecasters, what they have in common, and the table of those that can be asked for by name."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Final, Self

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.fields import from_plain, plain
from tacit._base.languages import message, stored
from tacit._base.validation import check_at_least
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series
from tacit.domain import Domain, TimeAxis
from tacit.errors import PlanMismatch, SettingError
from tacit.forecast.forecast import Forecast, Forecasts
from tacit.statespace.covariates import Covariates

Kept = Mapping[str, Any]
"""What was learned, by the names of attributes without their underscore: types for :func:`from_plain`, or readers."""


class Forecaster(ABC):
    """Learns from a series how counts come about, and says what to expect.

    The conventions are scikit-learn's: settings are arguments of the constructor, each kept under its own name; ``fit``
    learns and returns the forecaster; the same data and seed give the same model. Nothing but the series and the
    covariates is looked at, and a series is never exact where data are private. Settings are checked when it learns, so
    that a search may set them one by one.

    A forecaster says how it learns (:meth:`_learn`), what it expects at origins (:meth:`_forecasts`) and over a whole
    horizon (:meth:`_sums`: of places and, last, of all together), what a reader must know (:meth:`_notes`), and what of
    it is ``kept`` in a file.
    """

    name: str
    kept: ClassVar[Kept] = {}
    _series: Series | None = None
    _covariates: Covariates | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change settings."""
        known = ", ".join(self.get_params())
        for name, value in params.items():
            if name not in self.get_params():
                raise SettingError(f"a setting of {type(self).__name__} must be one of {known}; got {name}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        return f"{type(self).__name__}({told})"

    def fit(self, series: Series, covariates: Covariates | None = None) -> Self:
        """Learn from all bins of a series."""
        if covariates is not None:
            covariates.check_starts_with(series.domain)
        self._learn(series, covariates)
        self._series, self._covariates = series, covariates
        return self

    def predict(self, horizon: int = 1) -> Forecast:
        """Return what to expect in the ``horizon`` bins after the series it was fitted on."""
        check_at_least(1, horizon=horizon)
        series = self._fitted()
        found = self._forecasts(series, np.array([len(series)]), horizon)
        sums = self._sums(series, found)
        return Forecast(
            coming(series.domain, horizon),
            found.counts[0],
            found.totals[0],
            sums[:-1],
            sums[-1:],
            forecaster=self.name,
            origin=series.origin,
            is_simulation=series.is_simulation,
            notes=self._notes(series, horizon),
        )

    def predict_from(self, series: Series, origins: IntArray, horizon: int = 1) -> Forecasts:
        """Return, at each origin, what to expect from there on, with what was learned and the bins before it.

        The series is the one it was fitted on with later bins added; nothing at or after an origin is looked at.
        """
        check_at_least(1, horizon=horizon)
        learned = self._fitted()
        if series.columns != learned.columns or series.domain.time.without_end() != learned.domain.time.without_end():
            raise PlanMismatch(
                f"{self.name} was fitted on other places, kinds or times than those of this series. Fit it on this one."
            )
        found = np.atleast_1d(np.asarray(origins, np.int64))
        if not ((found >= 1) & (found <= len(series))).all():
            raise SettingError(
                f"origins must be from 1 to {len(series)}, the bins of the series; got {found.min()} to {found.max()}."
            )
        return self._forecasts(series, found, horizon)

    def updated(self, series: Series, covariates: Covariates | None = None) -> Self:
        """Return the forecaster at the end of a series that goes on where its own ended, not fitted again."""
        self._fitted()
        entry = FORECASTERS.get(self.name)
        if self._covariates is not None and covariates is None and entry is not None and entry.uses_covariates:
            raise SettingError(f"{self.name} has learned from covariates. Give those of the longer series, too.")
        told = copy(self)
        told._series, told._covariates = series, None if self._covariates is None else covariates
        return told

    def to_dict(self) -> dict[str, Any]:
        """Return name, settings and what was learned (None if not fitted), as plain data and arrays, for a file."""
        params = self.get_params().items()
        parts = ("series", "covariates", *self.kept)
        return {
            "forecaster": self.name,
            "params": {name: value.to_dict() if isinstance(value, Forecaster) else value for name, value in params},
            "learned": None if self._series is None else {name: _plain(getattr(self, f"_{name}")) for name in parts},
        }

    def _restored(self, learned: Mapping[str, Any]) -> Self:
        """Return this forecaster with what another of its kind had learned."""
        self._series = Series.from_dict(learned["series"])
        axis = partial(Covariates.from_dict, time=self._series.domain.time)
        for name, kind in {"covariates": axis, **self.kept}.items():
            setattr(self, f"_{name}", None if learned[name] is None else from_plain(kind, learned[name]))
        return self

    def _fitted(self) -> Series:
        if self._series is None:
            raise SettingError(f"{self.name} must be fitted before it is asked. Call fit with a series.")
        return self._series

    @abstractmethod
    def _learn(self, series: Series, covariates: Covariates | None) -> None: ...

    @abstractmethod
    def _forecasts(self, series: Series, origins: IntArray, horizon: int) -> Forecasts: ...

    @abstractmethod
    def _sums(self, series: Series, made: Forecasts) -> CountDistribution: ...

    @abstractmethod
    def _notes(self, series: Series, horizon: int) -> tuple[str, ...]: ...


def _plain(part: Any) -> Any:
    """Return what was learned as a file holds it: plain data and arrays."""
    if isinstance(part, list):
        return [_plain(one) for one in part]
    if hasattr(part, "save_raw"):  # boosted trees
        return np.frombuffer(bytes(part.save_raw("ubj")), np.uint8)
    return part.to_dict() if hasattr(part, "to_dict") else plain(part)


def coming(domain: Domain, horizon: int) -> Domain:
    """Return the ``horizon`` bins after a domain, with its places."""
    time, n_times = domain.time, domain.shape[0]
    begins = time.without_end().starts(n_times + 1)[-1].item()
    return replace(domain, time=TimeAxis(begins, time.step, time.zone, horizon))


def gap_notes(n_bins: int, step: str) -> tuple[str, ...]:
    """Return what to say of a series whose last bins were not counted."""
    if n_bins > 1:
        return (_GAP[1](steps=bins_in_words(n_bins, step)),)
    return (_GAP[0](step=bin_in_words(step)),) if n_bins else ()


def bin_in_words(step: str) -> str:
    """Return the noun of a bin, as notes say it.

    >>> bin_in_words("day"), bin_in_words("6 hours")
    ('day', 'period')
    """
    return _BINS.get(step, _OTHER_BINS)[0]


def bins_in_words(n_bins: int, step: str) -> str:
    """Return a number of bins as notes say it.

    >>> bins_in_words(1, "day"), bins_in_words(3, "day"), bins_in_words(3, "6 hours")
    ('1 day', '3 days', '3 periods')
    """
    _, one, many = _BINS.get(step, _OTHER_BINS)
    return one if n_bins == 1 else many(n=n_bins)


_GAP: Final = (
    partial(
        stored,
        "the last %(step)s was not counted, or not in full: the forecast looks further ahead, and its intervals are "
        "wider",
    ),
    partial(
        stored,
        "the last %(steps)s were not counted, or not in full: the forecast looks further ahead, and its intervals are "
        "wider",
    ),
)
_BINS: Final = {
    "hour": (stored("hour"), stored("1 hour"), partial(stored, "%(n)s hours")),
    "day": (stored("day"), stored("1 day"), partial(stored, "%(n)s days")),
    "week": (stored("week"), stored("1 week"), partial(stored, "%(n)s weeks")),
    "month": (stored("month"), stored("1 month"), partial(stored, "%(n)s months")),
    "year": (stored("year"), stored("1 year"), partial(stored, "%(n)s years")),
}
_OTHER_BINS: Final = (stored("period"), stored("1 period"), partial(stored, "%(n)s periods"))


@dataclass(frozen=True, slots=True)
class Entry:
    """A forecaster that can be asked for by name, or by a word that needs no quotes on a command line.

    ``uses_covariates`` says whether it learns from holidays and tables, too.
    """

    name: str
    word: str
    module: str
    type: str
    sentence: str
    uses_covariates: bool = False

    def make(self, **settings: Any) -> Forecaster:
        """Return the forecaster with these settings; its module is loaded only now."""
        made: Forecaster = getattr(import_module(f"tacit.forecast.{self.module}"), self.type)(**settings)
        return made


_SHARE: Final = message("the total of all places times the smoothed share of each")
_MEAN: Final = message("the mean of the same weekday")
_NAIVE: Final = message("what was counted a week earlier")
_TREES: Final = message("gradient-boosted trees over all places at once")
_PAPER: Final = message("the paper's model as published, for comparison")
_ENTRIES: Final = (
    Entry(message("total x share"), "share", "share_forecaster", "ShareForecaster", _SHARE, uses_covariates=True),
    Entry(message("weekday mean"), "weekday-mean", "baselines", "WeekdayMean", _MEAN),
    Entry(message("seasonal naive"), "seasonal-naive", "baselines", "SeasonalNaive", _NAIVE),
    Entry(message("boosting"), "boosting", "boosting", "BoostingForecaster", _TREES, uses_covariates=True),
    Entry(message("paper's XGBoost"), "paper", "boosting", "PaperForecaster", _PAPER),
)
FORECASTERS: Final[dict[str, Entry]] = {entry.name: entry for entry in _ENTRIES}
DEFAULT: Final = _ENTRIES[0].name
_KEYS: Final = {"forecaster", "params", "learned"}


def entry_named(name: str) -> Entry:
    """Return the forecaster of this name or word."""
    for entry in FORECASTERS.values():
        if name in (entry.name, entry.word):
            return entry
    words = ", ".join(entry.word for entry in FORECASTERS.values())
    raise SettingError(f"model must be one of {words}; got model={name}.")


def forecaster_named(name: str = DEFAULT, **settings: Any) -> Forecaster:
    """Return a forecaster by its name or its word, with settings of its own; one it does not have is refused."""
    entry = entry_named(name)
    known = entry.make().get_params()
    if strange := [setting for setting in settings if setting not in known]:
        raise SettingError(
            f"the model {entry.word} has no setting {', '.join(strange)}; it has {', '.join(known)}. "
            "Leave it out, or take another model."
        )
    return entry.make(**settings)


def settings_for(name: str, **offered: Any) -> dict[str, Any]:
    """Return those of the settings offered that a forecaster has."""
    known = entry_named(name).make().get_params()
    return {setting: value for setting, value in offered.items() if setting in known and value is not None}


def forecaster_from_dict(content: Mapping[str, Any]) -> Forecaster:
    """Return the forecaster of :meth:`Forecaster.to_dict`."""

    def read(value: Any) -> Any:
        if isinstance(value, Mapping) and value.keys() == _KEYS:
            return forecaster_from_dict(value)
        return tuple(value) if isinstance(value, list) else value

    params = {name: read(value) for name, value in content["params"].items()}
    made = forecaster_named(content["forecaster"], **params)
    return made if content["learned"] is None else made._restored(content["learned"])
