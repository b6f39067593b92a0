"""Series: answers in time order, all that a forecaster may see.

A series holds unbiased counts with the variance of their noise, the public totals where there are any, and the
calendar. It is made of an estimate, of a frame of the user's, or of exact counts (laboratory only).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, FloatArray
from tacit._base.fields import damaged, number, text, truth
from tacit._base.limits import MOST_REPORTS
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.observations import Observations, measured
from tacit.domain import ALL, Domain
from tacit.errors import SettingError


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Counts per time bin and place, how noisy they are, and where they come from.

    ``measured`` has the counts, their exposures (public totals, or ones) and what is known of their noise.
    ``total_variances`` is the variance of the noise of each bin's total: 0 where totals are public. Bins that are
    ``missing`` were not counted: their zeros say nothing. ``origin`` names the release (its checksum) or is empty.
    """

    domain: Domain
    measured: Observations
    total_variances: FloatArray
    missing: NDArray[np.bool_]
    is_simulation: bool = False
    origin: str = ""

    @classmethod
    def of(cls, estimate: Estimate, *, missing: NDArray[np.bool_] | None = None, origin: str = "") -> Series:
        """The series of an unbiased estimate; ``missing`` marks bins without data."""
        known = measured(estimate)
        variances = np.zeros(estimate.domain.shape[0])
        if not known.is_shared:
            _, in_all = estimate.domain.coarsen(place=ALL)
            variances = np.square(estimate.noise.coarsen(in_all).standard_errors()[:, 0])
        is_missing = np.zeros(len(variances), bool) if missing is None else np.asarray(missing, bool)
        return cls(estimate.domain, known, variances, is_missing, estimate.provenance.is_simulation, origin)

    @classmethod
    def exact(cls, domain: Domain, counts: NDArray[np.int64], *, missing: NDArray[np.bool_] | None = None) -> Series:
        """The series of true counts: for the laboratory, and for data that are public anyway."""
        values = np.asarray(counts, np.float64)
        if values.shape != domain.shape:
            raise SettingError(f"counts must have the domain's shape {domain.shape}; got shape={values.shape}.")
        none = np.zeros((1, values.shape[1]))
        known = Observations(values.sum(axis=1), values, none, none, is_shared=True, cancels=True)
        is_missing = np.zeros(len(values), bool) if missing is None else np.asarray(missing, bool)
        return cls(domain, known, np.zeros(len(values)), is_missing)

    def __len__(self) -> int:
        return self.domain.shape[0]

    def __repr__(self) -> str:
        label = ", simulation" if self.is_simulation else ""
        n_times, n_places = self.domain.shape
        return f"Series({n_times} x {n_places} counts{label})"

    @property
    def places(self) -> tuple[str, ...]:
        return self.domain.place.cells

    @property
    def values(self) -> FloatArray:
        """Unbiased counts, times x places; noise may make them negative."""
        return self.measured.counts

    @property
    def variances(self) -> FloatArray:
        """The variance of the noise of each count, at the long-run share of its place."""
        weights = self.measured.exposures
        share = self.values.sum(axis=0) / max(float(weights.sum()), 1.0)
        return self.measured.noise_variance(np.broadcast_to(np.maximum(share, 0.0), self.values.shape))

    @property
    def has_public_totals(self) -> bool:
        return self.measured.is_shared

    @property
    def totals(self) -> FloatArray:
        """The number of events of each bin in all places: public, or as noisy as ``total_variances`` says."""
        return self.measured.exposures if self.has_public_totals else self.values.sum(axis=1)

    def until(self, n_times: int) -> Series:
        """What was known once ``n_times`` bins had passed."""
        check_at_least(1, n_times=n_times)
        return replace(
            self,
            domain=replace(self.domain, time=self.domain.time.with_end(n_times)),
            measured=self.measured.until(n_times),
            total_variances=self.total_variances[:n_times],
            missing=self.missing[:n_times],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data and arrays."""
        known = self.measured
        return {
            "domain": self.domain.to_dict(),
            "exposures": known.exposures,
            "counts": known.counts,
            "unit_errors": known.unit_variance,
            "slopes": known.slopes,
            "is_shared": known.is_shared,
            "cancels": known.cancels,
            "error_skew": known.noise_skew,
            "observed": known.observed,
            "total_variances": self.total_variances,
            "missing": self.missing,
            "is_simulation": self.is_simulation,
            "origin": self.origin,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the series of :meth:`to_dict`; what cannot be one is refused."""
        domain = Domain.from_dict(content["domain"])
        n_times, n_places = domain.shape
        measured = Observations(
            _array(content, "exposures", (n_times,), least=0.0),
            _array(content, "counts", (n_times, n_places)),
            _array(content, "unit_errors", (1, n_places), (n_times, n_places), least=0.0),
            _array(content, "slopes", (1, n_places), (n_times, n_places)),
            is_shared=truth(content, "is_shared"),
            cancels=truth(content, "cancels"),
            noise_skew=number(content, "error_skew"),
            observed=_mask(content, "observed", (1, 1), (n_times, n_places)),
        )
        return cls(
            domain,
            measured,
            _array(content, "total_variances", (n_times,), least=0.0),
            _mask(content, "missing", (n_times,)),
            truth(content, "is_simulation"),
            text(content, "origin"),
        )


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
