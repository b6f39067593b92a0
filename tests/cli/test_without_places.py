"""Events that are counted in all, without places: from check to answers, by devices, a curator and a counter."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.events import SourceDescription
from tacit.mechanisms.continual import History
from tacit.plan import Plan
from tacit.release import Release

COUNTS = np.array([30, 0, 12, 41, 7])
SPAN = ("--from", "2025-01-01", "--to", "2025-01-05")
NONE = ("--places", "none", "--zone", "Europe/Paris")


@pytest.fixture
def visits(tacit, tmp_path):
    """The events, described without a column of places."""
    rows = [f"2025-01-0{day + 1},u{n % 9}" for day, count in enumerate(COUNTS) for n in range(count)]
    (tmp_path / "visits.csv").write_text("day,card\n" + "\n".join(rows) + "\n", encoding="utf-8")
    done(tacit("check", "visits.csv", "--time", "day", *NONE, "--confirm"))
    return tmp_path


def done(ran):
    assert ran.code == 0, ran.err
    return ran


def test_a_source_is_described_and_summed_up_without_a_column_of_places(tacit, visits):
    assert SourceDescription.read(visits / "visits.csv.source.toml").place is None
    assert "90 events counted" in done(tacit("check", "visits.csv", *NONE)).out
    assert "90" in done(tacit("summary", "visits.csv", *NONE)).out


@pytest.mark.false_failure(1e-7)
def test_a_curator_counts_in_all(tacit, visits):
    done(tacit("plan", *NONE, *SPAN, "--trust", "curator", "--epsilon", "20", "--mechanism", "flat"))
    done(tacit("count", "visits.csv"))
    release = Release.read(visits / "release.parquet")
    assert release.domain.place.is_all
    # noise of epsilon 20 is not zero in one of five days with probability 5 * 2 * exp(-20) = 2e-8
    np.testing.assert_array_equal(release.unbiased.values[:, 0], COUNTS)
    assert done(tacit("query", "release.parquet", *SPAN)).out.startswith("90 events")


def test_devices_hide_the_day_where_there_is_nothing_else_to_hide(tacit, visits):
    done(tacit("plan", *NONE, *SPAN, "--epsilon", "2"))
    assert Plan.read(visits / "plan.toml").private == ("time",)
    for words in (("randomize", "visits.csv"), ("tally", "events.reports"), ("release", "events.tally")):
        done(tacit(*words))
    assert Release.read(visits / "release.parquet").unbiased.values.sum() == pytest.approx(90)
    done(tacit("plan", *NONE, *SPAN, "--kinds", "loan,return", "--epsilon", "2", "--out", "kinds.toml"))
    assert Plan.read(visits / "kinds.toml").private == ("kind",)


@pytest.mark.false_failure(1e-20)
def test_a_counter_counts_in_all(tacit, visits):
    done(tacit("counter", "start", *NONE, *SPAN, "--epsilon", "20", "--out", "v.counter"))
    done(tacit("counter", "add", "v.counter", "visits.csv", "--date", "2025-01-01", "--to", "2025-01-05"))
    history = History.read(visits / "v.history.csv")
    assert history.domain.place.is_all
    assert abs(history.answer().value - 90) <= 30  # epsilon 20 on at most 5 noises: false failure below 1e-20


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("plan", *NONE, "--from", "2025-01-01", "--epsilon", "1"), "a private time needs a time axis with an end"),
        (("plan", *NONE, *SPAN, "--epsilon", "1", "--private", "place"), "at least two values to hide among"),
        (("plan", *NONE, *SPAN, "--epsilon", "1", "--level", "town"), "--places none counts events in all"),
        (("plan", *NONE, *SPAN, "--epsilon", "1", "--elsewhere"), "--places none counts events in all"),
        (("check", "visits.csv", *NONE, "--places-column", "town=X"), "--places none counts events in all"),
    ],
)
def test_what_needs_places_is_refused(tacit, visits, words, message):
    ran = tacit(*words)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert not (visits / "plan.toml").exists()


def test_the_command_that_describes_a_source_leaves_out_the_places(tacit, visits):
    done(tacit("plan", *NONE, *SPAN, "--trust", "curator", "--epsilon", "1"))
    (visits / "visits.csv.source.toml").unlink()
    ran = tacit("count", "visits.csv", "--time", "day")
    assert ran.code == 2
    assert "tacit check visits.csv --time day --places none" in " ".join(ran.err.split())


def test_check_and_plan_name_the_kinds_that_they_read(tacit, tmp_path):
    (tmp_path / "kinds.csv").write_text("kind\nflood\nfall\n", encoding="utf-8")
    (tmp_path / "calls.csv").write_text("day,type\n2025-01-01,flood\n", encoding="utf-8")
    words = (*NONE, "--kinds", "kinds.csv", *SPAN)
    for ran in (
        tacit("check", "calls.csv", "--time", "day", "--kind", "type", *words),
        tacit("plan", *words, "--epsilon", "1"),
    ):
        assert "Kinds that are counted: flood, fall." in done(ran).out
    many = ",".join(f"kind {n}" for n in range(50))
    ran = done(tacit("plan", *NONE, *SPAN, "--kinds", many, "--epsilon", "1", "--out", "many.toml"))
    assert "kind 39 and 10 more." in " ".join(ran.out.split())
