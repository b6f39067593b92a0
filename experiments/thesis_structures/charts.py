"""Panels of errors: a colour for each column of the comparison, a dash for each line of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import altair as alt

from experiments.findings import Picture, Shade, svg_of
from experiments.thesis_structures.measuring import CLAIMED, CODED, TACIT

RULE = "the thesis' rule"
SHADES = {CODED: Shade.PUBLISHED, CLAIMED: Shade.CLAIMED, TACIT: Shade.TACIT, RULE: Shade.OTHER}
DASHES = ([1, 0], [7, 3], [2, 3], [9, 3, 2, 3])
WIDTH, HEIGHT = 235, 200
# the headless renderer measures letters a little short
ROOM = {"left": 8, "right": 24, "top": 6, "bottom": 6}


@dataclass(frozen=True)
class Point:
    """A measured error: of which method, on which line."""

    x: float
    y: float
    method: str
    line: str


@dataclass(frozen=True)
class Axes:
    """What stands along the axes, which of them are logarithmic, and what the dashes tell apart."""

    x: str
    y: str = "RMSE, visits"
    log_x: bool = False
    log_y: bool = True
    dashes: str = "ε"
    x_values: tuple[float, ...] | None = None


def errors_picture(
    caption: str,
    panels: Mapping[str, Sequence[Point]],
    axes: Axes,
    *,
    fits: Mapping[str, Sequence[Point]] | None = None,
    labels: Mapping[str, str] | None = None,
    columns: int = 3,
) -> Picture:
    """Lines through the points of each panel, or the fitted lines beside them."""
    every = [point for points in panels.values() for point in points]
    scales = _Scales.of(every, axes, labels or {})
    made = [
        _panel(title, points, fits[title] if fits else None, axes, scales, number % columns == 0)
        for number, (title, points) in enumerate(panels.items())
    ]
    rows = [alt.hconcat(*made[start : start + columns], spacing=18) for start in range(0, len(made), columns)]
    return Picture(caption, svg_of(alt.vconcat(*rows, spacing=14).properties(padding=ROOM)))


@dataclass(frozen=True)
class _Scales:
    """Colours and dashes shared by all panels, and their legends."""

    color: alt.Color
    dash: alt.StrokeDash

    @classmethod
    def of(cls, points: Sequence[Point], axes: Axes, labels: Mapping[str, str]) -> _Scales:
        methods = [method for method in SHADES if any(point.method == method for point in points)]
        lines = list(dict.fromkeys(point.line for point in points))
        names = " : ".join([f"datum.label == '{method}' ? '{labels[method]}'" for method in labels] + ["datum.label"])
        legend = {"direction": "horizontal", "symbolSize": 420, "symbolType": "stroke", "labelLimit": 700}
        by_method = alt.Legend(title=None, orient="bottom", labelExpr=names, symbolStrokeWidth=3, **legend)
        # above the panels: beside the other legend it would make the picture wider than a page
        by_line = alt.Legend(
            title=axes.dashes or None, titleOrient="left", orient="top", symbolStrokeWidth=1.8, offset=8, **legend
        )
        color = alt.Scale(domain=methods, range=[SHADES[method].value for method in methods])
        return cls(
            alt.Color("method:N", scale=color, legend=by_method),
            alt.StrokeDash(
                "line:N",
                sort=None,
                legend=by_line if len(lines) > 1 else None,
                scale=alt.Scale(domain=lines, range=list(DASHES[: len(lines)])),
            ),
        )


def _panel(
    title: str, points: Sequence[Point], fits: Sequence[Point] | None, axes: Axes, scales: _Scales, is_first: bool
) -> alt.LayerChart:
    x = alt.X(
        "x:Q",
        title=axes.x,
        scale=alt.Scale(type="log" if axes.log_x else "linear", zero=False, nice=False, padding=8),
        axis=alt.Axis(tickCount=5, format=",d" if axes.x_values is None else "~g", **_values(axes.x_values)),
    )
    y = alt.Y(
        "y:Q",
        title=axes.y if is_first else None,
        scale=alt.Scale(type="log", nice=False, padding=8) if axes.log_y else alt.Scale(zero=True),
        axis=alt.Axis(format="~s", tickCount=6 if axes.log_y else 5),
    )
    marks = alt.Chart(alt.Data(values=[asdict(point) for point in points])).mark_point(
        filled=True, size=22, opacity=0.9
    )
    drawn = points if fits is None else fits
    lines = alt.Chart(alt.Data(values=[asdict(point) for point in drawn])).mark_line(strokeWidth=1.6, clip=True)
    layers = lines.encode(x, y, scales.color, scales.dash) + marks.encode(x, y, scales.color)
    return layers.properties(width=WIDTH, height=HEIGHT, title=title)


def _values(values: tuple[float, ...] | None) -> dict[str, list[float]]:
    return {} if values is None else {"values": list(values)}
