"""A forecast on the screen: tables that stay readable on eighty columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from tacit._base.rounding import percent, whole
from tacit.cli import console
from tacit.forecast import CountDistribution, Forecast
from tacit.forecast.forecast import crews_for
from tacit.pages.figures import short_names
from tacit.pages.forecast_words import ahead, expected, how_often, moment, short_moment
from tacit.pages.words import counted, plural, step_noun

_MOST_PLACES: Final = 30
_MOST_BINS: Final = 31


def say_forecast(
    forecast: Forecast,
    *,
    levels: Sequence[float],
    quantile: float,
    per_crew: float | None,
    holidays: Mapping[str, str],
) -> None:
    """Print what is expected of every place in the next bin, and of all places together in every bin."""
    _say_places(forecast, levels, quantile, per_crew)
    if forecast.domain.shape[0] > 1:
        console.say()
        _say_bins(forecast, levels, holidays)


def _say_places(forecast: Forecast, levels: Sequence[float], quantile: float, per_crew: float | None) -> None:
    n_bins, n_places = forecast.domain.shape
    level = forecast.domain.place.level
    shown = np.argsort(-forecast.sums.means, kind="stable")[:_MOST_PLACES]
    shown = np.sort(shown) if n_places <= _MOST_PLACES else shown
    names = short_names(forecast.domain.place.cells)
    first = _distribution(forecast.counts, 0)
    table = [[names[cell], *_cells(_distribution(first, slice(cell, cell + 1)), levels)] for cell in shown]
    table.append([f"All {plural(level)}", *_cells(_distribution(forecast.totals, slice(0, 1)), levels)])
    last = CountDistribution(
        np.append(first.means[shown], forecast.totals.means[0]),
        np.append(first.variances[shown], forecast.totals.variances[0]),
    )
    if per_crew is None:
        heading, numbers = f"At most, {_odds(quantile)}", last.quantiles(quantile)
    else:
        crews = crews_for(last, quantile=quantile, per_crew=per_crew)
        heading, numbers = f"Crews, {_odds(quantile)}", crews.astype(np.float64)
    headings = [level.capitalize(), "Expected", *(percent(one) for one in levels), heading]
    for row, number in zip(table, numbers.tolist(), strict=True):
        row.append(whole(number))
    if n_bins > 1:
        headings.append(counted(n_bins, step_noun(forecast.domain.time.step)).partition(" of ")[0])
        sums = [*forecast.sums.means[shown], float(np.ravel(forecast.total_sum.means)[0])]
        for row, total in zip(table, sums, strict=True):
            row.append(expected(float(total)))
    title = f"Expected {moment(forecast.domain.time.label(0))}"
    if n_bins > 1:
        title += f", and in {ahead(n_bins, forecast.domain.time.step)} together"
    console.table(headings, table, title=title)
    if n_places > len(shown):
        console.say(f"The {len(shown)} busiest of {n_places:,} {plural(level)}; --out writes all of them.")


def _say_bins(forecast: Forecast, levels: Sequence[float], holidays: Mapping[str, str]) -> None:
    labels = forecast.domain.time.labels()
    rows = []
    for bin, label in enumerate(labels[:_MOST_BINS]):
        words = moment(label) if "T" in label else short_moment(label)
        rows.append(
            [words, *_cells(_distribution(forecast.totals, slice(bin, bin + 1)), levels), holidays.get(label[:10], "")]
        )
    together = CountDistribution(np.ravel(forecast.total_sum.means), np.ravel(forecast.total_sum.variances))
    rows.append([f"{ahead(len(labels), forecast.domain.time.step)}".capitalize(), *_cells(together, levels), ""])
    headings = ["", "Expected", *(percent(level) for level in levels), "Holiday"]
    if not any(row[-1] for row in rows):
        rows, headings = [row[:-1] for row in rows], headings[:-1]
    console.table(headings, rows, title=f"All {plural(forecast.domain.place.level)} together")
    if len(labels) > _MOST_BINS:
        console.say(f"The first {_MOST_BINS} of {len(labels):,} periods; --out writes all of them.")


def interval_words(levels: Sequence[float]) -> str:
    """What the intervals mean, in a line."""
    parts = [f"{how_often(level)} within the {percent(level)} interval" for level in levels]
    return f"The number will lie {', '.join(parts)}, if the future resembles the past."


def _odds(quantile: float) -> str:
    return how_often(quantile).replace(" times in ", " in ").replace(" time in ", " in ").replace(" of the time", "")


def _cells(distribution: CountDistribution, levels: Sequence[float]) -> list[str]:
    """What one distribution says: the mean, and an interval for every level."""
    spans = [distribution.intervals(level) for level in levels]
    return [expected(float(distribution.means[0])), *(f"{whole(lower[0])}–{whole(upper[0])}" for lower, upper in spans)]


def _distribution(distribution: CountDistribution, part: int | slice) -> CountDistribution:
    return CountDistribution(distribution.means[part], distribution.variances[part])
