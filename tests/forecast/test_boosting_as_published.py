"""The paper's model as published."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from small_series import noisy_series, small_domain, small_series
from tacit.domain import TimeAxis
from tacit.errors import SettingError
from tacit.forecast.boosting import PaperForecaster
from tacit.statespace.covariates import calendar_columns

QUICK = {"n_estimators": 30, "learning_rate": 0.3}


def test_the_calendar_is_the_papers() -> None:
    axis = TimeAxis.between("2015-12-30", "2017-01-02")
    columns = calendar_columns(axis, 370)
    assert list(columns) == [
        *("year", "month", "day", "weekday", "day of year"),
        *("leap year", "first of month", "last of month", "first of year", "last of year"),
    ]
    for number in range(370):
        day = dt.date(2015, 12, 30) + dt.timedelta(number)
        after = day + dt.timedelta(1)
        assert [column[number] for column in columns.values()] == [
            *(day.year, day.month, day.day, day.weekday(), day.timetuple().tm_yday),
            *(day.year == 2016, day.day == 1, after.day == 1, (day.month, day.day) == (1, 1), after.year > day.year),
        ]


def test_it_is_what_scikit_learn_and_xgboost_make_of_the_papers_sentence() -> None:
    from sklearn.multioutput import MultiOutputRegressor
    from xgboost import XGBRegressor

    series = small_series()
    calendar = np.column_stack(list(calendar_columns(small_domain().time, 730).values()))
    inputs = np.hstack([calendar, series.values])
    model = MultiOutputRegressor(
        XGBRegressor(objective="count:poisson", max_depth=3, base_score=0.5, tree_method="hist", n_jobs=1, **QUICK)
    )
    model.fit(inputs[:599], series.values[1:600])
    ours = PaperForecaster(**QUICK).fit(series.until(600))
    forecasts = ours.predict_from(series, np.arange(600, 730))
    np.testing.assert_allclose(forecasts.counts.means[:, 0], model.predict(inputs[599:729]), rtol=1e-5)
    np.testing.assert_allclose(ours.expect(ours.inputs(series)[599:729]), forecasts.counts.means[:, 0], rtol=1e-6)


def test_private_counts_are_clipped_as_in_the_paper() -> None:
    noisy = noisy_series(unit=5.0)
    counts = PaperForecaster(**QUICK).fit(noisy).inputs(noisy)[:, -3:]
    np.testing.assert_array_equal(counts, np.maximum(noisy.values, 0.0))
    assert (noisy.values < 0).any()


def test_bad_settings_are_refused() -> None:
    with pytest.raises(SettingError, match="max_depth must be"):
        PaperForecaster(max_depth=0).fit(small_series())
