"""Day first or month first is said by the owner of a source, never concluded from its rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from tacit.errors import NotDescribed
from tacit.events import DateFinding, EventColumns, EventCounts, ReadOptions, Reason, propose_source

Write = Callable[..., Path]
Count = Callable[..., EventCounts]

AMBIGUOUS = ["01/02/2018", "03/04/2018", "05/06/2018"]
COLUMNS = EventColumns("SDate", "Town")


def table(dates: list[str]) -> str:
    return "SDate,Town\n" + "".join(f"{date},Ornans\n" for date in dates)


def days(counts: EventCounts) -> list[int]:
    return [int(day) for day in counts.counts.sum(axis=1).nonzero()[0]]


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
@pytest.mark.parametrize("late", ["13/02/2018", "02/13/2018"])
def test_no_row_settles_how_the_others_are_read(write: Write, count: Count, batch_rows: int, late: str) -> None:
    path = write(table([*AMBIGUOUS, late]))
    with pytest.raises(NotDescribed, match="nothing says how they are written"):
        count(path, batch_rows=batch_rows)
    assert set(days(count(path, date_format="day-first", batch_rows=batch_rows))) >= {31, 92, 155}
    assert set(days(count(path, date_format="month-first", batch_rows=batch_rows))) >= {1, 62, 125}


@pytest.mark.parametrize(
    ("dates", "finding"),
    [
        (AMBIGUOUS, DateFinding(n_either=3)),
        ([*AMBIGUOUS, "13/02/2018"], DateFinding(n_either=3, n_day_first=1)),
        ([*AMBIGUOUS, "13/02/2018", "02/13/2018"], DateFinding(n_either=3, n_day_first=1, n_month_first=1)),
        (["2018-01-02", "13/02/2018", "x"], DateFinding(n_year_first=1, n_day_first=1)),
        (["x"], DateFinding()),
    ],
)
def test_a_proposal_counts_what_dates_may_be_and_chooses_no_order(
    write: Write, dates: list[str], finding: DateFinding
) -> None:
    for source in (write(table(dates)), pl.DataFrame({"SDate": dates, "Town": ["Ornans"] * len(dates)})):
        proposal = propose_source(source, columns=COLUMNS)
        assert proposal.description.date_format is None
        assert proposal.dates == finding


def test_dates_that_all_begin_with_the_year_have_one_meaning(write: Write) -> None:
    for source in (write(table(["2018/01/02", "2018-03-04", "x"])), pa.table({"SDate": ["2018-01-02"], "Town": ["a"]})):
        assert propose_source(source, columns=COLUMNS).description.date_format == "year-first"


def test_an_order_that_was_given_is_taken_over(write: Write) -> None:
    proposal = propose_source(write(table(AMBIGUOUS)), columns=COLUMNS, options=ReadOptions(date_format="%m/%d/%Y"))
    assert proposal.description.date_format == "%m/%d/%Y"
    assert proposal.dates is None


def test_typed_dates_need_no_form(count: Count) -> None:
    frame = pl.DataFrame({"SDate": [1, 2], "Town": ["Ornans"] * 2}).with_columns(pl.col("SDate").cast(pl.Date))
    assert propose_source(frame, columns=COLUMNS).description.date_format is None
    assert count(frame).bad_rows.counts == {Reason.OUTSIDE_TIME: 2}


@pytest.mark.parametrize("batch_rows", [1, 100])
def test_dates_in_another_order_than_the_described_one_are_set_aside(
    write: Write, count: Count, batch_rows: int
) -> None:
    path = write(table([*AMBIGUOUS, "13/02/2018", "01/02/2018", "02/13/2018"]))
    counts = count(path, batch_rows=batch_rows, date_format="day-first")
    assert counts.bad_rows.first_rows == {Reason.UNREADABLE_DATE: (7,)}
