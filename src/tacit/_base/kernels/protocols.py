"""What each set of kernels offers, compiled or plain."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class CoinKernels(Protocol):
    """64 coins a word, tossed digit by digit; ``draws_plain`` says what each function does."""

    def slice_digits(
        self,
        words: NDArray[np.uint64],
        digits: NDArray[np.uint8],
        last_lanes: np.uint64,
        heads: NDArray[np.uint64],
        undecided: NDArray[np.uint64],
    ) -> int: ...

    def deal(self, undecided: NDArray[np.uint64], coins: NDArray[np.uint64], heads: NDArray[np.uint64]) -> None: ...


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

    def mark_rows(self, cells: NDArray[np.int32], truth: NDArray[np.uint64], rows: NDArray[np.uint8]) -> None: ...

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


class IntegerKernels(Protocol):
    """Integers below limits from lanes of random bits; ``draws_plain`` says what each function does."""

    def scale(
        self, lanes: NDArray[Any], limits: NDArray[Any], surplus: NDArray[Any], values: NDArray[Any]
    ) -> NDArray[np.int64]: ...


class ResponseKernels(Protocol):
    """Reports that name one cell; ``response_plain`` says what each function does."""

    def respond(
        self,
        cells: NDArray[np.int32],
        drawn: NDArray[Any],
        coins: NDArray[np.uint64],
        out: NDArray[np.uint8],
    ) -> None: ...

    def count_beyond(self, named: NDArray[Any], n_cells: int) -> int: ...

    def count_grouped(self, named: NDArray[Any], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> None: ...


class SubsetKernels(Protocol):
    """Reports that name several cells; ``response_plain`` says what each function does."""

    def write_subsets(
        self,
        cells: NDArray[np.int32],
        n_cells: int,
        drawn: NDArray[Any],
        coins: NDArray[np.uint64],
        out: NDArray[np.uint8],
    ) -> None: ...

    def count_wrong(self, rows: NDArray[np.uint8], n_cells: int, size: int) -> int: ...


class HashingKernels(Protocol):
    """Reports of a hash over a field of 2**degree elements; ``hashing_plain`` says what each function does."""

    def write_reports(
        self,
        cells: NDArray[np.int32],
        words: NDArray[np.uint64],
        kept: NDArray[np.bool_],
        degree: int,
        bits: int,
        out: NDArray[np.uint8],
    ) -> None: ...

    def count_by_transform(
        self,
        rows: NDArray[np.uint8],
        starts: NDArray[np.int64],
        runs: NDArray[np.int64],
        degree: int,
        bits: int,
        counts: NDArray[np.int64],
    ) -> None: ...

    def count_by_listing(
        self,
        rows: NDArray[np.uint8],
        starts: NDArray[np.int64],
        runs: NDArray[np.int64],
        degree: int,
        bits: int,
        counts: NDArray[np.int64],
    ) -> None: ...


class TreeKernels(Protocol):
    """Sums over ranges of a tree's leaves; ``tree_plain`` says what each function does."""

    def range_moments(
        self,
        first: NDArray[np.int64],
        stop: NDArray[np.int64],
        first_leaf: int,
        links: NDArray[np.uint32],
        rows: NDArray[np.float64],
        variances: NDArray[np.float64],
        cumulants: NDArray[np.float64],
    ) -> None: ...


class InversionKernels(Protocol):
    """Draws by cumulative probabilities, and what is made of them; ``draws_plain`` says what each function does."""

    def invert(
        self,
        words: NDArray[np.uint64],
        thresholds: NDArray[np.uint64],
        guide: NDArray[np.uint16],
        guide_bits: int,
        out: NDArray[np.int64],
    ) -> bool: ...

    def join(self, blocks: NDArray[np.int64], low: NDArray[np.int64], n_low_bits: int) -> None: ...

    def sign(self, words: NDArray[np.uint64], magnitudes: NDArray[np.int64]) -> None: ...

    def place(
        self,
        signs: NDArray[np.uint64],
        places: NDArray[np.uint64],
        coins: NDArray[np.uint64],
        n_low_bits: int,
        factors: NDArray[np.uint64],
        error: int,
        values: NDArray[np.int64],
        rejected: NDArray[np.bool_],
        is_open: NDArray[np.bool_],
    ) -> bool: ...


class BufferKernels(Protocol):
    """The buffers of a factorized running total; ``draws_plain`` says what the function does."""

    def take_back(
        self,
        noise: NDArray[np.int64],
        buffers: NDArray[np.int64],
        decays: NDArray[np.int64],
        decay_shifts: NDArray[np.int64],
        weights: NDArray[np.int64],
        weight_shifts: NDArray[np.int64],
        guard_bits: int,
    ) -> None: ...


class LikelihoodKernels(Protocol):
    """How likely reports are under shares; ``likelihood_plain`` says what each function does."""

    def weigh(
        self,
        supports: NDArray[np.uint8],
        which: NDArray[np.int64],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64],
        bins: NDArray[np.int64],
        gain: float,
        shares: NDArray[np.float64],
        factors: NDArray[np.float64],
        values: NDArray[np.float64],
    ) -> None: ...

    def curve(
        self,
        supports: NDArray[np.uint8],
        which: NDArray[np.int64],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64],
        bins: NDArray[np.int64],
        gain: float,
        shares: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> None: ...
