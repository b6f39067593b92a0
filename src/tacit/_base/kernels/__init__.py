"""Compiled loops: arrays in, arrays out, no checks, no randomness.

Each set of kernels stands twice: compiled by numba (``coins``, ``unary``) and in plain NumPy
(``coins_plain``, ``unary_plain``). Both write the same bytes, so which one runs is a question of speed alone. A
device need not have numba, and one report is not worth the second that loading it takes: plain kernels
serve until they have done as much work as loading numba costs, compiled ones from then on.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from tacit._base.kernels.protocols import (
    BufferKernels,
    CoinKernels,
    HadamardKernels,
    HashingKernels,
    IntegerKernels,
    InversionKernels,
    LikelihoodKernels,
    ResponseKernels,
    SubsetKernels,
    TreeKernels,
    UnaryKernels,
)
from tacit._base.kernels.series_protocols import StateKernels, StateSpaceKernels, SummedKernels

__all__ = [
    "WORTH_LOADING",
    "BufferKernels",
    "CoinKernels",
    "HadamardKernels",
    "HashingKernels",
    "IntegerKernels",
    "InversionKernels",
    "LikelihoodKernels",
    "ResponseKernels",
    "StateKernels",
    "StateSpaceKernels",
    "SubsetKernels",
    "SummedKernels",
    "TreeKernels",
    "UnaryKernels",
    "available",
    "buffer_kernels",
    "coin_kernels",
    "hadamard_kernels",
    "hashing_kernels",
    "integer_kernels",
    "inversion_kernels",
    "likelihood_kernels",
    "response_kernels",
    "state_kernels",
    "state_space_kernels",
    "subset_kernels",
    "summed_kernels",
    "tree_kernels",
    "unary_kernels",
]

WORTH_LOADING: Final = 1 << 26
"""Bits of work that plain kernels do in about half a second: what it takes to load numba and kernels kept on disk."""

_n_bits_so_far = 0


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
        from tacit._base.kernels import coins

        return coins
    from tacit._base.kernels import coins_plain

    return coins_plain


def unary_kernels(n_bits: int) -> UnaryKernels:
    """The kernels to write or count rows of ``n_bits`` bits in all with."""
    if _is_worth_loading(n_bits):
        from tacit._base.kernels import unary

        return unary
    from tacit._base.kernels import unary_plain

    return unary_plain


def hadamard_kernels(n_steps: int) -> HadamardKernels:
    """The kernels to draw or count columns with: a step is a column, or an addition of a transform."""
    if _is_worth_loading(n_steps):
        from tacit._base.kernels import hadamard

        return hadamard
    from tacit._base.kernels import hadamard_plain

    return hadamard_plain


def integer_kernels(n_integers: int) -> IntegerKernels:
    """The kernels to draw ``n_integers`` integers with: each about as much work as a bit."""
    if _is_worth_loading(n_integers):
        from tacit._base.kernels import integers

        return integers
    from tacit._base.kernels import integers_plain

    return integers_plain


def response_kernels(n_reports: int) -> ResponseKernels:
    """The kernels to write or count ``n_reports`` named cells with: each about as much work as a bit."""
    if _is_worth_loading(n_reports):
        from tacit._base.kernels import response

        return response
    from tacit._base.kernels import response_plain

    return response_plain


def subset_kernels(n_bits: int) -> SubsetKernels:
    """The kernels to write or check subsets of ``n_bits`` bits in all with."""
    if _is_worth_loading(n_bits):
        from tacit._base.kernels import subset

        return subset
    from tacit._base.kernels import subset_plain

    return subset_plain


def hashing_kernels(n_bits: int) -> HashingKernels:
    """The kernels to write hashed reports of ``n_bits`` bits in all with, or to count them in as many steps."""
    if _is_worth_loading(n_bits):
        from tacit._base.kernels import hashing

        return hashing
    from tacit._base.kernels import hashing_plain

    return hashing_plain


def tree_kernels(n_steps: int) -> TreeKernels:
    """The kernels to ask for ranges with: a step is a range at one level of the tree, about as much work as 64 bits."""
    if _is_worth_loading(64 * n_steps):
        from tacit._base.kernels import tree

        return tree
    from tacit._base.kernels import tree_plain

    return tree_plain


def inversion_kernels(n_draws: int) -> InversionKernels:
    """The kernels to make ``n_draws`` draws from tables with: each about as much work as eight bits."""
    if _is_worth_loading(8 * n_draws):
        from tacit._base.kernels import inversion

        return inversion
    from tacit._base.kernels import inversion_plain

    return inversion_plain


def buffer_kernels(n_bins: int) -> BufferKernels:
    """The kernels to take noise back in ``n_bins`` bins with: each as much work for plain ones as thousands of bits."""
    if _is_worth_loading(n_bins << 13):
        from tacit._base.kernels import buffers

        return buffers
    from tacit._base.kernels import buffers_plain

    return buffers_plain


def state_space_kernels(n_steps: int) -> StateSpaceKernels:
    """The kernels for series that drift: a step is a time and series, as much work as a hundred bits for each term."""
    if _is_worth_loading(n_steps << 7):
        from tacit._base.kernels import state_space

        return state_space
    from tacit._base.kernels import state_space_plain

    return state_space_plain


def summed_kernels(n_steps: int) -> SummedKernels:
    """The kernels for series of which sums were seen too: a step as for series that drift."""
    if _is_worth_loading(n_steps << 7):
        from tacit._base.kernels import summed

        return summed
    from tacit._base.kernels import summed_plain

    return summed_plain


def state_kernels(n_steps: int) -> StateKernels:
    """The kernels for what a filter knows: a step as for series that drift."""
    if _is_worth_loading(n_steps << 7):
        from tacit._base.kernels import states

        return states
    from tacit._base.kernels import states_plain

    return states_plain


def likelihood_kernels(n_bits: int) -> LikelihoodKernels:
    """The kernels to weigh reports with, of ``n_bits`` supports in all."""
    if _is_worth_loading(n_bits):
        from tacit._base.kernels import likelihood

        return likelihood
    from tacit._base.kernels import likelihood_plain

    return likelihood_plain


def _is_worth_loading(n_bits: int) -> bool:
    global _n_bits_so_far
    _n_bits_so_far += n_bits
    return _n_bits_so_far >= WORTH_LOADING and available()
