"""From which length on a hierarchy errs less than flat counts: the thesis' rule, and what is so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from experiments.findings import Finding, Table
from experiments.thesis_structures import as_coded
from experiments.thesis_structures.charts import RULE, Axes, Point, errors_picture
from experiments.thesis_structures.lengths import DEGREES
from experiments.thesis_structures.measuring import CLAIMED, CODED, TACIT, verdict_of
from experiments.thesis_structures.nodes import mean_nodes
from experiments.thesis_structures.structures import Floats, height_of

from tacit.mechanisms.planner import CURATOR, NOBODY, Situation, crossings, thesis_rule

CURATORS, DEVICES = "a curator", "devices"


@dataclass(frozen=True)
class Crossings:
    """The first length from which on a hierarchy errs less, by who counts, by method, days and degree."""

    sizes: tuple[int, ...]
    found: dict[tuple[str, str, int, int], int | None]

    @classmethod
    def of(cls, sizes: Sequence[int], n_structures: int, seed: int) -> Crossings:
        found: dict[tuple[str, str, int, int], int | None] = {}
        for n_days in sizes:
            lengths = np.arange(1, n_days + 1)
            for degree in DEGREES:
                nodes, height = mean_nodes(n_days, degree).sum(axis=0), height_of(n_days, degree)
                coded = _variances_as_coded(n_days, degree, n_structures, seed)
                found[CURATORS, CODED, n_days, degree] = _first(coded < 2 * lengths)
                found[CURATORS, CLAIMED, n_days, degree] = _first(nodes * (height + 1) ** 2 < lengths)
                found[DEVICES, CLAIMED, n_days, degree] = _first(nodes * height < lengths)
            for who, trust in ((CURATORS, CURATOR), (DEVICES, NOBODY)):
                situation = Situation(n_bins=n_days, n_events=1000.0 * n_days, trust=trust, epsilon=1.0)
                lengths_found = crossings(situation, DEGREES)
                for degree in DEGREES:
                    found[who, TACIT, n_days, degree] = lengths_found.get(degree)
        return cls(tuple(sizes), found)

    def keeps(self, who: str, method: str) -> bool:
        """Whether a hierarchy wins by the length of the rule at the latest, wherever there are so many days."""
        return all(
            (crossing := self.found[who, method, n_days, degree]) is not None
            and crossing <= thesis_rule(n_days, degree) + 1
            for n_days in self.sizes
            for degree in DEGREES
            if thesis_rule(n_days, degree) < n_days
        )


def _first(wins: np.ndarray) -> int | None:
    """The first length from which on all win, but for the whole domain: the root is a single node."""
    loses = np.flatnonzero(~wins[:-1])
    start = int(loses[-1]) + 2 if len(loses) else 1
    return start if start < len(wins) else None


def _variances_as_coded(n_days: int, degree: int, n_structures: int, seed: int) -> Floats:
    """The mean variance of ranges of every length at a claimed epsilon of 1, simulated on empty days."""
    generator = np.random.default_rng([seed, n_days, degree])
    empty = np.zeros(n_days, np.int64)
    made = as_coded.continual_tree(empty, 1.0, degree, n_structures=n_structures, generator=generator)
    tried = np.unique(np.geomspace(1, n_days, 60).astype(int))
    variances = []
    for length in tried.tolist():
        first = generator.integers(0, n_days - length + 1, size=(n_structures, 20))
        variances.append(float(np.mean(made.answers(first, first + length) ** 2)))
    return np.interp(np.arange(1, n_days + 1), tried, variances)


def rule(found: Crossings, seed: str) -> tuple[dict[str, float], Finding]:
    columns = [(CURATORS, CODED), (CURATORS, CLAIMED), (CURATORS, TACIT), (DEVICES, CLAIMED), (DEVICES, TACIT)]
    rows = [
        (
            n_days,
            degree,
            thesis_rule(n_days, degree),
            *(found.found[who, m, n_days, degree] or "never" for who, m in columns),
        )
        for n_days in found.sizes
        for degree in DEGREES
    ]
    keeps = {method: found.keeps(CURATORS, method) for method in (CODED, CLAIMED)}
    applies = sum(row[2] < row[0] for row in rows)
    panels = {
        f"degree {degree}: {who}": [
            Point(n_days, length, method, "length")
            for method in ((CODED, CLAIMED, TACIT) if who == CURATORS else (CLAIMED, TACIT))
            for n_days in found.sizes
            if (length := found.found[who, method, n_days, degree]) is not None
        ]
        + [Point(n_days, thesis_rule(n_days, degree), RULE, "length") for n_days in found.sizes]
        for who in (CURATORS, DEVICES)
        for degree in DEGREES
    }
    picture = errors_picture(
        "From which length on a hierarchy errs less than flat counts, against the number of days, and the rule",
        panels,
        Axes("days N", y="length r, days", log_x=True, x_values=found.sizes),
        labels={CODED: f"{CODED} (true ε: infinite)"},
    )
    head = ("days N", "degree B", "rule", *(f"{who}, {method}" for who, method in columns))
    local = "does" if found.keeps(DEVICES, CLAIMED) else "does not"
    finding = Finding(
        "thesis-figure-19",
        "thesis, Figure 19",
        "The length from which on a hierarchy beats flat counts",
        "A hierarchy errs less than flat counts on ranges longer than 2B·log_B² N.",
        verdict_of(coded=keeps[CODED], claimed=keeps[CLAIMED]),
        f"The rule names a length within the domain in {applies} of {len(rows)} cases; for a curator the tree as coded "
        f"wins {'by then' if keeps[CODED] else 'not always by then'}, the tree as claimed "
        f"{'too' if keeps[CLAIMED] else 'does not: its levels share ε, so that the number of levels counts twice'}. "
        f"For devices, with an oracle of even variance, it {local} hold. Tacit's trees win far earlier.",
        seed,
        (Table("First length in days from which on a hierarchy errs less, at ε = 1", head, tuple(rows)),),
        (picture,),
    )
    figures = {
        f"crossing/{who}/{method}/{n_days}/degree {degree}": float(length)
        for (who, method, n_days, degree), length in found.found.items()
        if length is not None
    }
    return figures, finding
