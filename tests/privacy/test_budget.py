"""A budget admits what fits, says what would, and keeps its word."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import SettingError
from tacit.privacy.budget import Budget
from tacit.privacy.cost import LARGEST_RHO, SMALLEST_RHO, Cost

budgets = st.one_of(
    st.builds(Budget.pure, st.floats(0.01, 32)),
    st.builds(Budget.approximate, st.floats(0.01, 32), st.floats(1e-12, 0.01)),
    st.builds(Budget.zcdp, st.floats(1e-4, 10)),
    st.builds(lambda e, r: Budget.of(Cost(e, r)), st.floats(0.01, 32), st.floats(1e-4, 10)),
)
prices = st.one_of(st.builds(Cost.pure, st.floats(1e-4, 3)), st.builds(Cost.zcdp, st.floats(1e-6, 0.5)))


@given(budgets, st.lists(prices, max_size=6))
def test_what_is_said_to_fit_fits_and_a_little_more_does_not(budget, spent):
    room = budget.room(spent)
    if room.epsilon:
        assert budget.admits([*spent, Cost(epsilon=room.epsilon)])
        assert not budget.admits([*spent, Cost(epsilon=room.epsilon * (1 + 1e-6) + 1e-9)])
    if room.rho:
        assert budget.admits([*spent, Cost(rho=room.rho)])
        assert not budget.admits([*spent, Cost(rho=room.rho * (1 + 1e-6) + 1e-9)])


@given(budgets, st.lists(prices, min_size=1, max_size=6))
def test_what_does_not_fit_leaves_no_room(budget, spent):
    if not budget.admits(spent):
        room = budget.room(spent)
        assert (room.epsilon, room.rho) == (0, 0)


@given(budgets, st.lists(prices, min_size=1, max_size=6), prices)
def test_spending_less_always_fits_if_spending_more_does(budget, spent, more):
    if budget.admits([*spent, more]):
        assert budget.admits(spent)


@pytest.mark.parametrize(("price", "times"), [(0.1, 10), (0.01, 100), (0.001, 1000), (0.3, 3), (0.7, 1)])
def test_prices_that_people_write_as_decimals_fit_exactly(price, times):
    budget = Budget.pure(round(price * times, 10))
    assert budget.admits([Cost.pure(price)] * times)
    assert not budget.admits([Cost.pure(price)] * times + [Cost.pure(1e-6)])


def test_a_pure_budget_admits_no_gaussian_noise():
    budget = Budget.pure(3.0)
    assert not budget.admits([Cost.zcdp(SMALLEST_RHO)])
    assert budget.room([]).rho == 0


def test_a_budget_with_delta_takes_both_kinds_and_the_better_sum():
    budget = Budget.approximate(3.0, 1e-6)
    assert budget.admits([Cost.pure(1.0), Cost.zcdp(0.08)])
    # forty releases of 0.1 are 4 as a plain sum, and less than 3.2 as zCDP
    assert not Budget.pure(3.2).admits([Cost.pure(0.1)] * 40)
    assert Budget.approximate(3.2, 1e-6).admits([Cost.pure(0.1)] * 40)


def test_a_budget_of_zcdp_counts_a_pure_release_by_half_its_square():
    budget = Budget.zcdp(0.5)
    assert budget.admits([Cost.pure(1.0)])
    assert budget.admits([Cost.pure(0.5)] * 4)
    assert not budget.admits([Cost.pure(0.5)] * 5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"epsilon": -1.0},
        {"epsilon": math.nan},
        {"epsilon": 40.0},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "delta": -1e-6},
        {"epsilon": 1.0, "delta": math.nan},
        {"delta": 1e-6},
        {"rho": 0.1, "delta": 1e-6},
        {"rho": -0.1},
        {"rho": math.nan},
        {"rho": 2 * LARGEST_RHO},
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(settings):
    with pytest.raises(SettingError):
        Budget(**settings)


def test_a_budget_says_what_it_is_and_what_is_spent_in_its_own_terms():
    assert str(Budget.approximate(3, 1e-6)) == "epsilon 3 at delta 1e-06"
    assert Budget.approximate(3, 1e-6).spent([Cost.pure(1.0)]) == "epsilon 1"
    assert Budget.zcdp(0.5).spent([Cost.pure(0.5)]) == "rho 0.125 (zCDP)"
    assert str(Budget.pure(1.0).room([Cost.pure(1.0)])) == "nothing"
