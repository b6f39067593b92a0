"""Hold a table of cumulative probabilities, and every decision made with it, against the real numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest

from tacit._base import kernels as _kernels
from tacit._base.kernels import draws_plain
from tacit.audit.testing import ListedWords
from tacit.randomness.inversion import DIGITS, Inversion

Between = tuple[Fraction, Fraction]
"""Fractions around a real number, closer than 2**-400."""


@contextmanager
def kernels(compiled: bool) -> Iterator[None]:
    if compiled:
        pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_kernels, "WORTH_LOADING", 0 if compiled else 1 << 62)
        yield


def digits_of(number: Between, bits: int) -> int:
    low, high = ((end * (1 << bits)).__floor__() for end in number)
    assert low == high, "the fractions around the number are too far apart"
    return low


def assert_inverts(inversion: Inversion, cumulative: Sequence[Between]) -> None:
    """Assert that draws have these cumulative probabilities F(0), F(1), ..., exactly.

    For every k: digits just below those of F(k) give at most k, digits just above give more, and equal ones are
    decided by the next 64 in the same way, and these by the next. So the probability of at most k is enclosed by
    2**-191, and by 2**-64 of that with every further word.
    """
    table = [int(threshold) for threshold in inversion.thresholds]
    assert table[:-1] == sorted(table[:-1])
    assert table[-1] == (1 << DIGITS) - 1
    for k, number in enumerate(cumulative[: len(table) - 1]):
        assert table[k] == digits_of(number, DIGITS)
        second = digits_of(number, DIGITS + 64) % (1 << 64)
        third = digits_of(number, DIGITS + 128) % (1 << 64)
        if table[k] > 0:
            assert drawn(inversion, [table[k] - 1 << 1], spare=[1 << 63]) <= k
        assert drawn(inversion, [table[k] + 1 << 1], spare=[1 << 63]) > k
        for words, is_below in (
            ([second - 1], True),
            ([second + 1], False),
            ([second, third - 1], True),
            ([second, third + 1], False),
        ):
            assert (drawn(inversion, [table[k] << 1 | 1], spare=words, all_used=True) <= k) == is_below


def drawn(inversion: Inversion, words: list[int], *, spare: Sequence[int] = (), all_used: bool = False) -> int:
    """What a word gives with compiled and with plain kernels, which must be the same."""
    values = []
    for kind in (draws_plain, compiled_if_there()):
        out, source = np.empty(len(words), np.int64), ListedWords(spare)
        inversion.draw(np.array(words, np.uint64), out, kind, source)
        assert not (all_used and source.n_left)
        values.append(out.tolist())
    assert values[0] == values[1]
    return values[0][0]


def compiled_if_there() -> _kernels.Kernels:
    if _kernels.available():
        from tacit._base.kernels import draws

        return draws
    return draws_plain
