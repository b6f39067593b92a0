"""Tables of the user's own, joined by date."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from small_series import PLACES, small_domain
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import AmbiguousDate, DataError, MissingColumn, SettingError
from tacit.events import ReadOptions
from tacit.forecast.covariate_table import read_covariates
from tacit.statespace.covariates import Covariates

DOMAIN = Domain(TimeAxis("2016-01-01", "day", "UTC", 5), PlaceAxis.of(PLACES))


def _written(folder: Path, text: str) -> Path:
    path = folder / "weather.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_rows_are_joined_by_date_in_any_order(tmp_path: Path) -> None:
    path = _written(tmp_path, "date;rain;wind\n03/01/2016;2,5;1e1\n13/01/2016;1;1\n01/01/2016;0,5;\n")
    known = read_covariates(path, DOMAIN, horizon=0)
    np.testing.assert_array_equal(known.columns["rain"][:3], [0.5, np.nan, 2.5])
    np.testing.assert_array_equal(known.columns["wind"][:3], [np.nan, np.nan, 10.0])


def test_parquet_and_frames_give_the_same(tmp_path: Path) -> None:
    table = pa.table(
        {"day": pa.array(np.arange("2016-01-01", "2016-01-06", dtype="datetime64[D]")), "t": [1, 2, None, 4, 5]}
    )
    pq.write_table(table, tmp_path / "weather.parquet")
    for source in (table, tmp_path / "weather.parquet"):
        known = read_covariates(source, DOMAIN, date="day", horizon=0)
        np.testing.assert_array_equal(known.columns["t"], [1, 2, np.nan, 4, 5])


def test_numbers_by_place_have_a_column_for_each(tmp_path: Path) -> None:
    path = _written(tmp_path, "date,town,rain\n2016-01-02,south,3\n2016-01-02,North,1\n2016-01-04,West,\n")
    known = read_covariates(path, DOMAIN, place="town", horizon=0)
    np.testing.assert_array_equal(known.columns["rain"][:2], [[np.nan] * 3, [1.0, 3.0, np.nan]])


def test_days_are_averaged_over_weeks_and_spread_over_hours(tmp_path: Path) -> None:
    path = _written(tmp_path, "date,rain\n2018-01-01,1\n2018-01-02,3\n")
    weeks = Domain(TimeAxis("2018-01-01", "week", "UTC", 1), PlaceAxis.of(PLACES))
    hours = Domain(TimeAxis("2018-01-01", "6 hours", "UTC", 8), PlaceAxis.of(PLACES))
    assert read_covariates(path, weeks, horizon=0).columns["rain"].tolist() == [2.0]
    assert read_covariates(path, hours, horizon=0).columns["rain"].tolist() == [1.0] * 4 + [3.0] * 4


def test_what_the_table_does_not_reach_is_the_usual_of_the_season() -> None:
    domain = small_domain()
    days = np.arange(730)
    warm = 10 + 8 * np.cos(2 * np.pi * days / 365.25)
    table = pa.table({"date": pa.array(domain.time.starts().astype("datetime64[D]")), "warmth": warm})
    known = read_covariates(table, domain, horizon=180)
    ahead = np.arange(730, 910)
    np.testing.assert_allclose(known.columns["warmth"][730:], 10 + 8 * np.cos(2 * np.pi * ahead / 365.25), atol=0.6)
    assert known.notes == ("warmth is forecast from 2017-12-31 on by what is usual for the season",)


@pytest.mark.false_failure(1e-9)
def test_an_anomaly_fades(seed: int) -> None:
    """From 10 to 7.4 +- 0.3 in a day, and to 0.6 +- 0.5 in two months, over 60 seeds."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=730)
    for t in range(1, 730):
        values[t] += 0.8 * values[t - 1]
    values[-1] = 10.0
    domain = small_domain()
    table = pa.table({"date": pa.array(domain.time.starts().astype("datetime64[D]")), "x": values})
    ahead = read_covariates(table, domain, horizon=60).columns["x"][730:]
    assert 4.5 < ahead[0] < 10
    assert abs(ahead[-1]) < 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "date,rain\n2016-01-01,wet\n2016-01-02,1\n",
            "row 2, column rain: each entry must be a number or blank; 1 of 2",
        ),
        ("date,rain\n2016-01-02,1\n2016-01-01,1\n2016-01-02,1\n", "rows 2 and 4 have the same"),
        ("date,rain\n2016-01-01,1\nsoon,1\n", "row 3, column date: each entry must be a date; 1 are not"),
        ("date,rain\n2016-01-01,1\n,1\n", "row 3, column date: each entry must not be blank"),
        ("date,rain\n01/13/2016,1\n13/01/2016,1\n", "row 3 can only be day first, the one in row 2 only month first"),
        ("date,rain\n01/02/2016,1\n", "no date tells .* in row 2"),
        ("date,rain\n", "has no rows|no rows"),
        ("date,rain\n2012-01-01,1\n2012-01-02,1\n", "between 2016-01-01 and 2016-01-05, .*; none of 2 does"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_with_row_and_column(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message) as refused:
        read_covariates(_written(tmp_path, text), DOMAIN)
    assert "wet" not in str(refused.value)
    assert "weather.csv" in str(refused.value)


def test_unknown_columns_places_and_orders_of_dates_are_refused(tmp_path: Path) -> None:
    path = _written(tmp_path, "date,town,rain\n01/02/2016,Atlantis,1\n")
    with pytest.raises(MissingColumn, match="has no column 'city'"):
        read_covariates(path, DOMAIN, place="city")
    with pytest.raises(AmbiguousDate):
        read_covariates(path, DOMAIN)
    with pytest.raises(DataError, match="row 2, column town: each entry must be a place of the series"):
        read_covariates(path, DOMAIN, place="town", options=ReadOptions(date_format="day-first"))
    with pytest.raises(SettingError, match="must have a column of numbers"):
        read_covariates(_written(tmp_path, "date\n2016-01-01\n"), DOMAIN)


def test_columns_of_words_are_left_out_and_named(tmp_path: Path) -> None:
    path = _written(tmp_path, "date,station,rain,nothing\n2016-01-01,Airport,1,\n2016-01-02,Airport,2,NA\n")
    known = read_covariates(path, DOMAIN, horizon=0)
    assert known.names == ("rain", "nothing")
    assert known.notes[0] == "the column station of weather.csv holds no number and is left out"
    with pytest.raises(SettingError, match="must have a column of numbers"):
        read_covariates(_written(tmp_path, "date,sky\n2016-01-01,grey\n"), DOMAIN)


def test_tables_are_joined_side_by_side() -> None:
    one = Covariates(DOMAIN.time, {"rain": np.zeros(5)}, ("a",))
    other = Covariates(DOMAIN.time.with_end(9), {"snow": np.zeros(9)}, ("b",))
    joined = one.joined(other)
    assert joined.names == ("rain", "snow")
    assert joined.time.n_bins == 9
    assert joined.notes == ("a", "b")
    with pytest.raises(SettingError, match="got rain twice"):
        one.joined(one)


def test_covariates_of_another_axis_or_other_places_are_refused() -> None:
    with pytest.raises(SettingError, match="time axis of the series"):
        Covariates(TimeAxis("2017-01-01", "day", "UTC", 5), {}).check_starts_with(DOMAIN)
    with pytest.raises(SettingError, match="must have the 3 places"):
        Covariates(DOMAIN.time, {"rain": np.zeros((5, 2))}).check_starts_with(DOMAIN)
