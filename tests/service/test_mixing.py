"""A closed period becomes one sorted file that holds its reports once, and the store forgets how they came."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
import sqlalchemy as sa

from service_worlds import NOON, TODAY, message, survey_of
from tacit.collection.tallying import tally_reports
from tacit.collection.wire import ReportFile
from tacit.errors import FormatError
from tacit.service import mixing
from tacit.service.mixing import close_due, mix, report_file
from tacit.service.schema import RUN, TALLY

SURVEY = survey_of(late=1)


def filled(store, n_messages=9):
    store.add_survey(SURVEY)
    rng = np.random.default_rng(1)
    added = [
        SURVEY.addition(message(SURVEY, [TODAY - i % 2] * 20, rng.integers(0, 17, 20)), NOON) for i in range(n_messages)
    ]
    store.add(added)
    return added


def n_runs(store):
    with store._reading() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(RUN)).scalar_one()


def test_periods_close_when_no_more_reports_are_taken_for_them(store, tmp_path):
    added = filled(store)
    assert close_due(store, SURVEY, NOON, tmp_path) == []
    assert n_runs(store) == 9
    (path,) = close_due(store, SURVEY, NOON + timedelta(days=1), tmp_path)
    assert path == report_file(SURVEY, TODAY - 1, tmp_path)
    assert n_runs(store) == 5
    yesterday = [one for one in added if one.periods == (TODAY - 1, TODAY - 1)]
    found = ReportFile.open(path)
    sent = sorted(row.tobytes() for one in yesterday for row in one.reports)
    kept = [row.tobytes() for _, _, rows in found.batches() for row in rows]
    assert sorted(kept) == sent
    assert kept == sorted(kept, key=lambda row: row[::-1])  # as little-endian numbers: nothing of their order is left
    assert close_due(store, SURVEY, NOON + timedelta(days=1), tmp_path) == []


def test_the_log_says_how_many_periods_were_closed_with_those_that_had_no_report(store, tmp_path, caplog):
    filled(store)
    caplog.set_level("INFO", "tacit.service")
    for days in (0, 3, 3):
        close_due(store, SURVEY, NOON + timedelta(days=days), tmp_path)
    said = [one.tacit_fields for one in caplog.records if one.msg == "closed"]
    assert said == [
        {"survey": "visits", "periods": TODAY - 1, "files": 0},
        {"survey": "visits", "periods": 3, "files": 2},
    ]


def test_files_of_reports_are_for_their_owner_alone(store, tmp_path):
    filled(store)
    paths = close_due(store, SURVEY, NOON + timedelta(days=9), tmp_path / "collected")
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o600] * 2


def test_all_files_together_are_the_tally(store, tmp_path):
    filled(store)
    paths = close_due(store, SURVEY, NOON + timedelta(days=9), tmp_path)
    assert (len(paths), n_runs(store)) == (2, 0)
    assert tally_reports(paths, SURVEY.plan) == store.tally(SURVEY)


@pytest.mark.parametrize("step", ["_check", "make_folders"])
def test_stopped_between_two_steps_the_same_goes_on(store, tmp_path, monkeypatch, step):
    filled(store)
    with monkeypatch.context() as stopped:
        stopped.setattr(mixing, step, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            close_due(store, SURVEY, NOON + timedelta(days=9), tmp_path)
    assert n_runs(store) == 9
    paths = mix(store, SURVEY, tmp_path)
    assert tally_reports(paths, SURVEY.plan) == store.tally(SURVEY)
    assert n_runs(store) == 0


def test_a_tally_that_its_reports_do_not_add_up_to_is_told_and_nothing_is_deleted(store, tmp_path):
    filled(store)
    with store._begin() as connection:
        connection.execute(sa.update(TALLY).values(n_reports=TALLY.c.n_reports + 1))
    with pytest.raises(FormatError, match="do not add up"):
        close_due(store, SURVEY, NOON + timedelta(days=9), tmp_path)
    assert n_runs(store) == 9


def test_of_two_processes_that_close_a_period_the_slower_one_destroys_nothing(store, tmp_path, monkeypatch):
    filled(store)
    first = close_due(store, SURVEY, NOON + timedelta(days=9), tmp_path)
    before = [path.read_bytes() for path in first]
    monkeypatch.setattr(type(store), "unmixed", lambda *_: [TODAY - 1, TODAY])  # asked before the other was done
    assert mix(store, SURVEY, tmp_path) == []
    assert [path.read_bytes() for path in first] == before
