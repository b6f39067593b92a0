"""A stated sum is never below the true one, and every conversion is rounded against us."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from tacit.errors import FormatError, SettingError
from tacit.privacy.cost import LARGEST_RHO, SMALLEST_RHO, Budget, Cost
from tacit.privacy.epsilon import epsilon_of_rho, largest_rho, rho_of_epsilon

parts = st.floats(0, 1000, allow_subnormal=False)
costs = st.builds(Cost, parts, parts)
deltas = st.floats(1e-30, 0.1)


@given(st.lists(costs, max_size=40))
def test_a_sum_is_the_exact_one_rounded_up_once(many):
    total = Cost.sum(many)
    for part in ("epsilon", "rho"):
        exact = sum(Fraction(getattr(cost, part)) for cost in many)
        stated = getattr(total, part)
        assert Fraction(stated) >= exact
        assert stated == 0 or Fraction(math.nextafter(stated, 0)) < exact


@given(costs, costs)
def test_adding_is_commutative_and_nothing_is_its_zero(a, b):
    assert a + b == b + a
    assert a + Cost() == a


@given(costs, costs, costs)
def test_parallel_releases_cost_the_largest_and_the_order_does_not_matter(a, b, c):
    assert Cost.parallel(a, Cost.parallel(b, c)) == Cost.parallel(Cost.parallel(c, a), b) == Cost.parallel(a, b, c)
    assert Cost.parallel(a, a) == a
    assert Cost.parallel() == Cost()


@given(costs)
def test_a_cost_survives_being_written(cost):
    assert Cost.from_dict(cost.to_dict()) == cost


@pytest.mark.parametrize(
    "content", [{}, {"epsilon": 1.0}, {"epsilon": 1.0, "rho": 0.0, "more": 1}, {"epsilon": "1", "rho": 0.0}, 7]
)
def test_a_damaged_cost_is_refused(content):
    with pytest.raises(FormatError, match="cost is damaged"):
        Cost.from_dict(content)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, 33, "1", True, None])
def test_a_price_that_makes_no_sense_is_refused(value):
    with pytest.raises(SettingError, match="epsilon must be"):
        Cost.pure(value)
    with pytest.raises(SettingError, match="epsilon must be"):
        Cost.approximate(value, 1e-6)
    if value != 33:
        with pytest.raises(SettingError, match="rho must be"):
            Cost.zcdp(value)


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "1", True, None])
def test_no_part_of_a_cost_is_negative_or_not_a_number(value):
    with pytest.raises(SettingError, match="must be a number"):
        Cost(epsilon=value)
    with pytest.raises(SettingError, match="must be a number"):
        Cost(rho=value)


@pytest.mark.parametrize("delta", [-1e-6, math.nan, 1, 2])
def test_a_delta_that_makes_no_sense_is_refused(delta):
    with pytest.raises(SettingError, match="delta must be"):
        Cost.zcdp(0.1).epsilon_at(delta)


def tight(rho: float, delta: float) -> float:
    """The conversion of the literature, minimized by somebody else's code."""

    def bound(x):
        alpha = 1 + math.exp(x)
        return alpha * rho + math.log1p(-1 / alpha) + (math.log(1 / delta) - math.log(alpha)) / (alpha - 1)

    grid = np.linspace(-10, 20, 601)
    start = grid[np.argmin([bound(x) for x in grid])]
    return minimize_scalar(bound, bounds=(start - 0.1, start + 0.1), method="bounded", options={"xatol": 1e-12}).fun


@given(st.floats(1e-4, 100), st.floats(1e-12, 0.01))
def test_the_conversion_of_zcdp_is_tight(rho, delta):
    assert epsilon_of_rho(rho, delta) == pytest.approx(max(0, tight(rho, delta)), rel=1e-9, abs=1e-9)


@given(st.floats(1e-3, 30), deltas)
def test_the_inverse_conversion_is_the_largest_that_fits(epsilon, delta):
    rho = largest_rho(epsilon, delta)
    assert epsilon_of_rho(rho, delta) <= epsilon
    assert epsilon_of_rho(rho * (1 + 1e-9), delta) >= epsilon * (1 - 1e-12)
    assert Cost(rho=rho).epsilon_at(delta) <= epsilon


@given(st.floats(1e-3, 5), st.floats(1e-3, 5), deltas)
def test_more_rho_is_more_epsilon(small, more, delta):
    assert epsilon_of_rho(small, delta) <= epsilon_of_rho(small + more, delta)


@given(st.floats(1e-6, 32))
def test_the_rho_of_a_pure_release_is_never_stated_too_small(epsilon):
    assert Fraction(rho_of_epsilon(epsilon)) >= Fraction(epsilon) ** 2 / 2


@given(costs, deltas)
@example(Cost(1e-30, 7.82e-34), 9.756706306177829e-26)  # tiny bounds lost their digits
@example(Cost(1e-30, 7.82e-34), 1.1381768258555845e-18)
def test_a_pure_part_counts_as_itself_or_as_zcdp_whichever_is_less(cost, delta):
    epsilon = cost.epsilon_at(delta)
    assert epsilon <= cost.epsilon + epsilon_of_rho(cost.rho, delta) + 1e-9 * (1 + cost.epsilon)
    # both are bounds found by a search in floats; they are differences of terms of the size of this root
    lost = 1e-12 * (epsilon + math.sqrt(cost.rho * -math.log(delta)))
    assert epsilon >= Cost(rho=cost.rho).epsilon_at(delta) - lost


def test_the_figures_of_the_conversion():
    """100 releases at 0.1 are rho 0.5; delta 1e-6 (MATH: 5.22)."""
    many = Cost.sum([Cost.zcdp(0.1**2 / 2)] * 100)
    assert round(many.epsilon_at(1e-6), 2) == 5.22
    assert Cost.pure(1.0).epsilon_at(0) == 1.0
    assert Cost.zcdp(0.5).epsilon_at(0) == math.inf
    assert (Cost.pure(10.0) + Cost.zcdp(0.1)).epsilon_at(1e-6) == pytest.approx(10 + epsilon_of_rho(0.1, 1e-6))


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
