"""Charts as functions of counts: each returns an Altair chart that is complete in itself.

The rows stand in named data sets (``series``, ``places``, ``choices``), and ``picked`` holds the period under the
reader's pointer or cursor, so that a page can exchange them without drawing the chart again.

Axes and scales are plain dictionaries: Altair copies every object with each layer, with the hundred settings of an
``Axis`` that are not set, a third of the time that the charts of a page take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tacit._base.extras import require
from tacit._base.languages import ENGLISH, gettext, message, spoken
from tacit.pages.figures.accuracy import Choice
from tacit.pages.figures.counts import Counts, rows_of
from tacit.pages.figures.maps import TileMap

if TYPE_CHECKING:
    import altair

_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a figure."""

    paper: str
    ink: str
    muted: str
    rule: str
    accent: str
    band: str

    def config(self) -> dict[str, Any]:
        """Return the Vega-Lite configuration of every chart."""
        return {
            "background": self.paper,
            "font": _FONT,
            "view": {"stroke": None},
            "axis": {
                "domainColor": self.muted,
                "tickColor": self.muted,
                "gridColor": self.rule,
                "labelColor": self.ink,
                "titleColor": self.muted,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "labelPadding": 5,
                "tickSize": 4,
            },
            "axisX": {"grid": False},
            "axisY": {"domain": False, "ticks": False},
            "text": {"color": self.ink, "fontSize": 12},
        }


ON_PAPER: Final = Palette(
    paper="#ffffff", ink="#1b2326", muted="#5b666b", rule="#dfe4e6", accent="#0f5b66", band="#d3e5e7"
)

# names of the page's style, so that dark screens and print recolour charts without redrawing them
ON_PAGE: Final = Palette(
    paper="var(--paper)",
    ink="var(--ink)",
    muted="var(--muted)",
    rule="var(--rule)",
    accent="var(--accent)",
    band="var(--band)",
)


MOST_PLACES: Final = 30  # a choice: so many rows fill a tall screen; of more a page has a list to search in
LABORATORY: Final = message("LABORATORY – not for publication")
_SMALL_HEIGHT: Final = 90  # pixels: three labels of the axis above one another; halved, two of them touch
_ROW_HEIGHT: Final = 30  # pixels: a line of 12 and room to point at it; halved, names touch
_TILE: Final = 110  # pixels: a name of fifteen letters; halved, names are cut
NUMBER: Final = ",~f"
# on a narrow page names give way to bars; outside of a page the container has no size
_NAME_WIDTH: Final = "containerSize()[0] < 420 ? 150 : 170"
# English dates as Vega writes them; French ones have the day before the month, and hours up to 24
_TIME_FORMATS: Final[dict[str, dict[str, Any]]] = {
    ENGLISH: {},
    "fr": {"format": {"week": "%-d %b", "date": "%a %-d", "hours": "%H h", "minutes": "%H:%M"}},
}
# ticks of a logarithmic scale, from a tenth to millions of events
_ROUND_NUMBERS: Final = tuple(step * 10**power for power in range(-1, 7) for step in (1, 2, 5))


def series_chart(
    counts: Counts,
    place: int,
    *,
    truth: Sequence[int] | None = None,
    height: int = 240,
    palette: Palette = ON_PAPER,
) -> altair.LayerChart:
    """Draw one place through time: a line in the band of its limits; open circles are periods counted in part.

    On the base line squares are counts that are suppressed, and crosses periods without data.
    """
    alt = require("altair", extra="pages")
    columns = counts.period_columns() | counts.series_columns(place)
    if truth is not None:
        columns["truth"] = list(truth)
    rows = rows_of(columns)
    x, y = time_axes(alt)
    base = alt.Chart(alt.Data(name="series", values=rows)).encode(x=x)
    limits = {"strokeDash": [2, 2], "strokeWidth": 0.8, "color": palette.muted, "aria": False}
    layers = []
    if not counts.is_exact:
        layers += [
            base.mark_area(color=palette.band, aria=False).encode(y=alt.Y("lower:Q", **y), y2=alt.Y2("upper:Q")),
            base.mark_line(**limits).encode(y=alt.Y("lower:Q", **y)),
            base.mark_line(**limits).encode(y=alt.Y("upper:Q", **y)),
        ]
    layers.append(base.mark_line(color=palette.accent, strokeWidth=1.8, aria=False).encode(y=alt.Y("shown:Q", **y)))
    open_circle = {"color": palette.accent, "fill": palette.paper, "size": 40, "aria": False}
    is_seen = alt.OpacityValue(0, condition={"test": "datum.partial", "value": 1})
    layers.append(base.mark_point(**open_circle).encode(y=alt.Y("shown:Q"), opacity=is_seen))
    mark = {"color": palette.muted, "aria": False}
    layers += [
        base.mark_point(shape="square", size=22, strokeWidth=1.2, **mark).encode(**_on_base_line(alt, "suppressed")),
        base.mark_text(text="×", fontSize=13, **mark).encode(**_on_base_line(alt, "missing")),
    ]
    if truth is not None:
        layers.append(
            base.mark_line(color=palette.ink, strokeDash=[6, 3], strokeWidth=1.2, aria=False).encode(y=alt.Y("truth:Q"))
        )
    layers += picked(alt, palette, rows[0], ("lower", "shown", "upper"))
    if truth is not None:
        layers.append(watermark(alt, palette))
    return finished(layers, palette, height=height)


def small_chart(counts: Counts, *, palette: Palette = ON_PAPER) -> altair.LayerChart:
    """Draw one of many small charts through time that share their scales: a line in the band of its limits.

    The data set ``top`` holds the largest number of all of them, up to which each one reaches.
    """
    alt = require("altair", extra="pages")
    rows = rows_of(counts.period_columns() | counts.series_columns(0))
    axis = {**_TIME_FORMATS[spoken()], "labelFlush": True, "labelFontSize": 11, "labelOverlap": True, "tickCount": 3}
    x = alt.X("start:T", title=None, scale={"type": "utc"}, axis=axis)
    y = {"title": None, "axis": {"format": NUMBER, "labelFontSize": 11, "tickCount": 3}}
    base = alt.Chart(alt.Data(name="series", values=rows)).encode(x=x)
    top = alt.Chart(alt.Data(name="top", values=[{"top": float(counts.upper.max(initial=0.0))}]))
    layers = [top.mark_point(opacity=0, aria=False).encode(y=alt.Y("top:Q", **y))]
    if not counts.is_exact:
        layers.append(base.mark_area(color=palette.band, aria=False).encode(y=alt.Y("lower:Q", **y), y2="upper:Q"))
    line = base.mark_line(color=palette.accent, strokeWidth=1.5, aria=False)
    layers.append(line.encode(y=alt.Y("shown:Q", **y)))
    return finished(layers, palette, height=_SMALL_HEIGHT)


def places_chart(
    counts: Counts,
    period: int,
    names: Sequence[str],
    *,
    truth: Sequence[int] | None = None,
    most: int = MOST_PLACES,
    palette: Palette = ON_PAPER,
) -> altair.LayerChart:
    """Draw the largest places in one period: a dot in its interval, hollow where it says little. Root scale.

    A place without a number has a word instead.
    """
    alt = require("altair", extra="pages")
    order = np.argsort(-counts.values[period], kind="stable")[:most]
    columns = {"name": [names[n] for n in order]} | counts.of_places(order).places_columns(period)
    if truth is not None:
        columns["truth"] = [truth[n] for n in order]
    base = alt.Chart(alt.Data(name="places", values=rows_of(columns))).encode(
        y=alt.Y(
            "name:N",
            title=None,
            sort=alt.EncodingSortField("estimate", op="max", order="descending"),
            axis={"grid": True, "gridDash": [1, 3], "labelLimit": alt.expr(_NAME_WIDTH)},
        )
    )
    # counts of places are skewed, and so are their errors: the root gives small ones room
    x = {"title": None, "scale": {"type": "sqrt"}, "axis": _count_axis(alt)}
    tooltip = [
        alt.Tooltip("place:N", title=gettext("Place")),
        alt.Tooltip("estimate:Q", title=gettext("Estimate"), format=",.0f"),
        alt.Tooltip("lower:Q", title=gettext("From"), format=",.0f"),
        alt.Tooltip("upper:Q", title=gettext("To"), format=",.0f"),
    ]
    unsure = "!datum.reliable"
    whisker = base.mark_rule(strokeWidth=2.5, color=palette.accent, aria=False).encode(
        x=alt.X("lower:Q", **x),
        x2=alt.X2("upper:Q"),
        strokeDash=alt.StrokeDashValue([1, 0], condition={"test": unsure, "value": [2, 3]}),
    )
    dot = base.mark_point(size=26, color=palette.accent, strokeWidth=1.6, opacity=1, aria=False).encode(
        x=alt.X("shown:Q", **x),
        fill=alt.FillValue(palette.accent, condition={"test": unsure, "value": palette.paper}),
        tooltip=tooltip,
    )
    word = base.mark_text(align="left", dx=6, fontStyle="italic", color=palette.muted, aria=False).encode(
        x=alt.XValue(0),
        text=alt.TextValue("", condition={"test": "isValid(datum.word)", "field": "word", "type": "nominal"}),
    )
    layers = [whisker, dot, word]
    if truth is not None:
        tick = base.mark_tick(size=16, thickness=2.5, color=palette.ink, opacity=1, aria=False)
        layers += [tick.encode(x=alt.X("truth:Q", **x)), watermark(alt, palette)]
    return finished(layers, palette, height=_ROW_HEIGHT * len(order))


def tiles_chart(
    counts: Counts, period: int, tiles: TileMap, names: Sequence[str], *, palette: Palette = ON_PAPER
) -> altair.LayerChart:
    """Draw the places of one period as tiles: darker is more; unsure counts show their interval on white."""
    alt = require("altair", extra="pages")
    columns = counts.places_columns(period)
    shown = zip(columns["shown"], columns["lower"], columns["upper"], columns["reliable"], strict=True)
    columns["name"] = list(names)
    columns["label"] = [
        "" if value is None else f"{value:,.0f}" if is_sure else f"{low:,.0f}–{high:,.0f}"
        for value, low, high, is_sure in shown
    ]
    columns["column"], columns["row"] = map(list, zip(*tiles.tiles, strict=True))
    place = {"axis": None, "scale": {"padding": 0.04}}
    base = alt.Chart(alt.Data(name="places", values=rows_of(columns))).encode(
        x=alt.X("column:O", **place), y=alt.Y("row:O", **place)
    )
    shade = alt.Color("shown:Q", scale={"range": [palette.band, palette.accent]}, legend=None)
    unsure = "!datum.reliable || !isValid(datum.shown)"
    tile = base.mark_rect(stroke=palette.rule).encode(
        color=alt.condition(unsure, alt.value(palette.paper), shade),
        tooltip=[alt.Tooltip("place:N", title=gettext("Place")), alt.Tooltip("label:N", title=gettext("Events"))],
    )
    # light words on dark tiles
    dark = f"datum.reliable && datum.shown > {0.6 * float(counts.shown[period].max(initial=1.0))}"
    ink = alt.condition(dark, alt.value(palette.paper), alt.value(palette.ink))
    word = base.mark_text(dy=-8, fontSize=11, limit=_TILE).encode(text="name:N", color=ink)
    number = base.mark_text(dy=9, fontSize=13, limit=_TILE).encode(text="label:N", color=ink)
    drawn: altair.LayerChart = (
        alt.layer(tile, word, number)
        .properties(width=_TILE * tiles.n_columns, height=0.6 * _TILE * tiles.n_rows)
        .configure(**palette.config())
    )
    return drawn


def choices_chart(choices: Sequence[Choice], kind: int = 0, *, palette: Palette = ON_PAPER) -> altair.LayerChart:
    """Draw a place's standard error against epsilon, both on logarithmic scales; a diamond is this release.

    The line is that of releases made alike; one that is compared with RAPPOR instead stands beside the line.
    """
    alt = require("altair", extra="pages")
    rows = [
        {
            "epsilon": round(c.epsilon, 3),
            "error": round(c.errors[kind], 2),
            "chosen": c.is_chosen,
            "on_line": c.on_line,
        }
        for c in choices
    ]
    # the line falls to the right: words stand above it, or on its other side
    line = {c.epsilon: c.errors[kind] for c in choices if c.on_line}
    own = {c.epsilon: c.errors[kind] for c in choices if c.is_chosen}
    is_below = any(error < line[epsilon] for epsilon, error in own.items())
    beside = {"dx": -12, "dy": 12, "align": "right"} if is_below else {"dx": 12, "dy": -8, "align": "left"}
    base = alt.Chart(alt.Data(name="choices", values=rows)).encode(
        x=alt.X(
            "epsilon:Q",
            title=gettext("epsilon (more protection on the left)"),
            scale={"nice": False, "type": "log"},
            axis={"format": ".1f", "values": [epsilon for epsilon in line if epsilon not in own]},
        ),
        y=alt.Y("error:Q", title=None, scale={"type": "log"}, axis={"format": NUMBER, "values": _ROUND_NUMBERS}),
        tooltip=[
            alt.Tooltip("epsilon:Q", title=gettext("Epsilon"), format=".2f"),
            alt.Tooltip("error:Q", title=gettext("Standard error"), format=",.0f"),
        ],
    )
    layers = [
        base.transform_filter("datum.on_line").mark_line(
            color=palette.muted, strokeWidth=1.2, interpolate="monotone", aria=False
        ),
        base.transform_filter("!datum.chosen").mark_point(color=palette.muted, fill=palette.paper, size=40, aria=False),
        base.transform_filter("datum.chosen").mark_point(
            shape="diamond", color=palette.accent, fill=palette.accent, opacity=1, size=150, aria=False
        ),
        base.transform_filter("datum.chosen").mark_text(
            text=gettext("this release"), fontWeight="bold", aria=False, **beside
        ),
    ]
    return finished(layers, palette, height=220)


def finished(layers: Sequence[Any], palette: Palette, *, height: Any) -> altair.LayerChart:
    """Return the layers as one chart, as wide as its container, in the colours of a palette."""
    autosize = {"type": "fit-x", "contains": "padding"}
    # made at once: each later property would copy all layers with their rows
    drawn: altair.LayerChart = require("altair", extra="pages").layer(
        *layers, width="container", height=height, autosize=autosize, config=palette.config()
    )
    return drawn


def _on_base_line(alt: Any, status: str) -> dict[str, Any]:
    """Return the encoding of a mark on the base line that is seen for counts of this status alone."""
    is_seen = alt.OpacityValue(0, condition={"test": f"datum.status === '{status}'", "value": 1})
    return {"y": alt.YValue(alt.expr("height - 5")), "opacity": is_seen}


def _count_axis(alt: Any) -> Any:
    # ticks spread on a root scale, by the power of ten of the largest count
    power = "pow(10, floor(log(max(domain('x')[1], 1)) / LN10 + 1e-9))"
    small = "[0, 1, 2, 5]"  # counts are whole numbers
    ticks = f"({power} < 10 ? {small} : [0, {power} / 10, {power} / 2, {power}, {power} * 2, {power} * 5])"
    # where there is no number at all, ticks would lie on top of each other
    values = alt.expr(f"domain('x')[1] > domain('x')[0] ? {ticks} : []")
    return {
        "domain": False,
        "format": NUMBER,
        "grid": True,
        "labelFlush": True,
        "labelOverlap": "greedy",
        "orient": "top",
        "values": values,
    }


def time_axes(alt: Any) -> tuple[Any, dict[str, Any]]:
    """Return the horizontal axis of time, and the settings of the vertical one, of counts."""
    axis = {**_TIME_FORMATS[spoken()], "labelFlush": True, "labelOverlap": True, "tickCount": 8}
    x = alt.X("start:T", title=None, scale={"type": "utc"}, axis=axis)
    return x, {"title": None, "axis": {"format": NUMBER, "tickCount": 4}}


def picked(alt: Any, palette: Palette, first: dict[str, Any], columns: tuple[str, str, str]) -> list[Any]:
    """Return the period being read, by its columns of limits and value: it is invisible until a page marks it."""
    lower, value, upper = columns
    base = alt.Chart(alt.Data(name="picked", values=[first | {"marked": 0}])).encode(
        x=alt.X("start:T"), opacity=alt.Opacity("marked:Q", scale=None, legend=None)
    )
    return [
        base.mark_rule(color=palette.ink, strokeWidth=0.8, aria=False).encode(
            y=alt.Y(f"{lower}:Q"), y2=alt.Y2(f"{upper}:Q")
        ),
        base.mark_point(filled=True, size=60, color=palette.ink, aria=False).encode(y=alt.Y(f"{value}:Q")),
    ]


def watermark(alt: Any, palette: Palette) -> Any:
    """Return the laboratory's mark across a chart."""
    return (
        alt.Chart(alt.Data(values=[{}]))
        .mark_text(
            text=gettext(LABORATORY),
            angle=340,
            opacity=0.28,
            fontWeight="bold",
            fontSize=alt.expr("max(12, min(34, width / 20))"),
            color=palette.ink,
            aria=False,
        )
        .encode(x=alt.XValue(alt.expr("width / 2")), y=alt.YValue(alt.expr("height / 2")))
    )
