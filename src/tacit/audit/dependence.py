r"""Noise that cancels: where noise is linearly dependent, some combination of answers has none.

Let K be the combinations in which the noise of repeated builds on the same counts cancels. If :math:`K y` changes when
a unit is added, it tells the two inputs apart with certainty, whatever epsilon was claimed. If it does not change, as
in answers that were made consistent (a parent is the sum of its children), the combination says nothing of the counts
and does no harm. That is why the rank alone refutes nothing, and the game below is played.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tacit.audit.answers import BuildMany, neighbors, start_of
from tacit.audit.games import BoolArray, FloatArray, IntArray, Progress, play_game
from tacit.audit.reconstruction import noiseless_combinations
from tacit.audit.verdicts import Audit
from tacit.audit.views import as_numbers, finite
from tacit.randomness import Randomness


@dataclass(frozen=True, slots=True, eq=False)
class NoiseRank:
    """How many answers there are, the combinations without noise, and one table of answers to compare with."""

    n_builds: int
    n_answers: int
    combinations: FloatArray
    answers: FloatArray

    @property
    def rank(self) -> int:
        return self.n_answers - len(self.combinations)


def noise_rank(build: BuildMany, counts: int | ArrayLike, *, n_builds: int | None = None) -> NoiseRank:
    """The rank of the noise over repeated builds on the same counts, of which there are more than answers.

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
    n_builds = n_answers + max(16, n_answers // 8) if n_builds is None else n_builds
    answers = finite(as_numbers(build(np.tile(start, (n_builds, 1)))))
    return NoiseRank(n_builds, n_answers, noiseless_combinations(answers[1:] - answers[0]), answers[0])


def audit_dependence(
    build: BuildMany,
    *,
    epsilon: float,
    counts: int | ArrayLike,
    unit: int = 1,
    n_builds: int | None = None,
    n_runs: int = 2_000,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Look for combinations of answers in which the noise cancels and the counts do not."""
    start = start_of(counts)
    found = noise_rank(build, start, n_builds=n_builds)
    said = (f"the noise of {found.n_answers:,} answer{'s' * (found.n_answers > 1)} has rank {found.rank:,}",)
    if not len(found.combinations):
        return Audit("dependent noise", epsilon, 0.0, 0.0, confidence, found.n_builds, 0, 0, said, is_specific=True)
    return play_game(
        "dependent noise",
        neighbors(build, start, unit, [_Residual(found)], [_most_exposed(build, start, unit, found)]),
        epsilon=epsilon,
        n_runs=n_runs,
        confidence=confidence,
        randomness=randomness,
        progress=progress,
        found=said,
        is_specific=True,
    )


def _most_exposed(build: BuildMany, start: IntArray, unit: int, found: NoiseRank) -> int:
    """The bin in which a unit changes the combinations without noise most."""
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
            return np.asarray(np.abs(residual).max(axis=1) > 1e-7 * size, np.int64)

        return reduce
