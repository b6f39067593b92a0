"""A backup that is restored into an empty store of either database is the store as it was."""

from __future__ import annotations

import os
import secrets
import subprocess
from contextlib import closing
from datetime import timedelta

import pytest

from service_worlds import NOON, TODAY, message, survey_of
from tacit.errors import FormatError, SettingError
from tacit.service import backup
from tacit.service.backup import make_backup, restore_backup
from tacit.service.mixing import close_due, report_file
from tacit.service.store import Outcome, Store
from tacit.service.tokens import Scope
from tacit.service.watching import FALSE_ALARM, share_of

SURVEY = survey_of(late=1)
LATER = NOON + timedelta(days=2)


def added(days):
    return SURVEY.addition(message(SURVEY, days), NOON)


@pytest.fixture
def filled(store, tmp_path):
    """A store with a closed period and an open one, its folder, a token, and the messages that were counted."""
    store.add_survey(SURVEY)
    token = store.tokens.new(Scope.READ, "visits", name="reader")
    counted = [added([TODAY - 1] * 4), added([TODAY] * 3)]
    store.add(counted)
    close_due(store, SURVEY, NOON + timedelta(days=1), tmp_path / "collected")
    return store, tmp_path / "collected", token, counted


def empty_store(kind, tmp_path, request):
    if kind == "sqlite":
        return Store(f"sqlite:///{tmp_path / 'restored.sqlite'}")
    server, name = request.getfixturevalue("postgres"), f"restored_{secrets.token_hex(6)}"
    server.run(f"CREATE DATABASE {name}")
    return Store(server.url(name))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_restored_store_has_the_tallies_tokens_ids_and_files_of_the_backup(filled, kind, tmp_path, request):
    store, folder, token, counted = filled
    made = make_backup(store, folder, tmp_path / "backup")
    after = added([TODAY] * 9)
    assert store.add([after]) == [Outcome.COUNTED]  # acknowledged after the backup, and lost with the machine
    with closing(empty_store(kind, tmp_path, request)) as other:
        assert restore_backup(tmp_path / "backup", other, tmp_path / "again") == made
        assert other.n_reports(SURVEY) == 7
        assert other.n_closed(SURVEY) == store.n_closed(SURVEY) == TODAY
        assert other.tokens.allows(token, Scope.READ, "visits")
        file = report_file(SURVEY, TODAY - 1, tmp_path / "again")
        assert file.read_bytes() == report_file(SURVEY, TODAY - 1, folder).read_bytes()
        # sent again: what the backup has counts once; what it lacks counts now, if somebody still holds it
        assert other.add([counted[1], after]) == [Outcome.SEEN, Outcome.COUNTED]
        assert other.tally(SURVEY) == store.tally(SURVEY)
        for one, where in ((store, folder), (other, tmp_path / "again")):
            close_due(one, SURVEY, LATER, where)
        same = [report_file(SURVEY, TODAY, where).read_bytes() for where in (folder, tmp_path / "again")]
        assert same[0] == same[1]


def test_a_backup_is_refused_where_it_would_overwrite_or_mix(filled, tmp_path):
    store, folder, _, _ = filled
    make_backup(store, folder, tmp_path / "backup")
    with pytest.raises(SettingError, match="exists already"):
        make_backup(store, folder, tmp_path / "backup")
    with pytest.raises(SettingError, match="not empty"):
        restore_backup(tmp_path / "backup", store, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert not [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")]


@pytest.mark.parametrize("damage", ["store.sqlite", "collected/visits/00000015.reports", "backup.json", "list", "path"])
def test_a_damaged_backup_is_refused_and_nothing_is_restored(tmp_path, damage):
    with closing(Store(f"sqlite:///{tmp_path / 'a.sqlite'}")) as store:
        store.add_survey(SURVEY)
        store.add([added([TODAY - 1] * 4)])
        close_due(store, SURVEY, LATER, tmp_path / "collected")
        make_backup(store, tmp_path / "collected", tmp_path / "backup")
    noted = tmp_path / "backup" / "backup.json"
    if damage == "list":
        noted.write_text(noted.read_text().replace('"format": 1', '"format": 2'))
    elif damage == "path":
        noted.write_text(noted.read_text().replace("collected/visits", "collected/../visits"))
    else:
        with (tmp_path / "backup" / damage).open("r+b") as file:
            file.write(b"\0")
    with closing(Store(f"sqlite:///{tmp_path / 'b.sqlite'}")) as other:
        with pytest.raises(FormatError, match="backup"):
            restore_backup(tmp_path / "backup", other, tmp_path / "again")
        assert other.n_rows() == 0
    assert not (tmp_path / "again").exists()


def test_a_restore_that_was_stopped_between_files_and_rows_goes_on(tmp_path):
    with closing(Store(f"sqlite:///{tmp_path / 'a.sqlite'}")) as store:
        store.add_survey(SURVEY)
        store.add([added([TODAY - 1] * 4)])
        close_due(store, SURVEY, LATER, tmp_path / "collected")
        make_backup(store, tmp_path / "collected", tmp_path / "backup")
    path = report_file(SURVEY, TODAY - 1, tmp_path / "again")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"of another survey")
    with closing(Store(f"sqlite:///{tmp_path / 'b.sqlite'}")) as other:
        with pytest.raises(SettingError, match="another file"):
            restore_backup(tmp_path / "backup", other, tmp_path / "again")
        path.write_bytes(report_file(SURVEY, TODAY - 1, tmp_path / "collected").read_bytes())
        restore_backup(tmp_path / "backup", other, tmp_path / "again")
        assert other.n_reports(SURVEY) == 4


def test_looks_after_a_restore_have_shares_of_false_alarms_of_their_own(tmp_path, monkeypatch):
    """Looks after the backup was made are not known to it; what it gives out again must not be theirs."""
    shares = []

    def look(store):
        shares.append(share_of(*store.next_look(SURVEY)))

    with closing(Store(f"sqlite:///{tmp_path / 'a.sqlite'}")) as store:
        store.add_survey(SURVEY)
        look(store)
        make_backup(store, tmp_path / "collected", tmp_path / "backup")
        look(store)  # and the machine is lost
    for name, second in (("b", 500), ("c", 501), ("d", 600)):
        monkeypatch.setattr(backup, "_seconds", lambda second=second: second)
        with closing(Store(f"sqlite:///{tmp_path / name}")) as other:
            restore_backup(tmp_path / "backup", other, tmp_path / "again")
            look(other)
            look(other)
            if name == "c":
                make_backup(other, tmp_path / "again", tmp_path / "later")
    monkeypatch.setattr(backup, "_seconds", lambda: 7)  # a clock that went back
    with closing(Store(f"sqlite:///{tmp_path / 'e'}")) as other:
        restore_backup(tmp_path / "later", other, tmp_path / "again")
        assert other.next_look(SURVEY) == (502, 1)
    assert len(set(shares)) == len(shares) == 8
    assert sum(shares) < FALSE_ALARM


@pytest.mark.slow
def test_the_database_s_own_tools_make_a_backup_too(postgres, tmp_path):
    """The commands that the guide gives for PostgreSQL."""
    names = [f"collector_{secrets.token_hex(6)}" for _ in range(2)]
    for name in names:
        postgres.run(f"CREATE DATABASE {name}")
    environment = os.environ | postgres.environment()
    with closing(Store(postgres.url(names[0]))) as store:
        store.add_survey(SURVEY)
        token = store.tokens.new(Scope.WRITE, "visits")
        store.add([added([TODAY] * 5)])
        tally = store.tally(SURVEY)
    dump = str(tmp_path / "collector.dump")
    for program, *words in (
        ("pg_dump", "--format=custom", f"--file={dump}", names[0]),
        ("pg_restore", "--exit-on-error", f"--dbname={names[1]}", dump),
    ):
        subprocess.run([str(postgres.programs / program), *words], check=True, env=environment)
    with closing(Store(postgres.url(names[1]))) as other:
        assert other.tally(SURVEY) == tally
        assert other.tokens.allows(token, Scope.WRITE, "visits")
