"""Noise on trees: exactly the stated cost, unbiased leaves, and errors that are what they are said to be."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from small_worlds import days_and_places
from statistical import Recorded, assert_as_recorded, assert_variance
from tacit.counts.node_distributions import DiscreteGaussian, DiscreteLaplace
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, Gazetteer, Hierarchy, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import PlanError, SettingError
from tacit.mechanisms.central.table import CENTRAL_MECHANISMS, central_mechanism_of, central_plan_for
from tacit.mechanisms.central.tree import NoisyTree
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger, Spend
from tacit.privacy.unit import Unit


def doubs(level: str = "region", last: str = "2018-03-31", mechanism: str = "tree") -> Domain:
    places = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"), level=level)
    kinds = KindAxis.of(["fire", "flood"]) if mechanism == "tables" else None
    return Domain(TimeAxis.between("2017-12-01", last), places, kinds)


def released(plan: Plan, counts: np.ndarray, seed: int = 1):
    mechanism = central_mechanism_of(plan)
    return mechanism.measure(ExactTally(counts), plan, spend=Spend.simulation(mechanism.cost, seed=seed))


@pytest.mark.parametrize("name", CENTRAL_MECHANISMS)
@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.1, "delta": 1e-6}])
@pytest.mark.parametrize("most", [1, 3])
def test_the_levels_cost_exactly_what_the_plan_states(name, budget, most):
    unit = "event" if most == 1 else "user-day"
    plan = central_plan_for(doubs("town", mechanism=name), mechanism=name, unit=unit, most=most, **budget)
    mechanism = central_mechanism_of(plan)
    distributions = [distribution for distribution in mechanism.distributions if distribution is not None]
    if "delta" in budget:
        # zCDP of a level: m^2 / (2 variance); levels compose
        paid = sum(Fraction(most**2) / (2 * distribution.parameter) for distribution in distributions)
        assert all(isinstance(distribution, DiscreteGaussian) for distribution in distributions)
        assert paid == Fraction(plan.rho)
        assert Cost.zcdp(plan.rho).epsilon_at(plan.delta) <= plan.epsilon
    else:
        paid = sum(distribution.rate * most for distribution in distributions)
        assert all(isinstance(distribution, DiscreteLaplace) for distribution in distributions)
        assert paid == Fraction(plan.epsilon)


@pytest.mark.parametrize("name", CENTRAL_MECHANISMS)
def test_one_event_lies_in_one_node_of_each_measured_level_of_one_tree(name):
    domain = doubs("town", "2018-01-10", mechanism=name)
    plan = central_plan_for(domain, rho=1.0, delta=1e-6, mechanism=name)
    mechanism = central_mechanism_of(plan)
    n_measured = sum(distribution is not None for distribution in mechanism.distributions)
    edges = np.cumsum([0, *mechanism.level_sizes])
    generator = np.random.default_rng(0)
    for _ in range(20):
        one = np.zeros(domain.shape, np.int64)
        one[generator.integers(domain.shape[0]), generator.integers(domain.shape[1])] = 1
        nodes = mechanism.sum_nodes(one)
        touched = [
            int(np.abs(nodes[edges[level] : edges[level + 1]]).sum())
            for level, distribution in enumerate(mechanism.distributions)
            if distribution is not None
        ]
        assert touched == [1] * n_measured


@pytest.mark.parametrize(("most", "most_per_cell"), [(2, 1), (4, 1), (4, 2), (5, 2), (6, 3)])
@pytest.mark.parametrize("is_pure", [True, False])
def test_no_person_costs_more_than_is_paid_and_some_cost_it_all(most, most_per_cell, is_pure):
    """All that a person may add to eight cells in trees of two places, four days each, listed."""
    unit, cost = Unit.person(most=most, most_per_cell=most_per_cell), Cost.pure(1.0) if is_pure else Cost.zcdp(1.0)
    tree = NoisyTree(Hierarchy.of_fan_outs((2, 2), 4), (1, 2, 3), cost, unit=unit)
    changes = np.array([x for x in product(range(most_per_cell + 1), repeat=8) if sum(x) <= most])
    nodes = tree.sum_nodes(changes.reshape(-1, 2, 4).transpose(2, 0, 1).reshape(4, -1)).reshape(7, -1, 2)
    levels = np.repeat(np.arange(3), tree.level_sizes)
    if is_pure:
        sizes, precisions = np.abs(nodes).sum(axis=2), [float(one.rate) for one in tree.distributions]
    else:
        sizes = (nodes**2).sum(axis=2)
        precisions = [1 / (2 * float(one.parameter)) for one in tree.distributions]
        for level, width in enumerate(tree.hierarchy.widest):
            # the bound of each level is reached
            assert sizes[levels == level].sum(axis=0).max() == unit.squared_sensitivity(width)
    paid = (np.array(precisions)[levels] @ sizes).max()
    # neighbouring days that are filled reach all levels at once, if the bounds divide
    assert paid == pytest.approx(1.0) if (is_pure or most % most_per_cell == 0) else paid <= 1 + 1e-12


@pytest.mark.parametrize("name", CENTRAL_MECHANISMS)
def test_a_persons_plan_has_the_noise_of_its_bounds(name):
    bounds = {"unit": "person", "most": 20, "most_per_cell": 5, "window": "month"}
    person, day = (
        central_mechanism_of(
            central_plan_for(doubs("town", mechanism=name), rho=0.1, delta=1e-6, mechanism=name, **unit)
        )
        for unit in (bounds, {"unit": "user-day", "most": 20})
    )
    leaves = [mechanism.distributions[-1] for mechanism in (person, day)]
    shares = [Fraction(mechanism.shares[-1], sum(mechanism.shares)) for mechanism in (person, day)]
    assert leaves[0].parameter * shares[0] / (leaves[1].parameter * shares[1]) == Fraction(20 * 5, 20 * 20)


@pytest.mark.parametrize("name", CENTRAL_MECHANISMS)
def test_a_plan_makes_the_same_mechanism_after_a_file(name, tmp_path):
    plan = central_plan_for(doubs("town", mechanism=name), epsilon=0.7, mechanism=name, name="visits")
    plan.write(tmp_path / "plan.toml")
    again = Plan.read(tmp_path / "plan.toml")
    assert again.fingerprint == plan.fingerprint
    assert central_mechanism_of(again).distributions == central_mechanism_of(plan).distributions


@pytest.mark.parametrize("name", CENTRAL_MECHANISMS)
def test_the_same_spend_gives_the_same_release_and_another_gives_another(name):
    domain = doubs(level="town", last="2017-12-20", mechanism=name)
    counts = np.random.default_rng(5).poisson(4, domain.shape)
    plan = central_plan_for(domain, epsilon=1.0, mechanism=name)
    first, again, other = (released(plan, counts, seed) for seed in (1, 1, 2))
    assert np.array_equal(first.values, again.values)
    assert not np.array_equal(first.values, other.values)


@pytest.mark.false_failure(2e-8)
def test_the_error_of_a_sum_is_what_the_noise_says(seed):
    """The 1,000 places of a release err independently of each other."""
    domain = days_and_places(50, 1_000)
    counts = np.random.default_rng(3).poisson(20, domain.shape)
    plan = central_plan_for(domain, epsilon=1.0, fan_outs=[5, 10])
    estimate = released(plan, counts, seed)
    weights = np.zeros((50, 1_000))
    weights[7:39, 0] = 1
    errors = (estimate.values - counts)[7:39].sum(axis=0)
    variance = estimate.noise.variance(weights)
    # the kurtosis of a sum of Laplace noises is at most that of one
    assert_variance(errors, variance, excess_kurtosis=3.0)
    assert abs(errors.mean()) < 7 * np.sqrt(
        variance / errors.size
    )  # beyond lies less than 1e-11 of a normal distribution


def coverage(name: str, seed: int) -> dict[str, float]:
    """How many of 11,000 cells and more lie in their 95 % intervals; of trees over time there are two years of days."""
    of_days = name in ("tree", "calendar tree")
    domain = doubs("region", "2019-12-31") if of_days else doubs("town", "2017-12-20", mechanism=name)
    counts = np.random.default_rng(seed).poisson(50, domain.shape)
    estimate = released(central_plan_for(domain, epsilon=0.5, mechanism=name), counts, seed=seed)
    lower, upper = estimate.noise.intervals(estimate.values, 0.95)
    return {"covered": float(((lower <= counts) & (counts <= upper)).mean())}


COVERAGE: dict[str, Recorded] = {
    "flat": {"covered": (0.9625, 0.0021)},
    "tree": {"covered": (0.9506, 0.0021)},
    "calendar tree": {"covered": (0.9503, 0.0021)},
    "place tree": {"covered": (0.9502, 0.0024)},
    "tables": {"covered": (0.9518, 0.0016)},
}


@pytest.mark.false_failure(5e-7)
@pytest.mark.parametrize("name", CENTRAL_MECHANISMS)
def test_intervals_of_every_mechanism_cover(name, seed):
    """Limits are whole numbers, so that they may cover a little more than they say."""
    assert_as_recorded(partial(coverage, name), COVERAGE[name], seed)
    assert 0.945 < COVERAGE[name]["covered"][0] < 0.965


def test_a_single_day_and_a_single_place_can_be_released():
    domain = days_and_places(1, 1)
    estimate = released(central_plan_for(domain, epsilon=1.0, mechanism="flat"), np.array([[7]]))
    assert estimate.values.shape == (1, 1)
    assert estimate.noise.variance(np.ones((1, 1))) == pytest.approx(1.8413, abs=1e-3)


def test_counts_that_do_not_fit_are_refused_before_noise_is_drawn():
    domain = days_and_places(4, 2)
    plan = central_plan_for(domain, epsilon=1.0, mechanism="flat")
    mechanism = central_mechanism_of(plan)
    spend = Spend.simulation(mechanism.cost, seed=1)
    with pytest.raises(SettingError, match="shape"):
        mechanism.measure(ExactTally(np.zeros((3, 2), np.int64)), plan, spend=spend)
    with pytest.raises(SettingError, match="negative") as refused:
        mechanism.measure(ExactTally(np.full((4, 2), -17)), plan, spend=spend)
    assert "17" not in str(refused.value)
    with pytest.raises(SettingError, match="epsilon 2"):
        mechanism.measure(ExactTally(np.zeros((4, 2), np.int64)), plan, spend=Spend.simulation(Cost.pure(2.0), seed=1))
    mechanism.measure(ExactTally(np.zeros((4, 2), np.int64)), plan, spend=spend)  # nothing was drawn for the others


def test_a_spend_releases_one_table_of_counts_under_one_plan(tmp_path):
    domain = days_and_places(4, 2)
    plan = central_plan_for(domain, epsilon=1.0, mechanism="flat")
    other_plan = central_plan_for(domain, epsilon=1.0, mechanism="tree")
    mechanism, counts = central_mechanism_of(plan), ExactTally(np.full((4, 2), 9))
    ledger = Ledger(tmp_path / "ledger.sqlite")
    paid = ledger.spend(
        data_set="visits", release=plan.fingerprint, cost=mechanism.cost, days={"2018-01-01": b"events"}
    )
    for spend in (paid, Spend.simulation(mechanism.cost, seed=5)):
        first, again = (mechanism.measure(counts, plan, spend=spend) for _ in range(2))
        assert np.array_equal(first.values, again.values)
        with pytest.raises(SettingError, match="other counts"):
            mechanism.measure(ExactTally(np.full((4, 2), 8)), plan, spend=spend)
    with pytest.raises(SettingError, match="pays for release"):
        central_mechanism_of(other_plan).measure(counts, other_plan, spend=paid)
    ledger.finish(paid)
    with pytest.raises(SettingError, match="finished"):
        mechanism.measure(counts, plan, spend=paid)


def test_counts_beyond_what_floats_hold_exactly_are_refused_before_noise_is_drawn():
    plan = central_plan_for(days_and_places(4, 2), epsilon=1.0, mechanism="tree")
    mechanism = central_mechanism_of(plan)
    counts = np.zeros((4, 2), np.int64)
    counts[:2] = 1 << 51
    released(plan, counts)
    for largest in (1, 1 << 62):
        counts[3, 0] = largest
        with pytest.raises(SettingError, match=r"at most 2\*\*53 = 9,007,199,254,740,992"):
            mechanism.measure(ExactTally(counts), plan, spend=Spend.simulation(mechanism.cost, seed=1))


def test_a_plan_is_not_released_for_a_price_of_another_unit(tmp_path):
    plan = central_plan_for(days_and_places(4, 2), epsilon=1.0, mechanism="flat", unit="user-day", most=2)
    mechanism, ledger = central_mechanism_of(plan), Ledger(tmp_path / "ledger.sqlite")
    paid = ledger.spend(data_set="visits", release=plan.fingerprint, cost=mechanism.cost, days={"2018-01-01": b"e"})
    with pytest.raises(SettingError, match="asked for the unit event, but the plan protects the user-day"):
        mechanism.measure(ExactTally(np.zeros((4, 2), np.int64)), plan, spend=paid)


@pytest.mark.parametrize(
    ("fan_outs", "words"),
    [
        ([1, 8], r"fan_outs\[0\] must be a whole number of at least 2; got fan_outs\[0\]=1"),
        ([4, 2.5], r"fan_outs\[1\] must be a whole number"),
        ([2, 2], r"number of periods, 8; got fan_outs=\[2, 2\] with product 4"),
        ([], r"number of periods, 8; got fan_outs=\[\] with product 1"),
        ([2, 2, 2, 2], r"no level to spare; got fan_outs=\[2, 2, 2, 2\], of which \[2, 2, 2\] alone"),
    ],
)
def test_fan_outs_that_make_no_tree_are_refused_with_the_reason(fan_outs, words):
    with pytest.raises(SettingError, match=words):
        central_plan_for(days_and_places(8, 1), epsilon=1.0, fan_outs=fan_outs)


def test_settings_that_promise_nothing_are_refused():
    domain = days_and_places(8, 1)
    for settings in ({"epsilon": 0.0}, {"epsilon": float("nan")}, {"epsilon": -1.0}, {}, {"rho": 0.5}):
        with pytest.raises(SettingError):
            central_plan_for(domain, mechanism="flat", **settings)
    with pytest.raises(SettingError, match="fan_outs"):
        central_plan_for(domain, epsilon=1.0, mechanism="flat", fan_outs=[2])
    with pytest.raises(SettingError, match="shares"):
        NoisyTree(Hierarchy.of_degree(8, 2), (0, 1), Cost.pure(1.0))


def test_a_plan_that_states_too_little_is_refused(tmp_path):
    plan = central_plan_for(days_and_places(8, 1), rho=0.5, delta=1e-6, mechanism="flat")
    content = plan.to_dict()
    content["privacy"]["epsilon"] = plan.epsilon / 2
    with pytest.raises(PlanError, match="amounts to"):
        central_mechanism_of(Plan.from_dict(content))


def test_a_plan_for_devices_is_no_plan_for_a_curator():
    from tacit.mechanisms.registry import plan_for

    with pytest.raises(PlanError, match="central_plan_for"):
        central_mechanism_of(plan_for(days_and_places(8, 3), epsilon=1.0))
