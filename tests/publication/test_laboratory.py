"""The paper's evaluation on somebody's own events: seeded, marked, and true to its measures."""

from __future__ import annotations

import numpy as np
import pytest

from small_series import noisy_series, small_counts, small_domain
from tacit.counts.tally import ExactTally
from tacit.errors import SettingError
from tacit.pages.evaluation import make_evaluation_page
from tacit.pages.laboratory import error_rates
from tacit.publication.laboratory import (
    FILTERED,
    PERIODS,
    PUBLISHED,
    TACIT,
    WEEKDAY,
    World,
    epsilon_of,
    evaluate,
    f_of,
    ratio_of_means,
    rescaled,
)

N_DAYS = 120


def evaluated(**settings):
    return evaluate(small_domain(N_DAYS), ExactTally(small_counts(1, N_DAYS)), **({"epsilons": (4.0,)} | settings))


@pytest.fixture(scope="module")
def found():
    return evaluated(days=("2016-04-20",), first_test_day="2016-04-01", with_paper_model=True)


@pytest.mark.slow
def test_every_method_and_period_has_its_error_rates(found):
    assert {key[0] for key in found.rates} == {PUBLISHED, FILTERED, TACIT}
    assert {key[2] for key in found.rates} == set(PERIODS)
    assert len(found.rates[TACIT, 4.0, "day"]) == N_DAYS
    assert all((rates >= 0).all() for rates in found.rates.values())


@pytest.mark.slow
def test_forecasts_of_raw_and_private_counts_stand_side_by_side(found):
    assert {(TACIT, None), (TACIT, 4.0), (WEEKDAY, None), ("paper's XGBoost", None)} <= set(found.scores)
    assert any("LEAKS" in model for model, _ in found.scores)
    assert all(scores.mae <= scores.rmse for scores in found.scores.values())


@pytest.mark.slow
def test_a_chosen_day_has_the_truth_beside_every_forecast(found):
    (day,) = found.days
    assert day == "2016-04-20"
    place = found.domain.time.labels().index(day)
    assert found.days[day]["truth"].tolist() == small_counts(1, N_DAYS)[place].tolist()
    assert len(found.days[day]) == 1 + len(found.scores)


@pytest.mark.slow
def test_the_page_says_that_it_is_not_for_publication_and_is_the_same_again(found, tmp_path):
    page = make_evaluation_page(found, tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count("LABORATORY – not for publication") > 3
    assert "ratio filter (LEAKS: uses raw data)" in page
    again = evaluated(days=("2016-04-20",), first_test_day="2016-04-01", with_paper_model=True)
    assert make_evaluation_page(again, tmp_path / "b.html").read_text(encoding="utf-8") == page
    french = make_evaluation_page(found, tmp_path / "c.html", language="fr").read_text(encoding="utf-8")
    for words in ("not for publication", "raw counts", "weekday mean"):
        assert (words in page, words in french.partition('id="messages"')[0]) == (True, False), words


@pytest.mark.slow
def test_another_seed_gives_other_reports():
    rates = [evaluated(seed=seed).rates[PUBLISHED, 4.0, "day"] for seed in (1, 2)]
    assert (rates[0] != rates[1]).any()


def test_without_noise_to_speak_of_the_published_counts_are_the_truth():
    world = World("small", small_domain(N_DAYS), small_counts(1, N_DAYS))
    found = evaluated(epsilons=(24.0,)).rates[PUBLISHED, 24.0, "day"]
    assert found.mean() < 1e-3  # a flipped bit, one of 160,000, adds at most 2e-4
    np.testing.assert_array_equal(error_rates(ExactTally(world.counts), world.counts.astype(float)), 0.0)


def test_f_and_epsilon_are_the_papers():
    assert [round(f_of(epsilon_of(f)), 12) for f in (0.1, 0.5, 0.9)] == [0.1, 0.5, 0.9]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilons": ()}, "one or more"),
        ({"epsilons": (1.0, 1.0)}, "all different"),
        ({"epsilons": (-1.0,)}, "epsilon_1"),
        ({"first_test_day": "2016-01-03"}, "learn from"),
        ({"first_test_day": "1999-01-01"}, "first_test_day must be days"),
        ({"days": ("2016-01-05",)}, "among those forecast"),
    ],
)
def test_what_cannot_be_compared_is_refused(settings, said):
    with pytest.raises(SettingError, match=said):
        evaluated(**settings)


def test_the_papers_ratio_makes_means_true_and_taken_literally_worse() -> None:
    noisy, truth = noisy_series(unit=5.0), small_counts()
    ratio, clipped = ratio_of_means(noisy.values, truth), np.maximum(noisy.values, 0.0).mean(axis=0)
    assert (clipped > truth.mean(axis=0)).all()
    np.testing.assert_allclose(np.maximum(rescaled(noisy, ratio).values, 0.0).mean(axis=0), truth.mean(axis=0))
    np.testing.assert_allclose(
        np.maximum(rescaled(noisy, 1 / ratio).values, 0.0).mean(axis=0), clipped**2 / truth.mean(axis=0)
    )


def test_a_place_whose_private_counts_are_all_clipped_keeps_them() -> None:
    assert ratio_of_means(np.array([[-1.0, 2.0], [-3.0, 4.0]]), np.array([[5, 1], [7, 2]])).tolist() == [1.0, 0.5]
