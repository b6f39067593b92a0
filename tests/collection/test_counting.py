"""Exact counts for a central mechanism, with the digests by which the ledger knows the events."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit.collection.curating import CountedEvents, count_events
from tacit.collection.randomizing import randomize_events
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.events import BadRowSummary, EventColumns, ReadOptions, Reason, open_events
from tacit.events import counts as counts_module
from tacit.mechanisms.central.tree import check_counts
from tacit.mechanisms.registry import plan_for
from tacit.privacy.ledger import Ledger, Randomization
from tacit.privacy.unit import Unit

WRITTEN = ReadOptions(date_format="year-first")
DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-10"), PlaceAxis.of(["north", "south", "west"]))
COLUMNS = EventColumns(time="day", place="where")
KEY = bytes(range(32))


def frame(n: int = 500, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "day": [
                f"2018-01-{d:02d} 0{h}:00" for d, h in zip(rng.integers(1, 11, n), rng.integers(0, 9, n), strict=True)
            ],
            "where": rng.choice(["north", "South", "WEST"], n),
            "who": rng.integers(0, 20, n),
        }
    )


def counted(table: pl.DataFrame, columns: EventColumns = COLUMNS, domain: Domain = DOMAIN, **settings) -> CountedEvents:
    return count_events(
        open_events(table, columns=columns, domain=domain, options=WRITTEN), key=settings.pop("key", KEY), **settings
    )


def test_events_are_counted_in_one_pass():
    table = frame()
    events = open_events(table.to_arrow().to_reader(), columns=COLUMNS, domain=DOMAIN, options=WRITTEN)
    done = count_events(events, key=KEY)
    assert done.tally.reveal().sum() == done.n_events == done.n_rows == 500
    assert done.tally.reveal().shape == DOMAIN.shape
    assert (done.n_beyond, done.n_rows_beyond, done.n_left_out, bool(done.bad_rows)) == (0, 0, 0, False)
    assert list(done.days) == [f"2018-01-{day:02d}" for day in range(1, 11)]


def test_a_users_day_is_bounded():
    table = frame()
    done = counted(table, replace(COLUMNS, user="who"), unit=Unit.user_day(most=1))
    n_user_days = table.select(pl.col("day").str.slice(0, 10), "who").unique().height
    assert done.n_events == n_user_days
    assert done.n_beyond == done.n_rows_beyond == 500 - n_user_days


@pytest.mark.parametrize("step", ["hour", "day", "week", "month"])
def test_the_ledger_knows_events_that_were_randomized_as_the_same(tmp_path, monkeypatch, step):
    table, ledger, told = frame(), Ledger(tmp_path / "ledger.sqlite"), []
    record = Ledger.record_randomization

    def listened(self: Ledger, **entry: Any) -> Randomization:
        told.append(entry["days"])
        return record(self, **entry)

    monkeypatch.setattr(Ledger, "key", KEY)
    monkeypatch.setattr(Ledger, "record_randomization", listened)
    randomize_events(
        open_events(table, columns=COLUMNS, domain=DOMAIN, options=WRITTEN),
        plan_for(DOMAIN, epsilon=1.0),
        tmp_path / "a",
        ledger=ledger,
        data_set="events",
    )
    axis = TimeAxis.between("2018-01-01", "2018-01-10" if step in ("hour", "day") else "2018-01-31", step)
    domain = Domain(axis, DOMAIN.place)
    bounded = counted(table, replace(COLUMNS, user="who"), domain, unit=Unit.user_day(most=2))
    assert told == [counted(table, domain=domain).days] == [bounded.days]
    assert bounded.n_beyond > 0


def test_what_the_curator_alone_may_see_is_in_no_repr():
    done = counted(frame(173))
    assert "173" not in repr(replace(done, n_rows=0))


def test_users_are_named_where_their_days_are_bounded_and_only_there(tmp_path):
    with pytest.raises(SettingError, match="user must be the name of a column"):
        counted(frame(), unit=Unit.user_day(most=3))
    columns = replace(COLUMNS, user="who")
    with pytest.raises(SettingError, match="user must be left out where single events are protected; got user='who'"):
        counted(frame(), columns)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(SettingError, match="user must be left out where reports are made"):
        randomize_events(
            open_events(frame(), columns=columns, domain=DOMAIN, options=WRITTEN),
            plan_for(DOMAIN, epsilon=1.0),
            tmp_path / "a",
            ledger=ledger,
            data_set="events",
        )
    assert ledger.history() == []


def test_the_data_do_not_decide_where_counts_end():
    with pytest.raises(SettingError, match="the time axis must have an end"):
        counted(frame(), domain=replace(DOMAIN, time=DOMAIN.time.without_end()))


def test_a_table_without_a_single_event_counts_zeros():
    table = pl.DataFrame({"day": ["2017-01-01", "x"], "where": ["north", "north"], "who": ["a", "b"]})
    for rows in (table, table.clear()):
        done = counted(rows)
        assert (done.tally.reveal().sum(), done.n_events, dict(done.days)) == (0, 0, {})
        assert done.tally.reveal().shape == DOMAIN.shape
    zeros = pl.DataFrame({"day": ["2018-01-01"], "where": ["north"], "n": [0]})
    assert counted(zeros, replace(COLUMNS, count="n")).n_events == 0


def test_bad_rows_are_accounted_for():
    table = pl.concat([frame(10), pl.DataFrame({"day": ["2018-01-01"], "where": ["Nowhere"], "who": [1]})])
    done = counted(table)
    assert done.bad_rows.first_rows == {Reason.UNKNOWN_PLACE: (10,)}
    assert (done.n_rows, done.n_events) == (11, 10)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([3, -1], r"1 row with a count that is not plainly a whole number of 0 or more \(row 1 of"),
        ([3.0, float("nan")], r"1 row with no count \(row 1 of the frame, the first is 0\)"),
        ([3.0, None], r"1 row with no count \(row 1 of the frame, the first is 0\)"),
        ([3.0, 2.5], r"1 row with a count that is not plainly"),
        ([3.0, float("inf")], r"1 row with a count that is not plainly"),
        ([3.0, -1e300], r"1 row with a count that is not plainly"),
        (["3", "NaN"], r"1 row with a count that is not plainly"),
        (["3", "-0"], r"1 row with a count that is not plainly"),
        (["3", ""], r"1 row with no count \(row 1 of the frame, the first is 0\)"),
    ],
)
def test_a_row_with_a_bad_count_is_set_aside_by_itself(values, said):
    table = pl.DataFrame({"day": ["2018-01-01", "2018-01-02"], "where": ["north", "west"], "n": values})
    done = counted(table, replace(COLUMNS, count="n"))
    assert re.match(said, str(done.bad_rows))
    assert done.tally.reveal()[0].tolist() == [3, 0, 0]
    assert done.n_events == 3


def test_a_cell_counts_up_to_a_public_bound_whatever_rows_hold():
    most = 2**53 // DOMAIN.n_cells
    for n_rows in (1, 400, 10_000):
        table = pl.DataFrame({"day": ["2018-01-01"] * n_rows, "where": ["north"] * n_rows, "n": [10**12] * n_rows})
        done = counted(table, replace(COLUMNS, count="n"))
        assert done.tally.reveal()[0, 0] == min(n_rows * 10**12, most)
        assert done.n_full_cells == int(n_rows * 10**12 > most)
        check_counts(done.tally, DOMAIN)


@pytest.mark.parametrize(("count", "said"), [(-1, "must not be negative"), (2**53 + 1, "must be at most 2")])
def test_counts_that_a_program_hands_over_are_refused_if_they_cannot_be_released(count, said):
    counts = np.zeros(DOMAIN.shape, np.int64)
    counts[3, 1] = count
    with pytest.raises(SettingError, match=said):
        check_counts(ExactTally(counts), DOMAIN)


def test_sums_that_64_bits_do_not_hold_fill_a_cell(monkeypatch):
    monkeypatch.setattr(counts_module, "_ROWS_AT_ONCE", 7)  # so that a cell fills in the middle of a batch
    keeper = counts_module.CountKeeper(DOMAIN, "events")
    for _ in range(3):
        keeper.add_units(np.zeros(2**12, np.int64), np.full(2**12, 2**52))
    assert keeper.finish(n_rows=0, n_left_out=0, bad_rows=BadRowSummary()).counts[0, 0] == 2**53


def test_a_row_of_a_bad_count_can_be_left_out():
    table = pl.DataFrame({"day": ["2018-01-01", "2018-01-02"], "where": ["north", "west"], "n": ["3", "-1"]})
    done = counted(table, replace(COLUMNS, count="n", where=("n!=-1",)))
    assert (done.n_events, done.n_left_out) == (3, 1)


def test_repeated_rows_and_missing_dates_of_a_table_are_said():
    days = [f"2018-01-{day:02d}" for day in (1, 2, 3, 4, 5, 6, 7, 9, 10, 1)]
    table = pl.DataFrame({"day": days, "where": ["north"] * 10, "n": list(range(10))})
    done = counted(table, replace(COLUMNS, count="n"))
    assert done.tally.reveal()[:, 0].tolist() == [9, 1, 2, 3, 4, 5, 6, 0, 7, 8]
    assert done.table is not None
    assert done.table.lines() == [
        "1 row repeats the date and place of an earlier one, and was added to it (row 9 of the frame, the first is 0)",
        "1 of 10 periods has no row, and counts as 0 (2018-01-08)",
    ]
    assert counted(frame()).table is None
