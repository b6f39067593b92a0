"""The hashing kernels in plain NumPy: what the compiled ones must equal, and what a device runs.

A report of a hash with ``bits`` highest bits over the field of 2**degree elements is the number a + z 2**degree, in as
few bytes as hold degree + bits bits, the lowest first. It supports the cells v for which z is the highest bits of a v.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base import galois

NUMBERS_AT_ONCE: Final = 1 << 20  # 8 MiB


def write_reports(
    cells: NDArray[np.int32],
    words: NDArray[np.uint64],
    kept: NDArray[np.bool_],
    degree: int,
    bits: int,
    out: NDArray[np.uint8],
) -> None:
    """Write a report for each cell.

    The lowest ``degree`` bits of its word are a; z is the hash of the cell where ``kept`` says so, and otherwise the
    next ``bits`` bits of its word.
    """
    a = words & np.uint64((1 << degree) - 1)
    hashed = galois.multiply(a, cells, degree) >> np.uint32(degree - bits)
    drawn = words >> np.uint64(degree) & np.uint64((1 << bits) - 1)
    reports = a | np.where(kept, hashed, drawn) << np.uint64(degree)
    out[:] = reports.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)[:, : out.shape[1]]


def count_by_transform(
    rows: NDArray[np.uint8],
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    degree: int,
    bits: int,
    counts: NDArray[np.int64],
) -> None:
    r"""Add to ``counts[r, v]`` the reports of each run r in ``runs`` that support v: best for long runs.

    With N(a, z) the number of reports (a, z) and :math:`\hat N(a, s) = \sum_z (-1)^{s \cdot z} N(a, z)`,

    .. math:: C_v = \sum_a N(a, T(a v)) = \frac1g \sum_s \sum_a \hat N(a, s) (-1)^{s \cdot T(a v)}
              = \frac1g \sum_u (-1)^{u \cdot v} \sum_{s, a: u_s(a) = u} \hat N(a, s).

    The signs of the last sum are those of one Walsh–Hadamard transform over the field: see ``galois.form_blocks``.
    """
    size = 1 << degree
    for run in runs:
        numbers = _numbers(rows[starts[run] : starts[run + 1]])
        a, z = numbers & (size - 1), numbers >> degree
        gathered = np.zeros(size, np.int64)
        for first, vectors in galois.form_blocks(degree, bits, NUMBERS_AT_ONCE):
            width = vectors.shape[1]
            inside = slice(None) if width == size else (a >= first) & (a < first + width)
            seen = np.bincount(z[inside] * width + (a[inside] - first), minlength=vectors.size).reshape(vectors.shape)
            galois.walsh_hadamard(seen)
            np.add.at(gathered, vectors, seen)
        galois.walsh_hadamard(gathered)
        counts[run] += gathered[: counts.shape[1]] >> bits


def count_by_listing(
    rows: NDArray[np.uint8],
    starts: NDArray[np.int64],
    runs: NDArray[np.int64],
    degree: int,
    bits: int,
    counts: NDArray[np.int64],
) -> None:
    """Do the same by listing what each report supports, (z 2**(degree - bits) + r) / a for all r: for short runs."""
    low_bits, n_cells = degree - bits, counts.shape[1]
    lengths = starts[runs + 1] - starts[runs]
    owners = np.repeat(runs, lengths)
    numbers = _numbers(rows[np.repeat(starts[runs] - np.cumsum(lengths) + lengths, lengths) + np.arange(owners.size)])
    counts += np.bincount(owners[numbers == 0], minlength=len(counts))[:, None]
    is_listed = numbers & ((1 << degree) - 1) > 0
    owners, numbers = owners[is_listed], numbers[is_listed]
    n_at_once = max(1, NUMBERS_AT_ONCE >> low_bits)
    powers = galois.monomials(degree)[:low_bits]
    for first in range(0, numbers.size, n_at_once):
        part = numbers[first : first + n_at_once]
        inverse = galois.inverses(degree)[part & ((1 << degree) - 1)]
        base = galois.multiply(inverse, part >> degree << low_bits, degree)
        steps = [galois.multiply(inverse, np.full(inverse.size, power), degree) for power in powers]
        cells = galois.spanned(np.array(steps, np.uint32).reshape(low_bits, inverse.size)) ^ base
        supported = owners[first : first + n_at_once] * n_cells + cells
        np.add.at(counts.reshape(-1), supported[cells < n_cells], 1)


def _numbers(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
    wide = np.zeros((len(rows), 8), np.uint8)
    wide[:, : rows.shape[1]] = rows
    return wide.view("<i8")[:, 0].astype(np.int64, copy=False)
