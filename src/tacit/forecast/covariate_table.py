"""Tables of the user's own, joined to a series by date: weather, traffic, epidemics.

A table has a column of dates, numbers in other columns and, if they differ from place to place, a column of places. It
is a CSV or Parquet file, or any frame that hands out Arrow. It holds no private data; its values still appear in no
message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray, Times
from tacit._base.extras import require
from tacit._base.languages import stored
from tacit._base.reading import LARGEST_EXPANDED, LARGEST_NUMBER
from tacit._base.validation import check_at_least
from tacit.domain import Domain, TimeAxis
from tacit.errors import AmbiguousDate, DataError, SettingError, UnreadableFile
from tacit.events.columns import codes_of, is_text, read_number, text_of
from tacit.events.dates import BLANK, GOOD, UNDECIDED, DateForm, DateOrder, ReadDates, parse_date_format, read_dates
from tacit.events.interpret import bins_and_clock
from tacit.events.mapping import ReadOptions, find_column
from tacit.events.passes import Reading
from tacit.events.proposal import recognized
from tacit.events.sources import Source, open_source
from tacit.statespace.covariates import SECONDS_A_DAY, Covariates, bins_per_day

_MISSING: Final = ("", "na", "nan", "null", "none", "-")
_AROUND: Final = 10  # days of the year on either side: half of them leave a daily mean of few years ragged
_DAYS: Final = 366  # of a year
_MOST_PHI: Final = 0.98  # of an anomaly left after a bin: half of it is gone in five weeks of days
_LEFT_OUT: Final = partial(stored, "the column %(name)s of %(table)s holds no number and is left out")
_FORECAST: Final = partial(stored, "%(name)s is forecast from %(when)s on by what is usual for the season")


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows of a table: their numbers in the file, their bins (-1: off the axis), and their places."""

    numbers: IntArray
    bins: IntArray
    clock: Times
    places: IntArray | None


def read_covariates(
    source: object,
    domain: Domain,
    *,
    date: str = "date",
    place: str | None = None,
    horizon: int = 366,
    options: ReadOptions | None = None,
) -> Covariates:
    """Return the numbers of a table for the bins of a domain and ``horizon`` bins more.

    A column that holds words and no number is left out, and a note names it. Rows may stand in any order; days that are
    not there are NaN, and several rows in a longer bin are averaged. What the table does not reach of the time to come
    is forecast by what is usual for the season, and a note says so.
    """
    check_at_least(0, horizon=horizon)
    options = ReadOptions() if options is None else options
    wanted = [name for name in (date, place) if name is not None]
    opened = open_source(source, options=recognized(source, wanted=wanted, options=options))
    positions = [
        find_column(opened.names, name, role="date" if name == date else "place", source=opened.name) for name in wanted
    ]
    others = [position for position in range(len(opened.names)) if position not in positions]
    arrays, numbers = _load(opened, [*positions, *others])
    time = domain.time.with_end(domain.shape[0] + horizon)
    dates = _dates(arrays[0], numbers, date, opened.name, options)
    bins, clock = bins_and_clock(time, dates, dates.state == GOOD)
    places = None if place is None else _places(arrays[1], numbers, place, opened.name, domain)
    rows = _Rows(numbers, bins, clock, places)
    _check(rows, domain, date, opened.name)
    found: dict[str, FloatArray] = {}
    notes: list[str] = []
    for position, array in zip(others, arrays[len(wanted) :], strict=True):
        name = opened.names[position].strip()
        values, is_blank = _numbers(array, options.decimal)
        if is_text(array.type) and np.isnan(values).all() and not is_blank.all():
            notes.append(_LEFT_OUT(name=name, table=opened.name))
            continue
        _check_numbers(values, is_blank, numbers, name, opened.name)
        found[name], since = carried_on(_joined(values, rows, time, domain.place.n_cells), time)
        if since is not None:
            notes.append(_FORECAST(name=name, when=time.label(since)))
    if not found:
        raise SettingError(f"{opened.name} must have a column of numbers besides its dates; it has none. Add one.")
    return Covariates(time, found, tuple(notes))


def _load(opened: Source, positions: Sequence[int]) -> tuple[list[Any], IntArray]:
    """Return the columns as one array each, and the row of the file that each entry stands in."""
    pa = require("pyarrow", extra="events")
    parts: list[tuple[Any, ...]] = []
    numbers: list[IntArray] = []
    n_bytes = 0
    for first, table in Reading(opened, positions, lambda table: table).run():
        for reason, bad in table.set_aside().items():
            if len(bad):
                raise DataError(f"{opened.name}, row {first + int(bad[0])}: the row has {reason.value}. Correct it.")
        n_bytes += sum(column.nbytes for column in table.columns) + table.records().nbytes
        if n_bytes > LARGEST_EXPANDED:
            raise UnreadableFile(
                f"{opened.name} must have at most {LARGEST_EXPANDED >> 20} MiB in the columns that are read; it has "
                "more. Leave rows or columns out."
            )
        parts.append(table.columns)
        numbers.append(first + table.records())
    if not sum(len(part) for part in numbers):
        raise DataError(f"{opened.name} has no rows below its column names. Give a table with a row for each day.")
    # blocks of a table may differ in how they hold the same kind of column
    plain = (
        [text_of(one).cast("large_string") if is_text(one.type) else one for one in column]
        for column in zip(*parts, strict=True)
    )
    return [pa.concat_arrays(arrays) for arrays in plain], np.concatenate(numbers)


def _dates(column: Any, numbers: IntArray, name: str, source: str, options: ReadOptions) -> ReadDates:
    dates = read_dates(column, DateForm() if options.date_format is None else parse_date_format(options.date_format))
    marks = {DateOrder.DAY_FIRST: dates.proves_day_first, DateOrder.MONTH_FIRST: dates.proves_month_first}
    proofs = {order: numbers[np.argmax(mark)] for order, mark in marks.items() if mark.any()}
    if options.date_format is None and len(proofs) == 2:
        raise AmbiguousDate(
            f"{source}: the date in row {proofs[DateOrder.DAY_FIRST]} can only be day first, the one in row "
            f"{proofs[DateOrder.MONTH_FIRST]} only month first. Write all dates alike."
        )
    if options.date_format is None and proofs:
        dates = read_dates(column, DateForm(next(iter(proofs))))
    if (is_undecided := dates.state == UNDECIDED).any():
        raise AmbiguousDate(
            f"{source}: no date tells whether they are day first or month first (the first in question is in row "
            f"{numbers[np.argmax(is_undecided)]}). Write the year first."
        )
    is_bad = dates.state != GOOD
    rule = "entry must not be blank" if dates.state[np.argmax(is_bad)] == BLANK else "entry must be a date"
    _refuse(is_bad, numbers, name, source, rule, "name another column as date")
    return dates


def _refuse(is_bad: BoolArray, numbers: IntArray, name: str, source: str, rule: str, way: str, of: str = "") -> None:
    """Refuse a column with bad entries, by the row of the first and how many there are; ``way`` is a way out."""
    if is_bad.any():
        raise DataError(
            f"{source}, row {numbers[np.argmax(is_bad)]}, column {name}: each {rule}; {np.count_nonzero(is_bad)} {of}"
            f"are not. Correct them, or {way}."
        )


def _places(column: Any, numbers: IntArray, name: str, source: str, domain: Domain) -> IntArray:
    pa = require("pyarrow", extra="events")
    try:
        codes, texts = codes_of(column)
    except pa.ArrowException:
        raise DataError(
            f"{source}, column {name}: places must be names; this column holds {column.type}. Name another column."
        ) from None
    found = np.asarray(domain.place.match(texts), np.int64)[codes]
    _refuse(found < 0, numbers, name, source, "entry must be a place of the series", "leave such rows out")
    return np.asarray(found, np.int64)


def _check(rows: _Rows, domain: Domain, date: str, source: str) -> None:
    """Refuse a date, or a date and place, that stands in two rows; and a table without the time to learn from."""
    place = np.zeros(len(rows.bins), np.int64) if rows.places is None else rows.places
    order = np.lexsort((rows.numbers, place, rows.clock))
    same = (rows.clock[order][1:] == rows.clock[order][:-1]) & (place[order][1:] == place[order][:-1])
    if same.any():
        at = int(np.argmax(same))
        first, second = rows.numbers[order[at]], rows.numbers[order[at + 1]]
        what = "date" if rows.places is None else "date and place"
        raise DataError(
            f"{source}, row {second}, column {date}: each {what} must stand in one row; rows {first} and {second} "
            f"have the same, and {int(same.sum())} rows in all repeat one. Leave one of them out."
        )
    if not ((rows.bins >= 0) & (rows.bins < domain.shape[0])).any():
        raise DataError(
            f"{source}, column {date}: some dates must lie between {domain.time.label(0)} and "
            f"{domain.time.label(domain.shape[0] - 1)}, the time learned from; none of {len(rows.bins):,} does. "
            "Give a table of that time."
        )


def _numbers(column: Any, decimal: str | None) -> tuple[FloatArray, BoolArray]:
    """Return a column as numbers, NaN where there is none, and where it is blank or says that a number is missing."""
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    values, is_blank = read_number(
        column.cast("uint8") if pa.types.is_boolean(column.type) else column, decimal=decimal
    )
    if not is_text(column.type):
        return np.where(np.isfinite(values), values, np.nan), is_blank | np.isinf(values)
    text = pc.utf8_lower(pc.utf8_trim_whitespace(text_of(column)))
    return values, np.asarray(pc.is_in(text, pa.array(_MISSING, text.type)), bool)


def _check_numbers(values: FloatArray, is_blank: BoolArray, numbers: IntArray, name: str, source: str) -> None:
    """Refuse entries that are neither numbers nor blank, and numbers beyond what can be squared and added up."""
    is_number, is_large = np.isfinite(values) | is_blank, np.abs(values) > LARGEST_NUMBER
    where, way, of = (numbers, name, source), "leave the column out", f"of {len(values)} "
    _refuse(~is_number & ~is_large, *where, "entry must be a number or blank", way, of)
    _refuse(is_large, *where, f"number must be at most {LARGEST_NUMBER:g} in size", way)


def _joined(values: FloatArray, rows: _Rows, time: TimeAxis, n_places: int) -> FloatArray:
    """Return the mean of each bin, or of each bin and place; NaN where there is none."""
    n_bins = time.n_bins or 0
    width = 1 if rows.places is None else n_places
    is_used = (rows.bins >= 0) & np.isfinite(values)
    cell = rows.bins[is_used] * width + (0 if rows.places is None else rows.places[is_used])
    sums = np.bincount(cell, values[is_used], n_bins * width)
    counts = np.bincount(cell, minlength=n_bins * width)
    means: FloatArray = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0).reshape(n_bins, width)
    if (bins_per_day(time.step) or 1) > 1 and (rows.clock.astype(np.int64) % SECONDS_A_DAY == 0).all():
        # numbers of days on an axis of hours: that of the day's first bin in all bins of the day
        days = time.starts().astype("datetime64[D]")
        means = means[np.maximum.accumulate(np.where(np.r_[True, days[1:] != days[:-1]], np.arange(len(days)), 0))]
    return means[:, 0] if rows.places is None else means


def carried_on(column: FloatArray, time: TimeAxis) -> tuple[FloatArray, int | None]:
    r"""Return the column with the bins after its last known one filled in, and the first of them, if there is any.

    They have what is usual for the season, and what is left of the last anomaly:

    .. math:: x_{t+h} = \bar x_{d(t+h)} + \phi^h (x_t - \bar x_{d(t)})

    with the mean of the days of the year around d, of the past alone.
    """
    known = np.flatnonzero(np.isfinite(column).reshape(len(column), -1).any(axis=1))
    if not len(known) or known[-1] == len(column) - 1:
        return column, None
    since = int(known[-1]) + 1
    days, years = (time.starts().astype(f"datetime64[{unit}]") for unit in "DY")
    day_of_year = (days - years).astype(np.int64)
    columns = column.reshape(len(column), -1)
    filled = np.column_stack([_filled(one, day_of_year, since) for one in columns.T])
    return filled.reshape(column.shape), since


def _filled(column: FloatArray, day_of_year: IntArray, since: int) -> FloatArray:
    known = np.flatnonzero(np.isfinite(column[:since]))
    if not len(known):
        return column
    usual = _usual(column[known], day_of_year[known])[day_of_year]
    anomaly = column - usual
    pairs = known[1:][np.diff(known) == 1]
    squares = float(np.square(anomaly[pairs - 1]).sum()) if len(pairs) else 0.0
    phi = float((anomaly[pairs] * anomaly[pairs - 1]).sum()) / squares if squares > 0 else 0.0
    phi = min(max(phi, 0.0), _MOST_PHI)
    ages = np.arange(since, len(column)) - known[-1]
    return np.concatenate([column[:since], usual[since:] + phi**ages * anomaly[known[-1]]])


def _usual(values: FloatArray, day_of_year: IntArray) -> FloatArray:
    """Return the mean of each day of the year with those around it; of all days where there are none around."""
    sums = np.bincount(day_of_year, values, _DAYS)
    counts = np.bincount(day_of_year, minlength=_DAYS).astype(np.float64)
    around = np.arange(_DAYS)[:, None] + np.arange(-_AROUND, _AROUND + 1)[None, :]
    sums, counts = sums[around % _DAYS].sum(axis=1), counts[around % _DAYS].sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(_DAYS, values.mean()), where=counts > 0), np.float64)
