"""tacit send: a station's events reach a real collector once, through the ledger, however often it is interrupted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service_worlds import collector, survey_of
from tacit._base.files import alone
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
    assert "Sent 3 messages; all were counted" in done.out  # one for each day
    assert store.tally(survey).n_reports == 60
    again = tacit(*words)
    assert again.code == 0, again.out + again.err
    assert "all were counted: nothing is left" in " ".join(again.out.split())
    assert store.tally(survey).n_reports == 60
    assert not [*(tmp_path / "outbox").glob("*.reports"), *(tmp_path / "outbox").glob("*.queued")]
    with (tmp_path / "visits.csv").open("a") as file:
        file.write(f"{DAYS[2]},north\n")
    grown = tacit(*words)
    assert grown.code == 5, grown.out + grown.err
    assert "Send the new days alone (--from)" in " ".join(grown.err.split())
    assert "--again" not in grown.err


@pytest.mark.slow
def test_nothing_is_randomized_for_a_collector_that_would_not_take_it(station, tacit, tmp_path):
    _, store, survey, words = station
    wrong = tacit(*words[:-1], "another-token")
    assert wrong.code == 2
    assert "Nothing was randomized. Give the survey's token" in " ".join(wrong.err.split())
    store.close_periods(survey, survey.now(datetime.now(UTC)) - 2)
    late = tacit(*words)
    assert late.code == 2, late.out + late.err
    assert f"and these are of {DAYS[0]} to {DAYS[2]}. Nothing was randomized. Keep to those" in " ".join(
        late.err.split()
    )
    assert "visits" not in tacit("ledger").out
    assert not list((tmp_path / "outbox").rglob("*.*"))
    rest = tacit(*words, "--from", DAYS[1])
    assert rest.code == 0, rest.out + rest.err
    assert "visits" in tacit("ledger").out
    assert store.tally(survey).n_reports == 40


@pytest.mark.slow
def test_messages_of_a_token_that_was_taken_back_wait_for_another(station, tacit, monkeypatch):
    _, store, survey, words = station
    with monkeypatch.context() as away:
        away.setattr("tacit.client.outbox.Outbox.intake", lambda _: None)
        taken_back = tacit(*words[:-1], "another-token")
    assert taken_back.code == 4
    said = " ".join(taken_back.err.split())
    assert "3 messages waiting in outbox. Not allowed: " in said
    assert "Run the same again" in said
    done = tacit(*words)
    assert done.code == 0, done.out + done.err
    assert store.tally(survey).n_reports == 60


@pytest.mark.slow
def test_what_is_refused_is_no_success_until_it_is_counted_and_takes_no_other_period_with_it(
    station, tacit, monkeypatch, tmp_path
):
    _, store, survey, words = station
    refused = tmp_path / "outbox" / "refused"
    with monkeypatch.context() as patched:
        patched.setattr("tacit.client.outbox.MESSAGE_TYPE", "text/plain")  # which the collector refuses
        ran = tacit(*words)
    assert ran.code == 4
    assert "3 of 3 messages refused" in " ".join(ran.err.split())
    assert store.tally(survey).n_reports == 0
    for n_left in (3, 2):
        again = tacit(*words)
        assert again.code == 4, again.out + again.err
        said = " ".join(again.err.split())
        assert f"Not counted: {n_left} messages of theirs. Nothing was randomized now." in said
        assert "lies in outbox/refused" in said
        path = min(refused.glob("*.message"))
        path.rename(tmp_path / "outbox" / "waiting" / path.name)
    for path in refused.glob("*.message"):
        path.rename(tmp_path / "outbox" / "waiting" / path.name)
    done = tacit(*words)
    assert done.code == 0, done.out + done.err
    assert store.tally(survey).n_reports == 60
    assert list(refused.iterdir()) == []
    assert tacit(*words).code == 0


@pytest.mark.slow
def test_a_closed_period_refuses_its_own_messages_alone(station, tacit, monkeypatch, tmp_path):
    _, store, survey, words = station
    store.close_periods(survey, survey.now(datetime.now(UTC)) - 2)
    monkeypatch.setattr("tacit.client.outbox.Outbox.intake", lambda _: None)
    ran = tacit(*words)
    assert ran.code == 4
    assert "1 of 3 messages refused" in " ".join(ran.err.split())
    refused = tmp_path / "outbox" / "refused"
    (message,) = refused.glob("*.message")
    assert store.tally(survey).n_reports == 40
    with (tmp_path / "visits.csv").open("a") as file:
        file.write(f"{datetime.now(UTC).date()},north\n")
    new = tacit(*words, "--from", str(datetime.now(UTC).date()))
    assert new.code == 0, new.out + new.err
    assert store.tally(survey).n_reports == 41
    assert message.exists()


@pytest.mark.slow
def test_waiting_messages_that_were_damaged_on_the_disk_are_made_again(station, tacit, tmp_path):
    _, store, survey, words = station
    with pytest.MonkeyPatch.context() as killed:
        killed.setattr("tacit.client.outbox.Outbox.send", lambda *_, **__: (_ for _ in ()).throw(OSError("gone")))
        assert tacit(*words).code != 0
    flipped, cut, empty = sorted((tmp_path / "outbox" / "waiting").iterdir())
    data = bytearray(flipped.read_bytes())
    data[-9] ^= 1
    flipped.write_bytes(data)
    cut.write_bytes(cut.read_bytes()[:20])
    empty.write_bytes(b"")
    done = tacit(*words)
    assert done.code == 0, done.out + done.err
    assert store.tally(survey).n_reports == 60


@pytest.mark.slow
def test_what_is_damaged_with_its_report_file_is_said_to_be_lost_and_the_rest_is_counted(station, tacit, tmp_path):
    _, store, survey, words = station
    with pytest.MonkeyPatch.context() as killed:
        killed.setattr("tacit.client.outbox.Outbox.send", lambda *_, **__: (_ for _ in ()).throw(OSError("gone")))
        assert tacit(*words).code != 0
    next((tmp_path / "outbox" / "waiting").iterdir()).write_bytes(b"")
    (queued,) = (tmp_path / "outbox").glob("*.queued")
    data = bytearray(queued.read_bytes())
    data[-33] ^= 1  # the last byte of the reports
    queued.write_bytes(data)
    lost = tacit(*words)
    assert lost.code == 4, lost.out + lost.err
    said = " ".join(lost.err.split())
    assert "1 message not counted. Damaged on this disk" in said
    assert "1 of 3 messages" in said
    assert "lies in outbox/refused" in said
    assert store.tally(survey).n_reports == 40


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["header", "cut", "empty", "gone", "note"])
def test_a_report_file_that_is_damaged_after_its_messages_were_made_holds_nothing_up(station, tacit, tmp_path, damage):
    _, store, survey, words = station
    with pytest.MonkeyPatch.context() as killed:
        killed.setattr("tacit.client.outbox.Outbox.send", lambda *_, **__: (_ for _ in ()).throw(OSError("gone")))
        assert tacit(*words).code != 0
    (queued,) = (tmp_path / "outbox").glob("*.queued")
    whole = queued.read_bytes()
    queued.write_bytes({"header": b"\0\0" + whole[2:], "cut": whole[:40]}.get(damage, b""))
    if damage == "gone":
        queued.unlink()
    if damage == "note":
        queued.with_suffix(".left").write_bytes(b"message \xff\x00\nhead\n")
    done = tacit(*words)
    assert store.tally(survey).n_reports == 60
    if damage == "note":  # which messages there were is not known any more, but the ledger knows their events
        assert done.code == 5, done.out + done.err
        return
    assert done.code == 0, done.out + done.err
    again = tacit(*words)
    assert again.code == 0, again.out + again.err
    assert "nothing is left" in " ".join(again.out.split())
    assert [path.suffix for path in (tmp_path / "outbox").iterdir() if path.is_file() and path.name != "lock"] == [
        ".counted"
    ]


@pytest.mark.slow
def test_reports_that_were_damaged_before_any_message_was_made_are_lost_with_a_word_and_others_go_on(
    station, tacit, tmp_path
):
    _, store, survey, words = station
    with pytest.MonkeyPatch.context() as killed:
        killed.setattr("tacit.client.stations.queue_reports", lambda *_: (_ for _ in ()).throw(OSError("gone")))
        assert tacit(*words).code != 0
    (made,) = (tmp_path / "outbox").glob("*.reports")
    made.write_bytes(b"\0\0" + made.read_bytes()[2:])
    lost = tacit(*words)
    assert lost.code == 4, lost.out + lost.err
    assert "damaged on this disk before they were sent, and are lost" in " ".join(lost.err.split())
    assert [path.name for path in (tmp_path / "outbox" / "refused").iterdir()] == [f"{made.name}.damaged"]
    rows = "".join(f"{datetime.now(UTC).date()},north\n" for _ in range(7))
    (tmp_path / "today.csv").write_text("date,town\n" + rows)
    columns = ("--time", "date", "--place", "town", "--zone", "UTC", "--places", "towns.csv")
    assert tacit("check", "today.csv", *columns, "--confirm").code == 0
    done = tacit("send", "today.csv", *words[2:])
    assert done.code == 0, done.out + done.err
    assert store.tally(survey).n_reports == 7


def test_a_second_call_at_the_same_time_is_told_of_the_first(tacit, tmp_path):
    (tmp_path / "outbox").mkdir()
    (tmp_path / "outbox" / "lock").touch()
    with alone(tmp_path / "outbox" / "lock"):
        second = tacit("send", "visits.csv", "--time", "date", "--to", "http://127.0.0.1:9/v1/surveys/visits")
    assert second.code == 2
    assert "another tacit send is running with outbox" in " ".join(second.err.split())


@pytest.mark.slow
def test_killed_after_randomizing_it_goes_on_with_the_same_reports(station, tacit, monkeypatch, tmp_path):
    _, store, survey, words = station
    contents = set()
    for step in ("stations.queue_reports", "outbox.Outbox.send", "stations.write_whole"):
        with monkeypatch.context() as killed:
            killed.setattr(f"tacit.client.{step}", lambda *_, **__: (_ for _ in ()).throw(OSError("gone")))
            assert tacit(*words).code != 0
        (kept,) = [*(tmp_path / "outbox").glob("*.reports"), *(tmp_path / "outbox").glob("*.queued")]
        contents.add(kept.read_bytes())
    assert len(contents) == 1
    done = tacit(*words)
    assert done.code == 0, done.err
    assert "earlier run" in done.out
    assert store.tally(survey).n_reports == 60
