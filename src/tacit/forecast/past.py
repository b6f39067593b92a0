"""The past that a release tells of, as a series to learn from."""

from __future__ import annotations

from typing import Final

import numpy as np

from tacit.counts.series import Series
from tacit.errors import SettingError
from tacit.release import Release

FEWEST_BINS: Final = 2


def series_of(release: Release) -> Series:
    """The unbiased counts of a release in time order; what its rules call missing is missing.

    A first or last bin counted in part is no count of a whole one: the first is taken for missing, the last left out,
    so that a forecast begins with it.
    """
    if "time" in release.plan.private and not release.plan.is_central:
        raise SettingError(
            "a forecast needs counts whose times are public; this release hides the time of every event, and errors of "
            "its periods hang together. Forecast a release that hides the place."
        )
    if np.isnan(release.unbiased.values).any():
        raise SettingError(
            "a forecast needs all counts of its release; rules of this one suppressed some, and those are gone. "
            "Release it without suppressing, or in longer periods."
        )
    n_times = release.domain.shape[0]
    axis = release.domain.time
    missing = np.asarray(release.rules.days_missing(axis) > 0, bool)
    missing[0] |= axis.is_partial(0)
    series = Series.of(release.unbiased, missing=missing, origin=release.checksum)
    if n_times > 1 and axis.is_partial(n_times - 1):
        series = series.until(n_times - 1)
    n_counted = int(np.sum(~series.missing))
    if n_counted < FEWEST_BINS:
        raise SettingError(
            f"a forecast needs at least {FEWEST_BINS} periods counted in full; this release has {n_counted}. "
            "Release finer periods, or wait for more of them."
        )
    return series
