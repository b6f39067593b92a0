"""Reports of time, place and kind: whatever of them is private, the counts come back with their public totals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from small_worlds import reported
from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.query import answer
from tacit.counts.tally import Tally
from tacit.domain import AXES, Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.plan import Plan
from tacit.randomness import SeededRandomness

DOMAIN = Domain(
    TimeAxis.between("2018-01-01", "2018-01-04"),
    PlaceAxis.of(["North", "South", "West"]),
    KindAxis.of(["fire", "flood"]),
)
PRIVATE = [private for n in (1, 2, 3) for private in combinations(AXES, n)]
HARDLY_PRIVATE = 20.0
"""An epsilon at which nearly all reports are true: a bit is flipped with probability 4.5e-5."""


def counted(seed):
    return np.random.default_rng(seed).integers(20, 150, DOMAIN.shape)


@pytest.mark.false_failure(1e-12)
@pytest.mark.parametrize("private", PRIVATE)
@pytest.mark.parametrize("mechanism", ["unary", "subset"])
def test_counts_come_back_whatever_is_private(private, mechanism, seed):
    """Of 3,600 reports at most, ten or more flip the bit of a cell with probability below 1e-13."""
    plan, counts = plan_for(DOMAIN, epsilon=HARDLY_PRIVATE, mechanism=mechanism, private=private), counted(seed)
    estimate = estimate_tally(reported(plan, counts, seed), plan)
    np.testing.assert_allclose(estimate.values, counts, atol=10)
    hidden = tuple(axis for axis, name in enumerate(AXES) if name in private)
    totals = counts.reshape(DOMAIN.grid).sum(axis=hidden, keepdims=True)
    np.testing.assert_array_equal(estimate.totals, totals)


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("private", PRIVATE)
def test_public_totals_are_exact_and_add_up(private, seed):
    plan, counts = plan_for(DOMAIN, epsilon=1.0, mechanism="unary", private=private), counted(seed)
    estimate = estimate_tally(reported(plan, counts, seed), plan)
    hidden = {name: name in private for name in AXES}
    box = DOMAIN.box(
        None if hidden["time"] else "2018-01-02",
        None if hidden["time"] else "2018-01-03",
        places=None if hidden["place"] else ["West", "North"],
        kinds=None if hidden["kind"] else "flood",
    )
    true = int((box.weights(DOMAIN) * counts).sum())
    assert estimate.known_total(box) == true
    assert answer(estimate, box).value == answer(estimate, box).lower == true
    if private != AXES[:1]:
        part = DOMAIN.box(places="West", kinds="fire")
        assert (estimate.known_total(part) is None) == (hidden["place"] or hidden["kind"])
    for levels in ({"kind": "all"}, {"place": "all"}, {"time": "month", "place": "all", "kind": "all"}):
        coarse = estimate.coarsen(**levels)
        _, grouping = DOMAIN.coarsen(**levels)
        np.testing.assert_allclose(coarse.values, grouping.sums(estimate.values))
        assert coarse.totals.ndim == len(coarse.domain.grid)
        assert coarse.totals.sum() == counts.sum()


@pytest.mark.false_failure(0)
def test_the_variance_of_a_marginal_is_that_of_its_cells_together(seed):
    plan = plan_for(DOMAIN, epsilon=1.0, mechanism="unary", private=("place", "kind"))
    estimate = estimate_tally(reported(plan, counted(seed), seed), plan)
    by_place, by_kind = estimate.coarsen(kind="all"), estimate.coarsen(place="all")
    errors = np.square(estimate.noise.standard_errors()).reshape(DOMAIN.grid)
    np.testing.assert_allclose(np.square(by_place.noise.standard_errors()), errors.sum(axis=2))
    np.testing.assert_allclose(np.square(by_kind.noise.standard_errors()), errors.sum(axis=1))


def test_a_plan_with_kinds_survives_its_file_and_one_without_is_as_before(tmp_path):
    with_kinds = plan_for(DOMAIN, epsilon=1.0, private=("place", "kind"))
    with_kinds.write(tmp_path / "plan.toml")
    assert Plan.read(tmp_path / "plan.toml") == with_kinds
    assert with_kinds.format == 3
    without = plan_for(Domain(DOMAIN.time, DOMAIN.place), epsilon=1.0)
    assert without.format == 1
    assert "kind" not in without.to_dict()["domain"]
    with pytest.raises(SettingError, match="private must name one or more of time, place, in this order"):
        plan_for(Domain(DOMAIN.time, DOMAIN.place), epsilon=1.0, private=("kind",))


@pytest.mark.false_failure(1e-12)
def test_a_tally_of_days_without_end_grows_by_all_kinds_of_a_day(seed):
    plan = plan_for(DOMAIN.without_end(), epsilon=HARDLY_PRIVATE, mechanism="unary", private=("place",))
    assert plan.n_public is None
    assert plan.n_private == 3
    public, hidden = plan.split(np.array([0, 2, 5]), np.array([0, 3, 5]))
    assert public.tolist() == [0, 5, 11]
    assert hidden.tolist() == [0, 1, 2]
    device = mechanism_of(plan)
    reports = device.randomize(np.full(12_000, 2), randomness=SeededRandomness(seed))
    in_bins = np.zeros(6, np.int64)
    in_bins[5] = 12_000
    tally = Tally(Provenance(plan.fingerprint, is_simulation=True), device.statistics(reports, in_bins), in_bins)
    estimate = estimate_tally(tally, plan)
    assert estimate.domain.grid == (3, 3, 2)
    assert estimate.values.reshape(3, 3, 2)[2, 2, 1] == pytest.approx(12_000, abs=100)  # about 1 flip
