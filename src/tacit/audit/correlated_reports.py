"""Many reports of one device that remembers its permanent answers: together they must tell no more than those.

Coins that the events of one batch share: what the report of a known event says of the noise of another's.

Local epsilon is for replacing one value while all others are known. Each report alone may keep to it and two together
not: where a coin is tossed once for a whole batch, the report of an event whose value is known tells the coin, and with
it every other value. So events whose value is known stand beside those that are guessed, in calls of their own, and
both reports are looked at together. Under a pure epsilon right guesses are at most binomial, however reports depend on
each other (Steinke2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, IntArray
from tacit._base.validation import check_at_least
from tacit.audit.claims import Audit, Claim
from tacit.audit.games import FEWEST_RUNS, Contest, Observed, Progress, View, best_rule, play_game, tossed
from tacit.audit.randomizers import Randomize, pairs_of, report_tables
from tacit.audit.views import (
    Discriminant,
    Wholes,
    by_quantiles,
    has_supports,
    outcomes,
    telling_bits,
    telling_counts,
    views_of,
)
from tacit.mechanisms.local.memo import DeviceMemo, FleetMemo, RepeatedRandomizer
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.randomness import Randomness, SecureRandomness

Fleet = Callable[[IntArray], NDArray[np.uint8]]
"""Some devices: takes the cells they hold now, gives a report of each."""

_MOST_REPORTS: Final = 150_000
"""Reports of all devices by default: 2 to 6 seconds of one core. The largest bound grows with its logarithm."""
_READABLE: Final = 10.0
"""Reports of a stretch, in variances of a report's bit over the squared gap of its means: a permanent bit is then read
wrongly once in 17 times. Half as many blur what memos share, twice as many leave too few devices."""
_FEWEST_TIMES: Final = 4  # reports of a device: fewer say little of its memo
_MOST_TIMES: Final = 32  # reports of a device: more cost time and add little
_N_STRETCHES: Final = 3  # of devices: to screen, to aim and to test
_MOST_BITS: Final = 4
"""Bits looked at in each stretch: more give outcomes that hardly ever come twice."""
_TINY: Final = 1e-12
"""Keeps logarithms finite where an instantaneous coin has but one side."""


def audit_repeated_reports(
    mechanism: RepeatedRandomizer,
    *,
    n_devices: int = 30_000,
    times: int = 30,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound from below what ``times`` reports of each device tell together, against epsilon_infinity.

    Looked at is how often two cells are supported: the bits that tell them apart are set, or their hash values named.
    """
    check_at_least(1, times=times)
    source = SecureRandomness() if randomness is None else randomness

    def contest(first: int, second: int) -> Contest:
        counts = telling_counts(mechanism, first, second)
        most = mechanism.hashes if isinstance(mechanism, LongitudinalRappor) else 1

        def play(coins: BoolArray) -> IntArray:
            fleet, devices = FleetMemo(mechanism), np.arange(len(coins))
            cells = np.where(coins, second, first)
            told = np.zeros((len(coins), 2), np.int64)
            for _ in range(times):
                told += counts(fleet.randomize(devices, cells, randomness=source))
            return np.asarray(told[:, 0] * (times * most + 1) + told[:, 1], np.int64)

        return Contest(f"values {first} and {second}, {times} reports a device", play, [Wholes("their supports")])

    contests = [contest(first, second) for first, second in pairs_of(mechanism.n_cells)[:2]]
    game = partial(play_game, "repeated reports", contests, n_runs=n_devices)
    return game(epsilon=mechanism.epsilon_infinity, confidence=confidence, randomness=source, progress=progress)


def readable_times(mechanism: RepeatedRandomizer) -> int:
    """Return how many reports say what a permanent bit or hash value is.

    >>> from tacit.mechanisms.local.memoized import LongitudinalRappor
    >>> readable_times(LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17))
    22
    """
    one, zero = map(float, mechanism.loss.instantaneous)
    wanted = _READABLE * max(one * (1 - one), zero * (1 - zero)) / (one - zero) ** 2
    return math.ceil(min(max(wanted, _FEWEST_TIMES), _MOST_TIMES))


def audit_memo(
    mechanism: RepeatedRandomizer,
    *,
    devices: Callable[[int], Fleet] | None = None,
    n_devices: int | None = None,
    times: int | None = None,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound from below what a device's memo lets its reports tell of one of its values, against epsilon_infinity.

    ``devices`` makes so many new devices; without it each is a :class:`~tacit.mechanisms.local.memo.DeviceMemo`. Each
    reports ``times`` times a secret value, then as often one that is known, then the secret one again. With permanent
    rows of its own for every slot and device, drawn once, all reports together cost epsilon_infinity for replacing the
    secret one. Rows drawn again, forgotten while another value is held, or shared by values or by devices cost more,
    and so do hash functions that are drawn again. Devices on which the known value hashes to that of a secret one are
    not looked at: the bound is not for them. By default ``times`` is enough to read permanent rows, and there are as
    many devices as 150,000 reports allow.
    """
    times = readable_times(mechanism) if times is None else times
    check_at_least(1, times=times)
    n_devices = _MOST_REPORTS // (_N_STRETCHES * times) if n_devices is None else n_devices
    source = SecureRandomness() if randomness is None else randomness

    def remembering(count: int) -> Fleet:
        memos = [DeviceMemo(mechanism) for _ in range(count)]
        return lambda cells: DeviceMemo.reports_of(memos, cells.tolist(), randomness=source)

    make = remembering if devices is None else devices
    first, second = pairs_of(mechanism.n_cells)[0]
    others = (cell for cell in range(mechanism.n_cells) if cell not in (first, second))
    known = next(others, None) if mechanism.n_slots > 2 else None
    counts, telling = _looked_at(mechanism, first, second)

    def play(coins: BoolArray) -> IntArray:
        fleet, secret = make(len(coins)), np.where(coins, second, first)
        between = [] if known is None else [np.full_like(secret, known)]
        stretches = [[fleet(held) for _ in range(times)] for held in (secret, *between, secret)]
        told = np.stack([np.sum([counts(reports) for reports in stretch], axis=0) for stretch in stretches], axis=1)
        if known is not None:
            told[~_are_apart(mechanism, stretches[0][0], (first, second, known))] = 0
        return np.asarray(told, np.int64)

    views: list[View] = [
        _Telling(telling, times * float(sum(mechanism.loss.instantaneous)) / 2),
        _Likelihood(mechanism, telling, times),
        Discriminant("a weighted sum of how often each bit was set, or each hash value named"),
    ]
    said = f"values {first} and {second}, {times} reports before and after another value"
    game = partial(play_game, "remembered answers", [Contest(said, play, views)], n_runs=n_devices, is_specific=True)
    return game(epsilon=mechanism.epsilon_infinity, confidence=confidence, randomness=source, progress=progress)


Columns = tuple[tuple[int, ...], tuple[int, ...]]
"""The columns of a stretch that tell of the one value, and those that tell of the other."""


def _looked_at(
    mechanism: RepeatedRandomizer, first: int, second: int
) -> tuple[Callable[[NDArray[np.uint8]], IntArray], Columns]:
    """Return what is counted in every report: which bits are set, or how much it supports each of the two cells."""
    if isinstance(mechanism, LongitudinalRappor):
        own, others = telling_bits(mechanism, first, second)
        return _bits, (tuple(own), tuple(others))
    return telling_counts(mechanism, first, second), ((0,), (1,))


def _are_apart(mechanism: RepeatedRandomizer, reports: NDArray[np.uint8], cells: tuple[int, int, int]) -> BoolArray:
    """Return whether the known value has its own slot, beside either secret one, on the devices of these reports.

    Where it has not, it is no secret which of the two the device holds: its reports change or they do not. The bound
    is not for these, and they are not looked at.
    """
    numbers = [int.from_bytes(report.tobytes(), "little") % mechanism.n_functions for report in reports]
    functions = np.array(numbers, np.int64)
    first, second, known = (mechanism.slots(functions, np.full(functions.size, cell)) for cell in cells)
    return np.asarray((known != first) & (known != second))


def _bits(reports: NDArray[np.uint8]) -> IntArray:
    return np.unpackbits(reports, axis=1, bitorder="little").astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Telling:
    """Whether what tells two cells apart seems permanent, in all stretches of reports."""

    columns: Columns
    middle: float
    name: str = "what speaks of both values, before, between and after"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        some = [*self.columns[0], *self.columns[1]][:_MOST_BITS]

        def reduce(seen: Any) -> IntArray:
            rows = (np.asarray(seen)[:, :, some] > self.middle).reshape(len(seen), -1)
            return np.asarray(rows @ (np.int64(1) << np.arange(rows.shape[1], dtype=np.int64)), np.int64)

        return reduce


@dataclass(frozen=True, slots=True)
class _Likelihood:
    """A view: the likelihood ratio of the reports under the two values, if rows were drawn again between them."""

    mechanism: RepeatedRandomizer
    columns: Columns
    times: int
    name: str = "the likelihood of the reports before and after"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        odds = self._log_odds()

        def likelihood(seen: Any) -> NDArray[np.float64]:
            both = odds[np.asarray(seen)[:, [0, -1]]].sum(axis=1)
            own, others = (both[:, list(columns)].sum(axis=1) for columns in self.columns)
            return np.asarray(own - others, np.float64)

        return by_quantiles(likelihood, observed)

    def _log_odds(self) -> NDArray[np.float64]:
        """Return the log odds that a bit is truly set, or a hash value the true one, by how often it was so."""
        chances = (*self.mechanism.loss.permanent, *self.mechanism.loss.instantaneous)
        true, other, one, zero = np.clip(np.array(chances, np.float64), _TINY, 1 - _TINY)
        n_set = np.arange(self.times + 1)
        if_one, if_zero = (n_set * np.log(q) + (self.times - n_set) * np.log1p(-q) for q in (one, zero))

        def log_chance(permanent: float) -> NDArray[np.float64]:
            both = np.logaddexp(np.log(permanent) + if_one, np.log1p(-permanent) + if_zero)
            return np.asarray(both, np.float64)

        return np.asarray(log_chance(true) - log_chance(other), np.float64)


Tables = Callable[[NDArray[Any]], NDArray[Any]]
"""Takes true values, gives a row for the report of each."""

DEFAULT_BATCH: Final = 64
"""Events of one call: as many as a word has bits, so that coins drawn in words meet."""
DEFAULT_REPORTS: Final = 40_000  # four times as many halve the distance of a bound
_MOST_PAIRS: Final = 2
_SCREENED: Final = 0.20
"""Share of the reports by which the distance is chosen: with half of it one of ten audits missed a coin of two."""
_LAGS: Final = (1, 2, 3, 4, 8, 16, 32)
"""The distances between the two events: neighbours, and places that packing into bytes or words brings together."""
_MOST_CODES: Final = 1 << 16  # kinds of the known report beside each kind of the own one


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
    """A view: which of two cells a report supports, and which the report of a known event beside it supports."""

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
