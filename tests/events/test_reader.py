"""Batches, bad rows, filters and strict reading."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.errors import BadRows, DataError, SettingError
from tacit.events import Condition, EventBatch, EventColumns, EventCounts, ReadOptions, Reason, open_events

Write = Callable[..., Path]
Count = Callable[..., EventCounts]

MESSY = """ID,SDate,Station,Town,N
1,2018-01-01 08:08,East,Besançon,1
2,,East,Ornans,1
3,yesterday,East,Ornans,1
4,2017-12-31 23:59,East,Ornans,1
5,2019-01-01,East,Ornans,1
6,2018-01-01,East,Atlantis,1
7,2018-01-01,East,Bonnal,1
8,2018-01-01,East,,1
9,2018-01-01,East,Ornans,
10,2018-01-01,East,Ornans,-1
11,2018-01-01,East,Ornans,1.5
12,2018-01-01,East
13,2018-06-01,West,ORNANS,7
"""


def test_every_bad_row_is_set_aside_with_its_reason_and_number(write: Write, count: Count) -> None:
    counts = count(write(MESSY), count="N")
    assert counts.n_rows == 13
    assert counts.n_counted == 2
    assert counts.n_events == 8
    assert counts.bad_rows.n_rows == 11
    assert counts.bad_rows.first_rows == {
        Reason.RAGGED: (13,),
        Reason.NO_DATE: (3,),
        Reason.UNREADABLE_DATE: (4,),
        Reason.OUTSIDE_TIME: (5, 6),
        Reason.UNKNOWN_PLACE: (7,),
        Reason.OUTSIDE_PLACE: (8,),
        Reason.NO_PLACE: (9,),
        Reason.NO_COUNT: (10,),
        Reason.BAD_COUNT: (11, 12),
    }


def test_a_name_that_several_places_share_is_set_aside(write: Write, count: Count) -> None:
    twins = PlaceAxis.from_gazetteer(
        Gazetteer.from_text("town,region\nFoucherans,North\nFoucherans,South\nOrnans,South\n")
    )
    domain = Domain(TimeAxis.between("2018", "2018"), twins)
    counts = count(write("SDate,Town\n2018-01-01,Foucherans\n2018-01-01,Foucherans (North)\n"), domain=domain)
    assert counts.bad_rows.first_rows == {Reason.AMBIGUOUS_PLACE: (2,)}
    assert counts.n_counted == 1


def test_strict_reading_refuses_with_counts_and_row_numbers(write: Write, count: Count) -> None:
    with pytest.raises(BadRows) as caught:
        count(write("SDate,Town\n,Ornans\n2018-01-01,Ornans\n2018-01-01,Atlantis\nx,Ornans\nx,Ornans\n"), strict=True)
    assert str(caught.value) == (
        "events.csv: 4 rows cannot be counted: 1 row with no date (row 2); 2 rows with a date that cannot be read "
        "(rows 5, 6); 1 row with a place that is not known (row 4). "
        "Correct them, or read without strict to set them aside."
    )


def test_strict_batches_hand_out_nothing_of_a_refused_source(write: Write, opened: Callable[..., Any]) -> None:
    text = "SDate,Town\n" + "2018-01-01,Ornans\n" * 50 + ",Ornans\n"
    seen = []
    with pytest.raises(BadRows, match=r"1 row with no date \(row 52\)"):
        seen.extend(opened(write(text), strict=True, batch_rows=5).batches())
    assert not seen
    clean = opened(write(text.removesuffix(",Ornans\n")), strict=True, batch_rows=5)
    assert sum(len(batch) for batch in clean.batches()) == 50
    assert clean.n_rows == 50
    once = pa.table({"SDate": ["2018-01-01", None], "Town": ["Ornans", "Ornans"]}).to_reader()
    with pytest.raises(BadRows, match=r"1 row with no date \(row 1 of the frame, the first is 0\)"):
        list(opened(once, strict=True).batches())


def test_only_the_first_rows_of_each_reason_are_kept(write: Write, count: Count) -> None:
    counts = count(write("SDate,Town\n" + "x,Ornans\n" * 100), batch_rows=7)
    assert counts.bad_rows.counts == {Reason.UNREADABLE_DATE: 100}
    assert counts.bad_rows.first_rows[Reason.UNREADABLE_DATE] == tuple(range(2, 22))
    assert str(counts.bad_rows).endswith("20, 21, …)")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("Station=East",), 2),
        (("Station!=East",), 3),
        (("station = East",), 2),
        (("Station=east",), 0),
        (("Station=",), 1),
        (("Station!=", "ID!=1"), 3),
        ((Condition("Note", "a=b"),), 1),
        (("Note=a=b",), 1),
        (("Station==East",), 2),
    ],
)
def test_only_rows_that_meet_every_condition_are_read(
    write: Write, count: Count, where: tuple[Any, ...], expected: int
) -> None:
    text = "ID,SDate,Station,Town,Note\n1,2018-01-01,East,Ornans,a=b\n2,2018-01-01, East ,Ornans,\n"
    text += "3,2018-01-01,West,Ornans,\n4,2018-01-01,,Ornans,\n5,2018-01-01,East-West,Ornans,\n6,x,North,Ornans,\n"
    counts = count(write(text), where=where)
    assert counts.n_counted == expected
    assert counts.n_rows == 6 == counts.n_counted + counts.n_left_out + counts.bad_rows.n_rows


def test_conditions_hold_for_typed_columns(count: Count) -> None:
    table = pa.table({"SDate": ["2018-01-01"] * 3, "Town": ["Ornans"] * 3, "Kind": [1.0, 2.0, None]})
    assert count(table, where=("Kind=1",)).n_counted == 1
    assert count(table, where=("Kind!=1",)).n_counted == 2
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        texts = table.set_column(2, "Kind", pa.array(["a", "b", None]).cast(kind))
        assert count(texts, where=("Kind=b",)).n_counted == 1


def test_a_column_may_serve_twice(write: Write, count: Count) -> None:
    counts = count(write("SDate,Town\n2018-01-01,Ornans\n2018-01-01,Besançon\n"), where=("Town=Ornans",))
    assert (counts.n_counted, counts.n_left_out) == (1, 1)


def test_batches_come_in_row_order_with_wall_clock_and_numbers(write: Write, opened: Callable[..., Any]) -> None:
    batches = list(opened(write(MESSY), count="N", batch_rows=2).batches())
    assert [row for batch in batches for row in batch.row.tolist()] == [2, 14]
    first = batches[0]
    assert str(first.seconds[0]) == "2018-01-01T08:08:00"
    assert (first.time_bin.dtype, first.column.dtype) == (np.int64, np.int32)
    assert first.count is not None
    assert [batch.count.tolist() for batch in batches if batch.count is not None] == [[1], [7]]
    assert "2018" not in repr(first)


def test_instants_are_shown_on_the_wall_clock(write: Write, opened: Callable[..., Any]) -> None:
    text = "SDate,Town\n2018-07-01T00:30:00Z,Ornans\n2018-07-01 00:30:00,Ornans\n2018-12-31T23:30:00Z,Ornans\n"
    events = opened(write(text))
    (batch,) = events.batches()
    assert batch.seconds.astype(str).tolist() == ["2018-07-01T02:30:00", "2018-07-01T00:30:00"]
    assert events.bad_rows.counts == {Reason.OUTSIDE_TIME: 1}  # 2019 in Paris


def test_hours_tell_the_two_autumn_hours_apart_by_offset_only(
    write: Write, opened: Callable[..., Any], places: PlaceAxis
) -> None:
    hours = Domain(TimeAxis.between("2018-10-28", "2018-10-28", step="hour", zone="Europe/Paris"), places)
    text = "SDate,Town\n2018-10-28T02:30:00+02:00,Ornans\n2018-10-28T02:30:00+01:00,Ornans\n2018-10-28 02:30,Ornans\n"
    (batch,) = opened(write(text), domain=hours).batches()
    assert batch.time_bin.tolist() == [2, 3, 2]


def test_an_axis_without_end_grows_to_the_last_event(write: Write, count: Count, places: PlaceAxis) -> None:
    endless = Domain(TimeAxis("2018-01-01", "day"), places)
    text = "SDate,Town\n2018-01-01,Ornans\n2020-12-31,Besançon\n2017-12-31,Ornans\n"
    counts = count(write(text), domain=endless, batch_rows=1)
    assert counts.domain.time.n_bins == 1096 == len(counts.counts)
    assert counts.counts[0].tolist() == [0, 1]
    assert counts.counts[-1].tolist() == [1, 0]
    assert counts.bad_rows.counts == {Reason.OUTSIDE_TIME: 1}


def test_a_date_far_in_the_future_does_not_fill_the_memory(write: Write, count: Count) -> None:
    towns = PlaceAxis.of([f"t{number}" for number in range(2000)])
    endless = Domain(TimeAxis("2018-01-01", "hour"), towns)
    with pytest.raises(DataError, match=r"the date in row 3 lies so far in the future"):
        count(write("SDate,Town\n2018-01-01,t1\n9990-01-01,t2\n"), domain=endless)
    frame = pa.table({"SDate": ["2018-01-01", "9990-01-01"], "Town": ["t1", "t2"]})
    with pytest.raises(DataError, match=r"the date in row 1 of the frame, the first is 0, lies so far in the future"):
        count(frame, domain=endless)


def test_misprinted_years_are_set_aside(write: Write, count: Count) -> None:
    dates = ("9999-12-31 23:59:59", "0001-01-01", "0018-01-01T00:00:00Z", "2018-01-01")
    counts = count(write("SDate,Town\n" + "".join(f"{date},Ornans\n" for date in dates)))
    assert counts.bad_rows.counts == {Reason.OUTSIDE_TIME: 3}


@pytest.mark.slow
def test_any_number_of_unknown_towns_is_counted_and_few_rows_are_kept(write: Write, count: Count) -> None:
    n_rows = 200_000
    text = "SDate,Town\n" + "".join(f"2018-01-01,Nowhere {number}\n" for number in range(n_rows))
    counts = count(write(text), batch_rows=20_000)
    assert counts.bad_rows.counts == {Reason.UNKNOWN_PLACE: n_rows}
    assert len(counts.bad_rows.first_rows[Reason.UNKNOWN_PLACE]) == 20


def test_stopping_early_leaves_no_thread_behind(write: Write, opened: Callable[..., Any]) -> None:
    path = write("SDate,Town\n" + "2018-01-01,Ornans\n" * 5000)
    batches = opened(path, batch_rows=10).batches()
    next(batches)
    batches.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("tacit-events")]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"time": "t", "latitude": "y"}, "latitude and longitude must be given together"),
        ({"time": "t", "location": "l", "latitude": "y", "longitude": "x"}, "not from both"),
        ({"time": "t", "place": "p", "where": ("Station",)}, "where must be COLUMN=VALUE"),
        ({"time": "t", "place": "p", "where": ("=x",)}, "where must be COLUMN=VALUE"),
        ({"time": "t", "place": "p", "where": "a=b"}, "where must be a tuple"),
    ],
)
def test_columns_that_cannot_work_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        EventColumns(**settings)


def test_events_are_counted_wherever_they_are_only_where_nothing_asks_for_places() -> None:
    table = pa.table({"day": ["2018-01-01", "2018-01-02", "2018-01-02"], "town": ["A", None, "B"]})
    time, read = TimeAxis.between("2018-01-01", "2018-01-03"), ReadOptions(date_format="year-first")
    for columns in (EventColumns(time="day"), EventColumns(time="day", place="town")):
        everywhere = open_events(table, columns=columns, domain=Domain(time, PlaceAxis.everything()), options=read)
        assert everywhere.count().counts.tolist() == [[1], [2], [0]]
    with pytest.raises(SettingError, match="place must be the name of a column when no coordinates"):
        open_events(
            table, columns=EventColumns(time="day"), domain=Domain(time, PlaceAxis.of(["A", "B"])), options=read
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"separator": ",,"},
        {"separator": '"'},
        {"separator": "é"},
        {"encoding": "utf-9"},
        {"encoding": "hex"},
        {"decimal": "'"},
        {"date_format": "%Q"},
        {"crs": "EPSG:3857"},
        {"polygons_crs": "EPSG:1"},
        {"batch_rows": 0},
    ],
)
def test_options_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(SettingError, match=f"{name} must be"):
        ReadOptions(**settings)


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["2018-01-01", "2018/06/01 12:00", "31.12.2018 23:59:59", "13/1/2018", "", "x", "2017-01-01"]),
        st.sampled_from(["Besançon", "ornans", "", "Atlantis", "Bonnal", '"St Vit"', '"Saint-\nVit"', 'a "b" c']),
        st.sampled_from(["1", "2", "0", "", "x", "3,0"]),
        st.sampled_from(["", "\n", ";extra"]),
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(ROWS, st.integers(1, 60))
@example([("", "", "", "")], 1)
@pytest.mark.slow
def test_batches_and_counts_agree_whatever_the_size_of_batches(
    write: Write, opened: Callable[..., Any], rows: list[tuple[str, ...]], batch_rows: int
) -> None:
    text = "SDate;Town;N\n31/12/2018;Ornans;1\n" + "".join(f"{date};{town};{n}{end}\n" for date, town, n, end in rows)
    path = write(text)
    written = {"date_format": "day-first", "encoding": "utf-8"}
    whole = opened(path, count="N", **written)
    expected = whole.count()
    events = opened(path, count="N", batch_rows=batch_rows, **written)
    table = np.zeros_like(expected.counts)
    seen: list[EventBatch] = list(events.batches())
    for batch in seen:
        assert batch.count is not None
        np.add.at(table, (batch.time_bin, batch.column), batch.count)
    assert np.array_equal(table, expected.counts)
    assert events.bad_rows.first_rows == expected.bad_rows.first_rows
    # a line end within a field makes two rows, both with too few fields; a row of blank fields is none
    n_rows = sum(1 + ("\n" in town) if date or town or n or end == ";extra" else 0 for date, town, n, end in rows)
    assert events.n_rows == expected.n_rows == 1 + n_rows
    assert sum(len(batch) for batch in seen) == expected.n_counted
    again = opened(path, count="N", batch_rows=batch_rows, **written).count()
    assert np.array_equal(again.counts, expected.counts)
