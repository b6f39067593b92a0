"""Searching for better settings of a model, and asking it what mattered."""

from __future__ import annotations

from typing import Final

from tacit.cli import console
from tacit.cli.forecast_options import Known
from tacit.errors import SettingError
from tacit.forecast import Forecaster
from tacit.forecast.forecaster import Entry, entry_named

_BOOSTING: Final = "boosting"
_MOST_TRIALS: Final = 10_000
_SHOWN: Final = 12


def check_tunable(entry: Entry) -> None:
    """Refuse to search for settings of a model that has none to search for."""
    if entry.name != _BOOSTING:
        raise SettingError(f"only the model boosting can be tuned; {entry.word} needs none. Add: --model boosting")


def check_explained(entry: Entry) -> None:
    """Refuse to ask a model what mattered that cannot tell."""
    if entry.name != _BOOSTING:
        raise SettingError(f"only the model boosting tells what mattered; {entry.word} does not. Add: --model boosting")


def tuned(forecaster: Forecaster, known: Known, *, seconds: float, seed: int) -> Forecaster:
    """The forecaster with the best settings that were found in the time given."""
    from tacit.forecast.boosting import BoostingForecaster
    from tacit.forecast.tuning import tune

    assert isinstance(forecaster, BoostingForecaster)
    with console.progress("Searching for better settings") as report:
        found = tune(
            known.series,
            known.covariates,
            forecaster=forecaster,
            n_trials=_MOST_TRIALS,
            seconds=seconds,
            seed=seed,
            progress=lambda trials, share: report(round(100 * share), 100),
        )
    tried = f"Tried {console.counted(len(found.trials), 'setting')}"
    if found.chosen is found.trials[0]:
        console.say(f"{tried}: none was clearly better than the usual one, which is kept.")
    else:
        console.say(f"{tried}: the one chosen loses {found.chosen.advantage:.4f} ± {found.chosen.error:.4f} less.")
    return found.forecaster


def importance_of(forecaster: Forecaster, known: Known, *, seed: int) -> dict[str, float]:
    """Print what mattered most to a forecaster, and return it: how much worse it is without."""
    from tacit.forecast.boosting import BoostingForecaster
    from tacit.forecast.tuning import feature_importance

    check_explained(entry_named(forecaster.name))
    assert isinstance(forecaster, BoostingForecaster)
    with console.waiting("Asking what mattered"):
        found = feature_importance(forecaster, known.series, known.covariates, seed=seed)
    rows = [[one.feature, f"{100 * one.gain:.0f}%", f"{one.loss:.4f} ± {one.loss_error:.4f}"] for one in found[:_SHOWN]]
    console.say()
    if not any(one.gain for one in found):
        console.say("What mattered most: nothing. No tree did better than the level that trees start from.")
        return {}
    console.table(["What it was told", "Part of all gain", "Lost without it"], rows, title="What mattered most")
    return {one.feature: one.loss for one in found}
