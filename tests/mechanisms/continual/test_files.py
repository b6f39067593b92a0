"""State and history on disk: they agree after any interruption, and damage is told from interruption."""

from __future__ import annotations

import json
import os
import shutil
import stat
import zlib
from pathlib import Path

import numpy as np
import pytest

from counter_worlds import counter, counts, files
from killed import forks, killed_at, quiet
from tacit.errors import DataError, FormatError, PlanMismatch, SettingError
from tacit.mechanisms.continual import CounterFiles, History
from tacit.mechanisms.continual.files import FORMAT, SavedState
from tacit.mechanisms.continual.history import first_check
from tacit.privacy.cost import Cost

COSTS = [Cost.pure(1.0), Cost.zcdp(0.5)]


def undisturbed(n_bins, **settings) -> np.ndarray:
    made = counter(**settings)
    return made.steps(made.begin(), counts(n_bins))[1]


@pytest.mark.parametrize("horizon", [40, None])
@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_a_restart_goes_on_as_if_nothing_had_happened(tmp_path, cost, horizon):
    files(tmp_path, counter(cost, horizon=horizon))
    for bin, row in enumerate(counts(30)):
        CounterFiles(tmp_path / "visits.counter").add([row], first=bin)
    history = History.read(tmp_path / "visits.history.csv")
    assert np.array_equal(history.totals, undisturbed(30, cost=cost, horizon=horizon))


def test_many_bins_at_once_are_the_same_as_one_by_one(tmp_path):
    opened = files(tmp_path, counter(horizon=None))
    first = opened.add(counts(9000)[:50])
    rest = opened.add(counts(9000)[50:])
    assert np.array_equal(np.concatenate([first, rest]), undisturbed(9000, horizon=None))
    assert np.array_equal(opened.history().totals, undisturbed(9000, horizon=None))


def test_the_history_is_all_that_a_reader_needs(tmp_path):
    opened = files(tmp_path)
    opened.add(counts(30))
    alone = tmp_path / "elsewhere"
    alone.mkdir()
    shutil.copy(opened.history_path, alone / "renamed.csv")
    read = History.read(alone / "renamed.csv")
    own = opened.history()
    assert read.answer("2018-01-05", "2018-01-20") == own.answer("2018-01-05", "2018-01-20")
    assert read.stream.is_simulation
    assert "SIMULATION" in opened.history_path.read_text(encoding="utf-8").splitlines()[2]


def test_the_state_is_for_its_owner_only_and_the_history_holds_nothing_of_it(tmp_path):
    opened = files(tmp_path)
    opened.add(counts(10))
    assert stat.S_IMODE(opened.state_path.stat().st_mode) == 0o600
    key = json.loads(opened.state_path.read_bytes())["key"]
    assert key not in opened.history_path.read_text(encoding="utf-8")
    assert key not in repr(SavedState.read(opened.state_path))


@quiet
@forks
@pytest.mark.parametrize("cost", COSTS, ids=str)
@pytest.mark.slow
def test_a_kill_at_any_point_loses_nothing_and_publishes_nothing_twice(tmp_path, cost):
    given = counts(12)
    files(tmp_path, counter(cost))
    CounterFiles(tmp_path / "visits.counter").add(given[:9])
    # whatever was read of the history before the kill stays true ever after
    expected = undisturbed(12, cost=cost)
    n_killed, event = 0, 1
    while True:
        folder = tmp_path / f"at-{event}"
        folder.mkdir()
        for name in ("visits.counter", "visits.history.csv"):
            shutil.copy(tmp_path / name, folder / name)
        was_killed = killed_at(event, lambda folder=folder: CounterFiles(folder / "visits.counter").add(given[9:]))
        seen = History.read(folder / "visits.history.csv").totals
        assert np.array_equal(seen, expected[: len(seen)])
        opened = CounterFiles(folder / "visits.counter")
        n_bins = opened.history().n_bins
        assert n_bins in (9, 12)
        assert n_bins >= len(seen)
        if n_bins == 9:
            opened.add(given[9:], first=9)
        else:
            with pytest.raises(DataError, match="counted already"):
                opened.add(given[9:], first=9)
        assert np.array_equal(opened.history().totals, expected)
        assert np.array_equal(History.read(opened.history_path).totals, expected)
        assert not list(folder.glob("*.part"))
        shutil.rmtree(folder)
        if not was_killed:
            break
        n_killed += 1
        event += 1
    assert n_killed > 15


@quiet
@forks
@pytest.mark.slow
def test_a_kill_while_starting_leaves_what_the_next_start_completes(tmp_path):
    event, n_killed, made = 1, 0, counter()
    while True:
        folder = tmp_path / f"at-{event}"
        folder.mkdir()
        was_killed = killed_at(event, lambda folder=folder: files(folder, made))
        opened = files(folder, made)
        opened.add(counts(3))
        assert np.array_equal(opened.history().totals, undisturbed(3))
        shutil.rmtree(folder)
        if not was_killed:
            break
        n_killed += 1
        event += 1
    assert n_killed > 20


def test_a_record_cut_anywhere_is_completed_from_the_state(tmp_path):
    opened = files(tmp_path)
    opened.add(counts(8)[:6])
    before = opened.history_path.stat().st_size
    opened.add(counts(8)[6:])
    whole = opened.history_path.read_bytes()
    for size in range(before, len(whole)):
        opened.history_path.write_bytes(whole[:size])
        public = History.read(opened.history_path)
        assert 6 <= public.n_bins < 8
        assert CounterFiles(opened.state_path).history().n_bins == 8
        assert opened.history_path.read_bytes() == whole
    # a disk may also have kept the end and lost the middle
    opened.history_path.write_bytes(whole[: before + 3] + bytes(len(whole) - before - 3))
    assert CounterFiles(opened.state_path).history().n_bins == 8
    assert opened.history_path.read_bytes() == whole


def test_a_state_older_than_its_history_is_refused(tmp_path):
    opened = files(tmp_path)
    opened.add(counts(8)[:6])
    old = opened.state_path.read_bytes()
    opened.add(counts(8)[6:])
    history = opened.history_path.read_bytes()
    opened.state_path.write_bytes(old)
    for content in (history, history[:-1], history[:-30]):  # also if the last record is not whole
        opened.history_path.write_bytes(content)
        with pytest.raises(FormatError, match=r"older than|damaged"):
            CounterFiles(opened.state_path).add(counts(1))
        assert opened.history_path.read_bytes() == content
    assert opened.state_path.read_bytes() == old


def test_a_history_that_lost_records_is_refused(tmp_path):
    opened = files(tmp_path)
    for row in counts(8):
        opened.add([row])
    lines = opened.history_path.read_bytes().splitlines(keepends=True)
    for kept in (lines[:-2], lines[:5], lines[:-4] + lines[-3:]):
        opened.history_path.write_bytes(b"".join(kept))
        with pytest.raises(FormatError):
            CounterFiles(opened.state_path).add(counts(1))
    opened.history_path.unlink()
    with pytest.raises(FormatError, match="no history"):
        CounterFiles(opened.state_path).add(counts(1))
    with pytest.raises(FormatError, match="no counter history"):
        History.read(opened.history_path)


@pytest.mark.slow
def test_every_changed_byte_of_a_history_is_noticed_or_harmless(tmp_path):
    opened = files(tmp_path)
    for row in counts(4):
        opened.add([row])
    whole = opened.history_path.read_bytes()
    totals = History.read(opened.history_path).totals
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 1
        opened.history_path.write_bytes(bytes(changed))
        try:
            seen = History.read(opened.history_path).totals
        except FormatError:
            pass
        else:
            # the last record, or the last two run into one, is taken for one that is not finished
            assert len(seen) in (2, 3)
            assert np.array_equal(seen, totals[: len(seen)])
        try:
            CounterFiles(opened.state_path).history()
        except (FormatError, PlanMismatch):
            continue
        assert opened.history_path.read_bytes() == whole


def test_every_changed_byte_of_a_state_is_noticed(tmp_path):
    opened = files(tmp_path)
    opened.add(counts(4))
    whole = opened.state_path.read_bytes()
    for place in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[place] ^= 1
        opened.state_path.write_bytes(bytes(changed))
        with pytest.raises(FormatError):
            CounterFiles(opened.state_path).add(counts(1))
    for content in (b"", b"{}", b"[]", b"\xff", whole[:-1], b"[" * 100_000):
        opened.state_path.write_bytes(content)
        with pytest.raises(FormatError):
            CounterFiles(opened.state_path).add(counts(1))
    opened.state_path.unlink()
    with pytest.raises(FormatError, match="no counter"):
        CounterFiles(opened.state_path).add(counts(1))


def test_files_of_two_counters_do_not_go_together(tmp_path):
    one, other = files(tmp_path, name="one.counter"), files(tmp_path, counter(seed=9), name="other.counter")
    one.add(counts(2))
    other.add(counts(2))
    with pytest.raises(PlanMismatch, match="Put files of the same counter together"):
        CounterFiles(one.state_path, other.history_path).add(counts(1))
    with pytest.raises(SettingError, match="two files"):
        CounterFiles(one.state_path, one.state_path)


def test_a_history_forged_to_be_shorter_by_new_checks_is_refused(tmp_path):
    opened = files(tmp_path)
    opened.add(counts(4))
    twin = files(tmp_path, counter(), name="twin.counter")
    twin.add(counts(4, seed=2))  # the same counter, other counts
    shutil.copy(twin.history_path, opened.history_path)
    with pytest.raises(FormatError, match="different totals"):
        CounterFiles(opened.state_path).add(counts(1))


def test_counting_a_bin_twice_or_leaving_one_out_is_refused(tmp_path):
    opened = files(tmp_path, counter(horizon=5))
    opened.add(counts(3), first=0)
    for first, words in ((2, "2018-01-03 is counted already; the next is 2018-01-04"), (4, "too early")):
        with pytest.raises(DataError, match=words):
            opened.add(counts(1), first=first)
    opened.add(counts(2), first=3)
    with pytest.raises(DataError, match="the counter has ended"):
        opened.add(counts(1), first=0)
    assert opened.history().n_bins == 5


def test_refused_counts_leave_both_files_as_they_were(tmp_path):
    opened = files(tmp_path)
    opened.add(counts(3))
    before = opened.state_path.read_bytes(), opened.history_path.read_bytes()
    for bad in ([[1, 2]], [[-1, 0, 0]], np.full((1, 3), np.nan), counts(500)):
        with pytest.raises(DataError):
            opened.add(bad)
    assert before == (opened.state_path.read_bytes(), opened.history_path.read_bytes())


def test_a_counter_is_never_overwritten(tmp_path):
    opened = files(tmp_path)
    opened.add(counts(3))
    with pytest.raises(SettingError, match="another counter"):
        files(tmp_path, counter(seed=8))
    files(tmp_path)  # the very same counter: nothing to do
    assert opened.history().n_bins == 3
    (tmp_path / "new.history.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(SettingError, match="exists already"):
        files(tmp_path, name="new.counter")


def test_two_processes_that_add_wait_for_one_another(tmp_path):
    if not hasattr(os, "fork"):
        pytest.skip("needs processes that can be forked")
    opened = files(tmp_path)
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            try:
                for _ in range(10):
                    CounterFiles(opened.state_path).add(np.ones((1, 3), int))
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    made = counter()
    expected = made.steps(made.begin(), np.ones((40, 3), int))[1]
    assert np.array_equal(opened.history().totals, expected)


def test_a_newer_format_is_told_from_damage(tmp_path):
    opened = files(tmp_path)
    content = json.loads(opened.state_path.read_bytes())
    opened.state_path.write_text(json.dumps(content | {"format": 9}), encoding="utf-8")
    with pytest.raises(FormatError, match="newer Tacit"):
        CounterFiles(opened.state_path).add(counts(1))
    text = opened.history_path.read_text(encoding="utf-8").replace('"format": 1', '"format": 9')
    opened.history_path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match="newer Tacit"):
        History.read(opened.history_path)


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(SettingError):
        files(Path(tmp_path / "missing"))
    assert FORMAT == 1
    assert isinstance(History.empty(counter().stream), History)


def test_records_beyond_64_bits_with_right_checks_are_refused(tmp_path):
    opened = files(tmp_path)
    head = opened.history_path.read_bytes()
    line = b"0,2018-01-01,%d,1,2," % 10**30
    opened.history_path.write_bytes(head + line + b"%08x\n" % zlib.crc32(line, first_check(head)))
    with pytest.raises(FormatError, match="Restore"):
        History.read(opened.history_path)
