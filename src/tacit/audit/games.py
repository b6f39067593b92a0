r"""Distinguishing games: a secret coin picks one of two inputs, the output is looked at, the coin is guessed or not.

How to guess is learned on runs of its own, in three steps that never share a run:

1. **screen**: every contest (pair of inputs) is played a little, and the most promising is kept;
2. **aim**: outputs are reduced to outcomes by several views, outcomes are ordered by how far they change the odds of
   the coin, and it is decided how far down that order to guess: all outcomes of the largest likelihood ratio, no more;
3. **test**: the guessing is fixed, and the share of right guesses bounds epsilon (:mod:`tacit.audit.bounds`).

Whatever was tried in the first two steps, the test is one: its error rate needs no sharing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._validate import check_at_least, check_positive, check_share
from tacit.audit.bounds import epsilon_of_events, epsilon_of_guesses
from tacit.audit.verdicts import Audit
from tacit.randomness import Randomness, SecureRandomness

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Progress = Callable[[int, int | None], None]

FEWEST_RUNS: Final = 200
_SCREENED: Final = 0.10
_LEARNED: Final = 0.05
_AIMED: Final = 0.10
_FEW: Final = 3_000
_MOST_LEARNED: Final = 0.20
_RUNS_TO_SCREEN: Final = 40
_FEW_SCREENED: Final = 300
_MOST_CUTS: Final = 48
_MOST_SLACK: Final = 0.05


class View(Protocol):
    """A way to look at outputs: reduces each to an outcome, a whole number."""

    @property
    def name(self) -> str: ...

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        """Learn from outputs and their coins; the result reduces any outputs. An outcome below 0 is not known."""


@dataclass(frozen=True)
class Contest:
    """Two inputs that must not be told apart: ``play`` runs the mechanism once for each coin, on the second if True.

    In the test it is asked for ``runs_at_once`` at most, so that outputs fit into memory.
    """

    name: str
    play: Callable[[BoolArray], Any]
    views: Sequence[View]
    runs_at_once: int = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Guessing:
    """Fixed guesses: the outcomes that change the odds by enough, and the coin that each speaks for."""

    contest: Contest
    view: str
    reduce: Callable[[Any], IntArray]
    outcomes: IntArray
    says: BoolArray

    def guesses(self, observed: Any) -> tuple[BoolArray, BoolArray]:
        """For every output whether a guess is made, and which coin it is."""
        seen = self.reduce(observed)
        if not self.outcomes.size:
            return np.zeros(len(seen), bool), np.zeros(len(seen), bool)
        at = np.minimum(np.searchsorted(self.outcomes, seen), self.outcomes.size - 1)
        return self.outcomes[at] == seen, self.says[at]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A guessing, the bound that it promises, and how far that may be off."""

    guessing: Guessing
    worth: float
    spread: float = 0.0


def tossed(n_coins: int, randomness: Randomness) -> BoolArray:
    """Fair coins."""
    words = randomness.words(-(-n_coins // 64))
    return np.unpackbits(words.view(np.uint8), count=n_coins).astype(bool)


def play_game(
    name: str,
    contests: Sequence[Contest],
    *,
    epsilon: float,
    delta: float = 0.0,
    n_runs: int,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
    found: Sequence[str] = (),
    is_specific: bool = False,
) -> Audit:
    """Find the best guessing among contests and views, then test the claim of epsilon (and delta) with it.

    ``is_specific`` says that the views look for one fault only, so that a small bound is no sign of a weak test.
    """
    check_positive(epsilon=epsilon)
    check_share(confidence=confidence)
    check_share(open_ends=False, delta=delta)
    check_at_least(FEWEST_RUNS, n_runs=n_runs)
    played = _Played(SecureRandomness() if randomness is None else randomness, n_runs, 1 - confidence, progress)
    contest = _screened(contests, played)
    guessing = _aimed(contest, played)
    n_tested = n_runs - played.n_done
    n_guesses = n_correct = 0
    while played.n_done < n_runs:
        observed, coins = played.play(contest, min(contest.runs_at_once, n_runs - played.n_done))
        is_made, guess = guessing.guesses(observed)
        n_guesses += int(np.count_nonzero(is_made))
        n_correct += int(np.count_nonzero(is_made & (guess == coins)))
    if delta:
        n_wrong = n_guesses - n_correct
        bound = epsilon_of_events(n_correct, n_tested, n_wrong, n_tested, error=1 - confidence, delta=delta)
    else:
        bound = float(epsilon_of_guesses(n_correct, n_guesses, error=1 - confidence))
    how = (*found, f"{contest.name}, told apart by {guessing.view}")
    return Audit(name, epsilon, delta, bound, confidence, n_runs, n_guesses, n_correct, how, is_specific)


class _Played:
    """Runs of contests, counted."""

    def __init__(self, randomness: Randomness, n_runs: int, error: float, progress: Progress | None) -> None:
        self._randomness, self._progress = randomness, progress
        self.n_runs: Final = n_runs
        self.error: Final = error
        self.n_done = 0

    def play(self, contest: Contest, n_here: int) -> tuple[Any, BoolArray]:
        coins = tossed(n_here, self._randomness)
        observed = contest.play(coins)
        self.n_done += n_here
        if self._progress is not None:
            self._progress(self.n_done, self.n_runs)
        return observed, coins


def _screened(contests: Sequence[Contest], played: _Played) -> Contest:
    """The contest that promises most; those that come first where there are runs for some only."""
    share = max(int(_SCREENED * played.n_runs), min(_FEW_SCREENED, int(_MOST_LEARNED * played.n_runs)))
    some = contests[: max(1, share // _RUNS_TO_SCREEN)]
    if len(some) == 1:
        return some[0]
    n_each = share // len(some)
    best = [_best(contest, played, n_each // 2, n_each - n_each // 2) for contest in some]
    return max(best, key=_worth).guessing.contest


def _aimed(contest: Contest, played: _Played) -> Guessing:
    few = min(_FEW, int(_MOST_LEARNED * played.n_runs))
    n_learned, n_aimed = (max(few, int(share * played.n_runs)) for share in (_LEARNED, _AIMED))
    return _best(contest, played, n_learned, n_aimed).guessing


def _best(contest: Contest, played: _Played, n_learned: int, n_judged: int) -> _Candidate:
    """The best guessing of all views: learned on some runs, judged by others."""
    learned, judged = played.play(contest, n_learned), played.play(contest, n_judged)
    candidates = [_aim(contest, view, learned, judged, played.n_runs, played.error) for view in contest.views]
    best = max(candidates, key=_worth)
    # promises that may as well be the best: the surest of them
    least = best.worth - _slack(best.worth, best.spread)
    return min((one for one in candidates if one.worth >= least), key=lambda one: one.spread)


def promised(
    views: Sequence[View], learned: tuple[Any, BoolArray], judged: tuple[Any, BoolArray], *, n_runs: int, error: float
) -> float:
    """The bound that outputs and their coins promise in the best view, for a game of so many runs."""
    nothing = Contest("", lambda coins: coins, views)
    return max(_aim(nothing, view, learned, judged, n_runs, error).worth for view in views)


def _slack(worth: float, spread: float) -> float:
    """How much less may be promised by what is surer."""
    return min(spread, _MOST_SLACK * abs(worth)) if math.isfinite(worth) else 0.0


def _worth(candidate: _Candidate) -> float:
    return candidate.worth


def _aim(
    contest: Contest,
    view: View,
    learned: tuple[Any, BoolArray],
    judged: tuple[Any, BoolArray],
    n_runs: int,
    error: float,
) -> _Candidate:
    reduce = view.fit(*learned)
    outcomes, says = _ordered(reduce(learned[0]), learned[1])
    blank = Guessing(contest, view.name, reduce, outcomes[:0], says[:0])
    if not outcomes.size:
        return _Candidate(blank, -math.inf)
    seen = reduce(judged[0])
    by_number = np.argsort(outcomes)
    at = by_number[np.minimum(np.searchsorted(outcomes, seen, sorter=by_number), outcomes.size - 1)]
    known = outcomes[at] == seen
    right = np.bincount(at[known], (says[at] == judged[1])[known], minlength=outcomes.size)
    made = np.bincount(at[known], minlength=outcomes.size)
    cut, worth, spread = _cut(np.cumsum(right), np.cumsum(made), n_runs / len(seen), error)
    order = np.argsort(outcomes[:cut])
    return _Candidate(Guessing(contest, view.name, reduce, outcomes[order], says[order]), worth, spread)


def _ordered(seen: IntArray, coins: BoolArray) -> tuple[IntArray, BoolArray]:
    """Outcomes by how far they change the odds of the coin, less a standard error; those that may not are left out."""
    outcomes, number = np.unique(seen, return_inverse=True)
    heads = np.bincount(number[coins], minlength=outcomes.size) + 0.5
    tails = np.bincount(number[~coins], minlength=outcomes.size) + 0.5
    log_odds = np.log(heads / tails)
    strength = np.abs(log_odds) - np.sqrt(1 / heads + 1 / tails)
    order = np.argsort(-strength, kind="stable")
    order = order[(strength[order] > 0) & (outcomes[order] >= 0)]
    return outcomes[order].astype(np.int64), log_odds[order] > 0


def _cut(right: FloatArray, made: IntArray, scale: float, error: float) -> tuple[int, float, float]:
    """How many of the strongest outcomes to guess on, the bound this promises, and how far that may be off.

    What is judged by few guesses is drawn down by a standard error. Where several cuts promise the same within that,
    the one with most guesses is taken: its promise is the surest.
    """
    cuts = np.unique(np.searchsorted(made, np.linspace(0, made[-1], _MOST_CUTS), side="left"))
    cuts = cuts[made[cuts] > 0]
    if not cuts.size:
        return 0, -math.inf, 0.0
    right, n = right[cuts], made[cuts].astype(np.float64)
    share = (right + 0.5) / (n + 1)
    spread = 1 / np.sqrt((n + 1) * share * (1 - share))
    promise = np.log(share / (1 - share)) - (1 + NormalDist().inv_cdf(1 - error) / math.sqrt(max(scale, 1e-9))) * spread
    best = int(np.argmax(promise))
    least = promise[best] - _slack(float(promise[best]), float(spread[best]))
    chosen = int(np.flatnonzero(promise >= least)[-1])
    return int(cuts[chosen]) + 1, float(promise[best]), float(spread[chosen])
