"""One user's day adds at most so much, and nothing else changes with it."""

from __future__ import annotations

import random
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import BadRows, DataError, SettingError
from tacit.events import (
    DayDigest,
    EventColumns,
    EventCounts,
    Events,
    ReadOptions,
    Reason,
    SqlQuery,
    open_events,
    user_days,
)

PLACES = ("North", "South", "East")
DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-04", zone="Europe/Paris"), PlaceAxis.of(PLACES))
WRITTEN = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
COLUMNS = EventColumns("when", "where", "n", user="who")


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


def counted(rows: list[Row], most: int, *, domain: Domain = DOMAIN, batch_rows: int = 7) -> EventCounts:
    events = open_events(
        table(rows),
        columns=COLUMNS,
        domain=domain,
        options=replace(WRITTEN, batch_rows=batch_rows),
    )
    return events.count(most_per_user_day=most)


def plainly(rows: list[Row], most: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The rule, row by row."""
    counts, used = np.zeros(DOMAIN.shape, np.int64), defaultdict(int)
    for row in rows:
        allowed = min(row.n, most - used[row.who, row.day])
        used[row.who, row.day] += allowed
        counts[row.day, row.where] += allowed
    return counts


@given(ROWS, st.integers(1, 6), st.integers(1, 50))
def test_the_first_events_of_each_users_day_are_counted(rows: list[Row], most: int, batch_rows: int) -> None:
    counts = counted(rows, most, batch_rows=batch_rows)
    expected = plainly(rows, most)
    np.testing.assert_array_equal(counts.counts, expected)
    assert counts.n_beyond == sum(row.n for row in rows) - expected.sum()
    assert (counts.n_rows, counts.n_counted) == (len(rows), len(rows))


@given(ROWS, st.integers(1, 6), st.data())
def test_without_one_users_day_all_others_count_the_same(rows: list[Row], most: int, data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(sorted({(row.who, row.day) for row in rows})))
    theirs = [row for row in rows if (row.who, row.day) == gone]
    others = [row for row in rows if (row.who, row.day) != gone]
    whole, alone = counted(rows, most).counts, counted(theirs, most).counts
    rest = counted(others, most).counts if others else np.zeros_like(whole)
    assert np.abs(whole - rest).sum() <= most
    np.testing.assert_array_equal(whole - rest, alone)


@given(ROWS, st.integers(1, 6), st.randoms(use_true_random=False))
def test_only_the_order_within_a_users_day_matters(rows: list[Row], most: int, rnd: random.Random) -> None:
    groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.who, row.day].append(row)
    order = [key for key, group in groups.items() for _ in group]
    rnd.shuffle(order)
    waiting = {key: iter(group) for key, group in groups.items()}
    mixed = [next(waiting[key]) for key in order]
    np.testing.assert_array_equal(counted(rows, most).counts, counted(mixed, most).counts)


def test_rows_that_the_bound_cuts_are_known_by_number_of_rows_and_events() -> None:
    rows = [
        Row("a", 0, 1, 0, 2),
        Row("a", 0, 2, 1, 2),
        Row("a", 0, 3, 2, 9),
        Row("a", 1, 3, 2, 9),
        Row("b", 0, 1, 0, 3),
    ]
    counts = counted(rows, 3)
    assert counts.counts.tolist() == [[2 + 3, 1, 0], [0, 0, 3], [0, 0, 0], [0, 0, 0]]
    assert (counts.n_beyond, counts.n_rows_beyond) == (1 + 9 + 6, 3)


@pytest.mark.parametrize("step", ["hour", "6 hours", "day", "week", "month"])
def test_the_bound_is_on_days_whatever_the_step(step: str) -> None:
    axis = TimeAxis.between("2018-01-01", "2018-01-31", step, "Europe/Paris")
    rows = [Row("a", day, hour, 0) for day in range(4) for hour in range(5)]
    counts = counted(rows, 2, domain=Domain(axis, DOMAIN.place))
    assert counts.n_events == 4 * 2
    if step == "hour":
        assert np.flatnonzero(counts.counts[:, 0]).tolist() == [0, 1, 24, 25, 48, 49, 72, 73]


def test_a_day_is_that_of_the_wall_clock() -> None:
    instants = ["2018-01-01T22:59:00Z", "2018-01-01T23:01:00Z", "2018-01-02T00:30:00+01:00", "2018-01-02 12:00"]
    frame = pa.table({"when": instants, "where": ["North"] * 4, "who": ["a"] * 4})
    columns = replace(COLUMNS, count=None)
    counts = open_events(frame, columns=columns, domain=DOMAIN, options=WRITTEN).count(most_per_user_day=1)
    assert counts.counts[:, 0].tolist() == [1, 1, 0, 0]


def test_every_kind_of_source_counts_the_same(tmp_path: Path) -> None:
    import sqlite3

    rng = np.random.default_rng(4)
    rows = [Row("abc"[rng.integers(3)], int(rng.integers(4)), 0, int(rng.integers(3))) for _ in range(60)]
    frame = table(rows)
    expected = plainly(rows, 2)
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
        np.testing.assert_array_equal(events.count(most_per_user_day=2).counts, expected)


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are full after a few rows, all of them on disk."""
    monkeypatch.setattr(user_days, "_MAX_ROWS", 5)
    monkeypatch.setattr(user_days, "_HELD_BYTES", 1)


@pytest.mark.usefixtures("crowded")
@pytest.mark.parametrize("n_users", [1, 3, 200])
@pytest.mark.parametrize("most", [1, 4, 60])
def test_full_files_are_spread_and_a_users_day_in_one_of_them_is_carried_on(n_users: int, most: int) -> None:
    rng = np.random.default_rng(n_users)
    rows = [
        Row(f"u{rng.integers(n_users)}", int(rng.integers(4)), 0, int(rng.integers(3)), int(rng.integers(4)))
        for _ in range(400)
    ]
    counts = counted(rows, most, batch_rows=50)
    np.testing.assert_array_equal(counts.counts, plainly(rows, most))
    used: dict[tuple[str, int], int] = defaultdict(int)
    n_cut = 0
    for row in rows:
        n_cut += used[row.who, row.day] + row.n > most and row.n > 0
        used[row.who, row.day] += row.n
    assert counts.n_rows_beyond == n_cut


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
        events.count(most_per_user_day=2, progress=stop)
    assert len(seen) > 3
    assert list(tmp_path.iterdir()) == []
    assert events.count(most_per_user_day=2).n_events == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("crowded")
def test_no_user_reaches_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = user_days._Part.write

    def spy(part: user_days._Part, rows: user_days.Rows) -> None:
        written.append(rows.tobytes())
        write(part, rows)

    monkeypatch.setattr(user_days._Part, "write", spy)
    rows = [Row("Zyxwville", day, 0, 0) for day in (0, 1, 2)]
    counted(rows, 1)
    first = b"".join(written)
    written.clear()
    counted(rows, 1)
    assert len(first) >= 3 * 24
    assert b"Zyxw" not in first
    # another key each time: what was written once cannot be compared with what is written later
    assert first != b"".join(written)


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "write", fail)
    with pytest.raises(SettingError, match=r"temporary files cannot be kept in .* Set TMPDIR"):
        counted([Row("a", 0, 0, 0)], 1)


def test_a_bound_needs_users_and_must_bound(opened: Callable[..., Events]) -> None:
    frame = pa.table({"SDate": ["2018-01-01"], "Town": ["Ornans"], "Who": ["a"]})
    with pytest.raises(SettingError, match="user must be the name of a column"):
        opened(frame).count(most_per_user_day=2)
    for most in (0, -1, 10**9 + 1):
        with pytest.raises(SettingError, match=f"most_per_user_day must be .* got most_per_user_day={most}"):
            opened(frame, user="Who").count(most_per_user_day=most)


def test_rows_without_a_user_are_bad_rows_by_number(write: Callable[..., Path], opened: Callable[..., Events]) -> None:
    path = write("SDate,Town,Who\n2018-01-01,Ornans,a\n2018-01-01,Ornans, \n2018-01-01,Ornans,\nx,Ornans,\n")
    counts = opened(path, user="Who").count(most_per_user_day=2)
    assert counts.bad_rows.first_rows == {Reason.UNREADABLE_DATE: (5,), Reason.NO_USER: (3, 4)}
    assert counts.n_events == 1
    assert opened(path).count().n_events == 3
    with pytest.raises(BadRows, match=r"2 rows with no user \(rows 3, 4\)"):
        opened(path, user="Who", strict=True).count(most_per_user_day=2)
    assert sum(len(batch) for batch in opened(path, user="Who").batches()) == 1


def test_the_digest_is_that_of_the_same_events_without_users(
    write: Callable[..., Path], opened: Callable[..., Events], domain: Domain
) -> None:
    path = write("SDate,Town,Who\n2018-01-01,Ornans,a\n2018-01-01,Ornans,a\n2018-01-02,Ornans,\n2018-13-01,Ornans,a\n")
    with_users, without = DayDigest(bytes(32), domain), DayDigest(bytes(32), domain)
    opened(path, user="Who").count(digest=with_users, most_per_user_day=1)
    opened(path).count(digest=without)
    assert with_users.digests() == without.digests()
    assert list(without.digests()) == ["2018-01-01", "2018-01-02"]


def test_user_days_that_share_their_first_word_are_told_apart() -> None:
    rows = np.array([[5, 2, 10], [5, 1, 11], [4, 9, 12], [5, 2, 13], [5, 1, 14]], np.uint64)
    order = user_days._by_user_day(rows)
    assert rows[order, 2].tolist() == [12, 11, 14, 10, 13]
    assert user_days._begins(rows[order]).tolist() == [True, True, False, True, False]


@pytest.mark.parametrize("users", [[["Zyxwville"]], [b"Zyxwville\xff"], ["Zyxwville"]])
def test_no_user_is_told_by_a_message_or_a_repr(users: list[Any], opened: Callable[..., Events]) -> None:
    frame = pa.table({"SDate": ["2018-01-01"], "Town": ["Nowhere"], "Who": users})
    events = opened(frame, user="Who", strict=True)
    with pytest.raises(DataError) as caught:
        events.count(most_per_user_day=1)
    assert "Zyxw" not in f"{caught.value!r} {caught.value.__context__!r} {events!r} {events.columns!r}"


def test_users_of_a_time_axis_without_end_are_bounded_too() -> None:
    rows = [Row("a", 3, 0, 1)] * 3 + [Row("b", 1, 0, 2)]
    counts = counted(rows, 2, domain=replace(DOMAIN, time=DOMAIN.time.without_end()))
    assert counts.domain.time.n_bins == 4
    assert counts.counts.tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 0], [0, 2, 0]]
