"""Error against epsilon follows its formula and the release's own noise."""

from __future__ import annotations

import math

import pytest

from tacit.figures import EPSILONS, choices, counts_by, largest_belief, standard_error_at


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_error_of_a_count_is_its_closed_form(epsilon):
    half = math.exp(epsilon / 2)
    assert standard_error_at(epsilon, 2500) == pytest.approx(50 * math.sqrt(half) / (half - 1), rel=1e-12)


def test_the_release_s_own_row_is_what_it_states(release):
    error = float(counts_by(release, "month").standard_errors[3, 0])
    own = next(choice for choice in choices(release, [error]) if choice.is_chosen)
    assert own.errors == (error,)
    assert own.odds == pytest.approx(release.statement.odds)
    assert own.largest_belief == pytest.approx(release.statement.largest_belief)


def test_other_rows_scale_the_release_s_own_error(release):
    counts = counts_by(release, "month")
    reports = 4 * counts.standard_errors[3, 0] ** 2 / 3  # p = 3/4, q = 1/4
    found = choices(release, [float(counts.standard_errors[3, 0])])
    for choice in found:
        assert choice.errors[0] == pytest.approx(standard_error_at(choice.epsilon, reports))


def test_the_chosen_epsilon_stands_in_place_of_its_neighbour(release):
    epsilons = [choice.epsilon for choice in choices(release, [1.0])]
    assert len(epsilons) == len(EPSILONS)  # 2.2 gave way to 2.197
    assert epsilons == sorted(epsilons)


def test_belief_goes_from_one_in_k_to_certainty():
    assert largest_belief(0.0, 17) == pytest.approx(1 / 17)
    assert largest_belief(2 * math.log(3), 17) == pytest.approx(9 / 25)
    assert largest_belief(30.0, 17) == pytest.approx(1.0)
