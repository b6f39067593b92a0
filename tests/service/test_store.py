"""Every message counts once, on both databases, whoever sends it how often and from how many processes."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa

from service_worlds import NOON, TODAY, message, survey_of
from tacit.collection.wire import tally_message
from tacit.counts.tally import Tally
from tacit.errors import SettingError
from tacit.service import commits
from tacit.service.commits import Outcome
from tacit.service.refusals import Reason, Refused
from tacit.service.schema import METADATA
from tacit.service.store import Store

SURVEY = survey_of(late=3)


def additions(n, n_reports=5, days=(TODAY, TODAY - 1)):
    return [SURVEY.addition(message(SURVEY, [days[i % len(days)]] * n_reports), NOON) for i in range(n)]


def expected(added):
    """The tally of additions, by the code for messages."""
    total = Tally.zero(SURVEY.form.plan_id, SURVEY.form.mechanism.n_statistics)
    for one in added:
        bins = np.repeat(one.bins, one.run_lengths)
        data = SURVEY.form.encode(bins, one.reports, total.provenance)
        total += tally_message(SURVEY.form.parse(data), SURVEY.plan)
    return total


def test_the_tally_is_the_sum_of_all_messages(store):
    store.add_survey(SURVEY)
    added = additions(12)
    assert store.add(added[:7]) == [Outcome.COUNTED] * 7
    assert store.add(added[7:]) == [Outcome.COUNTED] * 5
    assert store.tally(SURVEY) == expected(added)


def test_a_message_counts_once_however_often_it_comes(store):
    store.add_survey(SURVEY)
    first, second, third = additions(3)
    assert store.add([first, second, first]) == [Outcome.COUNTED, Outcome.COUNTED, Outcome.SEEN]
    assert store.add([third, second]) == [Outcome.COUNTED, Outcome.SEEN]
    assert store.tally(SURVEY) == expected([first, second, third])


def test_the_same_id_counts_once_in_each_survey(store):
    other = survey_of(late=3)
    object.__setattr__(other, "id", "other")
    store.add_survey(SURVEY)
    store.add_survey(other)
    data = message(SURVEY, [TODAY])
    pair = [SURVEY.addition(data, NOON), other.addition(data, NOON)]
    assert store.add(pair) == [Outcome.COUNTED] * 2
    assert store.tally(SURVEY).n_reports == store.tally(other).n_reports == 1


def test_two_processes_that_add_the_same_bins_lose_nothing(database):
    stores = [Store(database) for _ in range(2)]
    stores[0].add_survey(SURVEY)
    added = additions(60)
    outcomes = {0: [], 1: []}

    def work(number):
        order = np.random.default_rng(number).permutation(60)
        for some in np.array_split(order, 12):
            outcomes[number] += zip(some.tolist(), stores[number].add([added[i] for i in some]), strict=True)

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = [i for pairs in outcomes.values() for i, outcome in pairs if outcome is Outcome.COUNTED]
    assert sorted(counted) == list(range(60))
    assert stores[0].tally(SURVEY) == expected(added)
    for one in stores:
        one.close()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)  # SQLite asks in microseconds
def test_a_process_that_is_alone_asks_once_for_a_group(database, monkeypatch):
    store, added = Store(database), additions(9)
    store.add_survey(SURVEY)
    store.add(added[:3])
    with monkeypatch.context() as deaf:
        deaf.setitem(commits._STATEMENTS, "postgresql", (None, None))
        assert store.add(added[3:6]) == [Outcome.COUNTED] * 3
    store.close()
    assert store.add(added[6:]) == [Outcome.COUNTED] * 3  # over another connection
    assert store.tally(SURVEY) == expected(added)
    kept = [reports.tobytes() for _, reports in store.runs(SURVEY, TODAY)]
    assert sorted(kept) == sorted(one.reports.tobytes() for one in added[::2])
    store.close()


def test_a_group_after_others_is_counted_as_the_first_is(store, database):
    """What was seen, what is closed and what another process added, where nothing of it is asked for first."""
    store.add_survey(SURVEY)
    added = additions(12)
    old = additions(1, days=(TODAY - 2,))
    store.add([*added[:2], *old])
    assert store.add([added[2], added[1], added[2]]) == [Outcome.COUNTED, Outcome.SEEN, Outcome.SEEN]
    other = Store(database)
    assert other.add(added[3:5]) == [Outcome.COUNTED] * 2
    assert store.add(added[4:6]) == [Outcome.SEEN, Outcome.COUNTED]
    assert other.add(added[5:7]) == [Outcome.SEEN, Outcome.COUNTED]
    other.close_periods(SURVEY, TODAY)
    late, today = additions(2, days=(TODAY - 2, TODAY))
    for _ in range(2):
        assert store.add([late]) == [Outcome.CLOSED]
    assert store.add([today, late]) == [Outcome.COUNTED, Outcome.CLOSED]
    assert store.tally(SURVEY) == expected([*added[:7], *old, today])
    other.close()


def test_what_is_closed_stays_closed(store):
    store.add_survey(SURVEY)
    old, new = additions(2, days=(TODAY - 2, TODAY))
    both = SURVEY.addition(message(SURVEY, [TODAY - 2, TODAY]), NOON)
    store.close_periods(SURVEY, TODAY)
    store.close_periods(SURVEY, 3)  # a clock that went back opens nothing
    assert store.n_closed(SURVEY) == TODAY
    assert store.add([old, new, both]) == [Outcome.CLOSED, Outcome.COUNTED, Outcome.CLOSED]
    assert store.tally(SURVEY) == expected([new])


def test_a_failure_in_the_middle_counts_nothing_and_the_same_may_come_again(store, monkeypatch):
    store.add_survey(SURVEY)
    added = additions(3)

    def fails(*_):
        raise sa.exc.OperationalError("x", {}, OSError())

    with monkeypatch.context() as broken:
        broken.setattr(
            commits, "_sums_of", lambda *_: (_ for _ in ()).throw(sa.exc.OperationalError("x", {}, OSError()))
        )
        with pytest.raises(Refused) as refused:
            store.add(added)
    assert (refused.value.reason, store.tally(SURVEY).n_reports) == (Reason.STORE, 0)
    assert store.add(added) == [Outcome.COUNTED] * 3


def test_a_survey_with_other_settings_is_not_taken_for_the_same(store):
    store.add_survey(SURVEY)
    store.add_survey(survey_of(late=3))
    for other, said in (
        (survey_of(late=2), "whose late is 3, and not 2"),
        (survey_of(late=3, epsilon=3.0), "whose plan is "),
        (survey_of(late=3, is_open=True), "whose open is False, and not True"),
        (survey_of(late=3, is_simulation=True), "whose simulation is False, and not True"),
    ):
        with pytest.raises(SettingError, match=said):
            store.add_survey(other)
    for name in ("unknown", "not a name", "visits\0", ""):
        with pytest.raises(Refused) as refused:
            store.survey(name)
        assert refused.value.reason is Reason.UNKNOWN


def test_a_survey_is_read_back_as_it_was_made(database):
    for _ in range(2):
        made = Store(database)
        made.add_survey(SURVEY)
        found = made.survey(SURVEY.id)
        assert (found.form.plan_id, found.late, found.is_open) == (SURVEY.form.plan_id, 3, False)
        made.close()


def test_what_one_process_changes_of_a_survey_another_sees_at_its_next_look(database):
    here, there = Store(database), Store(database)
    here.add_survey(SURVEY)
    there.survey(SURVEY.id).check_same(SURVEY)
    changed = replace(SURVEY, late=9, is_open=True)
    here.change_survey(changed)
    (seen,) = there.surveys()
    seen.check_same(changed)
    assert there.known(SURVEY.id) is seen
    for one in (here, there):
        one.close()


def test_refusals_add_up(store):
    store.add_survey(SURVEY)
    for n in (2, 5):
        store.add_refusals({("visits", Reason.LATE): n, ("visits", Reason.MALFORMED): 1})
    assert store.refusals(SURVEY) == {"late": 7, "malformed": 2}


def test_looks_have_numbers_of_their_own_and_alarms_are_kept_once(store):
    store.add_survey(SURVEY)
    assert [store.next_look(SURVEY) for _ in range(3)] == [(0, 1), (0, 2), (0, 3)]
    store.add_alarms(SURVEY, ["b", "a"])
    store.add_alarms(SURVEY, ["a"])
    assert store.alarms(SURVEY) == ["a", "b"]


@pytest.mark.parametrize("url", ["", "mysql://host/name", "sqlite://", "sqlite:///:memory:", "what is this"])
def test_an_address_that_is_no_store_is_refused(url):
    with pytest.raises(SettingError, match="sqlite:///FILE"):
        Store(url)


def test_a_store_that_cannot_be_opened_says_what_is_wrong_with_it_and_no_password(tmp_path, postgres):
    (tmp_path / "a.sqlite").write_bytes(b"no database" * 1000)
    with sqlite3.connect(tmp_path / "b.sqlite") as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('9999')")
    connection.close()
    for url, said in (
        (f"sqlite:///{tmp_path / 'a.sqlite'}", "a.sqlite, cannot be opened: file is not a database"),
        (f"sqlite:///{tmp_path / 'none' / 'a.sqlite'}", "cannot be opened: unable to open database file"),
        (f"sqlite:///{tmp_path / 'b.sqlite'}", "b.sqlite, was made by a newer version of Tacit"),
        (f"postgresql://somebody:s3cret@/none?host={tmp_path}", "database none, cannot be opened: connection"),
        (postgres.url("none_of_ours"), 'database "none_of_ours" does not exist'),
        (postgres.url(password="s3cret"), "password authentication failed"),
    ):
        with pytest.raises(SettingError) as refused:
            Store(url)
        assert said in str(refused.value)
        assert "s3cret" not in str(refused.value)
        assert "send the same again" not in str(refused.value)


def test_the_tables_after_all_migrations_are_those_of_the_schema(store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store._reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_a_file_is_for_its_owner_alone(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    store.check()
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    store.close()


def test_nothing_in_the_tables_is_a_time_or_a_serial_number(tmp_path):
    """What is not there cannot be stolen: the columns are listed, and no row of SQLite has a hidden number."""
    assert {column.name for table in METADATA.sorted_tables for column in table.c} == {
        *("id", "plan", "late", "is_open", "is_simulation", "n_closed", "n_looks", "restored_at"),
        *("survey", "message", "bin", "reports", "n_reports", "statistics", "number", "reason", "n", "what"),
        *("name", "digest", "scope"),
        *("every", "is_public", "n_periods", "checksum", "file", "n_bytes", "page", "signed_by"),
        *("title", "noun", "language"),
    }
    Store(f"sqlite:///{tmp_path / 'a.sqlite'}").close()
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for name in {name for (name,) in found} - {"alembic_version"}:
            with pytest.raises(sqlite3.OperationalError, match="rowid"):
                connection.execute(f"SELECT rowid FROM {name}")
    connection.close()
