"""Draw which randomizer errs least, and write the tables beside the picture.

python tools/picture_of_choices.py            # writes the picture and the tables of the guide
python tools/picture_of_choices.py --check    # fails if the tables of the guide are not what the code gives
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import altair as alt
import numpy as np
import vl_convert

from tacit.mechanisms.planner import choose
from tacit.pages.figures.charts import ON_PAPER

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = DOCS / "guides" / "which-randomizer.md"
PICTURE = DOCS / "images" / "which-randomizer.svg"

SIZES = (2, 17, 100, 1_000, 10_000)
TABLE_EPSILONS = (0.4, 1.0, 2.0, 5.0)
LEAST, LARGEST, N_STEPS = 0.1, 8.0, 318
SHORT_BYTES = 8
BEGIN, END = "<!-- made by tools/picture_of_choices.py -->\n", "<!-- end -->\n"

TITLE = "Which randomizer errs least"
DESCRIPTION = (
    "Above, for 2, 17, 100, 1,000 and 10,000 cells, how many times larger RAPPOR's mean variance is than the best "
    "randomizer's, against epsilon from 0.1 to 8. Below, a bar for each number of cells, divided where the best one "
    "changes; once for any report and once for short ones."
)
SHADES = {
    "subset": ON_PAPER.band,
    "response": ON_PAPER.accent,
    "hashing": "#d39a44",
    "hadamard": "#ffffff",
}
DARK = {"response"}
DASHES = {"2": [1, 0], "17": [6, 3], "100": [1, 3], "1,000": [8, 3, 1, 3], "10,000": [12, 4]}
WIDTH = 640
NEAREST_LABELS = 1.24  # the ratio of two values whose labels do not touch
ALONG = alt.Scale(domain=[LEAST, LARGEST], nice=False)
TICKS = alt.Axis(values=[LEAST, 1, 2, 3, 4, 5, 6, 7, 8], format="~g")


@dataclass(frozen=True)
class Best:
    """The winner for so many cells and this epsilon."""

    n_cells: int
    epsilon: float
    name: str
    gain: float
    report_bytes: int


def best_at(n_cells: int, epsilon: float, most_bytes: int | None = None) -> Best:
    best = choose(n_cells, epsilon, most_bytes=most_bytes).candidate
    return Best(n_cells, epsilon, best.name, best.gain_over_rappor, best.report_bytes)


def table(most_bytes: int | None = None) -> str:
    """The winners as Markdown: name, RAPPOR's variance over its own, and the bytes of its report.

    With a limit only those sizes are listed of which a bit for each cell exceeds it.
    """
    sizes = [size for size in SIZES if most_bytes is None or size > 8 * most_bytes]
    lines = [
        "| ε | " + " | ".join(f"k = {size:,}" for size in sizes) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for epsilon in TABLE_EPSILONS:
        row = (best_at(size, epsilon, most_bytes) for size in sizes)
        cells = (f"{one.name} ×{one.gain:.2f}, {one.report_bytes:,} B" for one in row)
        lines.append(f"| {epsilon:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def with_tables(guide: str) -> str:
    """The guide with the tables that the code gives."""
    before, *parts = guide.split(BEGIN)
    for part, most_bytes in zip(parts, (None, SHORT_BYTES), strict=True):
        before += f"{BEGIN}\n{table(most_bytes)}\n{END}{part.partition(END)[2]}"
    return before


def runs_of(curve: list[Best]) -> Iterator[dict[str, object]]:
    """Where along epsilon the winner stays the same."""
    for name, group in groupby(curve, key=lambda one: one.name):
        run = list(group)
        last = run[-1] if run[-1] is curve[-1] else curve[curve.index(run[-1]) + 1]
        is_wide = last.epsilon - run[0].epsilon > 0.09 * len(name)
        yield {
            "cells": f"{run[0].n_cells:,}",
            "from": run[0].epsilon,
            "to": last.epsilon,
            "middle": (run[0].epsilon + last.epsilon) / 2,
            "name": name,
            "label": name if is_wide else "",
        }


def gains(curves: list[list[Best]]) -> alt.LayerChart:
    """How many times RAPPOR's variance is larger, a line for each number of cells."""
    points = [
        {"cells": f"{one.n_cells:,}", "epsilon": one.epsilon, "gain": one.gain} for curve in curves for one in curve
    ]
    ends: list[dict[str, object]] = []
    highest = float("inf")
    for curve in curves:
        highest = min(curve[-1].gain, highest / NEAREST_LABELS)
        ends.append({"epsilon": LARGEST, "gain": highest, "label": f"k = {curve[-1].n_cells:,}"})
    x = alt.X("epsilon:Q", title=None, scale=ALONG, axis=TICKS)
    y = alt.Y(
        "gain:Q",
        title=None,
        scale=alt.Scale(type="log", domain=[1, 60], nice=False),
        axis=alt.Axis(values=[1, 1.5, 2, 3, 5, 10, 20, 30, 50], format="~g"),
    )
    dash = alt.StrokeDash("cells:N", scale=alt.Scale(domain=list(DASHES), range=list(DASHES.values())), legend=None)
    lines = alt.Chart(alt.Data(values=points)).mark_line(color=ON_PAPER.accent, strokeWidth=2).encode(x, y, dash)
    labels = alt.Chart(alt.Data(values=ends)).mark_text(align="left", dx=6).encode(x, y, text="label:N")
    return (lines + labels).properties(
        width=WIDTH, height=260, title=alt.TitleParams("RAPPOR's variance, times the best one's", anchor="start")
    )


def winners(curves: list[list[Best]], title: str) -> alt.LayerChart:
    """Who errs least: a bar for each number of cells, divided where the best changes."""
    runs = [run for curve in curves for run in runs_of(curve)]
    y = alt.Y("cells:N", sort=list(DASHES), title=None, axis=alt.Axis(labelExpr="'k = ' + datum.label"))
    shade = alt.Color(
        "name:N",
        scale=alt.Scale(domain=list(SHADES), range=list(SHADES.values())),
        legend=alt.Legend(title=None, orient="bottom", symbolStrokeColor=ON_PAPER.ink, symbolType="square"),
    )
    ink = alt.condition(
        alt.FieldOneOfPredicate("name", sorted(DARK)), alt.value(ON_PAPER.paper), alt.value(ON_PAPER.ink)
    )
    bars = (
        alt.Chart(alt.Data(values=runs))
        .mark_rect(stroke=ON_PAPER.ink, strokeWidth=0.75, height=26)
        .encode(alt.X("from:Q", title="ε", scale=ALONG, axis=TICKS), y, x2="to:Q", color=shade)
    )
    words = (
        alt.Chart(alt.Data(values=runs))
        .mark_text()
        .encode(alt.X("middle:Q", title="ε", scale=ALONG, axis=TICKS), y, text="label:N", color=ink)
    )
    return (bars + words).properties(width=WIDTH, height=180, title=alt.TitleParams(title, anchor="start"))


def picture() -> str:
    epsilons = np.linspace(LEAST, LARGEST, N_STEPS).tolist()
    free, short = (
        [[best_at(size, epsilon, most_bytes) for epsilon in epsilons] for size in SIZES]
        for most_bytes in (None, SHORT_BYTES)
    )
    panels = (
        gains(free),
        winners(free, "the randomizer of least variance"),
        winners(short, f"the same among reports of at most {SHORT_BYTES} bytes"),
    )
    # the headless renderer measures letters a little short: room for the longest labels
    room = {"left": 20, "right": 24, "top": 5, "bottom": 5}
    chart = alt.vconcat(*panels).properties(padding=room).configure(**ON_PAPER.config())
    opening, mark, rest = vl_convert.vegalite_to_svg(chart.to_dict()).partition(">")
    return f"{opening}{mark}<title>{TITLE}</title><desc>{DESCRIPTION}</desc>{rest}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the tables are not what the code gives"
    )
    asked = parser.parse_args()
    guide = GUIDE.read_text(encoding="utf-8")
    if asked.check:
        if with_tables(guide) != guide:
            sys.exit(f"{GUIDE.name}: the tables are not what the code gives. Run: python tools/picture_of_choices.py")
        return
    GUIDE.write_text(with_tables(guide), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
