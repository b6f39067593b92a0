"""Charts of forecasts hold the forecast's numbers, and a watermark where the truth was looked at."""

from __future__ import annotations

import numpy as np
import pytest

from small_series import PLACES, noisy_series, small_counts
from tacit.counts.tally import ExactTally
from tacit.forecast.backtest import backtest
from tacit.forecast.baselines import SeasonalNaive, WeekdayMean
from tacit.pages.figures import LABORATORY
from tacit.pages.figures.forecasts import (
    FEW_BINS,
    expected_counts,
    expected_in_all,
    fan_chart,
    fan_rows,
    leaderboard_chart,
    leads_chart,
)

SERIES = noisy_series(n_days=120)
PAST = [{"start": "2016-04-29", "count": 40.0}]


def made(horizon: int):
    return WeekdayMean().fit(SERIES).predict(horizon)


def marks_of(chart) -> list[str]:
    return [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]


def rows_in(chart: dict) -> list[dict]:
    """Rows that all layers share stand with the chart, others with their layer."""
    return (chart.get("data") or chart["layer"][0]["data"])["values"]


def test_rows_of_a_fan_go_from_the_outermost_interval_in():
    forecast = made(3)
    rows = fan_rows(forecast, (0.8, 0.95), 1)
    assert [row["start"] for row in rows] == ["2016-04-30", "2016-05-01", "2016-05-02"]
    assert rows[0]["expected"] == pytest.approx(forecast.counts.means[0, 1], abs=0.01)
    assert [row["upper0"] for row in rows] == forecast.counts.intervals(0.95)[1][:, 1].tolist()
    assert [row["lower1"] for row in rows] == forecast.counts.intervals(0.8)[0][:, 1].tolist()
    assert fan_rows(forecast, (0.8, 0.95), None)[0]["upper0"] == forecast.totals.intervals(0.95)[1][0]


def test_few_bins_are_drawn_one_by_one_and_many_as_bands():
    few, many = (fan_chart(PAST, fan_rows(made(n), (0.8, 0.95), None)) for n in (FEW_BINS, FEW_BINS + 1))
    assert "area" not in marks_of(few)
    assert marks_of(many).count("area") == 2


def test_a_forecast_as_counts_is_its_means_within_its_limits():
    forecast = made(2)
    counts, whole = expected_counts(forecast, 0.8), expected_in_all(forecast, 0.8)
    assert counts.places == whole.places == PLACES
    assert np.array_equal(counts.values, forecast.counts.means)
    assert ((counts.lower <= counts.values) & (counts.values <= counts.upper)).all()
    assert whole.values[0].tolist() == forecast.sums.means.tolist()
    assert whole.periods == ("2016-04-30 to 2016-05-01",)


@pytest.mark.parametrize("is_laboratory", [False, True])
def test_leaderboards_are_drawn_with_the_best_first(is_laboratory):
    truth = ExactTally(small_counts(n_days=120)) if is_laboratory else None
    board = backtest([SeasonalNaive(), WeekdayMean()], SERIES, origins=6, horizon=7, truth=truth)
    chart = leaderboard_chart(board).to_dict()
    rows = rows_in(chart)
    assert [row["model"] for row in rows] == [score.name for score in board.scores]
    for row, score in zip(rows, board.scores, strict=True):
        error = score.mae.value if is_laboratory else score.rmse
        assert row["lower"] <= row["error"] == pytest.approx(error, abs=1e-4)
    leads = leads_chart(board).to_dict()
    assert len(rows_in(leads)) == 14
    for drawn in (chart, leads):
        assert (LABORATORY in str(drawn)) == is_laboratory
