r"""Synthetic rows: a table of events that nobody had, for programs that need rows.

Refined counts become whole numbers by controlled rounding: with one random u for every public bin and the sums
:math:`S_j = x_1 + \dots + x_j`, cell j gets :math:`\lfloor S_j + u \rfloor - \lfloor S_{j-1} + u \rfloor`, which is
:math:`x_j` rounded up or down, has it as its mean, and adds up to the public number of reports exactly. The rows see
the release alone, so they cost no privacy, and its statement is theirs.

Reference: Cox1987.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import IntArray
from tacit._base.extras import require
from tacit._base.files import csv_bytes, write_whole
from tacit._base.languages import stored
from tacit._base.validation import check_one_of
from tacit.counts.estimate import Estimate
from tacit.errors import Remedy, SettingError
from tacit.postprocess import clip, project
from tacit.postprocess.clipping import cells_of_rows, rows_with_totals
from tacit.randomness import Randomness, SecureRandomness, SeededRandomness
from tacit.release.exports import privacy_of
from tacit.release.release import Release, labels

TOWNS: Final = ("none", "even", "population")
PREFIX: Final = "synthetic-"
_SHORT: Final = 12  # characters of a checksum: 48 bits tell all releases of anybody apart
_WARNING: Final = (
    "SYNTHETIC: no row is an event. The rows were drawn so that their numbers per {cells} are those of a private "
    "release, rounded; nothing else about them, such as which town or which rows belong together, was measured."
)
FILLED: Final = stored("what is left of the public numbers shared evenly among suppressed counts")
_UNIT: Final = 1 << 40  # parts of an event: sums of 2**23 of them stay whole numbers of 64 bits; half loses one
_SLACK: Final = 1e-6  # of an event: what rounding in floats may leave; a millionth of it would refuse right sums


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRows:
    """Synthetic events: how many in every cell of a release, and the town of each where towns are drawn."""

    release: Release
    counts: IntArray
    towns: NDArray[np.object_] | None
    steps: tuple[str, ...]

    @classmethod
    def of(cls, release: Release, *, towns: str = "none", seed: int | None = None) -> SyntheticRows:
        """Draw rows from a release's refined counts; ``towns`` evenly or by population within each place.

        Counts that are negative, or do not add up to the public numbers, are projected first. The same ``seed`` gives
        the same rows; it says nothing about anyone, because a release is all the rows are made of.
        """
        check_one_of(TOWNS, towns=towns)
        randomness: Randomness = SecureRandomness() if seed is None else SeededRandomness(seed)
        ready = _ready(release)
        counts = rounded_counts(ready, randomness)
        named = None if towns == "none" else _towns(release, counts, towns, randomness)
        return cls(release, counts, named, (*ready.steps, "controlled rounding"))

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the table: an identifier that says synthetic, period, place, kind, and the town where drawn."""
        domain, per_cell = self.release.domain, self.counts.ravel()
        cells, of_places = labels(domain), domain.place.gazetteer.levels if domain.place.gazetteer else ()
        width = max(6, len(str(self.n_rows)))
        columns: dict[str, NDArray[Any]] = {
            "id": np.array([f"{PREFIX}{number:0{width}}" for number in range(1, self.n_rows + 1)], object),
            "time": np.repeat(cells["period"], per_cell),
            domain.place.level: np.repeat(cells["place"], per_cell),
        }
        if domain.kind is not None:
            is_taken = domain.kind.level in (*columns, *of_places)
            columns["kind of event" if is_taken else domain.kind.level] = np.repeat(cells["kind"], per_cell)
        if self.towns is not None:
            columns[of_places[0]] = self.towns
        return columns

    def text(self) -> str:
        """Return what the rows are, how they were made, and the statement of the release."""
        steps = f"How the rows were made: {', then '.join(self.steps)}. This cost no further privacy."
        cells = "period and place" if self.release.domain.kind is None else "period, place and kind"
        return "\n".join((_WARNING.format(cells=cells), steps, self.release.statement.text()))

    def write(self, path: str | Path) -> None:
        """Write the rows as Parquet or CSV, by the path's ending."""
        path = Path(path)
        writers = {".parquet": self._parquet_bytes, ".csv": self._csv_bytes}
        if path.suffix not in writers:
            raise SettingError(f"rows are written as .parquet or .csv; got path={path}.")
        write_whole(path, writers[path.suffix]())

    def _about(self) -> str:
        return json.dumps(
            {
                "format": 1,
                "kind": "synthetic rows",
                "release": self.release.checksum,
                "steps": list(self.steps),
                "statement": self.release.statement.to_dict(),
            },
            ensure_ascii=False,
        )

    def _csv_bytes(self) -> bytes:
        # CSV has no head for the statement: what matters of it stands in every row, as in the table of a release
        # twelve digits alone, or one "e" among them, would be read as a number
        about = privacy_of(self.release) | {"release": f"sha256:{self.release.checksum[:_SHORT]}"}
        columns = {name: column.tolist() for name, column in self.columns().items()}
        return csv_bytes(columns | {name: [one] * self.n_rows for name, one in about.items() if name not in columns})

    def _parquet_bytes(self) -> bytes:
        pa = require("pyarrow", extra="events")
        pq = require("pyarrow.parquet", extra="events")
        table = pa.table({name: pa.array(column, pa.string()) for name, column in self.columns().items()})
        metadata = {b"tacit": self._about().encode(), b"privacy": self.text().encode()}
        sink = io.BytesIO()
        pq.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
        return sink.getvalue()


def rounded_counts(estimate: Estimate, randomness: Randomness) -> IntArray:
    """Return each count rounded up or down, so that they add up to every public number of reports exactly."""
    if estimate.totals is None:
        return _rounded(estimate.values, None, randomness)
    rows, totals = rows_with_totals(estimate)
    return cells_of_rows(_rounded(rows, totals, randomness).astype(np.float64), estimate).astype(np.int64)


def _rounded(rows: NDArray[np.float64], totals: IntArray | None, randomness: Randomness) -> IntArray:
    """Return whole numbers in units of 2**-40, so that nothing is lost to rounding on the way."""
    lower = np.floor(rows)
    parts = np.rint((rows - lower) * _UNIT).astype(np.int64)
    whole = lower.astype(np.int64) + parts // _UNIT
    parts %= _UNIT
    if totals is not None:
        _fit(parts, (totals - whole.sum(axis=1)) * _UNIT)
    u = (randomness.words(len(rows)) >> np.uint64(24)).astype(np.int64)
    steps = (np.cumsum(parts, axis=1) + u[:, None]) // _UNIT
    return whole + np.diff(steps, axis=1, prepend=0)


def _fit(parts: IntArray, wanted: IntArray) -> None:
    """Let the parts of every row add up to what is wanted, by moving those that can move most; a hair at most."""
    lacking = wanted - parts.sum(axis=1)
    for row in np.flatnonzero(lacking):
        for cell in np.argsort(-np.minimum(parts[row], _UNIT - 1 - parts[row])):
            moved = min(max(int(lacking[row]), -int(parts[row, cell])), _UNIT - 1 - int(parts[row, cell]))
            if parts[row, cell]:  # a whole number stays
                parts[row, cell] += moved
                lacking[row] -= moved
            if not lacking[row]:
                break


def _ready(release: Release) -> Estimate:
    """Return counts that can be rounded: not negative, adding up to what is public, or else to the unbiased total."""
    estimate = _without_gaps(release.refined)
    if estimate.totals is None:
        clipped = estimate if estimate.values.min(initial=0.0) >= 0 else clip(estimate)
        # clipped counts of small cells add up to far too many
        factor = max(0.0, release.unbiased.values.sum()) / max(clipped.values.sum(), _SLACK)
        steps = (*clipped.steps, "rescaled to the unbiased total")
        return replace(clipped, values=clipped.values * factor, steps=steps)
    rows, totals = rows_with_totals(estimate)
    adds_up = np.abs(rows.sum(axis=1) - totals).max(initial=0.0) <= _SLACK
    if rows.min(initial=0.0) < 0 or not adds_up:
        estimate = project(estimate)
        rows, totals = rows_with_totals(estimate)
    # what floats leave over is given to the largest cell, so that sums are exact
    exact = rows.copy()
    at = np.arange(len(rows)), rows.argmax(axis=1)
    exact[at] += totals - rows.sum(axis=1)
    values = cells_of_rows(exact, estimate)
    return Estimate(estimate.domain, values, estimate.noise, estimate.totals, estimate.steps, estimate.provenance)


def _without_gaps(estimate: Estimate) -> Estimate:
    """Return suppressed counts filled in: what the others leave of each public number, shared evenly."""
    if not np.isnan(estimate.values).any():
        return estimate
    if estimate.totals is None:
        raise SettingError(
            "counts are suppressed in this release, and without public numbers nobody can tell how many rows they are.",
            remedy=Remedy.KEEP_SUPPRESSED,
        )
    rows, totals = rows_with_totals(estimate)
    is_gone = np.isnan(rows)
    left = np.maximum(totals - np.where(is_gone, 0.0, rows).sum(axis=1), 0.0)
    share = left / np.maximum(is_gone.sum(axis=1), 1)
    values = cells_of_rows(np.where(is_gone, share[:, None], rows), estimate)
    return replace(estimate, values=values, steps=(*estimate.steps, FILLED))


def _towns(release: Release, counts: IntArray, by: str, randomness: Randomness) -> NDArray[np.object_]:
    axis, domain = release.domain.place, release.domain
    table = axis.gazetteer
    if table is None:
        raise SettingError("towns need the table of towns with which the plan was made.", remedy=Remedy.LEAVE_OUT_TOWNS)
    if table.depth(axis.level) == 0:
        raise SettingError(f"the release counts by {axis.level} already.", remedy=Remedy.LEAVE_OUT_TOWNS)
    finest, population = table.levels[0], table.population(table.levels[0])
    of_cells = np.tile(np.repeat(np.arange(axis.n_cells), domain.n_kinds), len(counts))
    places = np.repeat(of_cells, counts.ravel())
    drawn = np.empty(len(places), object)
    for number, cell in enumerate(axis.cells):
        names = [
            table.name_at(row, finest)
            for row in table.rows
            if not row.is_outside and table.name_at(row, axis.level) == cell
        ] or [cell]  # of elsewhere no table knows the towns
        weights = np.array([population.get(name, 0.0) for name in names], np.float64)
        if by == "even" or not weights.any():
            weights = np.ones(len(names))
        at = np.flatnonzero(places == number)
        edges = np.cumsum(weights) / weights.sum()
        shares = (randomness.words(at.size) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        chosen = np.minimum(np.searchsorted(edges, shares, side="right"), len(names) - 1)
        drawn[at] = np.array(names, object)[chosen]
    return drawn
