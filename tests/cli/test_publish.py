"""tacit publish: four journeys of people with files of their own."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from tacit.cli import console
from tacit.privacy.ledger import Ledger
from tacit.release import Release

NAMES = ("2nd at Townsend", "Market at 4th", "Townsend at 7th", "Embarcadero")


@pytest.fixture
def answers(monkeypatch):
    """Somebody at the screen, who types these lines."""

    def typed(*lines):
        monkeypatch.setattr(console, "is_attended", lambda: True)
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return typed


def write(path, header, rows):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def trips(path, n_days):
    days = np.datetime64("2026-01-01") + np.arange(n_days)
    rows = [(f"{day} 0{hour}:15", name) for day in days for hour, name in enumerate(NAMES) for _ in range(3)]
    write(path, ("started_at", "station"), rows)


def test_bike_stations_are_published_by_answering_questions_and_next_month_goes_on(tacit, tmp_path, answers):
    trips(tmp_path / "trips.csv", 59)
    words = ("publish", "trips.csv", "--time", "started_at", "--place", "station", "--days-ahead", "0")
    # zone, description, names, first and last day, trust, epsilon, go
    answers("America/Los_Angeles", "y", "y", "", "", "curator", "1", "y")
    ran = tacit(*words)
    assert ran.code == 0, ran.err
    assert "4 names: 2nd at Townsend (177)" in ran.out
    assert "whom you trust" in ran.out
    assert "708 rows read, 708 events counted from 2026-01-01 to 2026-02-28." in ran.out
    assert "One event added or removed: epsilon 1." in ran.out
    assert "page.html" in ran.out
    folder = tmp_path / "trips"
    assert Release.read(folder / "release.parquet").domain.time.days == ("2026-01-01", "2026-02-28")
    trips(tmp_path / "trips.csv", 90)
    ran = tacit("publish", "trips.csv", "--to", "2026-03-31", "--yes", "--days-ahead", "0")
    assert ran.code == 0, ran.err
    assert "holds a publication up to 2026-02-28, which goes on" in ran.out
    assert Release.read(folder / "release.parquet").domain.time.days == ("2026-01-01", "2026-03-31")
    assert len(Ledger(tmp_path / "ledger.sqlite").history()) == 2
    page = (folder / "page.html").stat().st_mtime_ns
    assert "Nothing new" in tacit("publish", "trips.csv", "--yes", "--days-ahead", "0").out
    assert "were made again" in tacit("publish", "trips.csv", "--yes", "--days-ahead", "0", "--title", "Trips").out
    assert (folder / "page.html").stat().st_mtime_ns > page


def test_a_script_names_all_and_is_asked_nothing(tacit, tmp_path):
    trips(tmp_path / "trips.csv", 40)
    words = ("trips.csv", "--time", "started_at", "--place", "station")
    once = tacit("publish", *words, "--yes")
    assert once.code == 2
    for named in (
        "--zone",
        "tacit check",
        "--places-from-events",
        "--from",
        "--to",
        "--trust",
        "--epsilon",
        "--target",
    ):
        assert named in once.err
    assert "--time COLUMN" not in once.err
    known = (
        "--from",
        "2026-01-01",
        "--to",
        "2026-02-09",
        "--trust",
        "nobody",
        "--epsilon",
        "2",
        "--days-ahead",
        "0",
        "--yes",
    )
    places = tmp_path / "stations.csv"
    places.write_text("station\n" + "\n".join(NAMES) + "\n")
    assert tacit("check", *words, "--places", "stations.csv", "--zone", "America/Los_Angeles", "--confirm").code == 0
    ran = tacit("publish", *words, *known)
    assert ran.code == 2
    assert "--places-from-events" in ran.err
    ran = tacit("publish", *words, *known, "--places", "stations.csv", "--zone", "UTC")
    assert ran.code == 2
    assert "--zone must be that of the source's description" in ran.err
    ran = tacit("publish", *words, *known, "--places", "stations.csv", "--date-format", "day-first")
    assert ran.code == 2
    assert "--date-format must be as the description of" in ran.err
    ran = tacit("publish", *words, *known, "--places", "stations.csv")
    assert ran.code == 0, ran.err
    assert "exactly how many events there were per day" in ran.out
    for missing in ("--from", "--trust", "--epsilon"):
        fewer = list(known)
        del fewer[fewer.index(missing) : fewer.index(missing) + 2]
        ran = tacit("publish", *words, *fewer, "--places-from-events", "--folder", "other")
        assert ran.code == 2, missing
        assert missing in ran.err
    assert not (tmp_path / "other").exists()
    assert (
        "counts events in all"
        in tacit("publish", *words, *known, "--places", "none", "--level", "town", "--folder", "all").err
    )
    ran = tacit("publish", *words, *known, "--places", "none", "--folder", "all", "--seed", 1)
    assert ran.code == 0, ran.err
    assert Release.read(tmp_path / "all" / "release.parquet").domain.place.is_all


def test_police_stops_with_broken_rows_stop_until_the_loss_is_accepted(tacit, tmp_path):
    rows = [(f"{1 + n % 28:02d}/02/2026 10:00", f"Beat {n % 5}") for n in range(1000)]
    rows[7], rows[8] = ("soon", "Beat 1"), ("", "Beat 1")
    rows[9:40] = [(when, "Beat 9") for when, _ in rows[9:40]]
    write(tmp_path / "stops.csv", ("when", "beat"), rows)
    (tmp_path / "beats.csv").write_text("beat\n" + "\n".join(f"Beat {n}" for n in range(5)) + "\n")
    words = ("stops.csv", "--time", "when", "--place", "beat")
    assert (
        tacit("check", *words, "--date-format", "day-first", "--places", "beats.csv", "--zone", "UTC", "--confirm").code
        == 0
    )
    words += ("--places", "beats.csv", "--from", "2026-02-01", "--to", "2026-02-28", "--trust", "curator")
    words += ("--epsilon", "1", "--days-ahead", "0", "--yes")
    ran = tacit("publish", *words)
    assert ran.code == 3
    assert "3.3% of the rows would fall out" in ran.err
    assert "--accept-loss" in ran.err
    assert "Beat 9 (31 rows)" in ran.err
    assert not (tmp_path / "stops").exists()
    ran = tacit("publish", *words, "--accept-loss")
    assert ran.code == 0, ran.err


def test_visits_without_places_are_counted_in_all(tacit, tmp_path, answers):
    days = np.datetime64("2026-01-01") + np.arange(31)
    write(tmp_path / "visits.csv", ("day", "visits"), [(day, 120) for day in days])
    answers("Europe/Copenhagen", "y", "y")
    ran = tacit(
        *("publish", "visits.csv", "--time", "day", "--count", "visits", "--trust", "curator", "--epsilon", "1"),
        *("--from", "2026-01-01", "--to", "2026-01-31", "--days-ahead", "0"),
    )
    assert ran.code == 0, ran.err
    january = Release.read(tmp_path / "visits" / "release.parquet").answer(first="2026-01", last="2026-01")
    assert january.value == pytest.approx(31 * 120, abs=80)


@pytest.mark.slow
def test_somebody_at_the_screen_is_asked_for_the_columns(tacit, tmp_path, answers):
    trips(tmp_path / "trips.csv", 10)
    # a column that is none, the proposed ones, zone, description, names, first and last day, trust, epsilon, no
    answers("day", "", "", "America/Los_Angeles", "y", "y", "", "", "curator", "1", "n")
    ran = tacit("publish", "trips.csv", "--days-ahead", "0")
    assert ran.code == 2
    assert "trips.csv has 2 columns: started_at, station." in ran.out
    assert "there is no column day. It has: started_at, station." in " ".join(ran.err.split())
    assert "120 events counted" in ran.out
    assert "It is new: earlier spending is unknown." in " ".join(ran.out.split())
    (tmp_path / "trips.csv.source.toml").unlink()
    answers("", "none", "America/Los_Angeles", "y", "", "", "curator", "1", "n")
    ran = tacit("publish", "trips.csv", "--days-ahead", "0")
    assert "wherever they are" in ran.out


def test_whoever_says_no_spends_nothing(tacit, tmp_path, answers):
    trips(tmp_path / "trips.csv", 20)
    answers("UTC", "y", "y", "", "", "curator", "1", "n")
    ran = tacit("publish", "trips.csv", "--time", "started_at", "--place", "station")
    assert ran.code == 2
    assert "was not published. Nothing was spent" in ran.err
    assert not (tmp_path / "trips").exists()
    assert not Ledger(tmp_path / "ledger.sqlite").history()


def test_a_description_that_is_not_true_is_written_by_the_command_that_is_named(tacit, tmp_path, answers):
    trips(tmp_path / "trips.csv", 20)
    answers("n")
    asked = ("--time", "started_at", "--place", "station", "--zone", "UTC", "--places", "stations.csv")
    ran = tacit("publish", "trips.csv", *asked)
    assert ran.code == 2
    named = ran.out.split("Say what is not as proposed: tacit ")[1].splitlines()[0]
    (tmp_path / "stations.csv").write_text("\n".join(["station", *NAMES]), encoding="utf-8")
    assert tacit(*named.split(), "--confirm").code == 0
    assert (tmp_path / "trips.csv.source.toml").is_file()


def test_places_and_kinds_are_chosen_as_in_other_commands(tacit, tmp_path):
    trips(tmp_path / "trips.csv", 20)
    words = ("trips.csv", "--time", "started_at", "--place", "station")
    zone = ("--zone", "UTC")
    (tmp_path / "stations.csv").write_text("NAME,quarter\n" + "".join(f"{name},East\n" for name in NAMES[1:]))
    table = ("--places", "stations.csv", "--places-column", "town=NAME", "--places-column", "quarter=quarter")
    assert tacit("check", *words, *table, *zone, "--confirm").code == 0
    days = ("--from", "2026-01-01", "--to", "2026-01-20")
    known = ("publish", *words, *days, "--trust", "curator", "--epsilon", "1", "--days-ahead", "0", "--yes")
    ran = tacit(*known, *table, "--level", "quarter", "--elsewhere")
    assert ran.code == 0, ran.err
    assert Release.read(tmp_path / "trips" / "release.parquet").domain.place.cells == ("East", "elsewhere")
    for wrong in (("--level", "quarter"), ("--places-column", "town=NAME")):
        ran = tacit(*known, "--places-from-events", *wrong, "--folder", "other")
        assert (ran.code, "are for a table of places" in ran.err) == (2, True)
    for wrong in (("--other",), ("--kind-level", "group")):
        assert "--kinds" in tacit(*known, *table, *wrong, "--folder", "other").err
    assert not (tmp_path / "other").exists()


def test_pages_are_french_where_that_is_asked_for(tacit, tmp_path):
    trips(tmp_path / "trips.csv", 40)
    words = ("trips.csv", "--time", "started_at", "--place", "station")
    refused = tacit("publish", *words, "--yes", "--language", "de")
    assert refused.code == 2
    assert "--language must be one of en, fr; got de." in refused.err
    assert not (tmp_path / "ledger.sqlite").exists()


def test_answers_that_do_not_fit_are_asked_for_again_at_once(tacit, tmp_path, answers):
    trips(tmp_path / "trips.csv", 40)
    rows = (tmp_path / "trips.csv").read_text() + "1970-01-01 00:00,Embarcadero\n" * 5
    (tmp_path / "trips.csv").write_text(rows)
    answers(
        *("Nowhere/At-All", "UTC", "y", "y"),  # zone, description, names
        *("2026-02-31", "", "2025-12-31", ""),  # first and last day: the ones proposed in the end
        *("me", "curator", "none", "-1", "1", "n"),
    )
    ran = tacit("publish", "trips.csv", "--time", "started_at", "--place", "station")
    assert "was not published. Nothing was spent" in ran.err
    said = " ".join((ran.out + ran.err).split())
    for words in (
        "must be a time zone of the IANA database",
        "5 rows have dates far from the rest, as far as 1970-01-01",
        "this day does not exist",
        "must not be before",
        "trust must be one of curator, nobody",
        "epsilon must be a number such as",
        "epsilon must be a number of at least",
        "its place, of 4: 47.6%",
        "that it is there: 73.2%",
        "480 events counted from 2026-01-01 to 2026-02-09",
        "by the clocks of UTC, in 4 places: 2nd at Townsend",
    ):
        assert words in said, words


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--zone", "Nowhere"), "--zone must be a time zone"),
        (("--trust", "me"), "--trust must be one of"),
        (("--epsilon", "-1"), "--epsilon must be"),
        (("--from", "2026-13-01"), "--from must be"),
        (("--from", "2026-03-01", "--to", "2026-02-01"), "--to must not be before"),
        (("--noun", "trip"), "--noun must be two words"),
        (("--places", "doubs", "--places-from-events"), "Leave one out"),
    ],
)
def test_options_that_cannot_be_right_are_refused_before_anything_is_asked(tacit, tmp_path, answers, wrong, said):
    trips(tmp_path / "trips.csv", 5)
    answers()
    ran = tacit("publish", "trips.csv", "--time", "started_at", "--place", "station", *wrong)
    assert ran.code == 2
    assert said in ran.err
    assert "?" not in ran.out


def test_a_spent_budget_is_told_instead_of_a_question(tacit, tmp_path, answers):
    trips(tmp_path / "trips.csv", 20)
    words = ("publish", "trips.csv", "--time", "started_at", "--place", "station", "--days-ahead", "0")
    answers("UTC", "y", "y", "", "", "curator", "1", "y")
    ran = tacit(*words, "--title", "Bikes", "--noun", "trip/trips")
    assert ran.code == 0, ran.err
    answers("y", "", "", "curator", "1")
    ran = tacit(*words, "--folder", "second")
    assert ran.code == 5
    assert "the budget of trips is" in ran.err
    assert "Publish it?" not in ran.out
    assert not (tmp_path / "second").exists()
    trips(tmp_path / "trips.csv", 31)
    answers("2026-01-10", "2026-01-31", "y")
    ran = tacit("publish", "trips.csv", "--places-from-events", "--days-ahead", "0")
    assert ran.code == 0, ran.err
    assert "must not be before 2026-01-20" in ran.err
    assert "The places stay as it began" in ran.out
    assert "<title>Bikes" in (tmp_path / "trips" / "page.html").read_text("utf-8")  # kept from month to month
