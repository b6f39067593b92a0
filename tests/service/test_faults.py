"""Cut connections, a lost database, a full disk, clocks that jump: nothing acknowledged is lost, nothing counts twice.

These are short runs; ``benchmarks/collector_faults.py`` makes long ones.
"""

from __future__ import annotations

import pytest

import collector_faults as faults
from postgres_server import running
from tacit.service.store import Store


@pytest.fixture(scope="module")
def breakable():
    """A PostgreSQL server that may be stopped and filled."""
    with running() as server:
        yield server


@pytest.mark.slow
def test_two_collectors_on_one_database_count_every_message_once_through_cut_connections(postgres, tmp_path):
    database = faults.new_database(postgres)
    trial = faults.cut(postgres, database, tmp_path, n_cuts=6, n_messages=150)
    assert trial.is_right
    assert trial.n_again > 0


@pytest.mark.slow
def test_a_database_that_goes_and_comes_is_waited_for(breakable, tmp_path):
    database = faults.new_database(breakable)
    trial = faults.stopped(breakable, database, tmp_path, n_stops=2, n_messages=150)
    assert trial.is_right
    assert trial.n_refused >= 3


@pytest.mark.slow
def test_a_full_disk_refuses_and_loses_nothing_with_sqlite(tmp_path):
    database = f"sqlite:///{tmp_path / 'collector.sqlite'}"
    full = faults.limited(100_000)
    trial = faults.filled(database, tmp_path, n_times=2, n_messages=200, n_reports=300, full=full)
    assert trial.is_right
    assert trial.n_refused >= 3


@pytest.mark.slow
def test_a_full_disk_refuses_and_loses_nothing_with_postgresql(breakable, tmp_path):
    database = faults.growing_database(breakable)
    full = faults.limited(2 << 20, breakable)
    trial = faults.filled(database, tmp_path, n_times=1, n_messages=120, n_reports=10_000, full=full)
    assert trial.is_right
    assert trial.n_refused >= 3


@pytest.mark.slow
def test_clocks_that_jump_open_nothing_and_lose_nothing(database, tmp_path):
    assert faults.turned(database, tmp_path, n_jumps=20).is_right


def test_a_trial_sees_what_is_lost_or_counted_twice(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    store.add_survey(faults.SURVEY)
    load = faults.Load(2, 10, [0], "")
    load.answers[200] = 2
    added = [faults.SURVEY.addition(data, faults.datetime.now(faults.UTC)) for data in load.waiting]
    store.add(added[:1])
    assert not faults.judged(load, store, 0).is_right
    store.add(added)
    assert faults.judged(load, store, 0).is_right
    store.add([faults.SURVEY.addition(faults.Load(1, 10, [0], "").waiting[0], faults.datetime.now(faults.UTC))])
    assert not faults.judged(load, store, 0).is_right
    store.close()
