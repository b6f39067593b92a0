r"""Bloom filters over cell numbers: a public hash sets h of m bits for every cell, and least squares reads them back.

**The hash**, bit for bit, so that every platform agrees. The bits of cell v come from the SHA-256 digests of

``b"tacit bloom 1"`` + v as 8 bytes + a counter 0, 1, 2, ... as 4 bytes,

both lowest byte first. Each digest is cut into eight numbers of 4 bytes, lowest byte first; each number modulo m is a
bit, in order, repeats left out, until h different bits are found. Exactly h bits are set whatever the cell is.

>>> bloom_positions(3, 16, 2).tolist()
[[3, 10], [11, 8], [5, 1]]
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit._base.validation import check_at_least
from tacit.errors import SettingError


@dataclass(frozen=True, slots=True, eq=False)
class CellEstimate:
    """Unbiased counts of cells with the covariance of their errors.

    ``cells`` says which cells they are: all of the domain, or the candidates asked for.
    """

    cells: NDArray[np.int64]
    values: FloatArray
    covariance: FloatArray

    def variance(self, weights: FloatArray) -> float:
        """The variance of a linear question ``sum(weights * values)``."""
        return float(weights @ self.covariance @ weights)


@lru_cache(maxsize=32)
def bloom_positions(n_cells: int, n_bits: int, hashes: int) -> NDArray[np.int64]:
    """The ``hashes`` different bits of every cell, row by cell."""
    check_at_least(1, n_cells=n_cells, hashes=hashes)
    check_at_least(hashes + 1, n_bits=n_bits)
    positions = np.array([_bits_of(cell, n_bits, hashes) for cell in range(n_cells)], np.int64)
    positions.flags.writeable = False
    return positions


@lru_cache(maxsize=32)
def largest_difference(n_cells: int, n_bits: int, hashes: int) -> int:
    """The largest number of bits set for one cell of a pair and not for the other.

    >>> largest_difference(3, 16, 2)
    2
    """
    positions = bloom_positions(n_cells, n_bits, hashes)
    largest = 0
    for bits in positions:
        is_set = np.zeros(n_bits, bool)
        is_set[bits] = True
        largest = max(largest, hashes - int(is_set[positions].sum(axis=1).min()))
        if largest == hashes:  # some pair shares no bit: it cannot get larger
            break
    return largest


def design_of(positions: NDArray[np.int64], n_bits: int) -> FloatArray:
    """The 0/1 matrix of bits x cells: which bits each cell sets."""
    design = np.zeros((n_bits, len(positions)))
    design[positions, np.arange(len(positions))[:, None]] = 1.0
    return design


def solve_bits(design: FloatArray, bits: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least squares: the counts of cells that explain counts of bits best, and their covariance.

    The solution X b with X = (A'A)^-1 A' is linear in the bits b, so independent bits of variances v give the
    covariance X diag(v) X' exactly.
    """
    n_bits, n_cells = design.shape
    rank = int(np.linalg.matrix_rank(design))
    if rank < n_cells:
        raise SettingError(
            f"n_bits must tell the cells apart; got n_bits={n_bits}, and the bits of {n_cells} cells span only {rank} "
            "dimensions. Use more bits, other hashes or fewer candidates."
        )
    solve = np.linalg.solve(design.T @ design, design.T)
    covariance: FloatArray = (solve * variances) @ solve.T
    return solve @ bits, covariance


def _bits_of(cell: int, n_bits: int, hashes: int) -> list[int]:
    found: list[int] = []
    counter = 0
    while len(found) < hashes:
        message = b"tacit bloom 1" + cell.to_bytes(8, "little") + counter.to_bytes(4, "little")
        for word in np.frombuffer(hashlib.sha256(message).digest(), "<u4").tolist():
            if word % n_bits not in found and len(found) < hashes:
                found.append(word % n_bits)
        counter += 1
    return found
