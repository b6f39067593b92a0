"""The hashing kernels, compiled. ``hashing_plain`` says what each does."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base import galois
from tacit._base.kernels.compiling import compiled

NUMBERS_AT_ONCE: Final = 1 << 22  # held at once

_FITS_IN_CACHE = 1 << 12  # bins that may stand four times
_BLOCK = 512  # reports at a time: two arrays of 2 KiB

_0, _1 = np.uint64(0), np.uint64(1)
_NONE, _ONE = np.uint32(0), np.uint32(1)


def write_reports(
    cells: NDArray[np.int32],
    words: NDArray[np.uint64],
    kept: NDArray[np.bool_],
    degree: int,
    bits: int,
    out: NDArray[np.uint8],
) -> None:
    flat = out.reshape(-1)
    _write_reports(cells, words, kept, degree, galois.polynomial(degree), bits, out.shape[1], flat)


@compiled
def _write_reports(
    cells: NDArray[np.int32],
    words: NDArray[np.uint64],
    kept: NDArray[np.bool_],
    degree: Any,
    polynomial: Any,
    bits: Any,
    width: int,
    out: NDArray[np.uint8],
) -> None:
    functions, products = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    low, z_mask = (_1 << np.uint64(degree)) - _1, (_1 << np.uint64(bits)) - _1
    shift, unused = np.uint64(degree), np.uint32(degree - bits)
    for first in range(0, cells.size, _BLOCK):
        n = min(_BLOCK, cells.size - first)
        for i in range(n):
            functions[i] = np.uint32(words[first + i])
        _multiply(cells[first : first + n], functions, degree, polynomial, products)
        for i in range(n):
            word = words[first + i]
            # no branch on the coin: all reports take the same steps
            drawn, hashed = (word >> shift) & z_mask, np.uint64(products[i] >> unused)
            coin = _0 - np.uint64(kept[first + i])
            number = (word & low) | ((drawn ^ ((drawn ^ hashed) & coin)) << shift)
            for byte in range(width):
                out[(first + i) * width + byte] = np.uint8(number >> np.uint64(8 * byte))


@compiled
def _multiply(
    cells: NDArray[np.int32],
    functions: NDArray[np.uint32],
    degree: Any,
    polynomial: Any,
    products: NDArray[np.uint32],
) -> None:
    """Multiply cells by the lowest bits of functions, a binary digit of all of them at a time."""
    top, modulus = np.uint32(degree - 1), np.uint32(polynomial)
    for i in range(cells.size):
        products[i] = _NONE
    for step in range(degree):
        digit = np.uint32(degree - 1 - step)
        for i in range(cells.size):
            product = products[i]
            carry, bit = _NONE - (product >> top), _NONE - ((functions[i] >> digit) & _ONE)
            products[i] = (product << _ONE) ^ (modulus & carry) ^ (np.uint32(cells[i]) & bit)


def count_by_transform(
    rows: NDArray[np.uint8],
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    degree: int,
    bits: int,
    counts: NDArray[np.int64],
) -> None:
    low_bits = min(degree, max(0, NUMBERS_AT_ONCE.bit_length() - 1 - bits))
    vectors = galois.forms(degree, bits)
    low = np.ascontiguousarray(galois.spanned(vectors[:low_bits]))
    high = galois.spanned(vectors[low_bits:])
    _count_by_transform(_numbers(rows), starts, runs, degree, bits, low, high, counts)


@compiled
def _count_by_transform(
    numbers: NDArray[Any],
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    degree: int,
    bits: int,
    low: NDArray[np.uint32],
    high: NDArray[np.uint32],
    counts: NDArray[np.int64],
) -> None:
    width, g = len(low), 1 << bits
    n_lanes = 4 if g * width <= _FITS_IN_CACHE else 1
    seen = np.empty(n_lanes * g * width, np.uint32)
    gathered = np.empty(1 << degree, np.int64)
    column, vectors = np.empty(g, np.int64), np.zeros(g, np.uint32)
    for run in runs:
        part = numbers[starts[run] : starts[run + 1]]
        gathered[:] = 0
        for block in range(len(high)):
            seen[:] = _NONE
            if len(high) == 1:
                _count_numbers(part, n_lanes, seen)
            else:
                _count_block(part, degree, block, width, seen)
            for a in range(width):
                for z in range(g):
                    column[z] = 0
                    for lane in range(n_lanes):
                        column[z] += np.int64(seen[(lane * g + z) * width + a])
                _walsh_hadamard(column)
                for j in range(bits):
                    vector = low[a, j] ^ high[block, j]
                    for s in range(1 << j):
                        vectors[(1 << j) + s] = vectors[s] ^ vector
                for s in range(g):
                    gathered[vectors[s]] += column[s]
        _walsh_hadamard(gathered)
        for v in range(counts.shape[1]):
            counts[run, v] += gathered[v] >> bits


@compiled
def _count_numbers(numbers: NDArray[Any], n_lanes: int, seen: NDArray[np.uint32]) -> None:
    """Count equal numbers; in four lanes, because a counter that was just written is slow to read again."""
    if n_lanes == 1:
        for number in numbers:
            seen[np.uint64(number)] += _ONE
        return
    n_bins, n_fours = np.uint64(seen.size // 4), numbers.size // 4
    one, two, three = n_bins, n_bins + n_bins, n_bins + n_bins + n_bins
    for i in range(0, 4 * n_fours, 4):
        seen[np.uint64(numbers[i])] += _ONE
        seen[one + np.uint64(numbers[i + 1])] += _ONE
        seen[two + np.uint64(numbers[i + 2])] += _ONE
        seen[three + np.uint64(numbers[i + 3])] += _ONE
    for i in range(4 * n_fours, numbers.size):
        seen[np.uint64(numbers[i])] += _ONE


@compiled
def _count_block(numbers: NDArray[Any], degree: int, block: int, width: int, seen: NDArray[np.uint32]) -> None:
    """Count the numbers whose a lies in a block of ``width``."""
    mask = (1 << degree) - 1
    for i in range(numbers.size):
        number = np.int64(numbers[i])
        a = (number & mask) - block * width
        if 0 <= a < width:
            seen[(number >> degree) * width + a] += _ONE


@compiled
def _walsh_hadamard(values: NDArray[np.int64]) -> None:
    half = 1
    while half < values.size:
        for first in range(0, values.size, 2 * half):
            for i in range(first, first + half):
                x, y = values[i], values[i + half]
                values[i], values[i + half] = x + y, x - y
        half *= 2


def count_by_listing(
    rows: NDArray[np.uint8],
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    degree: int,
    bits: int,
    counts: NDArray[np.int64],
) -> None:
    polynomial, inverses = galois.polynomial(degree), galois.inverses(degree)
    _count_by_listing(_numbers(rows), starts, runs, degree, polynomial, bits, inverses, counts)


@compiled
def _count_by_listing(
    numbers: NDArray[Any],
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    degree: int,
    polynomial: int,
    bits: int,
    inverses: NDArray[np.uint32],
    counts: NDArray[np.int64],
) -> None:
    low_bits, n_cells = degree - bits, counts.shape[1]
    steps = np.zeros(low_bits + 1, np.int64)
    for run in runs:
        for r in range(starts[run], starts[run + 1]):
            number = np.int64(numbers[r])
            a, z = number & ((1 << degree) - 1), number >> degree
            if a == 0:
                if z == 0:
                    for v in range(n_cells):
                        counts[run, v] += 1
                continue
            power, cell = np.int64(inverses[a]), np.int64(0)
            for i in range(low_bits):
                steps[i] = power
                power = (power << 1) ^ (polynomial & -(power >> (degree - 1)))
            for i in range(bits):
                cell ^= power & -((z >> i) & 1)
                power = (power << 1) ^ (polynomial & -(power >> (degree - 1)))
            # one element after another, each a single step from the last (a Gray code)
            for i in range(1 << low_bits):
                if cell < n_cells:
                    counts[run, cell] += 1
                cell ^= steps[_trailing_zeros(i + 1)]


@compiled
def _trailing_zeros(number: int) -> int:
    count = 0
    while not (number >> count) & 1:
        count += 1
    return count


def _numbers(rows: NDArray[np.uint8]) -> NDArray[Any]:
    """The reports as whole numbers, without a copy where there is a type of their width."""
    width = rows.shape[1]
    if width in (1, 2, 4):
        return rows.reshape(-1).view(f"u{width}")
    wide = np.empty(len(rows), np.uint32 if width == 3 else np.uint64)
    _widen(rows.reshape(-1), width, wide)
    return wide


@compiled
def _widen(flat: NDArray[np.uint8], width: int, wide: NDArray[Any]) -> None:
    for r in range(wide.size):
        number = _0
        for byte in range(width):
            number |= np.uint64(flat[r * width + byte]) << np.uint64(8 * byte)
        wide[r] = number
