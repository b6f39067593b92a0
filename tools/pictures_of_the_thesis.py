"""Draw the thesis' Figures 3 to 5 from the package's trees, and write the list of verdicts on its claims.

python tools/pictures_of_the_thesis.py               # draws the pictures
python tools/pictures_of_the_thesis.py --check       # fails if the pictures are not what this draws
python tools/pictures_of_the_thesis.py --verdicts    # writes the list from what the experiments left in out/
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from tacit.domain.hierarchy import Hierarchy, Node
from tacit.mechanisms.local.randomized_response import RandomizedResponse

ROOT = Path(__file__).parents[1]
VERDICTS = ROOT / "experiments" / "verdicts.md"
IMAGES = ROOT / "docs" / "images"
EXPERIMENTS = ("thesis_flat", "thesis_trees", "thesis_sanity", "thesis_bounds")
BEGIN, END = "<!-- made by tools/pictures_of_the_thesis.py -->\n", "<!-- end -->\n"
HOLDING = "| where | claim that holds |\n|---|---|\n"
OTHERS = "| where | claim | verdict | because |\n|---|---|---|---|\n"

VALUE, EPSILON = 2, 1.0
FIRST, LAST, N_DAYS = 2, 22, 32
LEVEL, TITLE = 58, 26

# colours of the page where there is one, else of paper
INK, MUTED, PAPER = "var(--ink, #1b2326)", "var(--muted, #5b666b)", "var(--paper, #ffffff)"
ACCENT, BAND, SECOND = "var(--accent, #0f5b66)", "var(--band, #d3e5e7)", "var(--published, #a8471b)"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if the pictures are not what this draws"
    )
    parser.add_argument("--verdicts", action="store_true", help="write the list of verdicts from what experiments left")
    asked = parser.parse_args()
    if asked.verdicts:
        VERDICTS.write_text(with_verdicts(VERDICTS.read_text(encoding="utf-8"), findings()), encoding="utf-8")
        return
    for name, svg in pictures().items():
        if asked.check and (IMAGES / name).read_text(encoding="utf-8") != svg:
            sys.exit(f"{name} is not what this draws. Run: python tools/pictures_of_the_thesis.py")
        if not asked.check:
            (IMAGES / name).write_text(svg, encoding="utf-8")


def pictures() -> dict[str, str]:
    """The three illustrations by the names of their files."""
    return {
        "thesis-tree.svg": tree_of_intervals(),
        "thesis-device.svg": view_of_a_device(),
        "thesis-range.svg": search_of_a_range(),
    }


def tree_of_intervals() -> str:
    """Figure 3: every node is a range of days."""
    tree = Hierarchy.of_degree(8, 2)
    labels = {node: words(tree, node) for node in nodes_of(tree)}
    return drawn(
        [panel(tree, labels)],
        "A tree of intervals over eight days",
        "A root that holds the days 0 to 7, two nodes of four days, four of two, and eight single days.",
    )


def view_of_a_device() -> str:
    """Figure 4: the path of one value, and with what chance each node of the last level is reported."""
    tree = Hierarchy.of_degree(8, 2)
    path = {(level, index) for level, index in enumerate(nodes_on_path(tree, VALUE))}
    own = {node: str(int(node in path)) for node in nodes_of(tree)}
    chances = [float(chance) for chance in RandomizedResponse.from_epsilon(epsilon=EPSILON, n_cells=8).channel()[VALUE]]
    last = tree.n_levels - 1
    reported = {node: f"{chances[node[1]]:.0%}" if node[0] == last else "" for node in nodes_of(tree)}
    return drawn(
        [
            panel(tree, own, marked=path, title=f"The value {VALUE}: a one on each level"),
            panel(tree, reported, marked={(last, VALUE)}, title=f"Chance to be reported, if level {last} is, at ε = 1"),
        ],
        "What a device holds, and what it reports",
        f"Two trees over eight days. In the first the nodes above day {VALUE} hold a one, all others a zero. In the "
        f"second each day of the last level has the chance to be reported: {chances[VALUE]:.0%} the true one, "
        f"{chances[0]:.0%} each other.",
    )


def search_of_a_range() -> str:
    """Figure 5: the fewest nodes that make up a range lie between two paths."""
    tree = Hierarchy.of_degree(N_DAYS, 2)
    used = set(tree.decompose(FIRST, LAST + 1))
    labels = {node: words(tree, node) if node in used else "" for node in nodes_of(tree)}
    paths = {
        ACCENT: nodes_on_path(tree, FIRST - 1),
        SECOND: nodes_on_path(tree, LAST + 1),
    }
    names = ", ".join(words(tree, node) for node in sorted(used, key=lambda node: tree.leaves(*node).start))
    return drawn(
        [panel(tree, labels, marked=used, paths=paths, step=28)],
        f"The days {FIRST} to {LAST} out of {N_DAYS}",
        f"A tree over {N_DAYS} days with the paths to day {FIRST - 1} and to day {LAST + 1}. Marked are the nodes "
        f"between them that make up the range: {names}.",
    )


@dataclass(frozen=True)
class Panel:
    """A drawing and its size."""

    width: int
    height: int
    parts: list[str]


def nodes_of(tree: Hierarchy) -> Iterator[Node]:
    return ((level, index) for level, size in enumerate(tree.level_sizes) for index in range(size))


def nodes_on_path(tree: Hierarchy, leaf: int) -> list[int]:
    """The index of the node that holds a leaf, on each level."""
    return tree.path(leaf)[::-1]


def words(tree: Hierarchy, node: Node) -> str:
    days = tree.leaves(*node)
    return f"{days.start}" if len(days) == 1 else f"{days.start}–{days.stop - 1}"


def panel(
    tree: Hierarchy,
    labels: Mapping[Node, str],
    *,
    marked: set[Node] | None = None,
    paths: Mapping[str, Sequence[int]] | None = None,
    title: str = "",
    step: int = 84,
) -> Panel:
    """A tree with its root above; edges on a path are drawn in its colour, the wide ones last."""
    top = TITLE if title else 6
    edges, dots = [], []
    for node in nodes_of(tree):
        level, index = node
        x, y = position(tree, node, step, top)
        colors = [color for color, path in (paths or {}).items() if path[level] == index]
        if level:
            above_x, above_y = position(tree, tree.parent(level, index), step, top)
            color, width = (colors[0], 3) if colors else (MUTED, 1)
            edges.append(
                (width, f'<path d="M{x:g},{y:g}L{above_x:g},{above_y:g}" stroke="{color}" stroke-width="{width}"/>')
            )
        dots.append(circle(x, y, labels[node], node in (marked or ())))
    heading = [f'<text x="8" y="16" font-weight="600" fill="{INK}">{escape(title)}</text>'] if title else []
    parts = [*heading, *(edge for _, edge in sorted(edges, key=lambda edge: edge[0])), *dots]
    return Panel(step * tree.n_leaves, top + LEVEL * tree.n_levels, parts)


def position(tree: Hierarchy, node: Node, step: int, top: int) -> tuple[float, float]:
    days = tree.leaves(*node)
    return step * (days.start + days.stop) / 2, top + LEVEL * (node[0] + 0.5)


def circle(x: float, y: float, label: str, is_marked: bool) -> str:
    """A node: a capsule around its label, or a dot."""
    if not label:
        return f'<circle cx="{x:g}" cy="{y:g}" r="3.5" fill="{MUTED}"/>'
    half = 7 + 4 * len(label)
    fill, stroke, width = (BAND, ACCENT, 2.5) if is_marked else (PAPER, MUTED, 1)
    shape = f'x="{x - half:g}" y="{y - 12:g}" width="{2 * half}" height="24" rx="12"'
    words = f'<text x="{x:g}" y="{y + 4.5:g}" text-anchor="middle" fill="{INK}">{escape(label)}</text>'
    return f'<rect {shape} fill="{fill}" stroke="{stroke}" stroke-width="{width}"/>{words}'


def drawn(panels: Sequence[Panel], title: str, description: str) -> str:
    """Panels one below the other."""
    width, height = max(one.width for one in panels), sum(one.height for one in panels)
    parts, top = [], 0
    for one in panels:
        parts += [f'<g transform="translate(0,{top})">', *one.parts, "</g>"]
        top += one.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="{FONT}" font-size="13"><title>{escape(title)}</title><desc>{escape(description)}</desc>\n'
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def findings() -> list[dict[str, Any]]:
    """What the experiments about the thesis left, in the order of the thesis."""
    found = []
    for name in EXPERIMENTS:
        text = (ROOT / "out" / name / "findings.json").read_text(encoding="utf-8")
        found += json.loads(text)["findings"]
    return sorted(found, key=lambda one: order(one["key"]))


def order(key: str) -> tuple[int, float, str]:
    """Tables first, then figures by number, then the rest."""
    _, kind, *number = key.split("-", 2)
    is_numbered = bool(number) and number[0].isdigit()
    kinds = {"table": 0, "figure": 1}
    return (kinds.get(kind, 2), float(number[0]) if is_numbered else math.inf, key)


def first_sentence(text: str) -> str:
    """The first sentence of a reason; the page of ``make reproduce`` has the others."""
    return re.split(r"(?<=\.) (?=[A-Z])", text, maxsplit=1)[0]


def with_verdicts(page: str, found: Sequence[Mapping[str, Any]]) -> str:
    """Return the page with a row for each claim: first those that hold, then the others with the reason.

    Where figures share claim and verdict, the reason is that of the first.
    """
    shared: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in found:
        shared.setdefault((one["claim"], one["verdict"]), []).append(one)
    holding, others = "", ""
    for (claim, verdict), alike in shared.items():
        sources = [one["source"].removeprefix("thesis, ") for one in alike]
        where = " and ".join([sources[0], *(source.removeprefix("Figure ") for source in sources[1:])])
        where = where.replace("Figure ", "Figures ") if len(alike) > 1 else where
        if verdict == "holds":
            holding += f"| {where} | {claim} |\n"
        else:
            others += f"| {where} | {claim} | **{verdict}** | {first_sentence(alike[0]['because'])} |\n"
    before, _, rest = page.partition(BEGIN)
    tables = f"{HOLDING}{holding}\n{OTHERS}{others}"
    return f"{before}{BEGIN}\n{tables}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    main()
