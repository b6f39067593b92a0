"""Figures 7, 8 and 9 as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
from experiments.findings import Shade
from numpy.typing import NDArray

from tacit.publication.laboratory import PLAIN, PLAIN_PRIVATE, RATIO, RATIO_PRIVATE, TACIT, Scores

Lines = Mapping[tuple[str, float], Scores]

DASHES: Final = {
    RATIO: [1, 0],
    RATIO_PRIVATE: [2, 3],
    PLAIN: [1, 0],
    PLAIN_PRIVATE: [2, 3],
    TACIT: [6, 3],
    "raw counts": [1, 0],
    "weekday mean": [8, 3, 1, 3],
    "weekday mean of 2017": [1, 4],
    "printed": [1, 0],
}
SHADES: Final = {
    RATIO: Shade.PUBLISHED,
    RATIO_PRIVATE: Shade.CLAIMED,
    PLAIN: Shade.PUBLISHED,
    PLAIN_PRIVATE: Shade.CLAIMED,
    TACIT: Shade.TACIT,
    "raw counts": Shade.OTHER,
    "weekday mean": Shade.OTHER,
    "weekday mean of 2017": Shade.OTHER,
}


def errors_against_f(
    lines: Lines, shown: Sequence[str], levels: Mapping[str, Scores], printed: Mapping[float, Scores], *, is_log: bool
) -> alt.HConcatChart:
    """MAE and RMSE against f: a line a method, a level for models without noise, a cross for what is printed."""
    return alt.hconcat(
        *(
            _panel(lines, shown, levels, printed, metric, name, is_log=is_log)
            for metric, name in enumerate(("MAE", "RMSE"))
        ),
        spacing=24,
    )


def _panel(
    lines: Lines,
    shown: Sequence[str],
    levels: Mapping[str, Scores],
    printed: Mapping[float, Scores],
    metric: int,
    name: str,
    *,
    is_log: bool,
) -> alt.LayerChart:
    rows = [
        {"f": f, "error": scores[metric], "line": method} for (method, f), scores in lines.items() if method in shown
    ]
    fs = [f for _, f in lines]
    rows += [
        {"f": f, "error": scores[metric], "line": level} for level, scores in levels.items() for f in (min(fs), max(fs))
    ]
    crosses = [{"f": f, "error": scores[metric], "line": "printed"} for f, scores in printed.items()]
    domain = [*shown, *levels]
    scale: dict[str, Any] = {"type": "log", "domain": [1.5, 20], "nice": False} if is_log else {"zero": False}
    ticks = {"values": [1.5, 2, 3, 5, 10, 20]} if is_log else {"tickCount": 6}
    x = alt.X("f:Q", title="f (more protection on the right)", scale=alt.Scale(domain=[0, 0.92], nice=False))
    y = alt.Y("error:Q", title=None, scale=alt.Scale(**scale), axis=alt.Axis(format="~g", **ticks))
    colour = alt.Color(
        "line:N",
        scale=alt.Scale(domain=domain, range=[SHADES[one] for one in domain]),
        legend=alt.Legend(title=None, orient="bottom", columns=3, symbolStrokeWidth=2, symbolSize=500),
    )
    dash = alt.StrokeDash("line:N", scale=alt.Scale(domain=domain, range=[DASHES[one] for one in domain]))
    drawn = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2).encode(x, y, colour, dash)
    marks = (
        alt.Chart(alt.Data(values=crosses))
        .mark_point(shape="cross", size=70, color=Shade.TRUTH, fill=Shade.TRUTH, opacity=1)
        .encode(x, y)
    )
    return (drawn + marks).properties(width=320, height=240, title=f"{name} (crosses: as printed)")


def one_day(counts: Mapping[str, NDArray[np.float64]], names: Sequence[str]) -> alt.LayerChart:
    """Figure 9: true counts as bars, forecasts as marks."""
    rows = [
        {"name": name, "count": float(count), "who": who}
        for who, found in counts.items()
        for name, count in zip(names, found, strict=True)
    ]
    who = [name for name in counts if name != "truth"]
    y = alt.Y("name:N", title=None, sort=list(names), axis=alt.Axis(labelLimit=230, grid=True, gridDash=[1, 3]))
    x = alt.X("count:Q", title="interventions", axis=alt.Axis(tickCount=6))
    bars = (
        alt.Chart(alt.Data(values=rows))
        .transform_filter("datum.who == 'truth'")
        .mark_bar(color="var(--band)", stroke=Shade.TRUTH, strokeWidth=0.6, height=9)
        .encode(y=y, x=x)
    )
    marks = (
        alt.Chart(alt.Data(values=rows))
        .transform_filter("datum.who != 'truth'")
        .mark_point(size=55, strokeWidth=1.7, opacity=1)
        .encode(
            y=y,
            x=x,
            shape=alt.Shape(
                "who:N",
                scale=alt.Scale(domain=who, range=["circle", "square", "triangle-up", "diamond"][: len(who)]),
                legend=alt.Legend(title=None, orient="bottom"),
            ),
            color=alt.Color(
                "who:N",
                scale=alt.Scale(
                    domain=who, range=[Shade.OTHER, Shade.PUBLISHED, Shade.CLAIMED, Shade.TACIT][: len(who)]
                ),
            ),
        )
    )
    return (bars + marks).properties(width=460, height=17 * 18)
