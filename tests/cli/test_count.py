"""A curator's afternoon: plan, count, query, page; and what is refused."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

from small_worlds import DOUBS
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.mechanisms.central.table import central_plan_for
from tacit.privacy.ledger import Ledger
from tacit.release import Release

WRITTEN = ("--encoding", "utf-8", "--separator", ",", "--date-format", "year-first")
COLUMNS = ("--time", "SDate", "--place", "Town", *WRITTEN)
TOWNS = ["Besançon", "Pontarlier", "Montbéliard"]


@pytest.fixture
def events(tmp_path):
    """3,000 interventions of January 2018, by 40 people."""
    generator = np.random.default_rng(5)
    path = tmp_path / "events.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["Who", "SDate", "Town"])
        for _ in range(3000):
            day = f"2018/01/{generator.integers(1, 32):02d} 08:08"
            writer.writerow([f"person-{generator.integers(40)}", day, TOWNS[generator.integers(3)]])
    return path


@pytest.fixture
def domain():
    places = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"), level="region")
    return Domain(TimeAxis.between("2018-01-01", "2018-01-31", zone="Europe/Paris"), places)


def write_plan(tmp_path, domain, **settings):
    central_plan_for(domain, **{"epsilon": 1.0, "mechanism": "flat"} | settings).write(tmp_path / "plan.toml")


@pytest.mark.slow
def test_from_events_to_a_page_by_a_curator(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    counted = tacit("count", events, *COLUMNS, "--statement", "statement.html")
    assert counted.code == 0, counted.err
    assert "One event added or removed: epsilon 1." in counted.out
    assert "What remains of the budget of events: nothing" in counted.out
    release = Release.read(tmp_path / "release.parquet")
    assert not release.is_simulation
    assert release.unbiased.totals is None
    answer = release.answer()
    assert abs(answer.value - 3000) < 6 * answer.standard_error
    asked = tacit(
        "query", "release.parquet", "--from", "2018-01-05", "--to", "2018-01-09", "--place", "CA du Grand Besançon"
    )
    assert asked.code == 0, asked.err
    assert tacit("page", "release.parquet").code == 0
    page = (tmp_path / "release.html").read_text(encoding="utf-8")
    assert "counted by a curator" in page
    assert "reports" not in page.split("<script")[0].replace("reports and", "")
    assert "3,000" not in page
    assert "one event added or removed" in (tmp_path / "statement.html").read_text(encoding="utf-8")


def test_a_stop_for_lost_rows_spends_nothing(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    with events.open("a", encoding="utf-8") as file:
        file.write("person-1,2018/01/05 08:08,Nowhere\n" * 40)
    stopped = tacit("count", events, *COLUMNS)
    assert stopped.code == 3
    assert "1.3% of the rows would fall out, more than 1%: 40 rows with a place that is not known" in stopped.err
    assert "Nowhere" not in stopped.err
    assert not Ledger(tmp_path / "ledger.sqlite").history()
    assert not (tmp_path / "release.parquet").exists()
    dry = tacit("count", events, *COLUMNS, "--dry-run")
    assert dry.code == 3
    assert tacit("count", events, *COLUMNS, "--accept-loss").code == 0


def test_a_second_count_is_refused_and_writes_nothing(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    assert tacit("count", events, *COLUMNS).code == 0
    renamed = tmp_path / "renamed.csv"
    renamed.write_bytes(events.read_bytes())
    refused = tacit("count", renamed, *COLUMNS, "--out", "second.parquet")
    assert refused.code == 5
    assert "Nothing was spent" in refused.err
    assert not (tmp_path / "second.parquet").exists()


def test_a_second_count_within_the_budget_promises_what_both_add_up_to(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    first = tacit("count", events, *COLUMNS, "--budget", "2")
    assert first.code == 0, first.err
    assert "Other reports or releases" not in first.out + first.err
    write_plan(tmp_path, domain, epsilon=0.5)
    second = tacit("count", events, *COLUMNS, "--out", "second.parquet")
    assert second.code == 0, second.err
    assert "What remains of the budget of events: epsilon 0.5." in second.out
    assert second.err.splitlines()[-4:] == [
        "Other reports or releases of the same events count in:",
        "One event added or removed: epsilon 1.5.",
        "One event replaced by any other on the days covered: epsilon 3.",
        "All events of one person on one day added or removed: not protected. "
        "Some releases protect single events only.",
    ]


def test_a_dry_run_says_the_price_and_spends_nothing(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    ran = tacit("count", events, *COLUMNS, "--dry-run", "--budget", "3")
    assert ran.code == 0, ran.err
    assert "would cost epsilon 1 per event; nothing was spent" in ran.out
    assert "epsilon 2" in ran.out
    assert not (tmp_path / "release.parquet").exists()
    assert Ledger(tmp_path / "ledger.sqlite").history() == []


def test_people_are_bounded_by_the_day(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain, unit="user-day", most=2)
    ran = tacit("count", events, *COLUMNS, "--user", "Who")
    assert ran.code == 0, ran.err
    assert "beyond the bound" in ran.out
    assert "person-" not in ran.out + ran.err
    assert Release.read(tmp_path / "release.parquet").statement.most == 2


def test_people_are_bounded_in_the_whole_release_and_a_check_says_how_much_is_cut(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain, unit="person", most=3, most_per_cell=1)
    checked = tacit("check", events, *COLUMNS, "--user", "Who", "--plan", "plan.toml")
    dry = tacit("count", events, *COLUMNS, "--user", "Who", "--dry-run")
    ran = tacit("count", events, *COLUMNS, "--user", "Who")
    assert ran.code == 0, ran.err
    found = {re.search(r"For your eyes only: ([\d,]+) events? lay beyond", one.out)[1] for one in (checked, dry, ran)}
    assert len(found) == 1
    assert "would cost epsilon 1 per person of at most 3 events, 1 in one cell" in " ".join(dry.out.split())
    statement = Release.read(tmp_path / "release.parquet").statement
    assert found.isdisjoint(re.findall(r"[\d,]+", str(statement)))


def test_a_user_column_must_fit_the_unit(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    assert tacit("count", events, *COLUMNS, "--user", "Who").code == 2
    write_plan(tmp_path, domain, unit="user-day", most=2)
    without = tacit("count", events, *COLUMNS)
    assert without.code == 2
    assert "user" in without.err
    assert Ledger(tmp_path / "ledger.sqlite").history() == []


def test_plans_are_not_mixed_up(tacit, events, tmp_path, domain):
    tacit("plan", *DOUBS, "--from", "2018-01-01", "--to", "2018-01-31", "--epsilon", "2")
    wrong = tacit("count", events, *COLUMNS)
    assert wrong.code == 4
    assert "--trust curator" in wrong.err
    (tmp_path / "plan.toml").unlink()
    write_plan(tmp_path, domain)
    refused = tacit("randomize", events, *COLUMNS)
    assert refused.code == 4
    assert "tacit count" in refused.err
    assert Ledger(tmp_path / "ledger.sqlite").history() == []


def test_a_simulation_says_so_and_is_not_recorded(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    ran = tacit("count", events, *COLUMNS, "--seed", "7")
    assert ran.code == 0
    assert "SIMULATION" in ran.err
    assert not (tmp_path / "ledger.sqlite").exists()
    assert tacit("count", events, *COLUMNS, "--seed", "7", "--dry-run", "--force").code == 2


def test_a_corrected_release_names_the_one_it_replaces_and_is_paid_for_again(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    assert tacit("count", events, *COLUMNS, "--out", "1.parquet", "--budget", "3").code == 0
    with events.open("a", encoding="utf-8") as file:
        file.write("person-1,2018/01/05 10:10,Besançon\n")
    again = tacit("count", events, *COLUMNS, "--out", "2.parquet", "--budget", "3", "--revises", "1.parquet")
    assert again.code == 0, again.err
    assert "Version 2: counting again drew new noise and was paid for again." in again.out
    first, second = Release.read(tmp_path / "1.parquet"), Release.read(tmp_path / "2.parquet")
    assert second.version.revises == first.checksum
    assert second.statement.total_epsilon == pytest.approx(2.0)
    assert "the figures above count all versions" in second.statement.text()


@pytest.mark.parametrize(
    "words",
    [
        ("--out", "release.txt"),
        ("--confidence", "1.5"),
        ("--confidence", "nan"),
        ("--out", "events.csv", "--force"),
        ("--out", "plan.toml", "--force"),
        ("--out", "ledger.sqlite", "--force"),
        ("--out", "one.parquet", "--statement", "one.parquet"),
    ],
)
def test_what_cannot_be_written_is_refused_before_it_is_paid(tacit, events, tmp_path, domain, words):
    write_plan(tmp_path, domain)
    before = events.read_bytes()
    assert tacit("count", events, *COLUMNS, *words).code == 2
    assert Ledger(tmp_path / "ledger.sqlite").history() == []
    assert events.read_bytes() == before


def test_odd_tables_are_told_before_they_are_paid_and_refused_under_strict_reading(tacit, tmp_path, domain):
    rows = [f"2018/01/{day:02d},Besançon,5" for day in range(1, 32) if day != 17] + ["2018/01/03,Besançon,4"]
    (tmp_path / "table.csv").write_text("\n".join(["SDate,Town,Visits", *rows]), encoding="utf-8")
    write_plan(tmp_path, domain)
    table = ("count", "table.csv", *COLUMNS, "--count", "Visits")
    for words in (("--strict",), ("--strict", "--dry-run")):
        refused = tacit(*table, *words)
        assert refused.code == 3
        assert "Note:" in refused.err
        assert Ledger(tmp_path / "ledger.sqlite").history() == []
    dry = tacit(*table, "--dry-run")
    assert dry.code == 0
    assert "Note:" in dry.err


def test_counts_are_refined_by_name_and_a_name_that_needs_public_numbers_is_refused_unpaid(
    tacit, events, tmp_path, domain
):
    write_plan(tmp_path, domain)
    refused = tacit("count", events, *COLUMNS, "--refine", "project")
    assert refused.code == 2
    assert "raw, clip, coherent, likelihood, shrink, smooth" in refused.err
    refused = tacit("count", events, *COLUMNS, "--missing", "2018-02")
    assert refused.code == 2
    assert "within the time of the release" in refused.err
    assert Ledger(tmp_path / "ledger.sqlite").history() == []
    for name in ("raw", "clip", "shrink", "smooth", None):
        chosen = ("--refine", name) if name else ()
        ran = tacit("count", events, *COLUMNS, *chosen, "--seed", "1", "--out", f"{name}.parquet")
        assert ran.code == 0, ran.err
    made = Release.read(tmp_path / "None.parquet")
    assert made.refinement == "coherent"
    days, month = made.refined.values, made.coarsen(time="month").refined.values
    assert (days >= 0).all()
    np.testing.assert_allclose(days.sum(axis=0), month[0])
    np.testing.assert_allclose(month[0], np.maximum(made.unbiased.values.sum(axis=0), 0.0))
    # clipped days add up to more, and their months are clipped again
    clipped = Release.read(tmp_path / "clip.parquet")
    assert clipped.refined.values.sum() > clipped.coarsen(time="month").refined.values.sum()


def test_a_curators_release_has_rules_too(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    ran = tacit("count", events, *COLUMNS, "--suppress", "count < 20", "--missing", "2018-01-30/2018-01-31")
    assert ran.code == 0, ran.err
    assert "Missing: 2 periods without any data." in ran.out
    assert "they are not in the file" in ran.out
    made = Release.read(tmp_path / "release.parquet")
    assert made.has_gaps
    assert "the others leave" not in made.statement.text()
    assert tacit("page", "release.parquet").code == 0


def test_a_simulation_does_not_replace_a_release(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    assert tacit("count", events, *COLUMNS, "--seed", "1", "--out", "1.parquet").code == 0
    refused = tacit("count", events, *COLUMNS, "--revises", "1.parquet", "--out", "2.parquet")
    assert refused.code == 2
    assert "one cannot replace the other" in refused.err
    assert Ledger(tmp_path / "ledger.sqlite").history() == []


def test_months_are_counted_from_days_at_no_further_cost(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    refused = tacit("count", events, *COLUMNS, "--by", "decade")
    assert refused.code == 2
    ran = tacit("count", events, *COLUMNS, "--by", "month", "--suppress", "count < 50")
    assert ran.code == 0, ran.err
    assert "1 period x 17 places." in ran.out
    release = Release.read(tmp_path / "release.parquet")
    assert release.domain.time.step == "month"
    assert (release.statuses() == "suppressed").sum() == 14


def test_a_curators_release_is_refined_again_without_paying(tacit, events, tmp_path, domain):
    write_plan(tmp_path, domain)
    assert tacit("count", events, *COLUMNS, "--out", "days.parquet").code == 0
    ran = tacit("release", "days.parquet", "--by", "month", "--refine", "clip", "--out", "months.parquet")
    assert ran.code == 0, ran.err
    days, months = (Release.read(tmp_path / f"{name}.parquet") for name in ("days", "months"))
    assert months.statement.total_epsilon == days.statement.total_epsilon == 1.0
    np.testing.assert_allclose(months.unbiased.values[0], days.unbiased.values.sum(axis=0))
