"""A running counter of persons: the bound holds over its life, whatever interrupts it."""

from __future__ import annotations

import shutil
import stat
from collections import Counter as Tallied

import numpy as np
import pyarrow as pa
import pytest

from killed import forks, killed_at, quiet
from lossy_disk import LossyDisk
from tacit.collection.curating import add_events
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError
from tacit.events import EventColumns, open_events
from tacit.mechanisms.continual import CounterFiles, History, pick, start_counter
from tacit.mechanisms.continual.contributions import Contributions, path_of
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

DOMAIN = Domain(TimeAxis.between("2018-01-01", None), PlaceAxis.of(["north", "south"]))
COLUMNS = EventColumns(time="day", place="town", user="who")
LIFE = Unit.person(most=3, most_per_cell=2)
FIRST = np.datetime64("2018-01-01")


def events_of(rows, domain):
    """Events of rows (day, place, person)."""
    table = pa.table(
        {
            "day": pa.array(FIRST + np.array([day for day, _, _ in rows], np.int64)),
            "town": [DOMAIN.place.cells[place] for _, place, _ in rows],
            "who": [who for _, _, who in rows],
        }
    )
    return open_events(table, columns=COLUMNS, domain=domain)


def started(folder, unit=LIFE, ledger=None) -> CounterFiles:
    files = CounterFiles(folder / "visits.counter", ledger=ledger)
    noise_model = pick(Cost.pure(1.0), 64, most=unit.most)
    start_counter(files, noise_model, DOMAIN, data_set="visits", unit=unit, seed=7 if ledger is None else None)
    return files


def added(files, rows, first, last=None):
    day, until = (str(FIRST + number) for number in (first, first if last is None else last))
    counts = add_events(files, lambda domain: events_of(rows, domain), first=day, last=until)
    return counts.counts[first : (first if last is None else last) + 1]


def visits(n, n_days, n_persons=6):
    drawn = np.random.default_rng(1).integers(0, [n_days, 2, n_persons], (n, 3))
    return [(int(day), int(place), f"person {who}") for day, place, who in drawn]


def alone(rows, who):
    return [row for row in rows if row[2] == who]


@pytest.mark.parametrize("unit", [LIFE, Unit.person(most=2, window="week"), Unit.person(most=3, window="month")])
def test_no_person_is_counted_more_than_the_bound_in_any_window(tmp_path, unit):
    """Persons are bounded apart, so each is counted alone, from one file that holds all days, five days at a time."""
    rows = visits(50, 15, n_persons=2)
    together = np.zeros((15, 2), np.int64)
    for who in sorted({row[2] for row in rows}):
        (tmp_path / who).mkdir()
        files, theirs = started(tmp_path / who, unit), alone(rows, who)
        counts = np.concatenate([added(files, theirs, day, day + 4) for day in (0, 5, 10)])
        assert counts.max() <= unit.most_per_cell
        weeks = np.add.reduceat(counts.sum(axis=1), [0, 7, 14]) if unit.window == "week" else [counts.sum()]
        held = Tallied(day // 7 if unit.window == "week" else 0 for day, _, _ in theirs)
        cells = Tallied((day // 7 if unit.window == "week" else 0, day, place) for day, place, _ in theirs)
        for window, counted in enumerate(weeks):
            most = sum(min(n, unit.most_per_cell) for (where, *_), n in cells.items() if where == window)
            assert counted == min(unit.most, most) <= held[window]
        together += counts
    files = started(tmp_path, unit)
    whole = np.concatenate([added(files, rows, day, day + 4) for day in (0, 5, 10)])
    assert whole.sum() == together.sum()


def test_counts_do_not_depend_on_how_often_the_counter_was_opened_nor_on_the_order_of_rows(tmp_path):
    rows = visits(80, 10)
    (tmp_path / "again").mkdir()
    first, second = started(tmp_path), started(tmp_path / "again")
    for day in range(10):
        one = added(first, rows, day)
        other = added(CounterFiles(second.state_path), rows[::-1], day)
        assert np.array_equal(one, other)
    assert np.array_equal(first.history().totals, second.history().totals)
    assert path_of(first.state_path, 10).read_bytes() == path_of(second.state_path, 10).read_bytes()


@pytest.mark.slow
@quiet
@forks
def test_a_kill_at_any_point_counts_nobody_twice(tmp_path):
    persons = np.array([[7, 1], [5, 2], [5, 3]], np.uint64)

    def add(files, first):
        noted = files.contributions()
        noted.add(persons, np.minimum(LIFE.most - noted.before(persons), first + 1))
        files.add([[first, 1]], first=first, contributions=noted)

    files = started(tmp_path)
    add(files, 0)
    undisturbed = tmp_path / "undisturbed"
    shutil.copytree(tmp_path, undisturbed)
    add(CounterFiles(undisturbed / "visits.counter"), 1)
    totals = History.read(undisturbed / "visits.history.csv").totals
    expected = path_of(undisturbed / "visits.counter", 2).read_bytes()
    event, n_killed = 1, 0
    while True:
        folder = tmp_path / f"at-{event}"
        folder.mkdir()
        for path in tmp_path.glob("visits.*"):
            shutil.copy(path, folder / path.name)
        own = CounterFiles(folder / "visits.counter")
        was_killed = killed_at(event, lambda own=own: add(own, 1))
        if own.history().n_bins == 1:
            add(own, 1)
        assert np.array_equal(own.history().totals, totals)
        assert path_of(own.state_path, 2).read_bytes() == expected
        add(own, 2)
        assert [path.name for path in folder.glob("*.persons-*")] == ["visits.counter.persons-3"]
        assert own.contributions().before(persons).tolist() == [3, 3, 3]
        shutil.rmtree(folder)
        if not was_killed:
            break
        n_killed += 1
        event += 1
    assert n_killed > 20


@pytest.mark.parametrize("keeps_names", [False, True])
def test_a_power_failure_leaves_a_state_with_its_own_persons(tmp_path, monkeypatch, keeps_names):
    rows = visits(40, 4)
    (tmp_path / "disk").mkdir()
    files = started(tmp_path / "disk")
    added(files, rows, 0, 1)
    disk, left = LossyDisk(tmp_path / "disk"), []
    with disk.watched(monkeypatch, lambda: left.append(disk.after_power_failure(keeps_names=keeps_names))):
        added(files, rows, 2, 3)
    totals, persons = files.history().totals, path_of(files.state_path, 4).read_bytes()
    distinct = {tuple(sorted(one.items())) for one in left}
    assert len(distinct) > 3
    for number, contents in enumerate(distinct):
        folder = tmp_path / f"after-{number}"
        folder.mkdir()
        for name, content in contents:
            (folder / name).write_bytes(content)
        own = CounterFiles(folder / "visits.counter")
        if own.history().n_bins == 2:
            added(own, rows, 2, 3)
        assert np.array_equal(own.history().totals, totals)
        assert path_of(own.state_path, 4).read_bytes() == persons


def test_the_file_of_persons_is_for_its_owner_and_names_nobody(tmp_path):
    files = started(tmp_path)
    added(files, visits(40, 4), 0, 3)
    path = path_of(files.state_path, 4)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"person 1" not in path.read_bytes()
    assert "visits" not in repr(files.contributions())
    assert len(files.contributions()) == 6


def test_a_file_that_was_changed_lost_or_of_another_time_is_refused(tmp_path):
    files = started(tmp_path)
    added(files, visits(40, 4), 0)
    old = path_of(files.state_path, 1).read_bytes()
    added(files, visits(40, 4), 1)
    path = path_of(files.state_path, 2)
    whole = path.read_bytes()
    for content in (old, whole[:-1], whole[:40], b"", *(_flipped(whole, at) for at in range(0, len(whole), 9))):
        path.write_bytes(content)
        with pytest.raises(FormatError, match=r"persons-2 .*damaged"):
            added(files, visits(40, 4), 2)
    path.unlink()
    with pytest.raises(FormatError, match="Restore it from a copy that is as new as the counter's state"):
        added(files, visits(40, 4), 2)
    path.write_bytes(whole)
    assert added(files, visits(40, 4), 2).sum() >= 0


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_bare_numbers_and_too_many_bins_are_refused(tmp_path):
    files = started(tmp_path)
    with pytest.raises(SettingError, match="needs to know what each of them adds"):
        files.add([[1, 2]])
    stale = files.contributions()
    added(files, visits(5, 1), 0)
    with pytest.raises(SettingError, match="needs to know what each of them adds"):
        files.add([[1, 2]], contributions=stale)
    endless = CounterFiles(tmp_path / "endless.counter")
    start_counter(endless, pick(Cost.pure(1.0), most=3), DOMAIN, data_set="v", unit=LIFE, seed=1)
    with pytest.raises(SettingError, match="at most 4,096 periods"):
        endless.add(np.zeros((4097, 2), np.int64), contributions=endless.contributions())
    assert files.history().n_bins == 1


def test_windows_that_are_over_are_forgotten(tmp_path):
    files = started(tmp_path, Unit.person(most=2, window="week"))
    sizes = []
    for first in range(0, 40, 5):
        days = range(first, first + 5)
        added(files, [(day, 0, who) for day in days for who in (f"person {day}", "often")], first, first + 4)
        sizes.append(len(files.contributions()))
    assert max(sizes[3:]) < 25


def test_hashes_that_share_their_first_word_are_told_apart():
    known = Contributions("c", 0)
    groups = np.array([[5, 1], [5, 3], [5, 2], [9, 1]], np.uint64)
    known.add(groups, np.array([1, 3, 2, 4]))
    later = known.advanced(1)
    asked = np.array([[5, 3], [5, 4], [9, 1], [10, 0], [5, 0], [5, 1]], np.uint64)
    assert later.before(asked).tolist() == [3, 0, 4, 0, 0, 1]
    later.add(groups[:2], np.array([10, 0]))
    assert later.advanced(2).before(asked).tolist() == [3, 0, 4, 0, 0, 11]
    assert len(later.advanced(2, forget=1)) == 1


def test_the_ledger_knows_a_counter_of_persons(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    files = started(tmp_path, ledger=ledger)
    added(files, visits(20, 2), 0, 1)
    (entry,) = ledger.history()
    assert entry.unit == files.history().plan().protected_unit == LIFE
    assert files.history().n_bins == 2
