"""Tables that people open: plain readers read them, and they say what the release says."""

from __future__ import annotations

import math
from datetime import datetime

import duckdb
import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_worlds import days_places_and_kinds, reported, simulated_estimate
from tacit._base.rounding import round_limits, round_to_error
from tacit.collection.tallying import estimate_tally
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError
from tacit.forecast.holidays import public_holidays
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.registry import plan_for
from tacit.privacy.ledger import Spend
from tacit.release import Release, Rules
from tacit.release.exports import MEANINGS, wide_table

NAMES = ("Besançon", "=HYPERLINK(A1)", "#REF!", "-2+3")
DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-03-31"), PlaceAxis.of(NAMES))
PLAN, ESTIMATE = simulated_estimate(np.random.default_rng(3).poisson(40, DOMAIN.shape), domain=DOMAIN)
RULES = Rules.parse(suppress=("count < 30",), grey=("count < 40",), missing=("2018-02-10",))


@pytest.fixture(scope="module")
def smooth():
    return Release.of(PLAN, ESTIMATE, refine="smooth")


@pytest.fixture(scope="module")
def ruled():
    return Release.of(PLAN, ESTIMATE, refine="project", rules=RULES)


def test_plain_readers_read_a_csv_and_its_numbers_are_those_to_believe(tmp_path, smooth):
    smooth.write(tmp_path / "r.csv")
    table = pd.read_csv(tmp_path / "r.csv")
    assert list(table) == [name for name in MEANINGS if name not in ("kind", "delta")]
    lower, upper = smooth.recommended.noise.intervals(smooth.recommended.values, 0.95)
    error = smooth.recommended.noise.standard_errors().ravel()
    assert (np.abs(table["estimate"] - smooth.refined.values.ravel()) <= error / 20).all()
    assert (np.abs(table["low"] - lower.ravel()) <= 0.5).all()
    assert (np.abs(table["high"] - upper.ravel()) <= 0.5).all()
    measured = smooth.unbiased.noise.standard_errors().ravel()
    assert (np.abs(table["measured"] - smooth.unbiased.values.ravel()) <= measured / 20).all()
    assert table["reliable"].tolist() == smooth.reliable().ravel().tolist()
    assert set(table["basis"]) == {"smoothed"}
    assert set(table["status"]) == {"shown"}
    assert set(table["unit"]) == {"nothing: this is a simulation"}
    assert (table["epsilon"] >= smooth.statement.total_epsilon).all()
    assert (table["epsilon"] < smooth.statement.total_epsilon + 1e-4).all()
    for other in (pl.read_csv(tmp_path / "r.csv").to_pandas(), duckdb.read_csv(str(tmp_path / "r.csv")).df()):
        assert list(other) == list(table)
        assert (other["estimate"].to_numpy() == table["estimate"].to_numpy()).all()
        assert other["place"].tolist() == table["place"].tolist()


def test_a_csv_has_no_comments_and_no_long_lines(tmp_path, smooth):
    smooth.write(tmp_path / "r.csv")
    lines = (tmp_path / "r.csv").read_text(encoding="utf-8-sig").splitlines()
    assert len(lines) == 1 + 90 * 4
    assert max(map(len, lines)) < 200
    assert lines[0].startswith("place,period,estimate,low,high,")
    assert (tmp_path / "r.csv").read_bytes().startswith(b"\xef\xbb\xbf")  # spreadsheets then know that it is UTF-8


def test_a_release_that_only_measures_has_one_number_a_cell(tmp_path):
    Release.of(PLAN, ESTIMATE, refine="project").write(tmp_path / "r.csv")
    table = pd.read_csv(tmp_path / "r.csv")
    assert "measured" not in table
    assert set(table["basis"]) == {"measured"}


def test_what_is_not_shown_is_blank_and_said_in_words(tmp_path, ruled):
    ruled.write(tmp_path / "r.csv")
    table = pd.read_csv(tmp_path / "r.csv")
    assert set(table["status"]) == {"shown", "greyed", "suppressed", "no data"}
    is_blank = table["status"].isin(["suppressed", "no data"])
    for name in ("estimate", "low", "high"):
        assert table[name].isna().tolist() == is_blank.tolist()
    assert set(table.loc[table["status"] == "no data", "period"]) == {"2018-02-10"}
    assert not table.loc[table["status"] != "shown", "reliable"].any()
    months = Release.of(PLAN, ESTIMATE, by="month", refine="project", rules=Rules.parse(missing=("2018-02-10",)))
    statuses = months.table()["status"]
    assert set(statuses) == {"shown", "shown, no data on 1 day"}


def test_a_curators_table_says_its_delta_and_whom_it_protects(tmp_path):
    plan = central_plan_for(DOMAIN, rho=0.5, delta=1e-6)
    mechanism = central_mechanism_of(plan)
    counts = ExactTally(np.full(DOMAIN.shape, 40))
    release = Release.of(plan, mechanism.measure(counts, plan, spend=Spend.simulation(mechanism.cost, seed=1)))
    release.write(tmp_path / "r.csv")
    table = pd.read_csv(tmp_path / "r.csv")
    assert set(table["delta"]) == {1e-6}
    assert (table["epsilon"] >= plan.epsilon).all()


def test_kinds_have_a_column(tmp_path):
    plan = plan_for(days_places_and_kinds(5, 2), epsilon=1.0, mechanism="unary")
    release = Release.of(plan, estimate_tally(reported(plan, np.full((5, 6), 50), 1), plan))
    table = release.table()
    assert list(table)[:4] == ["place", "period", "kind", "estimate"]
    release.write(tmp_path / "w.csv", wide=True)
    wide = pd.read_csv(tmp_path / "w.csv")
    assert list(wide) == ["period", "kind", "place 0", "place 1"]
    tidy = pd.DataFrame(table).set_index(["period", "kind", "place"])["estimate"].unstack()
    found = wide.set_index(["period", "kind"])
    pd.testing.assert_frame_equal(found.sort_index(), tidy.sort_index(), check_names=False, check_dtype=False)


def test_a_wide_table_has_a_row_for_every_period_and_the_calendar_beside(tmp_path, smooth):
    holidays = public_holidays(DOMAIN.time, country="FR")
    smooth.write(tmp_path / "w.csv", wide=True, calendar=True, holidays=holidays)
    table = pd.read_csv(tmp_path / "w.csv")
    assert list(table) == ["period", "weekday", "month", "year", "holiday", "Besançon", "'=HYPERLINK(A1)", *(
        "#REF!", "'-2+3",
    )]  # fmt: skip
    dates = pd.to_datetime(table["period"])
    assert table["weekday"].tolist() == dates.dt.day_name().tolist()
    assert table["month"].tolist() == dates.dt.month.tolist()
    assert set(table["year"]) == {2018}
    assert dict(zip(table["period"], table["holiday"], strict=True))["2018-01-01"] == "New Year's Day"
    assert table["holiday"].notna().sum() == len(holidays)
    tidy = smooth.table()
    assert table["Besançon"].tolist() == tidy["estimate"][tidy["place"] == "Besançon"].tolist()


def test_the_calendar_is_that_of_the_period(smooth):
    months = wide_table(smooth.coarsen(time="month"), calendar=True)
    assert (months["month"].tolist(), months["year"].tolist()) == ([1, 2, 3], [2018] * 3)
    assert "weekday" not in months
    years = wide_table(smooth.coarsen(time="year"), calendar=True)
    assert list(years)[:2] == ["period", "year"]
    with pytest.raises(SettingError, match="a week may lie in two months"):
        wide_table(smooth.coarsen(time="week"), calendar=True)
    with pytest.raises(SettingError, match="holidays are days; these periods are of one month"):
        wide_table(smooth.coarsen(time="month"), holidays={})


def test_what_a_table_cannot_be_is_refused(tmp_path, smooth):
    for settings, words in (
        ({"path": "r.parquet", "wide": True}, r"written as \.csv or \.xlsx"),
        ({"path": "r.csv", "calendar": True}, "are for a wide table"),
        ({"path": "r.csv", "holidays": {}}, "are for a wide table"),
        ({"path": "r.txt"}, r"\.parquet, \.csv or \.xlsx"),
    ):
        path = tmp_path / settings.pop("path")
        with pytest.raises(SettingError, match=words):
            smooth.write(path, **settings)
        assert not path.exists()
    plan, estimate = simulated_estimate(
        np.full((2, 2), 9), domain=Domain(TimeAxis.between("2018-01-01", "2018-01-02"), PlaceAxis.of(["month", "b"]))
    )
    assert list(wide_table(Release.of(plan, estimate))) == ["period", "month", "b"]
    with pytest.raises(SettingError, match="two columns 'month'"):
        wide_table(Release.of(plan, estimate), calendar=True)


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_an_export_is_not_read_back_and_the_error_says_what_is(tmp_path, smooth, ending):
    path = tmp_path / f"r{ending}"
    path.write_text("place,period\n# tacit: {}\n", encoding="utf-8")
    with pytest.raises(FormatError, match=r"Give the \.parquet file of the release"):
        Release.read(path)
    smooth.write(tmp_path / "r.parquet")
    (tmp_path / "r.parquet").rename(path)
    assert Release.read(path).checksum == smooth.checksum  # a renamed release is one all the same


def test_a_workbook_has_typed_cells_a_frozen_header_and_the_statement(tmp_path, smooth):
    smooth.write(tmp_path / "r.xlsx")
    book = openpyxl.load_workbook(tmp_path / "r.xlsx")
    assert book.sheetnames == ["Counts", "Privacy"]
    counts, privacy = book["Counts"], book["Privacy"]
    assert counts.freeze_panes == "A2"
    header, *rows = counts.iter_rows(values_only=True)
    tidy = smooth.table()
    assert list(header) == list(tidy)
    for position, (name, column) in enumerate(tidy.items()):
        found = [row[position] for row in rows]
        expected = [datetime.fromisoformat(day) for day in column] if name == "period" else column.tolist()
        assert found == expected, name
    types = {name: counts.cell(2, position).data_type for position, name in enumerate(header, 1)}
    assert {types[name] for name in ("estimate", "low", "high", "level", "epsilon")} == {"n"}
    assert (types["reliable"], types["period"], types["place"]) == ("b", "d", "s")
    assert not any(cell.data_type == "f" for row in counts.iter_rows() for cell in row)  # a name is no formula
    said = dict(privacy.iter_rows(values_only=True))
    for heading, words in smooth.statement.paragraphs():
        assert said[heading] == words
    assert said["estimate"] == MEANINGS["estimate"]
    assert "delta" not in said


def test_a_workbook_may_be_wide_and_blank_cells_are_empty(tmp_path, ruled):
    ruled.write(tmp_path / "w.xlsx", wide=True, calendar=True)
    header, *rows = openpyxl.load_workbook(tmp_path / "w.xlsx")["Counts"].iter_rows(values_only=True)
    assert header == ("period", "weekday", "month", "year", *NAMES)
    numbers = np.array([row[4:] for row in rows], float)
    np.testing.assert_array_equal(np.isnan(numbers), ruled.blank())
    assert rows[0][:4] == (datetime(2018, 1, 1), "Monday", 1, 2018)


def test_a_sheet_that_no_program_opens_is_refused(tmp_path, smooth, monkeypatch):
    monkeypatch.setattr("tacit.release.exports._MOST_ROWS", 360)
    with pytest.raises(SettingError, match=r"at most 360 rows .* Write \.csv"):
        smooth.write(tmp_path / "r.xlsx")
    assert not (tmp_path / "r.xlsx").exists()


@given(
    value=st.floats(-1e7, 1e7),
    error=st.one_of(st.just(0.0), st.floats(1e-4, 1e6)),
    width=st.floats(0, 1e6),
)
def test_rounding_keeps_what_the_error_supports(value, error, width):
    """At most a twentieth of the error is lost, and an interval still holds every count that it held."""
    (rounded,) = round_to_error(np.array([value]), np.array([error]))
    assert abs(rounded - value) <= (error / 20 if error else 0.5) * (1 + 1e-9) + 1e-9
    (low,), (high,) = round_limits(np.array([value]), np.array([value + width]), np.array([error]))
    assert low <= math.floor(value + 0.5) + 1e-6
    assert high >= math.ceil(value + width - 0.5) - 1e-6
    assert low.is_integer()
    assert high.is_integer()
