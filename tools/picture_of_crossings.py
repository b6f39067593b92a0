"""Draw from which length on a hierarchy beats flat counts, and write the tables beside the picture.

python tools/picture_of_crossings.py            # writes the picture and the tables of the guide
python tools/picture_of_crossings.py --check    # fails if the tables of the guide are not what the code gives
"""

from __future__ import annotations

import argparse
import math
import sys
from functools import lru_cache
from pathlib import Path

import altair as alt
import vl_convert

from tacit.mechanisms.planner import (
    CURATOR,
    NOBODY,
    Question,
    Situation,
    central,
    crossings,
    local,
    thesis_error,
    thesis_rule,
)
from tacit.pages.figures.charts import ON_PAPER

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = DOCS / "guides" / "flat-or-tree.md"
PICTURE = DOCS / "images" / "flat-or-tree.svg"

SIZES = (32, 64, 128, 256, 512, 1024, 2048, 8192, 65_536, 1 << 20)
TABLE_SIZES = (32, 64, 256, 512, 2048, 65_536, 1 << 20)
ERROR_SIZES = (32, 512, 2048, 65_536, 1 << 20)
DEGREES = (2, 4, 16)
EPSILON = 1.0
BEGIN, END = "<!-- made by tools/picture_of_crossings.py -->\n", "<!-- end -->\n"

TITLE = "From which length on a hierarchy beats flat counts"
DESCRIPTION = (
    "Against domains of 32 to about a million bins, the length of ranges from which on a tree of degree 2, 4 or 16 "
    "errs less than flat counts: for a curator, for devices, and by the thesis' rule for degree 2; and a "
    "line where the length is the whole domain."
)
WIDTH, HEIGHT = 620, 380
RULE, DOMAIN = "the thesis' rule, degree 2", "the whole domain"
LINES = {  # color and dash
    RULE: ("#d39a44", [1, 0]),
    DOMAIN: ("#999999", [1, 3]),
    "curator, degree 2": (ON_PAPER.accent, [1, 0]),
    "curator, degree 4": (ON_PAPER.accent, [8, 3]),
    "curator, degree 16": (ON_PAPER.accent, [2, 3]),
    "devices, degree 2": (ON_PAPER.ink, [1, 0]),
    "devices, degree 16": (ON_PAPER.ink, [2, 3]),
}


def situation(n_bins: int, trust: str) -> Situation:
    # a curator's crossing does not depend on the number of events, nor do devices', whose errors all grow alike
    return Situation(n_bins=n_bins, n_events=1000.0 * n_bins, trust=trust, epsilon=EPSILON)


@lru_cache
def lengths(n_bins: int, trust: str) -> dict[int, int | None]:
    return crossings(situation(n_bins, trust), DEGREES)


def crossing_row(n_bins: int) -> str:
    """From which lengths on trees err less, as a line of Markdown."""
    rule = thesis_rule(n_bins, 2)
    cells = [f"{n_bins:,}", f"{rule:,}" + (" (beyond them)" if rule > n_bins else "")]
    for trust in (CURATOR, NOBODY):
        found = lengths(n_bins, trust)
        cells += ["never" if found.get(degree) is None else f"{found[degree]:,}" for degree in DEGREES]
    return "| " + " | ".join(cells) + " |\n"


def crossing_table() -> str:
    headings = ["bins", "thesis' rule, B = 2"]
    headings += [f"{who}, B = {degree}" for who in ("curator", "devices") for degree in DEGREES]
    return _head(headings) + "".join(map(crossing_row, TABLE_SIZES))


def error_row(n_bins: int) -> str:
    """The errors over ranges of any length, as a line of Markdown: flat counts beside trees."""
    asked = Question("ranges")
    thesis = min(thesis_error(n_bins, degree, EPSILON) for degree in (2, 3, 4))
    cells = [f"{n_bins:,}", f"{thesis:.1f}"]
    curator, devices = situation(n_bins, CURATOR), situation(n_bins, NOBODY)
    for flats, trees, unit in (
        (central.flat_contenders(curator), central.designed_contenders(curator), 1.0),
        (local.flat_contenders(devices), local.tree_contenders(devices, [2]), devices.n_events**0.5),
    ):
        flat, tree = (min([one.rmse(asked, n_bins) for one in some] or [math.inf]) / unit for some in (flats, trees))
        shape = trees[0].shape if trees else "flat"
        cells += [f"{flat:.1f}", f"{min(flat, tree):.1f} ({shape})"]
    return "| " + " | ".join(cells) + " |\n"


def error_table() -> str:
    headings = ["bins", "the thesis' tree", "curator, flat", "curator, best tree", "devices, flat", "devices, tree"]
    return _head(headings) + "".join(map(error_row, ERROR_SIZES))


def _head(headings: list[str]) -> str:
    return "| " + " | ".join(headings) + " |\n" + "|---" * len(headings) + "|\n"


def with_tables(guide: str) -> str:
    """The guide with the tables that the code gives."""
    before, *parts = guide.split(BEGIN)
    for part, table in zip(parts, (crossing_table, error_table), strict=True):
        before += f"{BEGIN}\n{table()}\n{END}{part.partition(END)[2]}"
    return before


def picture() -> str:
    points = []
    for n_bins in SIZES:
        found: dict[str, int | None] = {RULE: thesis_rule(n_bins, 2), DOMAIN: n_bins}
        for who, trust in (("curator", CURATOR), ("devices", NOBODY)):
            found |= {f"{who}, degree {degree}": length for degree, length in lengths(n_bins, trust).items()}
        points += [
            {"bins": n_bins, "length": length, "what": what}
            for what, length in found.items()
            if what in LINES and length is not None and length <= 2_000
        ]
    x = alt.X(
        "bins:Q",
        title="bins in the domain",
        scale=alt.Scale(type="log", base=2, domain=[SIZES[0], SIZES[-1]], nice=False),
        axis=alt.Axis(values=[32, 128, 512, 2048, 8192, 65_536, 1 << 20], format=",d"),
    )
    y = alt.Y(
        "length:Q",
        title="length of the range",
        scale=alt.Scale(type="log", domain=[2, 2_000], nice=False),
        axis=alt.Axis(values=[2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000], format=",d"),
    )
    names = list(LINES)
    legend = alt.Legend(title=None, orient="right", symbolType="stroke", symbolSize=400, labelLimit=260)
    color = alt.Color("what:N", scale=alt.Scale(domain=names, range=[LINES[name][0] for name in names]), legend=legend)
    dash = alt.StrokeDash(
        "what:N", scale=alt.Scale(domain=names, range=[LINES[name][1] for name in names]), legend=legend
    )
    lines = alt.Chart(alt.Data(values=points)).mark_line(strokeWidth=2, clip=True).encode(x, y, color, dash)
    dots = alt.Chart(alt.Data(values=points)).mark_point(filled=True, size=18).encode(x, y, color)
    # the headless renderer measures letters a little short: room for the longest labels
    room = {"left": 20, "right": 40, "top": 5, "bottom": 5}
    chart = (lines + dots).properties(width=WIDTH, height=HEIGHT, padding=room).configure(**ON_PAPER.config())
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
            sys.exit(f"{GUIDE.name}: the tables are not what the code gives. Run: python tools/picture_of_crossings.py")
        return
    GUIDE.write_text(with_tables(guide), encoding="utf-8")
    PICTURE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
