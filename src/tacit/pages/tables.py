"""The tables of a page: links to CSV files inside it, and the table of places by periods that stands in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tacit._base.languages import ENGLISH, gettext, ngettext, speaking
from tacit.pages.embedding import csv_link
from tacit.pages.figures import Counts
from tacit.pages.figures.counts import hidden_word, rounded
from tacit.pages.headline import period_name
from tacit.pages.selection import MOST_CELLS, Selection, View
from tacit.pages.words import column_width, number, sheets, step_name
from tacit.release.exports import privacy_of

_TABLE: Final = ("period", "place", "estimate", "standard_error", "low", "high", "reliable")


def tables(selection: Selection, synthetic: str | None) -> list[dict[str, str]]:
    """Return links to tables in the page itself, in the columns of the release's own table."""
    about = {"basis": selection.release.basis} | columns_about(selection, synthetic)
    kinds = [selection.views[number] for number in sorted(selection.single_kinds)]
    return [
        {
            "href": csv_link((*_table_head(parts), *about), ((*row, *about.values()) for row in _table_rows(parts))),
            "file": f"counts-{by.replace(' ', '-')}{'-and-kind' if is_of_kinds else ''}.csv",
            "step": parts[0][1].step,
            "words": _words(parts[0][1].step, is_of_kinds),
            "size": rows_in_words(sum(counts.values.size for _, counts in parts)),
        }
        for is_of_kinds, views in ((False, [selection.all_kinds]), (True, kinds))
        for by, parts in _offered(views).items()
    ]


def _words(step: str, is_of_kinds: bool) -> str:
    if step == "all":
        return gettext("Counts in all, each kind") if is_of_kinds else gettext("Counts in all")
    if is_of_kinds:
        return gettext("Counts by %(step)s, each kind", step=step_name(step))
    return gettext("Counts by %(step)s", step=step_name(step))


def rows_in_words(n_rows: int) -> str:
    """Return the size of a table."""
    return ngettext("%(n)s row", "%(n)s rows", n_rows, n=number(n_rows))


def columns_about(selection: Selection, synthetic: str | None) -> dict[str, Any]:
    """Return the columns that are alike in all rows: the level of intervals, what is protected, and how well."""
    with speaking(ENGLISH):
        about = {"level": selection.release.level} | privacy_of(selection.release)
    return about | ({"label": f"Synthetic data: {synthetic}"} if synthetic else {})


def _offered(views: Sequence[View]) -> dict[str, list[tuple[str, Counts]]]:
    """Return the tables of some kinds by step: each kind's name and counts; without those that are too long."""
    found: dict[str, list[tuple[str, Counts]]] = {}
    for view in views:
        short = [counts for counts in view.series.values() if counts.values.size * len(views) <= MOST_CELLS / 4]
        drawn = {counts.step: counts for counts in (view.whole, view.maps, *short) if counts is not None}
        for step, counts in drawn.items():
            found.setdefault("in all" if step == "all" else f"by {step}", []).append((view.name, counts))
    return found


def _table_head(parts: Sequence[tuple[str, Counts]]) -> tuple[str, ...]:
    """Return the columns of the table; those about kinds and rules only where there is something to say."""
    kind = ("kind",) if parts[0][0] else ()
    status = ("status",) if any(counts.has_rules for _, counts in parts) else ()
    missing = ("days_missing",) if any(parts[0][1].days_missing) else ()
    return (*_TABLE[:2], *kind, *_TABLE[2:], *status, *missing)


def _table_rows(parts: Sequence[tuple[str, Counts]]) -> Iterator[tuple[Any, ...]]:
    has_rules = any(counts.has_rules for _, counts in parts)
    for kind, counts in parts:
        yield from _rows_of_kind(counts, (kind,) if kind else (), has_rules)


def _rows_of_kind(counts: Counts, kind: tuple[str, ...], has_rules: bool) -> Iterator[tuple[Any, ...]]:
    values, errors = rounded(counts.values, 1), rounded(counts.standard_errors, 1)
    is_hidden = counts.is_hidden
    for bin, label in enumerate(counts.periods):
        for cell, place in enumerate(counts.places):
            numbers: tuple[Any, ...] = (
                float(values[bin, cell]),
                float(errors[bin, cell]),
                round(float(counts.lower[bin, cell])),
                round(float(counts.upper[bin, cell])),
            )
            yield (
                label,
                place,
                *kind,
                *(("",) * len(numbers) if is_hidden[bin, cell] else numbers),
                bool(counts.reliable[bin, cell]),
                *((counts.status[bin, cell],) if has_rules else ()),
                *((counts.days_missing[bin],) if any(counts.days_missing) else ()),
            )


def matrix(selection: Selection) -> dict[str, Any]:
    """Return the table of places by periods that stands in the page, of all kinds."""
    columns = selection.all_kinds.map_periods
    heads = [period_name(counts, bin, selection.release) for counts, bin in columns]
    rows: list[dict[str, Any]] = [
        {
            "place": place,
            "cells": [
                {
                    "value": number(counts.values[bin, cell]),
                    "lower": number(counts.lower[bin, cell]),
                    "upper": number(counts.upper[bin, cell]),
                    "reliable": bool(counts.reliable[bin, cell]),
                    "exact": counts.is_exact,
                    "hidden": hidden_word(counts.status[bin, cell]) or "",
                }
                for counts, bin in columns
            ],
        }
        for cell, place in enumerate(selection.all_kinds.whole.places)
    ]
    return {"periods": heads, "rows": rows, "sheets": sheets(_widths(heads, [row["cells"] for row in rows]))}


def _widths(heads: Sequence[str], rows: Sequence[Sequence[Mapping[str, Any]]]) -> list[float]:
    return [
        column_width(
            head,
            [cell["hidden"] or f"{cell['value']}*" for cell in cells],
            [limit for cell in cells if not cell["hidden"] for limit in (cell["lower"], cell["upper"])],
        )
        for head, cells in zip(heads, zip(*rows, strict=True), strict=True)
    ]
