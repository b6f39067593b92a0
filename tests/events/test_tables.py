"""Parquet, frames and databases give what the same rows give as CSV."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.errors import DataError, MissingColumn, SettingError, UnreadableFile
from tacit.events import DayDigest, EventCounts, Reason, SqlQuery

Write = Callable[..., Path]
Count = Callable[..., EventCounts]

DATES = ["2018-01-01 00:00", "2018-01-01 12:34", "2018-07-14 23:59", "2018-12-31 08:08", None]
TOWNS = ["Besançon", "ORNANS", "st vit", None, "Ornans"]
COUNTS = [1, 20, 3, 4, 5]


def rows() -> dict[str, list[Any]]:
    return {"SDate": DATES, "Town": TOWNS, "N": COUNTS}


def typed() -> pa.Table:
    when = [None if text is None else datetime.fromisoformat(text) for text in DATES]
    return pa.table({"SDate": pa.array(when, pa.timestamp("us")), "Town": TOWNS, "N": COUNTS})


def as_csv() -> str:
    lines = [f"{date or ''},{town or ''},{n}" for date, town, n in zip(DATES, TOWNS, COUNTS, strict=True)]
    return "SDate,Town,N\n" + "\n".join(lines) + "\n"


def sqlite_file(folder: Path) -> str:
    path = folder / "events.db"
    connection = sqlite3.connect(path)
    connection.execute("create table events (SDate text, Town text, N integer)")
    connection.executemany("insert into events values (?, ?, ?)", list(zip(DATES, TOWNS, COUNTS, strict=True)))
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


def sources(folder: Path) -> dict[str, object]:
    table = pa.table(rows())
    for name, one in (("text", table), ("typed", typed())):
        pq.write_table(one, folder / f"{name}.parquet", row_group_size=2)
    return {
        "parquet, text": folder / "text.parquet",
        "parquet, typed": str(folder / "typed.parquet"),
        "pyarrow": table,
        "pyarrow, chunked": pa.concat_tables([table.slice(0, 2), table.slice(2)]),
        "pyarrow, dictionary": table.set_column(1, "Town", table["Town"].dictionary_encode()),
        "reader": table.to_reader(),
        "polars": pl.DataFrame(rows()),
        "polars, typed": pl.DataFrame(typed()),
        "polars, categorical": pl.DataFrame(rows()).with_columns(pl.col("Town").cast(pl.Categorical)),
        "pandas": pd.DataFrame(rows()),
        "pandas, typed": typed().to_pandas(),
        "pandas, categorical": pd.DataFrame(rows()).astype({"Town": "category"}),
        "duckdb": duckdb.sql("select * from table_of_events", connection=connected(table)),
        "sql": SqlQuery(sqlite_file(folder), "select * from events order by rowid"),
    }


def connected(table: pa.Table) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("table_of_events", table)
    return connection


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_every_source_gives_the_same_counts_rows_and_digests(
    tmp_path: Path, write: Write, opened: Callable[..., Any], batch_rows: int
) -> None:
    def read(source: object) -> tuple[Any, ...]:
        events = opened(source, count="N", batch_rows=batch_rows)
        digest = DayDigest(bytes(32), events.domain)
        counts = events.count(digest=digest)
        assert counts.n_rows == counts.n_counted + counts.bad_rows.n_rows
        return counts.counts.tolist(), counts.n_rows, dict(counts.bad_rows.first_rows), digest.digests()

    expected = read(write(as_csv()))
    assert expected[2] == {Reason.NO_PLACE: (5,), Reason.NO_DATE: (6,)}
    assert expected[0][0] == [1, 20]
    for name, source in sources(tmp_path).items():
        *same, bad, digests = read(source)
        if name.startswith(("pyarrow", "reader", "polars", "pandas", "duckdb")):
            bad = {reason: tuple(row + 2 for row in rows) for reason, rows in bad.items()}
        assert (*same, bad, digests) == expected, name


def test_rows_of_frames_are_numbered_from_0_as_frames_do_and_those_of_files_as_spreadsheets_do(
    tmp_path: Path, write: Write, count: Count
) -> None:
    for name, source in sources(tmp_path).items():
        said = str(count(source, count="N", batch_rows=2).bad_rows)
        if name.startswith(("parquet", "sql")):
            assert said == "1 row with no date (row 6); 1 row with no place (row 5)", name
        else:
            assert said == (
                "1 row with no date (row 4 of the frame, the first is 0); "
                "1 row with no place (row 3 of the frame, the first is 0)"
            ), name


def test_what_is_no_source_is_called_what_it_is(count: Count) -> None:
    for source, said in ((5, "an int"), ([], "a list"), (None, "None")):
        with pytest.raises(SettingError, match=rf"Arrow capsule protocol; got {said}\. Collect"):
            count(source)


def test_zoned_timestamps_are_instants(count: Count) -> None:
    table = pa.table({"SDate": pa.array([0], pa.timestamp("s", "UTC")), "Town": ["Ornans"]})
    late = table.set_column(0, "SDate", pa.array(["2018-01-01T23:30:00Z"]))
    typed_late = pa.table(
        {"SDate": pa.array(["2018-01-01T23:30:00Z"]).cast(pa.timestamp("us", "UTC")), "Town": ["Ornans"]}
    )
    for source in (late, typed_late, pl.DataFrame(typed_late), typed_late.to_pandas()):
        assert count(source).counts.nonzero()[0].tolist() == [1]  # half past midnight in Paris
    assert count(table).bad_rows.counts == {Reason.OUTSIDE_TIME: 1}


def test_dates_without_a_time_of_day_are_taken_as_they_are(count: Count) -> None:
    table = pa.table({"SDate": [date(2018, 1, 2), None], "Town": ["Ornans", "Ornans"]})
    counts = count(table)
    assert counts.counts.nonzero()[0].tolist() == [1]
    assert counts.bad_rows.counts == {Reason.NO_DATE: 1}


@pytest.mark.parametrize(
    "column", [[1.0, 2.0, None], [Decimal("1.00"), Decimal(2), None], [1, 2, None], ["1", "2.0", " "]]
)
def test_counts_of_every_type_are_read(count: Count, column: list[Any]) -> None:
    table = pa.table({"SDate": ["2018-01-01"] * 3, "Town": ["Ornans"] * 3, "N": column})
    counts = count(table, count="N")
    assert counts.n_events == 3
    assert counts.bad_rows.counts == {Reason.NO_COUNT: 1}


@pytest.mark.parametrize(
    "column",
    [
        [-1, -(10**13)],
        [0.5, float("inf")],
        ["-1", "1e3"],
        ["1 000", "2,5"],
        [Decimal("0.5"), Decimal("-1")],
        [True, False],
        [-1e300, -0.5],
    ],
)
def test_counts_that_are_not_whole_numbers_of_0_or_more_are_set_aside(count: Count, column: Any) -> None:
    table = pa.table({"SDate": ["2018-01-01"] * 2, "Town": ["Ornans"] * 2, "N": column})
    assert count(table, count="N").bad_rows.counts == {Reason.BAD_COUNT: 2}


@pytest.mark.parametrize(
    "column",
    [
        [10**12, 10**12 + 1, 2**63 - 1],
        [1e12, 1e12 + 1, 1e300],
        [Decimal(10**12), Decimal(10**12 + 1), Decimal(10**20)],
        np.array([10**12, 2**63, 2**64 - 1], np.uint64),
        [str(10**12), f"000{10**12 + 1}", "9" * 40],
    ],
)
def test_a_row_counts_up_to_a_bound_and_one_event_more_does_not_lose_it(count: Count, column: Any) -> None:
    table = pa.table({"SDate": ["2018-01-01"] * 3, "Town": ["Ornans"] * 3, "N": column})
    counts = count(table, count="N")
    assert (counts.n_events, bool(counts.bad_rows)) == (3 * 10**12, False)


def test_a_count_of_zero_is_a_row_without_events(count: Count) -> None:
    counts = count(pa.table({"SDate": ["2018-01-01"], "Town": ["Ornans"], "N": [0]}), count="N")
    assert (counts.n_counted, counts.n_events) == (1, 0)


def test_numbers_name_places_too(count: Count) -> None:
    from tacit.domain import Domain, PlaceAxis, TimeAxis

    libraries = Domain(TimeAxis.between("2018-01-01", "2018-01-02"), PlaceAxis.of(["1", "25056"]))
    for column in ([1, 25056, None], [1.0, 25056.0, None]):
        table = pa.table({"SDate": ["2018-01-01"] * 3, "Town": column})
        counts = count(table, domain=libraries)
        assert counts.counts[0].tolist() == [1, 1]
        assert counts.bad_rows.counts == {Reason.NO_PLACE: 1}


def test_a_reader_is_read_once(opened: Callable[..., Any]) -> None:
    events = opened(pa.table(rows()).to_reader())
    assert events.count().n_counted == 3
    with pytest.raises(DataError, match="was read already and cannot be read again"):
        events.count()


def test_a_frame_is_read_as_often_as_asked(opened: Callable[..., Any]) -> None:
    for frame in (pl.DataFrame(rows()), connected(pa.table(rows())).sql("select * from table_of_events")):
        events = opened(frame)
        assert events.count().n_counted == events.count().n_counted == 3


def test_empty_sources_count_nothing(tmp_path: Path, count: Count) -> None:
    empty = pa.table(rows()).slice(0, 0)
    pq.write_table(empty, tmp_path / "empty.parquet")
    url = sqlite_file(tmp_path)
    for source in (empty, tmp_path / "empty.parquet", SqlQuery(url, "select * from events where N < 0")):
        counts = count(source, date_format="year-first")
        assert (counts.n_rows, counts.n_events) == (0, 0)


def test_damaged_parquet_files_are_answered_with_a_sentence(tmp_path: Path, count: Count) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"SDate": ["2018-01-01"] * 5000, "Town": [f"x{i}" for i in range(5000)]}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableFile, match=r"its Parquet footer cannot be read\. Write or copy it again"):
        count(path)
    path.write_bytes(whole[:40] + bytes(len(whole) - 440) + whole[-400:])
    with pytest.raises(UnreadableFile, match=r"events\.parquet is damaged"):
        count(path)
    path.write_bytes(b"SDate,Town\n2018-01-01,Ornans\n")
    with pytest.raises(UnreadableFile, match="is not a Parquet file"):
        count(path)


def test_a_lazy_frame_or_a_list_is_refused(count: Count) -> None:
    for source in (pl.LazyFrame(rows()), [1, 2]):
        with pytest.raises(SettingError, match="source must be a path, a SqlQuery or a frame"):
            count(source)


def test_columns_of_impossible_kinds_are_refused(count: Count) -> None:
    table = pa.table({"SDate": ["2018-01-01"], "Town": [["Ornans"]]})
    with pytest.raises(DataError, match="a column is of a kind that cannot be read"):
        count(table)


def test_missing_columns_of_frames_and_queries_are_named(tmp_path: Path, count: Count) -> None:
    for source in (pl.DataFrame(rows()), SqlQuery(sqlite_file(tmp_path), "select * from events")):
        with pytest.raises(MissingColumn, match=r"has no column 'Date' \(asked for as time\)\. It has: SDate, Town, N"):
            count(source, "Date")


def test_a_database_without_strict_types_is_read(tmp_path: Path, count: Count) -> None:
    path = tmp_path / "loose.db"
    connection = sqlite3.connect(path)
    connection.execute("create table events (SDate, Town, N)")
    mixed = [("2018-01-01", "Ornans", 2), (20180101, b"Ornans", "3"), (None, 7, 1.5), (1.5, "Ornans", None)]
    connection.executemany("insert into events values (?, ?, ?)", mixed)
    connection.commit()
    connection.close()
    counts = count(SqlQuery(f"sqlite:///{path}", "select * from events"), count="N")
    assert counts.n_rows == 4
    assert counts.n_counted == 1
    assert counts.bad_rows.counts == {Reason.UNREADABLE_DATE: 2, Reason.NO_DATE: 1}


def test_queries_that_cannot_run_are_answered_with_a_sentence(tmp_path: Path, count: Count) -> None:
    url = sqlite_file(tmp_path)
    with pytest.raises(DataError, match="refused or broke off the query"):
        count(SqlQuery(url, "select * from nowhere"))
    with pytest.raises(SettingError, match="query must return rows"):
        count(SqlQuery(url, "delete from events"))
    with pytest.raises(SettingError, match="url must be a SQLAlchemy URL"):
        count(SqlQuery("events.db", "select 1"))
    with pytest.raises(SettingError, match="url must be a SQLAlchemy URL"):
        count(SqlQuery("postgresql+nodriver://secret@host/db", "select 1"))
    with pytest.raises(UnreadableFile, match="database cannot be reached"):
        count(SqlQuery(f"sqlite:///file:{tmp_path}/events.db?mode=none&uri=true", "select 1 as SDate, 2 as Town"))
    # nothing was deleted
    assert count(SqlQuery(url, "select * from events")).n_rows == 5


@pytest.mark.parametrize(
    "address",
    [
        "sqlite:///none.db",
        "sqlite+pysqlite:///none.db",
        "sqlite:///{folder}/none.db",
        "sqlite:///{folder}/no/such/none.db",
        "sqlite:///file:none.db?uri=true",
        "sqlite:///file:{folder}/none.db?mode=rwc&uri=true",
    ],
)
def test_a_missing_sqlite_file_is_refused_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: Count, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableFile, match=r"none\.db does not exist\. Check the name and the folder"):
        count(SqlQuery(address.format(folder=tmp_path), "select 1 as SDate, 2 as Town"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", ["sqlite:///events.db", "sqlite:///file:events.db?mode=ro&uri=true"])
def test_a_sqlite_file_is_found_from_the_folder_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: Count, form: str
) -> None:
    sqlite_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert count(SqlQuery(form, "select * from events")).n_rows == 5


@pytest.mark.parametrize("form", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?mode=memory&uri=true"])
def test_a_sqlite_database_in_memory_needs_no_file(count: Count, form: str) -> None:
    assert count(SqlQuery(form, "select '2018-01-01' as SDate, 'Ornans' as Town")).n_counted == 1


def test_a_query_does_not_show_its_url() -> None:
    assert "secret" not in repr(SqlQuery("postgresql://user:secret@host/db", "select 1"))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.datetimes(datetime(2017, 6, 1), datetime(2019, 6, 1))),
            st.sampled_from([None, "Besançon", "ornans", "Paris", "Bonnal", ""]),
        ),
        min_size=1,
        max_size=40,
    ),
    st.integers(1, 50),
)
@pytest.mark.slow
def test_random_tables_count_alike_in_every_format(
    tmp_path: Path, write: Write, count: Count, table: list[tuple[datetime | None, str | None]], batch_rows: int
) -> None:
    when = [None if one is None else one.replace(microsecond=0) for one, _ in table]
    towns = [town for _, town in table]
    lines = [
        f"{'' if one is None else one.isoformat(' ')};{town or ''};x" for one, town in zip(when, towns, strict=True)
    ]
    csv = count(write("SDate;Town;Note\n" + "\n".join(lines) + "\n"), batch_rows=batch_rows)
    frame = pa.table({"SDate": pa.array(when, pa.timestamp("us")), "Town": towns})
    pq.write_table(frame, tmp_path / "t.parquet")
    for source in (frame, tmp_path / "t.parquet", pl.DataFrame(frame)):
        other = count(source, batch_rows=batch_rows)
        assert np.array_equal(other.counts, csv.counts)
        before = 2 if isinstance(source, Path) else 0
        rows = {reason: tuple(row - 2 + before for row in rows) for reason, rows in csv.bad_rows.first_rows.items()}
        assert other.bad_rows.first_rows == rows
        assert other.n_rows == csv.n_rows == len(table)
