"""Compiled loops: arrays in, arrays out, no checks, no randomness.

Each set of kernels stands twice: compiled by numba (``coins``, ``unary``) and in plain NumPy
(``coins_plain``, ``unary_plain``). Both write the same bytes, so which one runs is a question of speed alone. A
device need not have numba, and one report is not worth the second that loading it takes: plain kernels
serve until they have done as much work as loading numba costs, compiled ones from then on.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Protocol

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
    """Integers below limits from lanes of random bits; ``integers_plain`` says what each function does."""

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
    """Reports that name several cells; ``subset_plain`` says what each function does."""

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
    """Draws by cumulative probabilities, and what is made of them; ``inversion_plain`` says what each function does."""

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
    """The buffers of a factorized running total; ``buffers_plain`` says what the function does."""

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


class StateSpaceKernels(Protocol):
    """Series that drift, seen with noise; ``state_space_plain`` says what each function does."""

    def log_likelihoods(
        self,
        shares: NDArray[np.float64],
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> None: ...

    def smooth(
        self,
        shares: NDArray[np.float64],
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        means: NDArray[np.float64],
        variances: NDArray[np.float64],
    ) -> None: ...

    def follow(
        self,
        shares: NDArray[np.float64],
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        means: NDArray[np.float64],
        variances: NDArray[np.float64],
    ) -> None: ...

    def question_variances(
        self,
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        weights: NDArray[np.float64],
        damped: NDArray[np.float64],
        groups: NDArray[np.int64],
        bounds: NDArray[np.int64],
        out: NDArray[np.float64],
    ) -> None: ...


class LikelihoodKernels(Protocol):
    """How likely reports are under shares; ``likelihood_plain`` says what the function does."""

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


def hadamard_kernels(n_steps: int) -> HadamardKernels:
    """The kernels to draw or count columns with: a step is a column, or an addition of a transform."""
    if _is_worth_loading(n_steps):
        from tacit._kernels import hadamard

        return hadamard
    from tacit._kernels import hadamard_plain

    return hadamard_plain


def integer_kernels(n_integers: int) -> IntegerKernels:
    """The kernels to draw ``n_integers`` integers with: each about as much work as a bit."""
    if _is_worth_loading(n_integers):
        from tacit._kernels import integers

        return integers
    from tacit._kernels import integers_plain

    return integers_plain


def response_kernels(n_reports: int) -> ResponseKernels:
    """The kernels to write or count ``n_reports`` named cells with: each about as much work as a bit."""
    if _is_worth_loading(n_reports):
        from tacit._kernels import response

        return response
    from tacit._kernels import response_plain

    return response_plain


def subset_kernels(n_bits: int) -> SubsetKernels:
    """The kernels to write or check subsets of ``n_bits`` bits in all with."""
    if _is_worth_loading(n_bits):
        from tacit._kernels import subset

        return subset
    from tacit._kernels import subset_plain

    return subset_plain


def hashing_kernels(n_bits: int) -> HashingKernels:
    """The kernels to write hashed reports of ``n_bits`` bits in all with, or to count them in as many steps."""
    if _is_worth_loading(n_bits):
        from tacit._kernels import hashing

        return hashing
    from tacit._kernels import hashing_plain

    return hashing_plain


def tree_kernels(n_steps: int) -> TreeKernels:
    """The kernels to ask for ranges with: a step is a range at one level of the tree, about as much work as 64 bits."""
    if _is_worth_loading(64 * n_steps):
        from tacit._kernels import tree

        return tree
    from tacit._kernels import tree_plain

    return tree_plain


def inversion_kernels(n_draws: int) -> InversionKernels:
    """The kernels to make ``n_draws`` draws from tables with: each about as much work as eight bits."""
    if _is_worth_loading(8 * n_draws):
        from tacit._kernels import inversion

        return inversion
    from tacit._kernels import inversion_plain

    return inversion_plain


def buffer_kernels(n_bins: int) -> BufferKernels:
    """The kernels to take noise back in ``n_bins`` bins with: each as much work for plain ones as thousands of bits."""
    if _is_worth_loading(n_bins << 13):
        from tacit._kernels import buffers

        return buffers
    from tacit._kernels import buffers_plain

    return buffers_plain


def state_space_kernels(n_steps: int) -> StateSpaceKernels:
    """The kernels for series that drift: a step is a time and series, as much work as a hundred bits for each term."""
    if _is_worth_loading(n_steps << 7):
        from tacit._kernels import state_space

        return state_space
    from tacit._kernels import state_space_plain

    return state_space_plain


def likelihood_kernels(n_bits: int) -> LikelihoodKernels:
    """The kernels to weigh reports with, of ``n_bits`` supports in all."""
    if _is_worth_loading(n_bits):
        from tacit._kernels import likelihood

        return likelihood
    from tacit._kernels import likelihood_plain

    return likelihood_plain


def _is_worth_loading(n_bits: int) -> bool:
    global _n_bits_so_far
    _n_bits_so_far += n_bits
    return _n_bits_so_far >= WORTH_LOADING and available()
