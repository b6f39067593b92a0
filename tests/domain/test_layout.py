"""Public bins and private values of an array, whatever is private, against loops over every cell."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from tacit.domain import AXES, Grouping, Layout

SIZES = (3, 4, 2)
PRIVATE = [private for n in (1, 2, 3) for private in combinations(AXES, n)]


def numbered(coordinates, axes, sizes):
    number = 0
    for axis in axes:
        number = number * sizes[axis] + coordinates[axis]
    return number


def both(private):
    hidden = [axis for axis, name in enumerate(AXES) if name in private]
    return [axis for axis in range(3) if axis not in hidden], hidden


@pytest.mark.parametrize("private", PRIVATE)
def test_rows_and_cells_lay_out_every_cell(private):
    layout, (public, hidden) = Layout(private, SIZES), both(private)
    cells = np.arange(24).reshape(layout.shape)
    rows = layout.rows(cells)
    assert rows.shape == (layout.n_public, layout.n_private)
    for where in np.ndindex(SIZES):
        at = numbered(where, public, SIZES), numbered(where, hidden, SIZES)
        assert rows[at] == numbered(where, range(3), SIZES)
    np.testing.assert_array_equal(layout.cells(rows), cells)


@pytest.mark.parametrize("private", PRIVATE)
def test_events_are_split_into_the_bins_and_values_of_the_layout(private):
    layout, (public, hidden) = Layout(private, SIZES), both(private)
    times, columns = (part.ravel() for part in np.indices(layout.shape))
    bins, values = layout.split(times, columns)
    for number, (time, column) in enumerate(zip(times, columns, strict=True)):
        where = time, column // 2, column % 2
        assert (bins[number], values[number]) == (numbered(where, public, SIZES), numbered(where, hidden, SIZES))


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("private", PRIVATE)
def test_sums_of_rows_by_groups_are_rows_of_sums(private, seed):
    layout = Layout(private, SIZES)
    grouping = Grouping(np.array([0, 1, 1]), np.array([1, 0, 1, 2]), (2, 3, 1), np.array([0, 0]))
    cells = np.random.default_rng(seed).integers(0, 9, layout.shape)
    bins, values = layout.groups(grouping)
    coarse = layout.coarsened(grouping)
    sums = np.zeros((coarse.n_public, coarse.n_private), np.int64)
    np.add.at(sums, np.ix_(bins, values), layout.rows(cells))
    np.testing.assert_array_equal(coarse.cells(sums), grouping.sums(cells))


def test_a_layout_of_a_file_has_the_words_of_a_plan():
    for private in ((), ("place", "time"), ("day",), ("place", "place")):
        with pytest.raises(ValueError, match="private"):
            Layout.of_file(private, SIZES)
    assert Layout.of_file(("kind",), (3, 4, 1)).n_private == 1  # a domain may have one kind
    assert Layout.of_file(("time", "kind"), SIZES).n_private == 6
