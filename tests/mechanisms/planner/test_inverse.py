"""The inverse undoes the prediction: at the epsilon or the number found the target is just met."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import SettingError
from tacit.mechanisms.planner import CURATOR, NOBODY, Question, Situation, Target, compare, least_epsilon, least_events
from tacit.mechanisms.planner.inverse import SMALLEST_EPSILON, excess, nearest
from tacit.mechanisms.planner.planning import reached

LIBRARY = Situation(n_bins=100, n_events=100_000.0, trust=CURATOR, epsilon=1.0)
DEVICES = replace(LIBRARY, trust=NOBODY)


def least_excess(situation: Situation, questions: tuple[Question, ...], target: Target) -> float:
    compared = compare(situation, questions)
    return excess(nearest(compared, target), compared, target)


@pytest.mark.parametrize(
    "situation",
    [LIBRARY, replace(LIBRARY, delta=1e-6), replace(DEVICES, n_bins=40)],
    ids=["pure", "gaussian", "devices"],
)
@pytest.mark.parametrize(("words", "target"), [("points", "300"), ("ranges", "4%"), ("points,30,totals", "4%")])
def test_at_the_least_epsilon_the_target_is_just_met(situation, words, target):
    questions, target = Question.parse(words), Target.parse(target)
    epsilon = least_epsilon(situation, questions, target)
    assert epsilon is not None
    assert least_excess(situation.with_epsilon(epsilon), questions, target) <= 1
    if epsilon > SMALLEST_EPSILON:
        assert least_excess(situation.with_epsilon(epsilon * 0.9985), questions, target) > 1


@pytest.mark.slow
def test_the_situations_own_epsilon_does_not_matter():
    found = {least_epsilon(replace(DEVICES, epsilon=e), [Question("totals")], Target(900.0)) for e in (0.1, 5.0)}
    assert len(found) == 1


def test_a_target_beyond_all_protection_has_no_epsilon():
    assert least_epsilon(replace(DEVICES, n_events=1e15), [Question("points")], Target(1e-3)) is None


def test_a_target_that_anything_meets_has_the_smallest_epsilon():
    assert least_epsilon(LIBRARY, [Question("points")], Target(1e9)) == SMALLEST_EPSILON


@pytest.mark.parametrize("situation", [LIBRARY, DEVICES], ids=["curator", "devices"])
@pytest.mark.parametrize("words", ["points", "30,ranges"])
def test_with_the_least_number_of_events_the_target_is_just_met(situation, words):
    questions, target = Question.parse(words), Target(0.05, is_relative=True)
    needed = least_events(situation, questions, target)
    assert needed == pytest.approx(least_events(situation.with_events(77.0), questions, target), abs=1)
    assert least_excess(situation.with_events(needed), questions, target) <= 1 + 1e-12
    assert least_excess(situation.with_events(needed * 0.99), questions, target) > 1


def test_a_number_of_events_needs_a_share_and_epsilon_is_not_looked_for_beside_rho():
    with pytest.raises(SettingError, match="target must be a share of the answer"):
        least_events(LIBRARY, [Question("points")], Target(5.0))
    with pytest.raises(SettingError, match="rho must be left out"):
        least_epsilon(replace(LIBRARY, epsilon=None, rho=0.1), [Question("points")], Target(5.0))


@pytest.mark.parametrize("words", ["", "five", "5 events", "0", "-1%", "nan", "inf%"])
def test_targets_that_are_no_numbers_are_refused(words):
    with pytest.raises(SettingError, match="target must be"):
        Target.parse(words)


def test_a_sentence_says_whether_a_target_is_met_and_what_it_takes():
    asked = Question.parse("points")
    assert reached(compare(LIBRARY, asked), Target(2.0)) == (
        "flat laplace errs by at most 2 events for all of these questions."
    )
    said = reached(compare(LIBRARY, asked), Target(1.0))
    assert said.startswith("Nothing errs by at most 1 events for all of these questions. It takes epsilon 1.31")


@given(st.floats(0.05, 4), st.floats(1.1, 3), st.sampled_from(["points", "ranges", "totals"]))
@settings(max_examples=15)
@pytest.mark.slow
def test_who_spends_more_errs_less(epsilon, times, kind):
    less, more = (compare(replace(LIBRARY, n_bins=30, epsilon=e), [Question(kind)]) for e in (epsilon, times * epsilon))
    assert more.least_error(Question(kind)) < less.least_error(Question(kind))
