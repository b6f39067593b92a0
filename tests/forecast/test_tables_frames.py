"""Frames in the convention unique_id, ds, y, whichever library they are of."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from small_series import PLACES, small_counts
from tacit.errors import DataError, MissingColumn, SettingError
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.tables import frame_of, levels_of, series_of_frame


def table(counts=None, **extra):
    counts = small_counts(n_days=60) if counts is None else counts
    n_days, n_places = counts.shape
    days = [dt.date(2016, 1, 1) + dt.timedelta(day) for day in range(n_days)]
    return {
        "unique_id": list(np.repeat(PLACES[:n_places], n_days)),
        "ds": days * n_places,
        "y": counts.T.ravel().tolist(),
        **extra,
    }


KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_of_any_library_becomes_the_same_series(kind):
    series = series_of_frame(KINDS[kind](table()), zone="Europe/Paris")
    assert series.columns == PLACES
    assert np.array_equal(series.values, small_counts(n_days=60))
    assert series.domain.time.label(0) == "2016-01-01"
    assert series.has_public_totals
    assert series.counted.all()


def test_rows_may_stand_in_any_order_and_gaps_are_missing():
    frame = (
        pl.DataFrame(table()).filter(pl.col("ds") != dt.date(2016, 1, 20)).sample(fraction=1.0, shuffle=True, seed=1)
    )
    series = series_of_frame(frame)
    assert np.flatnonzero(~series.counted).tolist() == [19]
    at = [series.columns.index(place) for place in PLACES]
    assert np.array_equal(series.values[:19, at], small_counts(n_days=60)[:19])


def test_a_place_that_lacks_a_row_is_unknown_there_and_says_nothing():
    counts = small_counts(n_days=60).astype(float)
    counts[10, 1] = np.nan
    series = series_of_frame(pd.DataFrame(table(counts)))
    assert series.counted.all()
    assert np.argwhere(~series.observed).tolist() == [[10, 1], [10, 3]]
    assert series.variances[10, 1] > 1e4 * counts[np.isfinite(counts)].max()
    assert series.variances[9].max() == 0
    made = WeekdayMean().fit(series).predict(1)
    assert made.counts.means[0, 1] == pytest.approx(np.nanmean(counts[:, 1]), rel=0.2)


def test_a_column_of_variances_is_the_noise():
    counts = small_counts(n_days=60)
    series = series_of_frame(pl.DataFrame(table(counts, variance=[4.0] * counts.size)))
    assert (series.variances == 4.0).all()
    assert (series.total_variances == 12.0).all()
    assert not series.has_public_totals


@pytest.mark.parametrize(
    ("step", "every", "label"), [("month", "1mo", "2016-01"), ("hour", "1h", "2016-01-01T00:00+00:00")]
)
def test_other_steps_are_named(step, every, label):
    start = dt.datetime(2016, 1, 1)
    when = pl.datetime_range(
        start, dt.datetime(2016, 1, 3) if step == "hour" else dt.datetime(2017, 1, 1), every, eager=True
    )
    frame = pl.DataFrame({"unique_id": ["a"] * len(when), "ds": when, "y": range(len(when))})
    series = series_of_frame(frame, step=step)
    assert len(series) == len(when)
    assert series.domain.time.label(0) == label


@pytest.mark.parametrize(
    ("frame", "error", "words"),
    [
        ({"unique_id": ["a"], "y": [1]}, MissingColumn, "'ds'"),
        ({"unique_id": ["a"], "ds": ["soon"], "y": [1]}, DataError, "dates or times"),
        ({"unique_id": ["a", None], "ds": [dt.date(2016, 1, 1)] * 2, "y": [1, 2]}, DataError, "blank in 1 rows"),
        ({"unique_id": ["a", "a"], "ds": [dt.date(2016, 1, 1)] * 2, "y": [1, 2]}, DataError, "more than one row"),
        ({"unique_id": ["a"], "ds": [dt.date(2016, 1, 1)], "y": ["x"]}, DataError, "numbers"),
        ({"unique_id": ["a"], "ds": [dt.date(2016, 1, 1)], "y": [-1.0]}, DataError, "below 0"),
        ({"unique_id": ["a"], "ds": [dt.date(2016, 1, 1)], "y": [1.0], "variance": [-1.0]}, DataError, "variance"),
        ({"unique_id": ["a"], "ds": [dt.date(2016, 1, 1)], "y": [float("inf")]}, DataError, "finite"),
    ],
)
def test_frames_that_cannot_be_used_are_refused_without_a_value(frame, error, words):
    with pytest.raises(error, match=words):
        series_of_frame(pa.table(frame))


def test_an_empty_frame_and_no_frame_are_refused():
    empty = pa.table({"unique_id": pa.array([], "string"), "ds": pa.array([], "date32"), "y": pa.array([], "int64")})
    with pytest.raises(DataError, match="no row"):
        series_of_frame(empty)
    with pytest.raises(DataError, match="speaks Arrow"):
        series_of_frame([1, 2])


@pytest.mark.parametrize("kind", KINDS)
def test_a_forecast_comes_back_as_a_frame(kind):
    made = WeekdayMean().fit(series_of_frame(pd.DataFrame(table()))).predict(3)
    frame = frame_of(made, level=[95, 80], kind=kind)
    columns = list(frame.column_names if kind == "pyarrow" else frame.columns)
    ends = ["weekday mean-lo-80", "weekday mean-hi-80", "weekday mean-lo-95", "weekday mean-hi-95"]
    assert columns == ["unique_id", "ds", "weekday mean", *ends]
    rows = pl.from_arrow(frame) if kind == "pyarrow" else pl.DataFrame(frame)
    assert rows.height == 3 * 4
    north = rows.filter(pl.col("unique_id") == "North")
    assert north["weekday mean"].to_list() == pytest.approx(made.counts.means[:, 0].tolist())
    everywhere = rows.filter(pl.col("unique_id") == "all")
    assert everywhere["weekday mean-hi-95"].to_list() == made.totals.intervals(0.95)[1].tolist()
    assert str(rows["ds"][0])[:10] == "2016-03-01"


def test_what_goes_out_can_come_back_in():
    made = WeekdayMean().fit(series_of_frame(pd.DataFrame(table()))).predict(3)
    frame = frame_of(made, kind="polars", with_total=False).rename({"weekday mean": "y"})
    assert series_of_frame(frame.select("unique_id", "ds", "y")).values.shape == (3, 3)


def test_levels_are_shares_or_percentages():
    assert levels_of([95, 80]) == levels_of([0.8, 95]) == (0.8, 0.95)
    for levels in ([1.5], [0.8, 80], [100], [], [80, 80], [-5]):
        with pytest.raises(SettingError, match="level must be"):
            levels_of(levels)
