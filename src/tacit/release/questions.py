"""Many questions to a release: places by rank, boxes from a CSV file, and answers as plain values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit._base.files import as_it_was
from tacit._base.reading import read_document
from tacit._base.rounding import round_limits, round_to_error
from tacit._base.validation import check_share
from tacit.counts.estimate import Answer, Estimate
from tacit.counts.query import answer
from tacit.domain import Box, Grouping
from tacit.domain.step import When
from tacit.errors import DataError, MissingColumn, NotShown, SettingError, UnreadableFile
from tacit.release.exports import privacy_of
from tacit.release.release import Release
from tacit.release.rules import SUPPRESSED

ASKED: Final = {"from": "first", "to": "last", "place": "places", "kind": "kinds"}
"""The columns of a file of boxes, and what they are called in Python."""


class RankedPlace(NamedTuple):
    """A place and the answer about it."""

    place: str
    answer: Answer


def ranked_places(
    release: Release,
    *,
    first: When | None = None,
    last: When | None = None,
    kinds: Sequence[str] | None = None,
    level: float | None = None,
    measured: bool = False,
) -> list[RankedPlace]:
    """Return every place that is shown with its answer for the time and kinds asked for, the largest first."""
    domain = release.domain
    box = domain.box(first=first, last=last, kinds=kinds)
    release.check_data(box)
    by_place: list[list[int]] = [[] for _ in domain.place.cells]
    for column in box.columns:
        by_place[column // domain.n_kinds].append(column)
    boxes = [Box(box.time, tuple(columns)) for columns in by_place]
    asked = release.unbiased if measured else release.recommended
    found = (
        [_shown(release, one, level, measured) for one in boxes]
        if release.rules.suppress
        else _answers(asked, boxes, level=release.level if level is None else level)
    )
    shown = [RankedPlace(place, one) for place, one in zip(domain.place.cells, found, strict=True) if one is not None]
    if not shown:
        raise NotShown("the counts of all places are suppressed. Ask for a longer time.")
    return sorted(shown, key=lambda one: -one.answer.value)


def _shown(release: Release, box: Box, level: float | None, measured: bool) -> Answer | None:
    """Return the answer to a box, or None where the release does not show it."""
    try:
        return release.answer_box(box, level=level, measured=measured)
    except NotShown:
        return None


def _answers(estimate: Estimate, boxes: Sequence[Box], *, level: float) -> list[Answer]:
    """Return the answers to boxes of the same time and kinds, one for each place, all at once."""
    check_share(level=level)
    domain, box = estimate.domain, boxes[0]
    bins = np.arange(domain.sizes[0])
    is_asked = np.isin(np.arange(domain.n_kinds), np.array(box.columns) % domain.n_kinds)
    # what is not asked for is added up too, in groups of its own
    names, times = np.unique(np.digitize(bins, (box.time.start, box.time.stop)), return_inverse=True)
    kind_names, kinds = np.unique(is_asked, return_inverse=True)
    grouping = Grouping(
        times, np.arange(domain.place.n_cells), (len(names), domain.place.n_cells, len(kind_names)), kinds
    )
    values = grouping.sums(estimate.values)
    limits = estimate.noise.sum_intervals(values, grouping, level)
    row, first = int(times[box.time.start]), int(kinds[is_asked][0])
    parts = [
        part[row, first :: len(kind_names)].tolist() for part in (values, estimate.noise.sum_errors(grouping), *limits)
    ]
    return [
        answer(estimate, one, level=level)  # a public number
        if estimate.known_total(one) is not None
        else Answer(value, error, low, high, level, one, estimate.provenance.is_simulation)
        for one, (value, error, low, high) in zip(boxes, zip(*parts, strict=True), strict=True)
    ]


def across_the_cut(ranked: Sequence[RankedPlace], n: int) -> tuple[list[str], list[str]]:
    """Return which of the first ``n`` places may not belong to them, and which others may, by their intervals."""
    listed, others = ranked[:n], ranked[n:]
    if not others:
        return [], []
    highest, lowest = max(one.answer.upper for one in others), min(one.answer.lower for one in listed)
    return (
        [one.place for one in listed if one.answer.lower <= highest],
        [one.place for one in others if one.answer.upper >= lowest],
    )


def read_boxes(path: Path, release: Release) -> list[tuple[dict[str, str], Box]]:
    """Read boxes from a CSV file with some of the columns from, to, place and kind; a blank cell restricts nothing.

    Return what each row says, and its box. A row that the release cannot answer is refused by its number.
    """
    try:
        text = read_document(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise UnreadableFile(f"{path} is not there or not text in UTF-8. Check the path and the encoding.") from None
    names, rows = _records(path, text)
    wrong = [name for name in names if name not in ASKED]
    if wrong or not names or len(set(names)) < len(names):
        raise MissingColumn(
            f"{path} must have some of the columns {', '.join(ASKED)} in its first line, each once; got "
            f"{', '.join(names) or 'none'}."
        )
    boxes = []
    for number, row in rows:
        if len(row) != len(names):
            raise DataError(f"{path}, row {number}: it has {len(row)} cells for {len(names)} columns. Correct the row.")
        asked = {name: as_it_was(cell.strip()) for name, cell in zip(names, row, strict=True)}
        boxes.append((asked, _box(release, asked, f"{path}, row {number}")))
    if not boxes:
        raise DataError(f"{path} has no row below the names of its columns. Write a row for every question.")
    return boxes


def _records(path: Path, text: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        records = [(lines.line_num, row) for row in lines if row]
    except csv.Error:
        raise DataError(f"{path}, row {lines.line_num}: a quote is not closed or misplaced. Correct the row.") from None
    (_, names), *rows = records or [(1, [])]
    return [name.strip() for name in names], iter(rows)


def _box(release: Release, asked: dict[str, str], where: str) -> Box:
    """Return the box of a row; what is wrong with it is told with its column."""
    given = {name: value for name, value in asked.items() if value}
    for columns in (("from", "to"), ("place",), ("kind",)):
        try:
            release.domain.box(**{ASKED[name]: given[name] for name in columns if name in given})
        except SettingError as problem:
            raise DataError(f"{where}, column {' or '.join(columns)}: {problem}") from None
    return release.domain.box(**{ASKED[name]: value for name, value in given.items()})


def answered(release: Release, box: Box, *, level: float | None = None, measured: bool = False) -> dict[str, Any]:
    """Return the answer to a box in plain values; where there is no number it is None, and the status says why."""
    return described(release, box, _shown(release, box, level, measured), level=level, measured=measured)


def described(
    release: Release, box: Box, found: Answer | None, *, level: float | None = None, measured: bool = False
) -> dict[str, Any]:
    """Return an answer in plain values; None where the release does not show it."""
    time = release.domain.time
    if found is None:
        status = "no data" if release.rules.missing_bins(time)[box.time].all() else SUPPRESSED
    else:
        status = str(release.rules.judged(np.array(found.value), np.array(found.standard_error))[()])
    is_exact = found is not None and found.standard_error == 0
    return {
        "from": time.label(box.time[0]),
        "to": time.label(box.time[-1]),
        "estimate": found and found.value,
        "standard_error": found and found.standard_error,
        "low": found and found.lower,
        "high": found and found.upper,
        "level": release.level if level is None else level,
        "reliable": found is not None and release.is_reliable(found),
        "status": status,
        "basis": "exact" if is_exact else "measured" if measured else release.basis,
        "days_missing": int(release.rules.days_missing(time)[box.time].sum()),
    }


def as_columns(release: Release, answers: Sequence[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    """Return answers as the columns of a table for people, rounded to what the error supports, with the privacy."""
    columns = {name: np.array([one[name] for one in answers], object) for name in answers[0]}
    errors = columns.pop("standard_error").astype(float)
    columns["estimate"] = round_to_error(columns["estimate"].astype(float), errors)
    columns["low"], columns["high"] = round_limits(columns["low"].astype(float), columns["high"].astype(float), errors)
    return columns | {name: np.full(len(answers), value, object) for name, value in privacy_of(release).items()}
