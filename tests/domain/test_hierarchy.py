"""A hierarchy cuts an ordered domain into nodes, and any range into the fewest of them."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import Gazetteer, PlaceAxis, TimeAxis
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import FormatError, SettingError


def fewest(tree: Hierarchy, first: int, stop: int) -> list[tuple[int, int]]:
    """The definition: all nodes inside the range whose parent is not, in order of their leaves."""

    def inside(node: tuple[int, int]) -> bool:
        leaves = tree.leaves(*node)
        return first <= leaves.start and leaves.stop <= stop

    nodes = [tree.locate(number) for number in range(tree.n_nodes)]
    chosen = [node for node in nodes if inside(node) and (node[0] == 0 or not inside(tree.parent(*node)))]
    return sorted(chosen, key=lambda node: tree.leaves(*node).start)


@st.composite
def hierarchies(draw, most: int = 40) -> Hierarchy:
    n_leaves = draw(st.integers(1, most))
    edges = list(range(1, n_leaves))
    levels = []
    for _ in range(draw(st.integers(0, 3))):
        edges = sorted(draw(st.sets(st.sampled_from(edges)))) if edges else []
        levels.append([0, *edges, n_leaves])
    return Hierarchy.of_levels(levels[::-1], n_leaves)


@pytest.mark.parametrize("degree", range(2, 9))
def test_every_range_of_every_small_tree_is_the_union_of_the_fewest_nodes(degree):
    """Exhaustive: sizes 1 to 128, degrees 2 to 8, every range.

    The nodes lie end to end, so that they hold the range exactly and once; each lies in the range while its parent does
    not, so that there are no fewer; and there are at most (B - 1)(2 log_B r + 1) of them, the thesis' bound.
    """
    for n_leaves in range(1, 129):
        tree = Hierarchy.of_degree(n_leaves, degree)
        first, stop = (ends.astype(np.int64) for ends in np.triu_indices(n_leaves + 1, 1))
        parts = tree.decompose_many(first, stop)
        used = parts[:, 1] - parts[:, 0] + parts[:, 3] - parts[:, 2]
        assert (used >= 0).all()
        assert (used.sum(axis=0) <= (degree - 1) * (2 * np.log(stop - first) / np.log(degree) + 1) + 1e-9).all()
        left, right = first, stop
        for level in range(tree.height, -1, -1):
            edges, (low, inner_low, inner_high, high) = tree.boundaries[level], parts[level]
            for side in ((low, inner_low), (inner_high, high)):
                some = side[0] < side[1]
                node, end, lowest, highest = (part[some] for part in (*side, first, stop))
                assert ((edges[node] >= lowest) & (edges[end] <= highest)).all()
                for one in (node, end - 1) if level else ():  # parents are in order: the outer ones speak for all
                    above = tree.boundaries[level - 1]
                    parent = tree.nodes_of(edges[one], level - 1)
                    assert ((above[parent] < lowest) | (above[parent + 1] > highest)).all()
            assert (edges[low] == left)[low < inner_low].all()
            assert (edges[high] == right)[inner_high < high].all()
            left = np.where(low < inner_low, edges[inner_low], left)
            right = np.where(inner_high < high, edges[inner_high], right)
        assert (left == right).all()


@pytest.mark.parametrize("degree", [2, 3, 4, 5])
@pytest.mark.slow
def test_a_range_uses_the_fewest_nodes(degree):
    for n_leaves in (1, 2, 7, 16, 25, 31):
        tree = Hierarchy.of_degree(n_leaves, degree)
        for first in range(n_leaves):
            for stop in range(first + 1, n_leaves + 1):
                assert tree.decompose(first, stop) == fewest(tree, first, stop)


@given(hierarchies(), st.data())
def test_uneven_trees_decompose_as_the_definition_says(tree, data):
    first = data.draw(st.integers(0, tree.n_leaves - 1))
    stop = data.draw(st.integers(first + 1, tree.n_leaves))
    assert tree.decompose(first, stop) == fewest(tree, first, stop)


@given(hierarchies())
def test_numbers_parents_children_and_leaves_agree(tree):
    assert [tree.number(*tree.locate(number)) for number in range(tree.n_nodes)] == list(range(tree.n_nodes))
    assert tree.decompose(0, tree.n_leaves) == [(0, 0)]
    for number in range(tree.n_nodes):
        level, index = tree.locate(number)
        children = tree.children(level, index)
        assert all(tree.parent(*child) == (level, index) for child in children)
        if children:
            assert [leaf for child in children for leaf in tree.leaves(*child)] == list(tree.leaves(level, index))
        else:
            assert len(tree.leaves(level, index)) == 1
    for level in range(tree.n_levels):
        nodes = tree.nodes_of(np.arange(tree.n_leaves), level)
        assert all(leaf in tree.leaves(level, int(node)) for leaf, node in enumerate(nodes))
        part = tree.level_slice(level)
        assert (part.start, part.stop - 1) == (tree.number(level, 0), tree.number(level, tree.level_sizes[level] - 1))


@given(hierarchies())
def test_a_tree_survives_json(tree):
    assert Hierarchy.from_dict(json.loads(json.dumps(tree.to_dict()))) == tree
    assert len({tree, Hierarchy.from_dict(tree.to_dict())}) == 1


@pytest.mark.parametrize(
    ("n_leaves", "degree", "height", "padded"),
    [(32, 2, 5, 32), (27, 3, 3, 27), (64, 4, 3, 64), (28, 2, 5, 32), (20, 3, 3, 27)],
)
def test_heights_and_padding_are_those_of_the_thesis(n_leaves, degree, height, padded):
    assert Hierarchy.of_degree(n_leaves, degree).height == height
    assert Hierarchy.of_degree(n_leaves, degree).n_leaves == n_leaves
    assert Hierarchy.of_degree(n_leaves, degree, padded=True).level_sizes == tuple(degree**j for j in range(height + 1))
    assert Hierarchy.of_degree(n_leaves, degree, padded=True).n_leaves == padded


@pytest.mark.parametrize(
    ("n_leaves", "degree", "path"),
    [(32, 2, [31, 15, 7, 3, 1, 0]), (27, 3, [20, 6, 2, 0]), (64, 4, [63, 15, 3, 0]), (21, 3, [20, 6, 2, 0])],
)
def test_paths_are_those_of_the_thesis(n_leaves, degree, path):
    assert Hierarchy.of_degree(n_leaves, degree).path(path[0]) == path


def test_the_range_of_the_thesis_has_six_nodes():
    nodes = Hierarchy.of_degree(32, 2).decompose(2, 23)  # both ends included: 2 to 22
    assert nodes == [(4, 1), (3, 1), (2, 1), (3, 4), (4, 10), (5, 22)]


@given(hierarchies(), st.integers(1, 3))
def test_sums_of_nodes_are_sums_of_their_leaves(tree, n_columns):
    leaves = np.random.default_rng(1).integers(0, 100, (tree.n_leaves, n_columns))
    sums = tree.sum_leaves(leaves)
    for number in range(tree.n_nodes):
        assert (sums[number] == leaves[list(tree.leaves(*tree.locate(number)))].sum(axis=0)).all()
    assert (tree.sum_leaves(leaves[:, 0]) == sums[:, 0]).all()


def test_boundaries_cannot_be_changed():
    tree = Hierarchy.of_degree(10, 4)
    with pytest.raises(ValueError, match="read-only"):
        tree.boundaries[1][1] = 5
    assert repr(tree) == "Hierarchy(level_sizes=(1, 3, 10))"


def test_trees_are_equal_by_content():
    assert Hierarchy.of_degree(10, 4) == Hierarchy(((0, 10), (0, 4, 8, 10), tuple(range(11))))
    assert Hierarchy.of_degree(10, 4) != Hierarchy.of_degree(10, 5)
    assert Hierarchy.of_degree(10, 4) != "tree"
    assert len({Hierarchy.of_degree(10, 4), Hierarchy.of_degree(10, 4), Hierarchy.of_degree(11, 4)}) == 2


def test_mixed_fan_outs_need_no_padding():
    tree = Hierarchy.of_fan_outs([8, 4, 4, 4, 4])
    assert tree.level_sizes == (1, 8, 32, 128, 512, 2048)
    assert Hierarchy.of_fan_outs([], 1).level_sizes == (1,)


def test_levels_that_repeat_the_one_above_are_left_out():
    assert Hierarchy.of_fan_outs([4, 4, 4], 9).level_sizes == (1, 3, 9)
    assert Hierarchy.of_time(TimeAxis.between("2018-03-01", "2018-03-31")).level_sizes == (1, 31)


def test_days_stand_in_months_in_years():
    axis = TimeAxis.between("2017-11-15", "2019-02-10")
    tree = Hierarchy.of_time(axis)
    assert tree.level_sizes == (1, 3, 16, axis.n_bins)
    months = tree.boundaries[2]
    assert [right - left for left, right in pairwise(months)][:4] == [16, 31, 31, 28]
    first = axis.range("2017-12-01", "2018-12-31")
    assert tree.decompose(first.start, first.stop) == [(2, 1), (1, 1)]


def test_steps_that_do_not_nest_are_refused():
    with pytest.raises(SettingError, match="leave one of them out"):
        Hierarchy.of_time(TimeAxis.between("2018-01-01", "2018-12-31"), ("month", "week"))
    with pytest.raises(SettingError, match="must end"):
        Hierarchy.of_time(TimeAxis("2018-01-01", "day"))


def test_towns_stand_in_regions_whatever_their_order():
    towns = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"), level="town")
    tree, order = Hierarchy.of_places(towns)
    regions, region_of = towns.coarsen("region")
    assert sorted(order.tolist()) == list(range(towns.n_cells))
    assert tree.level_sizes == (1, regions.n_cells, towns.n_cells)  # one department: the root
    for region in range(regions.n_cells):
        inside = order[list(tree.leaves(1, region))]
        assert set(region_of[inside].tolist()) == {region}


def test_large_trees_are_made_and_asked_quickly_enough_to_use():
    tree = Hierarchy.of_degree(1 << 20, 16)
    assert len(tree.decompose(1, (1 << 20) - 1)) <= 2 * 15 * tree.height


@pytest.mark.parametrize(
    ("boundaries", "words"),
    [
        ((), "root"),
        (((0, 2, 4), (0, 1, 2, 3, 4)), "root"),
        (((1, 4),), "root"),
        (((0, 4),), "leaves"),
        (((0, 4), (0, 3, 2, 4), (0, 1, 2, 3, 4)), "increase"),
        (((0, 4), (0, 2, 4), (0, 1, 3, 4), (0, 1, 2, 3, 4)), "cut up"),
        (((0, 4), (0, 4), (0, 1, 2, 3, 4)), "cut up"),
        (((0, 3), (-1, 0, 2, 3)), "cut up"),
        (((0, 0),), "n_leaves"),
    ],
)
def test_levels_that_are_no_tree_are_refused(boundaries, words):
    with pytest.raises(SettingError, match=words):
        Hierarchy(boundaries)


def test_questions_outside_the_tree_are_refused():
    tree = Hierarchy.of_degree(10, 4)
    for ask in (
        lambda: tree.decompose(3, 3),
        lambda: tree.decompose(5, 2),  # the thesis answers reversed ranges with a wrong number
        lambda: tree.decompose(0, 11),
        lambda: tree.leaves(1, 3),
        lambda: tree.leaves(3, 0),
        lambda: tree.locate(14),
        lambda: tree.parent(0, 0),
        lambda: tree.path(10),
        lambda: tree.first_children(2),
        lambda: tree.sum_leaves(np.zeros(9)),
        lambda: Hierarchy.of_fan_outs([2, 2], 5),
        lambda: Hierarchy.of_fan_outs([1]),
        lambda: Hierarchy.of_degree(0, 2),
        lambda: Hierarchy.of_degree(4, 1),
    ):
        with pytest.raises(SettingError):
            ask()


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"n_leaves": 4},
        {"n_leaves": "x", "levels": []},
        {"n_leaves": 4, "levels": 3},
        {"n_leaves": 4, "levels": [3]},
        {"n_leaves": 4, "levels": [[0, 2**80, 4]]},
        {"n_leaves": 4, "levels": [[[0, 2, 4]]]},
        {"n_leaves": 1 << 60, "levels": []},
    ],
)
def test_damaged_trees_are_refused(content):
    with pytest.raises(FormatError):
        Hierarchy.from_dict(content)
