r"""What is known of the counts before smoothing: exposures, unbiased values, and the variance of their noise.

Where the number of reports of each time bin is public, counts are shares of it. Their noise and their sampling are then
those of independent places *given* that all add up: multinomial counts are Poisson counts given their sum, and noise
that cancels over all cells is independent noise given that it cancels. So variances here are those of the independent
places,

.. math:: D_r - D_r^2 / \textstyle\sum_q D_q = V_r,

with the stated variance V of a cell; the smoother puts the sum back in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray
from tacit.counts.estimate import Estimate
from tacit.counts.noise import TreeNoise
from tacit.errors import NoInterval, SettingError

_LARGEST_SHARE: Final = 0.9
_ROUNDS: Final = 12
_SLACK: Final = 1e-6
_UNKNOWN: Final = 1e9  # the unit variance of a count that was not observed: far above any mechanism's


@dataclass(frozen=True, slots=True)
class Observations:
    """Unbiased counts (times x places), their exposures, and what of their noise's variance is known.

    The noise variance of a count is N (``unit_variance`` + ``slopes`` * share), places independent. ``is_shared`` says
    that exposures are public totals that the counts of a time add up to; ``cancels`` that the noise of all places did
    so from the start, so that its stated variances are those given the sum. ``noise_skew`` is the third cumulant of the
    noise over its variance. ``observed`` is the mask of counts that were taken (times x places, or one for all): one
    that is missing is not a count of 0. ``tree`` is the one that counts were fused in, where sums were measured too:
    the variances are then those of the leaves' own measurements.
    """

    exposures: FloatArray
    counts: FloatArray
    unit_variance: FloatArray
    slopes: FloatArray
    is_shared: bool
    cancels: bool
    noise_skew: float = 0.0
    observed: BoolArray = field(default_factory=lambda: np.ones((1, 1), np.bool_))
    tree: TreeNoise | None = None

    def until(self, n_times: int) -> Observations:
        """The same up to a time."""
        return replace(
            self,
            exposures=self.exposures[:n_times],
            counts=self.counts[:n_times],
            unit_variance=self.unit_variance[:n_times],
            slopes=self.slopes[:n_times],
            observed=self.observed if len(self.observed) == 1 else self.observed[:n_times],
        )

    def noise_variance(self, shares: FloatArray) -> FloatArray:
        """Return the noise variance of every count."""
        units = self.unit_variance + self.slopes * np.clip(shares, 0.0, 1.0)
        if self.cancels:
            units = independent_variances(units)
        return np.asarray(self.exposures[:, None] * units, np.float64)

    def summed_noise_variance(self, shares: FloatArray) -> FloatArray:
        """The variances of independent noise that sums over all time would err by as much as they do."""
        variances = self.noise_variance(shares)
        if self.tree is None:
            return variances
        of_sum = self.tree.fusion.variance(self.exposures) / variances[:, 0].sum()
        return np.asarray(variances * of_sum, np.float64)


def measured(estimate: Estimate) -> Observations:
    """Read an estimate: of shares of public totals if it has them for every time bin, of rates if not.

    Values that are not a number are missing: next to nothing is known of them. Variances of other noise than a
    frequency oracle's are taken cell by cell; the correlation of cells of a tree is left out.
    """
    is_missing = np.isnan(estimate.values)
    if is_missing.any():
        return _without(measured(replace(estimate, values=np.where(is_missing, 0.0, estimate.values))), is_missing)
    values, totals = np.asarray(estimate.values, np.float64), estimate.totals
    n_times, n_places = estimate.domain.shape
    is_shared = totals is not None and totals.shape == (n_times, 1)
    if totals is not None and not is_shared:
        raise SettingError(
            "smoothing over time is for reports that hide the place, or for a curator's counts; these hide the time, "
            "and errors of their periods are correlated. Use project, or raw."
        )
    noise, reports = estimate.noise, estimate.noise.of_reports()
    if is_shared and reports is not None and reports.layout.private == ("place",):
        assert totals is not None
        p, q = float(reports.distribution.p), float(reports.distribution.q)
        unit, slope = q * (1 - q) / (p - q) ** 2, (p * (1 - p) - q * (1 - q)) / (p - q) ** 2
        exposures = totals[:, 0].astype(np.float64)
        errors, slopes = np.full((1, n_places), unit), np.full((1, n_places), slope)
        counts = _added_up(values, exposures, 1.0)
        return Observations(exposures, counts, errors, slopes, True, _adds_up(values, exposures), _skew(p, q, n_places))
    try:
        variances = np.square(noise.standard_errors())
    except NoInterval:
        raise SettingError(
            "smoothing needs unbiased estimates whose noise is known; "
            f"got steps={', '.join(estimate.steps) or 'none'}. Smooth before clipping or shrinking."
        ) from None
    exposures = np.ones(n_times) if not is_shared or totals is None else totals[:, 0].astype(np.float64)
    units = np.divide(variances, exposures[:, None], out=np.zeros(values.shape), where=exposures[:, None] > 0)
    counts = _added_up(values, exposures, np.maximum(units, 1e-12)) if is_shared else values
    cancels = is_shared and _adds_up(values, exposures)
    return Observations(exposures, counts, units, np.zeros((1, n_places)), is_shared, cancels)


def _without(known: Observations, is_missing: BoolArray) -> Observations:
    """The same where some counts were not taken; what is missing of a total is shared out among those."""
    units = np.where(is_missing, _UNKNOWN, known.unit_variance)
    counts = np.where(is_missing, 0.0, known.counts)
    if known.is_shared:
        counts = _added_up(counts, known.exposures, units)
    return replace(known, counts=counts, unit_variance=units, cancels=False, observed=~is_missing)


def independent_variances(variances: FloatArray) -> FloatArray:
    """The variances of independent numbers that have these once their sum is known, row by row."""
    found = np.asarray(variances, np.float64)
    for _ in range(_ROUNDS):
        total = np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
        found = variances / (1 - np.minimum(found / total, _LARGEST_SHARE))
    return found


def _skew(p: float, q: float, n_places: int) -> float:
    """The third cumulant of (supports - expected) / (p - q) over its variance, for a cell of average share."""
    share = 1 / n_places
    second = share * p * (1 - p) + (1 - share) * q * (1 - q)
    third = share * p * (1 - p) * (1 - 2 * p) + (1 - share) * q * (1 - q) * (1 - 2 * q)
    return third / (p - q) / second


def _adds_up(values: FloatArray, totals: FloatArray) -> bool:
    return bool((np.abs(values.sum(axis=1) - totals) <= _SLACK * (1 + totals)).all())


def _added_up(values: FloatArray, totals: FloatArray, units: FloatArray | float) -> FloatArray:
    """Make each row add up to its total: what is missing is shared out as the noise is."""
    weights = np.broadcast_to(np.asarray(units, np.float64), values.shape)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray(values + weights * (totals[:, None] - values.sum(axis=1, keepdims=True)), np.float64)
