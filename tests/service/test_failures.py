"""A store that cannot write: health says so, what only reads is answered, and the log names the cause once a minute."""

from __future__ import annotations

import sqlite3
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from service_worlds import TODAY, message, survey_of
from tacit.service.failures import PROBED_AFTER, TOLD_EVERY, Cause, Failures, cause_of
from tacit.service.refusals import Refused
from tacit.service.store import Store
from tacit.service.tokens import Scope

SURVEY = survey_of(late=1)
FULL = 13  # SQLITE_FULL


def failure(number: int = FULL) -> sqlite3.OperationalError:
    """An error of SQLite with its number, and a value in its words."""
    made = sqlite3.OperationalError("something of place 3")
    made.sqlite_errorcode = number
    return made


class Disk:
    """A disk that is full until it has room: every transaction that writes fails at its beginning."""

    def __init__(self, store: Store) -> None:
        self.is_full = True
        self.n_tried = 0
        sa.event.listen(store._engine, "begin", self._begin)
        self._add, store._writer = store._writer, SimpleNamespace(add=self.add, close=lambda: None)

    def _begin(self, connection: sa.Connection) -> None:
        if not connection.get_execution_options().get("tacit_reads", False):
            self.n_tried += 1
            if self.is_full:
                raise failure()

    def add(self, additions):
        if self.is_full:
            raise failure()
        return self._add.add(additions)


@pytest.fixture
def seconds(world):
    """The time by which failures are measured; tests turn it."""
    turned = SimpleNamespace(now=1000.0)
    world.store.failures.clock = lambda: turned.now
    return turned


def told(caplog) -> list[str]:
    return [one.tacit_fields["cause"] for one in caplog.records if one.msg == "store-failed"]


def test_health_says_that_the_store_cannot_write_until_it_can(world, seconds):
    assert world.client.get("/health").status_code == 200
    disk = Disk(world.store)
    assert world.send(message(SURVEY, [TODAY])).status_code == 503
    found = world.client.get("/health")
    assert (found.status_code, "disk full" in found.json()["detail"]) == (503, True)
    disk.is_full = False
    assert world.send(message(SURVEY, [TODAY])).status_code == 200
    assert world.client.get("/health").status_code == 200


def test_a_collector_that_nobody_sends_to_tries_one_write_every_few_seconds(world, seconds):
    disk = Disk(world.store)
    world.send(message(SURVEY, [TODAY]))
    assert [world.client.get("/health").status_code for _ in range(20)] == [503] * 20
    assert disk.n_tried == 0
    seconds.now += PROBED_AFTER
    assert [world.client.get("/health").status_code for _ in range(20)] == [503] * 20
    assert disk.n_tried == 1
    disk.is_full = False
    seconds.now += PROBED_AFTER
    assert [world.client.get("/health").status_code for _ in range(20)] == [200] * 20
    assert disk.n_tried == 2


def test_what_only_reads_is_answered_on_a_full_disk_with_refusals_that_are_not_written_down(world, seconds):
    world.send(b"x")
    headers = world.headers(Scope.ADMIN)
    assert world.get("state", Scope.ADMIN).json()["refusals"] == {"malformed": 1}
    Disk(world.store)
    world.send(message(SURVEY, [TODAY]))
    assert world.get("state", Scope.ADMIN).json()["refusals"] == {"malformed": 1, "store": 1}
    overview = world.client.get("/v1/operator", headers=headers).json()
    assert (overview["store_failure"], overview["disk"]["total"] > 0) == ("disk full", True)
    text = world.client.get("/metrics", headers=headers).text
    assert "tacit_store_can_write 0\n" in text
    assert 'tacit_refusals_total{survey="visits",reason="store"} 1\n' in text
    assert "tacit_disk_free_bytes " in text


def test_the_first_failure_of_a_cause_is_logged_at_once_and_then_once_a_minute(world, seconds, caplog):
    Disk(world.store)
    for _ in range(5):
        world.send(message(SURVEY, [TODAY]))
    assert told(caplog) == ["disk full"]
    seconds.now += TOLD_EVERY
    for _ in range(5):
        world.send(message(SURVEY, [TODAY]))
    assert told(caplog) == ["disk full"] * 2
    with pytest.raises(Refused), world.store._as_refusals():
        raise failure(5)  # SQLITE_BUSY
    assert told(caplog) == ["disk full", "disk full", "database locked"]


def test_a_message_that_was_seen_before_does_not_say_that_the_store_can_write(world, seconds):
    data = message(SURVEY, [TODAY])
    world.send(data)
    disk = Disk(world.store)
    world.send(message(SURVEY, [TODAY]))
    disk.is_full = False
    assert world.send(data).json()["outcome"] == "seen"
    assert world.client.get("/health").status_code == 503


def test_an_error_of_one_statement_says_nothing_of_the_disk():
    failures = Failures()
    assert failures.note(sqlite3.IntegrityError(), is_write=True) is Cause.OTHER
    assert failures.of_writing is None


@pytest.mark.parametrize(
    ("problem", "cause"),
    [
        (failure(FULL), Cause.DISK_FULL),
        (failure(778), Cause.DISK),  # SQLITE_IOERR_WRITE
        (failure(5), Cause.LOCKED),
        (failure(261), Cause.LOCKED),  # SQLITE_BUSY_RECOVERY
        (failure(8), Cause.READ_ONLY),
        (sa.exc.OperationalError("", {}, failure(FULL)), Cause.DISK_FULL),
        (sa.exc.TimeoutError(), Cause.NO_CONNECTION),
        (SimpleNamespace(sqlstate="53100"), Cause.DISK_FULL),
        (SimpleNamespace(sqlstate="57P01"), Cause.NO_CONNECTION),
        (SimpleNamespace(sqlstate="XX000"), Cause.OTHER),
        (ValueError(), Cause.OTHER),
    ],
)
def test_causes_are_a_few_words(problem, cause):
    assert cause_of(problem) is cause


def test_a_full_file_of_sqlite_and_a_server_that_is_gone_have_their_causes(tmp_path):
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute("CREATE TABLE a (b)")
        connection.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as full:
            connection.execute("INSERT INTO a VALUES (zeroblob(100000))")
    connection.close()
    assert cause_of(full.value) is Cause.DISK_FULL
    psycopg = pytest.importorskip("psycopg")
    with pytest.raises(psycopg.OperationalError) as gone:
        psycopg.connect("postgresql://127.0.0.1:1/none", connect_timeout=2)
    assert cause_of(gone.value) is Cause.NO_CONNECTION
