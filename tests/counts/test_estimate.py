"""Fused leaves add up, are unbiased, and stand where their bins and places do."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tacit.counts.node_distributions import DiscreteLaplace
from tacit.counts.noise.tree import fuse
from tacit.counts.provenance import Provenance
from tacit.counts.query import answer
from tacit.domain import Domain, Gazetteer, Hierarchy, PlaceAxis, TimeAxis
from tacit.errors import SettingError

DISTRIBUTION = DiscreteLaplace(Fraction(1, 3))
SIMULATED = Provenance("test", is_simulation=True)


def test_days_add_up_to_months_and_the_noise_knows():
    domain = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["north", "south"]))
    tree = Hierarchy.of_time(domain.time, ["month"])
    counts = np.random.default_rng(1).poisson(30, domain.shape)
    distributions = (None, DISTRIBUTION, DISTRIBUTION)
    estimate = fuse(tree, tree.sum_leaves(counts), distributions, domain=domain, provenance=SIMULATED)
    assert_allclose(estimate.values, counts)  # measurements without error are kept
    assert estimate.steps == ("least squares over a tree",)
    months = estimate.coarsen(time="month")
    assert_allclose(months.values[1, 0], counts[31:59, 0].sum())
    february = answer(estimate, domain.box("2018-02-01", "2018-02-28", ["north"]))
    assert_allclose(february.standard_error, months.noise.standard_errors()[1, 0])
    assert february.standard_error < DISTRIBUTION.variance**0.5


def test_places_stand_where_they_did_whatever_the_order_of_the_tree():
    towns = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"), level="town")
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-05"), towns)
    tree, order = Hierarchy.of_places(towns)
    counts = np.random.default_rng(2).poisson(3, domain.shape)
    nodes = tree.sum_leaves(counts.T[order]).astype(float)
    nodes[1 : tree.level_sizes[1] + 1] += 7.0  # the regions' measurements alone are off
    estimate = fuse(
        tree, nodes, (None, DISTRIBUTION, DISTRIBUTION), domain=domain, axis="place", order=order, provenance=SIMULATED
    )
    regions, region_of = towns.coarsen("region")
    change = estimate.values - counts
    for region in range(regions.n_cells):
        inside = region_of == region
        n_towns = np.count_nonzero(inside)
        assert_allclose(change[:, inside], 7.0 / (n_towns + 1))  # shared by equal variances of towns and region
    errors = estimate.noise.standard_errors()
    largest = np.bincount(region_of).argmax()
    assert_allclose(errors[0, region_of == largest], errors[0, region_of == largest][0])


def test_a_known_total_is_kept():
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-08"), PlaceAxis.of(["north"]))
    tree = Hierarchy.of_degree(8, 2)
    nodes = np.random.default_rng(3).normal(100, 5, (tree.n_nodes, 1))
    nodes[0] = 1234.0
    estimate = fuse(
        tree, nodes, (None, DISTRIBUTION, DISTRIBUTION, DISTRIBUTION), domain=domain, known=[0], provenance=SIMULATED
    )
    assert_allclose(estimate.values.sum(), 1234.0)
    assert_allclose(estimate.noise.variance(np.ones((8, 1))), 0.0, atol=1e-9)


def test_leaves_alone_are_left_as_they_are():
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-08"), PlaceAxis.of(["north"]))
    nodes = np.arange(9.0)[:, None]
    estimate = fuse(Hierarchy.of_levels([], 8), nodes, (None, DISTRIBUTION), domain=domain, provenance=SIMULATED)
    assert estimate.values.ravel().tolist() == list(range(1, 9))
    assert estimate.steps == ()
    assert estimate.provenance.is_simulation


def test_nodes_of_another_shape_are_refused():
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-08"), PlaceAxis.of(["north"]))
    with pytest.raises(SettingError, match="nodes"):
        fuse(Hierarchy.of_degree(8, 2), np.zeros((15, 2)), (DISTRIBUTION,) * 4, domain=domain, provenance=SIMULATED)
