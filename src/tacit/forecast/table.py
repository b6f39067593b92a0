"""The table of forecasters: what each is called, where it is, and what it does in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from tacit.errors import SettingError
from tacit.forecast.forecaster import Forecaster


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
        """The forecaster with these settings; its module is loaded only now."""
        made: Forecaster = getattr(import_module(self.module), self.type)(**settings)
        return made


_ENTRIES: Final = (
    Entry(
        "total x share",
        "share",
        "tacit.forecast.share_forecaster",
        "ShareForecaster",
        "the total of all places times the smoothed share of each",
        uses_covariates=True,
    ),
    Entry(
        "weekday mean",
        "weekday-mean",
        "tacit.forecast.baselines",
        "WeekdayMean",
        "the mean of the same weekday",
    ),
    Entry(
        "seasonal naive",
        "seasonal-naive",
        "tacit.forecast.baselines",
        "SeasonalNaive",
        "what was counted a week earlier",
    ),
    Entry(
        "boosting",
        "boosting",
        "tacit.forecast.boosting",
        "BoostingForecaster",
        "gradient-boosted trees over all places at once",
        uses_covariates=True,
    ),
    Entry(
        "paper's XGBoost",
        "paper",
        "tacit.forecast.paper",
        "PaperForecaster",
        "the paper's model as published, for comparison",
    ),
)

FORECASTERS: Final[dict[str, Entry]] = {entry.name: entry for entry in _ENTRIES}
DEFAULT: Final = _ENTRIES[0].name


def entry_named(name: str) -> Entry:
    """Look a forecaster up by its name or its word."""
    for entry in FORECASTERS.values():
        if name in (entry.name, entry.word):
            return entry
    words = ", ".join(entry.word for entry in FORECASTERS.values())
    raise SettingError(f"model must be one of {words}; got model={name}.")


def forecaster_named(name: str = DEFAULT, **settings: Any) -> Forecaster:
    """A forecaster by its name or its word, with settings of its own; one it does not have is refused."""
    entry = entry_named(name)
    made = entry.make()
    known = made.get_params(deep=False)
    strange = [setting for setting in settings if setting not in known]
    if strange:
        raise SettingError(
            f"the model {entry.word} has no setting {', '.join(strange)}; it has {', '.join(known) or 'none'}. "
            "Leave it out, or take another model."
        )
    return entry.make(**settings)


def settings_for(name: str, **offered: Any) -> dict[str, Any]:
    """Of the settings offered, those that a forecaster has."""
    known = entry_named(name).make().get_params(deep=False)
    return {setting: value for setting, value in offered.items() if setting in known and value is not None}
