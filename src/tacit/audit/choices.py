"""Audit of a bound that is chosen privately: can one person be told from the bounds that are drawn?

The person has more events than the largest bound of the grid. Then ranks below the quantile fall behind it by q, and
ranks above it come nearer by q, so that the odds between two such bounds change by nearly all that epsilon allows
where one of them is seldom drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, IntArray
from tacit.audit.claims import Audit
from tacit.audit.games import Contest, Progress, play_game
from tacit.errors import SettingError
from tacit.mechanisms.central.bound_choice import BoundChoice
from tacit.randomness import Randomness, SecureRandomness

_N_RUNS: Final = 20_000  # that refute twice the stated epsilon of 1 for sure; half as many nearly always
_N_PERSONS: Final = 40  # of whom few have more events than any bound; twice as many tell the same
_ODDS: Final = (0.0, 1.5, 3.0)  # logarithms of the odds at which the bound is drawn that one person more makes rarer
_RUNS_AT_ONCE: Final = 5_000


def audit_bound_choice(
    choice: BoundChoice,
    *,
    n_runs: int = _N_RUNS,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound the epsilon of a choice from below by what the drawn bounds say of one person.

    Formal guarantee: refutes a true epsilon with probability 1 - ``confidence`` at most.
    """
    if len(choice.grid) < 2:
        raise SettingError("a choice among one bound tells nothing. Give a grid of two bounds or more.")
    source = SecureRandomness() if randomness is None else randomness
    return play_game(
        "chosen bounds",
        [_contest(choice, odds, source) for odds in _ODDS],
        epsilon=choice.epsilon,
        n_runs=n_runs,
        confidence=confidence,
        randomness=source,
        progress=progress,
    )


def _contest(choice: BoundChoice, odds: float, source: Randomness) -> Contest:
    asked = choice.quantile * _N_PERSONS
    # all but the first bound are just above the quantile; the first is so far below that it is drawn at these odds
    above = min(math.floor(asked) + 1, _N_PERSONS)
    behind = above - asked + 2 * odds / choice.epsilon
    first = max(0, math.floor(asked - behind))
    ranks = [first, *[above] * (len(choice.grid) - 1)]
    numbers = {bound: number for number, bound in enumerate(choice.grid)}

    def play(coins: BoolArray) -> IntArray:
        drawn = (choice.choose(ranks, _N_PERSONS + int(coin), randomness=source) for coin in coins)
        return np.array([numbers[bound] for bound in drawn], np.int64)

    name = f"one person of more events than any bound, or not, where {first} of {_N_PERSONS} have few"
    return Contest(name, play, [_Drawn()], _RUNS_AT_ONCE, 1)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The bound itself."""

    name: str = "the bound that was chosen"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        return lambda seen: np.asarray(seen, np.int64)
