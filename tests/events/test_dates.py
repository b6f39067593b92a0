"""Dates as people and machines write them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import SettingError
from tacit.events import dates as dates_module
from tacit.events.dates import (
    BLANK,
    GOOD,
    UNDECIDED,
    UNREADABLE,
    DateForm,
    DateOrder,
    ReadDates,
    parse_date_format,
    read_dates,
)

DAY_FIRST, MONTH_FIRST = DateForm(DateOrder.DAY_FIRST), DateForm(DateOrder.MONTH_FIRST)


def read(*texts: str | None, form: DateForm = DAY_FIRST) -> ReadDates:
    return read_dates(pa.array(texts, pa.string()), form)


def clock(dates: ReadDates) -> list[str]:
    return [str(second) for second in dates.seconds.astype("datetime64[s]")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2018-12-31", "2018-12-31T00:00:00"),
        ("2018-12-31T23:59", "2018-12-31T23:59:00"),
        ("2018-12-31 23:59:58", "2018-12-31T23:59:58"),
        ("2018-12-31T23:59:58.123456", "2018-12-31T23:59:58"),
        ("2018-12-31 23:59:58,9", "2018-12-31T23:59:58"),
        ("2008/08/08 08:08", "2008-08-08T08:08:00"),
        ("08/08/2008 08:08", "2008-08-08T08:08:00"),
        ("31.12.2018", "2018-12-31T00:00:00"),
        ("31-12-2018 23:59:59", "2018-12-31T23:59:59"),
        ("1/2/2018 8:08", "2018-02-01T08:08:00"),
        ("2018-2-1", "2018-02-01T00:00:00"),
        ("  31/12/2018  ", "2018-12-31T00:00:00"),
        ("31/12/2018 08h05", "2018-12-31T08:05:00"),
        ("31/12/2018 12:30 AM", "2018-12-31T00:30:00"),
        ("31/12/2018 12:30:15 pm", "2018-12-31T12:30:15"),
        ("31/12/2018 1:30 p.m.", "2018-12-31T13:30:00"),
        ("2016-02-29", "2016-02-29T00:00:00"),
        ("0001-01-01", "0001-01-01T00:00:00"),
        ("9999-12-31 23:59:59", "9999-12-31T23:59:59"),
    ],
)
def test_every_written_form_is_read(text: str, expected: str) -> None:
    dates = read(text)
    assert dates.state.tolist() == [GOOD]
    assert clock(dates) == [expected]
    assert not dates.is_instant.any()


@pytest.mark.parametrize(
    "text",
    [
        "2018-13-01",
        "2018-02-30",
        "2017-02-29",
        "1900-02-29",
        "31/04/2018",
        "0000-01-01",
        "2018-00-10",
        "2018-01-00",
        "2018-01-01 24:00",
        "2018-01-01 23:60",
        "2018-01-01 23:59:60",
        "2018-01/01",
        "2018-01-01Z",
        "2018-01-01 08:08 XM",
        "31/12/2018 13:30 PM",
        "31/12/2018 0:30 AM",
        "2018-01-01T00:00:00+25:00",
        "2018-01-01T00:00:00+01:75",
        "20180101",
        "1514764800",
        "01/02/18",
        "1 January 2018",
        "yesterday",
        "2018-01-01 08:08 and more",
        "٢٠١٨-٠١-٠١",
    ],
)
def test_what_is_no_date_is_unreadable(text: str) -> None:
    assert read(text).state.tolist() == [UNREADABLE]


def test_blanks_are_not_unreadable() -> None:
    assert read("", None, "   ", "\u00a0").state.tolist() == [BLANK] * 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2018-07-01T00:30:00Z", "2018-07-01T00:30:00"),
        ("2018-07-01T00:30:00+02:00", "2018-06-30T22:30:00"),
        ("2018-07-01 00:30:00-0530", "2018-07-01T06:00:00"),
        ("2018-07-01 00:30 +02", "2018-06-30T22:30:00"),
        ("2018-07-01 00:30:00.5 UTC", "2018-07-01T00:30:00"),
        ("01/07/2018 00:30:00Z", "2018-07-01T00:30:00"),
    ],
)
def test_dates_with_an_offset_are_instants(text: str, expected: str) -> None:
    dates = read(text)
    assert clock(dates) == [expected]
    assert dates.is_instant.all()


def test_one_column_may_mix_forms() -> None:
    dates = read("2018-03-04", "04/03/2018 05:06", "2018-03-04T05:06:07Z", "4.3.2018", "x")
    assert dates.state.tolist() == [GOOD] * 4 + [UNREADABLE]
    assert dates.is_instant.tolist() == [False, False, True, False, False]
    assert clock(dates)[1] == "2018-03-04T05:06:00"


def test_without_an_order_short_dates_stay_undecided_and_say_what_they_prove() -> None:
    dates = read("01/02/2018", "13/02/2018", "02/13/2018", "13/13/2018", "2018-01-02", form=DateForm())
    assert dates.state.tolist() == [UNDECIDED, UNDECIDED, UNDECIDED, UNREADABLE, GOOD]
    assert dates.proves_day_first.tolist() == [False, True, False, False, False]
    assert dates.proves_month_first.tolist() == [False, False, True, False, False]


def test_a_month_too_short_proves_nothing_impossible() -> None:
    # 31/04 is no date day first, and 04/31 none month first: neither proves an order
    dates = read("31/04/2018", "04/31/2018", form=DateForm())
    assert dates.state.tolist() == [UNREADABLE, UNREADABLE]
    assert not (dates.proves_day_first | dates.proves_month_first).any()


def test_the_order_decides_how_short_dates_are_read() -> None:
    assert clock(read("01/02/2018")) == ["2018-02-01T00:00:00"]
    assert clock(read("01/02/2018", form=MONTH_FIRST)) == ["2018-01-02T00:00:00"]
    assert read("01/02/2018", form=DateForm(DateOrder.YEAR_FIRST)).state.tolist() == [UNREADABLE]


WRITTEN = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda when: when.replace(microsecond=0))


@given(st.lists(st.tuples(WRITTEN, st.integers(0, 5)), min_size=1, max_size=20))
def test_reading_undoes_writing(rows: list[tuple[datetime, int]]) -> None:
    def text(when: datetime, form: int) -> tuple[str, datetime]:
        y, m, d = f"{when.year:04d}", f"{when.month:02d}", f"{when.day:02d}"
        minute, second = when.strftime("%H:%M"), when.strftime("%H:%M:%S")
        day = when.replace(hour=0, minute=0, second=0)
        return [
            (f"{y}-{m}-{d}", day),
            (f"{y}/{m}/{d} {minute}", when.replace(second=0)),
            (f"{d}.{m}.{y} {second}", when),
            (f"{when.day}/{when.month}/{y} {when.hour}:{when:%M}", when.replace(second=0)),
            (f"{y}-{m}-{d}T{second}Z", when),
            (f"{y}-{m}-{d}T{second}.25+00:00", when),
        ][form]

    written = [text(when, form) for when, form in rows]
    dates = read(*(one for one, _ in written))
    assert (dates.state == GOOD).all()
    expected = [int((when - datetime(1970, 1, 1)).total_seconds()) for _, when in written]
    assert dates.seconds.tolist() == expected


@given(
    st.lists(st.text(alphabet="0123456789-/.: TZ+", max_size=25), min_size=1, max_size=30), st.sampled_from(DateOrder)
)
def test_the_fast_way_and_the_pattern_agree(texts: list[str], order: DateOrder) -> None:
    both = []
    with pytest.MonkeyPatch.context() as patch:
        both.append(read(*texts, form=DateForm(order)))
        patch.setattr(dates_module, "_FIXED_LENGTHS", ())
        both.append(read(*texts, form=DateForm(order)))
    fast, slow = both
    assert fast.state.tolist() == slow.state.tolist()
    good = fast.state == GOOD
    assert fast.seconds[good].tolist() == slow.seconds[good].tolist()
    assert fast.is_instant[good].tolist() == slow.is_instant[good].tolist()
    assert fast.proves_day_first.tolist() == slow.proves_day_first.tolist()
    assert fast.proves_month_first.tolist() == slow.proves_month_first.tolist()


def test_typed_dates_and_timestamps_are_taken_as_they_are() -> None:
    when = datetime(2018, 3, 4, 5, 6, 7, 999_999)
    for unit in ("s", "ms", "us", "ns"):
        column = pa.array([when, None], pa.timestamp("us")).cast(pa.timestamp(unit), safe=False)
        dates = read_dates(column, DateForm())
        assert dates.state.tolist() == [GOOD, BLANK]
        assert clock(dates)[0] == "2018-03-04T05:06:07"
        assert not dates.is_instant.any()
    for kind in (pa.date32(), pa.date64()):
        dates = read_dates(pa.array([date(2018, 3, 4), None], kind), DateForm())
        assert dates.state.tolist() == [GOOD, BLANK]
        assert clock(dates)[0] == "2018-03-04T00:00:00"
    paris = timezone(timedelta(hours=1))
    aware = pa.array([datetime(2018, 3, 4, 0, 30, tzinfo=paris)], pa.timestamp("us", "Europe/Paris"))
    dates = read_dates(aware, DateForm())
    assert dates.is_instant.all()
    assert clock(dates) == ["2018-03-03T23:30:00"]


def test_fractions_before_1970_are_rounded_down() -> None:
    dates = read_dates(pa.array([-1], pa.timestamp("ms")), DateForm())
    assert clock(dates) == ["1969-12-31T23:59:59"]


def test_timestamps_beyond_the_calendar_are_unreadable() -> None:
    dates = read_dates(pa.array([2**62], pa.timestamp("s")), DateForm())
    assert dates.state.tolist() == [UNREADABLE]


def test_dictionaries_slices_and_large_strings_are_text() -> None:
    column = pa.array(["x", "2018-01-01", "2018-01-02 03:04"])
    for one in (column, column.cast(pa.large_string()), column.dictionary_encode(), column.cast(pa.string_view())):
        assert read_dates(one.slice(1), DateForm()).state.tolist() == [GOOD, GOOD]
    assert read_dates(pa.nulls(2), DateForm()).state.tolist() == [BLANK, BLANK]


def test_numbers_are_no_dates() -> None:
    assert read_dates(pa.array([1514764800, None]), DateForm()).state.tolist() == [UNREADABLE, BLANK]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("%Y%m%d", "20180304", "2018-03-04T00:00:00"),
        ("%Y%m%d%H%M%S", "20180304050607", "2018-03-04T05:06:07"),
        ("%d/%m/%y %H:%M", "04/03/18 05:06", "2018-03-04T05:06:00"),
        ("%d.%m.%y", "04.03.99", "1999-03-04T00:00:00"),
        ("le %d-%m-%Y à %Hh%M", "le 04-03-2018 à 05h06", "2018-03-04T05:06:00"),
        ("%m/%d/%Y %I:%M %p", "03/04/2018 05:06 PM", "2018-03-04T17:06:00"),
        ("%Y-%m-%d %H:%M:%S.%f", "2018-03-04 05:06:07.89", "2018-03-04T05:06:07"),
        ("%Y-%m-%d (%H:%M)", "2018-03-04 (05:06)", "2018-03-04T05:06:00"),
        ("100%% %Y.%m.%d", "100% 2018.03.04", "2018-03-04T00:00:00"),
    ],
)
def test_a_pattern_of_the_users_own_is_taken_to_the_letter(pattern: str, text: str, expected: str) -> None:
    dates = read(text, "2018-03-04T05:06", form=parse_date_format(pattern))
    assert dates.state.tolist() == [GOOD, UNREADABLE]
    assert clock(dates)[0] == expected


def test_a_pattern_with_an_offset_gives_instants() -> None:
    dates = read("04/03/18 05:06 +0100", form=parse_date_format("%d/%m/%y %H:%M %z"))
    assert dates.is_instant.all()
    assert clock(dates) == ["2018-03-04T04:06:00"]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("day-first", DateOrder.DAY_FIRST),
        ("Month First", DateOrder.MONTH_FIRST),
        ("%d/%m/%Y", DateOrder.DAY_FIRST),
        ("%m-%d-%Y %H:%M:%S", DateOrder.MONTH_FIRST),
        ("%Y.%m.%dT%H:%M", DateOrder.YEAR_FIRST),
    ],
)
def test_plain_patterns_settle_the_order(text: str, order: DateOrder) -> None:
    assert parse_date_format(text) == DateForm(order)


@pytest.mark.parametrize(
    "text", ["", "%Y", "%d/%m", "%d/%m/%Y %Q", "%d/%m/%Y%", "%d/%d/%m/%Y", "%y%Y%m%d", "%d/%m/%Y %I:%M"]
)
def test_a_pattern_that_cannot_give_a_date_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="date_format must be"):
        parse_date_format(text)


def test_utc_is_the_zone_of_instants() -> None:
    when = datetime(2018, 1, 1, 12, tzinfo=UTC)
    assert read(when.isoformat()).seconds.tolist() == [int(when.timestamp())]


def test_nothing_to_read_is_nothing_read() -> None:
    assert len(read().state) == 0
    assert np.issubdtype(read().seconds.dtype, np.int64)
