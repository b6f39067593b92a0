"""Error against epsilon follows its formula and the release's own noise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.pages.figures import EPSILONS, choices, errors_by, standard_error_at
from tacit.pages.figures.accuracy import ORACLES
from tacit.privacy.epsilon import largest_belief
from tacit.release import Release


def made_by(mechanism, *, private=("place",), epsilon=1.5, months=18, reports=400):
    domain = Domain(TimeAxis.between("2017-01", None, step="month").with_end(months), PlaceAxis.of(["a", "b", "c"]))
    plan = plan_for(domain, epsilon=epsilon, private=private, mechanism=mechanism)
    randomizer = mechanism_of(plan)
    rows = np.broadcast_to(np.asarray(reports, np.int64), plan.n_public)
    statistics = np.repeat(rows[:, None] // randomizer.n_statistics, randomizer.n_statistics, axis=1)
    tally = Tally(Provenance(plan.fingerprint), statistics, rows)
    return Release.of(plan, estimate_tally(tally, plan))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_error_of_a_count_is_its_closed_form(epsilon):
    half = math.exp(epsilon / 2)
    assert standard_error_at(epsilon, 2500) == pytest.approx(50 * math.sqrt(half) / (half - 1), rel=1e-12)


def test_the_release_s_own_row_is_what_it_states(release):
    errors = errors_by(release, "month")
    own = next(choice for choice in choices(release, [errors]) if choice.is_chosen)
    assert own.errors == (errors.largest,)
    assert own.odds == pytest.approx(release.statement.odds)
    assert own.largest_belief == pytest.approx(release.statement.largest_belief)


def test_errors_span_all_counts_of_whole_periods(release):
    errors, found = errors_by(release, "month"), release.unbiased.coarsen(time="month").noise.standard_errors()
    assert errors.largest == found.max()
    assert errors.smallest == found[1:-1].min()  # October and December are counted in part
    assert errors.differ


def test_the_largest_error_is_that_of_the_place_with_reports():
    release = made_by("unary", private=("time",), reports=[4000, 0, 0])
    answer = release.answer(first="2017-01", last="2017-12", places=["a"])
    errors = errors_by(release, "year")
    assert errors.largest == pytest.approx(answer.standard_error)
    assert errors.smallest == 0


def test_no_error_is_given_where_no_period_is_whole():
    assert errors_by(made_by("unary", months=7), "year") is None


@pytest.mark.parametrize("private", [("place",), ("time",), ("time", "place")], ids="-".join)
@pytest.mark.parametrize("mechanism", sorted(ORACLES))
def test_other_rows_are_what_as_many_reports_of_the_same_kind_would_have(mechanism, private):
    release = made_by(mechanism, private=private)
    found = choices(release, [errors_by(release, "month"), errors_by(release, "year")])
    assert all(choice.on_line for choice in found)
    for choice in found:
        other = mechanism_of(made_by(mechanism, private=private, epsilon=choice.epsilon).plan).distribution
        noises = (
            release.unbiased.coarsen(time=step).noise.through(lambda _, other=other: other)
            for step in ("month", "year")
        )
        assert choice.errors == pytest.approx([noise.standard_errors().max() for noise in noises], rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.9, 2.2, 5.9, 8.0])
@pytest.mark.parametrize("n_cells", [2, 17, 600])
@pytest.mark.parametrize("mechanism", sorted(ORACLES))
def test_distributions_are_those_of_plans(mechanism, n_cells, epsilon):
    own = MECHANISMS[mechanism].from_epsilon(epsilon, n_cells).distribution
    made = ORACLES[mechanism](epsilon, n_cells)
    assert [float(made.p), float(made.q)] == pytest.approx([float(own.p), float(own.q)], rel=1e-9)


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS.keys() - ORACLES.keys()))
def test_other_releases_stand_beside_rappor_at_their_epsilon(mechanism):
    release = made_by(mechanism)
    found = choices(release, [errors_by(release, "month")])
    pair = [choice for choice in found if choice.epsilon == 1.5]
    assert [(choice.is_chosen, choice.on_line) for choice in pair] == [(True, False), (False, True)]
    assert pair[0].errors[0] == pytest.approx(release.coarsen(time="month").unbiased.noise.standard_errors().max())
    for choice in found:
        if choice.on_line:
            rappor = made_by("unary", epsilon=choice.epsilon)
            assert choice.errors == pytest.approx([errors_by(rappor, "month").largest], rel=1e-9)


def test_the_errors_of_other_noise_are_left_out(release):
    errors = replace(errors_by(release, "month"), elsewhere=None)
    assert [bool(choice.errors) for choice in choices(release, [errors])] == [False] * 3 + [True] + [False] * 2


def test_the_chosen_epsilon_stands_in_place_of_its_neighbour(release):
    epsilons = [choice.epsilon for choice in choices(release, [])]
    assert len(epsilons) == len(EPSILONS)  # 2.2 gave way to 2.197
    assert epsilons == sorted(epsilons)


def test_belief_goes_from_one_in_k_to_certainty():
    assert largest_belief(0.0, 17) == pytest.approx(1 / 17)
    assert largest_belief(2 * math.log(3), 17) == pytest.approx(9 / 25)
    assert largest_belief(30.0, 17) == pytest.approx(1.0)
