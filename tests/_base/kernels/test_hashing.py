"""Compiled hashing kernels equal their plain twins, and both equal the definition."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit._base import galois
from tacit._base import kernels as _kernels
from tacit._base.kernels import hashing_plain

pytest.importorskip("numba")

from tacit._base.kernels import hashing

SHAPES = [(1, 1), (2, 1), (2, 2), (5, 1), (5, 3), (6, 2), (7, 7), (10, 2), (12, 12), (17, 1), (24, 16)]
SIZES = (0, 1, 3, 4, 511, 513, 5000)


def random_words(count: int, seed: int) -> NDArray[np.uint64]:
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


def random_reports(n: int, degree: int, bits: int, seed: int) -> NDArray[np.uint8]:
    numbers = random_words(n, seed) & np.uint64((1 << degree + bits) - 1)
    return np.ascontiguousarray(numbers.astype("<u8").view(np.uint8).reshape(n, 8)[:, : -(-(degree + bits) // 8)])


def supports_by_definition(reports: NDArray[np.uint8], degree: int, bits: int, n_cells: int) -> list[int]:
    counts = [0] * n_cells
    for report in reports:
        number = int.from_bytes(report.tobytes(), "little")
        a, z = number % (1 << degree), number >> degree
        products = galois.multiply(np.full(n_cells, a), np.arange(n_cells), degree)
        for v, product in enumerate(products.tolist()):
            counts[v] += product >> (degree - bits) == z
    return counts


@pytest.mark.parametrize(("degree", "bits"), SHAPES)
@pytest.mark.parametrize("n", SIZES)
def test_written_reports_are_equal(n: int, degree: int, bits: int) -> None:
    cells = np.random.default_rng(n).integers(0, 1 << degree, n, dtype=np.int32)
    words, kept = random_words(n, seed=degree), random_words(n, seed=bits) % 2 == 0
    outcomes = []
    for kernels in (hashing, hashing_plain):
        out = np.full((n, -(-(degree + bits) // 8)), 0xAA, np.uint8)
        kernels.write_reports(cells, words, kept, degree, bits, out)
        outcomes.append(out.tobytes())
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("name", ["count_by_transform", "count_by_listing"])
@pytest.mark.parametrize("kernels", [hashing, hashing_plain])
@pytest.mark.parametrize(("degree", "bits", "n_cells"), [(1, 1, 2), (3, 1, 5), (3, 3, 8), (5, 2, 17), (6, 6, 33)])
def test_supports_are_counted_by_their_definition(kernels, name, degree: int, bits: int, n_cells: int) -> None:
    reports = random_reports(200, degree, bits, seed=n_cells)
    counts = np.zeros((1, n_cells), np.int64)
    getattr(kernels, name)(reports, np.array([0, 200]), np.array([0]), degree, bits, counts)
    assert counts[0].tolist() == supports_by_definition(reports, degree, bits, n_cells)


@pytest.mark.parametrize(
    ("degree", "bits", "at_once"),
    # no more than 1,024 blocks: more only take longer
    [(*s, n) for s in SHAPES if sum(s) <= 18 for n in (1, 64, 1 << 22) if 1 << sum(s) <= n << 10],
)
def test_both_ways_of_counting_are_equal_in_any_blocks(
    degree: int, bits: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kernels in (hashing, hashing_plain):
        monkeypatch.setattr(kernels, "NUMBERS_AT_ONCE", at_once)
    starts, runs, n_cells = np.array([0, 0, 7, 300, 301]), np.array([0, 1, 3]), (1 << degree) - (degree > 1)
    reports = random_reports(301, degree, bits, seed=degree)
    outcomes = []
    for kernels in (hashing, hashing_plain):
        for count in (kernels.count_by_transform, kernels.count_by_listing):
            counts = np.ones((4, n_cells), np.int64)
            count(reports, starts, runs, degree, bits, counts)
            assert (counts[2] == 1).all()
            outcomes.append(counts.tolist())
    assert outcomes[0] == outcomes[1] == outcomes[2] == outcomes[3]


@pytest.mark.parametrize(("degree", "bits"), [(5, 2), (5, 4), (14, 2), (18, 2), (20, 14)])
def test_reports_of_any_width_are_counted_alike(degree: int, bits: int) -> None:
    reports = random_reports(1003, degree, bits, seed=bits)
    results = []
    for kernels in (hashing, hashing_plain):
        counts = np.zeros((1, 1 << degree), np.int64)
        kernels.count_by_listing(reports, np.array([0, 1003]), np.array([0]), degree, bits, counts)
        results.append(counts)
    assert (results[0] == results[1]).all()


def test_the_size_of_a_call_alone_chooses_its_kernels() -> None:
    assert _kernels.hashing_kernels(_kernels.WORTH_LOADING) is hashing
    assert _kernels.hashing_kernels(1) is hashing_plain
