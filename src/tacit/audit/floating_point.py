r"""Floating-point noise: which inputs could have led to an output, to the last bit (Mironov2012).

Textbook Laplace noise is :math:`\pm b \ln(k/2^{53})`, for one of :math:`2^{53}` whole numbers k. Added to a count it
reaches some floats and not others, and which ones depends on the count: more than half of all outputs of a count of 0
cannot come from a count of 1, at any scale. Two tests see that. One inverts the formula. The other knows no formula:
a sum of a count and a smaller number has no bits below those that the count's own size leaves room for.

Noise that is drawn as whole numbers, as all of Tacit's is, has neither fault.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit.audit.answers import BuildMany, neighbors
from tacit.audit.claims import Audit
from tacit.audit.games import Progress, View, play_game
from tacit.audit.views import as_numbers, gap_order, tells_most
from tacit.randomness import Randomness

_MANTISSA: Final = 53  # bits of a float
_GRID: Final = 2.0**_MANTISSA
_SEARCHED: Final = 32
_ZERO: Final = 4096
_TRIED: Final = 3


def is_reachable(outputs: ArrayLike, count: float, scale: float) -> BoolArray:
    """Which outputs are count ± scale · ln(k / 2**53) for some whole number k, bit by bit.

    >>> k = np.array([1234567890123456.0, 4.5e15])
    >>> is_reachable(3 - 0.5 * np.log(k / 2**53), 3, 0.5).tolist()
    [True, True]
    >>> bool(is_reachable(np.linspace(3, 9, 100), 3, 0.5).all())
    False
    """
    y = np.asarray(outputs, np.float64)
    off = y - count
    sign = np.where(off > 0, -1.0, 1.0)
    near = np.rint(np.exp(-np.abs(off) / scale) * _GRID)
    found = np.zeros(y.shape, bool)
    for step in range(-_SEARCHED, _SEARCHED + 1):
        k = np.clip(near + step, 1, _GRID)
        found |= count + sign * scale * np.log(k / _GRID) == y
    return found


def lowest_bits(outputs: ArrayLike) -> IntArray:
    """The power of two of the lowest bit that is set in each output, with its size; whole numbers have none below 0.

    >>> bits = lowest_bits([0.75, 3.0, 0.5])
    >>> len(set(bits.tolist()))
    3
    """
    y = np.asarray(outputs, np.float64)
    is_odd = ~np.isfinite(y)
    mantissa, exponent = np.frexp(np.where(is_odd, 0.0, y))
    digits = np.abs(mantissa * _GRID).astype(np.int64)
    lowest = np.log2(np.maximum(digits & -digits, 1).astype(np.float64)).astype(np.int64) - _MANTISSA
    code = (exponent.astype(np.int64) + 1100) * 64 - lowest
    odd = np.where(is_odd, 1 + np.isnan(y) + 2 * np.isneginf(y), 0)
    return np.where(digits == 0, _ZERO * 64 + odd, code)


def audit_floating_point(
    build: BuildMany,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    n_bins: int = 1,
    unit: int = 1,
    scales: Sequence[float] = (),
    n_runs: int = 20_000,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Look for outputs that one of two neighbouring counts cannot have led to, by their last bits.

    ``scales`` of the noise are tried beside unit / epsilon where an epsilon is claimed.
    """
    start = np.zeros(n_bins, np.int64)
    some = as_numbers(build(np.tile(start, (64, 1))))
    is_whole = bool((some == np.rint(some)).all())
    views: list[View] = [_LowestBits()]
    if not is_whole:
        tried = dict.fromkeys([*([] if epsilon is None else [unit / epsilon]), *scales])
        views += [_Reachable(0.0, float(unit), scale) for scale in tried]
    return play_game(
        "floating-point noise",
        neighbors(build, start, unit, views),
        epsilon=epsilon,
        rho=rho,
        n_runs=n_runs,
        confidence=confidence,
        randomness=randomness,
        progress=progress,
        found=("answers are whole numbers",) if is_whole else ("answers have digits after the point",),
        is_specific=True,
    )


@dataclass(frozen=True, slots=True)
class _LowestBits:
    """The last bit that is set in the answer for which that differs most between the two inputs."""

    name: str = "the last bits of an answer"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        column = tells_most(lowest_bits(as_numbers(observed)), coins)[0]
        return lambda outputs: lowest_bits(as_numbers(outputs)[:, column])


@dataclass(frozen=True, slots=True)
class _Reachable:
    """From which of the two counts the formula of Laplace noise reaches an answer."""

    first: float
    second: float
    scale: float

    @property
    def name(self) -> str:
        return f"which counts Laplace noise of scale {self.scale:.4g} leads to an answer from"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        answers = as_numbers(observed)
        some = [*tells_most(lowest_bits(answers), coins)[:_TRIED], *gap_order(answers, coins)[:_TRIED]]
        column = some[tells_most(np.column_stack([self._code(answers[:, one]) for one in some]), coins)[0]]
        return lambda outputs: self._code(as_numbers(outputs)[:, column])

    def _code(self, answers: FloatArray) -> IntArray:
        from_both = [is_reachable(answers, count, self.scale).astype(np.int64) for count in (self.first, self.second)]
        return 2 * from_both[0] + from_both[1]
