"""No value of the data appears in a message, a log or anything chained to an exception."""

from __future__ import annotations

import logging
import pickle
import sqlite3
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import TacitError
from tacit.events import EventColumns, ReadOptions, SqlQuery, scan_span

TOWN, DATE, NOTE = "Zyxwville-sur-Secret", "2018-02-31 07:53:11", "Q7SENTINEL"
SENTINELS = (TOWN, "Zyxwville", DATE, "07:53:11", NOTE)

WRITTEN = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
Write = Callable[..., Path]


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and everything chained to it, shown or not."""
    seen: list[BaseException] = []
    todo: list[BaseException | None] = [error]
    while todo:
        one = todo.pop()
        if one is not None and one not in seen:
            seen.append(one)
            yield one
            todo += [one.__cause__, one.__context__]


def said(error: BaseException, caplog: pytest.LogCaptureFixture) -> str:
    parts = [caplog.text]
    for one in chain(error):
        parts += [str(one), repr(one), repr(one.args), repr(one.__dict__), *getattr(one, "__notes__", [])]
        parts += traceback.format_exception(one)
    return "\n".join(parts)


ROW = f"1,{DATE},{TOWN},{NOTE}"
ACCENTED = f"1,{DATE},{TOWN}é,{NOTE}"
HEAD = "ID,SDate,Town,Note"
KINDS = Domain(TimeAxis("2018-01-01", "day"), PlaceAxis.of(["Ornans"]), KindAxis.of(["fire", "flood"]))
BROKEN: dict[str, tuple[bytes, dict[str, Any]]] = {
    "bad rows": (f"{HEAD}\n{ROW}\n".encode(), {"strict": True}),
    "ragged": (f"{HEAD}\n{ROW},{NOTE},{NOTE}\n{TOWN}\n".encode(), {"strict": True}),
    "bad count": (f"{HEAD}\n1,2018-01-01,Ornans,{NOTE}\n".encode(), {"strict": True, "count": "Note"}),
    "unknown town": (f"{HEAD}\n1,2018-01-01,{TOWN},{NOTE}\n".encode(), {"strict": True}),
    "unknown kind": (
        f"{HEAD}\n1,2018-01-01,Ornans,{NOTE}\n".encode(),
        {"strict": True, "kind": "Note", "domain": KINDS},
    ),
    "unclosed quote": (f'{HEAD}\n1,2018-01-01,"{TOWN},{NOTE}\n{ROW}\n'.encode(), {"strict": True}),
    "damaged quotes": (f'{HEAD}\n1,2018-01-01,"{TOWN}"{NOTE},x\n'.encode(), {"strict": True}),
    "NUL byte": (f"{HEAD}\n".encode() + b"1,2018-01-01,Ornans,x\n" * 500 + f"{ROW}\0\n".encode(), {"strict": True}),
    "mixed encodings": (
        f"{HEAD}\n{ACCENTED}\n".encode() + f"{ACCENTED}\n".encode("latin-1"),
        {"batch_rows": 1, "strict": True},
    ),
    "stray bytes": (f"{HEAD}\n{ACCENTED}{ACCENTED}\n".encode() + f"{ACCENTED}\n".encode("latin-1"), {"strict": True}),
    "wrong encoding": (f"{HEAD}\n{ACCENTED}\n".encode("latin-1"), {"encoding": "utf-8", "strict": True}),
    "odd UTF-16": (f"{HEAD}\n{ROW}\n".encode("utf-16") + b"\xd8", {"strict": True}),
    "not ASCII": (f"{HEAD}\n{ROW}é\n".encode(), {"encoding": "ascii", "strict": True}),
    "no header": (f"{ROW}\n{ROW}\n".encode(), {}),
    "no header, no digit": (f"{TOWN},{NOTE}\n{TOWN},{NOTE}\n".encode(), {}),
    "header in quotes": (f'"{ROW}\n{ROW}\n'.encode(), {}),
    "ambiguous dates": (f"{HEAD}\n1,01/02/2018,{TOWN},{NOTE}\n".encode(), {}),
    "contradicting dates": (f"{HEAD}\n1,13/02/2018,{TOWN},{NOTE}\n2,02/13/2018,{TOWN},{NOTE}\n".encode(), {}),
    "far future": (f"{HEAD}\n1,9990-02-01 07:53:11,t1,{NOTE}\n".encode(), {"domain": "endless"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_do_not_tell(
    write: Write, opened: Callable[..., Any], caplog: pytest.LogCaptureFixture, name: str
) -> None:

    data, settings = BROKEN[name]
    if settings.get("domain") == "endless":
        settings = {"domain": Domain(TimeAxis("2018-01-01", "hour"), PlaceAxis.of([f"t{i}" for i in range(5000)]))}
    caplog.set_level(logging.DEBUG)
    with warnings.catch_warnings(record=True, action="always") as warned, pytest.raises(TacitError) as caught:
        opened(write(data), **settings).count()
    text = said(caught.value, caplog) + "".join(str(one.message) for one in warned)
    for sentinel in SENTINELS:
        assert sentinel not in text
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def frames(folder: Path) -> dict[str, object]:
    path = folder / "events.parquet"
    towns = [f"{TOWN} {number}" for number in range(5000)]
    pq.write_table(pa.table({"SDate": ["2018-01-01"] * 5000, "Town": towns}), path, use_dictionary=False)
    whole = path.read_bytes()
    path.write_bytes(whole[:2000] + bytes(1000) + whole[3000:])
    database = folder / "events.db"
    connection = sqlite3.connect(database)
    connection.execute("create table events (SDate, Town)")
    connection.execute("insert into events values (?, ?)", (DATE, TOWN))
    connection.commit()
    connection.close()
    url = f"sqlite:///{database}"
    binary = pa.array([TOWN.encode() + b"\xff"], pa.binary())
    return {
        "damaged Parquet": path,
        "mixed pandas": pd.DataFrame({"SDate": [DATE, 3], "Town": [TOWN, {"a": NOTE}]}),
        "numbers as dates": pl.DataFrame({"SDate": [20180101], "Town": [TOWN]}),
        "lists": pa.table({"SDate": [DATE], "Town": [[TOWN]]}),
        "bytes": pa.table({"SDate": ["2018-01-01"], "Town": binary}),
        "failing query": SqlQuery(
            url, f"select Town, '{NOTE}' from events where abs(-9223372036854775808 * (Town = '{TOWN}'))"
        ),
        "bad rows of a query": SqlQuery(url, "select * from events"),
    }


FRAMES = (
    "damaged Parquet",
    "mixed pandas",
    "numbers as dates",
    "lists",
    "bytes",
    "failing query",
    "bad rows of a query",
)


@pytest.mark.parametrize("name", FRAMES)
def test_broken_frames_do_not_tell(
    tmp_path: Path, opened: Callable[..., Any], caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(TacitError) as caught:
        opened(frames(tmp_path)[name], strict=True).count()
    text = said(caught.value, caplog)
    for sentinel in SENTINELS:
        assert sentinel not in text


def test_reading_writes_no_log_and_results_show_no_values(
    write: Write, opened: Callable[..., Any], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    events = opened(write(f"{HEAD}\n{ROW}\n2,2018-01-05 07:53:11,Ornans,{NOTE}\n"))
    counts = events.count()
    batches = list(events.batches())
    shown = repr([events, counts, batches, counts.bad_rows]) + str(counts.bad_rows) + caplog.text
    shown += "".join(capsys.readouterr())
    for sentinel in (*SENTINELS, "Ornans", "2018-01-05"):
        assert sentinel not in shown
    assert not caplog.records


def test_a_span_without_dates_does_not_tell(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(TacitError) as caught:
        scan_span(write(f"{HEAD}\n{ROW}\n"), columns=EventColumns("SDate", "Town"), options=WRITTEN)
    for sentinel in SENTINELS:
        assert sentinel not in said(caught.value, caplog)
