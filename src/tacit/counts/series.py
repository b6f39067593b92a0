"""Series: observations in time order, all that a forecaster may see.

A series is made of an estimate, of a frame of the user's, or of exact counts (laboratory only).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import damaged, text, truth
from tacit._base.reading import MOST_REPORTS
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.observations import Observations, column_kinds, measured
from tacit.domain import ALL, Domain
from tacit.errors import SettingError

_KEYS: Final = {
    "exposures": "exposures",
    "counts": "counts",
    "unit_errors": "unit_variance",
    "slopes": "slopes",
    "total_variances": "total_variance",
    "observed": "observed",
}
"""The names of arrays in files, and in observations."""


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Observations of time bins and places, and where they come from.

    ``origin`` names the release (its checksum) or is empty.
    """

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
        return cls(estimate.domain, known, estimate.provenance.is_simulation, origin)._without(missing)

    @classmethod
    def exact(cls, domain: Domain, counts: NDArray[np.int64], *, missing: BoolArray | None = None) -> Series:
        """Return the series of true counts: for the laboratory, and for data that are public anyway."""
        values = np.asarray(counts, np.float64)
        if values.shape != domain.shape:
            raise SettingError(f"counts must have the domain's shape {domain.shape}; got shape={values.shape}.")
        none = np.zeros((1, values.shape[1]))
        known = Observations(
            values.sum(axis=1), values, none, none, is_shared=True, cancels=True, kinds=column_kinds(domain)
        )
        return cls(domain, known)._without(missing)

    def _without(self, missing: BoolArray | None) -> Series:
        return self if missing is None else self.masked(~np.asarray(missing, bool)[:, None])

    def masked(self, observed: BoolArray) -> Series:
        """Return the same without the counts that a mask (that broadcasts to bins x places) leaves out."""
        return replace(self, observations=self.observations.masked(observed))

    def __len__(self) -> int:
        return self.domain.shape[0]

    def __repr__(self) -> str:
        label = ", simulation" if self.is_simulation else ""
        n_times, n_places = self.domain.shape
        return f"Series({n_times} x {n_places} counts{label})"

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
            observed=_mask(content, "observed", (1, 1), (n_times, n_places)),
            total_variance=_array(content, "total_variances", (1,), (n_times,), least=0.0),
            kinds=column_kinds(domain),
        )
        return cls(domain, known, truth(content, "is_simulation"), text(content, "origin"))


def _mask(content: Mapping[str, Any], name: str, *shapes: tuple[int, ...]) -> BoolArray:
    """Return an array of truth values of one of these shapes."""
    mask = np.asarray(content[name])
    if mask.shape not in shapes or mask.dtype != np.bool_:
        raise damaged(name, f"true or false in the shape {shapes[-1]}")
    return mask


def _array(content: Mapping[str, Any], name: str, *shapes: tuple[int, ...], least: float = -MOST_REPORTS) -> FloatArray:
    """Return an array of one of these shapes, of numbers that counts and their variances can be."""
    array = np.asarray(content[name])
    if array.dtype.kind not in "iuf" or array.shape not in shapes:
        raise damaged(name, f"an array of shape {shapes[0]}")
    values = array.astype(np.float64)
    if values.size and not (least <= values.min() and values.max() <= float(MOST_REPORTS) ** 2):  # NaN fails too
        raise damaged(name, "an array of numbers that counts can have")
    return values
