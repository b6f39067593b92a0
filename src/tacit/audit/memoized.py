"""Many reports of one device that remembers its permanent answers: together they must tell no more than those."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._validate import check_at_least
from tacit.audit.games import BoolArray, Contest, IntArray, Progress, play_game
from tacit.audit.pairs import pairs_of
from tacit.audit.supports import n_set, telling_bits
from tacit.audit.verdicts import Audit
from tacit.audit.views import Wholes, by_quantiles
from tacit.local.memo import DeviceMemo, FleetMemo
from tacit.local.memoized import LongitudinalRappor
from tacit.randomness import Randomness, SecureRandomness

Device = Callable[[int], NDArray[np.uint8]]
"""One device: takes the cell it holds now, gives a report."""

DEFAULT_DEVICES: Final = 4_000
_MOST_BITS: Final = 4
_MOST_CODED: Final = 60
"""Bits that fit a whole number of 64 with room for its sign."""


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

    return play_game(
        "repeated reports",
        [contest(first, second) for first, second in pairs_of(rappor.n_cells)[:2]],
        epsilon=rappor.epsilon_infinity,
        n_runs=n_devices,
        confidence=confidence,
        randomness=source,
        progress=progress,
    )


def audit_memo(
    rappor: LongitudinalRappor,
    *,
    device: Callable[[], Device] | None = None,
    n_devices: int = DEFAULT_DEVICES,
    times: int = 8,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound from below what a device's memo lets its reports tell of one of its values, against epsilon_infinity.

    ``device`` makes a new device; without it devices are :class:`~tacit.local.memo.DeviceMemo`. Each reports ``times``
    times a secret value, then as often one that is known, then the secret one again. With permanent bits of its own for
    every value and device, drawn once, all reports together cost epsilon_infinity for replacing the secret one. Bits
    drawn again, forgotten while another value is held, or shared by values or by devices cost more.
    """
    check_at_least(1, times=times)
    source = SecureRandomness() if randomness is None else randomness

    def remembering() -> Device:
        memo = DeviceMemo(rappor)
        return lambda cell: memo.report(cell, randomness=source)

    make = remembering if device is None else device

    def contest(first: int, second: int) -> Contest:
        own, others = telling_bits(rappor, first, second)
        known = next((cell for cell in range(rappor.n_cells) if cell not in (first, second)), None)

        def play(coins: BoolArray) -> IntArray:
            rows = []
            for coin in coins.tolist():
                report = make()
                secret = second if coin else first
                held = [secret, *([] if known is None else [known]), secret]
                rows.append([_set_counts([report(cell) for _ in range(times)]) for cell in held])
            return np.array(rows, np.int64)

        return Contest(
            f"values {first} and {second}, {times} reports before and after another value",
            play,
            [_TellingBits((*own, *others), times), _AllBits(times), _OftenSet(tuple(own), tuple(others))],
        )

    return play_game(
        "remembered answers",
        [contest(first, second) for first, second in pairs_of(rappor.n_cells)[:1]],
        epsilon=rappor.epsilon_infinity,
        n_runs=n_devices,
        confidence=confidence,
        randomness=source,
        progress=progress,
        is_specific=True,
    )


def _set_counts(reports: list[NDArray[np.uint8]]) -> IntArray:
    """How often each bit was set."""
    bits = np.unpackbits(np.array(reports, np.uint8), axis=1, bitorder="little")
    return np.asarray(bits.sum(axis=0), np.int64)


@dataclass(frozen=True, slots=True)
class _TellingBits:
    """Whether the bits that tell two cells apart were set in most reports, in all stretches of them."""

    bits: tuple[int, ...]
    times: int
    name: str = "the bits of both values, before, between and after"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        some = list(self.bits)[:_MOST_BITS]
        return lambda seen: _packed(2 * np.asarray(seen)[:, :, some] > self.times)


@dataclass(frozen=True, slots=True)
class _AllBits:
    """Whether each bit was set in most of the first reports: the permanent bits, nearly."""

    times: int
    name: str = "all bits of the first reports"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        return lambda seen: _packed(2 * np.asarray(seen)[:, 0, :_MOST_CODED] > self.times)


@dataclass(frozen=True, slots=True)
class _OftenSet:
    """How often the bits of the one value were set and those of the other not, before and after."""

    own: tuple[int, ...]
    others: tuple[int, ...]
    name: str = "how often the bits of both values were set"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        def often(seen: Any) -> NDArray[np.float64]:
            counts = np.asarray(seen)[:, [0, -1]].sum(axis=1)
            difference = counts[:, list(self.own)].sum(axis=1) - counts[:, list(self.others)].sum(axis=1)
            return np.asarray(difference, np.float64)

        return by_quantiles(often, observed)


def _packed(bits: NDArray[np.bool_]) -> IntArray:
    """Rows of up to 62 bits as whole numbers."""
    rows = bits.reshape(len(bits), -1)
    return np.asarray(rows @ (np.int64(1) << np.arange(rows.shape[1], dtype=np.int64)), np.int64)
