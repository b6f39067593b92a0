"""Tables by place, by kind and joint: their cost, their least-squares fit, and how near the bound their errors are."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest

from tacit.audit.curators import audit_nodes, nodes_of_plan
from tacit.counts.node_distributions import DiscreteLaplace
from tacit.counts.noise import errors_of_questions, intervals_of_questions
from tacit.counts.query import answer
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, Grouping, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import PlanError, SettingError
from tacit.mechanisms.central.marginals import NAMES, MarginalTables, best_shares, cells_summed, least_error
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.central.tree import input_digest_of, node_noise
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger, Spend
from tacit.privacy.unit import Unit
from tacit.randomness import SeededRandomness
from tacit.release.files import noise_from_dict

DOMAIN = Domain(
    TimeAxis.between("2018-01-01", "2018-01-03"),
    PlaceAxis.of(["North", "South", "West", "East"]),
    KindAxis.of(["fire", "flood", "fall"]),
)
BUDGETS = [Cost.pure(1.0), Cost.zcdp(0.1)]
SHARES = (1, 2, 3, 4)


def measured(mechanism, counts, seed):
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    return mechanism.measure(ExactTally(counts), plan, spend=Spend.simulation(mechanism.cost, seed=seed))


def design(sizes):
    """The matrix from joint cells of a bin to the cells of all tables, and the table of each row."""
    rows, tables = [], []
    for number, axes in enumerate(((), (1,), (2,), (1, 2))):
        for at in product(*(range(sizes[axis]) if axis in axes else [None] for axis in (1, 2))):
            cells = np.ones(sizes[1:])
            for axis, index in enumerate(at):
                if index is not None:
                    kept = np.zeros(sizes[axis + 1])
                    kept[index] = 1
                    cells = cells * kept.reshape((-1, 1) if axis == 0 else (1, -1))
            rows.append(cells.ravel())
            tables.append(number)
    return np.array(rows), np.array(tables)


@pytest.mark.parametrize("sensitivity", [1, 3])
def test_the_tables_cost_exactly_what_is_paid_for_any_unit(sensitivity):
    """A unit changes m cells at most; the change that costs most is m events in one cell, in one cell of each table."""
    pure = MarginalTables(DOMAIN.sizes, SHARES, Cost.pure(1.0), Unit.user_day(most=sensitivity)).distributions
    assert sum(one.rate * sensitivity for one in pure) == 1
    gaussian = MarginalTables(DOMAIN.sizes, SHARES, Cost.zcdp(0.1), Unit.user_day(most=sensitivity)).distributions
    assert sum(Fraction(sensitivity**2) / (2 * one.parameter) for one in gaussian) == Fraction(0.1)
    matrix, tables = design(DOMAIN.sizes)
    rates = np.array([float(one.rate) for one in pure])[tables]
    precisions = np.array([1 / (2 * float(one.parameter)) for one in gaussian])[tables]
    for change in product(range(sensitivity + 1), repeat=4):
        if sum(change) <= sensitivity:
            moved = matrix[:, :4] @ change  # four cells of one place and more: enough for all shapes of a change
            assert np.abs(moved) @ rates <= 1 + 1e-12
            assert np.square(moved) @ precisions <= 0.1 + 1e-12


@pytest.mark.parametrize(("most", "most_per_cell"), [(2, 1), (4, 1), (4, 2), (3, 2)])
def test_no_person_costs_more_than_is_paid_and_some_cost_it_all(most, most_per_cell):
    """All that a person may add to a day of two places and two kinds, and to a second day."""
    unit, sizes = Unit.person(most=most, most_per_cell=most_per_cell), (2, 2, 2)
    pure = MarginalTables(sizes, SHARES, Cost.pure(1.0), unit)
    gaussian = MarginalTables(sizes, SHARES, Cost.zcdp(0.1), unit)
    tables = np.repeat(np.arange(len(SHARES)), pure.level_sizes)
    rates = np.array([float(one.rate) for one in pure.distributions])[tables]
    precisions = np.array([1 / (2 * float(one.parameter)) for one in gaussian.distributions])[tables]
    changes = np.array([x for x in product(range(most_per_cell + 1), repeat=8) if sum(x) <= most])
    moved = pure.sum_nodes(changes.reshape(-1, 4)).reshape(len(tables), -1, 2).sum(axis=2)
    squares = (pure.sum_nodes(changes.reshape(-1, 4)) ** 2).reshape(len(tables), -1, 2).sum(axis=2)
    assert (rates @ moved).max() == pytest.approx(1)
    paid = (precisions @ squares).max()
    assert paid <= 0.1 + 1e-12
    # tables cannot all be moved most at once: two events in a row of two kinds, or in a column of two places
    assert paid == pytest.approx(0.1) or most_per_cell < most
    for number in range(len(SHARES)):
        bound = unit.squared_sensitivity(cells_summed(sizes)[number])
        assert squares[tables == number].sum(axis=0).max() == bound


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("cost", BUDGETS)
@pytest.mark.parametrize("shares", [SHARES, (0, 0, 0, 1), (0, 5, 0, 3), (1, 0, 1, 1)])
def test_cells_are_the_least_squares_fit_of_all_tables(cost, shares, seed):
    noise, rng = MarginalTables(DOMAIN.sizes, shares, cost).noise, np.random.default_rng(seed)
    matrix, number = design(DOMAIN.sizes)
    kept = np.array([noise.distributions[n] is not None for n in number])
    weights = np.array([noise.distributions[n].variance ** -0.5 for n in number[kept]])
    nodes = rng.normal(50, 20, (len(matrix), 3))
    fitted = noise.fit(nodes)
    covariance = np.linalg.inv((matrix[kept] * weights[:, None]).T @ (matrix[kept] * weights[:, None]))
    for time in range(3):
        expected = np.linalg.lstsq(matrix[kept] * weights[:, None], nodes[kept, time] * weights, rcond=None)[0]
        np.testing.assert_allclose(fitted[time], expected)
    question = rng.normal(size=noise.shape)
    assert noise.variance(question) == pytest.approx(sum(row @ covariance @ row for row in question))
    np.testing.assert_allclose(noise.standard_errors()[0], np.sqrt(np.diag(covariance)))


@pytest.mark.parametrize("cost", BUDGETS)
def test_sums_at_once_equal_single_questions(cost):
    noise = MarginalTables(DOMAIN.sizes, SHARES, cost).noise
    for grouping in (
        Grouping(np.array([0, 0, 1]), np.array([1, 0, 1, 1]), (2, 2, 2), np.array([0, 1, 0])),
        DOMAIN.coarsen(kind="all")[1],
        DOMAIN.coarsen(place="all")[1],
        DOMAIN.coarsen(time="month", place="all", kind="all")[1],
    ):
        np.testing.assert_allclose(noise.sum_errors(grouping), errors_of_questions(noise, grouping))
        values = np.full(grouping.shape, 40.0)
        fast, slow = noise.sum_intervals(values, grouping, 0.9), intervals_of_questions(noise, values, grouping, 0.9)
        np.testing.assert_allclose(fast, slow)


@pytest.mark.false_failure(5e-8)
@pytest.mark.parametrize("cost", BUDGETS)
@pytest.mark.slow
def test_intervals_of_cells_and_of_both_marginals_cover_what_they_say(cost, seed):
    """500 releases of one bin: fewer hits than 80 % by 6 standard deviations have probability below 1e-9."""
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-01"), DOMAIN.place, DOMAIN.kind)
    counts = np.random.default_rng(seed).integers(30, 90, domain.shape)
    mechanism = MarginalTables(domain.sizes, best_shares(domain.sizes, is_pure=False), cost)
    plan = central_plan_for(domain, epsilon=1.0, mechanism="flat")
    boxes = [
        domain.box(places="West", kinds="fall"),
        domain.box(places="North"),
        domain.box(kinds="fire"),
        domain.box(),
    ]
    hits, n = np.zeros(len(boxes)), 500
    for repeat in range(n):
        spend = Spend.simulation(mechanism.cost, seed=seed + repeat)
        estimate = mechanism.measure(ExactTally(counts), plan, spend=spend)
        for number, box in enumerate(boxes):
            found = answer(estimate, box, level=0.8)
            hits[number] += found.lower <= (box.weights(domain) * counts).sum() <= found.upper
    assert (hits >= 0.8 * n - 6 * (n * 0.16) ** 0.5).all()


@pytest.mark.false_failure(1e-12)
def test_measured_tables_are_unbiased_and_add_up(seed):
    counts = np.random.default_rng(seed).integers(30, 90, DOMAIN.shape)
    estimate = measured(MarginalTables(DOMAIN.sizes, SHARES, Cost.zcdp(500.0)), counts, seed)
    np.testing.assert_allclose(estimate.values, counts, atol=0.5)  # other noise than 0 has probability e**-50
    noisy = measured(MarginalTables(DOMAIN.sizes, SHARES, Cost.zcdp(0.1)), counts, seed)
    by_place, by_kind = noisy.coarsen(kind="all"), noisy.coarsen(place="all")
    np.testing.assert_allclose(by_place.values.sum(axis=1), by_kind.values.sum(axis=1))
    assert (by_place.noise.standard_errors() < np.sqrt(3) * noisy.noise.standard_errors()[0, 0]).all()


@pytest.mark.parametrize("sizes", [(1, 17, 6), (1, 3, 2), (1, 100, 40), (1, 50, 3), (1, 2, 2)])
@pytest.mark.parametrize(
    "asked",
    [
        {"place": 1.0, "kind": 1.0, "joint": 1.0},
        {"total": 1.0, "place": 1.0, "kind": 1.0, "joint": 1.0},
        {"total": 50.0, "place": 5.0, "kind": 5.0, "joint": 1.0},
        {"total": 1.0, "place": 1.0, "kind": 1.0},
        {"joint": 1.0},
    ],
)
def test_the_sum_of_variances_is_within_two_percent_of_the_bound(sizes, asked):
    shares, rho = best_shares(sizes, is_pure=False, asked=asked), 0.005
    noise = MarginalTables(sizes, shares, Cost.zcdp(rho)).noise
    domain = Domain(
        TimeAxis.between("2018-01-01", "2018-01-01"),
        PlaceAxis.of([f"p{n}" for n in range(sizes[1])]),
        KindAxis.of([f"k{n}" for n in range(sizes[2])]),
    )
    levels = {"total": {"place": "all", "kind": "all"}, "place": {"kind": "all"}, "kind": {"place": "all"}, "joint": {}}
    error = sum(
        weight * np.square(noise.sum_errors(domain.coarsen(**levels[name])[1])).sum() for name, weight in asked.items()
    )
    assert 1 - 1e-3 < error / least_error(sizes, rho, asked=asked) < 1.02


@pytest.mark.parametrize("is_pure", [True, False])
@pytest.mark.parametrize("asked", [asked for n in range(1, 5) for asked in combinations(NAMES, n)])
def test_every_question_has_shares(asked, is_pure):
    """Also where nobody needs the joint table, whose share goes to nothing."""
    shares = best_shares((1, 17, 6), is_pure=is_pure, asked=dict.fromkeys(asked, 1.0))
    assert min(shares) >= 0
    assert abs(sum(shares) - 1000) <= len(NAMES)


@pytest.mark.parametrize("is_pure", [True, False])
def test_no_shares_nearby_err_less(is_pure):
    sizes = (1, 400, 10)
    best = best_shares(sizes, is_pure=is_pure)

    def error(shares):
        noise = MarginalTables(sizes, tuple(shares), Cost.pure(0.1) if is_pure else Cost.zcdp(0.005)).noise
        return 400 * noise.box_moments(1, 10)[0] + 10 * noise.box_moments(400, 1)[0] + 4000 * noise.box_moments(1, 1)[0]

    for number in range(4):
        for step in (-40, 40):
            other = list(best)
            other[number] = max(other[number] + step, 0)
            assert error(best) <= error(other) * (1 + 1e-6)
    assert error(best) <= error((0, 0, 0, 1))


def test_the_noise_is_read_back_and_scaled():
    noise = MarginalTables(DOMAIN.sizes, (0, 2, 3, 4), Cost.pure(1.0)).noise
    again = noise_from_dict(json.loads(json.dumps(noise.to_dict())))
    weights = np.arange(36.0).reshape(noise.shape)
    assert again.interval(5.0, weights, 0.9) == noise.interval(5.0, weights, 0.9)
    assert noise.scaled(Fraction(2)).variance(weights) < noise.variance(weights) / 3.5


def spread(distribution, load, grid):
    """P(load * Z) on a grid of whole multiples of its step, as its discrete Fourier transform."""
    reach = int(40 * np.sqrt(distribution.variance)) + 2
    values = np.arange(-reach, reach + 1)
    exponents = (
        -float(distribution.rate) * np.abs(values)
        if isinstance(distribution, DiscreteLaplace)
        else -(values**2) / (2 * float(distribution.parameter))
    )
    mass = np.exp(exponents) / np.exp(exponents).sum()
    places = np.rint(load * values / grid.step).astype(np.int64) % grid.size
    return np.fft.rfft(np.bincount(places, weights=mass, minlength=grid.size))


@pytest.mark.parametrize("cost", [Cost.pure(1.0), Cost.zcdp(0.05)])
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.slow
def test_intervals_cover_exactly_what_they_say(cost, level):
    """The distribution of an answer's error by convolution, for a cell, both marginals and the total.

    Every noise is moved by at most half a step of the grid, which the margin is made smaller by.
    """
    sizes, shares, grid = (1, 3, 2), (1, 2, 3, 4), SimpleNamespace(step=0.005, size=1 << 20)
    noise = MarginalTables(sizes, shares, cost).noise
    distributions = np.repeat(noise.distributions, (1, 3, 2, 6))
    for question in ([1, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 1, 0], [1] * 6):
        error, n_noises = np.ones(grid.size // 2 + 1, complex), len(distributions)
        for number, distribution in enumerate(distributions):
            load = float(noise.fit(np.eye(n_noises)[:, [number]])[0] @ question)
            error = error * spread(distribution, load, grid)
        mass = np.fft.irfft(error, grid.size)
        lower, upper = noise.interval(1e6, np.array([question], float), level)
        steps = (upper - lower) / 2 / grid.step
        for slack, holds in ((-n_noises / 2, lambda p: p >= level - 0.005), (n_noises / 2, lambda p: p < level + 0.02)):
            within = int(steps + slack)
            assert holds(mass[: within + 1].sum() + mass[-within:].sum())


@pytest.mark.parametrize("budget", [{"epsilon": 1.0}, {"rho": 0.1, "delta": 1e-6}])
def test_an_interrupted_release_of_tables_is_taken_up_with_the_same_noise_and_for_nothing(budget, tmp_path):
    plan = central_plan_for(DOMAIN, mechanism="tables", **budget)
    counts, ledger = ExactTally(np.arange(36).reshape(DOMAIN.shape)), Ledger(tmp_path / "ledger.sqlite")
    days, mechanism = {"2018-01-01": b"a"}, central_mechanism_of(plan)
    asked = {"data_set": "calls", "release": plan.fingerprint, "cost": mechanism.cost, "days": days}
    asked["input_digest"] = input_digest_of(counts)
    first, is_resumed = ledger.resume_or_spend(**asked)
    again, is_again_resumed = Ledger(ledger.path).resume_or_spend(**asked)
    made = [mechanism.measure(counts, plan, spend=spend).values for spend in (first, again)]
    assert (is_resumed, is_again_resumed, len(ledger.history())) == (False, True, 1)
    np.testing.assert_array_equal(*made)


def test_a_plan_has_the_shares_of_what_is_asked_and_no_other_integers():
    asked = central_plan_for(DOMAIN, rho=0.1, delta=1e-6, mechanism="tables", asked={"place": 1.0, "total": 1.0})
    usual = central_plan_for(DOMAIN, rho=0.1, delta=1e-6, mechanism="marginals")
    shares = dict(asked.thresholds)
    assert shares["share joint"] < 20 < shares["share place"]
    assert dict(usual.thresholds)["share joint"] > 500
    for wrong in (shares | {"share joint": 0}, shares | {"share town": 3}, {"share place": 1}):
        with pytest.raises(PlanError, match="do not fit"):
            central_mechanism_of(replace(asked, thresholds=tuple(sorted(wrong.items()))))


def test_tables_without_kinds_and_questions_to_a_tree_are_refused():
    with pytest.raises(SettingError, match="need kinds of events"):
        central_plan_for(Domain(DOMAIN.time, DOMAIN.place), epsilon=1.0, mechanism="tables")
    with pytest.raises(SettingError, match="asked belongs to the mechanism tables"):
        central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat", asked={"place": 1.0})


@pytest.mark.false_failure(1e-12)
def test_the_noises_of_all_cells_of_all_tables_are_independent(seed):
    """A correlation of 2,000 pairs of normal noises beyond 0.3 is 13 standard errors off."""
    days = Domain(TimeAxis.between("2000-01-01", "2005-06-22"), DOMAIN.place, DOMAIN.kind)
    mechanism = MarginalTables(days.sizes, SHARES, Cost.zcdp(0.1))
    plan = central_plan_for(days, rho=0.1, delta=1e-6, mechanism="tables")
    counts = np.full(days.shape, 5)
    noisy = mechanism.noisy_nodes(ExactTally(counts), plan, spend=Spend.simulation(mechanism.cost, seed=seed))
    noise = noisy - mechanism.sum_nodes(counts)
    assert np.abs(np.corrcoef(noise) - np.eye(1 + 4 + 3 + 12)).max() < 0.3


@pytest.mark.slow
@pytest.mark.false_failure(1e-6)
def test_a_table_that_is_not_paid_for_is_refuted_and_ours_is_not(seed, monkeypatch):
    """The table of places has the noise of the whole budget, not of its share."""
    plan = central_plan_for(DOMAIN, rho=0.5, delta=1e-6, mechanism="tables")
    settings = {"n_runs": 100_000, "randomness": SeededRandomness(seed)}
    assert not audit_nodes(nodes_of_plan(plan), confidence=1 - 1e-9, **settings).is_refuted
    right = MarginalTables.distributions.fget

    def unpaid(self):
        total, _, kind, joint = right(self)
        return total, node_noise(self.cost, self.unit, Fraction(1), 1), kind, joint

    monkeypatch.setattr(MarginalTables, "distributions", property(unpaid))
    assert audit_nodes(nodes_of_plan(plan), **settings).is_refuted


@pytest.mark.parametrize("shares", [(1, 1, 1, 0), (1, 1, 1), (-1, 1, 1, 1)])
def test_shares_that_leave_the_joint_table_unknown_are_refused(shares):
    with pytest.raises(SettingError, match="share"):
        MarginalTables(DOMAIN.sizes, shares, Cost.pure(1.0))


@pytest.mark.parametrize("asked", [{}, {"places": 1.0}, {"place": -1.0}, {"place": 0.0}])
def test_questions_that_weigh_no_table_are_refused(asked):
    with pytest.raises(SettingError, match="asked must weigh some of total, place, kind, joint"):
        best_shares((1, 4, 3), is_pure=True, asked=asked)
