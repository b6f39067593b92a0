"""The compiled bounding kernels write what their plain twins write."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit._base.kernels import bounding_plain

pytest.importorskip("numba")

from tacit._base.kernels import bounding

TWINS = (bounding, bounding_plain)
WORDS = st.one_of(st.integers(0, 3), st.integers(2**64 - 4, 2**64 - 1), st.integers(0, 2**64 - 1))
CELLS = st.one_of(st.integers(0, 3), st.integers(2**32 - 4, 2**32 - 1))
ROWS = st.lists(st.tuples(WORDS, WORDS, CELLS, st.one_of(st.integers(1, 4), st.integers(2**30, 2**31))), max_size=60)


def bounded(rows: NDArray[np.uint64], most: int, most_per_cell: int) -> list[list[bytes]]:
    """The bytes that each twin writes."""
    found = []
    for kernels in TWINS:
        arranged, within = np.empty_like(rows), np.empty(len(rows), np.int64)
        kernels.arrange(rows, arranged)
        starts = np.flatnonzero(np.append(True, (arranged[1:, :2] != arranged[:-1, :2]).any(axis=1))[: len(rows)])
        # groups of which something was counted before may have less
        kernels.allow(arranged, starts, np.maximum(most - np.arange(len(starts)) % 3, 0), most_per_cell, within)
        found.append([arranged.tobytes(), within.tobytes()])
    return found


@given(ROWS, st.integers(1, 12), st.integers(1, 5))
def test_rows_are_arranged_and_allowed_as_in_plain_numpy(
    drawn: list[tuple[int, int, int, int]], most: int, most_per_cell: int
) -> None:
    rows = np.array([(a, b, cell << 32 | units) for a, b, cell, units in drawn], np.uint64).reshape(-1, 3)
    compiled, plain = bounded(rows, most, most_per_cell)
    assert compiled == plain


@pytest.mark.parametrize("n_groups", [1, 30, 20_000])
def test_many_rows_of_few_or_many_groups_are_too(n_groups: int) -> None:
    rng = np.random.default_rng(n_groups)
    groups = rng.integers(0, 1 << 64, (n_groups, 2), dtype=np.uint64)
    rows = np.empty((50_000, 3), np.uint64)
    rows[:, :2] = groups[rng.integers(0, n_groups, len(rows))]
    rows[:, 2] = rng.integers(0, 3_000, len(rows)) << 32 | rng.integers(1, 4, len(rows))
    compiled, plain = bounded(rows, 20, 5)
    assert compiled == plain
