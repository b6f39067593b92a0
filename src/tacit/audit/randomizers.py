"""Audits of what devices run: a randomizer of ours or a plug-in, any function, any command, or reports in files.

Some pairs of values give away more than others, and nobody says which: the likely ones are looked for first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray
from tacit._base.validation import check_at_least, check_share
from tacit.audit.claims import Audit, Claim
from tacit.audit.games import FEWEST_RUNS, Contest, Progress, View, best_rule, play_game
from tacit.audit.plug_ins import ReportTables
from tacit.audit.views import Fields, Supports, Wholes, has_supports, views_of
from tacit.errors import DataError, Remedy, SettingError
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.randomness import Randomness, SecureRandomness

# Choices: more pairs find more faults of single values, and what is spent on choosing is lost for the test. Half or
# twice of the pairs, the share, the runs or the kept pairs moves the bounds of right subset selection and randomized
# response (17 cells, epsilon 1, 100,000 reports) by less than 0.01.
MOST_PAIRS: Final = 24  # that are screened
_MOST_VALUES: Final = 24  # that are run on their own: 276 pairs
_SHARE: Final = 0.06  # of all runs that is spent on choosing pairs
_MOST_EACH: Final = 2_000  # runs of a value
_FEWEST_EACH: Final = 40  # runs of a value, below which nothing is chosen
_KEPT: Final = 8  # of the best pairs


def pairs_of(n_values: int) -> list[tuple[int, int]]:
    """Return pairs of values to tell apart: the farthest first, then neighbours, so that every value has its turn.

    >>> pairs_of(4)
    [(0, 3), (0, 1), (1, 2), (2, 3)]
    >>> len(pairs_of(1000))
    24
    """
    firsts = np.unique(np.linspace(0, n_values - 2, min(n_values - 1, MOST_PAIRS - 1)).astype(int)).tolist()
    pairs = [(0, n_values - 1), *((first, first + 1) for first in firsts)]
    return list(dict.fromkeys(pairs))


def likely_pairs(
    n_values: int,
    reports_of: Callable[[NDArray[np.int64]], NDArray[Any]],
    views: Sequence[View],
    *,
    claim: Claim,
    n_runs: int,
    confidence: float,
) -> tuple[list[tuple[int, int]], int]:
    """Return the pairs that promise most of all there are among up to 24 values, and how many runs were spent on that.

    Every value is run on its own, so that 17 values tell of 136 pairs: two values may be far from each other while
    neither is far from a third. ``reports_of`` takes numbers of values.
    """
    every = list(combinations(range(n_values), 2))
    if len(every) <= MOST_PAIRS:
        return [*pairs_of(n_values), *(pair for pair in every if pair not in pairs_of(n_values))], 0
    some = np.unique(np.linspace(0, n_values - 1, min(n_values, _MOST_VALUES)).astype(np.int64))
    n_each = min(_MOST_EACH, int(_SHARE * n_runs) // some.size) // 2 * 2
    if n_each < _FEWEST_EACH:
        return pairs_of(n_values), 0
    reports = reports_of(np.repeat(some, n_each)).reshape(some.size, n_each, -1)
    coins = np.repeat([False, True], n_each // 2)

    def worth(one: int, other: int) -> float:
        learned, judged = (np.concatenate([reports[one, half::2], reports[other, half::2]]) for half in (0, 1))
        best = best_rule(
            views, (learned, coins), (judged, coins), claim=claim, group=1, n_runs=n_runs, error=1 - confidence
        )
        return best.worth

    order = sorted(combinations(range(some.size), 2), key=lambda pair: -worth(*pair))
    best = [(int(some[one]), int(some[other])) for one, other in order[:_KEPT]]
    others = [] if some.size == n_values else pairs_of(n_values)  # values that had no turn
    return list(dict.fromkeys([*best, *others]))[:MOST_PAIRS], some.size * n_each


Randomize = Callable[[NDArray[Any]], Any]
"""Takes true values, gives as many reports: an array with a row for each, or a list of words."""

DEFAULT_REPORTS: Final = 1_000_000  # four times as many halve the distance of a bound
_TRIED: Final = 64  # reports by which it is seen what a report looks like
_MOST_TRIED: Final = 1_024  # of these, where there are as many values
_SHORT_BYTES: Final = 2


def audit_mechanism(
    randomizer: LocalRandomizer,
    *,
    epsilon: float | None = None,
    n_reports: int = DEFAULT_REPORTS,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound the epsilon of a local randomizer from below, by what its reports support.

    >>> from tacit.mechanisms.local.unary import UnaryEncoding
    >>> from tacit.randomness import SeededRandomness
    >>> sue = UnaryEncoding.symmetric(epsilon=2.2, n_cells=17)
    >>> audit = audit_mechanism(sue, n_reports=200_000, randomness=SeededRandomness(1))
    >>> str(audit.verdict), 2.1 < audit.lower_bound <= 2.2
    ('not refuted', True)
    """
    source = SecureRandomness() if randomness is None else randomness
    return audit_reports_of(
        randomizer,
        lambda cells: randomizer.randomize(cells, randomness=source),
        epsilon=epsilon,
        n_reports=n_reports,
        confidence=confidence,
        randomness=source,
        progress=progress,
    )


def audit_reports_of(
    randomizer: LocalRandomizer,
    randomize: Randomize,
    *,
    epsilon: float | None = None,
    n_reports: int = DEFAULT_REPORTS,
    confidence: float = 0.99,
    pairs: Sequence[tuple[int, int]] | None = None,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Audit reports in the form of a ``randomizer``, whoever makes them: another client, a command."""

    def views(first: int, second: int) -> list[View]:
        looks: list[View] = [Fields(2)]
        if has_supports(randomizer):
            looks.insert(0, Supports(randomizer, first, second))
        return [*looks, Wholes()] if randomizer.report_bytes <= _SHORT_BYTES else looks

    contests = [
        Contest(f"values {first} and {second}", _player(randomize, first, second), views(first, second))
        for first, second in pairs or pairs_of(randomizer.n_cells)
    ]
    return play_game(
        "local randomizer",
        contests,
        epsilon=randomizer.epsilon if epsilon is None else epsilon,
        n_runs=n_reports,
        confidence=confidence,
        randomness=randomness,
        progress=progress,
    )


def audit_randomizer(
    randomize: Randomize,
    *,
    epsilon: float,
    values: int | Sequence[Any],
    delta: float = 0.0,
    n_reports: int = DEFAULT_REPORTS,
    confidence: float = 0.99,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    views: Sequence[View] | None = None,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound the epsilon of any randomizer from below. Nothing is known of its reports but that they can be compared.

    ``values`` are those a device may hold: a number k for 0 .. k - 1, or a list. Reports are looked at as wholes and by
    their fields; ``views`` of your own look at them otherwise, ``pairs`` says which values to tell apart.

    A bit that is sent as it is gives itself away:

    >>> from tacit.randomness import SeededRandomness
    >>> audit = audit_randomizer(lambda bits: bits, epsilon=1.0, values=2, n_reports=2_000,
    ...                          randomness=SeededRandomness(1))
    >>> str(audit.verdict), audit.n_correct == audit.n_guesses
    ('refuted', True)
    """
    held = list(range(values)) if isinstance(values, int) else list(values)
    check_at_least(2, values=len(held))
    tables = report_tables(randomize)
    # every value has its turn here already, so that what fails for one of them fails at once
    looks = views or views_of(tables(np.resize(np.array(held), max(_TRIED, min(len(held), _MOST_TRIED)))))
    n_spent, claim = 0, Claim.of(epsilon=epsilon, delta=delta)
    if pairs is None:
        check_at_least(FEWEST_RUNS, n_runs=n_reports)
        check_share(confidence=confidence)
        picked = np.array(held)
        chosen, n_spent = likely_pairs(
            len(held),
            lambda numbers: tables(picked[numbers]),
            looks,
            claim=claim,
            n_runs=n_reports,
            confidence=confidence,
        )
        pairs = [(held[first], held[second]) for first, second in chosen]
    contests = [
        Contest(f"values {first} and {second}", _player(tables, first, second), looks) for first, second in pairs
    ]
    audit = play_game(
        "local randomizer",
        contests,
        epsilon=epsilon,
        delta=delta,
        n_runs=n_reports - n_spent,
        confidence=confidence,
        randomness=randomness,
        progress=progress,
    )
    return replace(audit, n_runs=n_reports)


def audit_repeating_noise(
    randomize: Randomize,
    *,
    epsilon: float,
    values: int | Sequence[Any],
    delta: float = 0.0,
    n_reports: int = 3_000,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
) -> Audit:
    """Find out whether the noise is the same in every run, as with a seed that was left in the code.

    Whoever runs the same code on values of their own then knows it: a report is compared with what the same place in
    the list would have been for either value.
    """
    held = list(range(values)) if isinstance(values, int) else list(values)
    check_at_least(2, values=len(held))
    first, second = held[0], held[-1]
    tables = report_tables(randomize)

    def play(coins: BoolArray) -> NDArray[np.int64]:
        three = [tables(_picked(first, second, bits)) for bits in (coins, coins & False, coins | True)]
        is_first, is_second = (_are_same(three[0], own) for own in three[1:])
        both: NDArray[np.int64] = 2 * is_first.astype(np.int64) + is_second
        return both

    contest = Contest(f"values {first} and {second}", play, [Wholes("what the same run gives for either value")])
    return play_game(
        "repeating noise",
        [contest],
        epsilon=epsilon,
        delta=delta,
        n_runs=n_reports,
        confidence=confidence,
        randomness=randomness,
        is_specific=True,
    )


def from_files(reports: Mapping[int, NDArray[np.uint8]], *, randomness: Randomness | None = None) -> Randomize:
    """Return reports that were made of known values, given out one by one in random order and none twice.

    The keys are the true values. Order tells nothing then, as in a report file, which is sorted.
    """
    source = SecureRandomness() if randomness is None else randomness
    shuffled = {value: rows[_permutation(len(rows), source)] for value, rows in reports.items()}
    n_given = dict.fromkeys(shuffled, 0)

    def randomize(values: NDArray[Any]) -> NDArray[np.uint8]:
        some = next(iter(shuffled.values()))
        out = np.empty((len(values), some.shape[1]), np.uint8)
        for value in np.unique(values).tolist():
            at = np.flatnonzero(values == value)
            start = n_given[value]
            if start + len(at) > len(shuffled[value]):
                raise DataError(
                    f"an audit needs more reports of value {value} than the {len(shuffled[value])} there are.",
                    remedy=Remedy.AUDIT_FEWER,
                )
            out[at] = shuffled[value][start : start + len(at)]
            n_given[value] = start + len(at)
        return out

    return randomize


def _player(randomize: Randomize, first: Any, second: Any) -> Callable[[BoolArray], Any]:
    def play(coins: BoolArray) -> Any:
        return _checked(randomize(_picked(first, second, coins)), len(coins))

    return play


def _picked(first: Any, second: Any, coins: BoolArray) -> NDArray[Any]:
    return np.where(coins, np.array(second), np.array(first))


def _checked(reports: NDArray[Any], n_values: int) -> NDArray[Any]:
    n_rows = len(reports) if reports.ndim else 1
    if n_rows != n_values or not reports.ndim:
        raise SettingError(f"the randomizer must give a report for each of {n_values} values; it gave {n_rows}.")
    return reports


def report_tables(randomize: Randomize) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return the same function, with reports as tables of one form."""
    tables = ReportTables()
    return lambda values: _checked(tables.of(randomize(values)), len(values))


def _are_same(ones: NDArray[Any], others: NDArray[Any]) -> BoolArray:
    """Return whether each row is the same in both; what is no number is the same as itself."""
    equal = (ones == others) | ((ones != ones) & (others != others))
    return np.asarray(equal.reshape(len(ones), -1).all(axis=1))


def _permutation(count: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return a random order: by random words, whose ties are too rare to matter and broken by position."""
    return np.argsort(randomness.words(count), kind="stable").astype(np.int64)
