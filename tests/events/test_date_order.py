"""Day first or month first, decided by every row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from tacit.errors import AmbiguousDate
from tacit.events import EventCounts, Reason
from tacit.events import reading as reading_module

Write = Callable[..., Path]
Count = Callable[..., EventCounts]

AMBIGUOUS = ["01/02/2018", "03/04/2018", "05/06/2018"]


def table(dates: list[str]) -> str:
    return "SDate,Town\n" + "".join(f"{date},Ornans\n" for date in dates)


def days(counts: EventCounts) -> list[int]:
    return [int(day) for day in counts.counts.sum(axis=1).nonzero()[0]]


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_one_late_row_settles_all_the_others(write: Write, count: Count, batch_rows: int) -> None:
    day_first = count(write(table([*AMBIGUOUS, "13/02/2018"])), batch_rows=batch_rows)
    assert days(day_first) == [31, 43, 92, 155]
    month_first = count(write(table([*AMBIGUOUS, "02/13/2018"])), batch_rows=batch_rows)
    assert days(month_first) == [1, 43, 62, 125]


@pytest.mark.parametrize("batch_rows", [1, 100])
def test_dates_that_nothing_settles_are_refused_with_a_request(write: Write, count: Count, batch_rows: int) -> None:
    with pytest.raises(AmbiguousDate) as caught:
        count(write(table(["2018-01-01", *AMBIGUOUS])), batch_rows=batch_rows)
    assert str(caught.value) == (
        "events.csv: no date tells whether they are day first or month first (the first in question is in row 3). "
        "Say which it is with date_format (on the command line --date-format day-first, or --date-format month-first)."
    )
    assert days(count(write(table(AMBIGUOUS)), date_format="day-first")) == [31, 92, 155]
    assert days(count(write(table(AMBIGUOUS)), date_format="%m/%d/%Y")) == [1, 62, 125]


@pytest.mark.parametrize("batch_rows", [1, 100])
def test_both_orders_proven_is_an_error_that_names_both_rows(write: Write, count: Count, batch_rows: int) -> None:
    path = write(table([*AMBIGUOUS, "13/02/2018", "01/02/2018", "02/13/2018"]))
    with pytest.raises(
        AmbiguousDate, match=r"row 5 can only be day first, the one in row 7 only month first\. Write all"
    ):
        count(path, batch_rows=batch_rows)
    # told which, the rest is set aside
    counts = count(path, batch_rows=batch_rows, date_format="day-first")
    assert counts.bad_rows.first_rows == {Reason.UNREADABLE_DATE: (7,)}


def test_a_form_that_appears_late_is_settled_too(write: Write, count: Count) -> None:
    dates = ["2018-01-01"] * 50 + ["01/02/2018", "13/02/2018"]
    assert days(count(write(table(dates)), batch_rows=3)) == [0, 31, 43]


def test_year_first_files_never_ask(write: Write, count: Count) -> None:
    assert days(count(write(table(["2018/01/02", "2018/03/04"])))) == [1, 62]


def test_frames_are_settled_by_all_their_rows(count: Count) -> None:
    dates = [*AMBIGUOUS, "13/02/2018"]
    frame = pl.DataFrame({"SDate": dates, "Town": ["Ornans"] * 4})
    assert days(count(frame, batch_rows=1)) == [31, 43, 92, 155]


def reader(dates: list[str]) -> pa.RecordBatchReader:
    table = pa.table({"SDate": dates, "Town": ["Ornans"] * len(dates)})
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=1))


def test_a_stream_that_can_be_read_once_is_read_ahead(
    opened: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    events = opened(reader([*AMBIGUOUS, "13/02/2018", "x"]), batch_rows=1)
    rows = [int(row) for batch in events.batches() for row in batch.row]
    assert rows == [2, 3, 4, 5]
    assert events.bad_rows.first_rows == {Reason.UNREADABLE_DATE: (6,)}
    assert events.n_rows == 5
    with pytest.raises(AmbiguousDate, match="first in question is in row 2"):
        opened(reader(AMBIGUOUS), batch_rows=1).count()
    monkeypatch.setattr(reading_module, "_ROWS_HELD", 1)
    with pytest.raises(AmbiguousDate, match="first in question is in row 2"):
        opened(reader([*AMBIGUOUS, *AMBIGUOUS, "13/02/2018"]), batch_rows=1).count()
