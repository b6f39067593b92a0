"""The two figures as charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt
import numpy as np
from experiments.findings import Shade
from numpy.typing import NDArray

from tacit.publication.laboratory import PERIODS, epsilon_of

METHODS: Final = alt.Scale(domain=["as published", "Tacit"], range=[Shade.PUBLISHED, Shade.TACIT])
DASHES: Final = alt.Scale(domain=["as published", "Tacit"], range=[[1, 0], [5, 3]])
SHAPES: Final = alt.Scale(domain=["0.1", "0.5", "0.9"], range=["circle", "square", "triangle-up"])
PANELS: Final = {"year": "each year", "month": "last 8 months of 2018", "day": "last 8 days of December 2018"}


def lines_against_epsilon(rates: Mapping[tuple[str, str, float], NDArray[np.float64]]) -> alt.HConcatChart:
    """A panel for years, months and days: a thin line for every period, a thick one for their mean."""
    highest = max(float(rate.max()) for rate in rates.values())
    panels = []
    for number, period in enumerate(PERIODS):
        shown = {(method, f): rate for (method, its, f), rate in rates.items() if its == period}
        x = alt.X(
            "epsilon:Q",
            title="ε",
            scale=alt.Scale(type="log", domain=[0.38, 6.2], nice=False),
            axis=alt.Axis(values=[0.4, 0.8, 1.7, 2.8, 5.9], format="~g"),
        )
        y = alt.Y(
            "rate:Q",
            title="error rate ER" if number == 0 else None,
            scale=alt.Scale(domain=[0, highest]),
            axis=alt.Axis(tickCount=5),
        )
        colour = alt.Color(
            "method:N",
            scale=METHODS,
            legend=alt.Legend(title=None, orient="bottom", symbolOpacity=1, symbolStrokeWidth=2.6),
        )
        each = [
            {"epsilon": epsilon_of(f), "rate": float(value), "method": method, "line": f"{method} {line}"}
            for (method, f), rate in shown.items()
            for line, value in enumerate(rate)
        ]
        means = [
            {"epsilon": epsilon_of(f), "rate": float(rate.mean()), "method": method}
            for (method, f), rate in shown.items()
        ]
        thin = (
            alt.Chart(alt.Data(values=each))
            .mark_line(strokeWidth=0.7, opacity=0.45)
            .encode(x, y, colour, detail="line:N")
        )
        thick = (
            alt.Chart(alt.Data(values=means))
            .mark_line(strokeWidth=2.6)
            .encode(x, y, colour, strokeDash=alt.StrokeDash("method:N", scale=DASHES, legend=None))
        )
        panels.append((thin + thick).properties(width=205, height=240, title=PANELS[period]))
    return alt.hconcat(*panels, spacing=14)


def counts_beside(
    panels: Sequence[tuple[str, float, Mapping[str, NDArray[np.float64]]]], names: Sequence[str]
) -> alt.VConcatChart:
    """For each period two panels: true counts and estimates as published; the same with Tacit's estimates."""
    periods = list(dict.fromkeys(label for label, _, _ in panels))
    return alt.vconcat(
        *(
            alt.hconcat(*(_estimates(panels, label, method, names) for method in ("as published", "Tacit")), spacing=18)
            for label in periods
        )
    )


def _estimates(panels: Sequence[Any], label: str, method: str, names: Sequence[str]) -> alt.LayerChart:
    rows: list[dict[str, Any]] = []
    for its, f, counts in panels:
        if its == label:
            rows += [
                {"name": name, "f": f"{f:.1f}", "count": max(0.0, float(count)), "truth": float(truth)}
                for name, count, truth in zip(names, counts[method], counts["truth"], strict=True)
            ]
    largest = max(
        float(np.max([counts[name] for name in ("truth", "as published", "Tacit")]))
        for its, _, counts in panels
        if its == label
    )
    x: dict[str, Any] = {
        "title": None,
        "scale": alt.Scale(type="sqrt", domain=[0, largest], nice=False),
        "axis": alt.Axis(tickCount=5, format=",~f", labelOverlap="greedy", labelSeparation=8),
    }
    is_left = method == "as published"
    y = alt.Y(
        "name:N",
        title=None,
        sort=list(names),
        axis=alt.Axis(labels=is_left, labelLimit=220, grid=True, gridDash=[1, 3]),
    )
    data = alt.Data(values=rows)
    bars = (
        alt.Chart(data)
        .transform_filter("datum.f == '0.1'")
        .mark_bar(color="var(--band)", stroke=Shade.TRUTH, strokeWidth=0.6, height=9)
        .encode(y=y, x=alt.X("truth:Q", **x))
    )
    shapes = (
        alt.Chart(data)
        .mark_point(size=42, strokeWidth=1.5, color=Shade.PUBLISHED if is_left else Shade.TACIT, opacity=1)
        .encode(
            y=y,
            x=alt.X("count:Q", **x),
            shape=alt.Shape("f:N", scale=SHAPES, legend=alt.Legend(title="f", orient="bottom") if is_left else None),
        )
    )
    return (bars + shapes).properties(width=250, height=17 * 16, title=f"{label}, {method}")
