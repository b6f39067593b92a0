"""Compiled loops: arrays in, arrays out, no checks, no randomness.

Each set of kernels stands twice: compiled by numba (``coins``, ``unary``) and in plain NumPy (``coins_plain``,
``unary_plain``). Both write the same bytes, so which one runs is a question of speed alone: numba takes about a
second to load, which one report of one device is not worth, and a device need not have it at all.
Nothing here loads numba before work that is worth it.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

WORTH_COMPILING: Final = 1 << 22
"""Bits of work from which loading numba pays: below, plain NumPy is done in about 0.1 s."""


class CoinKernels(Protocol):
    """64 coins a word, tossed digit by digit; see ``coins_plain`` for what each function does."""

    def slice_digits(
        self,
        words: NDArray[np.uint64],
        digits: NDArray[np.uint8],
        last_lanes: np.uint64,
        heads: NDArray[np.uint64],
        undecided: NDArray[np.uint64],
    ) -> int: ...

    def settle(
        self,
        undecided: NDArray[np.uint64],
        spare: NDArray[np.uint64],
        rest: np.uint64,
        heads: NDArray[np.uint64],
    ) -> None: ...


class UnaryKernels(Protocol):
    """Rows of one bit a cell, packed in bytes; see ``unary_plain`` for what each function does."""

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
    """The fastest coin kernels for ``n_bits`` coins."""
    if n_bits >= WORTH_COMPILING and available():
        from tacit._kernels import coins as compiled

        return compiled
    from tacit._kernels import coins_plain

    return coins_plain


def unary_kernels(n_bits: int) -> UnaryKernels:
    """The fastest row kernels for ``n_bits`` bits of reports."""
    if n_bits >= WORTH_COMPILING and available():
        from tacit._kernels import unary as compiled

        return compiled
    from tacit._kernels import unary_plain

    return unary_plain
