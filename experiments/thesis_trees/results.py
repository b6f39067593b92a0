"""Errors of all structures for the lengths of the thesis' Tables 2 and 3, and the tables and pictures made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from experiments.findings import Picture, Table
from experiments.thesis_structures.charts import Axes, Point, errors_picture
from experiments.thesis_structures.lengths import DEGREES, TABLE_2_MEASURED, TABLE_3
from experiments.thesis_structures.measuring import (
    CENTRAL_FLAT,
    CODED,
    DESIGNED,
    HIERARCHY,
    LOCAL_FLAT,
    METHODS,
    TACIT,
    TREE,
    Case,
    Errors,
    label_of_coded,
    true_epsilon,
    words_of,
)

IN_THE_TEXT = (32, 512, 2048)
SHOWN = (0.2, 1.0, 2.0)


@dataclass(frozen=True)
class Results:
    """Errors by case and length."""

    errors: Errors
    sizes: tuple[int, ...]
    epsilons: tuple[float, ...]
    seed: str

    def error(
        self, structure: str, method: str, n_days: int, epsilon: float, length: int, degree: int | None = None
    ) -> float:
        return self.errors[Case(structure, method, n_days, epsilon, degree)][length]

    def along_epsilon(self, structure: str, method: str, n_days: int, degree: int | None = None) -> list[float]:
        """The errors of short ranges for all epsilons."""
        return [self.error(structure, method, n_days, epsilon, TABLE_3[n_days], degree) for epsilon in self.epsilons]

    def short_and_shown(self) -> tuple[int, ...]:
        """The domains that the thesis shows for short ranges."""
        return tuple(size for size in IN_THE_TEXT if size in self.sizes)

    def long_and_shown(self) -> tuple[int, ...]:
        return tuple(size for size in (256, 512, 2048) if size in self.sizes)

    def hierarchies(self) -> Iterator[tuple[int, float, int]]:
        """All domains, epsilons and degrees."""
        return ((n_days, epsilon, degree) for n_days in self.sizes for epsilon in self.epsilons for degree in DEGREES)


def lengths_of(n_days: int) -> tuple[int, ...]:
    """All lengths that structures over so many days are asked."""
    long = [by_size[n_days] for by_size in TABLE_2_MEASURED.values() if n_days in by_size]
    return tuple(dict.fromkeys([TABLE_3[n_days], *long]))


def cases_of(sizes: Sequence[int], epsilons: Sequence[float]) -> list[Case]:
    """The four structures by all methods, hierarchies of all degrees, and the tree that the planner designs."""
    kinds: list[tuple[str, int | None]] = [(CENTRAL_FLAT, None), (LOCAL_FLAT, None)]
    kinds += [(structure, degree) for structure in (TREE, HIERARCHY) for degree in DEGREES]
    cases = [
        Case(structure, method, n_days, epsilon, degree)
        for structure, degree in kinds
        for method in METHODS
        for n_days in sizes
        for epsilon in epsilons
    ]
    return cases + [Case(DESIGNED, TACIT, n_days, epsilon) for n_days in sizes for epsilon in epsilons]


def share(holds: Sequence[bool]) -> float:
    return sum(holds) / len(holds)


@dataclass(frozen=True)
class Line:
    """Errors of one structure for ranges of one length."""

    structure: str
    length: int
    degree: int | None = None

    @property
    def name(self) -> str:
        return self.structure if self.degree is None else f"{self.structure}, degree {self.degree}"


@dataclass(frozen=True)
class Panel:
    """What is compared over so many days."""

    n_days: int
    lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        degrees = {line.degree for line in self.lines if line.degree}
        of_degree = f", degree {degrees.pop()}" if len(degrees) == 1 else ""
        return f"N = {self.n_days}, r = {self.lines[0].length}{of_degree}"


def short_panels(sizes: Sequence[int], flat: str | None, tree: str, degrees: Sequence[int] = DEGREES) -> list[Panel]:
    """Flat counts (or none) beside hierarchies of all degrees, asked ranges of Table 3."""
    panels = []
    for n_days in sizes:
        lines = [Line(flat, TABLE_3[n_days])] if flat else []
        lines += [Line(tree, TABLE_3[n_days], degree) for degree in degrees]
        panels.append(Panel(n_days, tuple(lines)))
    return panels


def long_panels(sizes: Sequence[int], flat: str, tree: str, degrees: Sequence[int] = DEGREES) -> list[Panel]:
    """Flat counts beside the hierarchy of one degree, asked ranges of Table 2 as measured."""
    return [
        Panel(n_days, (Line(flat, length), Line(tree, length, degree)))
        for n_days in sizes
        for degree in degrees
        for length in [TABLE_2_MEASURED[degree][n_days]]
    ]


def error_table(results: Results, panels: Sequence[Panel], caption: str) -> Table:
    """The errors of all lines, for three epsilons; where a curator trusts the planner, also with its tree."""
    rows = {}
    for panel in panels:
        for line in panel.lines:
            for epsilon in SHOWN:
                key = (panel.n_days, line.length, line.name, f"{epsilon:g}")
                errors = [_error(results, panel, line, method, epsilon) for method in METHODS]
                true = words_of(true_epsilon(Case(line.structure, CODED, panel.n_days, epsilon, line.degree)))
                best = _designed(results, panel, line, epsilon)
                rows[key] = (*key, true, *errors, *best)
    has_best = any(line.structure == TREE for panel in panels for line in panel.lines)
    head = ("days N", "length r", "structure", "ε", "true ε as coded", *METHODS)
    head += (f"Tacit, {DESIGNED}",) if has_best else ()
    return Table(caption, head, tuple((*row, "")[: len(head)] for row in rows.values()))


def _error(results: Results, panel: Panel, line: Line, method: str, epsilon: float) -> float:
    return results.error(line.structure, method, panel.n_days, epsilon, line.length, line.degree)


def _designed(results: Results, panel: Panel, line: Line, epsilon: float) -> tuple[float, ...]:
    return (results.error(DESIGNED, TACIT, panel.n_days, epsilon, line.length),) if line.structure == TREE else ()


def epsilon_picture(
    results: Results,
    panels: Sequence[Panel],
    caption: str,
    axes: Axes,
    *,
    transformed: Callable[[float], float] = lambda epsilon: epsilon,
    fits: Callable[[Sequence[Point]], list[Point]] | None = None,
) -> Picture:
    """Errors of all panels against epsilon, or what is made of it; a dash for each line."""
    points: dict[str, list[Point]] = {}
    fitted: dict[str, list[Point]] = {}
    for panel in panels:
        title = panel.title
        points[title], fitted[title] = [], []
        for line in panel.lines:
            for method in METHODS:
                curve = [
                    Point(
                        transformed(epsilon),
                        _error(results, panel, line, method, epsilon),
                        method,
                        line.structure if len(panel.lines) == 2 else line.name.removeprefix(f"{line.structure}, "),
                    )
                    for epsilon in results.epsilons
                ]
                points[title] += curve
                fitted[title] += fits(curve) if fits else []
    kinds: dict[str, list[int | None]] = {}
    for line in (line for panel in panels for line in panel.lines):
        kinds.setdefault(line.structure, []).append(line.degree)
    labels = {CODED: label_of_coded(kinds, SHOWN, panels[-1].n_days)}
    return errors_picture(caption, points, axes, fits=fitted if fits else None, labels=labels)
