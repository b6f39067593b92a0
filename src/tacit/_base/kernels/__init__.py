"""Compiled loops: arrays in, arrays out, no checks, no randomness.

Most sets of kernels stand twice: compiled by numba (``draws``, ``unary``) and in plain NumPy (``draws_plain``,
``unary_plain``). Integer kernels and those of trees write the same bytes either way; those of the likelihood differ in
last digits. A device need not have numba, and one report is not worth the second that loading it takes. The size of
a call alone decides which twin serves it, or that of all calls of a loop together (``repeated``), so that a release
does not depend on what ran before in the process. The kernels of time series (``series``, ``filters``) are compiled
only; one question is answered by a plain pass (``tacit.statespace.passes``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Final

import numpy as np

from tacit.errors import MissingExtra

__all__ = [
    "WORTH_LOADING",
    "Kernels",
    "available",
    "bounding_kernels",
    "buffer_kernels",
    "coin_kernels",
    "compiled_kernels",
    "hadamard_kernels",
    "hashing_kernels",
    "integer_kernels",
    "inversion_kernels",
    "likelihood_kernels",
    "repeated",
    "response_kernels",
    "subset_kernels",
    "tree_kernels",
    "unary_kernels",
]

WORTH_LOADING: Final = 1 << 20
"""Bits of work in one call from which compiled kernels serve it: plain ones take about 8 ms.

Reports are written in blocks of 2**16 (``tacit.collection.wire.cell_counts``), so a full block of 16 cells is compiled.
Double it, and blocks of few cells are written up to 20 times slower; halve it, and jobs of 30,000 reports wait for
numba to load (0.6 s).
"""

Kernels = ModuleType
"""A set of kernels: a module, or its plain twin, whose functions say what they take and write."""

_TIMES: Final = ContextVar("times", default=1)


@contextmanager
def repeated(times: int) -> Iterator[None]:
    """Let each call inside count as one of so many alike, which are compiled if they are worth it together.

    For loops whose kernels write the same bytes either way.

    >>> with repeated(WORTH_LOADING):
    ...     coin_kernels(1).__name__
    'tacit._base.kernels.draws'
    """
    before = _TIMES.set(_TIMES.get() * times)  # a loop in a loop
    try:
        yield
    finally:
        _TIMES.reset(before)


@dataclass(frozen=True)
class _Loader:
    """The kernels of one name for a call of so many steps; a step is as much work as ``bits``."""

    name: str
    bits: int

    def __call__(self, n_steps: int) -> Kernels:
        is_compiled = n_steps * self.bits * _TIMES.get() >= WORTH_LOADING and available()
        return _module(self.name + ("" if is_compiled else "_plain"))


@cache  # a device asks three times for a report: the import system takes a tenth of the time of one
def _module(name: str) -> Kernels:
    return import_module(f"{__name__}.{name}")


# A step of 16 bits is compiled from a block of 2**16 on.
coin_kernels: Final = _Loader("draws", 1)  # a step: a coin
unary_kernels: Final = _Loader("unary", 1)  # a bit of a row
subset_kernels: Final = _Loader("subset", 1)  # a bit of a row
likelihood_kernels: Final = _Loader("likelihood", 1)  # a cell that a report may support
hashing_kernels: Final = _Loader("hashing", 8)  # a bit written, or an addition when counting
hadamard_kernels: Final = _Loader("hadamard", 16)  # a column, or an addition of a transform
integer_kernels: Final = _Loader("draws", 16)  # an integer
response_kernels: Final = _Loader("response", 16)  # a report
tree_kernels: Final = _Loader("tree", 16)  # a range at one level of the tree
bounding_kernels: Final = _Loader("bounding", 64)  # a row: plain ones take 400 ns
inversion_kernels: Final = _Loader("draws", 4)  # a draw: plain ones take 25 ns, and 80,000 cells do not wait for numba
buffer_kernels: Final = _Loader("draws", 1 << 10)  # a bin: a thousand operations of Python


def compiled_kernels(name: str) -> Any:
    """Return the kernels of time series of one name, ``series`` or ``filters``: they have no plain twins."""
    if not available():
        raise MissingExtra(
            "smoothing and forecasting need numba, which is not installed or does not fit this NumPy. "
            "Run: pip install 'tacit[kernels]'"
        )
    return import_module(f"{__name__}.{name}")


@cache
def available() -> bool:
    """Return whether numba can be loaded here (this loads it)."""
    if not np.little_endian:  # the compiled kernels look at words as bytes
        return False
    try:
        import numba  # noqa: F401
    except ImportError:  # not installed, or refusing this version of NumPy
        return False
    return True
