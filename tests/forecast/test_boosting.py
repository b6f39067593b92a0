"""Boosted trees on unbiased counts, what they live on, and the search for their settings."""

from __future__ import annotations

import numpy as np
import pytest

from small_series import noisy_series, small_counts, small_domain, small_means, small_series
from tacit.counts.series import Series
from tacit.errors import DataError, SettingError
from tacit.forecast.baselines import WeekdayMean
from tacit.forecast.boosting import BoostingForecaster
from tacit.forecast.forecaster import forecaster_from_dict
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


@pytest.mark.slow
def test_trees_find_what_a_covariate_does_in_one_place() -> None:
    series, covariates = _rainy()
    model = BoostingForecaster(**QUICK).fit(series.until(600), covariates)
    means = model.predict_from(series, np.arange(600, 730)).counts.means[:, 0]
    rain = covariates.columns["rain"][600:730] > 0
    ratio = means[rain].mean(axis=0) / means[~rain].mean(axis=0)
    assert ratio[1] > 1.5
    assert 0.9 < ratio[0] < 1.2
    assert model.predict(1).notes == ("of a test",)


@pytest.mark.slow
def test_negative_counts_are_learned_from_without_bias() -> None:
    """Clipped at 0 the smallest place would be about twice what it is."""
    noisy = noisy_series(unit=2.0)
    assert (noisy.values[:, 2] < 0).mean() > 0.2
    means = BoostingForecaster(**QUICK).fit(noisy.until(600)).predict_from(noisy, np.arange(600, 730)).counts.means
    np.testing.assert_allclose(means[:, 0].mean(axis=0), small_means()[600:].mean(axis=0), rtol=0.2)


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


@pytest.mark.slow
def test_what_matters_comes_first_among_importances() -> None:
    series, covariates = _rainy()
    forecaster = BoostingForecaster(**QUICK)
    found = feature_importance(forecaster, series, covariates, n_shuffles=1, seed=3)
    assert found[0].feature in ("rain", "place")
    by_name = {one.feature: one for one in found}
    assert by_name["rain"].loss > 5 * by_name["rain"].loss_error
    assert abs(by_name["dull"].loss) < 0.2 * by_name["rain"].loss
    assert sum(one.gain for one in found) == pytest.approx(1.0)
    assert found == feature_importance(forecaster, series, covariates, n_shuffles=1, seed=3)
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
