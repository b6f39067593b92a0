"""Forecast tomorrow's interventions from private counts, and hold that against forecasts from raw ones.

python -m experiments.forecast.run
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from experiments.findings import Finding, Table, Verdict, run, verdict_by_epsilon
from experiments.worlds import doubs_world
from numpy.typing import NDArray

from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series
from tacit.domain import Gazetteer
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.boosting import PaperForecaster
from tacit.forecast.forecast import Forecasts
from tacit.forecast.forecaster import Forecaster
from tacit.forecast.holidays import calendar_covariates
from tacit.forecast.share_forecaster import ShareForecaster
from tacit.publication.laboratory import World, epsilon_of, ratio_of_means, rescaled
from tacit.randomness import SeededRandomness

FloatArray = NDArray[np.float64]
LEVELS = (0.80, 0.95)


@dataclass(frozen=True)
class Score:
    """Errors a day ahead, averaged over regions; and what intervals cover, of regions and of all together."""

    mae: float
    rmse: float
    cover: tuple[float, ...]  # regions at 80 and 95 %, all together at 80 and 95 %

    @classmethod
    def mean(cls, scores: Sequence[Score]) -> Score:
        cover = np.mean([score.cover for score in scores], axis=0).tolist()
        return cls(float(np.mean([s.mae for s in scores])), float(np.mean([s.rmse for s in scores])), tuple(cover))


@dataclass(frozen=True)
class Trial:
    """A world, the day from which on it is forecast, and the calendar that all forecasters are given."""

    world: World
    first_test_day: str

    @property
    def first(self) -> int:
        return int(np.searchsorted(self.world.days, np.datetime64(self.first_test_day)))

    @property
    def raw(self) -> Series:
        return Series.exact(self.world.domain, self.world.counts)

    def private(self, f: float, seed: int, *, as_published: bool = False) -> Series:
        way = self.world.published if as_published else self.world.corrected
        return Series.of(way(f, SeededRandomness(seed)))

    def fitted(self, forecaster: Forecaster, series: Series) -> Forecaster:
        """Learn from all days before the first test day, of this series alone."""
        calendar = calendar_covariates(self.world.domain.time, academy="Besançon")
        return forecaster.fit(series.until(self.first), calendar)

    def score(self, forecaster: Forecaster, series: Series) -> Score:
        """Forecast every test day from the day before."""
        forecasts = self.fitted(forecaster, series).predict_from(series, self.origins(1), 1)
        gaps = forecasts.counts.means[:, 0] - self.world.counts[self.first :]
        mae, rmse = np.abs(gaps).mean(axis=0).mean(), np.sqrt(np.square(gaps).mean(axis=0)).mean()
        return Score(float(mae), float(rmse), self.cover(forecasts, 1))

    def origins(self, horizon: int) -> NDArray[np.int64]:
        return np.arange(self.first, len(self.world.counts) - horizon + 1)

    def cover(self, forecasts: Forecasts, horizon: int) -> tuple[float, ...]:
        """How often intervals of the last bin of the horizon hold the truth, ends tossed for."""
        truth = self.world.counts[forecasts.origins + horizon - 1].astype(np.float64)
        found = []
        for distribution, counts in ((forecasts.counts, truth), (forecasts.totals, truth.sum(axis=1))):
            last = CountDistribution(distribution.means[:, horizon - 1], distribution.variances[:, horizon - 1])
            found += [float(last.coverage(counts, level).mean()) for level in LEVELS]
        return tuple(found)


def measure(params: Mapping[str, Any], *, reduced: bool) -> tuple[dict[str, float], list[Finding]]:
    settings = params["reduced"] if reduced else params["run"]
    trial = trial_of(params["data"]["seed"], settings)
    levels = {
        "weekday mean, all years": trial.score(WeekdayMean(), trial.raw),
        "weekday mean, last year": trial.score(WeekdayMean(years=1), trial.raw),
        "paper's XGBoost, raw": trial.score(PaperForecaster(n_estimators=settings["n_trees"]), trial.raw),
        "total x share, raw": trial.score(ShareForecaster(), trial.raw),
    }
    lines = {f: of_epsilon(trial, f, settings, with_paper=True) for f in settings["f"]}
    seed = f"data {params['data']['seed']}; randomizations {settings['randomizations']}"
    others = {} if reduced else other_worlds(params["data"]["other_seeds"], settings)
    horizons = by_horizon(trial, settings)
    measured = {f"{name}/{part}": value for name, score in levels.items() for part, value in said(score)}
    for f, scores in lines.items():
        measured |= {f"f={f:g}/{name}/{part}": value for name, score in scores.items() for part, value in said(score)}
    measured |= {f"ahead/{name}": value for name, value in horizons.items()}
    measured |= {f"other/{name}": value for name, value in others.items()}
    findings = [
        as_good_as_raw(levels, lines, others, params["targets"], seed),
        better_than_paper(levels, lines, params["targets"], seed),
        intervals(levels, lines, horizons, params["targets"]["coverage"], seed),
    ]
    return measured, findings


def trial_of(seed: int, settings: Mapping[str, Any]) -> Trial:
    world = doubs_world(seed).since(settings["first_day"]).first_places(settings["n_regions"])
    return Trial(world, settings["first_test_day"])


def populations(world: World) -> dict[str, float]:
    known = Gazetteer.builtin("doubs").population("region")
    return {place: float(known[place]) for place in world.places}


def of_epsilon(trial: Trial, f: float, settings: Mapping[str, Any], *, with_paper: bool) -> dict[str, Score]:
    """Every way of forecasting at one epsilon; the paper's own for the first randomization alone."""
    seeds = settings["randomizations"]
    series = [trial.private(f, seed) for seed in seeds]
    prior = populations(trial.world)
    found = {
        "total x share": Score.mean([trial.score(ShareForecaster(), one) for one in series]),
        "with populations": Score.mean([trial.score(ShareForecaster(prior), one) for one in series]),
    }
    if with_paper:
        published = trial.private(f, seeds[0], as_published=True)
        year, paper = slice(trial.first - 365, trial.first), PaperForecaster(n_estimators=settings["n_trees"])
        leak = ratio_of_means(published.values[year], trial.world.counts[year])
        found["paper, with its leak"] = trial.score(paper, rescaled(published, leak))
        found["paper, without"] = trial.score(paper, published)
    return found


def other_worlds(seeds: Sequence[int], settings: Mapping[str, Any]) -> dict[str, float]:
    """MAE as a multiple of that on raw counts, averaged over worlds that were looked at last."""
    ratios: dict[str, list[float]] = {}
    one = {**settings, "randomizations": settings["randomizations"][:1]}
    for seed in seeds:
        trial = trial_of(seed, settings)
        raw = trial.score(ShareForecaster(), trial.raw).mae
        for f in settings["f"]:
            for name, score in of_epsilon(trial, f, one, with_paper=False).items():
                ratios.setdefault(f"f={f:g}/{name}", []).append(score.mae / raw)
    return {name: float(np.mean(some)) for name, some in ratios.items()}


def by_horizon(trial: Trial, settings: Mapping[str, Any]) -> dict[str, float]:
    """What intervals cover so many days ahead, and in all of the time after the last day learned from."""
    found = {}
    for label, series in (("raw", trial.raw), (f"f={settings['f'][-1]:g}", trial.private(settings["f"][-1], 1))):
        forecaster = trial.fitted(ShareForecaster(), series)
        for horizon in settings["horizons"]:
            covers = trial.cover(forecaster.predict_from(series, trial.origins(horizon), horizon), horizon)
            found |= {f"{label}/{horizon}/{kind}": cover for kind, cover in zip(KINDS, covers, strict=True)}
        n_days = len(trial.world.counts) - trial.first
        forecast, truth = forecaster.predict(n_days), trial.world.counts[trial.first :].astype(np.float64)
        for distribution, counts, kind in (
            (forecast.counts, truth, "regions"),
            (forecast.totals, truth.sum(axis=1), "all"),
            (forecast.sums, truth.sum(axis=0), "sums"),
        ):
            for level in LEVELS:
                found[f"{label}/up to {n_days}/{kind} {level:.0%}"] = float(distribution.coverage(counts, level).mean())
    return found


KINDS = tuple(f"{kind} {level:.0%}" for kind in ("regions", "all") for level in LEVELS)


def said(score: Score) -> list[tuple[str, float]]:
    return [("mae", score.mae), ("rmse", score.rmse), *zip(KINDS, score.cover, strict=True)]


def as_good_as_raw(
    levels: Mapping[str, Score],
    lines: Mapping[float, Mapping[str, Score]],
    others: Mapping[str, float],
    targets: Mapping[str, float],
    seed: str,
) -> Finding:
    raw = levels["total x share, raw"].mae
    ratios = {f: scores["total x share"].mae / raw for f, scores in lines.items()}
    with_prior = {f: scores["with populations"].mae / raw for f, scores in lines.items()}
    reached = {epsilon_of(f): ratio <= targets[f"{f:g}"] for f, ratio in ratios.items()}
    least_reached = min((epsilon for epsilon, is_reached in reached.items() if is_reached), default=float("nan"))
    rows = [
        (
            f"{epsilon_of(f):.2f}",
            f"{ratios[f]:.4f}",
            f"{targets[f'{f:g}']:g}",
            f"{with_prior[f]:.4f}",
            *(f"{others[f'f={f:g}/{name}']:.4f}" if others else "" for name in ("total x share", "with populations")),
        )
        for f in lines
    ]
    columns = ("ε", "MAE / raw", "to reach", "with populations", "other worlds", "with populations, other worlds")
    least = max(lines)
    return Finding(
        key="forecast-as-raw",
        source="Tacit, forecasts",
        title="Forecasts from private counts against those from raw ones",
        claim="A forecaster that sees private counts alone is nearly as good as the same one on raw counts.",
        verdict=verdict_by_epsilon(reached),
        because=(
            f"On raw counts its MAE is {raw:.3f}. What is to be reached is, down to epsilon {least_reached:.2f}; "
            f"at {epsilon_of(least):.2f} it is {ratios[least]:.3f} times that on raw counts, and "
            f"{with_prior[least]:.3f} times if it starts from public populations."
        ),
        seed=seed,
        tables=(Table("MAE as a multiple of that on raw counts", columns, tuple(rows)),),
    )


def better_than_paper(
    levels: Mapping[str, Score],
    lines: Mapping[float, Mapping[str, Score]],
    targets: Mapping[str, float],
    seed: str,
) -> Finding:
    paper, raw = levels["paper's XGBoost, raw"].mae, levels["total x share, raw"].mae
    rows = [
        (name, "", f"{score.mae:.3f} / {score.rmse:.3f}", f"{score.mae / raw:.3f}") for name, score in levels.items()
    ]
    rows += [
        (name, f"{epsilon_of(f):.2f}", f"{score.mae:.3f} / {score.rmse:.3f}", f"{score.mae / raw:.3f}")
        for f, scores in lines.items()
        for name, score in scores.items()
    ]
    below = [epsilon_of(f) for f, scores in lines.items() if scores["total x share"].mae < paper]
    return Finding(
        key="forecast-paper",
        source="Tacit, forecasts",
        title="The default forecaster against the paper's",
        claim="Total times share forecasts better than the paper's model does, even where that one sees raw counts.",
        verdict=Verdict.HOLDS if raw <= targets["raw"] * paper else Verdict.FAILS,
        because=(
            f"On raw counts its MAE is {raw:.3f}, {raw / paper:.3f} times that of the paper's XGBoost ({paper:.3f}); "
            f"on private ones it is below that down to epsilon {min(below, default=float('nan')):.2f}."
        ),
        seed=seed,
        tables=(
            Table(
                "MAE / RMSE a day ahead, averaged over regions",
                ("forecaster", "ε", "MAE / RMSE", "of raw"),
                tuple(rows),
            ),
        ),
    )


def intervals(
    levels: Mapping[str, Score],
    lines: Mapping[float, Mapping[str, Score]],
    horizons: Mapping[str, float],
    allowed: float,
    seed: str,
) -> Finding:
    scores = {"raw": levels["total x share, raw"]}
    scores |= {f"{epsilon_of(f):.2f}": found["total x share"] for f, found in lines.items()}
    gaps = [abs(c - level) for score in scores.values() for c, level in zip(score.cover, LEVELS * 2, strict=True)]
    rows = [(name, *(f"{cover:.3f}" for cover in score.cover)) for name, score in scores.items()]
    return Finding(
        key="forecast-intervals",
        source="Tacit, forecasts",
        title="What prediction intervals cover",
        claim="Intervals of 80 and 95 % hold that part of the days to come, in each region and in all together.",
        verdict=Verdict.HOLDS if max(gaps) <= allowed else Verdict.FAILS,
        because=f"A day ahead they cover within {max(gaps):.1%} of the level at every epsilon.",
        seed=seed,
        tables=(
            Table("Coverage a day ahead, randomized", ("ε", *KINDS), tuple(rows)),
            Table(
                "Coverage further ahead",
                ("counts", "days ahead", "of", "covered"),
                tuple((*name.split("/"), f"{cover:.3f}") for name, cover in horizons.items()),
            ),
        ),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    return run(measure, Path(__file__).parent, arguments)


if __name__ == "__main__":
    sys.exit(main())
