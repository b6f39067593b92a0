"""A release of two years, months and days that starts in the middle of a month."""

from __future__ import annotations

import numpy as np
import pytest

from small_worlds import simulated_estimate
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.release import Release


@pytest.fixture(scope="session")
def true_counts() -> np.ndarray:
    days = np.arange(800)[:, None]
    return (3 + days % 7 * np.array([[4, 2, 1, 0]]) + np.array([[9, 5, 0, 0]])).astype(np.int64)


@pytest.fixture(scope="session")
def release(true_counts) -> Release:
    axis = TimeAxis.between("2016-10-15", "2018-12-23")
    domain = Domain(axis, PlaceAxis.of(["CA du Nord", "CC de Sud", "CC Est", "Ouest"], level="region"))
    return Release.of(*simulated_estimate(true_counts, domain=domain))
