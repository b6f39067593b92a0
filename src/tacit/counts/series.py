r"""What is known of counts before smoothing and forecasting: observations, and series of them in time order.

Observations are exposures, unbiased values, and the variance of their noise. Where the number of reports of each time
bin is public, counts are shares of it. Their noise and their sampling are then those of independent places *given* that
all add up: multinomial counts are Poisson counts given their sum, and noise that cancels over all cells is independent
noise given that it cancels. So variances here are those of the independent places,

.. math:: D_r - D_r^2 / \textstyle\sum_q D_q = V_r,

with the stated variance V of a cell; the smoother puts the sum back in.

A series is all that a forecaster may see: made of an estimate, of a frame of the user's, or of exact counts (laboratory
only).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import damaged, text, truth
from tacit._base.reading import MOST_REPORTS
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.domain import ALL, Domain
from tacit.errors import NoInterval, SettingError

if TYPE_CHECKING:  # whoever asks a smoothed release needs no tree
    from tacit.counts.noise import TreeNoise

_LARGEST_SHARE: Final = 0.9  # of one place in the noise of all: two places have a half each; guards the division
_ROUNDS: Final = 12  # of the fixed point below; half of them leave 1e-4 of a variance, twice as many no digit
_SLACK: Final = 1e-6  # relative, of counts that add up but for their last digits
_UNKNOWN: Final = 1e9
"""The unit variance that stands for an infinite one where a count was not observed: files hold finite numbers. A tenth
of it or ten times as much changes no digit that is shown."""
_KEYS: Final = {
    "exposures": "exposures",
    "counts": "counts",
    "unit_errors": "unit_variance",
    "slopes": "slopes",
    "total_variances": "total_variance",
    "observed": "observed",
}
"""The names of arrays in files, and in observations."""


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
        return replace(self, **{name: getattr(self, name)[:n_times] for name in _KEYS.values()})

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
    exposures, shape = np.sum([known.exposures for _, known in parts], axis=0), estimate.domain.shape
    counts, units, slopes, observed = np.empty(shape), np.empty(shape), np.empty((1, shape[1])), np.empty(shape, bool)
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
    strata, n_times = estimate.public_columns, estimate.domain.shape[0]
    kinds = column_kinds(estimate.domain) if len(strata) == 1 else None
    exposures = np.ones((n_times, 1)) if totals is None else totals.reshape(n_times, -1).astype(np.float64)
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
        weights = np.maximum(units, 1e-12)  # exact counts weigh alike: any number far below a variance does
    is_taken = np.ones((1, 1), np.bool_) if not is_missing.any() else ~is_missing
    if not is_shared:
        return Observations(exposures, values, units, slopes, False, False, is_taken)
    rest = exposures - values.sum(axis=1)
    cancels = bool(is_taken.all()) and bool((np.abs(rest) <= _SLACK * (1 + exposures)).all())
    weights = np.where(is_missing.any(axis=1, keepdims=True), is_missing, weights)
    added_up = values + weights / weights.sum(axis=1, keepdims=True) * rest[:, None]
    return Observations(exposures, added_up, units, slopes, True, cancels, is_taken)


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


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Observations of time bins and places; ``origin`` names their release (by its checksum) or is empty."""

    domain: Domain
    observations: Observations
    is_simulation: bool = False
    origin: str = ""

    @classmethod
    def of(cls, estimate: Estimate, *, missing: BoolArray | None = None, origin: str = "") -> Series:
        """Return the series of an unbiased estimate; ``missing`` marks bins without data."""
        known = measured(estimate)
        if not known.is_shared:
            _, in_all = estimate.domain.coarsen(place=ALL, kind=None if estimate.domain.kind is None else ALL)
            errors = estimate.noise.coarsen(in_all).standard_errors()[:, 0]
            known = replace(known, total_variance=np.square(errors))
        if missing is not None:
            known = known.masked(~np.asarray(missing, bool)[:, None])
        return cls(estimate.domain, known, estimate.provenance.is_simulation, origin)

    @classmethod
    def exact(cls, domain: Domain, counts: NDArray[np.int64], *, missing: BoolArray | None = None) -> Series:
        """Return the series of true counts: for the laboratory, and for data that are public anyway."""
        values = np.asarray(counts, np.float64)
        if values.shape != domain.shape:
            raise SettingError(f"counts must have the domain's shape {domain.shape}; got shape={values.shape}.")
        none = np.zeros((1, values.shape[1]))
        known = Observations(values.sum(axis=1), values, none, none, True, True, kinds=column_kinds(domain))
        return cls(domain, known if missing is None else known.masked(~np.asarray(missing, bool)[:, None]))

    def masked(self, observed: BoolArray) -> Series:
        """Return the same without the counts that a mask (that broadcasts to bins x places) leaves out."""
        return replace(self, observations=self.observations.masked(observed))

    def __len__(self) -> int:
        return self.domain.shape[0]

    def __repr__(self) -> str:
        n_times, n_places = self.domain.shape
        return f"Series({n_times} x {n_places} counts{', simulation' if self.is_simulation else ''})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The name of each place, or of each place and kind."""
        return self.domain.columns

    @property
    def values(self) -> FloatArray:
        """Unbiased counts, times x places; noise may make them negative."""
        return self.observations.counts

    @property
    def shares(self) -> FloatArray:
        """The long-run share of each place in all exposures, never below 0."""
        total = max(float(self.observations.exposures.sum()), 1.0)
        return np.asarray(np.maximum(self.values.sum(axis=0) / total, 0.0), np.float64)

    @property
    def variances(self) -> FloatArray:
        """The variance of the noise of each count, at the long-run share of its place."""
        return self.observations.noise_variance(np.broadcast_to(self.shares, self.values.shape))

    @property
    def stated_variances(self) -> FloatArray:
        """The same as the counts are: those that were made to add up to a public total err less than independent ones.

        It is V of the D that ``variances`` are.
        """
        variances = self.variances
        if not self.has_public_totals:
            return variances
        sums = np.maximum(variances.sum(axis=1, keepdims=True), 1e-300)
        return np.asarray(variances - np.square(variances) / sums, np.float64)

    @property
    def has_public_totals(self) -> bool:
        return self.observations.is_shared

    @property
    def totals(self) -> FloatArray:
        """The number of events of each bin in all places: public, or as noisy as ``total_variances`` says."""
        return self.observations.exposures if self.has_public_totals else self.values.sum(axis=1)

    @property
    def total_variances(self) -> FloatArray:
        """The variance of the noise of each bin's total."""
        return np.broadcast_to(self.observations.total_variance, len(self))

    @property
    def observed(self) -> BoolArray:
        """Return which counts were taken, in bins counted in full: bins x (places and, last, all together).

        A total that is not public is known where all its counts are.
        """
        mask = np.broadcast_to(self.observations.observed, self.values.shape).copy()
        for bin in (0, len(self) - 1):
            mask[bin] &= not self.domain.time.is_partial(bin)
        of_total = mask.any(axis=1) if self.has_public_totals else mask.all(axis=1)
        return np.column_stack([mask, of_total])

    @property
    def counted(self) -> BoolArray:
        """Return which bins have any count that was taken."""
        return np.asarray(self.observed.any(axis=1), np.bool_)

    def since_counted(self, origins: IntArray) -> IntArray:
        """Return how many bins just before each origin were not counted."""
        last = np.maximum.accumulate(np.where(self.counted, np.arange(len(self)), -1))
        return np.asarray(origins - 1 - np.concatenate([[-1], last])[origins], np.int64)

    def until(self, n_times: int) -> Series:
        """Return what was known once ``n_times`` bins had passed."""
        check_at_least(1, n_times=n_times)
        domain = replace(self.domain, time=self.domain.time.with_end(n_times))
        return replace(self, domain=domain, observations=self.observations.until(n_times))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data and arrays."""
        known = self.observations
        return {
            "domain": self.domain.to_dict(),
            **{key: getattr(known, name) for key, name in _KEYS.items()},
            "is_shared": known.is_shared,
            "cancels": known.cancels,
            "is_simulation": self.is_simulation,
            "origin": self.origin,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the series of :meth:`to_dict`; what cannot be one is refused."""
        domain = Domain.from_dict(content["domain"])
        n_times, n_places = domain.shape
        known = Observations(
            _array(content, "exposures", (n_times,), least=0.0),
            _array(content, "counts", (n_times, n_places)),
            _array(content, "unit_errors", (1, n_places), (n_times, n_places), least=0.0),
            _array(content, "slopes", (1, n_places), (n_times, n_places)),
            is_shared=truth(content, "is_shared"),
            cancels=truth(content, "cancels"),
            observed=_array(content, "observed", (1, 1), (n_times, n_places), kinds="b").astype(np.bool_),
            total_variance=_array(content, "total_variances", (1,), (n_times,), least=0.0),
            kinds=column_kinds(domain),
        )
        return cls(domain, known, truth(content, "is_simulation"), text(content, "origin"))


def _array(
    content: Mapping[str, Any], name: str, *shapes: tuple[int, ...], least: float = -MOST_REPORTS, kinds: str = "iuf"
) -> FloatArray:
    """Return an array of one of these shapes and kinds, of numbers that counts and their variances can be."""
    array = np.asarray(content[name])
    if array.dtype.kind not in kinds or array.shape not in shapes:
        raise damaged(name, f"an array of shape {shapes[0]}")
    values = array.astype(np.float64)
    if values.size and not (least <= values.min() and values.max() <= float(MOST_REPORTS) ** 2):  # NaN fails too
        raise damaged(name, "an array of numbers that counts can have")
    return values
