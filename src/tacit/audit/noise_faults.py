r"""Noise that is not independent: what other answers say of the noise of one, and combinations that have none.

Let K be the combinations in which the noise of repeated builds on the same counts cancels. If :math:`K y` changes when
a unit is added, it tells the two inputs apart with certainty, whatever epsilon was claimed. If it does not change, as
in answers that were made consistent (a parent is the sum of its children), the combination says nothing of the counts
and does no harm. That is why the rank alone refutes nothing, and the game below is played.

Noise that two places or two bins share need not cancel altogether. An answer less the best linear guess of its noise
from the answers that a unit leaves alone has less noise than the answer, and is looked at too.

Floating-point noise: which inputs could have led to an output, to the last bit (Mironov2012).

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
from tacit.audit.answers import BuildMany, neighbors, start_of
from tacit.audit.claims import Audit, Claim
from tacit.audit.games import Progress, View, play_game
from tacit.audit.reconstruction import noiseless_combinations
from tacit.audit.views import as_numbers, by_quantiles, finite, gap_order, mean_gaps, tells_most
from tacit.randomness import Randomness

_SURELY: Final = 4.0
"""Standard errors beyond which an answer is taken to move with the unit: one in 16,000 by chance. At two, many answers
that do not move would be taken; at eight, small moves would be missed."""
_MOST_RANKED: Final = 1_000
"""Bins up to which the rank of the noise is found: it takes more builds than answers, and their cube in steps."""
_MOST_HELPERS: Final = 8
"""Answers that may speak of another's noise: one is enough where noise is shared; more blur what they say."""


@dataclass(frozen=True, slots=True, eq=False)
class NoiseRank:
    """The rank of noise: the number of answers, the combinations without noise, and one table of answers to compare."""

    n_builds: int
    n_answers: int
    combinations: FloatArray
    answers: FloatArray

    @property
    def rank(self) -> int:
        return self.n_answers - len(self.combinations)


def noise_rank(build: BuildMany, counts: int | ArrayLike, *, n_builds: int | None = None) -> NoiseRank:
    """Return the rank of the noise over repeated builds on the same counts, of which there are more than answers.

    >>> from tacit.randomness import SeededRandomness
    >>> from tacit.randomness.laplace import discrete_laplace
    >>> source = SeededRandomness(1)
    >>> def build(tables):  # two answers that share one draw
    ...     draws = discrete_laplace(len(tables), 0.5, randomness=source)
    ...     return tables.sum(axis=1)[:, None] + np.outer(draws, [1, 2])
    >>> found = noise_rank(build, 4)
    >>> found.rank, found.n_answers
    (1, 2)
    """
    start = start_of(counts)
    n_answers = as_numbers(build(start[None, :])).shape[1]
    # some more than answers: with as many, rounding could pass for a missing rank
    n_builds = n_answers + max(16, n_answers // 8) if n_builds is None else n_builds
    answers = finite(as_numbers(build(np.tile(start, (n_builds, 1)))))
    return NoiseRank(n_builds, n_answers, noiseless_combinations(answers[1:] - answers[0]), answers[0])


def audit_dependence(
    build: BuildMany,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    counts: int | ArrayLike,
    unit: int = 1,
    n_builds: int | None = None,
    n_runs: int = 2_000,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Tell a unit apart by what other answers of the same run say of the noise of its own.

    Looked at are combinations of answers in which the noise cancels and the counts do not, and the answer that tells
    most less what the answers correlated with it say. Every run must be a build of its own.
    """
    start = start_of(counts)
    groups = Claim.of(epsilon=epsilon, delta=delta, rho=rho).groups
    contests, said = neighbors(build, start, unit, [_Unmasked()], groups=groups), ""
    if start.size <= _MOST_RANKED or n_builds is not None:
        found = noise_rank(build, start, n_builds=n_builds)
        said = f"the noise of {found.n_answers:,} answer{'s' * (found.n_answers > 1)} has rank {found.rank:,}"
        if len(found.combinations):
            exposed = [_most_exposed(build, start, unit, found)]
            contests = [*neighbors(build, start, unit, [_Residual(found)], exposed), *contests]
    return play_game(
        "dependent noise",
        contests,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        n_runs=n_runs,
        confidence=confidence,
        randomness=randomness,
        progress=progress,
        found=(said,) if said else (),
        is_specific=True,
    )


def _most_exposed(build: BuildMany, start: IntArray, unit: int, found: NoiseRank) -> int:
    """Return the bin in which a unit changes the combinations without noise most."""
    tables = start + unit * np.eye(start.size, dtype=np.int64)
    residuals = (finite(as_numbers(build(tables))) - found.answers) @ found.combinations.T
    return int(np.argmax(np.abs(residuals).max(axis=1)))


@dataclass(frozen=True, slots=True)
class _Residual:
    """Whether the combinations without noise are those of the first input."""

    found: NoiseRank
    name: str = "combinations in which the noise cancels"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        combinations, answers = self.found.combinations, self.found.answers
        size = float(np.abs(finite(as_numbers(observed))).max(initial=1.0))

        def reduce(outputs: Any) -> IntArray:
            residual = (finite(as_numbers(outputs)) - answers) @ combinations.T
            # rounding leaves less of the size, noise more
            return np.asarray(np.abs(residual).max(axis=1) > 1e-7 * size, np.int64)

        return reduce


@dataclass(frozen=True, slots=True)
class _Unmasked:
    """The answer that tells most, less what the answers whose noise is correlated with its own say of it."""

    name: str = "an answer less what others say of its noise"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        answers = finite(as_numbers(observed))
        target = gap_order(answers, coins)[0]
        noise = answers.copy()
        for side in (coins, ~coins):
            noise[side] -= answers[side].mean(axis=0) if side.any() else 0.0
        # answers without noise are taken for nearly so: guards the division
        sd = np.maximum(np.sqrt((noise**2).mean(axis=0)), 1e-9 * (1 + np.abs(answers).max(axis=0)))
        correlation = np.abs((noise / sd).T @ (noise[:, target] / sd[target])) / len(noise)
        # an answer with a gap of its own must not take the target's away
        gap, error = mean_gaps(answers, coins)
        correlation[np.abs(gap) > _SURELY * error] = 0.0
        correlation[target] = 0.0
        helpers = np.argsort(-correlation, kind="stable")[: min(_MOST_HELPERS, answers.shape[1] - 1)]
        inputs = noise[:, helpers]
        # keeps equal answers from a singular system
        ridge = 1e-9 * float((inputs**2).sum() + 1.0) * np.eye(helpers.size)
        weights = np.linalg.solve(inputs.T @ inputs + ridge, inputs.T @ noise[:, target])

        def unmasked(outputs: Any) -> FloatArray:
            table = finite(as_numbers(outputs))
            return np.asarray(table[:, target] - table[:, helpers] @ weights, np.float64)

        return by_quantiles(unmasked, observed)


_MANTISSA: Final = 53  # bits of a float
_GRID: Final = 2.0**_MANTISSA
_SEARCHED: Final = 32  # whole numbers tried on each side of the inverse: more than rounding can move it
_ZERO: Final = 4096  # the code of an answer of 0, above the exponents of all floats
_TRIED: Final = 3  # answers looked at by each way to choose them


def is_reachable(outputs: ArrayLike, count: float, scale: float) -> BoolArray:
    """Return whether each output is count ± scale · ln(k / 2**53) for some whole number k, bit by bit.

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
    """Return the power of two of the lowest bit set in each output, with its size; for whole numbers at least 0.

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
