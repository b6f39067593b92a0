"""Comparisons rank every mechanism and fan-out, and say when nothing can work."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from tacit.errors import SettingError
from tacit.mechanisms.planner import CURATOR, TIE, Question, Situation, compare
from tacit.mechanisms.planner.planning import choice_words, error_text, verdict
from tacit.privacy import shuffled
from tacit.privacy.unit import Unit

LIBRARY = Situation(n_bins=512, n_events=512_000.0, trust=CURATOR, epsilon=1.0)
DEVICES = Situation(n_bins=200, n_events=200_000.0, epsilon=1.0)
ALL = Question.parse("points, 30, ranges, totals")


@pytest.mark.parametrize(
    "situation", [LIBRARY, replace(LIBRARY, delta=1e-6), DEVICES], ids=["pure", "gaussian", "devices"]
)
def test_predictions_stand_best_first_and_the_best_for_each_question_errs_least(situation):
    compared = compare(situation, ALL)
    for one, next_one in pairwise(compared.predictions):
        assert one.overall <= next_one.overall * (1 + TIE)
    for position, question in enumerate(ALL):
        least = min(one.errors[position] for one in compared.predictions)
        assert compared.least_error(question) == least
        assert compared.best_for(question).errors[position] == least
    assert compared.best is compared.predictions[0]
    assert compared.best_for_plan.contender.is_plannable


# RMSE x epsilon over random ranges, worked out on their own; noise that is nearly continuous, at a small epsilon
TREES = {512: {2: 17.5, 4: 13.4, 8: 10.9, 16: 12.8}, 2048: {2: 23.2, 4: 17.6, 8: 15.3, 16: 14.6}}
FLAT = {512: 18.5, 2048: 37.0}


@pytest.mark.parametrize("n_bins", TREES)
def test_a_curators_errors_are_those_worked_out_on_their_own(n_bins):
    situation = Situation(n_bins=n_bins, n_events=1e6, trust=CURATOR, epsilon=0.01)
    found = {}
    for one in compare(situation, [Question("ranges")]).predictions:
        if not one.contender.is_designed and not one.contender.is_continual:
            found[one.contender.fan_outs[-1:]] = one.errors[0] * 0.01
    assert found[()] == pytest.approx(FLAT[n_bins], rel=0.01)
    for degree, error in TREES[n_bins].items():
        assert found[degree,] == pytest.approx(error, rel=0.01)


@pytest.mark.parametrize(("n_bins", "error"), [(512, 7.3), (2048, 8.6)])
def test_devices_trees_reach_what_was_worked_out_for_them(n_bins, error):
    situation = Situation(n_bins=n_bins, n_events=1e6, epsilon=1.0)
    compared = compare(situation, [Question("ranges")])
    assert compared.best.contender.mechanism == "hierarchical"
    assert compared.best.errors[0] / 1e3 <= error


def test_a_person_who_counts_three_times_makes_noise_three_times_as_large():
    one = compare(replace(LIBRARY, epsilon=0.1), ALL)
    three = compare(replace(LIBRARY, epsilon=0.3, unit=Unit.user_day(most=3)), ALL)
    assert {str(p.contender): p.errors for p in one.predictions} == {
        str(p.contender): pytest.approx(p.errors, rel=1e-9) for p in three.predictions
    }


@pytest.mark.slow
def test_gaussian_noise_stands_beside_laplace_noise_where_there_is_a_delta():
    noises = {one.contender.noise for one in compare(LIBRARY, ALL).predictions}
    assert noises == {"laplace"}
    noises = {one.contender.noise for one in compare(replace(LIBRARY, delta=1e-6), ALL).predictions}
    assert noises == {"laplace", "gaussian"}
    rho = replace(LIBRARY, epsilon=None, rho=0.1)
    assert {one.contender.noise for one in compare(rho, ALL).predictions} == {"gaussian"}


def test_places_do_not_matter_to_a_curator_and_share_the_events():
    one, many = compare(LIBRARY, ALL), compare(replace(LIBRARY, n_places=17), ALL)
    assert one.best.errors == many.best.errors
    assert LIBRARY.expected(ALL[0]) == 17 * replace(LIBRARY, n_places=17).expected(ALL[0])


@pytest.mark.slow
def test_where_errors_exceed_the_answers_a_sentence_says_what_it_takes():
    compared = compare(replace(DEVICES, n_events=50_000.0), Question.parse("points, ranges"))
    assert [str(question) for question in compared.hopeless] == ["points"]
    best, alone, nothing, mixed = verdict(compared)
    assert alone.startswith("For random ranges alone: hierarchical ")
    assert best.startswith("Best for these questions together: ")
    assert "of the answer." in best
    assert nothing.startswith("Nothing can answer points: the least error is 427, ")
    assert "and the answer itself is about 250. An error of 10% of the answer takes epsilon " in nothing
    assert "events in all; or ask for longer ranges." in nothing
    assert mixed.startswith("Among 50,000 shuffled reports each is worth epsilon ")


@pytest.mark.slow
def test_a_shuffler_is_spoken_of_where_it_is_known_to_help():
    bound = shuffled(DEVICES.epsilon, 50_000, delta=1e-6)
    asked = Question.parse("points")
    assert verdict(compare(replace(DEVICES, n_events=50_000.0), asked))[-1] == bound.sentence
    assert not any("shuffled" in said for said in verdict(compare(replace(DEVICES, n_events=10.0), asked)))
    assert not any("shuffled" in said for said in verdict(compare(LIBRARY, asked)))


def test_what_is_best_for_one_question_alone_is_said():
    best, alone = verdict(compare(LIBRARY, Question.parse("points, ranges, 100")))
    assert best.startswith("Best for these questions together: tree laplace ")
    assert alone == "For points alone: flat laplace, 1.36."


@pytest.mark.slow
def test_where_nothing_works_nothing_is_called_best():
    said = verdict(compare(replace(DEVICES, n_bins=64, n_events=10.0), Question.parse("points, totals")))
    assert len(said) == 2
    assert all(sentence.startswith("Nothing can answer ") for sentence in said)


def test_a_choice_is_a_sentence_with_a_curators_errors():
    compared = compare(LIBRARY, Question.parse("points"))
    assert choice_words(compared) == (
        f"For points, flat laplace errs least of {len(compared.predictions)} mechanisms and fan-outs that were "
        "compared: by 1.36 events."
    )
    assert choice_words(compare(DEVICES, Question.parse("points"))).endswith("that were compared.")


def test_errors_for_people_have_three_digits():
    assert [error_text(value) for value in (0.0, 0.0321, 9.999, 99.96, 1e6)] == [
        "0.00",
        "0.03",
        "10.00",
        "100.0",
        "1,000,000",
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_bins": 0}, "n_bins"),
        ({"n_events": 0.0}, "n_events"),
        ({"n_events": float("nan")}, "n_events"),
        ({"trust": "everybody"}, "trust must be one of nobody, curator"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": None}, "either epsilon or rho"),
        ({"rho": 0.1}, "either epsilon or rho"),
        ({"delta": 1.0}, "delta"),
        ({"trust": "nobody", "delta": 1e-6}, "devices spend epsilon alone"),
        ({"trust": "nobody", "unit": Unit.user_day(most=2)}, "devices hide single events"),
        ({"trust": "nobody", "private": ("place", "time")}, "private must name one or more of time, place, kind"),
    ],
)
def test_situations_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(SettingError, match=message):
        replace(LIBRARY, **changes)


def test_questions_that_cannot_be_asked_are_refused():
    with pytest.raises(SettingError, match="at least one kind"):
        compare(LIBRARY, [])
    with pytest.raises(SettingError, match="length must be at most"):
        compare(LIBRARY, [Question("ranges", 5000)])
    with pytest.raises(SettingError, match="at least two values to hide among"):
        compare(replace(DEVICES, n_bins=1), [Question("points")])
