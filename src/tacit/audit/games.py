r"""Distinguishing games: a secret coin picks one of two inputs, the output is looked at, the coin is guessed or not.

How to guess is learned on runs of its own, in three steps that never share a run:

1. **screen**: every contest (pair of inputs) is played a little, and the most promising is kept;
2. **aim**: outputs are reduced to outcomes by several views, outcomes are ordered by how far they change the odds of
   the coin, and it is decided how far down that order to guess: all outcomes of the largest likelihood ratio, no more;
3. **test**: the guessing is fixed, and the share of right guesses bounds epsilon (:mod:`tacit.audit.bounds`).

Whatever was tried in the first two steps, the test is one: its error rate needs no sharing.

Rules that turn outputs into evidence, learned on runs of their own and then fixed: guesses, or a score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.validation import check_at_least, check_share
from tacit.audit.bounds import TradeOff, epsilon_of_guesses, lower_limit
from tacit.audit.claims import Audit, Claim
from tacit.randomness import Randomness, SecureRandomness

Observed = tuple[Any, BoolArray]
"""Outputs and their coins."""

_MOST_CUTS: Final = 48
"""The most numbers of outcomes to guess on that are tried; half come as near, twice as many cost time only."""
_LUCK: Final = 0.05
"""The chance that any of the promises compared lies above the truth: the usual one in twenty. Twice or half moves
every promise by less than a quarter of a standard error."""
_SCORE_SHARES: Final = np.array([0.003, 0.01, 0.03, 0.07, *np.linspace(0.125, 0.875, 13), 0.93, 0.97, 0.99, 0.997])
"""The shares of all runs that score below each step: twice as many steps find no more, half lose a hundredth."""


class View(Protocol):
    """A way to look at outputs: reduces each to an outcome, a whole number."""

    @property
    def name(self) -> str: ...

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        """Learn from outputs and their coins; the result reduces any outputs. An outcome below 0 is not known."""


class Rule(Protocol):
    """A rule: what is counted in the runs of the test, and the bound that follows from the counts."""

    @property
    def view(self) -> str: ...

    def count(self, observed: Any, coins: BoolArray) -> IntArray:
        """Return the counts that these runs add."""

    def bound(self, counts: NDArray[Any], *, error: float) -> float:
        """Return the lower bound on the claimed value; it is above the truth with at most this error."""

    def guesses(self, counts: IntArray) -> tuple[int, int]:
        """Return how many guesses were made, and how many were right."""


@dataclass(frozen=True, slots=True, eq=False)
class Guessing:
    """Fixed guesses: the outcomes that change the odds by enough, and the coin that each speaks for."""

    view: str
    reduce: Callable[[Any], IntArray]
    outcomes: IntArray
    says: BoolArray
    price: int = 1

    def count(self, observed: Any, coins: BoolArray) -> IntArray:
        seen = self.reduce(observed)
        if not self.outcomes.size:
            return np.zeros(2, np.int64)
        at = np.minimum(np.searchsorted(self.outcomes, seen), self.outcomes.size - 1)
        is_made = self.outcomes[at] == seen
        return np.array([np.count_nonzero(is_made), np.count_nonzero(is_made & (self.says[at] == coins))])

    def bound(self, counts: NDArray[Any], *, error: float) -> float:
        return float(epsilon_of_guesses(counts[1], counts[0], error=error)) / self.price

    def guesses(self, counts: IntArray) -> tuple[int, int]:
        return int(counts[0]), int(counts[1])


@dataclass(frozen=True, slots=True, eq=False)
class Scoring:
    """Fixed scores: outcomes in steps by how far they were seen to change the odds of the coin."""

    view: str
    reduce: Callable[[Any], IntArray]
    outcomes: IntArray
    steps: IntArray
    middle: int
    claim: Claim
    price: int = 1

    def count(self, observed: Any, coins: BoolArray) -> IntArray:
        seen = self.reduce(observed)
        n_steps = _SCORE_SHARES.size + 1
        if not self.outcomes.size:
            scores = np.full(len(seen), self.middle)
        else:
            at = np.minimum(np.searchsorted(self.outcomes, seen), self.outcomes.size - 1)
            scores = np.where(self.outcomes[at] == seen, self.steps[at], self.middle)
        return np.array([np.bincount(scores[side], minlength=n_steps) for side in (~coins, coins)])

    def bound(self, counts: NDArray[Any], *, error: float) -> float:
        curve = TradeOff.of(counts, error=error)
        found = curve.rho() if self.claim.measure == "rho" else curve.epsilon(delta=self.claim.delta)
        return found / self.price

    def guesses(self, counts: IntArray) -> tuple[int, int]:
        """Return all runs and the right guesses among them: scores above the middle speak for the second input."""
        return int(counts.sum()), int(counts[0, : self.middle].sum() + counts[1, self.middle :].sum())


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule, and the bound that it promises."""

    rule: Rule
    worth: float


def best_rule(
    views: Sequence[View], learned: Observed, judged: Observed, *, claim: Claim, group: int, n_runs: int, error: float
) -> Candidate:
    """Return the rule of all views that promises most: learned on some runs, judged by others, for ``n_runs``."""
    aim = _guessing if claim.is_pure else _scoring
    candidates = [aim(view, learned, judged, claim, group, n_runs, error, _LUCK / len(views)) for view in views]
    return max(candidates, key=lambda one: one.worth)


def _scoring(
    view: View, learned: Observed, judged: Observed, claim: Claim, group: int, n_runs: int, error: float, luck: float
) -> Candidate:
    reduce = view.fit(*learned)
    outcomes, number = np.unique(reduce(learned[0]), return_inverse=True)
    heads, tails = (np.bincount(number[side], minlength=outcomes.size) for side in (learned[1], ~learned[1]))
    # a standard error nearer to even odds, so that what came once or twice is not put at an end
    odds = np.log((heads + 0.5) / (tails + 0.5))
    odds = np.sign(odds) * np.maximum(np.abs(odds) - np.sqrt(1 / (heads + 0.5) + 1 / (tails + 0.5)), 0)
    order = np.lexsort((outcomes, odds))
    total = (heads + tails)[order].cumsum()
    steps = np.empty(outcomes.size, np.int64)
    steps[order] = np.searchsorted(_SCORE_SHARES, (total - (heads + tails)[order] / 2) / max(1, total[-1]))
    even = np.flatnonzero(odds[order] > 0)
    middle = int(steps[order][even[0]]) if even.size else _SCORE_SHARES.size
    kept = outcomes >= 0
    rule = Scoring(view.name, reduce, outcomes[kept].astype(np.int64), steps[kept], middle, claim, claim.price(group))
    counts = rule.count(*judged)
    return Candidate(rule, rule.bound(counts, error=error) if counts.any(axis=1).all() else -math.inf)


def _guessing(
    view: View, learned: Observed, judged: Observed, claim: Claim, group: int, n_runs: int, error: float, luck: float
) -> Candidate:
    price = claim.price(group)
    reduce = view.fit(*learned)
    outcomes, says = _ordered(reduce(learned[0]), learned[1])
    if not outcomes.size:
        return Candidate(Guessing(view.name, reduce, outcomes, says, price), -math.inf)
    seen = reduce(judged[0])
    by_number = np.argsort(outcomes)
    at = by_number[np.minimum(np.searchsorted(outcomes, seen, sorter=by_number), outcomes.size - 1)]
    known = outcomes[at] == seen
    right = np.bincount(at[known], (says[at] == judged[1])[known], minlength=outcomes.size)
    made = np.bincount(at[known], minlength=outcomes.size)
    cut, worth = _cut(np.cumsum(right), np.cumsum(made), n_runs / len(seen), error, luck)
    order = np.argsort(outcomes[:cut])
    return Candidate(Guessing(view.name, reduce, outcomes[order], says[order], price), worth / price)


def _ordered(seen: IntArray, coins: BoolArray) -> tuple[IntArray, BoolArray]:
    """Return outcomes by how far they change the coin's odds, less a standard error; without those that may not."""
    outcomes, number = np.unique(seen, return_inverse=True)
    heads = np.bincount(number[coins], minlength=outcomes.size) + 0.5
    tails = np.bincount(number[~coins], minlength=outcomes.size) + 0.5
    log_odds = np.log(heads / tails)
    strength = np.abs(log_odds) - np.sqrt(1 / heads + 1 / tails)
    order = np.argsort(-strength, kind="stable")
    order = order[(strength[order] > 0) & (outcomes[order] >= 0)]
    return outcomes[order].astype(np.int64), log_odds[order] > 0


def _cut(right: FloatArray, made: IntArray, scale: float, error: float, luck: float) -> tuple[int, float]:
    """Return how many of the strongest outcomes to guess on, and the bound this promises.

    A promise is the bound of a test whose share of right guesses is the lower limit of the share that was judged. The
    limits of all cuts hold together but for ``luck``, so that few guesses are not chosen for having been lucky.
    """
    cuts = np.unique(np.searchsorted(made, np.linspace(0, made[-1], _MOST_CUTS), side="left"))
    cuts = cuts[made[cuts] > 0]
    if not cuts.size:
        return 0, -math.inf
    n = made[cuts].astype(np.float64)
    surely = lower_limit(right[cuts], n, error=luck / cuts.size)
    limit = lower_limit(surely * n * scale, n * scale, error=error)
    promise = np.log(np.maximum(limit, 1e-9)) - np.log1p(-limit)  # 1e-9 stands for no right guess at all
    best = int(np.argmax(promise))
    return int(cuts[best]) + 1, float(promise[best])


__all__ = ["BoolArray", "Contest", "FloatArray", "IntArray", "Progress", "View", "play_game", "tossed"]

Progress = Callable[[int, int | None], None]

FEWEST_RUNS: Final = 200  # fewer leave a tenth of them, to aim by, with less than 20
# Choices: what is spent on choosing is lost for the test. Half or twice of any of these moves the bounds of right
# subset selection and randomized response (17 cells, epsilon 1, 100,000 reports) by 0.012 at most, two standard errors.
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
    """Return fair coins."""
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
    """Return the contest that promises most; those that come first where there are runs for some only."""
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
