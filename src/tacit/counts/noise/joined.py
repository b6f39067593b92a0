"""The noise of neighbouring periods that were measured one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.validation import check_share
from tacit.counts.noise.model import Noise
from tacit.counts.noise.quantiles import VarianceGammaNoise
from tacit.domain import Grouping
from tacit.errors import SettingError


@dataclass(frozen=True, eq=False)
class JoinedNoise(VarianceGammaNoise):
    """Independent parts, one after another in time, over the same columns.

    The moments of an answer are the sums of those of the parts. A question about one part has that part's interval.
    """

    parts: tuple[VarianceGammaNoise, ...]

    def __post_init__(self) -> None:
        if len({part.shape[1] for part in self.parts}) != 1:
            raise SettingError("parts must be one or more, of the same places and kinds.")

    @classmethod
    def of(cls, noises: Iterable[Noise]) -> JoinedNoise:
        """Join noise of one period after another; what was joined before is taken apart again."""
        parts: list[VarianceGammaNoise] = []
        for noise in noises:
            if not isinstance(noise, VarianceGammaNoise):
                raise SettingError("parts must be noise of a curator's counts.")
            parts += noise.parts if isinstance(noise, JoinedNoise) else (noise,)
        return cls(tuple(parts))

    @cached_property
    def shape(self) -> tuple[int, int]:
        return sum(part.shape[0] for part in self.parts), self.parts[0].shape[1]

    def _slices(self) -> list[slice]:
        """Return the times of every part."""
        ends = np.cumsum([part.shape[0] for part in self.parts]).tolist()
        return [slice(first, end) for first, end in zip([0, *ends[:-1]], ends, strict=True)]

    def interval(self, value: float, weights: FloatArray, level: float) -> tuple[float, float]:
        asked = [(part, weights[times]) for part, times in zip(self.parts, self._slices(), strict=True)]
        touched = [(part, own) for part, own in asked if np.any(own)]
        if len(touched) == 1:
            return touched[0][0].interval(value, touched[0][1], level)
        return super().interval(value, weights, level)

    def standard_errors(self) -> FloatArray:
        return np.concatenate([part.standard_errors() for part in self.parts])

    def intervals(self, values: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
        check_share(level=level)
        limits = [part.intervals(values[times], level) for part, times in zip(self.parts, self._slices(), strict=True)]
        lower, upper = (np.concatenate(side) for side in zip(*limits, strict=True))
        return lower, upper

    def scaled(self, budget: Fraction) -> Noise | None:
        parts = [scaled for part in self.parts if (scaled := part.scaled(budget)) is not None]
        return JoinedNoise.of(parts) if len(parts) == len(self.parts) else None

    def browser_moments(self, level: float) -> dict[str, Any] | None:
        parts = [part.browser_model(level) for part in self.parts]
        return (
            None if None in parts else {"kind": "joined", "parts": parts, "n_times": [p.shape[0] for p in self.parts]}
        )

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "joined", "parts": [part.to_dict() for part in self.parts]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Noise]) -> JoinedNoise:
        """Read it back; ``read`` reads the noise of each part, whichever it is."""
        return cls.of(map(read, content["parts"]))

    def _moments(self, weights: FloatArray) -> tuple[float, float]:
        if np.shape(weights) != self.shape:
            raise SettingError(f"weights must have shape {self.shape}; got shape={np.shape(weights)}.")
        moments = [part._moments(weights[times]) for part, times in zip(self.parts, self._slices(), strict=True)]
        variances, cumulants = zip(*moments, strict=True)
        return sum(variances), sum(cumulants)

    def _sum_moments(self, grouping: Grouping) -> tuple[FloatArray, FloatArray] | None:
        variances, cumulants = np.zeros(grouping.shape), np.zeros(grouping.shape)
        for part, times in zip(self.parts, self._slices(), strict=True):
            first, *_, last = own = grouping.time[times]
            n_own = int(last - first) + 1
            sizes = (n_own, *grouping.sizes[1:])
            moments = part._sum_moments(replace(grouping, time=own - first, sizes=sizes))
            if moments is None or not (np.diff(own) >= 0).all():
                return None
            variances[first : last + 1] += moments[0]
            cumulants[first : last + 1] += moments[1]
        return variances, cumulants

    @property
    def _errs_by_whole_numbers(self) -> bool:
        return all(part._errs_by_whole_numbers for part in self.parts)

    @property
    def _is_grainy(self) -> bool:
        return any(part._is_grainy for part in self.parts)

    @property
    def _largest_smooth_kurtosis(self) -> float:
        return min(part._largest_smooth_kurtosis for part in self.parts)
