"""The row kernels, compiled. ``unary_plain`` says what each does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit._kernels.compiling import compiled

_NARROW = 57  # bits that 8 bytes hold wherever in a byte they start

# written out, because a number without a type is signed and turns what it touches into a float
_1, _3, _6, _7, _8, _63 = (np.uint64(number) for number in (1, 3, 6, 7, 8, 63))

_MOST_IN_A_BYTE = 255
_BYTE_A_BIT = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").view(
    np.uint64
)[:, 0]

_N_PLANES = 5
_BLOCKS_BETWEEN_FOLDS = 31  # the most that five binary digits count


def write_rows(
    cells: NDArray[np.int32],
    n_cells: int,
    noise: NDArray[np.uint64],
    truth: NDArray[np.uint64],
    out: NDArray[np.uint8],
) -> None:
    flat = out.reshape(-1)
    write = _write_narrow if n_cells <= _NARROW else _write_wide
    written = write(cells, n_cells, _windows(noise.view(np.uint8)), truth, _windows(flat), flat)
    _write_bits(cells, written, n_cells, noise, truth, flat)


def _windows(memory: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The 8 bytes from each byte on, as a word: one unaligned load or store instead of eight."""
    return np.ndarray((max(0, memory.size - 7),), np.uint64, memory, strides=(1,))


@compiled
def _write_narrow(
    cells: NDArray[np.int32],
    n_cells: int,
    noise: NDArray[np.uint64],
    truth: NDArray[np.uint64],
    out: NDArray[np.uint64],
    out_bytes: NDArray[np.uint8],
) -> int:
    """Write rows of at most 57 bits, eight at a time: each is one load and one store of 8 bytes.

    What a store writes beyond its row, the next rows overwrite. Returns the number of rows written: the last ones,
    whose loads or stores would leave the arrays, are left.
    """
    # unsigned positions throughout: a signed index is first tested for being negative
    k, width = np.uint64(n_cells), np.uint64((n_cells + 7) // 8)
    n_loads, n_stores = noise.size - (7 * n_cells) // 8, out.size - 7 * ((n_cells + 7) // 8)
    n_eights = min(
        cells.size // 8, (n_loads - 1) // n_cells + 1, (n_stores - 1) // (8 * ((n_cells + 7) // 8)) + 1
    )
    if truth.size:
        for eight in range(np.uint64(max(0, n_eights))):
            for j in range(_8):
                r, row = eight * _8 + j, _narrow_row(noise, eight, j, k)
                out[r * width] = _replaced(row, np.uint64(cells[r]), _bit(truth, r))
    else:
        for eight in range(np.uint64(max(0, n_eights))):
            for j in range(_8):
                r, row = eight * _8 + j, _narrow_row(noise, eight, j, k)
                out[r * width] = row ^ (_1 << np.uint64(cells[r]))
    return 8 * max(0, n_eights)


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
def _narrow_row(noise: NDArray[np.uint64], eight: np.uint64, j: np.uint64, k: np.uint64) -> np.uint64:
    return (noise[eight * k + ((j * k) >> _3)] >> ((j * k) & _7)) & ((_1 << k) - _1)


@compiled
def _wide_word(noise: NDArray[np.uint64], byte: np.uint64, shift: np.uint64) -> np.uint64:
    return (noise[byte] >> shift) | (noise[byte + _1] << (_8 - shift))


@compiled
def _replaced(row: np.uint64, cell: np.uint64, coin: np.uint64) -> np.uint64:
    return (row & ~(_1 << cell)) | (coin << cell)


@compiled
def _bit(words: NDArray[np.uint64], at: np.uint64) -> np.uint64:
    return (words[at >> _6] >> (at & _63)) & _1


def count_rows(rows: NDArray[np.uint8], n_cells: int, counts: NDArray[np.int64]) -> None:
    count_grouped(rows, np.array([0, len(rows)]), n_cells, counts.reshape(1, -1))


def count_grouped(
    rows: NDArray[np.uint8], starts: NDArray[np.int64], n_cells: int, counts: NDArray[np.int64]
) -> None:
    _count_runs(rows.reshape(-1), starts, rows.shape[1], n_cells, counts)


@compiled
def count_by_bin(
    rows: NDArray[np.uint8], bins: NDArray[np.int64], n_cells: int, counts: NDArray[np.int64]
) -> None:
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
                _add_sums(sums[b, byte], byte, 0, n_cells, counts[b])
                sums[b, byte] = 0
            pending[b] = 0
    for b in range(len(counts)):
        for byte in range(width):
            _add_sums(sums[b, byte], byte, 0, n_cells, counts[b])


@compiled
def _count_runs(
    flat: NDArray[np.uint8], starts: NDArray[np.int64], width: int, n_cells: int, counts: NDArray[np.int64]
) -> None:
    """Count run by run: whole blocks by adders many rows wide, what is left over byte by byte."""
    n_lanes = width * max(4, min(28, 64 // width // 4 * 4))
    rows_in_block = 64 * n_lanes // width
    digits = np.empty(0, np.uint64)
    for run in range(len(counts)):
        first, last = starts[run], starts[run + 1]
        n_blocks = (last - first) // rows_in_block
        if n_blocks:
            end = first + n_blocks * rows_in_block
            if not digits.size:
                digits = np.empty((3 + _N_PLANES) * n_lanes, np.uint64)
            _count_blocks(
                flat[first * width : end * width].view(np.uint64),
                digits,
                n_lanes,
                width,
                n_cells,
                counts[run],
            )
            first = end
        _count_bytes(flat, first, last, width, 0, n_cells, counts[run])


@compiled
def _count_blocks(
    words: NDArray[np.uint64],
    digits: NDArray[np.uint64],
    n_lanes: int,
    width: int,
    n_cells: int,
    counts: NDArray[np.int64],
) -> None:
    """Add eight stripes of ``n_lanes`` words at a time, one bit position independent of the next.

    ``digits`` are the binary digits of 64 * n_lanes small counters, all ones first, then all twos, ...; words a
    multiple of ``width`` apart belong to the same cells.
    """
    for i in range(digits.size):
        digits[i] = 0
    ones, twos, fours = digits[:n_lanes], digits[n_lanes : 2 * n_lanes], digits[2 * n_lanes : 3 * n_lanes]
    planes = digits[3 * n_lanes :]
    n_blocks = words.size // (8 * n_lanes)
    for block in range(n_blocks):
        _add_block(words[8 * n_lanes * block : 8 * n_lanes * (block + 1)], ones, twos, fours, planes)
        if (block + 1) % _BLOCKS_BETWEEN_FOLDS == 0 or block + 1 == n_blocks:
            _fold(planes, 3, n_lanes, width, n_cells, counts)
    _fold(digits[: 3 * n_lanes], 0, n_lanes, width, n_cells, counts)


@compiled
def _add_block(
    stripes: NDArray[np.uint64],
    ones: NDArray[np.uint64],
    twos: NDArray[np.uint64],
    fours: NDArray[np.uint64],
    planes: NDArray[np.uint64],
) -> None:
    n = ones.size
    for i in range(n):
        one, two_a = _add3(ones[i], stripes[i], stripes[n + i])
        one, two_b = _add3(one, stripes[2 * n + i], stripes[3 * n + i])
        two, four_a = _add3(twos[i], two_a, two_b)
        one, two_a = _add3(one, stripes[4 * n + i], stripes[5 * n + i])
        ones[i], two_b = _add3(one, stripes[6 * n + i], stripes[7 * n + i])
        twos[i], four_b = _add3(two, two_a, two_b)
        fours[i], carry = _add3(fours[i], four_a, four_b)
        for p in range(_N_PLANES):
            digit = planes[p * n + i]
            planes[p * n + i] = digit ^ carry
            carry &= digit


@compiled
def _fold(
    planes: NDArray[np.uint64], shift: int, n_lanes: int, width: int, n_cells: int, counts: NDArray[np.int64]
) -> None:
    """Empty binary digits, the first of weight 2**shift, into the counts."""
    rows_in_plane = 8 * n_lanes // width
    for p in range(planes.size // n_lanes):
        first = p * rows_in_plane
        _count_bytes(planes.view(np.uint8), first, first + rows_in_plane, width, shift + p, n_cells, counts)
    for i in range(planes.size):
        planes[i] = 0


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
) -> None:
    """Add 2**shift for each bit set in rows ``first .. last - 1``, eight cells at a time."""
    for start in range(first, last, _MOST_IN_A_BYTE):
        stop = min(start + _MOST_IN_A_BYTE, last)
        for byte in range(width):
            sums = np.uint64(0)
            for r in range(start, stop):
                sums += _BYTE_A_BIT[flat[r * width + byte]]
            _add_sums(sums, byte, shift, n_cells, counts)


@compiled
def _add_sums(sums: int, byte: int, shift: int, n_cells: int, counts: NDArray[np.int64]) -> None:
    """Add eight byte-wide sums to the counts of the eight cells of a byte."""
    for cell in range(8 * byte, min(8 * byte + 8, n_cells)):
        counts[cell] += np.int64((sums >> np.uint64(8 * (cell & 7))) & np.uint64(255)) << shift
