"""The regular part of time: weekdays, hours and the year, as few terms that each place weighs in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.domain import TimeAxis

SECONDS_A_DAY: Final = 86_400
DAYS_A_YEAR: Final = 365.25
_HARMONICS: Final = (1, 2)


@dataclass(frozen=True, slots=True)
class Seasons:
    """A row of terms for every time bin, what each term belongs to, and the length of a bin in days."""

    basis: FloatArray
    kinds: tuple[str, ...]
    step_days: float

    def until(self, n_times: int) -> Seasons:
        return Seasons(np.ascontiguousarray(self.basis[:n_times]), self.kinds, self.step_days)

    def mean_drift(self, in_a_year: float) -> float:
        """The variance of the mean of all levels around the first, if they drift as much in a year."""
        return in_a_year**2 * self.step_days * len(self.basis) / DAYS_A_YEAR / 3


def seasons(time: TimeAxis) -> Seasons:
    """The terms of an axis.

    Six contrasts of weekdays where bins are days or hours, two harmonics of the year where they are no longer than a
    month, two of the day where they are hours. Terms of one kind have the same mean square.
    """
    starts = time.starts()
    seconds = starts.astype(np.int64).astype(np.float64)
    lengths = np.ones(len(seconds))
    if len(seconds) > 1:
        steps = np.diff(seconds) / SECONDS_A_DAY
        lengths = np.append(steps, np.median(steps))
    length = float(np.median(lengths))
    parts: list[FloatArray] = []
    kinds: list[str] = []
    if length < 2:
        weekday = (np.floor(seconds / SECONDS_A_DAY).astype(np.int64) + 3) % 7
        parts.append(_contrasts(7)[weekday])
        kinds += ["weekday"] * 6
    if length < 1:
        parts.append(_waves(seconds / SECONDS_A_DAY))
        kinds += ["season"] * 4
    if length < 32:
        parts.append(_waves((seconds / SECONDS_A_DAY + lengths / 2) / DAYS_A_YEAR))
        kinds += ["season"] * 4
    basis = np.concatenate(parts, axis=1) if parts else np.zeros((len(seconds), 0))
    return Seasons(np.ascontiguousarray(basis), tuple(kinds), length)


def _waves(turns: FloatArray) -> FloatArray:
    angles = 2 * np.pi * turns[:, None] * np.array(_HARMONICS)
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def _contrasts(n: int) -> FloatArray:
    """Rows whose differences tell n classes apart; each column adds up to 0, all have the same length."""
    centred = np.eye(n) - 1 / n
    vectors = np.linalg.qr(centred[:, : n - 1])[0]
    return np.asarray(vectors * np.sqrt(n / (n - 1)), np.float64)
