"""A table of (date, place, count): what repeats, what is missing, what one date alone does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.events import EventColumns, EventCounts, ReadOptions, TableNotes, open_events, scan_span, summarize
from tacit.events import counts as table_notes_module

Write = Callable[..., Path]
Count = Callable[..., EventCounts]
WRITTEN = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
JANUARY = TimeAxis.between("2018-01-01", "2018-01-05", zone="Europe/Paris")


@pytest.fixture
def january(domain: Domain) -> Domain:
    return replace(domain, time=JANUARY)


def notes(counts: EventCounts) -> TableNotes:
    assert counts.table is not None
    return counts.table


def days(*numbers: int, towns: str = "Ornans Besançon") -> str:
    return "SDate,Town,N\n" + "".join(f"2018-01-{n:02d},{town},{n}\n" for n in numbers for town in towns.split())


def test_one_row_for_each_date_and_place_needs_no_word(write: Write, count: Count, january: Domain) -> None:
    counts = count(write(days(1, 2, 3, 4, 5)), count="N", domain=january)
    assert notes(counts).lines() == []
    assert str(counts.table) == "one row for each date and place, no period without a row"


def test_exactly_one_missing_date_counts_as_zero_and_is_said(write: Write, count: Count, january: Domain) -> None:
    counts = count(write(days(1, 2, 4, 5)), count="N", domain=january)
    assert counts.counts.sum(axis=1).tolist() == [2, 4, 0, 8, 10]
    assert str(counts.table) == "1 of 5 periods has no row, and counts as 0 (2018-01-03)"


def test_a_row_of_zero_is_not_a_missing_date(write: Write, count: Count, january: Domain) -> None:
    counts = count(write(days(1, 2, 4, 5) + "2018-01-03,Ornans,0\n"), count="N", domain=january)
    assert notes(counts).n_empty == 0


def test_dates_of_the_same_place_add_up_and_are_said(write: Write, count: Count, january: Domain) -> None:
    text = days(1, 2, 3, 4, 5, towns="Ornans") + "2018-01-02,ornans,7\n02.01.2018 00:00:00,ORNANS,1\n"
    counts = count(write(text), count="N", domain=january, date_format="day-first")
    assert counts.n_events == 15 + 7 + 1
    assert notes(counts).lines() == [
        "2 rows repeat the date and place of an earlier one, and were added to it (rows 7, 8)"
    ]


def test_towns_of_one_region_and_hours_of_one_day_do_not_repeat(write: Write, count: Count, january: Domain) -> None:
    text = "SDate,Town,N\n2018-01-01 08:00,Ornans,1\n2018-01-01 09:00,Ornans,1\n2018-01-01 08:00,Pontarlier,1\n"
    counts = count(write(text), count="N", domain=january)
    assert january.place.cells == ("West", "South")
    assert counts.counts.tolist()[0] == [0, 3]
    assert notes(counts).n_repeated == 0
    assert str(counts.table) == "4 of 5 periods have no row, and count as 0 (2018-01-02, 2018-01-03, 2018-01-04, …)"


def test_a_single_date_is_a_table_like_any_other(write: Write, count: Count, places: PlaceAxis) -> None:
    path = write("SDate,Town,N\n2018-01-03,Ornans,4\n")
    axis = scan_span(path, columns=EventColumns("SDate", "Town", "N"), options=WRITTEN).axis()
    assert axis.n_bins == 1
    counts = count(path, count="N", domain=Domain(axis, places))
    assert (counts.counts.shape, counts.n_events, notes(counts).lines()) == ((1, 2), 4, [])
    assert summarize(counts).years[0].total == 4
    nowhere = count(path, count="N", domain=Domain(TimeAxis.between("2018-02-01", "2018-02-01"), places))
    assert str(nowhere.table) == "1 of 1 period has no row, and counts as 0 (2018-02-01)"


def test_an_axis_without_end_ends_with_the_table(write: Write, count: Count, january: Domain) -> None:
    endless = replace(january, time=JANUARY.without_end())
    assert str(count(write(days(1, 4)), count="N", domain=endless).table).startswith("2 of 4 periods have no row")


def test_lists_of_events_and_tables_of_users_are_no_tables_of_counts(write: Write, count: Count) -> None:
    path = write("SDate,Town,N,Who\n2018-01-01,Ornans,1,a\n2018-01-01,Ornans,1,b\n")
    assert count(path).table is None
    assert count(path, count="N", user="Who").table is None
    assert notes(count(path, count="N")).repeated_rows == (3,)


def test_beyond_so_many_rows_repetitions_are_not_searched_for_and_this_is_said(
    write: Write, count: Count, january: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_notes_module, "_MAX_ROWS", 4)
    text = days(1, 2, 3, 4, 5, towns="Ornans") + days(1, 5, towns="Ornans").partition("\n")[2]
    for batch_rows in (1, 100):
        counts = count(write(text), count="N", domain=january, batch_rows=batch_rows)
        assert notes(counts).lines() == ["only the first 4 rows were searched for repetitions"]


@given(
    st.lists(st.tuples(st.integers(1, 5), st.sampled_from(["a", "b", "c"])), min_size=1, max_size=30), st.integers(1, 9)
)
def test_every_repetition_is_found_whatever_the_batches(rows: list[tuple[int, str]], batch_rows: int) -> None:
    table = pa.table(
        {"SDate": [f"2018-01-{day:02d}" for day, _ in rows], "Town": [town for _, town in rows], "N": [1] * len(rows)}
    )
    domain = Domain(JANUARY, PlaceAxis.of(["a", "b", "c"]))
    events = open_events(
        table,
        columns=EventColumns("SDate", "Town", "N"),
        domain=domain,
        options=ReadOptions(date_format="year-first", batch_rows=batch_rows),
    )
    found = notes(events.count())
    expected = [number for number, row in enumerate(rows) if row in rows[:number]]
    assert found.repeated_rows == tuple(expected[:20])
    assert found.n_repeated == len(expected)
    assert found.n_empty == 5 - len({day for day, _ in rows})


def test_places_found_by_coordinates_are_not_compared(write: Write, count: Count, january: Domain) -> None:
    square = "[[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]"
    polygons = write(
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "Ornans"}, '
        f'"geometry": {{"type": "Polygon", "coordinates": {square}}}}}]}}',
        "towns.geojson",
    )
    text = 'SDate,Town,N,At\n2018-01-01,,1,"(0.5, 0.5)"\n2018-01-01,,1,"(0.6, 0.6)"\n'
    counts = count(write(text), count="N", location="At", polygons=polygons, polygons_crs="EPSG:4326", domain=january)
    assert counts.n_events == 2
    assert notes(counts).n_repeated == 0
    assert np.count_nonzero(counts.counts) == 1
