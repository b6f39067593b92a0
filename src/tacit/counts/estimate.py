"""Estimates: numbers over a domain with their noise; answers to questions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import IntArray
from tacit._base.languages import stored
from tacit._base.rounding import percent, whole
from tacit.counts.noise.model import Noise
from tacit.counts.provenance import Provenance
from tacit.domain import AXES, Box, Domain, Grouping, Layout, sum_groups
from tacit.errors import SettingError


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Values over time x columns plus a noise model. Which mechanism made it can no longer be told.

    ``totals`` is the public number of reports where there is one (it broadcasts against the domain's grid), ``steps``
    names every post-processing step taken, in order.
    """

    domain: Domain
    values: NDArray[np.float64]
    noise: Noise
    totals: NDArray[np.int64] | None
    steps: tuple[str, ...]
    provenance: Provenance

    def __post_init__(self) -> None:
        if self.values.shape != self.domain.shape:
            raise SettingError(
                f"values must have the domain's shape {self.domain.shape}; got shape={self.values.shape}."
            )
        if self.totals is not None:
            grid = self.domain.grid
            fits = self.totals.ndim == len(grid) and all(
                n in (1, most) for n, most in zip(self.totals.shape, grid, strict=True)
            )
            if not fits:
                raise SettingError(f"totals must broadcast against the domain's grid; got shape={self.totals.shape}.")
        self.values.flags.writeable = False

    def __repr__(self) -> str:
        label = ", simulation" if self.provenance.is_simulation else ""
        steps = " + ".join(self.steps) or "unbiased"
        return f"Estimate({' x '.join(map(str, self.values.shape))} cells, {steps}{label})"

    @property
    def public_layout(self) -> Layout | None:
        """Return how values are divided into rows with public numbers of reports; None where no number is public.

        An axis of one cell counts as private: that changes neither the rows nor their order.
        """
        if self.totals is None:
            return None
        hidden = tuple(axis for axis, size in zip(AXES, self.totals.shape, strict=False) if size == 1)
        return Layout(hidden, self.domain.sizes)

    @property
    def public_columns(self) -> list[IntArray]:
        """The columns whose counts add up to each public number of reports of a period; all where none is public."""
        shape = (1,) if self.totals is None else self.totals.shape[1:]
        public = np.arange(prod(shape)).reshape(shape)
        of_column = np.broadcast_to(public, self.domain.grid[1:]).ravel()
        return [np.flatnonzero(of_column == number) for number in range(public.size)]

    @property
    def cell_totals(self) -> NDArray[np.int64] | None:
        """The public number of reports of which every cell is a part, in the shape of the values."""
        return (
            None if self.totals is None else np.broadcast_to(self.totals, self.domain.grid).reshape(self.values.shape)
        )

    def coarsen(self, *, time: str | None = None, place: str | None = None, kind: str | None = None) -> Estimate:
        """Add cells up: days to months to years, towns to regions, kinds to groups. Exact, noise included."""
        domain, grouping = self.domain.coarsen(time=time, place=place, kind=kind)
        totals = None if self.totals is None else _coarser_totals(self.totals, grouping, len(domain.grid))
        values, noise = grouping.sums(self.values), self.noise.coarsen(grouping)
        return replace(self, domain=domain, values=values, noise=noise, totals=totals)

    def known_total(self, box: Box) -> int | None:
        """Return the public number of reports in a box that spans whatever is private, if there is one."""
        if self.totals is None:
            return None
        is_asked = box.weights(self.domain).reshape(self.domain.grid) > 0
        private = tuple(axis for axis, size in enumerate(self.totals.shape) if size == 1)
        some, all_of_it = is_asked.any(axis=private, keepdims=True), is_asked.all(axis=private, keepdims=True)
        return int(self.totals[some].sum()) if np.array_equal(some, all_of_it) else None


@dataclass(frozen=True, slots=True)
class Answer:
    """One number with its uncertainty.

    ``value`` is the estimate, to add up and to compute with. An unbiased one may lie outside its interval, which holds
    possible numbers alone: none is below zero, or above the public number of reports.
    """

    value: float
    standard_error: float
    lower: float
    upper: float
    level: float
    box: Box
    is_simulation: bool = False

    @property
    def shown(self) -> float:
        """The number to show to people: the value, or the end of the interval that is nearest to it."""
        return min(max(self.value, self.lower), self.upper)

    def __str__(self) -> str:
        label = " (simulation)" if self.is_simulation else ""
        value, unbiased = (round(one, 1) or 0.0 for one in (self.shown, self.value))
        cut = "" if value == unbiased else f" (unbiased {unbiased:,.1f})"
        return f"{value:,.1f}{cut}, {percent(self.level)} interval {whole(self.lower)} to {whole(self.upper)}{label}"


LEAST_SQUARES: Final = stored("least squares over a tree")


def _coarser_totals(totals: NDArray[np.int64], grouping: Grouping, n_axes: int) -> NDArray[np.int64]:
    """Return public numbers of reports of sums of cells; what is private, and stays so, is left as it is."""
    for axis, groups in enumerate((grouping.time, grouping.place, grouping.kind)[: totals.ndim]):
        if totals.shape[axis] > 1:
            totals = sum_groups(totals, groups, n_groups=grouping.sizes[axis], axis=axis)
    return totals.reshape(totals.shape[:n_axes])
