"""The rules of smoothing and forecasting, each with the name in the code that switches it off.

This is the one table to change when a function or a constant moves. A rule names functions, methods or constants by
their qualified names and says what stands in their place. ``switched_off`` puts that in place wherever a module of
Tacit has imported the name, and takes it back at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, is_dataclass, replace
from importlib import import_module
from typing import Any, Final

import numpy as np

SMOOTHING: Final = ("local", "curator")
FORECAST: Final = ("forecast",)
ALL: Final = (*SMOOTHING, *FORECAST)
Instead = Callable[[Any], Any]
"""What stands in place of a thing, given that thing."""


@dataclass(frozen=True)
class Rule:
    """A rule: where it can matter, and what stands in place of each name when it is switched off.

    ``is_of_fit`` is False where the fitted model stays the same and only intervals or shown values change.
    """

    name: str
    uses: tuple[str, ...]
    targets: Mapping[str, Instead]
    is_of_fit: bool = True


FIT: Final = "tacit.statespace.model.fitted"
"""The fit of the time-series model. A rule that does not touch it takes the fit of the full model again."""


def _forecast(name: str, targets: Mapping[str, Instead]) -> Rule:
    """A rule of forecasting alone, which comes after the fit."""
    return Rule(name, FORECAST, targets, is_of_fit=False)


def _with(**changes: float) -> Instead:
    """The method with other hyperparameters, which are its first argument."""
    return lambda method: lambda self, found, *more: method(self, replace(found, **changes), *more)


def _with_hyperparameters(**changes: float) -> Instead:
    """The method of a model of totals with other hyperparameters."""

    def other(model: Any) -> Any:
        return replace(model, hyperparameters=replace(model.hyperparameters, **changes))

    return lambda method: lambda self, *more: method(other(self), *more)


def _without_terms(kind: str) -> Instead:
    """Calendar regressors without those of a kind."""

    def instead(seasons: Any) -> Any:
        def fewer(*words: Any) -> Any:
            found = seasons(*words)
            kept = [number for number, one in enumerate(found.kinds) if one != kind]
            basis = np.ascontiguousarray(found.basis[:, kept])
            return replace(found, basis=basis, kinds=tuple(found.kinds[number] for number in kept))

        return fewer

    return instead


def _flat_moments(_: Any) -> Any:
    """Of each share only its own counts speak."""
    return lambda self, levels, variances: (np.maximum(levels, 0.0), variances, np.zeros(len(levels)))


def _without_third(moments: Any) -> Any:
    return lambda *words: (*moments(*words)[:2], np.zeros(len(words[1])))


def _own_levels(_: Any) -> Any:
    return lambda self, levels, variances: (np.maximum(levels, 1e-3 * self.units[:, None]), variances)


def _without_outliers(measured: Any) -> Any:
    def instead(*words: Any) -> Any:
        known, excess = measured(*words)
        return known, np.zeros_like(excess)

    return instead


def _each_day_alone(_: Any) -> Any:
    from tacit.postprocess.smoothing import shown_alone

    return lambda values, known, time: shown_alone(values, known)


def _value(value: Any) -> Instead:
    return lambda _: value


def _nothing(value: Any) -> Instead:
    """A function that says the same of everything."""
    return lambda _: lambda *words, **settings: value


_STATES: Final = "tacit.statespace"
_TOTALS: Final = f"{_STATES}.totals"
_MODEL: Final = f"{_STATES}.model.Model"
_SETTINGS: Final = f"{_STATES}.settings.SETTINGS"
_SIZES: Final = f"{_STATES}.size_prior.SizePrior"

RULES: Final = (
    # the time-series model, of smoothing and of forecasting
    Rule("level shifts", ALL, {f"{_STATES}.model.level_shifts": _nothing(np.zeros((1, 1)))}),
    Rule("overdispersion of places", ALL, {f"{_MODEL}._dispersion": _with(overdispersion=0.0)}),
    Rule("counts by timetable", ALL, {f"{_MODEL}._dispersion": _with(chance=1.0)}),
    Rule("random-walk level", ALL, {f"{_MODEL}.state_space": _with(level_sd=1e-6)}),
    Rule("AR(1) component", ALL, {f"{_MODEL}.state_space": _with(ar_sd=1e-6)}),
    Rule("weekdays of places", ALL, {f"{_STATES}.covariates.seasons": _without_terms("weekday")}),
    Rule("seasons of places", ALL, {f"{_STATES}.covariates.seasons": _without_terms("season")}),
    Rule(
        "fit of hyperparameters",
        ALL,
        {f"{_STATES}.model.fit_hyperparameters": lambda _: lambda model, start, **_more: start},
    ),
    Rule(
        "means over hyperparameters",
        ALL,
        {f"{_STATES}.model._averaged": lambda _: lambda loss, best: _hyperparameters().from_logs(best)},
    ),
    Rule("second revision", ALL, {f"{_SETTINGS}.revisions": _value(1)}),
    Rule("size prior (smoothing)", SMOOTHING, {f"{_SIZES}.moments": _flat_moments}),
    Rule("skew of shares", SMOOTHING, {f"{_SIZES}.moments": _without_third}),
    # smoothing
    Rule(
        "excess of public totals (smoothing)",
        ("local",),
        {f"{_STATES}.model.total_excess": lambda _: lambda totals, **_more: np.zeros(len(totals))},
    ),
    Rule("skew of mixed shares", SMOOTHING, {f"{_SETTINGS}.poisson_third": _value(0.0)}, is_of_fit=False),
    Rule(
        "heavier tails of days",
        SMOOTHING,
        {f"{_SETTINGS}.excess_kurtosis": _value(0.0)},
        is_of_fit=False,
    ),
    Rule(
        "variance given the count",
        SMOOTHING,
        {f"{_STATES}.posterior_noise.Moments.given": lambda _: lambda self, centre: self.of_shares + self.of_counts},
        is_of_fit=False,
    ),
    Rule("inflation", SMOOTHING, {f"{_SETTINGS}.inflation": _value(1.0)}, is_of_fit=False),
    Rule(
        "non-negative by periods",
        SMOOTHING,
        {"tacit.postprocess.smoothing.shown_in_periods": _each_day_alone},
        is_of_fit=False,
    ),
    # forecasting: shares
    _forecast("size prior (forecast)", {f"{_SIZES}.medians": _own_levels}),
    _forecast(
        "positive medians",
        {f"{_STATES}.shares._positive": lambda _: lambda means, variances: (means, variances)},
    ),
    _forecast("excess of public totals (forecast)", {"tacit.forecast.past.share_observations": _without_outliers}),
    # forecasting: totals
    _forecast("limit on surprise", {f"{_SETTINGS}.totals.largest_innovation": _value(1e6)}),
    _forecast("special days", {f"{_TOTALS}.TotalModel._specials": _nothing(())}),
    _forecast("inflation learned from the past", {f"{_TOTALS}._inflation": _nothing((1.0, 1.0, 1.0))}),
    _forecast("years differ", {f"{_SETTINGS}.totals.years_differ": _value(1.0)}),
    _forecast("recent years count more", {f"{_SETTINGS}.totals.half_life_years": _value(1e6)}),
    _forecast("changing coefficients", {f"{_SETTINGS}.totals.changing_kinds": _value(())}),
    _forecast("fit of totals", {f"{_TOTALS}._fitted": lambda _: lambda model, *_more: model.hyperparameters}),
    _forecast("overdispersion of totals", {f"{_TOTALS}._fitted": lambda fit: _no_overdispersion(fit)}),
    _forecast("random-walk level of totals", {f"{_TOTALS}.TotalModel._dynamics": _with_hyperparameters(level_sd=1e-6)}),
    _forecast("AR(1) component of totals", {f"{_TOTALS}.TotalModel._dynamics": _with_hyperparameters(ar_sd=1e-6)}),
    _forecast("weekdays of totals", {f"{_SETTINGS}.totals.weekday_sd": _value(1e-6)}),
    _forecast("seasons of totals", {f"{_SETTINGS}.totals.year_sd": _value(1e-6)}),
    _forecast(
        "untold gaps",
        {
            name: lambda _: lambda totals, *more, **_more: np.zeros(len(totals), bool)
            for name in ("tacit.forecast.past.gaps", "tacit.forecast.past.leading_zeros")
        },
    ),
)


def _hyperparameters() -> Any:
    return import_module(f"{_STATES}.settings").Hyperparameters


def _no_overdispersion(fit: Any) -> Any:
    return lambda *words, **settings: replace(fit(*words, **settings), overdispersion=1e-9)


@contextmanager
def switched_off(rule: Rule | None) -> Iterator[None]:
    """Run what is inside without a rule; None switches nothing off."""
    with ExitStack() as stack:
        for name, instead in rule.targets.items() if rule else ():
            stack.enter_context(replaced(name, instead))
        yield


@contextmanager
def replaced(name: str, instead: Instead) -> Iterator[None]:
    """Put something in place of what a qualified name stands for, wherever Tacit has imported it."""
    owner, attribute = _owner(name)
    if is_dataclass(owner) and not isinstance(owner, type):
        # a constant of a settings object: the whole object is replaced, under its own name
        value = instead(getattr(owner, attribute))
        with replaced(name.rpartition(".")[0], lambda settings: replace(settings, **{attribute: value})):
            yield
        return
    before = vars(owner)[attribute]
    holders = [owner] if isinstance(owner, type) else _holders(attribute, before)
    after = instead(before)
    try:
        for holder in holders:
            setattr(holder, attribute, after)
        yield
    finally:
        for holder in holders:
            setattr(holder, attribute, before)


def _owner(name: str) -> tuple[Any, str]:
    """The module, class or settings object that a qualified name is an attribute of; LookupError if there is none."""
    parts = name.split(".")
    for many in range(len(parts) - 1, 0, -1):
        try:
            found: Any = import_module(".".join(parts[:many]))
        except ModuleNotFoundError:
            continue
        for part in parts[many:-1]:
            found = getattr(found, part, None)
        if hasattr(found, parts[-1]):
            return found, parts[-1]
        break
    raise LookupError(f"{name} is not in the code any more; correct the table in experiments/ablations/rules.py.")


def _holders(attribute: str, value: Any) -> list[Any]:
    """The modules of Tacit that hold the same thing under the same name."""
    modules = [module for name, module in list(sys.modules.items()) if name.split(".")[0] == "tacit"]
    return [module for module in modules if vars(module).get(attribute) is value]
