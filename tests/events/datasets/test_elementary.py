"""The elementary functions are accurate, and the same bits everywhere."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.events.datasets._draws import cos_turns, exp, log, sin_turns

ACCURACY = 1e-15


@given(st.floats(-700, 700))
def test_the_exponential_is_accurate(x: float) -> None:
    assert math.isclose(float(exp(np.array(x))), math.exp(x), rel_tol=ACCURACY)


@given(st.floats(1e-300, 1e300))
def test_the_logarithm_is_accurate(x: float) -> None:
    assert math.isclose(float(log(np.array(x))), math.log(x), rel_tol=ACCURACY, abs_tol=1e-16)


@given(st.floats(-2, 2))
def test_cosine_and_sine_are_accurate_and_lie_on_the_circle(turns: float) -> None:
    cosine, sine = float(cos_turns(np.array(turns))), float(sin_turns(np.array(turns)))
    assert math.isclose(cosine, math.cos(2 * math.pi * turns), abs_tol=4e-15)
    assert math.isclose(sine, math.sin(2 * math.pi * turns), abs_tol=4e-15)
    assert math.isclose(cosine * cosine + sine * sine, 1.0, abs_tol=4e-15)


def test_quarter_turns_are_exact() -> None:
    assert cos_turns(np.array([0.0, 0.25, 0.5, 0.75, 1.0])).tolist() == [1.0, 0.0, -1.0, 0.0, 1.0]


def test_the_bits_are_the_ones_the_data_sets_were_frozen_with() -> None:
    x = np.array([-3.7, 0.1, 2.5])
    assert [value.hex() for value in exp(x).tolist()] == EXP_BITS
    assert [value.hex() for value in log(np.abs(x)).tolist()] == LOG_BITS
    assert [value.hex() for value in cos_turns(x / 10).tolist()] == COS_BITS


EXP_BITS = ["0x1.9511fc6871044p-6", "0x1.1aec7b35a00d4p+0", "0x1.85d6fd931e0bbp+3"]
LOG_BITS = ["0x1.4eeee650ae550p+0", "-0x1.26bb1bbb55515p+1", "0x1.d5240f0e0e078p-1"]
COS_BITS = ["-0x1.5e7cf55112013p-1", "0x1.fefd5bfe443fep-1", "0x0.0p+0"]
