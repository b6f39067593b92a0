"""Draw the paper's Figures 1 to 3 in our own way: the whole, the coin with its estimate, one report.

python tools/pictures_of_the_paper.py            # writes the pictures of the guide
python tools/pictures_of_the_paper.py --check    # fails if the pictures are not what this draws
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "docs" / "images"

# colours of the page where there is one, else of paper
INK, MUTED, PAPER = "var(--ink, #1b2326)", "var(--muted, #5b666b)", "var(--paper, #ffffff)"
ACCENT, BAND, WARNING = "var(--accent, #0f5b66)", "var(--band, #d3e5e7)", "var(--published, #a8471b)"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
LINE = 17

TRUTH = (0, 0, 1, 0, 0, 0, 0, 0)  # the example of the paper's section 4.1
REPORT = (1, 0, 1, 0, 0, 1, 0, 0)


def drawing(width: int, height: int, title: str, description: str, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONT}" font-size="13">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>"
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path d="M0,0L8,4L0,8Z" fill="{MUTED}"/></marker></defs>'
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def text(x: float, y: float, words: str, *, anchor: str = "middle", fill: str = INK, weight: int = 400) -> str:
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{fill}"{bold}>{escape(words)}</text>'


def box(
    x: float, y: float, width: float, height: float, lines: Sequence[str], *, is_filled: bool = False, stroke: str = INK
) -> str:
    """A box with lines in its middle, the first one bold."""
    fill = BAND if is_filled else PAPER
    top = y + height / 2 - (len(lines) - 1) * LINE / 2 + 4.5
    words = (
        text(x + width / 2, top + LINE * n, line, weight=400 if n else 600, fill=MUTED if n else INK)
        for n, line in enumerate(lines)
    )
    rectangle = (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{fill}" stroke="{stroke}"/>'
    )
    return "\n".join([rectangle, *words])


def arrow(points: Sequence[tuple[float, float]], *, stroke: str = MUTED, is_dashed: bool = False) -> str:
    path = "M" + "L".join(f"{x:g},{y:g}" for x, y in points)
    dash = ' stroke-dasharray="5 4"' if is_dashed else ""
    return f'<path d="{path}" fill="none" stroke="{stroke}" stroke-width="1.4" marker-end="url(#head)"{dash}/>'


def flow() -> str:
    """Figure 1: from interventions to forecasts, and where raw data go round the noise."""
    boxes = [
        ((20, 60), ("interventions", "day, town"), False),
        ((190, 60), ("each location", "randomized, ε"), True),
        ((360, 60), ("reports", "added up by day"), False),
        ((530, 60), ("estimates", "of the counts"), False),
        ((530, 170), ("forecasts", "of the next day"), False),
    ]
    width, height = 140, 56
    parts = [box(x, y, width, height, lines, is_filled=filled) for (x, y), lines, filled in boxes]
    parts += [arrow([(x + width, 88), (x + 168, 88)]) for x in (20, 190, 360)]
    parts.append(arrow([(600, 116), (600, 168)]))
    parts.append(f'<path d="M345,24V240" stroke="{MUTED}" stroke-dasharray="2 4"/>')
    parts += [
        text(335, 38, "fire brigade", anchor="end", fill=MUTED),
        text(355, 38, "anyone", anchor="start", fill=MUTED),
        arrow([(90, 116), (90, 198), (528, 198)], stroke=WARNING, is_dashed=True),
        text(104, 190, "the paper's ratio: 17 exact", anchor="start", fill=WARNING),
        text(104, 216, "means of raw counts, no noise", anchor="start", fill=WARNING),
    ]
    return drawing(
        690,
        250,
        "From interventions to forecasts",
        "Each intervention's location is randomized before it leaves the fire brigade; reports are added up by day and "
        "corrected, and forecasts are made of the estimates. The paper also sends exact means of raw counts around the "
        "noise.",
        parts,
    )


def coin() -> str:
    """Figure 2: what is said by coin, and what share of yes it tells of."""
    n, share = 1_000, 0.3
    observed = share / 2 + 0.25
    error = math.sqrt(3 / (4 * n))
    parts = [
        box(20, 100, 110, 56, ("throw a coin",)),
        box(200, 40, 150, 56, ("tails, ½", "say the truth")),
        box(200, 160, 150, 56, ("heads, ½", "throw it again")),
        box(420, 130, 110, 44, ("heads: “yes”",), is_filled=True),
        box(420, 200, 110, 44, ("tails: “no”",), is_filled=True),
        box(420, 46, 110, 44, ("the truth",), is_filled=True),
        arrow([(130, 128), (165, 128), (165, 68), (198, 68)]),
        arrow([(130, 128), (165, 128), (165, 188), (198, 188)]),
        arrow([(350, 68), (418, 68)]),
        arrow([(350, 188), (385, 188), (385, 152), (418, 152)]),
        arrow([(350, 188), (385, 188), (385, 222), (418, 222)]),
    ]
    lines = (
        "“yes” is said with probability ¾ if it is true, with ¼ if not: ε = ln 3 = 1.10.",
        "If a share t would truly say yes, c = t/2 + ¼ do. So t is estimated by 2c − ½.",
        f"Of {n:,} people {share:.0%} would: about {observed:.0%} say yes, and 2 × {observed:.2f} − ½ = {share:.2f}, "
        f"give or take {error:.3f}.",
    )
    parts += [text(20, 284 + 22 * k, line, anchor="start") for k, line in enumerate(lines)]
    return drawing(
        640,
        350,
        "The coin and its estimate",
        "A coin decides whether the truth is said; if not, a second throw decides between yes and no. "
        + " ".join(lines),
        parts,
    )


def report() -> str:
    """Figure 3: a town becomes a region, a region a row of bits, and each bit may be flipped; the sum is corrected."""
    parts = [
        box(20, 40, 130, 56, ("a town", "one of 571")),
        box(220, 40, 130, 56, ("its region", "3 of 8")),
        arrow([(150, 68), (218, 68)]),
        arrow([(285, 96), (285, 124)]),
    ]
    left, side = 190, 30
    for row, (bits, y, label) in enumerate(((TRUTH, 126, "B, the truth"), (REPORT, 206, "U, what is sent"))):
        parts.append(text(left - 14, y + 20, label, anchor="end", fill=INK if row == 0 else ACCENT, weight=600))
        for place, bit in enumerate(bits):
            x = left + place * side
            is_flipped = row == 1 and bit != TRUTH[place]
            fill = BAND if bit else PAPER
            stroke = WARNING if is_flipped else INK
            parts.append(
                f'<rect x="{x}" y="{y}" width="{side - 4}" height="28" rx="3" fill="{fill}" stroke="{stroke}"/>'
            )
            parts.append(text(x + (side - 4) / 2, y + 19, str(bit), weight=600 if bit else 400))
    parts += [
        arrow([(285, 156), (285, 204)]),
        text(300, 184, "each bit is flipped with probability f/2, here f = 0.3", anchor="start", fill=MUTED),
        arrow([(285, 236), (285, 266)]),
        box(
            110,
            268,
            350,
            60,
            ("N reports are added up: Nᵢ ones for region i", "estimate (Nᵢ − f N / 2) / (1 − f)"),
        ),
    ]
    return drawing(
        640,
        350,
        "One report",
        "A town is replaced by its region, the region by a row of bits with a single one, and every bit is flipped "
        "with probability f/2 before it is sent. The sums of all reports are corrected for the flips.",
        parts,
    )


PICTURES = {"paper-flow.svg": flow, "paper-coin.svg": coin, "paper-report.svg": report}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a picture differs")
    asked = parser.parse_args()
    for name, draw in PICTURES.items():
        path = IMAGES / name
        if not asked.check:
            path.write_text(draw(), encoding="utf-8")
        elif path.read_text(encoding="utf-8") != draw():
            sys.exit(f"{name} is not what is drawn here. Run: python tools/pictures_of_the_paper.py")


if __name__ == "__main__":
    main()
