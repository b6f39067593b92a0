"""Every compiled kernel writes the same bytes as its plain NumPy twin."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit._base.kernels import draws_plain, unary_plain

pytest.importorskip("numba")

from tacit._base.kernels import draws, unary

SIZES = (0, 1, 7, 8, 63, 64, 65, 1000, 100_003)
CELLS = (2, 3, 8, 9, 16, 17, 31, 57, 58, 64, 65, 100, 1024, 1030, 4096)
MOST_BITS = 8_000_000  # keeps the widest reports of the largest size in memory


def random_words(count: int, seed: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


def random_rows(n: int, n_cells: int, seed: int) -> NDArray[np.uint8]:
    bits = np.random.default_rng(seed).integers(0, 2, (n, n_cells), dtype=np.uint8)
    return np.packbits(bits, axis=1, bitorder="little")


def size_of(n: int, n_cells: int) -> int:
    return min(n, MOST_BITS // n_cells)


@pytest.mark.parametrize("n_words", [1, 2, 63, 511, 512, 513, 4096])
@pytest.mark.parametrize("digits", [[], [1], [0, 1], [1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 1, 0, 0, 1, 1, 0]])
@pytest.mark.parametrize("last_lanes", [1, 0x7FFF, (1 << 64) - 1])
@pytest.mark.slow
def test_sliced_digits_are_equal(n_words: int, digits: list[int], last_lanes: int) -> None:
    words = random_words(n_words * len(digits), seed=n_words)
    outcomes = []
    for kernels in (draws, draws_plain):
        heads, undecided = np.empty(n_words, np.uint64), np.empty(n_words, np.uint64)
        n_open = kernels.slice_digits(words, np.array(digits, np.uint8), np.uint64(last_lanes), heads, undecided)
        assert n_open == sum(word.bit_count() for word in undecided.tolist())
        outcomes.append((heads.tobytes(), undecided.tobytes()))
    assert outcomes[0] == outcomes[1]


def random_lanes(n_words: int, n_digits: int) -> NDArray[np.uint64]:
    """Lanes as undecided as after some digits: with 0 all, with 64 hardly any."""
    lanes = np.full(n_words, (1 << 64) - 1, np.uint64)
    for digit in range(n_digits):
        lanes &= random_words(n_words, seed=100 + digit)
    return lanes


@pytest.mark.parametrize("n_words", [1, 64, 1000])
@pytest.mark.parametrize("n_digits", [0, 1, 2, 3, 8, 64])
def test_dealt_coins_are_equal(n_words: int, n_digits: int) -> None:
    undecided = random_lanes(n_words, n_digits)
    start = random_words(n_words, 4) & ~undecided
    n_open = sum(word.bit_count() for word in undecided.tolist())
    coins = random_words((n_open + 63) // 64 + 2, 5)
    outcomes = []
    for kernels in (draws, draws_plain):
        heads = start.copy()
        kernels.deal(undecided, coins, heads)
        outcomes.append(heads.tobytes())
    assert outcomes[0] == outcomes[1]


def test_plain_coins_are_dealt_one_by_one_in_order() -> None:
    undecided, coins = random_lanes(100, 2), random_words(102, 6)
    heads, taken = np.zeros(100, np.uint64), 0
    draws_plain.deal(undecided, coins, heads)
    for won, lanes in zip(heads.tolist(), undecided.tolist(), strict=True):
        for lane in range(64):
            coin = 0
            if lanes >> lane & 1:
                coin = int(coins[taken // 64]) >> taken % 64 & 1
                taken += 1
            assert won >> lane & 1 == coin


@pytest.mark.parametrize("n_digits", [0, 1, 2, 3, 8, 64])
def test_bits_are_deposited_alike_by_the_table_and_by_the_kernel_that_serves(n_digits: int) -> None:
    # the table is what serves on a processor without the instruction
    lanes, bits = random_lanes(300, n_digits), random_words(300, 7)
    by_table = [int(draws.deposited_by_table(*pair)) for pair in zip(bits, lanes, strict=True)]
    for deposited, each_bits, each_lanes in zip(by_table, bits, lanes, strict=True):
        heads = np.zeros(1, np.uint64)
        draws.deal(np.array([each_lanes]), np.array([each_bits, 0, 0], np.uint64), heads)
        assert int(heads[0]) == deposited


@pytest.mark.parametrize("n_cells", CELLS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("flips", [True, False])
def test_written_rows_are_equal(n: int, n_cells: int, flips: bool) -> None:
    n = size_of(n, n_cells)
    cells = np.random.default_rng(n).integers(0, n_cells, n, dtype=np.int32)
    noise = random_words((n * n_cells + 63) // 64, seed=n_cells)
    truth = random_words(0 if flips else (n + 63) // 64, seed=n)
    outcomes = []
    for kernels in (unary, unary_plain):
        rows = np.full((n, (n_cells + 7) // 8), 0xAA, np.uint8)
        kernels.write_rows(cells, n_cells, noise, truth, rows)
        outcomes.append(rows.tobytes())
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("n_cells", CELLS)
@pytest.mark.parametrize("n", SIZES)
def test_counted_rows_are_equal(n: int, n_cells: int) -> None:
    rows = random_rows(size_of(n, n_cells), n_cells, seed=n)
    right, counted = np.ones(n_cells, np.int64), np.ones(n_cells, np.int64)
    unary_plain.count_rows(rows, n_cells, right)
    unary.count_rows(rows, n_cells, counted)
    assert counted.tolist() == right.tolist()


def test_a_run_of_ones_overflows_no_partial_sum() -> None:
    rows = np.full((700_001, 1), 0xFF, np.uint8)
    counted = np.zeros(8, np.int64)
    unary.count_rows(rows, 8, counted)
    assert counted.tolist() == [700_001] * 8
    by_bin = np.zeros((1, 8), np.int64)
    unary.count_by_bin(rows, np.zeros(len(rows), np.int64), 8, by_bin)
    assert by_bin.tolist() == [[700_001] * 8]


@pytest.mark.parametrize("offset", range(1, 8))
def test_rows_may_start_anywhere_in_memory(offset: int) -> None:
    memory = np.random.default_rng(offset).integers(0, 256, 3 * 20_000 + offset, dtype=np.uint8)
    rows = memory[offset:].reshape(-1, 3)
    right, counted = np.zeros(24, np.int64), np.zeros(24, np.int64)
    unary_plain.count_rows(rows, 24, right)
    unary.count_rows(rows, 24, counted)
    assert counted.tolist() == right.tolist()


@pytest.mark.parametrize("n_cells", CELLS)
@pytest.mark.parametrize("n_groups", [1, 2, 13])
def test_grouped_counts_are_equal(n_cells: int, n_groups: int) -> None:
    n = size_of(30_000, n_cells)
    rows = random_rows(n, n_cells, seed=n_groups)
    inner = np.sort(np.random.default_rng(n_cells).integers(0, n + 1, n_groups - 1))  # empty groups occur
    starts = np.concatenate(([0], inner, [n])).astype(np.int64)
    right, counted = np.ones((n_groups, n_cells), np.int64), np.ones((n_groups, n_cells), np.int64)
    unary_plain.count_grouped(rows, starts, n_cells, right)
    unary.count_grouped(rows, starts, n_cells, counted)
    assert counted.tolist() == right.tolist()


@pytest.mark.parametrize("n_cells", CELLS)
def test_counts_by_bin_are_equal(n_cells: int) -> None:
    n = size_of(30_000, n_cells)
    rows = random_rows(n, n_cells, seed=3)
    bins = np.random.default_rng(n_cells).integers(0, 40, n)
    right, counted = np.ones((50, n_cells), np.int64), np.ones((50, n_cells), np.int64)
    unary_plain.count_by_bin(rows, bins, n_cells, right)
    unary.count_by_bin(rows, bins, n_cells, counted)
    assert counted.tolist() == right.tolist()


def test_the_size_of_a_call_alone_chooses_its_kernels() -> None:
    for _ in range(2):  # whatever was asked before
        assert _kernels.coin_kernels(_kernels.WORTH_LOADING) is draws
        assert _kernels.coin_kernels(_kernels.WORTH_LOADING - 1) is draws_plain
        assert _kernels.unary_kernels(_kernels.WORTH_LOADING) is unary
        assert _kernels.unary_kernels(_kernels.WORTH_LOADING - 1) is unary_plain


def test_calls_of_a_loop_are_compiled_if_they_are_worth_it_together() -> None:
    with _kernels.repeated(64):
        assert _kernels.coin_kernels(_kernels.WORTH_LOADING // 64) is draws
        assert _kernels.coin_kernels(_kernels.WORTH_LOADING // 64 - 1) is draws_plain
        with _kernels.repeated(2):
            assert _kernels.coin_kernels(_kernels.WORTH_LOADING // 128) is draws
    assert _kernels.coin_kernels(_kernels.WORTH_LOADING // 64) is draws_plain


def test_a_full_block_of_reports_is_compiled() -> None:
    from tacit.collection.wire.cell_counts import BLOCK_REPORTS

    assert _kernels.unary_kernels(16 * BLOCK_REPORTS) is unary
    for choose in (_kernels.response_kernels, _kernels.hadamard_kernels, _kernels.integer_kernels):
        assert not choose(BLOCK_REPORTS).__name__.endswith("_plain")
        assert choose(BLOCK_REPORTS - 1).__name__.endswith("_plain")


def test_without_numba_plain_kernels_serve_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernels, "available", lambda: False)
    assert _kernels.coin_kernels(1 << 40) is draws_plain
    assert _kernels.unary_kernels(1 << 40) is unary_plain


@pytest.mark.parametrize("n", [0, 1, 63, 65, 1000])
@pytest.mark.parametrize("n_cells", [64, 128, 1024])
@pytest.mark.parametrize("is_symmetric", [True, False])
def test_rows_marked_in_place_are_those_that_are_written(n: int, n_cells: int, is_symmetric: bool) -> None:
    cells = np.random.default_rng(n).integers(0, n_cells, n).astype(np.int32)
    noise = random_words(n * n_cells // 64 + 1, seed=n_cells)
    truth = np.empty(0, np.uint64) if is_symmetric else random_words(n // 64 + 2, seed=3)
    written = np.empty((n, n_cells // 8), np.uint8)
    unary_plain.write_rows(cells, n_cells, noise, truth, written)
    for kernels in (unary, unary_plain):
        rows = noise[: n * n_cells // 64].copy().view(np.uint8).reshape(n, n_cells // 8)
        kernels.mark_rows(cells, truth, rows)
        assert rows.tobytes() == written.tobytes()
