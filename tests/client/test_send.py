"""tacit send: a station's events reach a real collector once, through the ledger, however often it is interrupted."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from service_worlds import collector, survey_of
from tacit.domain import Domain, PlaceAxis, TimeAxis

DAYS = [(datetime.now(UTC) - timedelta(days=n)).date().isoformat() for n in (3, 2, 1)]


@pytest.fixture
def station(tmp_path, tacit):
    """A file of 60 events of the last days, described, and a collector that takes them."""
    rows = [f"{DAYS[n % 3]},{('north', 'south', 'west')[n % 3]}" for n in range(60)]
    (tmp_path / "visits.csv").write_text("\n".join(["date,town", *rows]) + "\n")
    survey = survey_of(Domain(TimeAxis("2026-01-01", "day"), PlaceAxis.of(["north", "south", "west"])), late=10)
    with collector(f"sqlite:///{tmp_path / 'collector.sqlite'}", tmp_path / "collected", survey) as (
        running,
        store,
        token,
    ):
        words = ("send", "visits.csv", "--time", "date", "--place", "town", "--to", running.url, "--token", token)
        columns = ("--time", "date", "--place", "town", "--zone", "UTC", "--places", "towns.csv")
        (tmp_path / "towns.csv").write_text("town\nnorth\nsouth\nwest\n")
        said = tacit("check", "visits.csv", *columns, "--confirm")
        assert said.code == 0, said.err
        yield running, store, survey, words


@pytest.mark.slow
def test_events_are_randomized_once_and_counted_once(station, tacit, tmp_path):
    running, store, survey, words = station
    running.stop()
    away = tacit(*words)
    assert away.code != 0
    running.start()
    done = tacit(*words)
    assert done.code == 0, done.err
    assert re.search(r"all were counted", done.out)
    assert store.tally(survey).n_reports == 60
    again = tacit(*words)
    assert again.code == 5, again.out + again.err
    assert store.tally(survey).n_reports == 60
    assert not list((tmp_path / "outbox").glob("*.reports"))


@pytest.mark.slow
def test_what_is_refused_is_no_success(station, tacit, tmp_path):
    _, store, survey, words = station
    ran = tacit(*words[:-1], "another token")
    assert ran.code == 4
    assert "1 of 1 message refused" in ran.err.replace("\n", " ")
    assert list((tmp_path / "outbox" / "refused").iterdir())
    assert store.tally(survey).n_reports == 0


@pytest.mark.slow
def test_killed_after_randomizing_it_goes_on_with_the_same_reports(station, tacit, monkeypatch, tmp_path):
    _, store, survey, words = station
    with monkeypatch.context() as killed:
        killed.setattr("tacit.cli.send.queue_reports", lambda *_: (_ for _ in ()).throw(OSError("gone")))
        assert tacit(*words).code != 0
    (kept,) = (tmp_path / "outbox").glob("*.reports")
    before = kept.read_bytes()
    with monkeypatch.context() as killed:
        killed.setattr("pathlib.Path.unlink", lambda *_: (_ for _ in ()).throw(OSError("gone")))
        assert tacit(*words).code != 0
    assert kept.read_bytes() == before
    done = tacit(*words)
    assert done.code == 0, done.err
    assert "earlier run" in done.out
    assert store.tally(survey).n_reports == 60
