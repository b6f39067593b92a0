"""The buffers of a running total: compiled as in plain NumPy, and both as exact fractions round."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tacit._base.kernels import draws_plain

DECAYS, DECAY_SHIFTS = np.array([40000, 33000, 60001]), np.array([30, 22, 17])
WEIGHTS, WEIGHT_SHIFTS = np.array([50001, 40000, 65535]), np.array([22, 19, 18])


def run(kernels, noise, guard_bits, buffers):
    out, kept = noise.copy(), buffers.copy()
    kernels.take_back(out, kept, DECAYS, DECAY_SHIFTS, WEIGHTS, WEIGHT_SHIFTS, guard_bits)
    return out, kept


@pytest.mark.parametrize("guard_bits", [0, 1, 20])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (50, 1), (300, 17)])
@pytest.mark.slow
def test_compiled_and_plain_are_equal(guard_bits, shape):
    pytest.importorskip("numba")
    from tacit._base.kernels import draws

    rng = np.random.default_rng(shape[0])
    noise = rng.integers(-(1 << 30), 1 << 30, shape)
    start = rng.integers(-(1 << 50), 1 << 50, (3, shape[1]))
    for one, other in zip(
        run(draws, noise, guard_bits, start), run(draws_plain, noise, guard_bits, start), strict=True
    ):
        assert np.array_equal(one, other)


def test_plain_rounds_as_stated():
    rng = np.random.default_rng(5)
    noise = rng.integers(-(1 << 20), 1 << 20, (200, 1))
    found, kept = run(draws_plain, noise, 8, np.zeros((3, 1), np.int64))
    exact = [0, 0, 0]
    for drawn, left in zip(noise[:, 0].tolist(), found[:, 0].tolist(), strict=True):
        weights = [Fraction(int(n), 1 << int(q)) for n, q in zip(WEIGHTS, WEIGHT_SHIFTS, strict=True)]
        decays = [Fraction(int(n), 1 << int(q)) for n, q in zip(DECAYS, DECAY_SHIFTS, strict=True)]
        fed_back = sum(math.floor(w * s) for w, s in zip(weights, exact, strict=True))
        assert left == drawn - math.floor(Fraction(fed_back + 128, 256))
        exact = [s - math.floor(k * s) + left * 256 for k, s in zip(decays, exact, strict=True)]
    assert kept[:, 0].tolist() == exact
