"""One person adds at most so much in a window, and nothing else changes with it."""

from __future__ import annotations

import random
import struct
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit._base.arrays import IntArray
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import BadRows, DataError, SettingError
from tacit.events import (
    BadRowSummary,
    DayDigest,
    EventBatch,
    EventColumns,
    EventCounts,
    Events,
    ReadOptions,
    Reason,
    SqlQuery,
    contribution_bound,
    open_events,
    spill,
)
from tacit.events.contribution_bound import BoundedCount, ContributionBound, Hashes
from tacit.events.counts import CountKeeper

PLACES = ("North", "South", "East")
DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-04", zone="Europe/Paris"), PlaceAxis.of(PLACES))
WRITTEN = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
COLUMNS = EventColumns("when", "where", "n", user="who")
KEY = bytes(range(32))


class Row(NamedTuple):
    who: str
    day: int
    hour: int
    where: int
    n: int = 1


ROWS = st.lists(
    st.builds(
        Row, st.sampled_from("abcd"), st.integers(0, 3), st.integers(0, 23), st.integers(0, 2), n=st.integers(0, 4)
    ),
    max_size=40,
).filter(bool)


def table(rows: list[Row]) -> pa.Table:
    return pa.table(
        {
            "when": [f"2018-01-{row.day + 1:02d} {row.hour:02d}:30" for row in rows],
            "where": [PLACES[row.where] for row in rows],
            "n": [row.n for row in rows],
            "who": [row.who for row in rows],
        }
    )


def by_day(most: int, most_per_cell: int | None = None, key: bytes = KEY) -> ContributionBound:
    return ContributionBound(most, most_per_cell, "day", key=key)


def counted(rows: list[Row], bound: ContributionBound, *, domain: Domain = DOMAIN, batch_rows: int = 7) -> EventCounts:
    events = open_events(
        table(rows),
        columns=COLUMNS,
        domain=domain,
        options=replace(WRITTEN, batch_rows=batch_rows),
    )
    return events.count(bound=bound)


def hash_of(who: str, window: int, key: bytes) -> tuple[int, int]:
    """AES-CBC-MAC of a name of up to eight bytes."""
    message = struct.pack("<Ii", len(who), window) + who.encode().ljust(8, b"\0")
    return struct.unpack("<QQ", Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(message))


def priority(second_word: int, cell: int) -> int:
    """SplitMix64 in whole numbers."""
    word = (second_word + cell * 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def greedily(rows: list[Row], bound: ContributionBound) -> tuple[np.ndarray[Any, np.dtype[np.int64]], int]:
    """The rule, event by event: cells in the order of their priority, an event wherever both bounds allow it.

    Returns the counts, and how many rows lost an event if rows of few events are taken first.
    """
    counts, n_rows_cut = np.zeros(DOMAIN.shape, np.int64), 0
    groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.who, row.day if bound.window else 0].append(row)
    for (who, window), group in groups.items():
        number = window + (date(2018, 1, 1) - date(1970, 1, 1)).days if bound.window else 0
        second_word = hash_of(who, number, bound.key)[1]
        used: dict[tuple[int, int], int] = defaultdict(int)
        for row in sorted(group, key=lambda row: (priority(second_word, row.day * 3 + row.where), row.n)):
            cell, n_counted = (row.day, row.where), 0
            for _ in range(row.n):
                if used[cell] < bound.cell_bound and sum(used.values()) < bound.most:
                    used[cell] += 1
                    n_counted += 1
            counts[cell] += n_counted
            n_rows_cut += n_counted < row.n
    return counts, n_rows_cut


KEYS = st.binary(min_size=32, max_size=32)
BOUNDS = st.builds(
    ContributionBound,
    st.integers(1, 6),
    st.one_of(st.none(), st.integers(1, 4)),
    st.sampled_from([None, "day"]),
    key=KEYS,
)


@given(ROWS, BOUNDS, st.integers(1, 50))
def test_counts_are_those_of_the_rule_taken_event_by_event(
    rows: list[Row], bound: ContributionBound, batch_rows: int
) -> None:
    counts = counted(rows, bound, batch_rows=batch_rows)
    expected, n_rows_cut = greedily(rows, bound)
    np.testing.assert_array_equal(counts.counts, expected)
    assert counts.n_beyond == sum(row.n for row in rows) - expected.sum()
    assert counts.n_rows_beyond == n_rows_cut
    assert (counts.n_rows, counts.n_counted) == (len(rows), len(rows))


@settings(max_examples=40)
@given(ROWS, BOUNDS, st.data())
@pytest.mark.slow
def test_without_one_group_all_others_count_the_same(
    rows: list[Row], bound: ContributionBound, data: st.DataObject
) -> None:
    def group(row: Row) -> tuple[str, int]:
        return row.who, row.day if bound.window else 0

    gone = data.draw(st.sampled_from(sorted({group(row) for row in rows})))
    theirs, others = [row for row in rows if group(row) == gone], [row for row in rows if group(row) != gone]
    whole, alone = counted(rows, bound).counts, counted(theirs, bound).counts
    rest = counted(others, bound).counts if others else np.zeros_like(whole)
    assert np.abs(whole - rest).sum() <= bound.most
    assert np.abs(whole - rest).max() <= bound.cell_bound
    np.testing.assert_array_equal(whole - rest, alone)


@settings(max_examples=40)
@given(ROWS, BOUNDS, st.randoms(use_true_random=False))
@pytest.mark.slow
def test_the_order_of_rows_does_not_matter(rows: list[Row], bound: ContributionBound, rnd: random.Random) -> None:
    mixed = [*rows]
    rnd.shuffle(mixed)
    # rows of several events may be written as rows of one
    single = [row._replace(n=1) for row in mixed for _ in range(row.n)] or [Row("a", 0, 0, 0, 0)]
    first, second, third = (counted(some, bound) for some in (rows, mixed, single))
    np.testing.assert_array_equal(first.counts, second.counts)
    np.testing.assert_array_equal(first.counts, third.counts)
    assert first.n_rows_beyond == second.n_rows_beyond
    assert first.n_beyond == second.n_beyond == third.n_beyond


def bounded(cells: Sequence[int], bound: ContributionBound, n_cells: int) -> tuple[int, ...]:
    """The counts of one person's events, straight from the worker."""
    keeper = CountKeeper(Domain(DOMAIN.time, PlaceAxis.of([f"p{cell}" for cell in range(n_cells)])), "events")
    batch = EventBatch(
        np.zeros(len(cells), np.int64),
        np.array(cells, np.int32),
        None,
        np.zeros(len(cells), "datetime64[s]"),
        np.arange(len(cells)),
        np.tile(np.array([7, 11], np.uint64), (len(cells), 1)),
    )
    with closing(BoundedCount(bound, keeper)) as worker:
        worker.add(batch)
        worker.count()
    return tuple(keeper.finish(n_rows=0, n_left_out=0, bad_rows=BadRowSummary()).counts[0].tolist())


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("most_per_cell", [1, 2, 3])
def test_one_event_less_changes_counts_by_at_most_one_out_and_one_in(most: int, most_per_cell: int) -> None:
    bound = ContributionBound(most, most_per_cell, key=KEY)
    worlds = [cells for size in range(6) for cells in combinations_with_replacement(range(3), size)]
    counts = {cells: bounded(cells, bound, 3) for cells in worlds}
    changes = set()
    for cells in worlds:
        for position in range(len(cells)):
            without = counts[(*cells[:position], *cells[position + 1 :])]
            changes.add(tuple(sorted(a - b for a, b in zip(counts[cells], without, strict=True) if a != b)))
    assert changes <= {(), (1,), (-1, 1)}
    assert ((-1, 1) in changes) == (most < 3 * most_per_cell)
    # and every count of a person keeps both bounds, which are reached
    assert max(map(sum, counts.values())) == most
    assert max(map(max, counts.values())) == min(most, most_per_cell)


def test_all_cells_are_first_for_some_key() -> None:
    rows = [Row("a", 0, 0, where) for where in range(3)]
    found = {tuple(counted(rows, by_day(1, key=bytes([k]) * 32)).counts[0]) for k in range(40)}
    assert found == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}


def test_rows_that_the_bound_cuts_are_known_by_number_of_rows_and_events() -> None:
    rows = [
        Row("a", 0, 1, 0, 2),
        Row("a", 0, 2, 1, 2),
        Row("a", 0, 3, 2, 9),
        Row("a", 1, 3, 2, 9),
        Row("b", 0, 1, 0, 3),
    ]
    counts = counted(rows, by_day(13, 3))
    assert counts.counts.tolist() == [[2 + 3, 2, 3], [0, 0, 3], [0, 0, 0], [0, 0, 0]]
    assert (counts.n_beyond, counts.n_rows_beyond) == (6 + 6, 2)


@pytest.mark.parametrize("step", ["hour", "6 hours", "day", "week", "month"])
def test_the_bound_is_on_days_whatever_the_step(step: str) -> None:
    axis = TimeAxis.between("2018-01-01", "2018-01-31", step, "Europe/Paris")
    rows = [Row("a", day, hour, 0) for day in range(4) for hour in range(5)]
    counts = counted(rows, by_day(2), domain=Domain(axis, DOMAIN.place))
    assert counts.n_events == 4 * 2
    if step == "hour":
        assert [int(day.sum()) for day in counts.counts[:96, 0].reshape(4, 24)] == [2, 2, 2, 2]


@pytest.mark.parametrize(("window", "n_windows"), [("day", 4), ("week", 4), ("month", 3), ("year", 2), (None, 1)])
def test_a_window_is_one_of_the_calendar(window: str | None, n_windows: int) -> None:
    """Each of two Mondays and two Sundays in three months of two years, the wall clock a second off midnight."""
    days = ["2017-11-26", "2017-11-27", "2017-12-31", "2018-01-01"]  # Sunday, Monday, Sunday, Monday
    times = [f"{day} {clock}" for day in days for clock in ("00:00:01", "12:00:00", "23:59:59")]
    axis = TimeAxis.between("2017-11-20", "2018-01-07", zone="Europe/Paris")
    frame = pa.table({"when": times, "where": ["North"] * 12, "who": ["a"] * 12})
    options = replace(WRITTEN, batch_rows=5)
    events = open_events(
        frame, columns=replace(COLUMNS, count=None), domain=Domain(axis, DOMAIN.place), options=options
    )
    n_windows = 4 if window == "day" else n_windows
    assert events.count(bound=ContributionBound(1, None, window, key=KEY)).n_events == n_windows


def test_a_day_is_that_of_the_wall_clock() -> None:
    instants = ["2018-01-01T22:59:00Z", "2018-01-01T23:01:00Z", "2018-01-02T00:30:00+01:00", "2018-01-02 12:00"]
    frame = pa.table({"when": instants, "where": ["North"] * 4, "who": ["a"] * 4})
    columns = replace(COLUMNS, count=None)
    counts = open_events(frame, columns=columns, domain=DOMAIN, options=WRITTEN).count(bound=by_day(1))
    assert counts.counts[:, 0].tolist() == [1, 1, 0, 0]


def test_every_kind_of_source_counts_the_same(tmp_path: Path) -> None:
    import sqlite3

    rng = np.random.default_rng(4)
    rows = [Row("abc"[rng.integers(3)], int(rng.integers(4)), 0, int(rng.integers(3))) for _ in range(60)]
    frame = table(rows)
    expected, _ = greedily(rows, by_day(2))
    csv = tmp_path / "events.csv"
    csv.write_text("when;where;n;who\n" + "".join(";".join(map(str, row.values())) + "\n" for row in frame.to_pylist()))
    parquet = tmp_path / "events.parquet"
    pq.write_table(frame, parquet)
    database = sqlite3.connect(tmp_path / "events.db")
    database.execute('create table events ("when", "where", n, who)')
    database.executemany("insert into events values (?, ?, ?, ?)", [tuple(row.values()) for row in frame.to_pylist()])
    database.commit()
    database.close()
    query = SqlQuery(f"sqlite:///{tmp_path / 'events.db'}", "select * from events order by rowid")
    for source in (csv, parquet, query, frame, frame.to_pandas(), frame.to_reader()):
        written = replace(WRITTEN, separator=";", batch_rows=16)
        events = open_events(source, columns=COLUMNS, domain=DOMAIN, options=written)
        np.testing.assert_array_equal(events.count(bound=by_day(2)).counts, expected)


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are full after a few rows, all of them on disk."""
    monkeypatch.setattr(spill, "MAX_ROWS", 5)
    monkeypatch.setattr(spill, "_HELD_BYTES", 1)


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize("n_users", [1, 3, 200])
@pytest.mark.parametrize("bound", [by_day(1), by_day(4, 2), by_day(60), ContributionBound(7, 3, key=KEY)])
def test_full_files_are_spread_and_a_group_larger_than_one_is_bounded_in_pieces(
    n_users: int, bound: ContributionBound
) -> None:
    rng = np.random.default_rng(n_users)
    rows = [
        Row(f"u{rng.integers(n_users)}", int(rng.integers(4)), 0, int(rng.integers(3)), int(rng.integers(4)))
        for _ in range(400)
    ]
    counts = counted(rows, bound, batch_rows=50)
    expected, n_rows_cut = greedily(rows, bound)
    np.testing.assert_array_equal(counts.counts, expected)
    assert counts.n_rows_beyond == n_rows_cut


@pytest.mark.usefixtures("crowded")
def test_nothing_is_left_on_disk_even_by_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    rows = [Row("a", 0, hour % 24, 0) for hour in range(300)]
    seen: list[int] = []

    def stop(done: int, total: int | None) -> None:
        seen.append(len(list(tmp_path.iterdir())))
        if done > 200:
            raise KeyboardInterrupt

    events = open_events(table(rows), columns=COLUMNS, domain=DOMAIN, options=replace(WRITTEN, batch_rows=50))
    with pytest.raises(KeyboardInterrupt):
        events.count(bound=by_day(2), progress=stop)
    assert len(seen) > 3
    assert list(tmp_path.iterdir()) == []
    assert events.count(bound=by_day(2)).n_events == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("crowded")
def test_no_user_reaches_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = spill.Part.write

    def spy(part: spill.Part, rows: spill.Rows) -> None:
        written.append(rows.tobytes())
        write(part, rows)

    monkeypatch.setattr(spill.Part, "write", spy)
    rows = [Row("Zyxwville", day, 0, 0) for day in (0, 1, 2)]
    counted(rows, by_day(1))
    first = b"".join(written)
    written.clear()
    counted(rows, by_day(1, key=bytes(32)))
    assert len(first) >= 3 * 24
    assert b"Zyxw" not in first
    assert first != b"".join(written)


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", fail)
    with pytest.raises(SettingError, match=r"temporary files cannot be kept in .* Set TMPDIR"):
        counted([Row("a", 0, 0, 0)], by_day(1))


def test_a_bound_needs_users_and_must_bound(opened: Callable[..., Events]) -> None:
    frame = pa.table({"SDate": ["2018-01-01"], "Town": ["Ornans"], "Who": ["a"]})
    with pytest.raises(SettingError, match="user must be the name of a column"):
        opened(frame).count(bound=by_day(2))
    for most in (0, -1, 10**9 + 1):
        with pytest.raises(SettingError, match=f"most must be .* got most={most}"):
            by_day(most)
    with pytest.raises(SettingError, match="most_per_cell must be a whole number of at least 1; got most_per_cell=0"):
        by_day(2, 0)
    with pytest.raises(SettingError, match=r"window must be .* got window=hour"):
        ContributionBound(2, None, "hour", key=KEY)
    with pytest.raises(SettingError, match="key must have 32 bytes; got 16 bytes"):
        by_day(2, key=bytes(16))


def test_rows_without_a_user_are_bad_rows_by_number(write: Callable[..., Path], opened: Callable[..., Events]) -> None:
    path = write("SDate,Town,Who\n2018-01-01,Ornans,a\n2018-01-01,Ornans, \n2018-01-01,Ornans,\nx,Ornans,\n")
    counts = opened(path, user="Who").count(bound=by_day(2))
    assert counts.bad_rows.first_rows == {Reason.UNREADABLE_DATE: (5,), Reason.NO_USER: (3, 4)}
    assert counts.n_events == 1
    assert opened(path).count().n_events == 3
    with pytest.raises(BadRows, match=r"2 rows with no user \(rows 3, 4\)"):
        opened(path, user="Who", strict=True).count(bound=by_day(2))
    assert sum(len(batch) for batch in opened(path, user="Who").batches()) == 1


def test_the_digest_is_that_of_the_same_events_without_users(
    write: Callable[..., Path], opened: Callable[..., Events], domain: Domain
) -> None:
    path = write("SDate,Town,Who\n2018-01-01,Ornans,a\n2018-01-01,Ornans,a\n2018-01-02,Ornans,\n2018-13-01,Ornans,a\n")
    with_users, without = DayDigest(bytes(32), domain), DayDigest(bytes(32), domain)
    opened(path, user="Who").count(digest=with_users, bound=by_day(1))
    opened(path).count(digest=without)
    assert with_users.digests() == without.digests()
    assert list(without.digests()) == ["2018-01-01", "2018-01-02"]


def test_groups_that_share_their_second_word_are_told_apart() -> None:
    rows = np.array([[2, 5, 10], [1, 5, 11], [9, 4, 12], [2, 5, 13], [1, 5, 14]], np.uint64)
    together, starts = contribution_bound.grouped(rows)
    assert together.tolist() == [[9, 4, 12], [1, 5, 11], [1, 5, 14], [2, 5, 10], [2, 5, 13]]
    assert starts.tolist() == [0, 1, 3]


def test_what_was_counted_before_is_taken_off_the_bound() -> None:
    class Noted:
        def __init__(self) -> None:
            self.known: dict[tuple[int, int], int] = {}

        def before(self, groups: Hashes) -> IntArray:
            return np.array([self.known.get((a, b), 0) for a, b in groups.tolist()], np.int64)

        def add(self, groups: Hashes, counted: IntArray) -> None:
            for (a, b), n in zip(groups.tolist(), counted.tolist(), strict=True):
                self.known[a, b] = self.known.get((a, b), 0) + n

    noted, n_counted = Noted(), []
    rows = [Row("a", 0, 0, where, 2) for where in range(3)] + [Row("b", 0, 0, 0, 1)]
    for _ in range(3):
        events = open_events(table(rows), columns=COLUMNS, domain=DOMAIN, options=WRITTEN)
        n_counted.append(events.count(bound=ContributionBound(7, key=KEY), contributed=noted).n_events)
    assert n_counted == [6 + 1, 1 + 1, 0 + 1]
    assert sorted(noted.known.values()) == [3, 7]


@pytest.mark.parametrize("users", [[["Zyxwville"]], [b"Zyxwville\xff"], ["Zyxwville"]])
def test_no_user_is_told_by_a_message_or_a_repr(users: list[Any], opened: Callable[..., Events]) -> None:
    frame = pa.table({"SDate": ["2018-01-01"], "Town": ["Nowhere"], "Who": users})
    events = opened(frame, user="Who", strict=True)
    with pytest.raises(DataError) as caught:
        events.count(bound=by_day(1))
    assert "Zyxw" not in f"{caught.value!r} {caught.value.__context__!r} {events!r} {events.columns!r}"


def test_users_of_a_time_axis_without_end_are_bounded_too() -> None:
    rows = [Row("a", 3, 0, 1)] * 3 + [Row("b", 1, 0, 2)]
    counts = counted(rows, by_day(2), domain=replace(DOMAIN, time=DOMAIN.time.without_end()))
    assert counts.domain.time.n_bins == 4
    assert counts.counts.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 2, 0]]
