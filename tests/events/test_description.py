"""Events say how they were read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.events import Events, SqlQuery

Write = Callable[..., Path]
Opened = Callable[..., Events]

FRENCH = "SDate;Town;N\n13/02/2018;Besançon;2\n"


@pytest.mark.parametrize(
    ("text", "encoding", "settings", "sentence"),
    [
        (FRENCH, "utf-8", {"count": "N", "decimal": ","}, "CSV, UTF-8, separator ;, decimal comma, day first"),
        (FRENCH, "cp1252", {}, "CSV, Windows-1252, separator ;, day first"),
        (FRENCH, "utf-16", {}, "CSV, UTF-16-LE, separator ;, day first"),
        (FRENCH, "cp437", {"encoding": "cp437"}, "CSV, CP437, separator ;, day first"),
        (FRENCH, "latin-1", {"encoding": "latin-1"}, "CSV, Latin-1, separator ;, day first"),
        (FRENCH.replace(";", "\t"), "utf-8-sig", {}, "CSV, UTF-8, separator tab, day first"),
        (FRENCH, "utf-8", {"date_format": "%d/%m/%Y %Hh%M"}, "CSV, UTF-8, separator ;, dates as %d/%m/%Y %Hh%M"),
        ("SDate,Town,N\n02/13/2018,Ornans,2\n", "ascii", {}, "CSV, ASCII, separator comma, month first"),
        (
            "SDate,Town,N\n2018-01-01,Ornans,2\n",
            "ascii",
            {"count": "N"},
            "CSV, ASCII, separator comma, decimal point or comma, year first",
        ),
        ("SDate,Town,N\nnever,Ornans,2\n", "ascii", {}, "CSV, ASCII, separator comma"),
    ],
)
def test_a_csv_file_is_described(
    write: Write, opened: Opened, text: str, encoding: str, settings: dict[str, Any], sentence: str
) -> None:
    events = opened(write(text, encoding=encoding), **settings)
    events.count()
    assert events.described == sentence


def test_before_a_reading_only_the_start_of_the_file_is_described(write: Write, opened: Opened) -> None:
    data = b"SDate,Town\n" + b"2018-01-01,Ornans\n" * 70_000 + "2018-01-02,Besançon\n".encode()
    events = opened(write(data))
    assert events.described == "CSV, ASCII, separator comma"
    events.count()
    assert events.described == "CSV, UTF-8, separator comma, year first"
    assert opened(write(FRENCH), date_format="day-first").described == "CSV, UTF-8, separator ;, day first"


def test_tables_are_described(tmp_path: Path, opened: Opened) -> None:
    table = pa.table({"SDate": ["13/01/2018"], "Town": ["Ornans"]})
    pq.write_table(table, tmp_path / "events.parquet")
    sqlite3.connect(tmp_path / "events.db").close()
    query = SqlQuery(f"sqlite:///{tmp_path}/events.db", "select '2018-01-01' as SDate, 'Ornans' as Town")
    for source, sentence in (
        (table, "pyarrow Table, day first"),
        (tmp_path / "events.parquet", "Parquet, day first"),
        (query, "result of a query"),
    ):
        events = opened(source)
        events.count()
        assert events.described == sentence
