"""Many reports of one device that remembers its permanent answer: together they must tell no more than that answer."""

from __future__ import annotations

import numpy as np

from tacit._validate import check_at_least
from tacit.audit.games import BoolArray, Contest, IntArray, Progress, play_game
from tacit.audit.pairs import pairs_of
from tacit.audit.supports import n_set, telling_bits
from tacit.audit.verdicts import Audit
from tacit.audit.views import Wholes
from tacit.local.memo import FleetMemo
from tacit.local.memoized import LongitudinalRappor
from tacit.randomness import Randomness, SecureRandomness


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
