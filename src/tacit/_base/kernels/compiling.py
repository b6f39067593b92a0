"""The compiler of kernels: once a machine, kept on disk, and without holding Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def compiled(kernel: _Kernel) -> _Kernel:
    """Compile on first use. What a kernel needs are its arguments: closures are not kept on disk.

    Inside a kernel a number is a machine word, not Python's: such arguments are annotated ``Any``.
    """
    try:
        fast = numba.njit(cache=True, nogil=True, error_model="numpy")(kernel)
    except RuntimeError:  # neither beside this file nor in the user's cache is there a place to write
        fast = numba.njit(nogil=True, error_model="numpy")(kernel)
    return cast(_Kernel, fast)
