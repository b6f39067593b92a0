"""Charts of forecasts: what was counted, the fan of what may come, and how forecasters did in the past.

The rows stand in named data sets (``past``, ``fan``, ``models``, ``leads``), so that a page can exchange them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tacit._base.extras import require
from tacit._base.languages import gettext
from tacit.counts.count_distribution import CountDistribution
from tacit.forecast.backtest import Leaderboard, Score
from tacit.forecast.forecast import Forecast
from tacit.pages.figures.charts import NUMBER, ON_PAPER, Palette, finished, picked, time_axes, watermark
from tacit.pages.figures.counts import Counts, rounded, rows_of, starts_of, whole_period
from tacit.release.rules import SHOWN

if TYPE_CHECKING:
    import altair

FEW_BINS: Final = 14
"""Up to so many bins ahead are drawn one by one, more as bands: two weeks; twice as many bars would touch."""
# as many patterns as are told apart at a glance; further models repeat them
DASHES: Final = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [12, 4])


def expected_counts(forecast: Forecast, level: float) -> Counts:
    """Return a forecast as counts to draw: means, with the limits of one level."""
    axis = forecast.domain.time
    return _counts(forecast, forecast.counts, level, axis.step, tuple(axis.labels()))


def expected_in_all(forecast: Forecast, level: float) -> Counts:
    """Return the same for the whole horizon together."""
    return _counts(forecast, part_of(forecast.sums, None), level, "all", (whole_period(forecast.domain.time),))


def part_of(distribution: CountDistribution, part: Any) -> CountDistribution:
    """Return the distribution of some of the counts: a bin, a slice, or whatever arrays take."""
    return CountDistribution(distribution.means[part], distribution.variances[part])


def fan_rows(forecast: Forecast, levels: Sequence[float], place: int | None) -> list[dict[str, Any]]:
    """Return a row for each bin: the expected count of a place, or of all together, and limits, outermost first."""
    one = forecast.totals if place is None else part_of(forecast.counts, (slice(None), place))
    starts = list(starts_of(forecast.domain.time))
    columns: dict[str, list[Any]] = {"start": starts, "expected": rounded(one.means, 2).tolist()}
    for number, level in enumerate(sorted(levels, reverse=True)):
        lower, upper = one.intervals(level)
        columns |= {f"lower{number}": lower.tolist(), f"upper{number}": upper.tolist()}
    return rows_of(columns)


def fan_chart(
    past: Sequence[dict[str, Any]],
    fan: Sequence[dict[str, Any]],
    *,
    height: int = 280,
    palette: Palette = ON_PAPER,
) -> altair.LayerChart:
    """Draw the past as a thin line, the future as expected counts with two intervals: bars if few, else bands.

    ``past`` has rows with ``start`` and ``count`` (none where data are missing), ``fan`` those of :func:`fan_rows` for
    two levels.
    """
    alt = require("altair", extra="pages")
    x, y = time_axes(alt)
    before = alt.Chart(alt.Data(name="past", values=list(past))).encode(x=x)
    after = alt.Chart(alt.Data(name="fan", values=list(fan))).encode(x=x)
    layers = [before.mark_line(color=palette.muted, strokeWidth=1.2, aria=False).encode(y=alt.Y("count:Q", **y))]
    if len(fan) <= FEW_BINS:
        layers += [
            after.mark_rule(color=palette.accent, strokeWidth=1.5, aria=False).encode(
                y=alt.Y("lower0:Q", **y), y2=alt.Y2("upper0:Q")
            ),
            after.mark_rule(color=palette.accent, strokeWidth=6, opacity=0.45, aria=False).encode(
                y=alt.Y("lower1:Q", **y), y2=alt.Y2("upper1:Q")
            ),
            after.mark_point(filled=True, size=42, color=palette.accent, opacity=1, aria=False).encode(
                y=alt.Y("expected:Q", **y)
            ),
        ]
    else:
        layers += [
            after.mark_area(color=palette.band, aria=False).encode(y=alt.Y("lower0:Q", **y), y2=alt.Y2("upper0:Q")),
            after.mark_area(color=palette.accent, opacity=0.28, aria=False).encode(
                y=alt.Y("lower1:Q", **y), y2=alt.Y2("upper1:Q")
            ),
            after.mark_line(color=palette.accent, strokeWidth=1.8, aria=False).encode(y=alt.Y("expected:Q", **y)),
        ]
    layers += picked(alt, palette, dict(fan[0]), ("lower0", "expected", "upper0"))
    return finished(layers, palette, height=height)


def leaderboard_chart(board: Leaderboard, *, palette: Palette = ON_PAPER) -> altair.LayerChart:
    """Draw the error of every forecaster, best on top, in the interval that two standard errors leave it."""
    alt = require("altair", extra="pages")
    rows = [{"model": gettext(score.name)} | _error_limits(score) for score in board.scores]
    base = alt.Chart(alt.Data(name="models", values=rows)).encode(
        y=alt.Y("model:N", title=None, sort=None, axis=alt.Axis(labelLimit=170, grid=True, gridDash=[1, 3]))
    )
    x = {"title": None, "scale": alt.Scale(zero=False), "axis": alt.Axis(tickCount=5, format=NUMBER)}
    layers = [
        base.mark_rule(strokeWidth=2.5, color=palette.accent, aria=False).encode(
            x=alt.X("lower:Q", **x), x2=alt.X2("upper:Q")
        ),
        base.mark_point(filled=True, size=55, color=palette.accent, opacity=1, aria=False).encode(
            x=alt.X("error:Q", **x),
            tooltip=[
                alt.Tooltip("model:N", title=gettext("Model")),
                alt.Tooltip("error:Q", title=gettext("Error"), format=".3f"),
            ],
        ),
    ]
    layers += [watermark(alt, palette)] if board.is_laboratory else []
    return finished(layers, palette, height=34 * len(rows))


def leads_chart(board: Leaderboard, *, palette: Palette = ON_PAPER) -> altair.LayerChart:
    """Draw the root mean squared error of every forecaster by how far ahead it looks; models differ in dash."""
    alt = require("altair", extra="pages")
    rows = [
        {"model": gettext(score.name), "lead": lead + 1, "error": round(math.sqrt(max(mse, 0.0)), 4)}
        for score in board.scores
        for lead, mse in enumerate(score.mse_by_lead)
        if math.isfinite(mse)
    ]
    names = [gettext(score.name) for score in board.scores]
    best = json.dumps(names[0])
    dashes = [list(DASHES[number % len(DASHES)]) for number in range(len(names))]
    base = alt.Chart(alt.Data(name="leads", values=rows)).encode(
        x=alt.X("lead:Q", title=gettext("periods ahead"), scale=alt.Scale(nice=False), axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("error:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4, format=NUMBER)),
        strokeDash=alt.StrokeDash(
            "model:N",
            sort=names,
            scale=alt.Scale(domain=names, range=dashes),
            legend=alt.Legend(
                title=None,
                orient="top",
                columns=2,
                symbolSize=400,
                labelLimit=220,
                labelFontSize=12,
                labelColor=palette.ink,
                symbolStrokeColor=palette.accent,
            ),
        ),
        strokeWidth=alt.StrokeWidthValue(1.3, condition={"test": f"datum.model === {best}", "value": 2.4}),
    )
    layers = [base.mark_line(color=palette.accent, aria=False)]
    layers += [watermark(alt, palette)] if board.is_laboratory else []
    return finished(layers, palette, height=240)


def _error_limits(score: Score) -> dict[str, float]:
    if score.mae is not None:
        mae, margin = score.mae.value, 2 * score.mae.error
        limits = (mae, max(mae - margin, 0.0), mae + margin)
    else:
        mse, margin = score.mse.value, 2 * score.mse.error
        limits = (score.rmse, math.sqrt(max(mse - margin, 0.0)), math.sqrt(max(mse + margin, 0.0)))
    names = ("error", "lower", "upper")
    return {
        name: round(value if math.isfinite(value) else limits[0], 4) for name, value in zip(names, limits, strict=True)
    }


def _counts(
    forecast: Forecast, distribution: CountDistribution, level: float, step: str, periods: tuple[str, ...]
) -> Counts:
    lower, upper = distribution.intervals(level)
    return Counts(
        step=step,
        periods=periods,
        starts=starts_of(forecast.domain.time)[: len(periods)],
        is_partial=(False,) * len(periods),
        places=forecast.domain.place.cells,
        values=distribution.means,
        lower=np.minimum(lower, distribution.means),
        upper=np.maximum(upper, distribution.means),
        standard_errors=np.sqrt(distribution.variances),
        reliable=np.ones(distribution.means.shape, bool),
        status=np.full(distribution.means.shape, SHOWN, object),
        level=level,
    )
