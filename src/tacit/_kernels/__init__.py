"""Compiled loops: arrays in, arrays out, no checks, no randomness.

Each set of kernels stands twice: compiled by numba (``coins``, ``unary``) and in plain NumPy
(``coins_plain``, ``unary_plain``). Both write the same bytes, so which one runs is a question of speed alone. A
device need not have numba, and one report is not worth the second that loading it takes: plain kernels
serve until they have done as much work as loading numba costs, compiled ones from then on.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

WORTH_LOADING: Final = 1 << 26
"""Bits of work that plain kernels do in about half a second: what it takes to load numba and kernels kept on disk."""

_n_bits_so_far = 0


class CoinKernels(Protocol):
    """64 coins a word, tossed digit by digit; ``coins_plain`` says what each function does."""

    def slice_digits(
        self,
        words: NDArray[np.uint64],
        digits: NDArray[np.uint8],
        last_lanes: np.uint64,
        heads: NDArray[np.uint64],
        undecided: NDArray[np.uint64],
    ) -> None: ...

    def count_open(self, undecided: NDArray[np.uint64]) -> int: ...

    def settle(
        self,
        undecided: NDArray[np.uint64],
        spare: NDArray[np.uint64],
        rest: np.uint64,
        heads: NDArray[np.uint64],
    ) -> None: ...


class UnaryKernels(Protocol):
    """Rows of one bit a cell, packed in bytes; ``unary_plain`` says what each function does."""

    def write_rows(
        self,
        cells: NDArray[np.int32],
        n_cells: int,
        noise: NDArray[np.uint64],
        truth: NDArray[np.uint64],
        out: NDArray[np.uint8],
    ) -> None: ...

    def count_rows(self, rows: NDArray[np.uint8], n_cells: int, counts: NDArray[np.int64]) -> None: ...

    def count_grouped(
        self,
        rows: NDArray[np.uint8],
        starts: NDArray[np.int64],
        n_cells: int,
        counts: NDArray[np.int64],
    ) -> None: ...

    def count_by_bin(
        self,
        rows: NDArray[np.uint8],
        bins: NDArray[np.int64],
        n_cells: int,
        counts: NDArray[np.int64],
    ) -> None: ...


class HadamardKernels(Protocol):
    """Columns of a Hadamard matrix, drawn and counted; ``hadamard_plain`` says what each function does."""

    def transform(self, values: NDArray[np.int64] | NDArray[np.float64]) -> None: ...

    def steer(
        self,
        columns: NDArray[np.unsignedinteger],
        n_bits: int,
        cells: NDArray[np.int32],
        kept: NDArray[np.uint64],
    ) -> None: ...

    def count_grouped(
        self,
        columns: NDArray[np.unsignedinteger],
        starts: NDArray[np.int64],
        n_bits: int,
        counts: NDArray[np.int64],
    ) -> None: ...


@cache
def available() -> bool:
    """Whether numba can be loaded here (this loads it)."""
    if not np.little_endian:  # the compiled kernels look at words as bytes
        return False
    try:
        import numba  # noqa: F401
    except ImportError:  # not installed, or refusing this version of NumPy
        return False
    return True


def coin_kernels(n_bits: int) -> CoinKernels:
    """The kernels to toss ``n_bits`` coins with."""
    if _is_worth_loading(n_bits):
        from tacit._kernels import coins

        return coins
    from tacit._kernels import coins_plain

    return coins_plain


def unary_kernels(n_bits: int) -> UnaryKernels:
    """The kernels to write or count rows of ``n_bits`` bits in all with."""
    if _is_worth_loading(n_bits):
        from tacit._kernels import unary

        return unary
    from tacit._kernels import unary_plain

    return unary_plain


def hadamard_kernels(n_bits: int) -> HadamardKernels:
    """The kernels to draw or count columns of ``n_bits`` bits in all with."""
    if _is_worth_loading(n_bits):
        from tacit._kernels import hadamard

        return hadamard
    from tacit._kernels import hadamard_plain

    return hadamard_plain


def _is_worth_loading(n_bits: int) -> bool:
    global _n_bits_so_far
    _n_bits_so_far += n_bits
    return _n_bits_so_far >= WORTH_LOADING and available()
