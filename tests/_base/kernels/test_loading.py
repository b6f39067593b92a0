"""Kernels cost nothing until they are worth it, and need no place to write."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

ONE_REPORT = """
import sys
import numpy as np
from tacit.randomness import SecureRandomness
from tacit.randomness.bernoulli import COIN, bernoulli_rows
assert bernoulli_rows(np.array([3]), 17, 3 * COIN // 4, COIN // 4, SecureRandomness()).shape == (1, 3)
assert "numba" not in sys.modules
"""


def test_one_report_of_one_device_does_not_load_numba() -> None:
    subprocess.run([sys.executable, "-c", ONE_REPORT], check=True)


def test_kernels_compile_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    from tacit._base.kernels import compiling

    def without_a_place_to_write(*, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return numba.njit(**options)

    monkeypatch.setattr(compiling, "numba", SimpleNamespace(njit=without_a_place_to_write))
    assert compiling.compiled(lambda word: word + 1)(41) == 42
