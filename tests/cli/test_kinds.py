"""Kinds of events on the command line: described, planned with any axis private, randomized, tallied and counted."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tacit.collection.tallying import estimate_tally
from tacit.counts.tally import Tally
from tacit.domain import AXES
from tacit.events import SourceDescription
from tacit.mechanisms.continual import History
from tacit.plan import Plan

PRIVATE = [",".join(axes) for size in (1, 2, 3) for axes in combinations(AXES, size)]
DAYS = ("--from", "2018-01-01", "--to", "2018-01-03")
PLACES = ("--places", "places.csv", "--level", "region", "--zone", "Europe/Paris")
KINDS = "kind,group,alias\nfire,danger,blaze|incendie\nflood,danger,\nfall,help,\n"
COUNTS = np.array([[[3, 0, 5], [1, 2, 0]], [[0, 0, 0], [7, 1, 4]], [[2, 9, 0], [0, 0, 6]]])
"""Events by day, place and kind: 40 in all."""


@pytest.fixture
def events(tmp_path):
    """A table of events, one of places and one of kinds."""
    (tmp_path / "places.csv").write_text("region\nNorth\nSouth\n", encoding="utf-8")
    (tmp_path / "kinds.csv").write_text(KINDS, encoding="utf-8")
    names = ["North", "SOUTH"], ["Incendie", "flood", "FALL"]
    rows = [
        f"2018-01-0{day + 1},{names[0][place]},{names[1][kind]}"
        for (day, place, kind), n in np.ndenumerate(COUNTS)
        for _ in range(n)
    ]
    (tmp_path / "events.csv").write_text("day,town,Type\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path / "events.csv"


def done(ran):
    assert ran.code == 0, ran.err
    return ran


def described(tacit):
    return done(
        tacit("check", "events.csv", "--time", "day", "--place", "town", *PLACES, "--kinds", "kinds.csv", "--confirm")
    )


@pytest.mark.false_failure(len(PRIVATE) * 2e-6)  # at epsilon 20 one of 40 reports lies with a chance below 17/e^20
@pytest.mark.parametrize("private", PRIVATE)
def test_counts_come_back_whatever_of_time_place_and_kind_is_private(tacit, events, tmp_path, private, seed):
    described(tacit)
    done(tacit("plan", *PLACES, *DAYS, "--kinds", "kinds.csv", "--private", private, "--epsilon", "20"))
    done(tacit("randomize", "events.csv", "--seed", seed))
    ran = done(tacit("tally", "events.reports"))
    plan, tally = Plan.read(tmp_path / "plan.toml"), Tally.read(tmp_path / "events.tally")
    assert plan.private == tuple(private.split(","))
    estimate = estimate_tally(tally, plan)
    assert estimate.totals is not None
    hidden = tuple(number for number, axis in enumerate(AXES) if axis in plan.private)
    np.testing.assert_array_equal(estimate.totals, COUNTS.sum(axis=hidden, keepdims=True))  # exact, on any seed
    np.testing.assert_allclose(estimate.values.reshape(COUNTS.shape), COUNTS, atol=1e-3)
    noun = {("time",): "periods", ("place",): "places", ("kind",): "kinds"}.get(plan.public, "public bin")
    assert f"Wrote events.tally: 40 reports in {tally.reports.size} {noun}" in ran.out


def test_the_column_of_kinds_is_proposed_confirmed_and_kept(tacit, events):
    ran = described(tacit)
    assert "3 periods of one day, 2018-01-01 to 2018-01-03, and 2 places with 3 kinds each." in ran.out
    assert "Columns: time is day, place is town, kind is Type." in ran.out
    assert SourceDescription.read(str(events) + ".source.toml").kind == "Type"


def test_devices_hide_place_and_kind_unless_told_otherwise(tacit, events, tmp_path):
    ran = done(tacit("plan", *PLACES, *DAYS, "--kinds", "fire,flood", "--epsilon", "2"))
    assert Plan.read(tmp_path / "plan.toml").private == ("place", "kind")
    assert "Not hidden: everybody may see the time of every report." in ran.out
    ran = done(
        tacit("plan", *PLACES, *DAYS, "--kinds", "fire,flood", "--epsilon", "2", "--private", "place", "--force")
    )
    assert "Not hidden: everybody may see the time and kind of every report." in ran.out


def test_kinds_may_be_a_list_a_table_or_ours_by_kind_or_group_with_others(tacit, events, tmp_path):
    for words, cells in (
        (("--kinds", "fire, flood"), ("fire", "flood")),
        (("--kinds", "fire,"), ("fire",)),
        (("--kinds", ",".join(f"kind {n}" for n in range(300))), tuple(f"kind {n}" for n in range(300))),
        (("--kinds", "kinds.csv"), ("fire", "flood", "fall")),
        (("--kinds", "kinds.csv", "--kind-level", "group", "--other"), ("danger", "help", "other")),
        (("--kinds", "doubs", "--kind-level", "group"), ("assistance", "accident", "fire", "technical")),
    ):
        done(tacit("plan", *PLACES, *DAYS, *words, "--epsilon", "2", "--force"))
        plan = Plan.read(tmp_path / "plan.toml")
        assert plan.domain.kind is not None
        assert plan.domain.kind.cells == cells
        assert plan.format == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--kinds", "kind.csv"),
            "a CSV file, or names with commas such as fire,flood; got --kinds 'kind.csv', and there",
        ),
        (("--kinds", "fire"), "a list of one kind ends with a comma: fire,"),
        (("--kinds", "fire,Fire"), "cells must be different names, also without accents and hyphens"),
        (
            ("--kinds", "fire,Other", "--other"),
            "cells must not name a kind other, for the one that is added is called so",
        ),
        (
            ("--kinds", ",".join(map(str, range(9999))), "--step", "hour", "--from", "1018-01-01"),
            "a file must have at most 67,108,864 cells, periods times places times kinds; got n_bins=",
        ),
        (("--kinds", ","), "cells must name at least one kind; got none"),
        (("--kinds", "fire,flood", "--kind-level", "group"), "a list has one level. Leave it out"),
        (("--kinds", "kinds.csv", "--kind-level", "town"), "--kind-level must be one of kind, group"),
        (("--other",), "--kind-level and --other are for counts by kind. Name the kinds: --kinds fire,flood"),
        (("--private", "kind"), "no kinds are counted. Name them, too: --kinds fire,flood"),
        (("--kinds", "fire,flood", "--private", "town"), "private must name one or more of time, place, kind, in this"),
        (
            ("--kinds", "fire,flood", "--trust", "curator", "--private", "kind"),
            "a trusted curator hides time, place and kind alike",
        ),
    ],
)
def test_settings_of_kinds_that_make_no_plan_are_refused(tacit, events, words, said):
    ran = tacit("plan", *PLACES, *DAYS, "--epsilon", "2", *words)
    assert ran.code == 2
    assert said in ran.err


def test_a_plan_with_kinds_needs_their_column(tacit, events):
    done(tacit("check", "events.csv", "--time", "day", "--place", "town", *PLACES, "--confirm"))
    done(tacit("plan", *PLACES, *DAYS, "--kinds", "kinds.csv", "--epsilon", "2"))
    ran = tacit("randomize", "events.csv")
    assert ran.code == 2
    assert "no column is named that holds them. Add: --kind COLUMN" in ran.err
    ran = tacit("randomize", "events.csv", "--kind", "Typ")
    assert ran.code == 3
    assert "events.csv has no column 'Typ' (asked for as kind)" in ran.err
    assert "Did you mean 'Type'?" in ran.err
    done(tacit("randomize", "events.csv", "--kind", "Type"))


def test_a_column_of_kinds_without_kinds_to_count_is_refused_unless_it_is_only_described(tacit, events):
    done(tacit("check", "events.csv", "--time", "day", "--place", "town", "--kind", "Type", *PLACES, "--confirm"))
    done(tacit("plan", *PLACES, *DAYS, "--epsilon", "2"))
    ran = tacit("randomize", "events.csv", "--kind", "Type")
    assert ran.code == 2
    assert "--kind Type is for counts by kind, and no kinds are counted here" in ran.err
    done(tacit("randomize", "events.csv"))


def test_the_same_events_are_known_with_and_without_kinds(tacit, events):
    with events.open("a", encoding="utf-8") as file:
        file.write("2018-01-02,North,landslip\n2018-01-03,South,\n")
    described(tacit)
    done(
        tacit("plan", *PLACES, *DAYS, "--kinds", "kinds.csv", "--private", "place", "--epsilon", "1", "--out", "k.toml")
    )
    done(tacit("plan", *PLACES, *DAYS, "--epsilon", "1", "--out", "p.toml"))
    ran = done(tacit("randomize", "events.csv", "--plan", "k.toml", "--accept-loss"))
    assert "1 row with no kind (row 43)" in ran.err
    assert "1 row with a kind that is not known (row 42)" in ran.err
    ran = tacit("randomize", "events.csv", "--plan", "p.toml", "--data-set", "another", "--out", "p.reports")
    assert ran.code == 5
    assert "on 3 of 3 days these are the very events that are known as events" in ran.err


def test_a_summary_tells_of_kinds_for_the_curator_alone(tacit, events):
    described(tacit)
    ran = done(tacit("summary", "events.csv", *PLACES, "--kinds", "kinds.csv"))
    assert "Events of each kind, exact: NOT FOR PUBLICATION" in ran.out
    assert [line.split()[2] for line in ran.out.splitlines() if line.startswith(("fire", "flood", "fall"))] == [
        "13",
        "12",
        "15",
    ]
    assert "region x kind x week cells" in ran.out


@pytest.mark.parametrize("trust", [("--trust", "nobody"), ("--trust", "curator")])
def test_mechanisms_are_compared_for_kinds_in_places(tacit, events, trust):
    words = (
        "plan",
        *PLACES,
        *DAYS,
        "--kinds",
        "kinds.csv",
        "--epsilon",
        "1",
        "--compare",
        "--expected-events",
        "1000",
        *trust,
    )
    ran = done(tacit(*words))
    assert "3 periods x 2 places x 3 kinds, about 1,000 events" in ran.out
    assert "answers about one kind in one place" in ran.out


def test_a_curator_counts_kinds(tacit, events, tmp_path):
    described(tacit)
    done(tacit("plan", *PLACES, *DAYS, "--kinds", "kinds.csv", "--trust", "curator", "--epsilon", "1"))
    assert Plan.read(tmp_path / "plan.toml").private == AXES
    ran = done(tacit("count", "events.csv", "--out", "r.parquet"))
    assert "Wrote r.parquet: 3 periods x 2 places x 3 kinds." in ran.out


def test_a_counter_runs_for_every_kind_in_every_place(tacit, events, tmp_path):
    described(tacit)
    done(tacit("counter", "start", *PLACES, "--kinds", "kinds.csv", "--from", "2018-01-01", "--epsilon", "20"))
    done(tacit("counter", "add", "visits.counter", "events.csv", "--date", "2018-01-01", "--to", "2018-01-03"))
    history = History.read(tmp_path / "visits.history.csv")
    assert history.totals.shape == (3, 6)
    assert history.plan().private == AXES
    shown = done(tacit("counter", "show", "visits.history.csv"))
    assert "Place and kind" in shown.out
    assert "South, fall" in shown.out
    ran = done(tacit("counter", "answer", "visits.history.csv", "--kind", "danger", "--place", "North"))
    assert "(2018-01-01 to 2018-01-03; North; fire and flood)" in ran.out
    ran = done(tacit("counter", "release", "visits.history.csv", "--kind", "group", "--out", "r.parquet"))
    assert "Wrote r.parquet: 3 periods x 2 places x 2 kinds." in ran.out
    ran = tacit("counter", "add", "visits.counter", "--date", "2018-01-04", "--counts", "1,2")
    assert "--counts must have a number for each of 6 columns" in ran.err
    done(tacit("counter", "add", "visits.counter", "--date", "2018-01-04", "--counts", "1,2,3,4,5,6"))
