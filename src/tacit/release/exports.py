"""Tables for people and other programs: CSV and XLSX, tidy or wide. Tacit reads Parquet, never these.

A tidy table has a row for every period, place and kind, a wide one a column for every place. Their numbers are those of
:attr:`tacit.release.Release.recommended`, rounded to what the error supports.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit._base.files import harmless, write_whole
from tacit._base.rounding import round_limits, round_to_error, round_up
from tacit.domain import TimeAxis
from tacit.errors import SettingError
from tacit.release.files import EXPORTED, parquet_bytes
from tacit.release.rules import MISSING, intervals
from tacit.release.signing import SigningKey, signing_key

if TYPE_CHECKING:
    from tacit.counts.estimate import Estimate
    from tacit.release.release import Release

ENDINGS: Final = (".parquet", *EXPORTED)
"""Endings of the files that a release is written to."""
MEANINGS: Final = {
    "place": "The place.",
    "period": "The day, week, month or year; a part of one is named by its first and last day.",
    "kind": "The kind of event. Only where events have kinds.",
    "estimate": "The number of events: the one to use first, and to add up. Blank where the status says why. One below "
    "low or above high is shown as that.",
    "low": "The true number lies between low and high, as often as the level says.",
    "high": "See low.",
    "level": "How often intervals such as this hold the true number: 0.95 is 95 times in 100.",
    "reliable": "Whether the error is small beside the estimate: at most a third of it, or what the publisher says.",
    "status": "shown; greyed or suppressed by a rule of the publisher; no data; or no data on some days.",
    "basis": "measured: from the noisy counts of this cell alone; smoothed: by a model of all periods and places; "
    "filtered: of those before alone.",
    "measured": "The measured number beside a smoothed one: without bias, with more error. For unusual days.",
    "measured_low": "The interval of the measured number.",
    "measured_high": "See measured_low.",
    "unit": "What epsilon protects.",
    "epsilon": "The privacy loss of all that was published about these events, at most.",
    "delta": "The delta of that epsilon. Only where it is not zero.",
}
"""What every column of a tidy table means, in their order; the XLSX file and the guide say it in the same words."""
_MOST_ROWS, _MOST_COLUMNS = 1_048_576, 16_384  # of a sheet, in every program that reads XLSX
_NARROW, _WIDE = 14, 100  # the widths of columns, in characters: a number, and a line of the statement
_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONDAY: Final = np.datetime64("1970-01-05", "D")


def check_ending(path: Path, *, is_wide: bool = False) -> None:
    """Refuse a path whose ending names no form of a release."""
    if path.suffix not in ENDINGS:
        raise SettingError(f"a release is written as {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}; got path={path}.")
    if is_wide and path.suffix not in EXPORTED:
        raise SettingError(f"a wide table is written as {' or '.join(EXPORTED)}; got path={path}.")


def key_for(path: Path, sign_with: SigningKey | str | Path | None) -> SigningKey | None:
    """Return the key that a file is signed with; tables for other programs have no room for a signature."""
    if sign_with is not None and path.suffix in EXPORTED:
        raise SettingError(f"only the .parquet file of a release carries a signature; got path={path}. Leave it out.")
    return signing_key(sign_with)


def write(
    release: Release,
    path: Path,
    *,
    wide: bool = False,
    calendar: bool = False,
    holidays: Mapping[str, str] | None,
    sign_with: SigningKey | str | Path | None = None,
) -> None:
    """Write by ending; the file appears whole or not at all."""
    check_ending(path, is_wide=wide)
    key = key_for(path, sign_with)
    if not wide and (calendar or holidays is not None):
        raise SettingError("columns of the calendar are for a wide table. Ask for one, or leave them out.")
    if path.suffix == ".parquet":
        content = parquet_bytes(release)
        write_whole(path, content if key is None else key.signed(content))
        return
    columns = wide_table(release, calendar=calendar, holidays=holidays) if wide else tidy_table(release)
    write_whole(path, csv_text(columns).encode("utf-8-sig") if path.suffix == ".csv" else _xlsx_bytes(release, columns))


def tidy_table(release: Release) -> dict[str, NDArray[Any]]:
    """Return the columns of :data:`MEANINGS`, a row for every cell, zeros included; NaN where a cell is not shown."""
    from tacit.release.release import labels

    found = labels(release.domain)
    estimate, low, high = _numbers(release, release.recommended)
    columns: dict[str, NDArray[Any]] = {
        "place": found.pop("place"),
        **found,
        "estimate": estimate,
        "low": low,
        "high": high,
        "level": np.full(len(estimate), release.level),
        "reliable": release.reliable().ravel(),
        "status": _statuses(release),
        "basis": np.full(len(estimate), release.basis, object),
    }
    if release.has_refined_intervals:
        measured = _numbers(release, release.unbiased)
        columns |= dict(zip(("measured", "measured_low", "measured_high"), measured, strict=True))
    for name, value in privacy_of(release).items():
        columns[name] = np.full(len(estimate), value, object if isinstance(value, str) else float)
    return columns


def privacy_of(release: Release) -> dict[str, Any]:
    """Return the unit, the epsilon and, where there is one, the delta of a release, for the rows of a table."""
    statement = release.statement
    unit = "nothing: this is a simulation" if release.is_simulation else statement.about_what
    epsilon = statement.total_epsilon
    found = {"unit": unit, "epsilon": epsilon if math.isinf(epsilon) else round_up(epsilon, 4)}
    return found | ({"delta": statement.delta} if statement.delta else {})


def wide_table(
    release: Release, *, calendar: bool = False, holidays: Mapping[str, str] | None = None
) -> dict[str, NDArray[Any]]:
    """Return a row for every period (and kind) and a column of recommended counts for every place, NaN if not shown.

    ``calendar`` adds weekday, month and year, as far as a period has one; ``holidays``, by ISO date, their names.
    """
    domain = release.domain
    counts = _numbers(release, release.recommended)[0].reshape(*domain.sizes)
    columns: dict[str, NDArray[Any]] = {"period": np.array(domain.time.labels(), object)}
    if calendar or holidays is not None:
        columns |= _calendar(domain.time, holidays)
    columns = {name: np.repeat(column, domain.n_kinds) for name, column in columns.items()}
    if domain.kind is not None:
        columns["kind"] = np.tile(np.array(domain.kind.cells, object), domain.sizes[0])
    taken = [place for place in domain.place.cells if place in columns]
    if taken:
        raise SettingError(f"a wide table cannot have two columns {taken[0]!r}. Write the tidy table.")
    return columns | {place: counts[:, number].ravel() for number, place in enumerate(domain.place.cells)}


def csv_text(columns: Mapping[str, NDArray[Any]]) -> str:
    """Return a table as CSV: a line of names, then rows; blank where there is no number."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(harmless, columns))
    writer.writerows(zip(*map(_cells, columns.values()), strict=True))
    return out.getvalue()


def _cells(column: NDArray[Any]) -> list[Any]:
    """Return a column as it is written; its numbers are all whole or all have a point, which tells its type."""
    if column.dtype.kind != "f":
        return [harmless(value) for value in column.tolist()]
    is_number = np.isfinite(column)
    is_whole = bool((column[is_number] % 1 == 0).all())
    return [
        "" if value != value else int(value) if is_whole and known else value  # NaN
        for value, known in zip(column.tolist(), is_number.tolist(), strict=True)
    ]


def _xlsx_bytes(release: Release, columns: Mapping[str, NDArray[Any]]) -> bytes:
    """Return a workbook: the table on a sheet with typed cells, and the privacy statement on a second one."""
    n_rows = len(next(iter(columns.values())))
    if n_rows >= _MOST_ROWS or len(columns) > _MOST_COLUMNS:
        raise SettingError(
            f"a sheet has at most {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns; got {n_rows:,} rows below the "
            f"names and {len(columns):,} columns. Write .csv, or release longer periods."
        )
    openpyxl = require("openpyxl", extra="spreadsheet")
    bold = openpyxl.styles.Font(bold=True)
    book = openpyxl.Workbook(write_only=True)

    def cell(sheet: Any, value: Any, **style: Any) -> Any:
        made = openpyxl.cell.WriteOnlyCell(sheet, value)
        if isinstance(value, str):
            made.data_type = "s"  # never a formula, whatever it begins with
        for name, part in style.items():
            setattr(made, name, part)
        return made

    counts = book.create_sheet("Counts")
    counts.freeze_panes = "A2"
    for number in range(1, len(columns) + 1):
        counts.column_dimensions[openpyxl.utils.get_column_letter(number)].width = _NARROW
    counts.append([cell(counts, name, font=bold) for name in columns])
    is_day = release.domain.time.step == "day"
    values: list[list[Any]] = []
    for name, column in columns.items():
        if name == "period" and is_day:
            values.append([date.fromisoformat(day) for day in column])
        elif column.dtype.kind == "f":
            values.append([None if one != one else "unlimited" if math.isinf(one) else one for one in column.tolist()])
        else:  # text that would be taken for a formula or an error has a cell of its own; the others are written faster
            values.append([cell(counts, one) if str(one)[:1] in ("=", "#") else one for one in column.tolist()])
    for row in zip(*values, strict=True):
        counts.append(row)
    about = book.create_sheet("Privacy")
    about.column_dimensions["A"].width, about.column_dimensions["B"].width = 2 * _NARROW, _WIDE
    wrapped = openpyxl.styles.Alignment(wrap_text=True, vertical="top")
    meanings = [(name, MEANINGS[name]) for name in columns if name in MEANINGS]
    for heading, words in [*release.statement.paragraphs(), *meanings]:
        about.append([cell(about, heading, font=bold, alignment=wrapped), cell(about, words, alignment=wrapped)])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _numbers(release: Release, estimate: Estimate) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return counts and their limits as they are shown: rounded, and NaN where a cell is not shown."""
    errors, is_blank = estimate.noise.standard_errors(), release.blank()
    lower, upper = intervals(estimate, release.level)
    rounded = (round_to_error(estimate.values, errors), *round_limits(lower, upper, errors))
    values, low, high = (np.where(is_blank, np.nan, part).ravel() for part in rounded)
    return values, low, high


def _statuses(release: Release) -> NDArray[np.object_]:
    """Return the status of every cell in words."""
    found = release.statuses()
    days = release.rules.days_missing(release.domain.time)
    for row in np.flatnonzero(days):
        some = f"no data on {days[row]} {'day' if days[row] == 1 else 'days'}"
        found[row] = ["no data" if status == MISSING else f"{status}, {some}" for status in found[row]]
    return found.ravel()


def _calendar(time: TimeAxis, holidays: Mapping[str, str] | None) -> dict[str, NDArray[Any]]:
    """Return columns of the calendar that the periods of an axis have."""
    starts = time.starts()
    has_day = time.step == "day" or time.step.endswith(("hour", "hours"))
    if time.step == "week":
        raise SettingError("a week may lie in two months and years. Write days or months, or leave the calendar out.")
    if holidays is not None and not has_day:
        raise SettingError(
            f"holidays are days; these periods are of one {time.step}. Write the days, or leave holidays out."
        )
    days, months = starts.astype("datetime64[D]"), starts.astype("datetime64[M]").astype(np.int64)
    columns: dict[str, NDArray[Any]] = {}
    if has_day:
        columns["weekday"] = np.array(_WEEKDAYS, object)[(days - _MONDAY).astype(np.int64) % 7]
    if time.step != "year":
        columns["month"] = months % 12 + 1
    columns["year"] = months // 12 + 1970
    if holidays is not None:
        columns["holiday"] = np.array([holidays.get(str(day), "") for day in days], object)
    return columns
