"""Least squares on a tree equals dense least squares, and its variances are those of dense algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit.counts.tree_least_squares import TreeFusion, mean_over_ranges_of_fan_outs
from tacit.domain import Hierarchy
from tacit.errors import SettingError

FloatArray = NDArray[np.float64]


def membership(tree: Hierarchy) -> FloatArray:
    """Which leaves each node holds, as a matrix nodes x leaves."""
    rows = np.zeros((tree.n_nodes, tree.n_leaves))
    for number in range(tree.n_nodes):
        leaves = tree.leaves(*tree.locate(number))
        rows[number, leaves.start : leaves.stop] = 1
    return rows


def node_variances(fusion: TreeFusion) -> FloatArray:
    return np.repeat(np.array(fusion.level_variances), fusion.hierarchy.level_sizes)


def dense(fusion: TreeFusion) -> tuple[FloatArray, FloatArray]:
    """The matrix from measurements to leaves, and the leaves' covariance, by conditioning on one node at a time.

    Start from the leaves' own measurements; every further measured node is one exact Gaussian update, so that
    variances of 0 and infinity need no special case.
    """
    tree, variances = fusion.hierarchy, node_variances(fusion)
    rows, leaves = membership(tree), tree.level_slice(tree.n_levels - 1)
    matrix = np.zeros((tree.n_leaves, tree.n_nodes))
    matrix[:, leaves] = np.eye(tree.n_leaves)
    covariance = np.diag(variances[leaves])
    for number in range(leaves.start):
        if math.isinf(variances[number]):
            continue
        row = rows[number]
        spread = row @ covariance @ row + variances[number]
        if spread <= 1e-12:
            continue
        gain = covariance @ row / spread
        innovation = -row @ matrix
        innovation[number] += 1
        matrix = matrix + np.outer(gain, innovation)
        covariance = covariance - np.outer(gain, row @ covariance)
    return matrix, covariance


@st.composite
def fusions(draw, most: int = 24) -> TreeFusion:
    n_leaves = draw(st.integers(1, most))
    edges = list(range(1, n_leaves))
    levels = []
    for _ in range(draw(st.integers(0, 3))):
        edges = sorted(draw(st.sets(st.sampled_from(edges)))) if edges else []
        levels.append([0, *edges, n_leaves])
    tree = Hierarchy.of_levels(levels[::-1], n_leaves)
    variances = [draw(st.one_of(st.floats(0.1, 10.0), st.just(math.inf))) for _ in range(tree.n_levels - 1)]
    variances.append(draw(st.floats(0.1, 10.0)))
    known = draw(st.one_of(st.none(), st.integers(0, tree.n_levels - 1)))
    if known is not None:  # two known levels would have to agree, which random measurements do not
        variances[known] = 0.0
    return TreeFusion(tree, variances)


def all_ranges(n_leaves: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first, stop = np.triu_indices(n_leaves + 1, 1)
    return first.astype(np.int64), stop.astype(np.int64)


def uneven(level_variances: tuple[float, ...] = (math.inf, 3.0, 0.5, 2.0)) -> TreeFusion:
    tree = Hierarchy.of_levels([[0, 3, 14, 20], [0, 2, 3, 4, 9, 14, 15, 20]], 20)
    return TreeFusion(tree, level_variances)


@given(fusions())
@settings(max_examples=200)
@pytest.mark.slow
def test_fused_leaves_are_those_of_dense_least_squares(fusion):
    matrix, _ = dense(fusion)
    unit = np.eye(fusion.hierarchy.n_nodes)
    assert_allclose(fusion.fuse(unit), matrix, atol=1e-10)


def test_fused_leaves_solve_the_weighted_normal_equations():
    """Written once more from the definition: the x that minimizes the sum of squared errors over variances."""
    fusion = uneven((4.0, 3.0, 0.5, 2.0))
    measured = np.random.default_rng(1).normal(100, 10, fusion.hierarchy.n_nodes)
    scale = 1 / np.sqrt(node_variances(fusion))
    rows = membership(fusion.hierarchy) * scale[:, None]
    solution = np.linalg.lstsq(rows, measured * scale, rcond=None)[0]
    assert_allclose(fusion.fuse(measured), solution, rtol=1e-10)


def test_a_known_total_is_kept_exactly():
    fusion = uneven((0.0, 3.0, 0.5, 2.0))
    measured = np.random.default_rng(2).normal(100, 10, fusion.hierarchy.n_nodes)
    assert_allclose(fusion.fuse(measured).sum(), measured[0], rtol=1e-12)
    assert_allclose(fusion.range_variances(np.array([0]), np.array([20])), 0.0, atol=1e-12)


@given(fusions(), st.integers(0, 2**32))
def test_node_weights_are_the_adjoint_of_fusing(fusion, seed):
    rng = np.random.default_rng(seed)
    measured, weights = rng.normal(size=fusion.hierarchy.n_nodes), rng.normal(size=fusion.hierarchy.n_leaves)
    assert_allclose(weights @ fusion.fuse(measured), fusion.node_weights(weights) @ measured, atol=1e-9)


@given(fusions(), st.integers(0, 2**32))
def test_variances_of_any_weights_are_those_of_dense_algebra(fusion, seed):
    _, covariance = dense(fusion)
    weights = np.random.default_rng(seed).normal(size=fusion.hierarchy.n_leaves)
    assert_allclose(fusion.variance(weights), weights @ covariance @ weights, atol=1e-9)


@given(fusions())
@settings(max_examples=200)
@pytest.mark.slow
def test_variances_of_all_ranges_are_those_of_dense_algebra(fusion):
    _, covariance = dense(fusion)
    first, stop = all_ranges(fusion.hierarchy.n_leaves)
    leaf = np.arange(fusion.hierarchy.n_leaves)
    inside = ((leaf >= first[:, None]) & (leaf < stop[:, None])).astype(float)
    expected = np.einsum("ri,ij,rj->r", inside, covariance, inside)
    assert_allclose(fusion.range_variances(first, stop), expected, atol=1e-9)


@given(fusions())
def test_node_variances_are_those_of_dense_algebra(fusion):
    _, covariance = dense(fusion)
    rows = membership(fusion.hierarchy)
    assert_allclose(fusion.node_variances, np.einsum("ni,ij,nj->n", rows, covariance, rows), atol=1e-9)


def test_columns_are_trees_of_their_own():
    fusion = uneven()
    rng = np.random.default_rng(3)
    measured, weights = rng.normal(size=(fusion.hierarchy.n_nodes, 4)), rng.normal(size=(20, 4))
    measured[0] = np.nan  # the root was not measured
    together = fusion.fuse(measured)
    assert_allclose(together, np.stack([fusion.fuse(column) for column in measured.T], axis=1))
    assert_allclose(fusion.node_weights(weights)[:, 2], fusion.node_weights(weights[:, 2]))
    assert not np.isnan(together).any()


def test_equal_fan_outs_have_the_closed_form_variance():
    """Var(range) = sum_j |P_j u|^2 / lambda_j with lambda_j = sum_(l <= j) w_l m_l, levels counted from the leaves."""
    fusion = TreeFusion(Hierarchy.of_fan_outs([4, 3, 5]), [7.0, 2.0, math.inf, 0.5])
    weights = np.zeros(60)
    weights[7:44] = 1
    sizes, precisions = [1, 5, 15, 60], [1 / 0.5, 0.0, 1 / 2.0, 1 / 7.0]
    means = [np.repeat(weights.reshape(-1, size).mean(axis=1), size) for size in sizes]
    energies = [((fine - coarse) ** 2).sum() for fine, coarse in zip(means, [*means[1:], 0 * weights], strict=True)]
    expected = sum(np.array(energies) / np.cumsum(np.array(precisions) * np.array(sizes)))
    assert_allclose(fusion.variance(weights), expected)
    assert_allclose(fusion.range_variances(np.array([7]), np.array([44])), expected)


@pytest.mark.slow
def test_compiled_and_plain_ranges_are_equal():
    pytest.importorskip("numba")
    from tacit._base.kernels import tree, tree_plain

    for fusion in (uneven(), TreeFusion(Hierarchy.of_degree(1000, 3), [math.inf, *[2.0] * 7], [0.0, *[3.0] * 7])):
        rng = np.random.default_rng(4)
        ends = np.sort(rng.integers(0, fusion.hierarchy.n_leaves + 1, (200_000, 2)), axis=1)
        first, stop = (column.copy() for column in ends[ends[:, 0] < ends[:, 1]].T)
        outcomes = []
        for kernels in (tree, tree_plain):
            moments = np.empty((2, first.size))
            first_leaf = fusion.hierarchy.level_slice(fusion.hierarchy.height).start
            kernels.range_moments(first, stop, first_leaf, *fusion._range_tables, *moments)
            outcomes.append(moments)
        assert (outcomes[0] == outcomes[1]).all()


@given(fusions(), st.integers(0, 2**32))
@settings(max_examples=200)
@pytest.mark.slow
def test_moments_of_all_ranges_are_those_of_their_node_weights(fusion, seed):
    cumulants = np.random.default_rng(seed).uniform(0, 3, fusion.hierarchy.n_levels)
    fusion = TreeFusion(fusion.hierarchy, fusion.level_variances, cumulants.tolist())
    first, stop = all_ranges(fusion.hierarchy.n_leaves)
    leaf = np.arange(fusion.hierarchy.n_leaves)[:, None]
    weights = fusion.node_weights(((leaf >= first) & (leaf < stop)).astype(float))
    expected = np.repeat(cumulants, fusion.hierarchy.level_sizes) @ weights**4
    variances, fourth = fusion.range_moments(first, stop)
    assert_allclose(fourth, expected, atol=1e-9)
    assert_allclose(fusion.moments(((leaf >= first) & (leaf < stop)).astype(float)), (variances, fourth), atol=1e-9)


@pytest.mark.slow
def test_both_kernels_serve_ranges(monkeypatch):
    pytest.importorskip("numba")
    fusion, (first, stop) = uneven(), all_ranges(20)
    by_size = []
    for worth_loading in (0, 1 << 60):
        monkeypatch.setattr(_kernels, "WORTH_LOADING", worth_loading)
        by_size.append(fusion.range_variances(first, stop))
    assert_allclose(*by_size, rtol=1e-13)


def test_a_million_leaves_keep_their_digits():
    tree = Hierarchy.of_fan_outs([16] * 5)
    fusion = TreeFusion(tree, [math.inf, *[50.0] * 5])
    last = 16**5 - 1
    first, stop = np.array([last, last - 3, 0, 16, 0]), np.array([last + 1, last + 1, 1, 32, 1 << 20])
    weights = np.zeros(1 << 20)
    weights[last - 3 :] = 1
    variances = fusion.range_variances(first, stop)
    assert_allclose(variances[0], variances[2], rtol=1e-12)
    assert_allclose(variances[1], fusion.variance(weights), rtol=1e-12)
    assert_allclose(variances[4], 50.0 * 16**5 / sum(16**level for level in range(5)), rtol=1e-12)


def test_one_leaf_is_its_own_tree():
    fusion = TreeFusion(Hierarchy.of_degree(1, 2), [3.0])
    assert fusion.fuse(np.array([5.0])).tolist() == [5.0]
    assert fusion.range_variances(np.array([0]), np.array([1])).tolist() == [3.0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda tree: TreeFusion(tree, [1.0]),
        lambda tree: TreeFusion(tree, [1.0, -1.0, 1.0]),
        lambda tree: TreeFusion(tree, [1.0, math.nan, 1.0]),
        lambda tree: TreeFusion(tree, [1.0, 1.0, math.inf]),
        lambda tree: TreeFusion(tree, [1.0, 1.0, 1.0]).fuse(np.zeros(3)),
        lambda tree: TreeFusion(tree, [1.0, 1.0, 1.0]).node_weights(np.zeros(3)),
        lambda tree: TreeFusion(tree, [1.0, 1.0, 1.0]).range_variances(np.array([3]), np.array([3])),
        lambda tree: TreeFusion(tree, [1.0, 1.0, 1.0]).range_variances(np.array([-1]), np.array([3])),
        lambda tree: TreeFusion(tree, [1.0, 1.0, 1.0]).range_variances(np.array([0]), np.array([5])),
    ],
)
def test_settings_and_questions_outside_the_tree_are_refused(ask):
    with pytest.raises(SettingError):
        ask(Hierarchy.of_degree(4, 2))


@given(fusions())
def test_the_mean_over_all_ranges_is_exact(fusion):
    first, stop = all_ranges(fusion.hierarchy.n_leaves)
    assert_allclose(fusion.mean_range_variance(), fusion.range_variances(first, stop).mean(), atol=1e-9)


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.data())
def test_the_mean_over_all_ranges_of_a_tree_cut_short_needs_no_tree(fan_outs, data):
    n_leaves = data.draw(st.integers(math.prod(fan_outs[1:]) + 1, math.prod(fan_outs)))
    some = st.one_of(st.floats(0.1, 10.0), st.just(math.inf), st.just(0.0))
    variances = [*(data.draw(some) for _ in fan_outs), data.draw(st.floats(0.1, 10.0))]
    fusion = TreeFusion(Hierarchy.of_fan_outs(fan_outs, n_leaves), variances)
    assert_allclose(
        mean_over_ranges_of_fan_outs(fan_outs, n_leaves, variances), fusion.mean_range_variance(), atol=1e-9
    )
