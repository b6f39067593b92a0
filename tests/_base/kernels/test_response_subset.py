"""Kernels that name one cell or several write the same bytes, and count the same, as their plain NumPy twins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit._base.kernels import draws_plain, response_plain, subset_plain

pytest.importorskip("numba")

from tacit._base.kernels import draws, response, subset

SIZES = (0, 1, 63, 64, 65, 1000)


def random_words(count: int, seed: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


@pytest.mark.parametrize("lane", [np.uint16, np.uint32])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("period", [8, 256, 2200])
@pytest.mark.slow
def test_scaled_lanes_are_equal(lane, n, period):
    rng = np.random.default_rng(n + period)
    lanes = rng.integers(0, np.iinfo(lane).max, n, dtype=lane, endpoint=True)
    limits = rng.integers(1, 4096, period, dtype=lane, endpoint=True)
    surplus = rng.integers(0, 1 << 14, period, dtype=lane)  # larger than any true one, so that many are rejected
    outcomes = []
    for kernels in (draws, draws_plain):
        values = np.empty(n, lane)
        outcomes.append((kernels.scale(lanes, limits, surplus, values).tolist(), values.tolist()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("n_cells", [2, 17, 256, 257, 65_536, 65_537, 1 << 24, 1 << 31])
@pytest.mark.parametrize("n", SIZES)
def test_written_responses_are_equal(n_cells, n):
    rng = np.random.default_rng(n)
    cells = rng.integers(0, n_cells, n).astype(np.int32)
    drawn = rng.integers(0, n_cells, n).astype(np.uint16 if n_cells <= 4096 else np.uint32)
    coins = random_words(-(-n // 64), seed=n)
    outcomes = []
    for kernels in (response, response_plain):
        out = np.full((n, -(-(n_cells - 1).bit_length() // 8)), 0xAA, np.uint8)
        kernels.respond(cells, drawn, coins, out)
        outcomes.append(out.tobytes())
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("n_cells", "number"), [(17, np.uint8), (256, np.uint8), (1000, np.uint16), (70_000, np.uint32)]
)
@pytest.mark.parametrize("starts", [[0, 0], [0, 1], [0, 3, 3, 100], [0, 50_000, 50_007], [0, 0, 1_100_000]])
def test_counted_responses_are_equal(n_cells, number, starts):
    named = np.random.default_rng(n_cells).integers(0, n_cells, starts[-1]).astype(number)
    right = np.ones((len(starts) - 1, n_cells), np.int64)
    counted = right.copy()
    response_plain.count_grouped(named, np.array(starts), right)
    response.count_grouped(named, np.array(starts), counted)
    assert (counted == right).all()
    for limit in (1, n_cells // 2, n_cells):
        assert response.count_beyond(named, limit) == response_plain.count_beyond(named, limit)


def test_a_run_of_one_cell_overflows_no_partial_sum():
    counts = np.zeros((1, 3), np.int64)
    response.count_grouped(np.full(5_000_003, 2, np.uint8), np.array([0, 5_000_003]), counts)
    assert counts.tolist() == [[0, 0, 5_000_003]]


@pytest.mark.parametrize(
    ("n_cells", "size"), [(2, 1), (3, 2), (8, 3), (17, 1), (17, 5), (17, 16), (18, 5), (20, 19), (32, 9), (33, 16)]
)
@pytest.mark.parametrize("n", SIZES)
def test_subsets_by_rank_are_equal(n_cells, size, n):
    words = random_words(n, seed=n + n_cells)
    words[::5] = words[::5] >> np.uint64(32) | np.uint64(1 << 62)  # coins that stay open
    words[1::7] &= ~np.uint64((1 << 32) - 1)  # the first of the surplus, where there is any
    cells = np.random.default_rng(n).integers(0, n_cells, n).astype(np.int32)
    outcomes = []
    for kernels in (subset, subset_plain):
        out = np.full((n, -(-n_cells // 8)), 0xAA, np.uint8)
        unsure = kernels.write_ranked(cells, n_cells, size, words, 1 << 30, out)
        outcomes.append((out.tobytes(), unsure.tolist()))
        assert kernels.count_wrong(out, n_cells, size) == 0
    assert outcomes[0] == outcomes[1]
    assert set(range(0, n, 5)) <= set(outcomes[0][1])


@pytest.mark.parametrize("n_places", [16, 17, 20, 32])
@pytest.mark.parametrize("size", [1, 2, 15, 16])
def test_every_rank_names_another_subset(n_places, size):
    """All ranks where they can be listed; the first, the last and some between where they cannot."""
    n_ranks = subset_plain.n_subsets(n_places + 1, size)[0]
    some = np.linspace(0, n_ranks - 1, min(n_ranks, 20_000)).astype(np.uint64)
    for kernels in (subset, subset_plain):
        out = np.empty((some.size, -(-(n_places + 1) // 8)), np.uint8)
        cells = np.full(some.size, n_places, np.int32)  # the last one: places are cells
        kernels.write_of_rank(cells, n_places + 1, size, np.zeros(some.size, bool), some, out)
        assert len({row.tobytes() for row in out}) == some.size
        assert kernels.count_wrong(out, n_places, size) == 0


@pytest.mark.parametrize(
    ("n_cells", "size"), [(2, 1), (4, 2), (34, 9), (64, 20), (65, 20), (65, 60), (300, 90), (5000, 100)]
)
@pytest.mark.parametrize("n", SIZES)
def test_repaired_subsets_are_equal(n_cells, size, n):
    lane, n_words = np.uint16 if n_cells - 1 <= 4096 else np.uint32, -(-n_cells // 64)
    cells = np.random.default_rng(n).integers(0, n_cells, n).astype(np.int32)
    lines = (random_words(n * n_words, n) & random_words(n * n_words, n + 1)).reshape(n, n_words)
    lines[:, -1] &= np.uint64((1 << (n_cells - 1) % 64) - 1)
    coins, lanes = random_words(n, n + 2) < 1 << 63, random_words(3 * n, n + 3).reshape(n, 3).view(lane)
    outcomes = []
    for kernels in (subset, subset_plain):
        out, left = np.full((n, -(-n_cells // 8)), 0xAA, np.uint8), lines.copy()
        rows = kernels.repair(cells, n_cells, size, coins, left, np.arange(n), lanes, out)
        again = kernels.repair(cells, n_cells, size, coins, left, rows, lanes[::-1][: rows.size].copy(), out)
        done = np.setdiff1d(np.arange(n), again)
        assert kernels.count_wrong(out[done], n_cells, size) == 0
        assert (out[done][np.arange(done.size), cells[done] // 8] >> cells[done] % 8 & 1).tolist() == coins[
            done
        ].tolist()
        outcomes.append((out.tobytes(), rows.tolist(), again.tolist(), left[again].tolist()))
    assert outcomes[0] == outcomes[1]


def test_divisions_by_multiplying_are_exact():
    """The quotients of the first and the last dividend of each, for all divisors of two blocks."""
    for n_cells in range(18, 34):
        for size in range(1, n_cells):
            ways = subset._tables(n_cells, size)[3]
            for coin, beyond in np.argwhere(ways[:, :, 1]).tolist():
                divisor, inverse = int(ways[coin, beyond, 1]), int(ways[coin, beyond, 2])
                for quotient in (0, 1, math.comb(n_cells - 17, beyond) - 1):
                    for dividend in (quotient * divisor, quotient * divisor + divisor - 1):
                        assert dividend * inverse < 1 << 64
                        assert dividend * inverse >> subset._DIVISION == quotient


@pytest.mark.parametrize("n_cells", [2, 7, 8, 9, 17, 64, 100])
def test_wrong_subsets_are_counted_alike(n_cells):
    rows = np.random.default_rng(n_cells).integers(0, 256, (10_000, -(-n_cells // 8)), dtype=np.uint8)
    for size in (1, n_cells // 2, n_cells - 1):
        wrong = subset_plain.count_wrong(rows, n_cells, size)
        assert subset.count_wrong(rows, n_cells, size) == wrong
        assert wrong > 0


def test_wrong_subsets_are_those_of_another_size_or_beyond_the_cells():
    rows = np.array([[0b0101], [0b0111], [0b0001], [0b1001], [0b1111]], np.uint8)
    for kernels in (subset, subset_plain):
        assert [kernels.count_wrong(row[None], 3, 2) for row in rows] == [0, 1, 1, 1, 1]
        assert kernels.count_wrong(rows, 3, 2) == 4


def test_the_size_of_a_call_alone_chooses_its_kernels():
    for choose, plain, compiled in (
        (_kernels.integer_kernels, draws_plain, draws),
        (_kernels.response_kernels, response_plain, response),
        (_kernels.subset_kernels, subset_plain, subset),
    ):
        assert choose(_kernels.WORTH_LOADING) is compiled
        assert choose(1) is plain
