"""Files that arrive count once, whatever becomes of their names, the store or the process; without a cluster."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tacit.collection.randomizing import randomize_events
from tacit.collection.tallying import tally_reports
from tacit.collection.wire import ReportFile
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, PlanMismatch, SettingError
from tacit.events import EventColumns, ReadOptions, open_events
from tacit.mechanisms.registry import plan_for
from tacit.privacy.ledger import Ledger

streaming = pytest.importorskip("tacit.engines.streaming")

DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-09"), PlaceAxis.of(["North", "South"]))
PLAN = plan_for(DOMAIN, epsilon=1.0)
here: Callable[..., Tally] = partial(tally_reports, plan=PLAN)


def write_reports(path: Path, seed: int) -> Path:
    """A report file; those of other seeds have the same size."""
    import pyarrow as pa

    events = open_events(
        pa.table({"when": ["2018-01-01", "2018-01-03"] * 20, "town": ["North"] * 40}),
        columns=EventColumns(time="when", place="town"),
        domain=DOMAIN,
        options=ReadOptions(date_format="year-first"),
    )
    randomize_events(events, PLAN, path, ledger=None, data_set="x", seed=seed)
    return path


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    """A folder with one file."""
    (tmp_path / "inbox").mkdir()
    write_reports(tmp_path / "inbox" / "a.reports", seed=1)
    return tmp_path / "inbox"


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """An empty store."""
    return streaming.TallyStore(tmp_path / "store", PLAN)


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """A folder that nobody watches."""
    (tmp_path / "apart").mkdir()
    return tmp_path / "apart"


def test_a_batch_adds_once_and_a_store_keeps_to_its_plan(inbox, store) -> None:
    arrived = store.arrived(inbox)
    for _ in range(2):
        store.add(arrived, here([inbox / "a.reports"]), ("query", 0))
        assert streaming.TallyStore(store.path, PLAN).tally() == here([inbox / "a.reports"])
    assert store.has_batch(("query", 0))
    assert not store.has_batch(("query", 1))
    streaming.count_new(inbox, store, here, ("query", 1))
    assert store.has_batch(("query", 1)), "also one without a new file"
    assert store.tally() == here([inbox / "a.reports"])
    with pytest.raises(PlanMismatch):
        streaming.TallyStore(store.path, plan_for(DOMAIN, epsilon=2.0))


def test_an_empty_file_stops_a_batch_and_counts_when_it_is_whole(inbox, store) -> None:
    (inbox / "b.reports").touch()
    for _ in range(2):
        with pytest.raises(
            FormatError, match=r"b\.reports is empty: .* Replace it or take it away, and start again\.$"
        ):
            streaming.count_new(inbox, store, here, ("query", 0))
        assert not store.has_batch(("query", 0))
    write_reports(inbox / "b.reports", seed=2)
    streaming.count_new(inbox, store, here, ("query", 0))
    assert store.tally() == here(inbox.iterdir())


def test_a_damaged_file_stops_a_batch_of_which_nothing_counts(inbox, store) -> None:
    whole = write_reports(inbox / "b.reports", seed=2).read_bytes()
    (inbox / "b.reports").write_bytes(whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:])
    with pytest.raises(FormatError, match=r"b\.reports is damaged"):
        streaming.count_new(inbox, store, here)
    assert store.tally().n_reports == 0
    (inbox / "b.reports").unlink()
    streaming.count_new(inbox, store, here)
    assert store.tally() == here([inbox / "a.reports"])


def test_another_file_under_a_name_that_counted_counts(inbox, store, apart) -> None:
    streaming.count_new(inbox, store, here)
    older = shutil.copy2(inbox / "a.reports", apart / "older")
    newer = write_reports(apart / "newer", seed=2)
    shutil.copystat(older, newer)
    assert newer.stat().st_size == Path(older).stat().st_size, "size and time tell nothing here"
    os.replace(shutil.copy2(newer, apart / "moved"), inbox / "a.reports")
    for _ in range(2):
        streaming.count_new(inbox, store, here)
        assert store.tally() == here([older, newer])
    (inbox / "a.reports").unlink()
    shutil.copy(older, inbox / "a.reports")
    streaming.count_new(inbox, store, here)
    assert store.tally() == here([older, newer]), "what was counted stays so, and counts once"


def test_copies_count_once(inbox, store) -> None:
    shutil.copy(inbox / "a.reports", inbox / "b.reports")
    streaming.count_new(inbox, store, here)
    shutil.copy(inbox / "a.reports", inbox / "c.reports")
    streaming.count_new(inbox, store, here)
    assert store.tally() == here([inbox / "a.reports"])


def test_files_in_folders_count_unless_they_are_unfinished(inbox, store) -> None:
    for name in ("parts.reports", "year/month", ".parts.x.unfinished"):
        (inbox / name).mkdir(parents=True)
    parts = [
        write_reports(inbox / "parts.reports" / "000000.reports", seed=2),
        write_reports(inbox / "year" / "month" / os.fsdecode(b"_\xff.reports"), seed=3),
    ]
    (inbox / ".parts.x.unfinished" / "000000.reports").write_bytes(b"TACIT...")
    (inbox / ".a.reports").touch()
    (inbox / "a.txt").touch()
    streaming.count_new(inbox, store, here)
    assert store.tally() == here([inbox / "a.reports", *parts])


def test_a_folder_that_cannot_be_read_is_not_passed_over(inbox, store, monkeypatch) -> None:
    (inbox / "closed").mkdir()
    scandir = os.scandir

    def closed(path: Any) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(FormatError, match=r"closed cannot be read\. Check its permissions\.$"):
        streaming.count_new(inbox, store, here)


def test_files_that_did_not_change_are_not_opened_again(inbox, store, monkeypatch) -> None:
    shutil.copy(inbox / "a.reports", inbox / "copy.reports")
    streaming.count_new(inbox, store, here)
    opened = []
    kept = ReportFile.open
    monkeypatch.setattr(ReportFile, "open", lambda path, **asked: opened.append(path) or kept(path, **asked))
    streaming.count_new(inbox, streaming.TallyStore(store.path, PLAN), here)
    assert opened == []
    (inbox / "copy.reports").touch()
    streaming.count_new(inbox, store, here)
    assert opened == [inbox / "copy.reports"]


def test_a_file_that_is_replaced_while_it_is_counted_does_not_count(inbox, store) -> None:
    def counting(paths: list[Path]) -> Tally:
        write_reports(paths[0], seed=2)
        return here(paths)

    with pytest.raises(FormatError, match=r"a\.reports was replaced while it was counted"):
        streaming.count_new(inbox, store, counting)
    streaming.count_new(inbox, store, here)
    assert store.tally() == here([inbox / "a.reports"])


def test_what_two_processes_count_at_once_counts_once(inbox, store) -> None:
    def counting(paths: list[Path]) -> Tally:
        streaming.count_new(inbox, streaming.TallyStore(store.path, PLAN), here)
        return here(paths)

    with pytest.raises(SettingError, match=r"another process counted a\.reports at the same time"):
        streaming.count_new(inbox, store, counting, ("query", 0))
    assert store.tally() == here([inbox / "a.reports"])
    assert not store.has_batch(("query", 0))


KILLED = """
import os, signal, sys
from functools import partial
from pathlib import Path
from tacit.collection.tallying import tally_reports
from tacit.engines import streaming
from tacit.plan import Plan
folder = Path(sys.argv[1])
plan = Plan.read(folder / "plan.toml")
counting, connect = partial(tally_reports, plan=plan), streaming.sqlite3.connect
expected = counting((folder / "inbox").iterdir())
def run(path, statement):
    def traced(*asked, **settings):
        base = connect(*asked, **settings)
        base.set_trace_callback(lambda text: met.append(text) or len(met) <= statement or os.kill(os.getpid(), 9))
        return base
    met, streaming.sqlite3.connect = [], traced
    streaming.count_new(folder / "inbox", streaming.TallyStore(path, plan), counting, ("query", 0))
    os._exit(0)
statement = n_lost = ended = 0
while not ended:
    path = folder / f"store{statement}"
    child = os.fork()
    if not child:
        run(path, statement)
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store = streaming.TallyStore(path, plan)
    found = store.tally().n_reports
    assert found in (0, expected.n_reports) and store.has_batch(("query", 0)) == (found > 0), (statement, found)
    n_lost += not found
    streaming.count_new(folder / "inbox", store, counting, ("query", 0))
    assert store.tally() == expected, statement
    statement += 1
print(statement, n_lost)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_may_be_killed_at_any_statement(inbox, tmp_path) -> None:
    write_reports(inbox / "b.reports", seed=2)
    PLAN.write(tmp_path / "plan.toml")
    ran = subprocess.run([sys.executable, "-c", KILLED, tmp_path], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2000:]
    n_tried, n_lost = map(int, ran.stdout.split())
    assert n_tried > n_lost > 10


def checkpoint_of(folder: Path, *commits: int) -> Path:
    """What Spark leaves of the query ``query``."""
    (folder / "checkpoint" / "commits").mkdir(parents=True)
    (folder / "checkpoint" / "metadata").write_text(json.dumps({"id": "query"}))
    for number in commits:
        (folder / "checkpoint" / "commits" / str(number)).write_text("v1\n{}")
        (folder / "checkpoint" / "commits" / f".{number}.crc").touch()
    return folder / "checkpoint"


def test_a_store_that_lost_what_a_checkpoint_has_is_refused(inbox, store, tmp_path) -> None:
    for number in range(11):
        streaming.count_new(inbox, store, here, ("query", number))
    checkpoint = checkpoint_of(tmp_path, 9, 10)
    streaming.check_knows(store, checkpoint)
    for another in (streaming.TallyStore(tmp_path / "new", PLAN), streaming.TallyStore(tmp_path / "older", PLAN)):
        if another.path.name == "older":
            streaming.count_new(inbox, another, here, ("query", 9))
        with pytest.raises(
            FormatError, match=r"does not know what was counted under .*: it was lost.* Put the right one"
        ):
            streaming.watch(None, inbox, PLAN, another, checkpoint=checkpoint)
    (checkpoint / "metadata").write_text("")
    with pytest.raises(FormatError, match=r"checkpoint is damaged\. Take it away and start again"):
        streaming.check_knows(store, checkpoint)


def test_a_checkpoint_may_be_lost_or_have_stopped_before_its_first_batch(inbox, store, tmp_path) -> None:
    streaming.check_knows(store, tmp_path / "none")
    streaming.check_knows(store, checkpoint_of(tmp_path))
    streaming.count_new(inbox, store, here, ("query", 0))
    streaming.count_new(inbox, store, here, ("another", 0))
    assert store.tally() == here([inbox / "a.reports"])


def test_a_store_of_an_earlier_version_goes_on(inbox, store) -> None:
    streaming.count_new(inbox, store, here, ("query", 0))
    with sqlite3.connect(store.path) as base:
        base.execute("DROP TABLE seen")
    base.close()
    again = streaming.TallyStore(store.path, PLAN)
    streaming.count_new(inbox, again, here, ("query", 1))
    assert again.tally() == here([inbox / "a.reports"])


def test_a_new_store_is_for_its_owner_alone(inbox, store) -> None:
    assert store.path.stat().st_mode & 0o777 == 0o600
    streaming.count_new(inbox, store, here)
    assert store.path.stat().st_mode & 0o777 == 0o600


def test_a_store_that_is_locked_is_not_called_damaged(store, monkeypatch) -> None:
    monkeypatch.setattr(streaming, "_PATIENCE_SECONDS", 0)
    other = sqlite3.connect(store.path, isolation_level=None)
    try:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(FormatError, match=r"store is locked by another process\. Start again when that is done"):
            streaming.TallyStore(store.path, PLAN)
    finally:
        other.close()


def test_a_store_needs_a_folder(tmp_path) -> None:
    with pytest.raises(SettingError, match=r"^the folder .*none does not exist\. Make it first"):
        streaming.TallyStore(tmp_path / "none" / "store", PLAN)


def test_a_store_that_is_taken_away_is_not_begun_anew(inbox, store) -> None:
    store.path.unlink()
    with pytest.raises(FormatError, match=r"store cannot be opened\. Check the path"):
        streaming.count_new(inbox, store, here)
    assert not store.path.exists()


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path) -> None:
    Ledger(tmp_path / "ledger").declare_distinct("x", "y")
    (tmp_path / "text").write_text("no store" * 1000)
    for name in ("ledger", "text"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(
            FormatError, match=rf"{name} is no store of a tally, or it is damaged\. Restore it from a copy"
        ):
            streaming.TallyStore(tmp_path / name, PLAN)
        assert (tmp_path / name).read_bytes() == before


def test_a_folder_that_does_not_exist_is_named(store, tmp_path) -> None:
    with pytest.raises(SettingError, match=r"^the folder .*none does not exist\. Make it first, or name another\.$"):
        streaming.watch(None, tmp_path / "none", PLAN, store, checkpoint=tmp_path / "checkpoint")


def test_events_that_were_randomized_twice_do_not_count_twice_in_any_order(tmp_path) -> None:
    import pyarrow as pa

    ledger = Ledger(tmp_path / "ledger")
    (tmp_path / "apart").mkdir()
    events = open_events(
        pa.table({"when": ["2018-01-01", "2018-01-03"] * 20, "town": ["North"] * 40}),
        columns=EventColumns(time="when", place="town"),
        domain=DOMAIN,
        options=ReadOptions(date_format="year-first"),
    )
    runs = [tmp_path / "apart" / f"{number}.reports" for number in range(2)]
    for number, path in enumerate(runs):
        randomize_events(events, PLAN, path, ledger=ledger, data_set="x", again=bool(number))
    for name, order in (("forwards", runs), ("backwards", runs[::-1])):
        inbox, store = tmp_path / name, streaming.TallyStore(tmp_path / f"{name}.store", PLAN)
        inbox.mkdir()
        shutil.copy(order[0], inbox)
        streaming.count_new(inbox, store, here)
        shutil.copy(order[1], inbox)
        with pytest.raises(SettingError, match=rf"{order[1].name}: .*would count twice"):
            streaming.count_new(inbox, store, here)
        assert store.tally() == here([order[0]])
        (inbox / order[1].name).unlink()
        streaming.count_new(inbox, store, here)


def test_a_checkpoint_knows_the_store_it_was_kept_with_and_how_far_it_was(inbox, store, tmp_path) -> None:
    checkpoint = tmp_path / "checkpoint"
    streaming.check_knows(store, checkpoint)
    streaming.note(store, checkpoint)
    before = store.path.read_bytes()
    streaming.count_new(inbox, store, here)
    streaming.check_knows(store, checkpoint)  # killed before it was noted: the store is ahead
    streaming.note(store, checkpoint)
    streaming.check_knows(store, checkpoint)
    store.path.write_bytes(before)
    with pytest.raises(FormatError, match="does not know what was counted"):
        streaming.check_knows(store, checkpoint)
    store.path.unlink()
    with pytest.raises(FormatError, match="does not know what was counted"):
        streaming.check_knows(streaming.TallyStore(store.path, PLAN), checkpoint)
    (checkpoint / "tacit.json").write_text("[")
    with pytest.raises(FormatError, match=r"is damaged\. Take it away"):
        streaming.check_knows(store, checkpoint)
