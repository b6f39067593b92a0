"""Boosted trees on unbiased counts, what they live on, and the search for their settings."""

from __future__ import annotations

import numpy as np
import pytest

from small_series import PLACES, noisy_series, small_counts, small_domain, small_means, small_series
from statistical import Recorded, assert_as_recorded
from tacit.counts.series import Series
from tacit.errors import DataError, SettingError
from tacit.forecast import boosting
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.boosting import BoostingForecaster
from tacit.forecast.forecaster import forecaster_from_dict
from tacit.forecast.share_forecaster import ShareForecaster
from tacit.forecast.tuning import feature_importance, tune
from tacit.statespace.covariates import Covariates

QUICK = {"n_estimators": 30, "learning_rate": 0.2, "min_child_weight": 30.0}


def _rainy(seed: int = 4) -> tuple[Series, Covariates]:
    """Rain doubles the counts of South alone."""
    rain = np.random.default_rng(seed).random(740) < 0.3
    means = small_means()
    means[:, 1] *= 1 + rain[:730]
    counts = np.random.default_rng(seed).poisson(means)
    time = small_domain().time.with_end(740)
    dull = np.random.default_rng(seed + 1).random(740)
    return Series.exact(small_domain(), counts), Covariates(time, {"rain": rain * 1.0, "dull": dull}, ("of a test",))


def _found_of_rain(seed: int) -> dict[str, float]:
    """How much more is forecast on rainy days than on others, where rain matters and where it does not."""
    series, covariates = _rainy(seed)
    model = BoostingForecaster(**QUICK).fit(series.until(600), covariates)
    assert model.predict(1).notes == ("of a test",)
    means = model.predict_from(series, np.arange(600, 730)).counts.means[:, 0]
    rain = covariates.columns["rain"][600:730] > 0
    ratios = means[rain].mean(axis=0) / means[~rain].mean(axis=0)
    return {"north": float(ratios[0]), "south": float(ratios[1])}


FOUND_OF_RAIN: Recorded = {"north": (1.102, 0.071), "south": (1.643, 0.11)}


@pytest.mark.slow
@pytest.mark.false_failure(1e-6)
def test_trees_find_what_a_covariate_does_in_one_place(seed: int) -> None:
    assert_as_recorded(_found_of_rain, FOUND_OF_RAIN, seed)
    assert FOUND_OF_RAIN["south"][0] > 1.5
    assert 0.9 < FOUND_OF_RAIN["north"][0] < 1.2


def test_where_no_tree_helps_the_forecast_is_that_of_its_base_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boosting, "fewest_losses", lambda *_: (0,))
    series = noisy_series().until(200)
    made = BoostingForecaster(**QUICK).fit(series)
    base = ShareForecaster().fit(series).predict(3)
    found = made.predict(3)
    np.testing.assert_allclose(found.counts.means, base.counts.means)
    assert found.notes[0] == "no tree did better than total x share, whose forecast this is"
    assert not any(made.gains().values())


def _learned_of_negative_counts(seed: int) -> dict[str, float]:
    """The mean forecast of each place as a part of its true mean, and how many counts of the smallest are negative."""
    noisy = noisy_series(seed, unit=2.0)
    means = BoostingForecaster(**QUICK).fit(noisy.until(600)).predict_from(noisy, np.arange(600, 730)).counts.means
    ratios = means[:, 0].mean(axis=0) / small_means()[600:].mean(axis=0)
    return dict(zip(PLACES, ratios.tolist(), strict=True)) | {"negative": float((noisy.values[:, 2] < 0).mean())}


NEGATIVE: Recorded = {
    "North": (0.9861, 0.018),
    "South": (0.9942, 0.025),
    "West": (1.021, 0.072),
    "negative": (0.2886, 0.02),
}


@pytest.mark.slow
@pytest.mark.false_failure(2e-6)
def test_negative_counts_are_learned_from_without_bias(seed: int) -> None:
    """Clipped at 0 the smallest place would be about twice what it is."""
    assert_as_recorded(_learned_of_negative_counts, NEGATIVE, seed)
    assert NEGATIVE["negative"][0] > 0.2
    assert all(abs(NEGATIVE[place][0] - 1) < 0.05 for place in PLACES)


@pytest.mark.slow
def test_places_add_up_to_the_total() -> None:
    forecast = BoostingForecaster(**QUICK).fit(noisy_series()).predict(30)
    np.testing.assert_allclose(forecast.counts.means.sum(axis=1), forecast.totals.means)


def test_trees_may_start_from_another_forecaster() -> None:
    series = small_series()
    model = BoostingForecaster(base=WeekdayMean(years=1), **QUICK).fit(series.until(600))
    restored = forecaster_from_dict(model.to_dict())
    np.testing.assert_allclose(restored.predict(3).counts.means, model.predict(3).counts.means)


@pytest.mark.slow
def test_features_can_be_chosen_by_name() -> None:
    series, covariates = _rainy()
    model = BoostingForecaster(features=("place", "rain"), **QUICK).fit(series, covariates)
    assert list(model.gains()) == ["place", "rain"]
    with pytest.raises(SettingError, match="features must be one of place"):
        BoostingForecaster(features=("snow",)).fit(series, covariates)
    with pytest.raises(SettingError, match="at least one feature"):
        BoostingForecaster(features=()).fit(series, covariates)


def test_settings_are_checked_when_learning() -> None:
    for wrong in ({"max_depth": 0}, {"learning_rate": 0.0}, {"subsample": 1.5}, {"half_life": float("nan")}):
        with pytest.raises(SettingError, match=f"{next(iter(wrong))} must be"):
            BoostingForecaster(**wrong).fit(small_series())  # type: ignore[arg-type]


def _importance(seed: int) -> dict[str, float]:
    """What rain and another covariate are worth, and the place, against rain; and how sure the worth of rain is."""
    series, covariates = _rainy(seed)
    found = feature_importance(BoostingForecaster(**QUICK), series, covariates, n_shuffles=1, seed=seed)
    assert sum(one.gain for one in found) == pytest.approx(1.0)
    by_name = {one.feature: one for one in found}
    rain = by_name["rain"]
    return {
        "surely": rain.loss / rain.loss_error,
        "dull": by_name["dull"].loss / rain.loss,
        "next": max(one.loss for one in found if one.feature not in ("rain", "place")) / rain.loss,
    }


IMPORTANCE: Recorded = {"surely": (9.027, 0.57), "dull": (-0.0001042, 0.0085), "next": (0.1316, 0.051)}


@pytest.mark.slow
@pytest.mark.false_failure(2e-6)
def test_what_matters_comes_first_among_importances(seed: int) -> None:
    assert_as_recorded(_importance, IMPORTANCE, seed)
    assert IMPORTANCE["surely"][0] > 5
    assert abs(IMPORTANCE["dull"][0]) < 0.05
    assert IMPORTANCE["next"][0] < 0.2


@pytest.mark.slow
@pytest.mark.false_failure(0)
def test_importances_come_in_order_and_repeatably_and_only_of_what_was_fitted(seed: int) -> None:
    series, covariates = _rainy()
    forecaster = BoostingForecaster(**QUICK)
    found, again = (feature_importance(forecaster, series, covariates, n_shuffles=1, seed=seed) for _ in range(2))
    assert found == again
    assert [one.loss for one in found] == sorted((one.loss for one in found), reverse=True)
    with pytest.raises(SettingError, match="must be fitted"):
        forecaster.gains()


@pytest.mark.slow
def test_a_search_never_ends_with_worse_settings_and_is_repeatable() -> None:
    series, covariates = _rainy()
    own = BoostingForecaster(n_estimators=20)
    told: list[tuple[int, float]] = []
    tuned = tune(
        series,
        covariates,
        forecaster=own,
        n_trials=4,
        seconds=None,
        n_folds=2,
        progress=lambda done, part: told.append((done, part)),
    )
    assert [done for done, _ in told] == [1, 2, 3, 4]
    assert told[-1][1] == 1.0
    assert len(tuned.trials) == 4
    assert tuned.chosen.gain >= tuned.trials[0].gain
    assert tuned.trials[0].settings["max_depth"] == own.max_depth
    again = tune(series, covariates, forecaster=own, n_trials=4, seconds=None, n_folds=2)
    assert [trial.gain for trial in again.trials] == [trial.gain for trial in tuned.trials]
    assert tuned.forecaster.n_estimators == 20
    tuned.forecaster.fit(series, covariates)


def test_a_search_keeps_its_time_limit_but_for_one_trial() -> None:
    tuned = tune(small_series(), forecaster=BoostingForecaster(n_estimators=10), n_folds=1, seconds=0.001, n_trials=50)
    assert len(tuned.trials) == 1
    assert tuned.forecaster.get_params() == BoostingForecaster(n_estimators=10).get_params()


@pytest.mark.slow
def test_a_search_looks_at_nothing_beyond_the_series() -> None:
    series = small_series()
    counts = small_counts()
    counts[650:] = 1000
    altered = Series.exact(small_domain(), counts).until(650)
    one, other = (
        tune(known, forecaster=BoostingForecaster(n_estimators=10), n_trials=1, n_folds=2, seconds=None)
        for known in (series.until(650), altered)
    )
    assert one.trials[0].gain == other.trials[0].gain


def test_a_search_in_a_few_weeks_is_refused() -> None:
    with pytest.raises(DataError, match="a search needs a series of at least 120 bins; got 60"):
        tune(small_series(n_days=60))
