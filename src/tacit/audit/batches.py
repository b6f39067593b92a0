"""Coins that the events of one batch share: what the report of a known event says of the noise of another's.

Local epsilon is for replacing one value while all others are known. Each report alone may keep to it and two together
not: where a coin is tossed once for a whole batch, the report of an event whose value is known tells the coin, and with
it every other value. So events whose value is known stand beside those that are guessed, in calls of their own, and
both reports are looked at together. Under a pure epsilon right guesses are at most binomial, however reports depend on
each other (Steinke2023).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, IntArray
from tacit._base.validation import check_at_least
from tacit.audit.claims import Audit, Claim
from tacit.audit.games import FEWEST_RUNS, Contest, Progress, View, play_game, tossed
from tacit.audit.randomizers import Randomize, pairs_of, report_tables
from tacit.audit.rules import Observed, best_rule
from tacit.audit.supports import has_supports, outcomes
from tacit.audit.views import views_of
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.randomness import Randomness, SecureRandomness

Tables = Callable[[NDArray[Any]], NDArray[Any]]
"""Takes true values, gives a row for the report of each."""

DEFAULT_BATCH: Final = 64
"""Events of one call: as many as a word has bits, so that coins drawn in words meet."""
DEFAULT_REPORTS: Final = 40_000
_MOST_PAIRS: Final = 2
_SCREENED: Final = 0.20
"""Share of the reports by which the distance is chosen: with half of it one of ten audits missed a coin of two."""
_LAGS: Final = (1, 2, 3, 4, 8, 16, 32)
"""How far apart the two events stand: neighbours, and places that packing into bytes or words would bring together."""
_MOST_CODES: Final = 1 << 16


def audit_shared_coins(
    randomize: Randomize,
    *,
    epsilon: float,
    values: int | Sequence[Any],
    randomizer: LocalRandomizer | None = None,
    n_reports: int = DEFAULT_REPORTS,
    batch: int = DEFAULT_BATCH,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Find out whether reports of one call share their coins; ``randomizer`` says what our own reports support.

    A coin that is tossed once for each call is told by an event whose value is known:

    >>> from tacit.randomness import SeededRandomness
    >>> coins = SeededRandomness(1)
    >>> audit = audit_shared_coins(lambda bits: bits ^ (coins.words(1)[0] % 4 == 0), epsilon=1.1, values=2,
    ...                            n_reports=4_000, randomness=SeededRandomness(2))
    >>> str(audit.verdict)
    'refuted'
    """
    check_at_least(2, batch=batch)
    held = list(range(values)) if isinstance(values, int) else list(values)
    check_at_least(2, values=len(held))
    source = SecureRandomness() if randomness is None else randomness
    tables = report_tables(randomize)
    looks = _looks(randomizer, tables, np.resize(np.array(held), batch))
    pairs = pairs_of(len(held))[:_MOST_PAIRS]
    n_calls = max(1, int(_SCREENED * n_reports) // (len(pairs) * batch))
    mixed = [_mixed(tables, held[first], held[second], n_calls, batch, source) for first, second in pairs]
    n_spent = len(pairs) * n_calls * batch
    n_runs = max(FEWEST_RUNS, n_reports - n_spent)

    def worth(choice: tuple[int, int]) -> float:
        number, lag = choice
        learned, judged = _beside(*mixed[number], lag)
        claim, error = Claim.of(epsilon=epsilon), 1 - confidence
        views = looks(*pairs[number])
        return best_rule(views, learned, judged, claim=claim, group=1, n_runs=n_runs, error=error).worth

    lags = [lag for lag in _LAGS if 2 * lag <= batch]
    number, lag = max(product(range(len(pairs)), lags), key=worth)
    first, second = pairs[number]
    contest = Contest(
        f"values {held[first]} and {held[second]}, with a known event {lag} place{'s' * (lag > 1)} away",
        _player(tables, held[first], held[second], lag, batch),
        looks(first, second),
    )
    audit = play_game(
        "shared coins",
        [contest],
        epsilon=epsilon,
        n_runs=n_runs,
        confidence=confidence,
        randomness=source,
        progress=progress,
        is_specific=True,
    )
    return replace(audit, n_runs=n_spent + n_runs)


def _mixed(
    tables: Tables, first: Any, second: Any, n_calls: int, batch: int, randomness: Randomness
) -> tuple[NDArray[Any], BoolArray]:
    """Return the reports of calls in which every event holds one of two values by a coin, and the coins."""
    coins = tossed(n_calls * batch, randomness).reshape(n_calls, batch)
    values = np.where(coins, np.array(second), np.array(first))
    return np.stack([tables(call).reshape(batch, -1) for call in values]), coins


def _beside(reports: NDArray[Any], coins: BoolArray, lag: int) -> tuple[Observed, Observed]:
    """Return the reports of events beside one that holds the first value, this far away, with it: two halves.

    One call speaks of every distance, so that the few reports of the screening serve all of them.
    """
    is_known = ~coins[:, lag:] & _are_targets(coins.shape[1], lag)[:-lag]
    seen = np.column_stack([reports[:, :-lag][is_known], reports[:, lag:][is_known]])
    own = coins[:, :-lag][is_known]
    return (seen[::2], own[::2]), (seen[1::2], own[1::2])


def _looks(randomizer: LocalRandomizer | None, tables: Tables, some: NDArray[Any]) -> Callable[[int, int], list[View]]:
    if randomizer is not None and has_supports(randomizer):
        return lambda first, second: [_TwoSupports(randomizer, first, second)]
    seen = tables(some).reshape(some.size, -1)
    views = views_of(np.column_stack([seen, seen]))
    return lambda first, second: views


def _player(tables: Tables, first: Any, second: Any, lag: int, batch: int) -> Callable[[BoolArray], NDArray[Any]]:
    targets = np.flatnonzero(_are_targets(batch, lag))

    def play(coins: BoolArray) -> NDArray[Any]:
        rows = []
        for start in range(0, len(coins), targets.size):
            here = coins[start : start + targets.size]
            is_second = np.zeros(batch, bool)
            is_second[targets[: here.size]] = here
            reports = tables(np.where(is_second, np.array(second), np.array(first)))
            reports = reports.reshape(batch, -1)
            own = targets[: here.size]
            rows.append(np.column_stack([reports[own], reports[own + lag]]))
        return np.concatenate(rows)

    return play


def _are_targets(batch: int, lag: int) -> BoolArray:
    """Return which places hold a secret value: as many in a row as the known ones that follow them."""
    places = np.arange(batch)
    return np.asarray((places // lag % 2 == 0) & (places + lag < batch))


@dataclass(frozen=True, slots=True)
class _TwoSupports:
    """Which of two cells a report supports, and which the report of a known event beside it."""

    randomizer: LocalRandomizer
    first: int
    second: int
    name: str = "which of the two a report supports, and the report of a known event"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        def reduce(seen: Any) -> IntArray:
            table = np.asarray(seen, np.uint8)
            width = table.shape[1] // 2
            own, known = (
                outcomes(self.randomizer, np.ascontiguousarray(part), self.first, self.second)
                for part in (table[:, :width], table[:, width:])
            )
            return own * _MOST_CODES + known

        return reduce
