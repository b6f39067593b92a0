"""Many reports of one device that remembers its permanent answers: together they must tell no more than those."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, IntArray
from tacit._base.validation import check_at_least
from tacit.audit.claims import Audit
from tacit.audit.games import Contest, Progress, View, play_game
from tacit.audit.randomizers import pairs_of
from tacit.audit.supports import n_set, telling_bits
from tacit.audit.views import Discriminant, Wholes, by_quantiles
from tacit.mechanisms.local.memo import DeviceMemo, FleetMemo
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.randomness import Randomness, SecureRandomness
from tacit.randomness.bernoulli import COIN

Device = Callable[[int], NDArray[np.uint8]]
"""One device: takes the cell it holds now, gives a report."""

_MOST_REPORTS: Final = 150_000
"""Reports of all devices by default: 15 to 30 seconds of one core. The largest bound grows with its logarithm."""
_READABLE: Final = 10.0
"""Reports of a stretch, in variances of a report's bit over the squared gap of its means: a permanent bit is then read
wrongly once in 17 times. Half as many blur what memos share, twice as many leave too few devices."""
_FEWEST_TIMES: Final = 4
_MOST_TIMES: Final = 32
_N_STRETCHES: Final = 3
_MOST_BITS: Final = 4
"""Bits looked at in each stretch: more give outcomes that hardly ever come twice."""
_TINY: Final = 1e-12
"""Keeps logarithms finite where an instantaneous coin has but one side."""


def audit_repeated_reports(
    rappor: LongitudinalRappor,
    *,
    n_devices: int = 30_000,
    times: int = 30,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound from below what ``times`` reports of each device tell together, against epsilon_infinity.

    Looked at is how often the bits that tell two cells apart are set.
    """
    check_at_least(1, times=times)
    source = SecureRandomness() if randomness is None else randomness

    def contest(first: int, second: int) -> Contest:
        own, others = telling_bits(rappor, first, second)

        def play(coins: BoolArray) -> IntArray:
            fleet, devices = FleetMemo(rappor), np.arange(len(coins))
            cells = np.where(coins, second, first)
            n_first, n_second = np.zeros((2, len(coins)), np.int64)
            for _ in range(times):
                reports = fleet.randomize(devices, cells, randomness=source)
                n_first += n_set(reports, own)
                n_second += n_set(reports, others)
            return n_first * (times * rappor.hashes + 1) + n_second

        return Contest(f"values {first} and {second}, {times} reports a device", play, [Wholes("their supports")])

    contests = [contest(first, second) for first, second in pairs_of(rappor.n_cells)[:2]]
    game = partial(play_game, "repeated reports", contests, n_runs=n_devices)
    return game(epsilon=rappor.epsilon_infinity, confidence=confidence, randomness=source, progress=progress)


def readable_times(rappor: LongitudinalRappor) -> int:
    """Return how many reports say what a permanent bit is.

    >>> readable_times(LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17))
    22
    """
    one, zero = rappor.ones / COIN, rappor.zeros / COIN
    wanted = _READABLE * max(one * (1 - one), zero * (1 - zero)) / (one - zero) ** 2
    return math.ceil(min(max(wanted, _FEWEST_TIMES), _MOST_TIMES))


def audit_memo(
    rappor: LongitudinalRappor,
    *,
    device: Callable[[], Device] | None = None,
    n_devices: int | None = None,
    times: int | None = None,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound from below what a device's memo lets its reports tell of one of its values, against epsilon_infinity.

    ``device`` makes a new device; without it devices are :class:`~tacit.mechanisms.local.memo.DeviceMemo`. Each reports
    ``times`` times a secret value, then as often one that is known, then the secret one again. With permanent bits of
    its own for every value and device, drawn once, all reports together cost epsilon_infinity for replacing the secret
    one. Bits drawn again, forgotten while another value is held, or shared by values or by devices cost more. By
    default ``times`` is enough to read permanent bits, and there are as many devices as 150,000 reports allow.
    """
    times = readable_times(rappor) if times is None else times
    check_at_least(1, times=times)
    n_devices = _MOST_REPORTS // (_N_STRETCHES * times) if n_devices is None else n_devices
    source = SecureRandomness() if randomness is None else randomness

    def remembering() -> Device:
        memo = DeviceMemo(rappor)
        return lambda cell: memo.report(cell, randomness=source)

    make = remembering if device is None else device
    first, second = pairs_of(rappor.n_cells)[0]
    known = next((cell for cell in range(rappor.n_cells) if cell not in (first, second)), None)

    def play(coins: BoolArray) -> IntArray:
        rows = []
        for secret in np.where(coins, second, first).tolist():
            report = make()
            held = [secret, *([] if known is None else [known]), secret]
            rows.append([_set_counts([report(cell) for _ in range(times)]) for cell in held])
        return np.array(rows, np.int64)

    own, others = telling_bits(rappor, first, second)
    views: list[View] = [
        _TellingBits((*own, *others), times * (rappor.ones + rappor.zeros) / (2 * COIN)),
        _Likelihood(rappor, tuple(own), tuple(others), times),
        Discriminant("a weighted sum of how often each bit was set"),
    ]
    said = f"values {first} and {second}, {times} reports before and after another value"
    game = partial(play_game, "remembered answers", [Contest(said, play, views)], n_runs=n_devices, is_specific=True)
    return game(epsilon=rappor.epsilon_infinity, confidence=confidence, randomness=source, progress=progress)


def _set_counts(reports: list[NDArray[np.uint8]]) -> IntArray:
    """Return how often each bit was set."""
    bits = np.unpackbits(np.array(reports, np.uint8), axis=1, bitorder="little")
    return np.asarray(bits.sum(axis=0), np.int64)


@dataclass(frozen=True, slots=True)
class _TellingBits:
    """Whether the bits that tell two cells apart seem permanently set, in all stretches of reports."""

    bits: tuple[int, ...]
    middle: float
    name: str = "the bits of both values, before, between and after"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        some = list(self.bits)[:_MOST_BITS]

        def reduce(seen: Any) -> IntArray:
            rows = (np.asarray(seen)[:, :, some] > self.middle).reshape(len(seen), -1)
            return np.asarray(rows @ (np.int64(1) << np.arange(rows.shape[1], dtype=np.int64)), np.int64)

        return reduce


@dataclass(frozen=True, slots=True)
class _Likelihood:
    """How much likelier the reports are for the one value than for the other, if bits were drawn again between them."""

    rappor: LongitudinalRappor
    own: tuple[int, ...]
    others: tuple[int, ...]
    times: int
    name: str = "the likelihood of the reports before and after"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        odds = self._log_odds()

        def likelihood(seen: Any) -> NDArray[np.float64]:
            both = odds[np.asarray(seen)[:, [0, -1]]].sum(axis=1)
            return np.asarray(both[:, list(self.own)].sum(axis=1) - both[:, list(self.others)].sum(axis=1), np.float64)

        return by_quantiles(likelihood, observed)

    def _log_odds(self) -> NDArray[np.float64]:
        """Return the log odds that a bit is truly set, by how often it was set in one stretch."""
        coins = (self.rappor.permanent, self.rappor.ones, self.rappor.zeros)
        flip, one, zero = np.clip(np.array(coins, np.float64) / COIN, _TINY, 1 - _TINY)
        n_set = np.arange(self.times + 1)
        if_one, if_zero = (n_set * np.log(q) + (self.times - n_set) * np.log1p(-q) for q in (one, zero))
        kept, flipped = np.log1p(-flip), np.log(flip)
        return np.asarray(
            np.logaddexp(kept + if_one, flipped + if_zero) - np.logaddexp(flipped + if_one, kept + if_zero), np.float64
        )
