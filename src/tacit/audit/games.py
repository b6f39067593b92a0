r"""Distinguishing games: a secret coin picks one of two inputs, the output is looked at, the coin is guessed or not.

How to guess is learned on runs of its own, in three steps that never share a run:

1. **screen**: every contest (pair of inputs) is played a little, and the most promising is kept;
2. **aim**: outputs are reduced to outcomes by several views, outcomes are ordered by how far they change the odds of
   the coin, and it is decided how far down that order to guess: all outcomes of the largest likelihood ratio, no more;
3. **test**: the guessing is fixed, and the share of right guesses bounds epsilon (:mod:`tacit.audit.bounds`).

Whatever was tried in the first two steps, the test is one: its error rate needs no sharing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.validation import check_at_least, check_share
from tacit.audit.claims import Audit, Claim
from tacit.audit.rules import Candidate, Observed, Rule, View, best_rule
from tacit.randomness import Randomness, SecureRandomness

__all__ = ["BoolArray", "Contest", "FloatArray", "IntArray", "Progress", "View", "play_game", "tossed"]

Progress = Callable[[int, int | None], None]

FEWEST_RUNS: Final = 200
_SCREENED: Final = 0.10  # the share of runs by which the likeliest contests are chosen
_LEARNED: Final = 0.05  # the share of runs that views are fitted on
_AIMED: Final = 0.10  # the share of runs that the rule is chosen by
_FEW: Final = 3_000  # runs that are enough for either
_MOST_LEARNED: Final = 0.20  # and for each no more than a fifth: the rest is for the test
_RUNS_TO_SCREEN: Final = 40  # a contest
_FEW_SCREENED: Final = 300  # runs that are enough to choose contests


@dataclass(frozen=True)
class Contest:
    """Two inputs that must not be told apart: ``play`` runs the mechanism once for each coin, on the second if True.

    The inputs differ by a ``group`` of so many units, which may cost as many times an epsilon, or its square times a
    rho. In the test it is asked for ``runs_at_once`` at most, so that outputs fit into memory.
    """

    name: str
    play: Callable[[BoolArray], Any]
    views: Sequence[View]
    runs_at_once: int = 1 << 18
    group: int = 1


def tossed(n_coins: int, randomness: Randomness) -> BoolArray:
    """Fair coins."""
    words = randomness.words(-(-n_coins // 64))
    return np.unpackbits(words.view(np.uint8), count=n_coins).astype(bool)


def play_game(
    name: str,
    contests: Sequence[Contest],
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    n_runs: int,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
    found: Sequence[str] = (),
    is_specific: bool = False,
) -> Audit:
    """Find the best rule among contests and views, then test the claim with it: an epsilon (and delta), or a rho.

    ``is_specific`` says that the views look for one fault only, so that a small bound is no sign of a weak test.

    Formal guarantee: where the claim is true, the bound exceeds it with probability 1 - ``confidence`` at most. For a
    pure epsilon that needs nothing but secret coins: outputs may depend on each other (Steinke2023). For a delta or a
    rho the runs of the test must be independent of each other (:class:`~tacit.audit.bounds.TradeOff`).
    """
    claim = Claim.of(epsilon=epsilon, delta=delta, rho=rho)
    check_share(confidence=confidence)
    check_at_least(FEWEST_RUNS, n_runs=n_runs)
    played = _Played(SecureRandomness() if randomness is None else randomness, n_runs, claim, 1 - confidence, progress)
    contest = _screened(contests, played)
    rule = _aimed(contest, played)
    counted = []
    while played.n_done < n_runs:
        counted.append(rule.count(*played.play(contest, min(contest.runs_at_once, n_runs - played.n_done))))
    counts: IntArray = np.sum(counted, axis=0)
    bound = rule.bound(counts, error=1 - confidence)
    how = (*found, f"{contest.name}, told apart by {rule.view}")
    return Audit(
        name, claim.value, delta, bound, confidence, n_runs, *rule.guesses(counts), how, is_specific, claim.measure
    )


class _Played:
    """Runs of contests, counted."""

    def __init__(
        self, randomness: Randomness, n_runs: int, claim: Claim, error: float, progress: Progress | None
    ) -> None:
        self._randomness, self._progress = randomness, progress
        self.n_runs: Final = n_runs
        self.claim: Final = claim
        self.error: Final = error
        self.n_done = 0

    def play(self, contest: Contest, n_here: int) -> Observed:
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
    worths = [_best(contest, played, n_each // 2, n_each - n_each // 2).worth for contest in some]
    return some[int(np.argmax(worths))]


def _aimed(contest: Contest, played: _Played) -> Rule:
    few = min(_FEW, int(_MOST_LEARNED * played.n_runs))
    n_learned, n_aimed = (max(few, int(share * played.n_runs)) for share in (_LEARNED, _AIMED))
    return _best(contest, played, n_learned, n_aimed).rule


def _best(contest: Contest, played: _Played, n_learned: int, n_judged: int) -> Candidate:
    return best_rule(
        contest.views,
        played.play(contest, n_learned),
        played.play(contest, n_judged),
        claim=played.claim,
        group=contest.group,
        n_runs=played.n_runs,
        error=played.error,
    )
