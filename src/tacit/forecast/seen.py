"""A series as the models of totals and shares see it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray
from tacit.counts.measured import Measured
from tacit.counts.series import Series
from tacit.forecast.gaps import gaps, leading_zeros
from tacit.statespace.calendar import season_length
from tacit.statespace.covariates import Covariates
from tacit.statespace.totals import Followed, TotalModel, Totals

_BURST_SCORE: Final = 2.0
_LEAST_PART: Final = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Totals with their noise; ``gaps`` are bins of which nothing is known though nobody said so."""

    series: Series
    totals: Totals
    gaps: BoolArray

    @classmethod
    def of(cls, series: Series, covariates: Covariates | None, n_learned: int) -> Seen:
        """Read a series, of which the first ``n_learned`` bins may be looked at as a whole."""
        time, n_times = series.domain.time, len(series)
        seen = ~series.missing
        for bin in (0, n_times - 1):
            seen[bin] &= not time.is_partial(bin)
        counts = np.asarray(series.totals, np.float64)
        found = np.zeros(n_times, bool)
        if series.has_public_totals:
            season = season_length(time.step)
            shortest = max(3, season // 7) if season % 7 == 0 else 3
            found = gaps(counts, seen, season, shortest=shortest)
            found[:n_learned] |= leading_zeros(counts[:n_learned], seen[:n_learned], season)
            seen &= ~found
        errors = np.where(seen, series.total_variances, np.inf)
        return cls(series, Totals(time, counts, errors, covariates), found)

    def measured(self, model: TotalModel, followed: Followed) -> tuple[Measured, FloatArray]:
        """What is known of shares, and the part of each total that is out of the ordinary.

        Where totals are not public, shares are of what each total is taken to be: between what was expected and what
        was measured, nearer to the less uncertain of the two.
        """
        totals, known = self.totals, self.series.measured
        seen = np.isfinite(totals.errors)
        rates = np.exp(followed.logs)
        own = rates + (model.habits.overdispersion + followed.variances) * np.square(rates)
        exposures = np.where(seen, known.exposures, 0.0)
        if not self.series.has_public_totals:
            gains = own / (own + np.where(seen, totals.errors, np.inf))
            exposures = np.where(seen, np.maximum(rates + gains * (totals.counts - rates), _LEAST_PART * rates), 0.0)
            units = self.series.variances / np.where(seen, exposures, 1.0)[:, None]
            known = replace(
                known, unit_errors=units, slopes=np.zeros((1, units.shape[1])), is_shared=True, cancels=False
            )
        excess = exposures - rates - _BURST_SCORE * np.sqrt(own)
        bursts = np.divide(np.maximum(excess, 0.0), exposures, out=np.zeros(len(rates)), where=exposures > 0)
        return replace(known, exposures=exposures, counts=np.where(seen[:, None], known.counts, 0.0)), bursts
