"""A run that is killed between any two steps is taken up by the same call: one report an event, ever."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# Every step that reaches the disk is a call of the system that Python announces (an audit event), or a statement of
# SQLite. The process kills itself before the n-th of them. It is forked from one that has everything loaded and no
# thread yet, so that all steps can be tried.
SCRIPT = r"""
import json, os, shutil, signal, sqlite3, sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import tacit.collection.wire.cell_counts as drawing
import tacit.collection.wire.randomizing_writer as randomizing_writer
import tacit.collection.wire.spool as spool
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.events import EventColumns, open_events
from tacit.mechanisms.registry import plan_for
from tacit.privacy.ledger import Ledger
from tacit.collection.randomizing import randomize_events
from tacit.collection.wire import ReportFile

os.fsync = lambda _: None  # a kill loses nothing that was written; only a power failure does
here, rows_in_memory, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
randomizing_writer.ROWS_IN_MEMORY = spool.ROWS_IN_MEMORY = rows_in_memory
drawing.BLOCK_REPORTS = randomizing_writer.BLOCK_REPORTS = 16
randomizing_writer._GATHERED_REPORTS = 32
domain = Domain(TimeAxis.between("2018-01-01", "2018-01-06"), PlaceAxis.of(["a", "b", "c"]))
plan = plan_for(domain, epsilon=2.0)
days = np.datetime64("2018-01-01", "s") + np.arange(200) % 6 * np.timedelta64(86400, "s")
table = pa.table({"day": days, "where": [("a", "b", "c")[i % 7 % 3] for i in range(200)]})
sqlite_connect = sqlite3.connect
STEPS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "sqlite3.connect"}


def run(folder, kill_before):
    steps = 0

    def step(*_):
        nonlocal steps
        steps += 1
        if steps == kill_before:
            os.kill(os.getpid(), signal.SIGKILL)

    def heard(event, arguments):
        if event in STEPS and str(folder) in str(arguments[0]):
            step()

    def connect(*arguments, **settings):
        connection = sqlite_connect(*arguments, **settings)
        connection.set_trace_callback(step)
        return connection

    sys.addaudithook(heard)
    sqlite3.connect = connect
    randomize_events(
        open_events(table, columns=EventColumns(time="day", place="where"), domain=domain),
        plan, folder / "out.reports", ledger=Ledger(folder / "ledger.sqlite"), data_set="events", overwrite=False,
    )
    return steps


def forked(folder, kill_before=0):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.write(writer, b"%d" % run(folder, kill_before))
            code = 0
        except BaseException as problem:
            os.write(writer, repr(problem).encode())
        finally:
            os._exit(code)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as told:
        return os.waitstatus_to_exitcode(status), told.read().decode()


def rows_of(folder):
    # how many randomizations the ledger holds, and how many keys of their reports
    if not (folder / "ledger.sqlite").exists():
        return 0, 0
    ledger = sqlite_connect(folder / "ledger.sqlite")
    tables = ("randomization", "randomization_key")
    return tuple(ledger.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables)


def tried(kill_before):
    folder = here / str(kill_before)
    folder.mkdir()
    killed, told = forked(folder, kill_before)
    if not killed:
        return {"killed": killed}
    parts = [path.read_bytes() for path in folder.glob(".out.reports.*.part")]
    parts += [path.read_bytes() for path in folder.glob("out.reports")]
    was_done = rows_of(folder) == (1, 0)  # killed while the ledger tidied up after itself
    copy = here / f"{kill_before} again"
    shutil.copytree(folder, copy)
    codes, outs = [], []
    for place in (folder, copy):
        code, text = forked(place)
        codes.append(code if code == 0 else text)
        outs.append((place / "out.reports").read_bytes())
    n_entries, n_keys = rows_of(folder)
    return {
        "killed": killed, "told": told, "was done": was_done, "codes": codes, "paid before": len(set(outs)) == 1,
        "prefixes": all(outs[0].startswith(part) for part in parts), "n parts": len(parts),
        "n entries": n_entries, "n keys": n_keys, "n reports": ReportFile.open(folder / "out.reports").n_reports,
        "left": sorted(path.name for path in folder.iterdir()),
    }


(here / "whole").mkdir()
code, n_steps = forked(here / "whole")
assert code == 0, n_steps
# some steps, others in every run, and all of the last, where the file appears and the key is wiped
apart = max(1, int(n_steps) // 8)
chosen = sorted({*range(1 + seed % apart, int(n_steps), apart), *range(int(n_steps) - 12, int(n_steps) + 1)})
print(json.dumps([tried(kill_before) for kill_before in chosen]))
"""


@pytest.mark.false_failure(0)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, so that all steps can be tried in seconds")
@pytest.mark.parametrize("rows_in_memory", [1 << 20, 8], ids=["in memory", "through files"])
def test_stopped_before_any_step_the_same_call_goes_on(tmp_path, rows_in_memory, seed):
    words = [sys.executable, "-c", SCRIPT, str(tmp_path), str(rows_in_memory), str(seed)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    # through how many files reports go is a matter of chance: a run may have been done before it was to be killed
    tries = [tried for tried in json.loads(done.stdout) if tried["killed"] == -9]
    assert len(tries) > 12
    for step, tried in enumerate(tries, 1):
        if tried["was done"]:
            assert all("exists already" in told for told in tried["codes"]), (step, tried)
        else:
            assert tried["codes"] == [0, 0], (step, tried)  # it goes on, whatever was there
        assert tried["n reports"] == 200, (step, tried)
        assert tried["n entries"] == 1, (step, tried)  # paid once
        assert tried["n keys"] == 0, (step, tried)  # and the key is wiped
        assert tried["prefixes"], (step, tried)  # whatever lay on the disk was of the file that came
    # before the price is paid each attempt draws its own secret; afterwards all draw the same reports
    same = [tried["paid before"] for tried in tries]
    assert same == sorted(same)
    assert 0 < sum(same) < len(same)
    assert any(tried["n parts"] for tried in tries)
    assert not any(tried["told"] for tried in tries)
