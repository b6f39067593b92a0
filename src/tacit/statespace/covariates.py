"""What else is known of each time bin: holidays, weather, traffic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.domain import Domain, TimeAxis
from tacit.errors import SettingError


@dataclass(frozen=True, slots=True, eq=False)
class Covariates:
    """Named numbers for the bins of a time axis, past and future; NaN where one is missing.

    The axis starts where the series' does and goes on as far as values are known: what a forecast needs beyond it is
    unknown. ``columns`` have a number for each bin (bins,) or for each bin and place (bins, places). ``notes`` say what
    a reader of a forecast must know of them.
    """

    time: TimeAxis
    columns: Mapping[str, FloatArray]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def check_starts_with(self, domain: Domain) -> None:
        """Refuse a series that starts elsewhere, or has other places."""
        ours, theirs = ((axis.start, axis.step, axis.zone) for axis in (self.time, domain.time))
        if ours != theirs:
            raise SettingError(
                f"covariates must have the time axis of the series, {theirs[1]}s from {theirs[0]} in {theirs[2]}; got "
                f"{ours[1]}s from {ours[0]} in {ours[2]}. Make them for the axis of the series."
            )
        for name, column in self.columns.items():
            if column.ndim == 2 and column.shape[1] != domain.place.n_cells:
                raise SettingError(
                    f"a covariate by place must have the {domain.place.n_cells} places of the series; "
                    f"got {column.shape[1]} for {name}."
                )

    def joined(self, *others: Covariates) -> Covariates:
        """All columns together; the axis reaches as far as the longest of them."""
        columns, notes, longest = dict(self.columns), self.notes, self.time
        for other in others:
            if (other.time.start, other.time.step, other.time.zone) != (longest.start, longest.step, longest.zone):
                raise SettingError("covariates must have the same time axis to be joined. Make them for one series.")
            twice = [name for name in other.columns if name in columns]
            if twice:
                raise SettingError(f"covariates must have different names; got {', '.join(twice)} twice. Rename one.")
            columns |= other.columns
            notes += other.notes
            longest = other.time if (other.time.n_bins or 0) > (longest.n_bins or 0) else longest
        return Covariates(longest, columns, notes)

    def rows(self, first: int, stop: int) -> dict[str, FloatArray]:
        """The columns from bin ``first`` up to ``stop``, NaN where the table ends before."""
        found = {}
        for name, column in self.columns.items():
            part = column[first:stop]
            short = stop - first - len(part)
            found[name] = np.concatenate([part, np.full((short, *column.shape[1:]), np.nan)]) if short > 0 else part
        return found
