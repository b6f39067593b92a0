"""What reports are predicted to err by is what their distribution says, and what they err by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from predicted_errors import assert_errors_as_predicted
from small_worlds import days_and_places
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.mechanisms.planner import Contender, Question, Situation, choose
from tacit.mechanisms.planner.local import designed_contenders, flat_contenders, report_variance, tree_contenders
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.randomness import SeededRandomness

ORACLES = [name for name, entry in MECHANISMS.items() if not entry.is_repeated and not entry.is_sampled]
ALIKE = ["unary", "optimized unary", "tuned unary", "response", "subset"]
"""Oracles to which all cells are alike."""
N_BINS, N_TRIALS, N_REPORTS = 24, 4000, 200


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("n_cells", [2, 7, 16, 33])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_error_of_a_range_is_the_distributions_on_average_over_positions(name, n_cells, epsilon):
    distribution = MECHANISMS[name].from_epsilon(epsilon, n_cells).distribution
    error = report_variance(distribution)
    for length in range(1, n_cells + 1):
        by_distribution = [
            distribution.variances((np.arange(n_cells) >= first) * (np.arange(n_cells) < first + length) * 1.0).mean()
            for first in range(n_cells - length + 1)
        ]
        (predicted,) = error.range_variances([0], [length])
        allowed = 1e-9 if name in ALIKE else 0.1
        assert predicted == pytest.approx(np.mean(by_distribution), rel=allowed, abs=1e-9 * error.single)


def place_private(situation: Situation) -> Situation:
    return replace(situation, private=("place",))


def test_a_flat_contender_errs_in_a_bin_as_its_candidate_does():
    situation = Situation(n_bins=365, n_places=17, n_events=365 * 80, private=("place",), epsilon=2.2)
    by_name = {one.mechanism: one for one in flat_contenders(situation)}
    best = choose(17, 2.2, n_reports=80).candidate
    assert by_name[best.name].rmse(Question("points"), 365) ** 2 == pytest.approx(best.mean_variance)
    assert by_name[best.name].report_bytes == best.report_bytes
    # days are public and have reports of their own: a month errs by 30 days' errors, added up
    month = by_name[best.name].rmse(Question("ranges", 30), 365)
    assert month**2 == pytest.approx(30 * best.mean_variance)


def test_reports_that_hide_both_are_estimated_together():
    apart = Situation(n_bins=6, n_places=4, n_events=2400.0, private=("time",), epsilon=1.0)
    together = replace(apart, private=("time", "place"))
    assert (apart.n_hidden, apart.reports_together) == (6, pytest.approx(600))
    assert (together.n_hidden, together.reports_together) == (24, pytest.approx(2400))
    assert (place_private(apart).n_hidden, place_private(apart).reports_together) == (4, pytest.approx(400))
    best = choose(24, 1.0, n_reports=2400).candidate
    by_name = {one.mechanism: one for one in flat_contenders(together)}
    assert by_name[best.name].rmse(Question("points"), 6) ** 2 == pytest.approx(best.mean_variance)


def test_trees_stand_only_where_the_time_is_hidden():
    for private, n_trees in ((("time",), 5), (("place",), 0), (("time", "place"), 0)):
        situation = Situation(n_bins=100, n_places=5, n_events=1e5, private=private, epsilon=1.0)
        assert len(tree_contenders(situation)) == n_trees
        assert len(designed_contenders(situation)) == (n_trees > 0)


def test_a_tree_without_the_help_of_its_levels_is_a_flat_count_with_a_known_total():
    # the designed tree of two leaves has one level: subset selection between two, which adds up anyway
    situation = Situation(n_bins=2, n_events=1000.0, epsilon=1.0)
    (tree,) = designed_contenders(situation)
    flat = min(flat_contenders(situation), key=lambda one: one.rmse(Question("points"), 2))
    assert tree.rmse(Question("points"), 2) == pytest.approx(flat.rmse(Question("points"), 2), rel=1e-9)
    assert tree.rmse(Question("ranges", 2), 2) == pytest.approx(0, abs=1e-4)


def simulated_errors(name: str, epsilon: float, seed: int) -> tuple[int, np.ndarray]:
    """The bytes of a report, and the errors of all bins in every place, from reports of a plan."""
    domain = days_and_places(N_BINS, N_TRIALS)
    plan = plan_for(domain, epsilon=epsilon, mechanism=name, private=("time",))
    mechanism = mechanism_of(plan)
    cells = np.random.default_rng(seed).integers(N_BINS, size=(N_TRIALS, N_REPORTS))
    reports = mechanism.randomize(cells.ravel(), randomness=SeededRandomness(seed))
    per_place = np.full(N_TRIALS, N_REPORTS)
    statistics = mechanism.statistics(reports, per_place)
    tally = Tally(Provenance(plan.fingerprint, is_simulation=True), statistics, per_place)
    truth = np.stack([np.bincount(row, minlength=N_BINS) for row in cells], axis=1)
    return mechanism.report_bytes, mechanism.estimate(tally, plan, domain).values - truth


def predicted(name: str, epsilon: float) -> tuple[Contender, Situation]:
    situation = Situation(n_bins=N_BINS, n_places=N_TRIALS, n_events=N_TRIALS * N_REPORTS, epsilon=epsilon)
    made = [*flat_contenders(situation), *designed_contenders(situation)]
    (contender,) = (one for one in made if one.mechanism == name)
    return contender, situation


@pytest.mark.false_failure(1e-8)
@pytest.mark.parametrize("name", [*ORACLES, "hierarchical"])
@pytest.mark.parametrize("epsilon", [0.7, 2.0])
def test_simulated_reports_err_as_predicted(name, epsilon, seed):
    """False failures: below 1e-8 a case."""
    report_bytes, errors = simulated_errors(name, epsilon, seed)
    contender, situation = predicted(name, epsilon)
    assert contender.report_bytes == report_bytes
    assert_errors_as_predicted(contender, situation, errors)


@pytest.mark.false_failure(1e-8)
@pytest.mark.parametrize("name", ["subset", "hierarchical"])
def test_a_prediction_for_another_epsilon_is_caught(name, seed):
    """Power: errors a quarter off are noticed. False failures: below 1e-8."""
    _, errors = simulated_errors(name, 1.0, seed)
    with pytest.raises(AssertionError, match=name):
        assert_errors_as_predicted(*predicted(name, 0.8), errors)
