r"""Observations, what is known of counts before smoothing: exposures, unbiased values, and the variance of their noise.

Where the number of reports of each time bin is public, counts are shares of it. Their noise and their sampling are then
those of independent places *given* that all add up: multinomial counts are Poisson counts given their sum, and noise
that cancels over all cells is independent noise given that it cancels. So variances here are those of the independent
places,

.. math:: D_r - D_r^2 / \textstyle\sum_q D_q = V_r,

with the stated variance V of a cell; the smoother puts the sum back in.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit.counts.estimate import Estimate
from tacit.domain import Domain
from tacit.errors import NoInterval, SettingError

if TYPE_CHECKING:  # whoever asks a smoothed release needs no tree
    from tacit.counts.noise import TreeNoise

_LARGEST_SHARE: Final = 0.9  # of one place in the noise of all: two places have a half each; guards the division
_ROUNDS: Final = 12  # of the fixed point below; half of them leave 1e-4 of a variance, twice as many no digit
_SLACK: Final = 1e-6  # relative, of counts that add up but for their last digits
_UNKNOWN: Final = 1e9
"""The unit variance that stands for an infinite one where a count was not observed: files hold finite numbers. A tenth
of it or ten times as much changes no digit that is shown."""


@dataclass(frozen=True, slots=True)
class Observations:
    """Unbiased counts (times x places), their exposures, what of their noise's variance is known, and one mask.

    The noise variance of a count is N (``unit_variance`` + ``slopes`` * share), places independent. ``is_shared`` says
    that exposures are public totals that the counts of a time add up to; ``cancels`` that the noise of all places did
    so from the start, so that its stated variances are those given the sum. ``observed`` is the mask of counts that
    were taken (times x places, or one for all): one that is missing is not a count of 0, and says nothing whatever
    stands there. ``total_variance`` is that of the noise of each time's total (or one for all): 0 where totals are
    public. ``tree`` is the one that counts were fused in, where sums were measured too: the variances are then those of
    the leaves' own measurements. ``kinds`` numbers the kind of event of each column, where there are kinds.
    """

    exposures: FloatArray
    counts: FloatArray
    unit_variance: FloatArray
    slopes: FloatArray
    is_shared: bool
    cancels: bool
    observed: BoolArray = field(default_factory=lambda: np.ones((1, 1), np.bool_))
    total_variance: FloatArray = field(default_factory=lambda: np.zeros(1))
    tree: TreeNoise | None = None
    kinds: IntArray | None = None

    def until(self, n_times: int) -> Observations:
        """Return the same up to a time."""
        names = ("exposures", "counts", "unit_variance", "slopes", "observed", "total_variance")
        return replace(self, **{name: getattr(self, name)[:n_times] for name in names})

    def masked(self, observed: BoolArray) -> Observations:
        """Return the same without the counts that a mask (that broadcasts to times x places) leaves out."""
        return replace(self, observed=np.broadcast_to(self.observed & observed, self.counts.shape))

    def noise_variance(self, shares: FloatArray) -> FloatArray:
        """Return the noise variance of every count; of one that was not observed, so much that it says nothing."""
        units = self.unit_variance + self.slopes * np.clip(shares, 0.0, 1.0)
        if self.cancels:
            units = independent_variances(units)
        if not self.observed.all():
            # a rate may be of any size
            size = 1.0 if self.is_shared else max(float(np.square(self.counts).max(initial=0.0)), 1.0)
            units = np.where(self.observed, units, _UNKNOWN * size)
        return np.asarray(self.exposures[:, None] * units, np.float64)

    def summed_noise_variance(self, shares: FloatArray) -> FloatArray:
        """Return variances of independent noise that sums over all time would err by as much as they do."""
        variances = self.noise_variance(shares)
        if self.tree is None:
            return variances
        of_sum = self.tree.fusion.variance(self.exposures) / variances[:, 0].sum()
        return np.asarray(variances * of_sum, np.float64)


def measured(estimate: Estimate) -> Observations:
    """Read an estimate: of shares of public totals if it has them for every time bin, of rates if not.

    Values that are not a number are missing; what is missing of a public total is shared out among those. Variances of
    other noise than a frequency oracle's are taken cell by cell; the correlation of cells of a tree is left out. Where
    kinds (or places) have public totals of their own, shares are of the sum of all, and noise is that of a total's
    long-run part in it: with the noise of its own number of events, a day on which a kind is rare would count for more
    than one on which it is frequent, and its share be found too small.
    """
    parts = measured_parts(estimate)
    if len(parts) == 1:
        return parts[0][1]
    exposures = np.sum([known.exposures for _, known in parts], axis=0)
    shape = estimate.domain.shape
    counts, units, slopes = np.empty(shape), np.empty(shape), np.empty((1, shape[1]))
    observed = np.empty(shape, np.bool_)
    for columns, known in parts:
        counts[:, columns], slopes[:, columns] = known.counts, known.slopes
        units[:, columns] = known.unit_variance * (known.exposures.sum() / max(float(exposures.sum()), 1.0))
        observed[:, columns] = known.observed
    is_taken = observed if not observed.all() else np.ones((1, 1), np.bool_)
    return Observations(exposures, counts, units, slopes, True, False, is_taken, kinds=column_kinds(estimate.domain))


def measured_parts(estimate: Estimate) -> list[tuple[IntArray, Observations]]:
    """Read an estimate in parts that have public totals of their own; with the columns of each, all if there is one."""
    totals = estimate.totals
    if totals is not None and totals.shape[0] != estimate.domain.shape[0]:
        raise SettingError(
            "smoothing over time is for reports that hide the place, or for a curator's counts; these hide the time, "
            "and errors of their periods are correlated. Use project, or raw."
        )
    strata = estimate.public_columns
    kinds = column_kinds(estimate.domain) if len(strata) == 1 else None
    if totals is None:
        exposures = np.ones((estimate.domain.shape[0], 1))
    else:
        exposures = totals.reshape(len(totals), -1).astype(np.float64)
    return [
        (columns, replace(_measured(estimate, columns, exposures[:, number]), kinds=kinds))
        for number, columns in enumerate(strata)
    ]


def column_kinds(domain: Domain) -> IntArray | None:
    """Return the number of the kind of each column; None where there are not several kinds."""
    return None if domain.n_kinds == 1 else np.tile(np.arange(domain.n_kinds), domain.place.n_cells)


def _measured(estimate: Estimate, columns: IntArray, exposures: FloatArray) -> Observations:
    """Read those columns of an estimate that add up to one public total, or all if nothing is public."""
    is_missing = np.isnan(estimate.values[:, columns])
    values = np.where(is_missing, 0.0, estimate.values[:, columns])
    is_shared, reports = estimate.totals is not None, estimate.noise.of_reports()
    slopes, weights = np.zeros((1, len(columns))), np.ones((1, len(columns)))
    if is_shared and reports is not None:
        p, q = float(reports.distribution.p), float(reports.distribution.q)
        units = np.full((1, len(columns)), q * (1 - q) / (p - q) ** 2)
        slopes = slopes + (p * (1 - p) - q * (1 - q)) / (p - q) ** 2
    else:
        variances = _stated_variances(estimate)[:, columns]
        units = np.divide(variances, exposures[:, None], out=np.zeros(values.shape), where=exposures[:, None] > 0)
        weights = np.maximum(units, 1e-12)
    is_taken = np.ones((1, 1), np.bool_) if not is_missing.any() else ~is_missing
    if not is_shared:
        return Observations(exposures, values, units, slopes, False, False, is_taken)
    cancels = bool(is_taken.all()) and _adds_up(values, exposures)
    weights = np.where(is_missing.any(axis=1, keepdims=True), is_missing, weights)
    return Observations(exposures, _added_up(values, exposures, weights), units, slopes, True, cancels, is_taken)


def _stated_variances(estimate: Estimate) -> FloatArray:
    try:
        return np.square(estimate.noise.standard_errors())
    except NoInterval:
        raise SettingError(
            "smoothing needs unbiased estimates whose noise is known; "
            f"got steps={', '.join(estimate.steps) or 'none'}. Smooth before clipping or shrinking."
        ) from None


def independent_variances(variances: FloatArray) -> FloatArray:
    """Return the variances of independent numbers that have these once their sum is known, row by row."""
    found = np.asarray(variances, np.float64)
    for _ in range(_ROUNDS):
        total = np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
        found = variances / (1 - np.minimum(found / total, _LARGEST_SHARE))
    return found


def _adds_up(values: FloatArray, totals: FloatArray) -> bool:
    return bool((np.abs(values.sum(axis=1) - totals) <= _SLACK * (1 + totals)).all())


def _added_up(values: FloatArray, totals: FloatArray, weights: FloatArray) -> FloatArray:
    """Return rows that add up to their totals: what is missing is shared out by weights."""
    parts = weights / weights.sum(axis=1, keepdims=True)
    return np.asarray(values + parts * (totals[:, None] - values.sum(axis=1, keepdims=True)), np.float64)
