"""tacit forecast and tacit backtest: from a release to numbers, files and pages, and clear words for what cannot be."""

from __future__ import annotations

import csv
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from pages.forecasts import release_with_kinds
from small_series import PLACES, small_counts
from small_worlds import simulated_estimate
from tacit.cli.domains import populations
from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.privacy.ledger import Spend
from tacit.release import Release, Rules


def written(path, counts=None, *, first="2018-01-01", step="day", places=PLACES, **settings) -> Release:
    counts = small_counts(n_days=70) if counts is None else counts
    axis = TimeAxis(first, step, "Europe/Paris", len(counts))
    domain = Domain(axis, PlaceAxis.of(places[: counts.shape[1]], "station"))
    release = Release.of(*simulated_estimate(counts, domain=domain), refine="project", **settings)
    release.write(path)
    return release


@pytest.fixture
def release(tmp_path):
    return written(tmp_path / "release.parquet")


def test_a_forecast_is_printed_per_place_and_for_all(tacit, release):
    ran = tacit("forecast", "release.parquet")
    assert ran.code == 0, ran.err
    assert "Expected Monday 12 March 2018, and in the next 7 days together" in ran.out
    for word in (*PLACES, "All stations", "Sun 18 Mar", "80%", "95%", "At most, 9 in 10"):
        assert word in ran.out
    assert "no raw data, so no privacy budget is spent" in ran.out
    assert "SIMULATION" in ran.err


def test_a_forecast_by_kind_speaks_of_places_and_kinds(tacit, tmp_path):
    release_with_kinds().write(tmp_path / "release.parquet")
    words = ["--model", "weekday-mean", "--horizon", 2]
    ran = tacit("forecast", "release.parquet", *words, "--out", "f.csv", "--page", "f.html")
    assert ran.code == 0, ran.err
    for word in ("together: all kinds", "together: all places", "place 2", "danger", "flood", "All places and kinds"):
        assert word in ran.out
    assert "region" not in ran.out
    assert f"Wrote f.csv: {2 * 4 * 6} rows." in ran.out  # three places and all, three kinds, two groups and all
    assert "--out writes every place and kind." in ran.out
    ran = tacit("backtest", "release.parquet", "--model", "weekday-mean", "--origins", 2)
    assert "forecasts of every place and kind" in ran.out


def test_files_and_a_page_are_written(tacit, release, tmp_path):
    words = ["--model", "weekday-mean", "--per-crew", 4, "--quantile", 0.95, "--confidence", 50, "--confidence", 0.9]
    ran = tacit("forecast", "release.parquet", *words, "--out", "f.parquet", "--page", "f.html", "--horizon", 2)
    assert ran.code == 0, ran.err
    table = pq.read_table(tmp_path / "f.parquet")
    assert table.num_rows == 2 * 4
    assert {"lower_50", "upper_90", "at_most_95", "crews"} <= set(table.column_names)
    assert "Crews, 19 in 20" in ran.out
    page = (tmp_path / "f.html").read_text(encoding="utf-8")
    assert "Simulation" in page
    assert "1 time in 2" in page


def test_a_model_is_saved_loaded_and_told_of_newer_days(tacit, release, tmp_path):
    assert tacit("forecast", "release.parquet", "--model", "seasonal-naive", "--save", "a.tacit").code == 0
    same = tacit("forecast", "release.parquet", "--load", "a.tacit")
    assert "the model seasonal-naive, learned before; nothing is newer" in same.out
    written(tmp_path / "later.parquet", small_counts(n_days=75))
    later = tacit("forecast", "later.parquet", "--load", "a.tacit", "--horizon", 1)
    assert later.code == 0, later.err
    assert "5 periods more than it learned from" in later.out
    assert "Saturday 17 March 2018" in later.out


@pytest.mark.slow
def test_holidays_and_tables_are_known_to_the_model_and_named(tacit, release, tmp_path):
    days = np.arange(np.datetime64("2018-01-01"), np.datetime64("2018-03-20"))
    rows = [f"{day},{(number * 7) % 11}" for number, day in enumerate(days)]
    (tmp_path / "weather.csv").write_text("\n".join(["date,rain", *rows]) + "\n", encoding="utf-8")
    words = ["--country", "FR", "--academy", "Besançon", "--covariates", "weather.csv", "--horizon", 1]
    ran = tacit("forecast", "release.parquet", *words, "--save", "a.tacit")
    assert ran.code == 0, ran.err
    assert "public holidays and school holidays of FR" in ran.out
    assert "the table weather.csv" in ran.out
    renamed = tacit("forecast", "release.parquet", "--covariates", "weather.csv", "--covariates-date", "jour")
    assert "has no column 'jour'" in renamed.err
    assert "Name it: --covariates-date COLUMN" in renamed.err
    lacking = tacit("forecast", "release.parquet", "--load", "a.tacit")
    assert lacking.code == 2
    assert "Give them again with --covariates" in lacking.err
    again = tacit("forecast", "release.parquet", "--load", "a.tacit", "--covariates", "weather.csv", "--horizon", 1)
    assert again.code == 0, again.err
    twice = tacit("forecast", "release.parquet", "--load", "a.tacit", "--country", "DE")
    assert "Leave out --country" in twice.err


def test_populations_may_help(tacit, release, tmp_path):
    (tmp_path / "places.csv").write_text("station,population\nNorth,600\nSouth,300\nWest,100\n", encoding="utf-8")
    ran = tacit("forecast", "release.parquet", "--population", "places.csv", "--horizon", 1)
    assert ran.code == 0, ran.err
    assert "populations of stations" in ran.out
    (tmp_path / "few.csv").write_text("station,population\nNorth,600\n", encoding="utf-8")
    assert "2 of 3 have none" in tacit("forecast", "release.parquet", "--population", "few.csv").err
    assert "has no table of places" in tacit("forecast", "release.parquet", "--population", "builtin").err


def test_nobody_lives_elsewhere(tacit, tmp_path):
    """It is no place, so that no table has its inhabitants: it starts as large as places are on average."""
    axis = PlaceAxis.of(PLACES[:2], "station").with_elsewhere()
    counts = small_counts(n_days=70)
    domain = Domain(TimeAxis("2018-01-01", "day", "Europe/Paris", len(counts)), axis)
    Release.of(*simulated_estimate(counts, domain=domain), refine="project").write(tmp_path / "release.parquet")
    (tmp_path / "places.csv").write_text("station,population\nNorth,600\nSouth,200\nelsewhere,9\n", encoding="utf-8")
    ran = tacit("forecast", "release.parquet", "--population", "places.csv", "--horizon", 1)
    assert ran.code == 0, ran.err
    assert "populations of stations" in ran.out
    found = populations(str(tmp_path / "places.csv"), None, axis)
    assert found == {"North": 600.0, "South": 200.0, "elsewhere": 400.0}


def test_columns_of_a_table_of_populations_may_be_named(tacit, release, tmp_path):
    (tmp_path / "places.csv").write_text("nom;zone;PTOT\nnorth;A;600\nSOUTH;A;300\nWest;B;100\n", encoding="utf-8")
    words = ["forecast", "release.parquet", "--horizon", 1, "--population", "places.csv"]
    ran = tacit(*words, "--places-column", "station=nom", "--places-column", "population=PTOT")
    assert ran.code == 0, ran.err
    assert "populations of stations" in ran.out
    assert "must have a column station; got nom, zone, PTOT" in tacit(*words).err
    unnumbered = tacit(*words, "--places-column", "station=nom").err
    assert "must have a column with populations; none was found" in unnumbered
    assert "--places-column population=COLUMN" in unnumbered
    alone = tacit("forecast", "release.parquet", "--places-column", "population=PTOT")
    assert "Name it, too: --population FILE" in alone.err


def test_hours_are_forecast_by_the_day(tacit, tmp_path):
    written(tmp_path / "hours.parquet", small_counts(n_days=24 * 8), step="hour")
    ran = tacit("forecast", "hours.parquet", "--model", "weekday-mean", "--out", "f.csv")
    assert ran.code == 0, ran.err
    assert "the next 24 hours" in ran.out
    assert (tmp_path / "f.csv").read_text(encoding="utf-8").count(",all,") == 24


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("a region without history", np.column_stack([small_counts(n_days=70)[:, :2], np.zeros(70, np.int64)])),
        ("a week", small_counts(n_days=7)),
        ("all zeros", np.zeros((70, 3), np.int64)),
        ("one region", small_counts(n_days=70)[:, :1] + 1),
    ],
)
def test_little_data_gives_an_honest_interval(tacit, tmp_path, name, counts):
    if counts.shape[1] == 1:
        counts = np.column_stack([counts, np.zeros_like(counts)])
    written(tmp_path / "release.parquet", counts)
    for model in ("share", "weekday-mean"):
        page = ["--page", "f.html"] if model == "share" and name == "all zeros" else []
        ran = tacit("forecast", "release.parquet", "--model", model, "--out", "f.csv", "--force", *page)
        assert ran.code == 0, ran.err
        lines = (tmp_path / "f.csv").read_text(encoding="utf-8").splitlines()
        rows = list(csv.DictReader(lines))
        assert len(rows) == 7 * (counts.shape[1] + 1)
        assert all(int(row["lower_95"]) <= float(row["expected"]) <= int(row["upper_95"]) + 1 for row in rows)


def test_three_months_without_data_are_no_zeros(tacit, tmp_path):
    counts = small_counts(n_days=200)
    counts[90:180] = 0
    rules = Rules.parse(missing=("2018-04-01/2018-06-29",))
    written(tmp_path / "release.parquet", counts, rules=rules)
    ran = tacit("forecast", "release.parquet", "--horizon", 1, "--out", "f.csv")
    assert ran.code == 0, ran.err
    lines = (tmp_path / "f.csv").read_text(encoding="utf-8").splitlines()
    total = float(lines[-1].split(",")[2])
    assert 25 < total < 60
    assert "90 days" in ran.out


def test_years_are_forecast_and_weeks_of_them_refused_in_words(tacit, tmp_path):
    written(tmp_path / "years.parquet", small_counts(n_days=8) * 100, first="2011-01-01", step="year")
    for model in ("share", "weekday-mean"):
        ran = tacit("forecast", "years.parquet", "--model", model)
        assert ran.code == 0, ran.err
    assert "each is a year" in tacit("forecast", "years.parquet", "--horizon", "week").err


def test_a_curator_s_release_is_forecast_too(tacit, tmp_path):
    domain = Domain(TimeAxis("2018-01-01", "day", "UTC", 64), PlaceAxis.of(PLACES))
    plan = central_plan_for(domain, epsilon=1.0)
    mechanism = central_mechanism_of(plan)
    spend = Spend.simulation(mechanism.cost, seed=1)
    estimate = mechanism.measure(ExactTally(small_counts(n_days=64)), plan, spend=spend)
    Release.of(plan, estimate).write(tmp_path / "release.parquet")
    ran = tacit("forecast", "release.parquet", "--horizon", 2)
    assert ran.code == 0, ran.err


def test_a_release_that_hides_times_is_refused(tacit, tmp_path):
    plan = plan_for(
        Domain(TimeAxis("2018-01-10", "day", "UTC", 8), PlaceAxis.of(PLACES)), epsilon=2.0, private=("time",)
    )
    statistics = np.full((3, mechanism_of(plan).n_statistics), 20)
    estimate = estimate_tally(Tally(Provenance(plan.fingerprint), statistics, np.full(3, 60)), plan)
    Release.of(plan, estimate, refine="raw").write(tmp_path / "release.parquet")
    ran = tacit("forecast", "release.parquet")
    assert ran.code == 2
    assert "hides the time" in ran.err


def test_a_model_of_another_plan_or_a_damaged_one_is_refused(tacit, release, tmp_path):
    assert tacit("forecast", "release.parquet", "--model", "weekday-mean", "--save", "a.tacit").code == 0
    written(tmp_path / "other.parquet", places=("East", "Center", "Far"))
    other = tacit("forecast", "other.parquet", "--load", "a.tacit")
    assert other.code == 4
    assert "another plan" in other.err
    (tmp_path / "a.tacit").write_bytes((tmp_path / "a.tacit").read_bytes()[:-200])
    damaged = tacit("forecast", "release.parquet", "--load", "a.tacit")
    assert damaged.code == 4
    assert "is not a model, or is damaged" in damaged.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--horizon", "soon"], "horizon must be"),
        (["--model", "oracle"], "model must be one of"),
        (["--confidence", "1.8"], "--confidence must be a share"),
        (["--confidence", "80", "--page", "p.html"], "two intervals"),
        (["--quantile", "2"], "quantile must be"),
        (["--per-crew", "0"], "per-crew must be"),
        (["--out", "f.xlsx"], "written as .parquet or .csv; got f.xlsx."),
        (["--country", "Narnia"], "got --country Narnia, no --subdivision. Give for example --country FR, or"),
        (["--academy", "Narnia"], "academy must be"),
        (["--covariates", "none.csv"], "none.csv"),
        (["--load", "none.tacit"], "there is no model"),
        (["--seed", "-1"], "seed must be"),
        (["--out", "release.parquet"], "needed for something else"),
        (["--out", "release.parquet", "--force"], "needed for something else"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(tacit, release, words, said):
    ran = tacit("forecast", "release.parquet", *words)
    assert ran.code in (2, 3, 4)
    assert said in ran.err


def test_a_file_that_exists_is_kept_unless_asked_to_overwrite_it(tacit, release, tmp_path):
    (tmp_path / "f.csv").write_text("mine")
    ran = tacit("forecast", "release.parquet", "--out", "f.csv")
    assert ran.code == 2
    assert "exists already" in ran.err
    assert (tmp_path / "f.csv").read_text() == "mine"


def test_levels_are_refused_before_a_release_is_read(tacit):
    assert "--confidence must be a share" in tacit("forecast", "none.parquet", "--confidence", "1.8").err


def test_a_backtest_ranks_models_and_writes_them(tacit, release, tmp_path):
    words = ["--origins", 4, "--model", "weekday-mean", "--model", "seasonal-naive"]
    ran = tacit("backtest", "release.parquet", *words, "--out", "b.csv", "--page", "b.html")
    assert ran.code == 0, ran.err
    assert "4 origins, 7 periods ahead each" in ran.out
    assert "known noise taken off" in ran.out
    assert "weekday mean" in ran.out
    assert "model,rmse,rmse_at_most,mse" in (tmp_path / "b.csv").read_text(encoding="utf-8")
    assert "Which did best" in (tmp_path / "b.html").read_text(encoding="utf-8")


def test_the_truth_is_for_the_laboratory(tacit, release, tmp_path):
    counts = small_counts(n_days=70)
    days = np.datetime64("2018-01-01") + np.arange(70)
    rows = [
        f"{day},{place},{n}"
        for day, row in zip(days, counts, strict=True)
        for place, n in zip(PLACES, row, strict=True)
    ]
    (tmp_path / "true.csv").write_text("\n".join(["day,station,n", *rows]) + "\n", encoding="utf-8")
    words = ["--laboratory", "true.csv", "--time", "day", "--place", "station", "--count", "n", "--origins", 3]
    ran = tacit("backtest", "release.parquet", *words, "--model", "weekday-mean", "--out", "b.csv")
    assert ran.code == 0, ran.err
    assert "LABORATORY – not for publication" in ran.err
    assert "MAE" in ran.out
    assert "LABORATORY" in (tmp_path / "b.csv").read_text(encoding="utf-8")


def test_a_backtest_leaves_half_of_a_short_release_to_learn_from(tacit, release):
    ran = tacit("backtest", "release.parquet", "--model", "weekday-mean", "--model", "seasonal-naive")
    assert ran.code == 0, ran.err
    assert "5 origins, 7 periods ahead each, 35 forecasts of every place, from 2018-02-05 to 2018-03-11." in ran.out


def test_a_backtest_of_one_origin_names_the_best_and_looks_as_far_as_a_forecast(tacit, tmp_path):
    written(tmp_path / "release.parquet", small_counts(n_days=20), step="month")
    words = ["--model", "weekday-mean"]
    ran = tacit("backtest", "release.parquet", *words, "--origins", 1, "--page", "b.html")
    assert ran.code == 0, ran.err
    assert "1 origin, 3 periods ahead, 3 forecasts of every place, from 2019-06 to 2019-08." in ran.out
    assert re.search(r"weekday mean .* best ", ran.out)
    assert "<td>best</td>" in (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "in the next 3 months together" in tacit("forecast", "release.parquet", *words).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--origins", "52"], "enough for 8 origins. Ask for fewer"),
        (["--horizon", "60"], "enough for 0 origins. Ask for a shorter horizon, or wait"),
        (["--origins", "0"], "origins must be"),
        (["--out", "b.parquet"], "written as .csv"),
        (["--model", "oracle"], "model must be one of"),
    ],
)
def test_backtests_that_cannot_be_are_refused(tacit, release, words, said):
    ran = tacit("backtest", "release.parquet", *words)
    assert ran.code == 2
    assert said in ran.err


@pytest.mark.slow
def test_boosted_trees_are_tuned_explained_saved_and_loaded(tacit, tmp_path):
    written(tmp_path / "release.parquet", small_counts(n_days=150))
    words = ["--model", "boosting", "--country", "FR", "--horizon", 1]
    ran = tacit("forecast", "release.parquet", *words, "--tune", 1, "--importance", "--save", "a.tacit")
    assert ran.code == 0, ran.err
    assert "Tried " in ran.out
    assert "What mattered most" in ran.out
    written(tmp_path / "later.parquet", small_counts(n_days=152))
    later = tacit("forecast", "later.parquet", "--load", "a.tacit", "--horizon", 1)
    assert later.code == 0, later.err
    assert "2 periods more" in later.out


@pytest.mark.parametrize("words", [["--tune", 5], ["--importance"], ["--model", "weekday-mean", "--importance"]])
def test_other_models_are_neither_tuned_nor_explained(tacit, release, words):
    ran = tacit("forecast", "release.parquet", *words)
    assert ran.code == 2
    assert "Add: --model boosting" in ran.err


def test_a_model_that_makes_no_use_of_holidays_says_so(tacit, release):
    ran = tacit("forecast", "release.parquet", "--model", "weekday-mean", "--country", "FR", "--horizon", 1)
    assert "makes no use of holidays" in ran.err
    assert "Made of the release: no raw data" in ran.out
