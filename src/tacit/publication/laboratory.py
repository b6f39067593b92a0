"""The paper's evaluation on events of one's own: what private counts are off by, and what forecasts from them are.

Everything here knows the truth and draws from a seed. Nothing is spent, and nothing of it is for publication.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit._base.languages import message
from tacit._base.validation import check_positive
from tacit.collection.tallying import estimate_tally
from tacit.counts.estimate import Estimate
from tacit.counts.provenance import Provenance
from tacit.counts.series import Series
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.domain.step import When
from tacit.errors import SettingError
from tacit.forecast.backtest import FEWEST_TO_LEARN
from tacit.forecast.boosting import PaperForecaster
from tacit.forecast.share_forecaster import ShareForecaster
from tacit.mechanisms.planner import choose
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.pages.evaluation import Evaluation, Scores
from tacit.pages.laboratory import error_rates
from tacit.plan import Plan
from tacit.postprocess import clip_and_rescale, smooth
from tacit.randomness import Randomness, SeededRandomness

Report = Callable[[int, int | None], None]

PERIODS: Final = ("year", "month", "day")
EPSILONS: Final = (
    0.5,
    1.0,
    2.0,
    4.0,
)  # a choice: strong protection to weak; time is in proportion
PUBLISHED: Final = message("one-time RAPPOR as published")
FILTERED: Final = message("the same, ratio filter (LEAKS: uses raw data)")
WEEKDAY: Final = "weekday mean"
_DAYS_A_YEAR: Final = 365  # of a held-out year; a leap day more is no matter
_PAPER_TREES: Final = 100  # the default of XGBoost, which the paper kept


@dataclass(frozen=True)
class World:
    """True counts of days by places."""

    name: str
    domain: Domain
    counts: NDArray[np.int64]

    @property
    def days(self) -> NDArray[np.datetime64]:
        return np.array(self.domain.time.labels(), "datetime64[D]")

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(self.domain.place.cells)

    def since(self, first_day: str) -> World:
        """The same places from a day on."""
        start = int(np.searchsorted(self.days, np.datetime64(first_day)))
        days = TimeAxis.between(str(self.days[start]), str(self.days[-1]), zone=self.domain.time.zone)
        return World(self.name, Domain(days, self.domain.place), self.counts[start:])

    def first_places(self, n_places: int) -> World:
        """The events of the first places alone."""
        place = PlaceAxis.of(self.places[:n_places])
        return World(self.name, Domain(self.domain.time, place), self.counts[:, :n_places])

    def published(self, f: float, randomness: Randomness) -> Estimate:
        """One-time RAPPOR, as the paper has it."""
        return reported(plan_for(self.domain, f=f), self.counts, randomness)

    def corrected(self, f: float, randomness: Randomness) -> Estimate:
        """The randomizer of least error at the same epsilon."""
        epsilon = epsilon_of(f)
        mechanism = choose(len(self.places), epsilon).candidate.name
        return reported(plan_for(self.domain, mechanism=mechanism, epsilon=epsilon), self.counts, randomness)

    def sums(self, period: str) -> NDArray[np.int64]:
        """True counts by period."""
        return self.sums_of(self.counts, period)

    def sums_of(self, counts: NDArray[Any], period: str) -> NDArray[Any]:
        """Counts of days added up by period."""
        return counts if period == "day" else self.domain.coarsen(time=period)[1].sums(counts)

    def rates_of_each(
        self, estimate: Estimate, period: str, refine: Callable[[Estimate], Estimate]
    ) -> NDArray[np.float64]:
        """The error rates of periods whose counts are refined each on their own, as the paper does."""
        return error_rates(ExactTally(self.sums(period)), refine(added_up(estimate, period)).values)

    def rates_of_sums(self, refined: Estimate, period: str) -> NDArray[np.float64]:
        """The error rates of periods that are sums of refined days."""
        return error_rates(ExactTally(self.sums(period)), added_up(refined, period).values)


def epsilon_of(f: float) -> float:
    """The paper's equation 5.

    >>> [round(epsilon_of(f), 2) for f in (0.1, 0.5, 0.9)]
    [5.89, 2.2, 0.4]
    """
    return 2 * math.log((1 - f / 2) / (f / 2))


def f_of(epsilon: float) -> float:
    """The f at which one report has this epsilon: the inverse of :func:`epsilon_of`.

    >>> round(f_of(epsilon_of(0.3)), 12)
    0.3
    """
    return 2 / (1 + math.exp(epsilon / 2))


def added_up(estimate: Estimate, period: str) -> Estimate:
    return estimate if period == "day" else estimate.coarsen(time=period)


def reported(plan: Plan, counts: NDArray[np.int64], randomness: Randomness) -> Estimate:
    """One report for every event, counted by day, and what they say."""
    mechanism = mechanism_of(plan)
    n_days, n_places = counts.shape
    places = np.repeat(np.tile(np.arange(n_places), n_days), counts.ravel())
    per_day = counts.sum(axis=1)
    statistics = mechanism.statistics(mechanism.randomize(places, randomness=randomness), per_day)
    provenance = Provenance(plan.fingerprint, is_simulation=randomness.is_simulation)
    return estimate_tally(Tally(provenance, statistics, per_day), plan)


# a trained model is asked about true counts of the day before (the paper's test) or about private ones
RATIO: Final = "ratio"
RATIO_PRIVATE: Final = "ratio, private inputs"
PLAIN: Final = "no ratio"
PLAIN_PRIVATE: Final = "no ratio, private inputs"
LITERAL: Final = "ratio as written"
TACIT: Final = "Tacit"
_MODELS: Final = {
    RATIO: message("paper's XGBoost with ratio filter and true inputs (LEAKS: uses raw data)"),
    PLAIN_PRIVATE: "paper's XGBoost",
}


@dataclass(frozen=True)
class Trial:
    """A world whose days before ``first_test_day`` are learned from, and the others forecast from the day before."""

    world: World
    first_test_day: str
    ratio_years: tuple[int, ...]
    seed: int
    n_trees: int

    @property
    def first(self) -> int:
        return int(np.searchsorted(self.world.days, np.datetime64(self.first_test_day)))

    @property
    def truth(self) -> FloatArray:
        return self.world.counts[self.first :].astype(np.float64)

    @cached_property
    def raw(self) -> Series:
        return Series.exact(self.world.domain, self.world.counts)

    def scores(self, forecasts: FloatArray) -> Scores:
        errors = forecasts - self.truth
        return Scores(float(np.abs(errors).mean()), float(np.sqrt(np.square(errors).mean(axis=0)).mean()))

    def weekday_means(self, years: Sequence[int] | None = None) -> FloatArray:
        """The paper's baseline, from raw counts: the mean of a weekday, over all years before or over some."""
        weekday = (self.world.days.astype(np.int64) + 3) % 7
        is_used = np.arange(len(weekday)) < self.first
        if years is not None:
            is_used &= self._is_in(years)
        means = np.stack([self.world.counts[is_used & (weekday == day)].mean(axis=0) for day in range(7)])
        return np.asarray(means[weekday[self.first :]])

    def on_raw_counts(self) -> dict[str, FloatArray]:
        """The paper's model and Tacit's, both trained and asked with raw counts."""
        return {"original": self.expected_raw(), TACIT: self.of_shares(self.raw)}

    def expected_raw(self) -> FloatArray:
        """The paper's model on raw counts."""
        return self._expected(self._trained(self.raw), self.raw)

    def at(self, f: float, *, with_literal: bool = False) -> dict[str, FloatArray]:
        """Every way to forecast from one randomization with this f."""
        series = Series.of(self.world.published(f, SeededRandomness(self.seed)))
        found = self.as_published(series)
        found[TACIT] = self.of_shares(Series.of(self.world.corrected(f, SeededRandomness(self.seed))))
        if with_literal:
            ratio = self.ratio(series)
            literal = self._trained(rescaled(series, np.divide(1.0, ratio, out=np.ones_like(ratio), where=ratio > 0)))
            found[LITERAL] = self._expected(literal, self.raw)
        return found

    def as_published(self, series: Series) -> dict[str, FloatArray]:
        """The paper's model on counts of one-time RAPPOR, with and without what leaks."""
        filtered = rescaled(series, self.ratio(series))
        plain, ratio = self._trained(series), self._trained(filtered)
        return {
            RATIO: self._expected(ratio, self.raw),
            RATIO_PRIVATE: self._expected(ratio, filtered),
            PLAIN: self._expected(plain, self.raw),
            PLAIN_PRIVATE: self._expected(plain, series),
        }

    def of_shares(self, series: Series) -> FloatArray:
        """The default forecaster, learned before the first test day and asked before every one."""
        model = ShareForecaster().fit(series.until(self.first))
        origins = np.arange(self.first, len(series))
        return np.asarray(model.predict_from(series, origins, 1).counts.means[:, 0])

    def ratio(self, series: Series) -> FloatArray:
        """The paper's filter of these counts, of the years that it is made of."""
        is_used = self._is_in(self.ratio_years) & (np.arange(len(self.world.counts)) < self.first)
        return ratio_of_means(series.values[is_used], self.world.counts[is_used])

    def _trained(self, series: Series) -> PaperForecaster:
        return PaperForecaster(n_estimators=self.n_trees).fit(series.until(self.first))

    def _expected(self, model: PaperForecaster, series: Series) -> FloatArray:
        return model.expect(model.inputs(series)[self.first - 1 : -1])

    def _is_in(self, years: Sequence[int]) -> NDArray[np.bool_]:
        return np.isin(self.world.days.astype("datetime64[Y]").astype(np.int64) + 1970, list(years))


def ratio_of_means(private: FloatArray, truth: NDArray[np.int64]) -> FloatArray:
    """Return the paper's filter, which **uses raw data**: exact mean counts of places over clipped private ones.

    1 where every private count is clipped. The paper's text has it the other way round.
    """
    clipped, exact = np.maximum(private, 0.0).mean(axis=0), truth.mean(axis=0)
    return np.asarray(np.divide(exact, clipped, out=np.ones(len(exact)), where=clipped > 0), np.float64)


def rescaled(series: Series, factors: FloatArray) -> Series:
    """Return a series whose counts of each place are multiplied, as the paper's filter does."""
    return replace(series, observations=replace(series.observations, counts=series.values * factors))


def last_whole_year(years: NDArray[np.int64]) -> int:
    """Return the last year that days of these years go through, or the last at all."""
    found, counts = np.unique(years, return_counts=True)
    # a year that lacks three days is whole
    return int(found[counts >= 0.99 * counts.max()][-1])


def evaluate(
    domain: Domain,
    truth: ExactTally,
    *,
    epsilons: Sequence[float] = EPSILONS,
    seed: int = 1,
    first_test_day: When | None = None,
    days: Sequence[When] = (),
    with_paper_model: bool = False,
    progress: Report | None = None,
) -> Evaluation:
    """Return what private counts and forecasts of true counts of days would be off by, at several epsilons.

    Every event sends one simulated report: as the paper published it, and by the randomizer of least error, whose
    counts are smoothed as a release's are. Forecasts are of one day ahead, from ``first_test_day`` on (without it the
    last year, or the last fifth of less than three years); ``days`` are those shown place by place (without them the
    last). ``with_paper_model`` adds the paper's XGBoost. The same seed gives the same figures.
    """
    world = World("events", domain, truth.reveal())
    _check(world, epsilons)
    at = [str(day) for day in world.days]
    first = len(at) - (_DAYS_A_YEAR if len(at) >= 3 * _DAYS_A_YEAR else len(at) // 5)
    if first_test_day is not None:
        first = _day(at, first_test_day, "first_test_day")
    if first < FEWEST_TO_LEARN:
        raise SettingError(
            f"first_test_day must leave {FEWEST_TO_LEARN} days to learn from; got {at[first]}, and the first day is "
            f"{at[0]}. Name a later day, or bring more days."
        )
    shown = [_day(at, day, "days") for day in days] or [len(at) - 1]
    if min(shown) < first:
        raise SettingError(f"days must be among those forecast, from {at[first]} on. Name later days.")
    years = np.array([int(day[:4]) for day in at])
    trial = Trial(world, at[first], (last_whole_year(years[:first]),), seed, _PAPER_TREES)
    told, n_steps = progress or (lambda _done, _all: None), len(epsilons) + 1
    told(0, n_steps)
    forecasts: dict[tuple[str, float | None], FloatArray] = {
        (WEEKDAY, None): trial.weekday_means(),
        (TACIT, None): trial.of_shares(trial.raw),
    }
    if with_paper_model:
        forecasts[_MODELS[PLAIN_PRIVATE], None] = trial.expected_raw()
    rates: dict[tuple[str, float, str], FloatArray] = {}
    for number, epsilon in enumerate(epsilons):
        told(number + 1, n_steps)
        published = world.published(f_of(epsilon), SeededRandomness(seed))
        corrected = world.corrected(f_of(epsilon), SeededRandomness(seed))
        smoothed, series = smooth(corrected), Series.of(published)
        filtered = np.maximum(published.values, 0.0) * trial.ratio(series)
        for period in PERIODS:
            rates[PUBLISHED, epsilon, period] = world.rates_of_each(published, period, clip_and_rescale)
            rates[FILTERED, epsilon, period] = error_rates(
                ExactTally(world.sums(period)), world.sums_of(filtered, period)
            )
            rates[TACIT, epsilon, period] = world.rates_of_sums(smoothed, period)
        forecasts[TACIT, epsilon] = trial.of_shares(Series.of(corrected))
        if with_paper_model:
            found = trial.as_published(series)
            forecasts |= {(name, epsilon): found[way] for way, name in _MODELS.items()}
    told(n_steps, n_steps)
    return Evaluation(
        domain=domain,
        seed=seed,
        first_test_day=at[first],
        n_events=int(world.counts.sum()),
        epsilons=tuple(epsilons),
        rates=rates,
        scores={key: trial.scores(found) for key, found in forecasts.items()},
        days={
            at[day]: ({"truth": world.counts[day].astype(np.float64)})
            | {_named(*key): found[day - first] for key, found in forecasts.items()}
            for day in shown
        },
    )


def _named(model: str, epsilon: float | None) -> str:
    return f"{model}, raw counts" if epsilon is None else f"{model}, ε = {epsilon:.3g}"


def _check(world: World, epsilons: Sequence[float]) -> None:
    if world.domain.time.step != "day" or world.domain.kind is not None or len(world.places) < 2:
        raise SettingError("the laboratory compares days of two or more places, without kinds. Count events by day.")
    if not epsilons or len(set(epsilons)) < len(epsilons):
        raise SettingError("epsilons must be one or more, all different. Name each once.")
    check_positive(**{f"epsilon_{number}": epsilon for number, epsilon in enumerate(epsilons, start=1)})
    if not world.counts.any():
        raise SettingError("truth must hold events; it holds none. Check columns and places.")


def _day(at: Sequence[str], asked: When, name: str) -> int:
    day = str(asked)[:10]  # of a time, its day
    if day not in at:
        raise SettingError(f"{name} must be days from {at[0]} to {at[-1]}; got {asked}. Write 2018-03-15, say.")
    return at.index(day)
