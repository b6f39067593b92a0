"""The row kernels, compiled. ``unary_plain`` says what each does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled

_NARROW = 57  # bits that 8 bytes hold wherever in a byte they start

# written out, because a number without a type is signed and turns what it touches into a float
_1, _3, _6, _7, _8, _63 = (np.uint64(number) for number in (1, 3, 6, 7, 8, 63))

_MOST_IN_A_BYTE = 255  # counted before a byte would run over
_BYTE_A_BIT = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").view(np.uint64)[:, 0]

_VECTOR_BYTES = 32  # of a register of AVX2; others take two steps
_LONGEST_STRIPE = 1800  # words: nine digits of a stripe stay in the second cache
_N_DIGITS = 9  # binary, of a count between two folds: up to 511
_BLOCKS_BETWEEN_FOLDS = 63  # eight rows each: less than nine binary digits hold


def write_rows(
    cells: NDArray[np.int32],
    n_cells: int,
    noise: NDArray[np.uint64],
    truth: NDArray[np.uint64],
    out: NDArray[np.uint8],
) -> None:
    flat = out.reshape(-1)
    loads, stores = _windows(noise.view(np.uint8)), _windows(flat)
    if n_cells <= _NARROW:
        n_written = _write_narrow(cells, n_cells, loads, truth.view(np.uint8), stores)
    else:
        n_written = _write_wide(cells, n_cells, loads, truth, stores, flat)
    _write_bits(cells, n_written, n_cells, noise, truth, flat)


def _windows(memory: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The 8 bytes from each byte on, as a word: one unaligned load or store instead of eight."""
    return np.ndarray((max(0, memory.size - 7),), np.uint64, memory, strides=(1,))


@compiled
def _write_narrow(
    cells: NDArray[np.int32],
    n_cells: int,
    noise: NDArray[np.uint64],
    truth: NDArray[np.uint8],
    out: NDArray[np.uint64],
) -> int:
    """Write rows of at most 57 bits, eight at a time: each is one load and one store of 8 bytes.

    What a store writes beyond its row, the next rows overwrite. Returns the number of rows written: the last
    ones, whose loads or stores would leave the arrays, are left.
    """
    n_bytes = (n_cells + 7) // 8
    last_load, last_store = noise.size - 1 - 7 * n_cells // 8, out.size - 1 - 7 * n_bytes
    n_eights = max(0, min(cells.size // 8, last_load // n_cells + 1, last_store // (8 * n_bytes) + 1))
    # unsigned positions: a signed index is first tested for being negative
    k, width = np.uint64(n_cells), np.uint64(n_bytes)
    if truth.size:
        for eight in range(np.uint64(n_eights)):
            coins = np.uint64(truth[eight])
            for j in range(_8):
                r, row = eight * _8 + j, _narrow_row(noise, eight, j, k)
                out[r * width] = _replaced(row, np.uint64(cells[r]), (coins >> j) & _1)
    else:
        for eight in range(np.uint64(n_eights)):
            for j in range(_8):
                r, row = eight * _8 + j, _narrow_row(noise, eight, j, k)
                out[r * width] = row ^ (_1 << np.uint64(cells[r]))
    return 8 * n_eights


@compiled
def _write_wide(
    cells: NDArray[np.int32],
    n_cells: int,
    noise: NDArray[np.uint64],
    truth: NDArray[np.uint64],
    out: NDArray[np.uint64],
    out_bytes: NDArray[np.uint8],
) -> int:
    """Write rows of more than 57 bits, 8 bytes at a time. Returns the number of rows written: all but the last."""
    k, width = np.uint64(n_cells), np.uint64((n_cells + 7) // 8)
    n_full, last_mask = k >> _6, (_1 << (k & _63)) - _1
    n_rows = max(0, cells.size - 1)
    for r in range(np.uint64(n_rows)):
        source, shift, target = (r * k) >> _3, (r * k) & _7, r * width
        for w in range(n_full):
            out[target + w * _8] = _wide_word(noise, source + w * _8, shift)
        if last_mask:
            last = _wide_word(noise, source + n_full * _8, shift) & last_mask
            for byte in range(n_full * _8, width):
                out_bytes[target + byte] = np.uint8(last >> ((byte & _7) << _3))
        cell = np.uint64(cells[r])
        at = target + (cell >> _3)
        if truth.size:
            out_bytes[at] = np.uint8(_replaced(np.uint64(out_bytes[at]), cell & _7, _bit(truth, r)))
        else:
            out_bytes[at] ^= np.uint8(_1 << (cell & _7))
    return n_rows


@compiled
def _write_bits(
    cells: NDArray[np.int32],
    first: int,
    n_cells: int,
    noise: NDArray[np.uint64],
    truth: NDArray[np.uint64],
    out: NDArray[np.uint8],
) -> None:
    """Write the rows from ``first`` on bit by bit."""
    k, width = np.uint64(n_cells), np.uint64((n_cells + 7) // 8)
    for r in range(np.uint64(first), np.uint64(cells.size)):
        for byte in range(width):
            out[r * width + byte] = 0
        for j in range(k):
            bit = _bit(noise, r * k + j)
            if j == np.uint64(cells[r]):
                bit = _bit(truth, r) if truth.size else bit ^ _1
            out[r * width + (j >> _3)] |= np.uint8(bit << (j & _7))


@compiled
def _narrow_row(noise: NDArray[np.uint64], eight: Any, j: Any, k: Any) -> Any:
    return (noise[eight * k + ((j * k) >> _3)] >> ((j * k) & _7)) & ((_1 << k) - _1)


@compiled
def _wide_word(noise: NDArray[np.uint64], byte: Any, shift: Any) -> Any:
    return (noise[byte] >> shift) | (noise[byte + _1] << (_8 - shift))


@compiled
def _replaced(row: Any, cell: Any, coin: Any) -> Any:
    return (row & ~(_1 << cell)) | (coin << cell)


@compiled
def _bit(words: NDArray[np.uint64], at: Any) -> Any:
    return (words[at >> _6] >> (at & _63)) & _1


@compiled
def mark_rows(cells: NDArray[np.int32], truth: NDArray[np.uint64], rows: NDArray[np.uint8]) -> None:
    one = np.uint64(1)
    for r in range(cells.size):
        byte, lane = cells[r] >> 3, np.uint8(1 << (cells[r] & 7))
        if truth.size:
            coin = np.uint8((truth[r >> 6] >> np.uint64(r & 63)) & one)
            rows[r, byte] = (rows[r, byte] & ~lane) | (lane * coin)
        else:
            rows[r, byte] ^= lane


def count_rows(rows: NDArray[np.uint8], n_cells: int, counts: NDArray[np.int64]) -> None:
    count_grouped(rows, np.array([0, len(rows)]), n_cells, counts.reshape(1, -1))


def count_grouped(rows: NDArray[np.uint8], starts: NDArray[np.int64], n_cells: int, counts: NDArray[np.int64]) -> None:
    width = rows.shape[1]
    # stripes of whole rows and whole vectors; an odd number, because stripes a power of two apart evict each other
    shortest = math.lcm(width, _VECTOR_BYTES) // 8
    n_lanes = shortest * max(1, (min(_LONGEST_STRIPE, 28 * width) // shortest - 1) | 1)
    digits = np.zeros(_N_DIGITS * n_lanes, np.uint64)
    _count_runs(rows.reshape(-1), starts, width, n_cells, digits, digits.view(np.uint8), counts)


@compiled
def count_by_bin(rows: NDArray[np.uint8], bins: NDArray[np.int64], n_cells: int, counts: NDArray[np.int64]) -> None:
    # one word of eight byte-wide sums for each bin and byte of a report, emptied before a byte can overflow
    width = rows.shape[1]
    sums = np.zeros((len(counts), width), np.uint64)
    pending = np.zeros(len(counts), np.uint8)
    for r in range(len(rows)):
        b = bins[r]
        for byte in range(width):
            sums[b, byte] += _BYTE_A_BIT[rows[r, byte]]
        pending[b] += np.uint8(1)
        if pending[b] == _MOST_IN_A_BYTE:
            for byte in range(width):
                _add_sums(sums[b, byte], byte, 0, n_cells, counts, b)
                sums[b, byte] = 0
            pending[b] = 0
    for b in range(len(counts)):
        for byte in range(width):
            _add_sums(sums[b, byte], byte, 0, n_cells, counts, b)


@compiled
def _count_runs(
    flat: NDArray[np.uint8],
    starts: NDArray[np.int64],
    width: int,
    n_cells: int,
    digits: NDArray[np.uint64],
    digit_bytes: NDArray[np.uint8],
    counts: NDArray[np.int64],
) -> None:
    """Count run by run: whole blocks by adders many rows wide, what is left over byte by byte."""
    n_lanes = digits.size // _N_DIGITS
    rows_in_block = 64 * n_lanes // width
    for run in range(len(counts)):
        first, last = starts[run], starts[run + 1]
        for start in range(first, last - rows_in_block + 1, rows_in_block * _BLOCKS_BETWEEN_FOLDS):
            n_blocks = min(_BLOCKS_BETWEEN_FOLDS, (last - start) // rows_in_block)
            first = start + n_blocks * rows_in_block
            _add_blocks(flat[start * width : first * width].view(np.uint64), n_lanes, digits)
            for d in range(_N_DIGITS):
                at = d * rows_in_block // 8
                _count_bytes(digit_bytes, at, at + rows_in_block // 8, width, d, n_cells, counts, run)
            for i in range(digits.size):
                digits[i] = 0
        _count_bytes(flat, first, last, width, 0, n_cells, counts, run)


@compiled
def _add_blocks(words: NDArray[np.uint64], n: int, digits: NDArray[np.uint64]) -> None:
    """Add stripes of ``n`` words, eight at a time, into 64 * n small counters.

    ``digits`` holds the counters' binary digits: n words of ones, then n of twos, ... Words a multiple of the
    width of a row apart belong to the same cells.
    """
    for block in range(words.size // (8 * n)):
        stripes = words[8 * n * block :]
        for i in range(n):
            one, two_a = _add3(digits[i], stripes[i], stripes[n + i])
            one, two_b = _add3(one, stripes[2 * n + i], stripes[3 * n + i])
            two, four_a = _add3(digits[n + i], two_a, two_b)
            one, two_a = _add3(one, stripes[4 * n + i], stripes[5 * n + i])
            digits[i], two_b = _add3(one, stripes[6 * n + i], stripes[7 * n + i])
            digits[n + i], four_b = _add3(two, two_a, two_b)
            digits[2 * n + i], carry = _add3(digits[2 * n + i], four_a, four_b)
            for d in range(3, _N_DIGITS):
                digit = digits[d * n + i]
                digits[d * n + i] = digit ^ carry
                carry &= digit


@compiled
def _add3(a: int, b: int, c: int) -> tuple[int, int]:
    """The sum and the carry of three bits, in each of 64 positions."""
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@compiled
def _count_bytes(
    flat: NDArray[np.uint8],
    first: int,
    last: int,
    width: int,
    shift: int,
    n_cells: int,
    counts: NDArray[np.int64],
    run: int,
) -> None:
    """Add 2**shift for each bit set in rows ``first .. last - 1``, eight cells at a time."""
    for start in range(first, last, _MOST_IN_A_BYTE):
        stop = min(start + _MOST_IN_A_BYTE, last)
        for byte in range(width):
            sums = np.uint64(0)
            for r in range(start, stop):
                sums += _BYTE_A_BIT[flat[r * width + byte]]
            _add_sums(sums, byte, shift, n_cells, counts, run)


@compiled
def _add_sums(sums: Any, byte: int, shift: int, n_cells: int, counts: NDArray[np.int64], run: int) -> None:
    """Add eight byte-wide sums to the counts of the eight cells of a byte."""
    for cell in range(8 * byte, min(8 * byte + 8, n_cells)):
        counts[run, cell] += np.int64((sums >> np.uint64(8 * (cell & 7))) & np.uint64(255)) << shift
