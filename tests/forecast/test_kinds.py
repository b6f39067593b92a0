"""Forecasts of counts by place and kind of event: columns of both, totals of all, tables and files that name kinds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from small_worlds import days_places_and_kinds, reported
from statistical import Recorded, assert_as_recorded
from tacit.collection.tallying import estimate_tally
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Series
from tacit.domain import ALL, Domain, KindAxis
from tacit.errors import PlanMismatch, SettingError
from tacit.forecast.backtest import backtest
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.boosting import BoostingForecaster
from tacit.forecast.forecast import Forecast
from tacit.forecast.forecaster import FORECASTERS, coming
from tacit.forecast.model_files import SavedModel
from tacit.forecast.share_forecaster import ShareForecaster
from tacit.forecast.tables import frame_of, table_columns
from tacit.mechanisms.registry import plan_for
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
    assert list(columns)[:5] == ["period", "place", "kind", "kind_level", "expected"]
    rows = list(zip(*(columns[name].tolist() for name in ("place", "kind", "kind_level")), strict=True))
    chosen = [("danger", "group"), ("help", "group"), *((kind, "kind") for kind in DOMAIN.kind.cells), (ALL, ALL)]
    first = [(place, *kind) for kind in chosen for place in (*DOMAIN.place.cells, ALL)]
    assert rows == 3 * first
    wanted = [forecast.coarsen(kind="group").counts.means[0, 0], forecast.totals.means[0]]
    assert [columns["expected"][0], columns["expected"][len(first) - 1]] == pytest.approx(wanted, abs=1e-3)
    names = frame_of(forecast)["unique_id"].to_pylist()
    places, kinds = (*DOMAIN.place.cells, ALL), ("danger", "help", *DOMAIN.kind.cells, ALL)
    assert set(names) == {f"{place}, {kind}" for place in places for kind in kinds} - {"all, all"} | {ALL}
    assert set(frame_of(forecast, with_total=False)["unique_id"].to_pylist()) == set(DOMAIN.columns)


def test_sums_of_places_and_kinds_have_the_moments_of_a_total_and_shares():
    """Counts are a gamma total, shared out by Dirichlet shares: every sum has the moments that enumeration gives."""
    means, phi, omega = np.array([4.0, 1.0, 2.0, 9.0, 3.0, 1.0]), 0.1, 0.05
    whole = means.sum()
    share = means / whole

    def of(s):
        # E T^2 Var s + Var T s^2, with Poisson chance: shares vary by omega' s (1 - s), and the total is independent
        squares = whole**2 * (1 + phi)
        return whole * s + whole**2 * phi * s**2 + omega * squares * s * (1 - s)

    made = Forecast(
        coming(DOMAIN, 1),
        CountDistribution(means[None], of(share)[None]),
        CountDistribution(np.array([whole]), np.array([of(1.0)])),
        CountDistribution(means, of(share)),
        CountDistribution(np.array([whole]), np.array([of(1.0)])),
        "any",
    )
    for levels in ({"kind": ALL}, {"place": ALL}, {"kind": "group"}, {"place": ALL, "kind": "group"}):
        added, grouping = DOMAIN.coarsen(**levels)
        sums = np.bincount(grouping.columns, means)
        found = made.coarsen(**levels)
        assert found.domain.columns == added.columns
        for one in (found.counts[0], found.sums):
            np.testing.assert_allclose(one.means, sums)
            np.testing.assert_allclose(one.variances, of(sums / whole))
    assert made.coarsen(kind="kind") is made
    in_all = made.coarsen(place=ALL, kind=ALL)
    np.testing.assert_allclose(in_all.counts.variances[:, 0], made.totals.variances)


def test_a_forecast_has_a_part_for_all_kinds_each_group_and_each_kind(forecast):
    parts = forecast.by_kinds()
    assert [(level, name) for level, name, _ in parts] == [
        (ALL, ""),
        ("group", "danger"),
        ("group", "help"),
        *(("kind", kind) for kind in DOMAIN.kind.cells),
    ]
    for _, _, part in parts:
        assert part.domain.columns == DOMAIN.place.cells
        np.testing.assert_allclose(part.counts.means.sum(axis=1), part.totals.means)
        np.testing.assert_allclose(part.sums.means.sum(), part.total_sum.means)
    np.testing.assert_array_equal(parts[3][2].counts.variances, forecast.counts.variances[:, ::3])
    np.testing.assert_allclose(parts[0][2].totals.variances, forecast.totals.variances)
    without = parts[0][2]
    assert without.by_kinds() == [(ALL, "", without)]


@pytest.mark.slow
@pytest.mark.parametrize("name", FORECASTERS)
def test_sums_of_every_forecaster_vary_as_the_total_at_least_and_as_one_error_at_most(series, name):
    made = FORECASTERS[name].make().fit(series).predict(2)
    relative = np.maximum(made.totals.variances / made.totals.means - 1, 0) / made.totals.means
    for levels in ({"kind": ALL}, {"place": ALL}):
        groups = DOMAIN.coarsen(**levels)[1].columns
        found, sds = made.coarsen(**levels).counts, np.sqrt(np.maximum(made.counts.variances, made.counts.means))
        least = found.means + relative[:, None] * np.square(found.means)
        assert (found.variances >= 0.9999 * least).all()
        for group in range(groups.max() + 1):
            largest = np.square(sds[:, groups == group].sum(axis=1))
            assert (found.variances[:, group] <= 1.0001 * np.maximum(largest, least[:, group])).all()


def test_a_saved_model_knows_its_kinds(tmp_path, series, forecast):
    model = SavedModel(ShareForecaster().fit(series), series, plan="plan")
    model.write(tmp_path / "a.model")
    read = SavedModel.read(tmp_path / "a.model")
    assert (read.series.domain.place.cells, read.series.domain.kind) == (DOMAIN.place.cells, DOMAIN.kind)
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


def test_a_backtest_speaks_of_places_and_kinds(series):
    board = backtest([WeekdayMean()], series, origins=3, horizon=2)
    assert "6 forecasts of every place and kind, from" in board.remarks()[0]
    one = Series.exact(Domain(DOMAIN.time, DOMAIN.place), COUNTS.reshape(120, 2, 3).sum(axis=2))
    assert "6 forecasts of every place, from" in backtest([WeekdayMean()], one, origins=3, horizon=2).remarks()[0]


COVERAGE: Recorded = {
    "pairs, days, 80": (0.8046, 0.028),
    "pairs, week, 80": (0.8147, 0.064),
    "pairs, days, 95": (0.9492, 0.018),
    "pairs, week, 95": (0.9432, 0.046),
    "places, days, 80": (0.8175, 0.045),
    "places, week, 80": (0.8641, 0.12),
    "places, days, 95": (0.9552, 0.025),
    "places, week, 95": (0.9655, 0.061),
    "kinds, days, 80": (0.8291, 0.052),
    "kinds, week, 80": (0.8323, 0.14),
    "kinds, days, 95": (0.9581, 0.027),
    "kinds, week, 95": (0.9661, 0.062),
    "groups, days, 80": (0.8362, 0.063),
    "groups, week, 80": (0.8692, 0.16),
    "groups, days, 95": (0.9589, 0.034),
    "groups, week, 95": (0.9616, 0.086),
}
"""Coverage of 80 % and 95 % intervals in two worlds, of days and of the whole week. Kinds are public in the second."""
SUMS = {"pairs": {}, "places": {"kind": ALL}, "kinds": {"place": ALL}, "groups": {"place": ALL, "kind": "group"}}


def coverage(seed):
    """Worlds in which places, kinds and weekdays differ, and each place and kind moves on its own."""
    found = {}
    domain, n_days = days_places_and_kinds(207, 4), 200
    for rng, private in zip(np.random.default_rng(seed).spawn(2), (("place", "kind"), ("place",)), strict=True):
        sizes = rng.dirichlet(np.ones(4))[:, None] * rng.dirichlet([4.0, 2.0, 0.5])
        moves = [np.exp(np.cumsum(rng.normal(0, 0.01, (207, n)), axis=0)) for n in (4, 3)]
        rates = 60 * sizes * moves[0][:, :, None] * moves[1][:, None, :]
        rates *= (1 + 0.15 * np.cos(2 * np.pi * np.arange(207) / 7))[:, None, None]
        counts = rng.poisson(rates.reshape(207, 12))
        plan = plan_for(days_places_and_kinds(n_days, 4), epsilon=2.0, mechanism="unary", private=private)
        tally = reported(plan, counts[:n_days], int(rng.integers(1 << 30)))
        made = ShareForecaster().fit(Series.of(estimate_tally(tally, plan))).predict(7)
        for name, levels in SUMS.items():
            part, truth = made.coarsen(**levels), domain.coarsen(**levels)[1].sums(counts)[n_days:]
            for level in (80, 95):
                of_days = part.counts.coverage(truth, level / 100)
                of_week = part.sums.coverage(truth.sum(axis=0), level / 100)
                found.setdefault(f"{name}, days, {level}", []).append(of_days.mean())
                found.setdefault(f"{name}, week, {level}", []).append(of_week.mean())
    return {name: float(np.mean(values)) for name, values in found.items()}


@pytest.mark.slow
@pytest.mark.false_failure(1e-5)
def test_intervals_of_pairs_places_kinds_and_groups_hold(seed):
    """Whole weeks of two worlds are too few to be tested afresh."""
    for name, (mean, _) in COVERAGE.items():
        level = int(name[-2:]) / 100
        assert level - 0.01 < mean < level + 0.08, name
    assert_as_recorded(lambda seed: of_days(coverage(seed)), of_days(COVERAGE), seed)


def of_days(found):
    return {name: value for name, value in found.items() if "days" in name}
