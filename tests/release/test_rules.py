"""Zero, suppressed and missing are three things, in the table as in the release; sums stay whole."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

from small_worlds import simulated_estimate
from tacit.domain import TimeAxis
from tacit.errors import SettingError
from tacit.release import Release, Rule, Rules
from tacit.release.release import BLANKED

COUNTS = np.random.default_rng(3).poisson([30, 8, 2, 0], (20, 4))
COUNTS[7] = 0
PLAN, ESTIMATE = simulated_estimate(COUNTS, f=0.2)
RULES = Rules.parse(
    suppress=("relative error > 0.5",), grey=("count < 10", "relative error > 0.25"), missing=("2018-01-03/2018-01-05",)
)


@pytest.fixture
def release():
    return Release.of(PLAN, ESTIMATE, refine="project", rules=RULES)


def test_rules_mean_what_they_say(release):
    columns, plain = release.columns(), Release.of(PLAN, ESTIMATE, refine="project").columns()
    relative = np.divide(
        plain["standard_error"],
        plain["refined"],
        out=np.where(plain["standard_error"] > 0, np.inf, 0.0),
        where=plain["refined"] > 0,
    )
    day = np.repeat(np.arange(20), 4)
    is_missing = (day >= 2) & (day <= 4)
    suppressed = ~is_missing & (relative > 0.5)
    greyed = ~is_missing & ~suppressed & ((plain["refined"] < 10) | (relative > 0.25))
    expected = np.select([is_missing, suppressed, greyed], ["missing", "suppressed", "greyed"], "shown")
    np.testing.assert_array_equal(columns["status"].astype(str), expected)
    assert {"missing", "suppressed", "greyed", "shown"} == set(expected)
    for name in BLANKED:
        if name in columns:
            np.testing.assert_array_equal(np.isnan(columns[name]), is_missing | suppressed)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_blank_zero_and_missing_differ_in_the_file_and_sums_stay_whole(tmp_path, release, ending):
    path = tmp_path / f"r{ending}"
    release.write(path)
    table = pd.read_csv(path, comment="#") if ending == ".csv" else pd.read_parquet(path)
    # a day without a report is known to be zero
    zero = table[(table["period"] == "2018-01-08")]
    assert (zero["refined"] == 0).all()
    assert set(zero["status"]) == {"greyed"}
    for status in ("suppressed", "missing"):
        rows = table[table["status"] == status]
        assert len(rows)
        assert rows[["unbiased", "standard_error", "lower", "upper", "refined"]].isna().all().all()
    again = Release.read(path)
    assert again.rules == RULES
    assert again.checksum == release.checksum
    np.testing.assert_array_equal(again.unbiased.values, ESTIMATE.values)
    np.testing.assert_array_equal(again.refined.values, release.refined.values)
    assert again.answer() == release.answer() == Release.of(PLAN, ESTIMATE).answer()


def test_blank_cells_are_empty_in_a_csv(tmp_path, release):
    release.write(tmp_path / "r.csv")
    lines = [line for line in (tmp_path / "r.csv").read_text().splitlines() if not line.startswith("#")]
    rows = [row for row in csv.DictReader(lines) if row["status"] == "suppressed"]
    assert {row["refined"] for row in rows} == {""}


def test_without_rules_there_is_no_status():
    assert "status" not in Release.of(PLAN, ESTIMATE).columns()


def test_months_are_judged_by_their_own_errors(release):
    months = release.coarsen(time="month")
    assert months.rules == RULES
    assert "suppressed" not in set(months.statuses()[:, 0])
    # a month that lacks three days was counted in part
    assert "missing" not in set(months.statuses().ravel())
    whole = Rules.parse(missing=("2018-01-01/2018-01-31",))
    axis = Release.of(PLAN, ESTIMATE, by="month").domain.time
    assert set(whole.statuses(np.ones((1, 4)), np.ones((1, 4)), axis).ravel()) == {"missing"}


@pytest.mark.parametrize("text", ["", "count > 10", "relative error < 0.5", "count < x", "error > 1", "count < -1"])
def test_a_rule_that_is_none_is_refused(text):
    with pytest.raises(SettingError, match="a rule must read"):
        Rule.parse(text)


@pytest.mark.parametrize("span", ["2018", "2018-03-05/2018-03-01", "2018-03-01/soon"])
def test_missing_days_are_days(span):
    with pytest.raises(SettingError, match="missing days"):
        Rules.parse(missing=(span,))


@pytest.mark.parametrize("day", ["2020-02-30", "2020-13-01", "2020-00-10"])
def test_days_that_are_none_cannot_be_missing(day):
    with pytest.raises(SettingError, match="missing days must read"):
        Rules(missing=((day, day),))


def test_a_month_with_some_missing_days_is_missing_in_part():
    months = TimeAxis.between("2020-01-01", "2020-06-30", step="month")
    rules = Rules(missing=(("2020-02-10", "2020-04-05"),))
    assert np.flatnonzero(rules.missing_bins(months, 6)).tolist() == [2]
    assert np.flatnonzero(rules.missing_bins(months, 6, partly=True)).tolist() == [1, 2, 3]
