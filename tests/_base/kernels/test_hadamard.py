"""The compiled Hadamard kernels write what their plain twins write, and both do what the matrix says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit._base.kernels import hadamard_plain

pytest.importorskip("numba")

from tacit._base.kernels import hadamard

BITS = (1, 2, 3, 4, 5, 8, 9, 11, 13, 17)
TWINS = (hadamard, hadamard_plain)


def matrix(n_bits: int) -> NDArray[np.int64]:
    one = np.array([[1]])
    for _ in range(n_bits):
        one = np.block([[one, one], [one, -one]])
    return one


def column_type(n_bits: int) -> np.dtype[np.unsignedinteger]:
    return np.dtype(np.uint8 if n_bits <= 8 else np.uint16 if n_bits <= 16 else np.uint32)


def random_columns(n: int, n_bits: int, seed: int) -> NDArray[np.unsignedinteger]:
    return np.random.default_rng(seed).integers(0, 1 << n_bits, n).astype(column_type(n_bits))


@pytest.mark.parametrize("n_bits", [0, 1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("kernels", TWINS)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_the_transform_is_the_product_with_the_matrix(kernels, n_bits, kind):
    values = np.random.default_rng(n_bits).integers(-1000, 1000, (3, 1 << n_bits)).astype(kind)
    expected = values @ matrix(n_bits)
    kernels.transform(values)
    assert (values == expected).all()


@pytest.mark.parametrize("n_bits", [3, 12, 15])
@pytest.mark.parametrize("kernels", TWINS)
def test_twice_transformed_is_the_same_times_the_order(kernels, n_bits):
    values = np.random.default_rng(n_bits).integers(-1000, 1000, 1 << n_bits)
    again = values.copy()
    kernels.transform(again)
    kernels.transform(again)
    assert (again == values << n_bits).all()


@pytest.mark.parametrize("n_bits", BITS)
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000, 20_001])
def test_steered_columns_are_equal(n, n_bits):
    rng = np.random.default_rng(n)
    kind = column_type(n_bits)
    start = rng.integers(0, 1 << 8 * kind.itemsize, n).astype(kind)
    cells = rng.integers(0, (1 << n_bits) - 1, n, dtype=np.int32)
    kept = rng.integers(0, 1 << 64, (n + 63) // 64, dtype=np.uint64)
    outcomes = []
    for kernels in TWINS:
        columns = start.copy()
        kernels.steer(columns, n_bits, cells, kept)
        outcomes.append(columns.tobytes())
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("n_bits", [1, 2, 3, 5])
@pytest.mark.parametrize("kernels", TWINS)
def test_steering_meets_every_column_of_the_right_half_twice_and_leaves_others_alone(kernels, n_bits):
    order, signs = 1 << n_bits, matrix(n_bits)
    for cell in range(order - 1):
        for kept, expected in ((0, np.ones(order)), ((1 << 64) - 1, signs[cell + 1] + 1)):
            columns = np.arange(order, dtype=np.uint8)
            cells = np.full(order, cell, np.int32)
            kernels.steer(columns, n_bits, cells, np.full(1, kept, np.uint64))
            assert np.bincount(columns, minlength=order).tolist() == expected.tolist()


@pytest.mark.parametrize("n_bits", BITS)
@pytest.mark.parametrize("n_groups", [1, 2, 13])
def test_grouped_counts_are_equal(n_bits, n_groups):
    n = 30_000
    columns = random_columns(n, n_bits, seed=n_groups)
    inner = np.sort(np.random.default_rng(n_bits).integers(0, n + 1, n_groups - 1))
    inner[: n_groups // 3] = inner[n_groups // 3 : n_groups // 3 + 1]  # some groups are empty
    starts = np.concatenate(([0], inner, [n])).astype(np.int64)
    n_cells = max(1, (1 << n_bits) - 3)
    right, counted = np.ones((n_groups, n_cells), np.int64), np.ones((n_groups, n_cells), np.int64)
    hadamard_plain.count_grouped(columns, starts, n_bits, right)
    hadamard.count_grouped(columns, starts, n_bits, counted)
    assert (counted == right).all()


@pytest.mark.parametrize("kernels", TWINS)
def test_counts_are_those_of_the_signs_in_the_matrix(kernels):
    columns = random_columns(500, 5, seed=1)
    counts = np.zeros((1, 31), np.int64)
    kernels.count_grouped(columns, np.array([0, 500]), 5, counts)
    assert (counts[0] == (matrix(5)[1:, columns] == 1).sum(axis=1)).all()


def test_the_size_of_a_call_alone_chooses_its_kernels():
    assert _kernels.hadamard_kernels(_kernels.WORTH_LOADING) is hadamard
    assert _kernels.hadamard_kernels(1) is hadamard_plain
