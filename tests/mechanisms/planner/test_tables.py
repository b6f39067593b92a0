"""Predicted errors of tables: of a curator's and of devices', beside what else is known for several coordinates."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from small_worlds import days_and_places
from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import AXES, Domain, KindAxis
from tacit.errors import SettingError
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.planner import Question, Situation, compare
from tacit.mechanisms.planner.situation import TABLES
from tacit.mechanisms.registry import mechanism_of, plan_for

SIZES = (4, 3, 2)
N_EVENTS = 4 * 3 * 2 * 50


def domain() -> Domain:
    days = days_and_places(SIZES[0], SIZES[1])
    return Domain(days.time, days.place, KindAxis.of(["fire", "flood"]))


def situation(**settings) -> Situation:
    return Situation(n_bins=SIZES[0], n_places=SIZES[1], n_kinds=SIZES[2], n_events=N_EVENTS, **settings)


def box_of(question: Question):
    """The first range of a question as a box of the domain."""
    first, stop = (int(edges[0]) for edges in question.ranges(SIZES[0]))
    names = domain().time.label
    place, kind = question.table in ("place", "joint"), question.table in ("kind", "joint")
    return domain().box(
        names(first), names(stop - 1), places="place 1" if place else None, kinds="fire" if kind else None
    )


QUESTIONS = [Question(kind, length, table) for kind, length in (("points", None), ("ranges", 2)) for table in TABLES]


@pytest.mark.parametrize("budget", [{"epsilon": 1.0, "delta": 1e-6}, {"rho": 0.1}])
def test_a_curators_tables_err_as_predicted(budget):
    asked = situation(trust="curator", **budget).asked(QUESTIONS)
    assert set(asked) == set(TABLES)
    (found,) = (
        one
        for one in compare(situation(trust="curator", **budget), QUESTIONS).predictions
        if one.contender.mechanism == "tables"
    )
    more = {"delta": 1e-6} if "rho" in budget else {}
    noise = central_mechanism_of(central_plan_for(domain(), mechanism="tables", asked=asked, **budget, **more)).noise
    for question, error in zip(QUESTIONS, found.errors, strict=True):
        assert error**2 == pytest.approx(noise.variance(box_of(question).weights(domain())))


@pytest.mark.parametrize("private", [axes for n in (2, 3) for axes in combinations(AXES, n)])
@pytest.mark.parametrize("name", ["sampled tables", "subset"])
def test_reports_of_even_events_err_as_predicted(private, name):
    """The counts that stand in for the truth are made even: the variance is then what is predicted, exactly."""
    here = situation(private=private, epsilon=1.0)
    asked = here.asked(QUESTIONS) if name == "sampled tables" else None
    plan = plan_for(domain(), epsilon=1.0, mechanism=name, private=private, asked=asked)
    reports = np.full(plan.n_public, N_EVENTS // plan.n_public)
    statistics = np.zeros((plan.n_public, mechanism_of(plan).n_statistics), np.int64)
    made = estimate_tally(Tally(Provenance(plan.fingerprint), statistics, reports), plan)
    noise = made.noise.forget(np.ones(domain().shape, bool))
    (found,) = (one for one in compare(here, QUESTIONS).predictions if one.contender.mechanism == name)
    for question, error in zip(QUESTIONS, found.errors, strict=True):
        asked_for = noise.variance(box_of(question).weights(domain()))
        assert error**2 == pytest.approx(asked_for, abs=1e-6), question


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("sizes", [(2, 2), (17, 6), (40, 3)])
def test_split_epsilon_and_fake_data_are_shown_and_never_best(sizes, epsilon):
    """Whatever tables are asked about: the sum of the variances of all their cells is what tables are made for."""
    here = Situation(n_bins=1, n_places=sizes[0], n_kinds=sizes[1], n_events=1.0, private=AXES[1:], epsilon=epsilon)
    n_cells = {"place": sizes[0], "kind": sizes[1], "joint": math.prod(sizes)}
    for names in (("place", "kind"), ("place",), ("joint",), ("place", "kind", "joint")):
        questions = [Question("points", table=name) for name in names]
        sums = {
            one.contender.mechanism: (sum(e * e * n_cells[n] for e, n in zip(one.errors, names, strict=True)), one)
            for one in compare(here, questions).predictions
        }
        ours = sums["sampled tables"][0]
        for name in ("split epsilon (SPL)", "fake data (RS+FD)"):
            assert not sums[name][1].contender.is_plannable
            assert ours <= sums[name][0] * (1 + 2e-3)
        # a report of one table in 1,024 is the joint one
        assert ours <= min(error for name, (error, _) in sums.items()) * (1 + 2e-3)


def test_the_error_of_split_epsilon_is_that_of_its_listed_reports():
    """Two coordinates of two values, each by randomized response with half of epsilon: sixteen pairs, listed."""
    here = Situation(n_bins=1, n_places=2, n_kinds=2, n_events=1.0, private=AXES[1:], epsilon=2.0)
    questions = Question.parse("points by place, points")
    (found,) = (one for one in compare(here, questions).predictions if "SPL" in one.contender.mechanism)
    p = math.exp(1) / (math.exp(1) + 1)
    expected = [0.0, 0.0]
    for truth, report in product(product(range(2), repeat=2), repeat=2):
        chance = math.prod(p if true == said else 1 - p for true, said in zip(truth, report, strict=True)) / 4
        one = [((said == 0) - (1 - p)) / (2 * p - 1) for said in report]
        expected[0] += chance * (one[0] - (truth[0] == 0)) ** 2
        expected[1] += chance * (one[0] * one[1] - (truth == (0, 0))) ** 2
    assert [error**2 for error in found.errors] == pytest.approx(expected)


def test_words_name_tables_and_others_are_refused():
    assert [str(one) for one in Question.parse("points by place, 7 by total")] == [
        "points by place",
        "ranges of 7 by total",
    ]
    assert Question.parse("7 by kind")[0].heading == "7 long by kind"
    with pytest.raises(SettingError, match="by place, by kind or by total"):
        Question.parse("points by town")
    with pytest.raises(SettingError, match="table must be one of"):
        Question("points", table="town")
