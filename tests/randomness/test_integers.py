"""Integers below a limit are exactly uniform: by listing all lanes, then by their edges, then by counting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit.audit.testing import assert_frequencies
from tacit.errors import SettingError
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import LARGEST_LIMIT, LARGEST_NARROW_LIMIT, integers_below

ALL_NARROW_LANES = np.arange(1 << 16, dtype="<u2").view("<u8").astype(np.uint64)
UPPER = 1 << 32


class Scripted:
    """Words that were written down beforehand; asking for one more is an error."""

    is_simulation = True

    def __init__(self, *words: NDArray[np.uint64]) -> None:
        self.left = np.concatenate(words).astype(np.uint64)

    def fill(self, out: NDArray[np.uint64]) -> None:
        assert out.size <= self.left.size, "more words were drawn than documented"
        out[:], self.left = self.left[: out.size], self.left[out.size :]

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, np.uint64)
        self.fill(out)
        return out


@contextmanager
def kernels(compiled: bool) -> Iterator[None]:
    if compiled:
        pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "WORTH_LOADING", 0 if compiled else 1 << 62)
        yield


def redraw_of(value: int, limit: int) -> int:
    """A word whose upper half is accepted and gives the value: the first of the lanes that do."""
    return -(-(value * UPPER + UPPER % limit) // limit) << 32


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("limit", [1, 2, 3, 6, 17, 255, 1000, 1024, 2049, 4095, LARGEST_NARROW_LIMIT])
def test_every_value_has_as_many_lanes_as_any_other(limit, compiled):
    """All 2**16 lanes, each once: the surplus is drawn again, and what is left is even."""
    n_even, surplus = divmod(1 << 16, limit)
    spare = np.full(surplus, redraw_of(limit - 1, limit), np.uint64)
    script = Scripted(ALL_NARROW_LANES, spare)
    with kernels(compiled):
        drawn = integers_below((limit,), 1 << 16, script)
    assert script.left.size == 0
    counts = np.bincount(drawn[:, 0], minlength=limit)
    counts[limit - 1] -= surplus
    assert counts.tolist() == [n_even] * limit


@settings(max_examples=300)
@given(st.data(), st.integers(LARGEST_NARROW_LIMIT + 1, LARGEST_LIMIT))
@pytest.mark.slow
def test_every_value_of_a_wide_limit_has_as_many_lanes_as_any_other(data, limit):
    """The lanes of a value are a run: both ends give it, and what lies beyond them does not."""
    n_even, surplus = divmod(UPPER, limit)
    value = data.draw(st.one_of(st.sampled_from([0, limit - 1]), st.integers(0, limit - 1)))
    first = -(-(value * UPPER + surplus) // limit)
    last = -(-((value + 1) * UPPER) // limit) - 1
    assert last - first + 1 == n_even
    for lane, is_of_value in ((first, True), (last, True), (first - 1, False), (last + 1, False)):
        if not 0 <= lane < UPPER:
            continue
        other = (value + 1) % limit
        # an accepted lane leaves the spare word untouched
        script = Scripted(np.array([lane], np.uint64), np.array([redraw_of(other, limit)], np.uint64))
        drawn = int(integers_below((limit,), 1, script)[0, 0])
        assert (drawn == value and script.left.size == 1) == is_of_value


@pytest.mark.parametrize("compiled", [True, False])
def test_a_lane_may_be_drawn_anew_more_than_once(compiled):
    refused = 0  # times anything is a lower half of 0: always in the surplus of a limit that is no power of two
    words = [np.zeros(1, np.uint64), np.array([refused] * 4), np.array([refused, redraw_of(2, 5), 0, redraw_of(4, 5)])]
    more = [np.array([redraw_of(1, 5), refused]), np.array([redraw_of(3, 5)])]
    script = Scripted(*words, *more)
    with kernels(compiled):
        drawn = integers_below((5,), 4, script)
    assert drawn[:, 0].tolist() == [1, 2, 3, 4]
    assert script.left.size == 0


@pytest.mark.parametrize("limits", [(17,), (1000,), (5000,), (12, 13, 14, 15, 16), range(749, 1024), range(4000, 4200)])
@pytest.mark.parametrize("n_rows", [0, 1, 7, 64, 1001])
def test_compiled_and_plain_kernels_draw_the_same_integers(limits, n_rows):
    drawn = []
    for compiled in (True, False):
        with kernels(compiled):
            source = SeededRandomness(n_rows)
            drawn.append((integers_below(limits, n_rows, source).tolist(), source.words(1).tolist()))
    assert drawn[0] == drawn[1]


@pytest.mark.false_failure(1e-9)
@pytest.mark.slow
def test_each_column_has_its_own_limit(seed):
    limits = (2, 3, 17, 100, 4095)
    drawn = integers_below(limits, 100_000, SeededRandomness(seed))
    for column, limit in enumerate(limits):
        counts = np.bincount(drawn[:, column], minlength=limit)
        assert_frequencies(counts, [1 / limit] * limit, false_failure=1e-9 / len(limits))


@pytest.mark.false_failure(1e-9)
def test_uneven_integers_are_caught(seed):
    words = SeededRandomness(seed).words(1_000_000) >> np.uint64(56)
    with pytest.raises(AssertionError, match="probability"):
        # a byte modulo 100: 56 values have three bytes, the others two
        assert_frequencies(np.bincount(words % np.uint64(100), minlength=100), [0.01] * 100, false_failure=1e-9)


@pytest.mark.parametrize("limits", [(), (0,), (3, -1), (LARGEST_LIMIT + 1,)])
def test_limits_that_leave_nothing_to_draw_are_refused(limits):
    with pytest.raises(SettingError, match="limits must"):
        integers_below(limits, 1, SeededRandomness(1))
