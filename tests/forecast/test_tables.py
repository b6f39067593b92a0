"""Forecasts as tables keep their labels; crews are whole."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from small_series import PLACES, noisy_series, small_series
from tacit.errors import SettingError
from tacit.forecast import CountDistribution
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.forecast import crews_for
from tacit.forecast.forecaster import DEFAULT, FORECASTERS, entry_named, forecaster_named, settings_for
from tacit.forecast.tables import table_columns, write_forecast

MADE = WeekdayMean().fit(noisy_series()).predict(3)


def test_the_table_has_a_row_for_every_period_and_place_and_all_together():
    columns = table_columns(MADE, levels=(0.8, 0.95), quantile=0.9, per_crew=4)
    assert list(columns) == [
        *("period", "place", "expected", "lower_80", "upper_80", "lower_95", "upper_95", "at_most_90", "crews")
    ]
    assert columns["place"].tolist() == [*PLACES, "all"] * 3
    assert columns["crews"].tolist() == np.ceil(columns["at_most_90"] / 4).tolist()
    assert (columns["lower_95"] <= columns["lower_80"]).all()
    assert (columns["upper_80"] <= columns["upper_95"]).all()


def test_a_csv_says_that_it_comes_from_a_simulation(tmp_path):
    write_forecast(MADE, tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    assert all(row["label"].startswith("SIMULATION") for row in rows)
    assert [row["period"] for row in rows[::4]] == ["2017-12-31", "2018-01-01", "2018-01-02"]


def test_a_parquet_file_carries_the_label_too(tmp_path):
    write_forecast(MADE, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.num_rows == 12
    about = json.loads(table.schema.metadata[b"tacit"])
    assert about["is_simulation"] is True
    assert about["forecaster"] == "weekday mean"


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(SettingError, match=r"\.parquet or \.csv"):
        write_forecast(MADE, tmp_path / "a.xlsx")


@pytest.mark.parametrize("per_crew", [1, 2.5, 7])
def test_crews_are_enough_and_one_fewer_is_not(per_crew):
    distribution = CountDistribution(np.array([0.3, 4.0, 60.0]), np.array([0.4, 6.0, 100.0]))
    crews = crews_for(distribution, quantile=0.9, per_crew=per_crew)
    assert (distribution.up_to(np.floor(crews * per_crew)) >= 0.9).all()
    fewer = distribution.up_to(np.floor((crews - 1) * per_crew))
    assert (fewer[crews > 0] < 0.9).all()


@pytest.mark.parametrize("settings", [{"quantile": 1.0}, {"quantile": float("nan")}, {"per_crew": 0}])
def test_crews_need_a_share_and_a_number(settings):
    with pytest.raises(SettingError):
        crews_for(CountDistribution(np.ones(1), np.ones(1)), **settings)


def test_every_forecaster_of_the_table_can_be_made_and_says_its_name():
    for name, entry in FORECASTERS.items():
        assert entry.make().name == name
        assert entry_named(entry.word) is entry
        assert " " not in entry.word
    assert forecaster_named().name == DEFAULT


def test_a_forecaster_nobody_knows_or_a_setting_it_lacks_is_refused():
    with pytest.raises(SettingError, match="model must be one of share"):
        forecaster_named("oracle")
    with pytest.raises(SettingError, match="has no setting epsilon"):
        forecaster_named("weekday-mean", epsilon=1)
    assert settings_for("weekday-mean", years=None, seed=3) == {}
    assert settings_for("weekday-mean", years=2) == {"years": 2}


def test_exact_series_make_no_label(tmp_path):
    write_forecast(WeekdayMean().fit(small_series()).predict(1), tmp_path / "a.csv")
    assert "SIMULATION" not in (tmp_path / "a.csv").read_text(encoding="utf-8")
