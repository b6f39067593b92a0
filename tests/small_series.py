"""Series small enough to be forecast in a moment: three places over two years, with weeks, seasons and growth."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.counts.series import Observations, Series
from tacit.domain import Domain, PlaceAxis, TimeAxis

PLACES = ("North", "South", "West")
SHARES = np.array([0.6, 0.3, 0.1])


def small_domain(n_days: int = 730) -> Domain:
    return Domain(TimeAxis("2016-01-01", "day", "Europe/Paris", n_days), PlaceAxis.of(PLACES))


def small_means(n_days: int = 730) -> NDArray[np.float64]:
    days = np.arange(n_days)
    weekday = (np.datetime64("2016-01-01").astype("datetime64[D]").astype(int) + days + 3) % 7
    total = 40 * (1 + 0.15 * np.cos(2 * np.pi * days / 365.25)) * (1 + 0.1 * (weekday >= 5)) * 1.05 ** (days / 365)
    return np.asarray(total[:, None] * SHARES)


def small_counts(seed: int = 1, n_days: int = 730) -> NDArray[np.int64]:
    return np.random.default_rng(seed).poisson(small_means(n_days))


def small_series(seed: int = 1, n_days: int = 730) -> Series:
    """True counts."""
    return Series.exact(small_domain(n_days), small_counts(seed, n_days))


def noisy_series(
    seed: int = 1, n_days: int = 730, *, unit: float = 1.0, counts: NDArray[np.int64] | None = None
) -> Series:
    """Counts with noise of the variance ``unit`` times the public total, that cancels over all places."""
    exact = small_counts(seed, n_days) if counts is None else counts
    n_days, n_places = exact.shape
    totals = exact.sum(axis=1).astype(float)
    noise = np.random.default_rng(1000 + seed).normal(size=exact.shape) * np.sqrt(unit * totals)[:, None]
    noise -= noise.mean(axis=1, keepdims=True)
    units = np.full((1, n_places), unit * (1 - 1 / n_places))
    known = Observations(totals, exact + noise, units, np.zeros((1, n_places)), is_shared=True, cancels=True)
    domain = Domain(TimeAxis("2016-01-01", "day", "Europe/Paris", n_days), PlaceAxis.of(PLACES[:n_places]))
    return Series(domain, known, is_simulation=True)
