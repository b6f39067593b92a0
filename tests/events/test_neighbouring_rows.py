"""What is done with a row depends on that row and on public settings alone.

Two files differ in one row. Every other row must be read to the same cell, second and count, or be set aside for the
same reason. Before sources were described, one row could change how all others are read.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.events import EventColumns, ReadOptions, Reason, SqlQuery, csv_blocks, open_events

DOMAIN = Domain(TimeAxis.between("2025-01-01", "2025-12-31", zone="Europe/Paris"), PlaceAxis.of(["Besançon", "Ornans"]))
HEAD = b"day,town,n\n"
ROWS = (
    b"03/04/2025,Ornans,1",
    b'2025-04-03 08:08,"Besan\xc3\xa7on",2',
    b'13/04/2025,Ornans,"1,000"',
    b"04/13/2025,Ornans,1",
    b"2025-01-02T23:30:00Z,Ornans,3",
    b'2025-01-02,"Ornans,1',
    b'2025-01-02,Ornans",1',
    b'2025-01-02,"Orn"ans,1',
    b'2025-01-02, "Ornans" ,1',
    b"2025-01-02,Besan\xe7on,1",
    b"2025-01-02,Ornans,1,",
    b"2025-01-02;Ornans;1",
    b"2025-01-02,Ornans,1.5",
    b"\xef\xbb\xbf2025-01-02,Ornans,1",
    b",,",
    b"",
    b"\0\0,\xff",
    b"\xc3",
    b"\xa7,\xc3,\xc3",
    b"2025-01-02,Ornans," + b"9" * 40,
)
ROW = st.one_of(
    st.sampled_from(ROWS),
    st.binary(max_size=12).map(lambda data: data.replace(b"\n", b"").replace(b"\r", b"")),
    st.text(alphabet='2025-01/, ";\u00e7Or', max_size=14).map(str.encode),
)
WRITTEN = ReadOptions(encoding="utf-8", separator=",", date_format="day-first")


def fates(source: object, written: ReadOptions, n_rows: int, columns: EventColumns | None = None) -> list[Any]:
    """What became of each row: its second, cell and count, or the reason it was set aside; None if it was blank."""
    events = open_events(source, columns=columns or EventColumns("day", "town", "n"), domain=DOMAIN, options=written)
    found: list[Any] = [None] * n_rows
    first = written.header_lines + 1
    for batch in events.batches():
        counts = [1] * len(batch) if batch.count is None else batch.count.tolist()
        for row, *fate in zip(batch.row.tolist(), batch.seconds.tolist(), batch.column.tolist(), counts, strict=True):
            found[row - first] = fate
    for reason, rows in events.bad_rows.first_rows.items():
        for row in rows:
            found[row - first] = reason
    return found


def csv(folder: Path, head: bytes, rows: list[bytes], line_end: bytes, encoding: str = "utf-8") -> Path:
    path = folder / "events.csv"
    data = b"".join(line + line_end for line in [head.rstrip(b"\n"), *rows] if head or line is not head)
    path.write_bytes(data if encoding == "utf-8" else data.decode("latin-1").encode(encoding))
    return path


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.lists(ROW, max_size=9),
    after=st.lists(ROW, max_size=9),
    one=st.none() | ROW,
    other=st.none() | ROW,
    batch_rows=st.sampled_from([1, 2, 1000]),
    line_end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    quote=st.sampled_from(['"', ""]),
    encoding=st.sampled_from(["utf-8", "cp1252", "utf-16-le", "shift_jis"]),
)
@example([], [ROWS[0]] * 3, ROWS[2], ROWS[3], 1000, b"\n", '"', "utf-8")
@example([ROWS[5]], [ROWS[0]] * 5 + [ROWS[6]], None, ROWS[5], 1000, b"\n", '"', "utf-8")
@example([], [ROWS[17]], None, ROWS[17], 1000, b"\n", '"', "utf-8")
@pytest.mark.slow
def test_no_row_of_a_csv_file_has_a_say_in_how_another_is_read(
    tmp_path: Path,
    before: list[bytes],
    after: list[bytes],
    one: bytes | None,
    other: bytes | None,
    batch_rows: int,
    line_end: bytes,
    quote: str,
    encoding: str,
) -> None:
    options = {"encoding": encoding, "separator": ",", "date_format": "day-first", "quote": quote}
    written = ReadOptions(**options, batch_rows=batch_rows)
    read = []
    for row in (one, other):
        rows = [*before, *([] if row is None else [row]), *after]
        wide = encoding if encoding.startswith("utf-16") else "utf-8"
        found = fates(csv(tmp_path, HEAD, rows, line_end, wide), written, len(rows))
        read.append(found[: len(before)] + found[len(rows) - len(after) :])
    assert read[0] == read[1]


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROW, max_size=8), ROW, st.lists(ROW, max_size=8), st.sampled_from([1, 1000]))
@pytest.mark.slow
def test_a_file_without_column_names_begins_with_a_row_like_any_other(
    tmp_path: Path, before: list[bytes], row: bytes, after: list[bytes], batch_rows: int
) -> None:
    written = ReadOptions(
        encoding="utf-8", separator=",", date_format="day-first", header_lines=0, names=("day", "town", "n"),
        format="csv", batch_rows=batch_rows,
    )  # fmt: skip
    path = tmp_path / "events.csv"
    alone, among = [], []
    for rows, found in (([row], alone), ([*before, row, *after], among)):
        path.write_bytes(b"".join(line + b"\n" for line in rows))
        found += fates(path, written, len(rows))
    assert among[len(before)] == alone[0]


VALUE = st.one_of(
    st.none(),
    st.integers(-3, 3),
    st.sampled_from([2**62, 2**80, 7.0, 2.5, "7", "7.0", "Ornans", b"Ornans", b"\xff", True, Decimal("7.00"), ""]),
    st.sampled_from([Decimal("2.50"), Decimal("NaN"), date(2025, 4, 3), datetime(2025, 4, 3, 5), "2025-04-03", "x"]),
    st.sampled_from([datetime(2025, 4, 2, 23, 30, tzinfo=UTC), "03/04/2025", "04/13/2025", "13/04/2025"]),
)
TABLE = st.lists(st.tuples(VALUE, VALUE, VALUE), max_size=8)


@settings(max_examples=80)
@given(TABLE, st.tuples(VALUE, VALUE, VALUE), TABLE)
@pytest.mark.slow
def test_no_value_of_a_database_has_a_say_in_the_kind_of_another(
    before: list[tuple[Any, ...]], row: tuple[Any, ...], after: list[tuple[Any, ...]]
) -> None:
    from tacit.events import tables
    from tacit.events.sources import FIRST_ROW

    class Rows:
        """A query's result without a database, so that it may hold values of any kind."""

        can_reread, first_row, has_public_names, total, name = True, FIRST_ROW, True, None, "rows"
        names = ("day", "town", "n")

        def __init__(self, rows: list[tuple[Any, ...]]) -> None:
            self._rows = rows

        def kind(self, position: int) -> None:
            return None

        def pieces(self, positions: Any) -> Any:
            chosen = [[row[position] for position in positions] for row in self._rows]
            for run in tables.runs(chosen):
                columns = tuple(pa.array(column) for column in zip(*run, strict=True))
                yield tables.TablePiece(columns, len(run), 0)

    def of(rows: list[tuple[Any, ...]]) -> list[Any]:
        from tacit.events.reader import Events

        columns, places = EventColumns("day", "town", "n", user="town"), {"time": 0, "place": 1, "count": 2, "user": 1}
        events = Events(Rows(rows), places, columns, DOMAIN, ReadOptions(date_format="day-first"), None)
        found: list[Any] = [None] * len(rows)
        for batch in events.batches():
            assert batch.count is not None
            for number, *fate in zip(batch.row, batch.seconds, batch.column, batch.count, strict=True):
                found[number - FIRST_ROW] = fate
        for reason, numbers in events.bad_rows.first_rows.items():
            for number in numbers:
                found[number - FIRST_ROW] = reason
        return found

    assert of([*before, row, *after])[len(before)] == of([row])[0]


def test_a_row_in_a_database_cannot_refuse_the_others(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "events.db")
    connection.execute("create table events (day, town, n)")
    rows = [("2025-04-03", "Ornans", 1), (5, "Ornans", 1), ("2025-04-04", 7, "2"), ("2025-04-04", "Ornans", "2")]
    connection.executemany("insert into events values (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    query = SqlQuery(f"sqlite:///{tmp_path}/events.db", "select * from events order by rowid")
    for batch_rows in (1, 2, 100):
        found = fates(query, ReadOptions(date_format="year-first", batch_rows=batch_rows), 4)
        assert [type(fate) for fate in found] == [list, Reason, Reason, list]
        assert found[1:3] == [Reason.UNREADABLE_DATE, Reason.UNKNOWN_PLACE]


@pytest.mark.parametrize("n_before", [0, 1, 5])
def test_a_row_that_is_too_long_is_set_aside_wherever_blocks_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_before: int
) -> None:
    monkeypatch.setattr(csv_blocks, "MAX_ROW_BYTES", 64)
    good = b"2025-01-02,Ornans,1"
    for length in (45, 46, 47, 48, 500, 100_000):
        row = b"2025-01-02,Ornans," + b"0" * length
        rows = [good] * n_before + [row] + [good] * 4
        for batch_rows in (1, 3, 1000):
            for line_end in (b"\n", b"\r\n", b"\r"):
                path = csv(tmp_path, HEAD, rows, line_end)
                written = ReadOptions(encoding="utf-8", separator=",", date_format="year-first", batch_rows=batch_rows)
                found = fates(path, written, len(rows))
                assert (found[n_before] is Reason.TOO_LONG) == (len(row) > 64)
                assert all(isinstance(fate, list) for fate in found[:n_before] + found[n_before + 1 :])
