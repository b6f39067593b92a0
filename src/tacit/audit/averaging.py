"""Asking again: noise that is drawn again at every question averages out, and so do one-time reports sent again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from tacit._base.arrays import FloatArray
from tacit._base.validation import check_at_least
from tacit.mechanisms.local.randomizer import FrequencyOracle
from tacit.randomness import Randomness
from tacit.randomness.integers import integers_below

_REPORTS_AT_ONCE: Final = 1 << 18


def averaged(ask: Callable[[], ArrayLike], times: int) -> FloatArray:
    """The mean of as many answers to one and the same question (or list of questions).

    >>> answers = iter([3.0, 5.0, 4.0])
    >>> averaged(lambda: next(answers), 3).tolist()
    [4.0]
    """
    check_at_least(1, times=times)
    total = np.atleast_1d(np.asarray(ask(), np.float64)).copy()
    for _ in range(times - 1):
        total += np.asarray(ask(), np.float64)
    return total / times


def is_redrawn(ask: Callable[[], ArrayLike]) -> bool:
    """Whether the same question asked twice has two answers."""
    return not np.array_equal(np.asarray(ask()), np.asarray(ask()), equal_nan=True)


def share_identified(randomizer: FrequencyOracle, *, n_reports: int, n_devices: int, randomness: Randomness) -> float:
    """Which share of devices is found out by ``n_reports`` fresh one-time reports of each about the same cell.

    Devices hold cells at random; the cell that most of a device's reports support is guessed, one of them at random
    where several are equal.

    >>> from tacit.mechanisms.local.unary import UnaryEncoding
    >>> from tacit.randomness import SeededRandomness
    >>> sue = UnaryEncoding.rappor(f=0.5, n_cells=17)
    >>> found = share_identified(sue, n_reports=30, n_devices=200, randomness=SeededRandomness(1))
    >>> found > 0.97
    True
    """
    check_at_least(1, n_reports=n_reports, n_devices=n_devices)
    n_at_once = max(1, _REPORTS_AT_ONCE // n_reports)
    n_found = 0
    for first in range(0, n_devices, n_at_once):
        n_here = min(n_at_once, n_devices - first)
        cells = integers_below((randomizer.n_cells,), n_here, randomness)[:, 0].astype(np.int64)
        reports = randomizer.randomize(np.repeat(cells, n_reports), randomness=randomness)
        supports = randomizer.statistics(reports, np.full(n_here, n_reports))
        lots = randomness.words(supports.size).reshape(supports.shape) / 2.0**65
        n_found += int(np.count_nonzero(np.argmax(supports + lots, axis=1) == cells))
    return n_found / n_devices
