"""The forms a written date may take, how a user names one, and columns of dates as seconds.

Year first: ``2018-12-31``, ``2018/12/31``; day first or month first also ``31.12.2018``, ``31-12-2018``; with or
without a time of day (``T`` or a space, ``08:08``, ``08:08:30``, fractions, AM and PM) and an offset (``Z``,
``+01:00``). Whoever knows the source says what comes first in ``08/09/2018``; only public tables may tell it by their
rows (``proves_day_first``, ``proves_month_first``).

Most files write every date alike, padded with zeros. Those are read from the bytes of the whole column at once;
whatever else is left goes through one regular expression. Both ways obey the same rules and are tested against
each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit.errors import SettingError
from tacit.events.columns import bytes_and_offsets, is_text, text_of


class DateOrder(Enum):
    """The part that comes first in a date that does not begin with its year."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"
    YEAR_FIRST = "year-first"  # such dates are then not dates at all


@dataclass(frozen=True, slots=True)
class DateForm:
    """The form of dates: an order for those without the year in front, or a pattern of the user's own."""

    order: DateOrder | None = None
    pattern: str | None = None


CLOCK: Final = (
    r"(?P<H>[0-9]{1,2})[:h](?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,][0-9]+)?)?"
    r"\s*(?P<p>[AaPp]\.?[Mm]\.?)?\s*(?P<z>Z|z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
# One pattern for every recognized form; whether a or c is the year is seen from their lengths.
ANY_DATE: Final = (
    r"^(?P<a>[0-9]{1,4})(?P<s>[-/.])(?P<b>[0-9]{1,2})(?P<t>[-/.])(?P<c>[0-9]{1,4})(?:(?:T|\s+)" + CLOCK + r")?$"
)

_DIRECTIVES: Final = {
    "Y": r"(?P<Y>[0-9]{4})",
    "y": r"(?P<y>[0-9]{2})",
    "m": r"(?P<m>[0-9]{1,2})",
    "d": r"(?P<d>[0-9]{1,2})",
    "H": r"(?P<H>[0-9]{1,2})",
    "I": r"(?P<H>[0-9]{1,2})",
    "M": r"(?P<M>[0-9]{1,2})",
    "S": r"(?P<S>[0-9]{1,2})",
    "f": r"[0-9]{1,9}",
    "p": r"(?P<p>[AaPp]\.?[Mm]\.?)",
    "z": r"(?P<z>Z|[+-][0-9]{2}:?[0-9]{2})",
    "%": "%",
}
# "%d/%m/%Y %H:%M" and the like only settle the order; any pattern else is taken to the letter
_PLAIN: Final = re.compile(r"%([dmY])([-/.])%([dmY])\2%([dmY])(?:[T ]%H:%M(?::%S)?)?")
_ORDERS: Final = {"dmY": DateOrder.DAY_FIRST, "mdY": DateOrder.MONTH_FIRST, "Ymd": DateOrder.YEAR_FIRST}


def parse_date_format(text: str) -> DateForm:
    """Read ``day-first``, ``month-first``, ``year-first`` or a pattern in the notation of ``strftime``.

    >>> parse_date_format("%d/%m/%Y %H:%M").order
    <DateOrder.DAY_FIRST: 'day-first'>
    >>> parse_date_format("%d %B %Y")
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: date_format must be day-first, month-first, year-first or a pattern of numbers with \
%Y or %y, %m and %d; got date_format='%d %B %Y'. Write it like %d/%m/%Y %H:%M.
    """
    word = text.strip().lower().replace(" ", "-").replace("_", "-")
    for order in DateOrder:
        if word == order.value:
            return DateForm(order)
    plain = _PLAIN.fullmatch(text.strip())
    if plain is not None and plain[1] + plain[3] + plain[4] in _ORDERS:
        return DateForm(_ORDERS[plain[1] + plain[3] + plain[4]])
    return DateForm(pattern=_regex(text.strip()))


def _regex(text: str) -> str:
    parts = re.split(r"%(.)", text)
    directives = parts[1::2]
    groups = ["H" if one == "I" else one for one in directives if one not in "f%"]
    is_date = "d" in groups and "m" in groups and ("Y" in groups) != ("y" in groups)
    is_known = all(one in _DIRECTIVES for one in directives) and not text.endswith("%")
    if not is_known or not is_date or len(set(groups)) < len(groups) or ("I" in directives) != ("p" in directives):
        raise SettingError(
            "date_format must be day-first, month-first, year-first or a pattern of numbers with %Y or %y, %m and %d; "
            f"got date_format={text!r}. Write it like %d/%m/%Y %H:%M."
        )
    literals = [re.sub(r"\s+", r"\\s+", _escape(part)) for part in parts[0::2]]
    fields = [_DIRECTIVES[one] for one in directives] + [""]
    return "^" + "".join(literal + one for literal, one in zip(literals, fields, strict=True)) + "$"


def _escape(literal: str) -> str:
    # not re.escape: the engine that runs the pattern refuses an escaped letter or space
    return re.sub(r"([.^$*+?{}\[\]\\|()-])", r"\\\1", literal)


Seconds = NDArray[np.int64]
Flags = NDArray[np.bool_]

GOOD, BLANK, UNREADABLE, UNDECIDED = 0, 1, 2, 3  # codes of ReadDates.state
_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# of 2018-12-31, with 08:08, with seconds, with Z, with +01:00
_FIXED_LENGTHS: Final = (10, 16, 19, 20, 25)
_DASH, _DOT, _SLASH, _COLON, _SPACE = b"-./: "
_T, _Z, _PLUS = b"TZ+"


@dataclass(frozen=True, slots=True)
class ReadDates:
    """One column of dates: seconds since 1970, of the wall clock, or in UTC where ``is_instant``.

    ``state`` is GOOD, BLANK, UNREADABLE or, where only the missing order stands in the way, UNDECIDED.
    ``proves_day_first`` and ``proves_month_first`` mark dates that can be read in one order only.
    """

    seconds: Seconds
    state: NDArray[np.uint8]
    is_instant: Flags
    proves_day_first: Flags
    proves_month_first: Flags

    @classmethod
    def empty(cls, count: int) -> ReadDates:
        """Return a column of unreadable dates, to be filled in."""
        flags = (np.zeros(count, np.bool_) for _ in range(3))
        return cls(np.zeros(count, np.int64), np.full(count, UNREADABLE, np.uint8), *flags)


def holds_dates(kind: Any) -> bool:
    """Return whether an Arrow type may hold dates: dates, timestamps, text, or nothing at all."""
    types = require("pyarrow", extra="events").types
    return bool(types.is_null(kind) or types.is_timestamp(kind) or types.is_date(kind) or is_text(kind))


def read_dates(column: Any, form: DateForm) -> ReadDates:
    """Read an Arrow array of timestamps, dates or text; of anything else no value is a date.

    >>> import pyarrow as pa
    >>> dates = read_dates(pa.array(["2008/08/08 08:08", "", "08.08.2008"]), DateForm())
    >>> dates.state.tolist(), dates.seconds[:1].astype("datetime64[s]").item().isoformat()
    ([0, 1, 3], '2008-08-08T08:08:00')
    """
    pa = require("pyarrow", extra="events")
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return _read_typed(pa, column)
    if not is_text(kind):
        dates = ReadDates.empty(len(column))
        dates.state[column.is_null().to_numpy(zero_copy_only=False)] = BLANK
        return dates
    return _read_text(text_of(column), form)


def _read_typed(pa: Any, column: Any) -> ReadDates:
    if pa.types.is_date32(column.type):
        column = column.cast(pa.timestamp("s"))
    elif pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("ms"))
    dates = ReadDates.empty(len(column))
    ticks = column.cast(pa.timestamp(column.type.unit)).view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    dates.seconds[:] = ticks // _PER_SECOND[column.type.unit]
    in_calendar = (dates.seconds >= _month_starts()[0] * 86400) & (dates.seconds < _month_starts()[-1] * 86400)
    dates.state[in_calendar] = GOOD
    if column.null_count:
        dates.state[column.is_null().to_numpy(zero_copy_only=False)] = BLANK
    dates.is_instant[:] = column.type.tz is not None
    return dates


def _read_text(column: Any, form: DateForm) -> ReadDates:
    dates = ReadDates.empty(len(column))
    data, offsets = bytes_and_offsets(column)
    lengths = np.diff(offsets)
    if form.pattern is None:
        for length in _FIXED_LENGTHS:
            rows = np.flatnonzero(lengths == length)
            if len(rows) == len(lengths) and len(rows):
                _read_fixed(data[offsets[0] : offsets[-1]].reshape(-1, length), slice(None), form, dates)
            elif len(rows):
                _read_fixed(data[offsets[rows][:, None] + np.arange(length)], rows, form, dates)
    left = np.flatnonzero(dates.state == UNREADABLE)
    if len(left):
        _read_matched(column, left, form, dates)
    return dates


def _read_fixed(matrix: NDArray[np.uint8], rows: Any, form: DateForm, dates: ReadDates) -> None:
    """Read zero-padded dates that all have the same length, column of bytes by column of bytes."""
    text = np.ascontiguousarray(matrix.T)
    digit = text - np.uint8(48)
    clock, offset, fits = _fixed_clock(text, digit)
    year_first = fits & _separated(text, 4, 7) & _all_digits(digit, 0, 1, 2, 3, 5, 6, 8, 9)
    year_last = fits & _separated(text, 2, 5) & _all_digits(digit, 0, 1, 3, 4, 6, 7, 8, 9)
    for chosen, is_year_first in ((year_first, True), (year_last, False)):
        if not chosen.any():
            continue
        some, part, part_clock, part_offset = rows, digit, clock, offset
        if not chosen.all():
            some, part, part_clock = np.arange(len(dates.state))[rows][chosen], digit[:, chosen], clock[chosen]
            part_offset = None if offset is None else offset[chosen]
        if is_year_first:
            ymd = _number(part, 0, 4), _number(part, 5, 2), _number(part, 8, 2)
            _settle(dates, some, *ymd, part_clock, part_offset)
        else:
            abc = _number(part, 0, 2), _number(part, 3, 2), _number(part, 6, 4)
            _settle_short(dates, some, *abc, part_clock, part_offset, form.order)


def _fixed_clock(text: NDArray[np.uint8], digit: NDArray[np.uint8]) -> tuple[Seconds, Seconds | None, Flags]:
    length = len(text)
    clock = np.zeros(text.shape[1], np.int64)
    fits = np.ones(text.shape[1], np.bool_)
    if length >= 16:
        fits = ((text[10] == _T) | (text[10] == _SPACE)) & (text[13] == _COLON) & _all_digits(digit, 11, 12, 14, 15)
        hour, minute = _number(digit, 11, 2), _number(digit, 14, 2)
        fits &= (hour < 24) & (minute < 60)
        clock = hour * np.int64(3600) + minute * np.int64(60)
    if length >= 19:
        second = _number(digit, 17, 2)
        fits &= (text[16] == _COLON) & _all_digits(digit, 17, 18) & (second < 60)
        clock += second
    if length == 20:
        fits &= text[19] == _Z
        return clock, np.zeros(len(fits), np.int64), fits
    if length == 25:
        fits &= ((text[19] == _PLUS) | (text[19] == _DASH)) & (text[22] == _COLON) & _all_digits(digit, 20, 21, 23, 24)
        hours, minutes = _number(digit, 20, 2), _number(digit, 23, 2)
        fits &= (hours < 24) & (minutes < 60)
        offset = hours * np.int64(3600) + minutes * np.int64(60)
        return clock, np.where(text[19] == _DASH, -offset, offset), fits
    return clock, None, fits


def _separated(text: NDArray[np.uint8], first: int, second: int) -> Flags:
    mark = text[first]
    is_mark: Flags = ((mark == _DASH) | (mark == _SLASH) | (mark == _DOT)) & (mark == text[second])
    return is_mark


def _all_digits(digit: NDArray[np.uint8], *positions: int) -> Flags:
    fits: Flags = digit[positions[0]] < 10
    for position in positions[1:]:
        fits &= digit[position] < 10
    return fits


def _number(digit: NDArray[np.uint8], start: int, length: int) -> NDArray[np.int32]:
    number: NDArray[np.int32] = digit[start].astype(np.int32)
    for position in range(start + 1, start + length):
        number = number * np.int32(10) + digit[position]
    return number


def _settle_short(
    dates: ReadDates,
    rows: Any,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    year: NDArray[np.int32],
    clock: Seconds,
    offset: Seconds | None,
    order: DateOrder | None,
) -> None:
    """Read dates with the year last in the order given, or note what they prove about it."""
    as_day_first, as_month_first = _is_date(year, second, first), _is_date(year, first, second)
    dates.proves_day_first[rows] = as_day_first & ~as_month_first
    dates.proves_month_first[rows] = as_month_first & ~as_day_first
    if order is DateOrder.DAY_FIRST:
        _settle(dates, rows, year, second, first, clock, offset)
    elif order is DateOrder.MONTH_FIRST:
        _settle(dates, rows, year, first, second, clock, offset)
    elif order is None:
        dates.state[rows] = np.where(as_day_first | as_month_first, UNDECIDED, UNREADABLE)


def _settle(
    dates: ReadDates,
    rows: Any,
    year: NDArray[np.int32],
    month: NDArray[np.int32],
    day: NDArray[np.int32],
    clock: Seconds,
    offset: Seconds | None,
) -> None:
    good = _is_date(year, month, day)
    starts = _month_starts()
    index = np.where(good, (year - 1) * 12 + (month - 1), 0)
    seconds = (starts[index] + (day - 1)) * np.int64(86400) + clock
    if offset is not None:
        seconds -= offset
        dates.is_instant[rows] = True
    dates.seconds[rows] = seconds
    dates.state[rows] = np.where(good, GOOD, UNREADABLE)


def _is_date(year: NDArray[np.int32], month: NDArray[np.int32], day: NDArray[np.int32]) -> Flags:
    fits = (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1)
    if (day <= 28).all():
        return fits
    starts = _month_starts()
    index = np.where(fits, (year - 1) * 12 + (month - 1), 0)
    is_date: Flags = fits & (day <= starts[index + 1] - starts[index])
    return is_date


@lru_cache(maxsize=1)
def _month_starts() -> Seconds:
    """Return the first day of each month from year 1 to the end of year 9999, in days since 1970."""
    months = np.arange(np.datetime64("0001-01", "M"), np.datetime64("10000-01", "M") + 1)
    return months.astype("datetime64[D]").astype(np.int64)


def _read_matched(column: Any, rows: NDArray[np.int64], form: DateForm, dates: ReadDates) -> None:
    """Read what is left with one regular expression."""
    pa, pc = require("pyarrow", extra="events"), require("pyarrow.compute", extra="events")
    text = pc.utf8_trim_whitespace(column.take(pa.array(rows)))
    is_blank = pc.equal(pc.binary_length(text), 0).to_numpy(zero_copy_only=False)
    dates.state[rows[is_blank]] = BLANK
    matched = pc.extract_regex(text, form.pattern or ANY_DATE)
    hits = np.flatnonzero(matched.is_valid().to_numpy(zero_copy_only=False))
    if not len(hits):
        return
    matched, rows = matched.take(pa.array(hits)), rows[hits]
    groups = {matched.type.field(i).name: matched.field(i) for i in range(matched.type.num_fields)}
    clock, fits = _matched_clock(pc, groups)
    offset, has_offset, is_possible = _matched_offset(pc, groups, len(rows))
    fits &= is_possible
    numbers = {name: _ints(pc, groups[name]) for name in "abcYymd" if name in groups}
    if form.pattern is not None:
        year = numbers["Y"] if "Y" in numbers else numbers["y"] + np.where(numbers["y"] < 69, 2000, 1900)
        _settle(dates, rows, year.astype(np.int32), numbers["m"], numbers["d"], clock, offset)
    else:
        fits &= pc.equal(groups["s"], groups["t"]).to_numpy(zero_copy_only=False)
        first, last = (pc.binary_length(groups[name]).to_numpy(zero_copy_only=False) for name in "ac")
        year_first, year_last = (first == 4) & (last <= 2), (last == 4) & (first <= 2)
        fits &= year_first | year_last
        for chosen, is_year_first in ((year_first, True), (year_last, False)):
            a, b, c = (numbers[name][chosen] for name in "abc")
            if is_year_first:
                _settle(dates, rows[chosen], a, b, c, clock[chosen], offset[chosen])
            else:
                _settle_short(dates, rows[chosen], a, b, c, clock[chosen], offset[chosen], form.order)
    dates.is_instant[rows] = has_offset
    misfits = rows[~fits]
    dates.state[misfits] = UNREADABLE
    dates.proves_day_first[misfits] = dates.proves_month_first[misfits] = False


def _matched_clock(pc: Any, groups: dict[str, Any]) -> tuple[Seconds, Flags]:
    count = len(next(iter(groups.values())))
    hour, minute, second = (_ints(pc, groups[name]) if name in groups else np.zeros(count, np.int32) for name in "HMS")
    fits = (hour < 24) & (minute < 60) & (second < 60)
    if "p" in groups:
        half = pc.utf8_lower(pc.utf8_slice_codeunits(groups["p"], 0, 1))
        is_am = pc.equal(half, "a").to_numpy(zero_copy_only=False)
        is_pm = pc.equal(half, "p").to_numpy(zero_copy_only=False)
        fits &= ~(is_am | is_pm) | ((hour >= 1) & (hour <= 12))
        hour = np.where(is_am | is_pm, hour % 12 + 12 * is_pm, hour)
    clock: Seconds = hour.astype(np.int64) * 3600 + minute.astype(np.int64) * 60 + second
    return clock, fits


def _matched_offset(pc: Any, groups: dict[str, Any], count: int) -> tuple[Seconds, Flags, Flags]:
    """Return the offset of each date, whether it has one, and whether it is possible."""
    if "z" not in groups:
        return np.zeros(count, np.int64), np.zeros(count, np.bool_), np.ones(count, np.bool_)
    zone = groups["z"]
    has_offset = pc.greater(pc.binary_length(zone), 0).to_numpy(zero_copy_only=False)
    digits = pc.replace_substring_regex(zone, "[^0-9]", "")
    hours = _ints(pc, pc.utf8_slice_codeunits(digits, 0, 2))
    minutes = _ints(pc, pc.utf8_slice_codeunits(digits, 2, 4))
    sign = np.where(pc.starts_with(zone, "-").to_numpy(zero_copy_only=False), -1, 1)
    return sign * (hours * np.int64(3600) + minutes * np.int64(60)), has_offset, (hours < 24) & (minutes < 60)


def _ints(pc: Any, text: Any) -> NDArray[np.int32]:
    filled = pc.if_else(pc.equal(pc.binary_length(text), 0), "0", text)
    numbers: NDArray[np.int32] = pc.cast(filled, "int32").to_numpy(zero_copy_only=False)
    return numbers
