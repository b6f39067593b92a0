"""What the errors of the flat structures say of the thesis' Table 1 and Figures 8 to 12 and 26 to 30."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from experiments.findings import Finding, Picture, Table, Verdict
from experiments.thesis_structures.charts import Axes, Point, errors_picture
from experiments.thesis_structures.lengths import TABLE_1_MEASURED, TABLE_1_PRINTED
from experiments.thesis_structures.measuring import (
    CENTRAL_FLAT,
    CLAIMED,
    CODED,
    LOCAL_FLAT,
    METHODS,
    TACIT,
    Case,
    Errors,
    exponent,
    fitted,
    label_of_coded,
    r_squared,
    true_epsilon,
    verdict_of,
    words_of,
)

SHOWN = (0.2, 1.0, 2.0)
IN_THE_TEXT = (32, 512, 2048)
HIGH = 0.97  # the thesis: all fits of central flat counts have at least 0.9715


@dataclass(frozen=True)
class Results:
    """Errors of all cases, with the fits the thesis makes."""

    errors: Errors
    sizes: tuple[int, ...]
    epsilons: tuple[float, ...]
    seed: str

    def curve(self, structure: str, method: str, n_days: int, epsilon: float) -> tuple[list[int], list[float]]:
        by_length = self.errors[Case(structure, method, n_days, epsilon)]
        return list(by_length), list(by_length.values())

    def of_fits(self, structure: str, method: str, degree: int, sizes: Sequence[int] | None = None) -> list[float]:
        """R² of the polynomial fits of all domains and epsilons."""
        return [
            r_squared(*self.curve(structure, method, n_days, epsilon), degree)
            for n_days in sizes or self.sizes
            for epsilon in self.epsilons
        ]

    def exponents(self, structure: str, method: str, sizes: Sequence[int] | None = None) -> list[float]:
        """The powers of the length that errors grow with."""
        return [
            exponent(*self.curve(structure, method, n_days, epsilon))
            for n_days in sizes or self.sizes
            for epsilon in self.epsilons
        ]

    def fits(self) -> dict[str, float]:
        """How well polynomials fit, and the power of the length: medians over domains and epsilons."""
        figures = {}
        for structure in (CENTRAL_FLAT, LOCAL_FLAT):
            for method in METHODS:
                name = f"{structure}/{method}"
                figures[f"{name}/power of the length"] = median(self.exponents(structure, method))
                for degree, word in ((1, "line"), (2, "parabola")):
                    figures[f"{name}/R² of a {word}"] = median(self.of_fits(structure, method, degree))
        return figures


def findings_of(results: Results) -> list[Finding]:
    """Everything about flat structures, in the order of the thesis."""
    in_the_text = tuple(size for size in IN_THE_TEXT if size in results.sizes)
    return [
        table_1(results),
        central_lengths(results, "8", in_the_text),
        central_fits(results, "9", in_the_text),
        local_lengths(results, "10", in_the_text),
        local_lines(results, "11", in_the_text),
        local_parabolas(results, "12", in_the_text),
        central_lengths(results, "26", results.sizes),
        central_fits(results, "27", results.sizes),
        local_lengths(results, "28", results.sizes),
        local_lines(results, "29", results.sizes),
        local_parabolas(results, "30", results.sizes),
    ]


def table_1(results: Results) -> Finding:
    rows = []
    for n_days in sorted(TABLE_1_MEASURED):
        printed, measured = TABLE_1_PRINTED.get(n_days), TABLE_1_MEASURED[n_days]
        words = "no row" if printed is None else ", ".join(map(str, printed))
        rows.append((n_days, words, ", ".join(map(str, measured)), "yes" if printed == measured else "no"))
    wrong = [row[0] for row in rows if row[3] == "no"]
    return Finding(
        "thesis-table-1",
        "thesis, Table 1",
        "The lengths of ranges that flat structures are asked",
        "The seven lengths of each domain are those that were measured.",
        Verdict.FAILS if wrong else Verdict.HOLDS,
        f"The row printed for 512 days holds the lengths of 256 days, which has none; {len(rows) - len(wrong)} of "
        f"{len(rows)} domains were measured as printed. Figures here use the lengths measured.",
        results.seed,
        (Table("Lengths in days", ("days N", "printed", "measured", "the same"), tuple(rows)),),
    )


def central_lengths(results: Results, number: str, sizes: Sequence[int]) -> Finding:
    powers = {method: results.exponents(CENTRAL_FLAT, method, sizes) for method in METHODS}
    is_linear = {method: min(powers[method]) > 0.75 for method in METHODS}
    return Finding(
        f"thesis-figure-{number}",
        f"thesis, Figure {number}",
        "A curator's flat counts: the error against the length of the range",
        "The error grows linearly with the length r of the range, and with 1/ε.",
        verdict_of(coded=is_linear[CODED], claimed=is_linear[CLAIMED]),
        f"The variance grows linearly, the error as its root: as r to the power {median(powers[CLAIMED]):.2f} "
        f"(median of {len(powers[CLAIMED])} curves; {min(powers[CLAIMED]):.2f} to {max(powers[CLAIMED]):.2f}). "
        f"It is {_epsilon_factor(results, sizes):.1f} times larger at ε = 0.2 than at 2.",
        results.seed,
        (middle_table(results, CENTRAL_FLAT, sizes),),
        (length_picture(results, CENTRAL_FLAT, sizes),),
    )


def _epsilon_factor(results: Results, sizes: Sequence[int]) -> float:
    def error(n_days: int, epsilon: float) -> float:
        return float(np.mean(results.curve(CENTRAL_FLAT, CLAIMED, n_days, epsilon)[1]))

    return median(error(n_days, 0.2) / error(n_days, 2.0) for n_days in sizes)


def central_fits(results: Results, number: str, sizes: Sequence[int]) -> Finding:
    explained = {method: results.of_fits(CENTRAL_FLAT, method, 1, sizes) for method in METHODS}
    roots = [
        r_squared(np.sqrt(lengths).tolist(), errors)
        for n_days in sizes
        for epsilon in results.epsilons
        for lengths, errors in [results.curve(CENTRAL_FLAT, CLAIMED, n_days, epsilon)]
    ]
    of_the_law = [r_squared(TABLE_1_MEASURED[n], np.sqrt(TABLE_1_MEASURED[n]).tolist()) for n in sizes]
    return Finding(
        f"thesis-figure-{number}",
        f"thesis, Figure {number}",
        "Lines fitted to the errors of a curator's flat counts",
        f"Lines through error and length have an R² in the high .9, the lowest 0.9715 (here: {HIGH} for the median).",
        verdict_of(coded=median(explained[CODED]) >= HIGH, claimed=median(explained[CLAIMED]) >= HIGH),
        f"Median R² {median(explained[CLAIMED]):.3f}, lowest {min(explained[CLAIMED]):.3f}. But a high R² shows no "
        f"line: over these lengths the noiseless law, a root of r, has {min(of_the_law):.3f} to {max(of_the_law):.3f}; "
        f"a line in √r fits the same errors with a median of {median(roots):.3f}.",
        results.seed,
        (fit_table(results, CENTRAL_FLAT, sizes),),
        (length_picture(results, CENTRAL_FLAT, sizes, degree=1),),
    )


def local_lengths(results: Results, number: str, sizes: Sequence[int]) -> Finding:
    falls = {method: _share_that_falls(results, method, sizes) for method in METHODS}
    return Finding(
        f"thesis-figure-{number}",
        f"thesis, Figure {number}",
        "Flat counts by devices: the error against the length of the range",
        "The error first grows with the length and then falls, because few reports can leave a long range.",
        verdict_of(coded=falls[CODED] >= 0.9, claimed=falls[CLAIMED] >= 0.9),
        f"In {falls[CODED]:.0%} of the curves as coded, {falls[CLAIMED]:.0%} as claimed and {falls[TACIT]:.0%} of "
        "Tacit's the longest range errs less than the worst. The number of reports is known, so that a range is known "
        "as well as the days outside it: the variance is that of r(1 − r/N) days.",
        results.seed,
        (middle_table(results, LOCAL_FLAT, sizes),),
        (length_picture(results, LOCAL_FLAT, sizes),),
    )


def _share_that_falls(results: Results, method: str, sizes: Sequence[int]) -> float:
    curves = [results.curve(LOCAL_FLAT, method, n_days, epsilon)[1] for n_days in sizes for epsilon in results.epsilons]
    return float(np.mean([curve[-1] < max(curve) for curve in curves]))


def local_lines(results: Results, number: str, sizes: Sequence[int]) -> Finding:
    lines = {method: median(results.of_fits(LOCAL_FLAT, method, 1, sizes)) for method in METHODS}
    return Finding(
        f"thesis-figure-{number}",
        f"thesis, Figure {number}",
        "Lines fitted to the errors of flat counts by devices",
        "A line through error and length fits really poorly.",
        verdict_of(coded=lines[CODED] < HIGH - 0.2, claimed=lines[CLAIMED] < HIGH - 0.2),
        f"Median R² {lines[CODED]:.2f} as coded, {lines[CLAIMED]:.2f} as claimed, {lines[TACIT]:.2f} by Tacit.",
        results.seed,
        (fit_table(results, LOCAL_FLAT, sizes),),
        (length_picture(results, LOCAL_FLAT, sizes, degree=1),),
    )


def local_parabolas(results: Results, number: str, sizes: Sequence[int]) -> Finding:
    fits = {
        method: [median(results.of_fits(LOCAL_FLAT, method, degree, sizes)) for degree in (1, 2)] for method in METHODS
    }
    is_quadratic = {method: parabola >= 0.9 and parabola > line + 0.1 for method, (line, parabola) in fits.items()}
    return Finding(
        f"thesis-figure-{number}",
        f"thesis, Figure {number}",
        "Parabolas fitted to the errors of flat counts by devices",
        "The error follows a second-degree polynomial of the length.",
        verdict_of(coded=is_quadratic[CODED], claimed=is_quadratic[CLAIMED]),
        f"Median R² {fits[CODED][1]:.2f} as coded and {fits[CLAIMED][1]:.2f} as claimed, against "
        f"{fits[CODED][0]:.2f} and {fits[CLAIMED][0]:.2f} of lines. What is a parabola exactly is the variance, "
        "r(1 − r/N); the error is its root.",
        results.seed,
        (fit_table(results, LOCAL_FLAT, sizes),),
        (length_picture(results, LOCAL_FLAT, sizes, degree=2),),
    )


def middle_table(results: Results, structure: str, sizes: Sequence[int]) -> Table:
    """The error of the middle length, for all epsilons."""
    rows = []
    for n_days in sizes:
        middle = TABLE_1_MEASURED[n_days][3]
        for epsilon in results.epsilons:
            errors = [results.errors[Case(structure, method, n_days, epsilon)][middle] for method in METHODS]
            true = words_of(true_epsilon(Case(structure, CODED, n_days, epsilon)))
            rows.append((n_days, middle, f"{epsilon:g}", true, *errors))
    head = ("days N", "length r", "ε", "true ε as coded", *METHODS)
    return Table("RMSE in visits for ranges of the middle length", head, tuple(rows))


def fit_table(results: Results, structure: str, sizes: Sequence[int]) -> Table:
    """How well polynomials fit, by domain: the median over epsilons, and the lowest."""
    rows = []
    for n_days in sizes:
        for method in METHODS:
            line, parabola = (results.of_fits(structure, method, degree, (n_days,)) for degree in (1, 2))
            power = median(results.exponents(structure, method, (n_days,)))
            rows.append((n_days, method, median(line), min(line), median(parabola), min(parabola), power))
    head = ("days N", "method", "R² of a line", "lowest", "R² of a parabola", "lowest of these", "power of r")
    return Table("Fits of RMSE by length: medians over all epsilons", head, tuple(rows))


def length_picture(results: Results, structure: str, sizes: Sequence[int], *, degree: int | None = None) -> Picture:
    """A panel for each domain; with a degree, the fitted polynomials in place of lines from point to point."""
    panels: dict[str, list[Point]] = {}
    fits: dict[str, list[Point]] = {}
    for n_days in sizes:
        title = f"N = {n_days}"
        panels[title], fits[title] = [], []
        for method in METHODS:
            for epsilon in SHOWN:
                lengths, errors = results.curve(structure, method, n_days, epsilon)
                line = f"{epsilon:g}"
                panels[title] += [Point(r, error, method, line) for r, error in zip(lengths, errors, strict=True)]
                if degree is not None:
                    along = np.linspace(lengths[0], lengths[-1], 25)
                    values = fitted(lengths, errors, degree)(along)
                    pairs = zip(along.tolist(), values.tolist(), strict=True)
                    fits[title] += [Point(r, value, method, line) for r, value in pairs if value > 0]
    words = {None: "lines join the points", 1: "lines are fitted", 2: "parabolas are fitted"}[degree]
    caption = f"RMSE of {structure} counts against the length of the range, for three epsilons; {words}. " + ", ".join(
        f"N = {n_days}" for n_days in sizes
    )
    labels = {CODED: label_of_coded({structure: [None]}, SHOWN, max(sizes))}
    return errors_picture(
        caption, panels, Axes("length r, days"), fits=fits if degree is not None else None, labels=labels
    )
