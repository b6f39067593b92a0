"""Forecasts of counts by place and kind of event: columns of both, totals of all, tables and files that name kinds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from small_worlds import days_places_and_kinds, reported
from tacit.collection.tallying import estimate_tally
from tacit.counts.series import Series
from tacit.domain import ALL, Domain, KindAxis
from tacit.errors import PlanMismatch, SettingError
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.boosting import BoostingForecaster
from tacit.forecast.forecaster import FORECASTERS
from tacit.forecast.model_files import SavedModel
from tacit.forecast.past import series_of
from tacit.forecast.share_forecaster import ShareForecaster
from tacit.forecast.tables import frame_of, table_columns
from tacit.mechanisms.registry import plan_for
from tacit.pages.forecast_page import make_forecast_page
from tacit.release import Release
from tacit.statespace.covariates import Covariates

DOMAIN = days_places_and_kinds(120, 2)
RATES = np.array([[9.0, 3.0, 0.3], [4.0, 1.5, 0.1]]).ravel()
COUNTS = np.random.default_rng(11).poisson(np.tile(RATES, (120, 1)))
PEOPLE = dict(zip(DOMAIN.place.cells, (700.0, 300.0), strict=True))


def series_with(private):
    plan = plan_for(DOMAIN, epsilon=2.0, mechanism="unary", private=private)
    return Series.of(estimate_tally(reported(plan, COUNTS, 3), plan))


@pytest.fixture(scope="module")
def series():
    return series_with(("place", "kind"))


@pytest.fixture(scope="module")
def forecast(series):
    return ShareForecaster().fit(series).predict(3)


@pytest.mark.parametrize("name", FORECASTERS)
@pytest.mark.slow
def test_every_forecaster_speaks_of_places_and_kinds(series, name):
    made = FORECASTERS[name].make().fit(series).predict(2)
    assert made.domain.columns == DOMAIN.columns
    assert made.counts.means.shape == (2, 6)
    np.testing.assert_allclose(made.counts.means.sum(axis=1), made.totals.means, rtol=1e-6)
    assert 10 < made.totals.means[0] < 30
    assert made.counts.means[0, 0] > made.counts.means[0, 2]


@pytest.mark.parametrize("private", [("place",), ("kind",), ("place", "kind")])
def test_totals_are_of_all_places_and_kinds(private):
    series = series_with(private)
    assert series.has_public_totals
    np.testing.assert_array_equal(series.totals, COUNTS.sum(axis=1))
    again = Series.from_dict(series.to_dict())
    np.testing.assert_array_equal(again.observations.kinds, np.tile(np.arange(3), 2))


def test_a_table_names_the_kind_of_every_row(forecast):
    columns = table_columns(forecast)
    assert list(columns)[:4] == ["period", "place", "kind", "expected"]
    rows = list(zip(columns["place"].tolist(), columns["kind"].tolist(), strict=True))[:7]
    assert rows == [*((place, kind) for place in DOMAIN.place.cells for kind in DOMAIN.kind.cells), (ALL, ALL)]
    assert set(frame_of(forecast)["unique_id"].to_pylist()) == {*DOMAIN.columns, ALL}


def test_a_saved_model_knows_its_kinds(tmp_path, series, forecast):
    model = SavedModel.of(ShareForecaster().fit(series), series, plan="plan")
    model.write(tmp_path / "a.model")
    read = SavedModel.read(tmp_path / "a.model")
    assert (read.places, read.kinds) == (DOMAIN.place.cells, DOMAIN.kind.cells)
    np.testing.assert_array_equal(read.forecaster.predict(3).counts.means, forecast.counts.means)
    other = replace(series, domain=replace(DOMAIN, kind=KindAxis.of(["fire", "storm", "fall"])))
    with pytest.raises(PlanMismatch):
        read.n_newer(other, plan="plan")
    with pytest.raises(PlanMismatch, match="kinds"):
        read.forecaster.predict_from(other, np.array([100]))


def test_populations_are_those_of_places(series):
    made = ShareForecaster(prior=PEOPLE).fit(series)
    units = made._shares.sizes.units.reshape(2, 3)
    np.testing.assert_allclose(units / units.sum(axis=0), [[0.7] * 3, [0.3] * 3])
    with pytest.raises(SettingError, match="1 of 2 have none"):
        ShareForecaster(prior={DOMAIN.place.cells[0]: 1.0}).fit(series)


def test_trees_are_told_the_kind_and_the_place_apart(series):
    made = BoostingForecaster(n_estimators=5)
    weather = Covariates(DOMAIN.time, {"rain": np.random.default_rng(1).normal(size=(120, 2))})
    names, _ = made.columns(DOMAIN, weather)
    assert names[:2] == ("place", "kind")
    assert made.columns(Domain(DOMAIN.time, DOMAIN.place), None)[0][:2] == ("place", "bins ahead")
    made.fit(series, weather)
    told = made.told(series, 100, 101)
    rows = told.features(np.array([100]), np.array([1]), np.ones((1, 1, 7)))
    assert rows[:, 0].tolist() == [0, 0, 0, 1, 1, 1, -1]  # the busier place first, all together last
    assert rows[:, 1].tolist() == [0, 1, 2, 0, 1, 2, -1]
    rain = rows[:, list(names).index("rain")]
    assert (rain[:3] == rain[0]).all()
    assert rain[3] != rain[0]
    assert rain[6] == pytest.approx((rain[0] + rain[3]) / 2)


def test_a_page_of_a_forecast_asks_for_a_release_of_all_kinds(tmp_path):
    plan = plan_for(DOMAIN, epsilon=2.0, mechanism="unary")
    release = Release.of(plan, estimate_tally(reported(plan, COUNTS, 3), plan), refine="project")
    made = WeekdayMean().fit(series_of(release)).predict(2)
    with pytest.raises(SettingError, match='kind="all"'):
        make_forecast_page(made, release, tmp_path / "page.html")
