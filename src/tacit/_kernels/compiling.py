"""How kernels are compiled: once a machine, kept on disk, and without holding Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def compiled(kernel: _Kernel) -> _Kernel:
    """Compile on first use, for the types of that use; parameters are arguments, because closures are not kept on disk."""
    fast: _Kernel = numba.njit(cache=True, nogil=True)(kernel)
    return fast
