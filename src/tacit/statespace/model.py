"""The model of smoothing: how much shares vary, by which habits, and what that makes of the variances of counts."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit.counts.measured import Measured
from tacit.counts.noise.tree import TreeNoise
from tacit.statespace.calendar import DAYS_A_YEAR, Seasons
from tacit.statespace.state_space import StateSpace

_LEAST_FRACTION: Final = 0.05
_WIDE: Final = 4.0
_BURST_WINDOW: Final = 43
_BURST_SCORE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Variability:
    """How shares vary: deviations relative to the share.

    ``drift`` of the level in a year; ``wander`` around it, forgotten in about ``memory`` days; ``weekday`` and
    ``season`` the usual size of their terms. ``overdispersion`` is what a day varies more than chance, as in
    Dirichlet-multinomial counts: a share's variance is s (1/N + overdispersion). ``burst`` is the same for the part of
    a day's total that is out of the ordinary. ``chance`` is the variance of a day apart from these, in parts of that of
    chance: 1 for events that know nothing of one another, less for those by timetable.
    """

    drift: float = 0.04
    wander: float = 0.05
    memory: float = 10.0
    weekday: float = 0.04
    season: float = 0.04
    overdispersion: float = 0.0004
    burst: float = 0.2
    chance: float = 1.0

    def logs(self) -> FloatArray:
        return np.asarray(np.log(np.array(astuple(self))), np.float64)

    @classmethod
    def from_logs(cls, logs: FloatArray) -> Variability:
        return cls(*np.exp(logs).tolist())


OF_RATES: Final = Variability(drift=0.08, wander=0.08, weekday=0.08, season=0.08, overdispersion=0.02)
"""Where no total is public, what moves all places alike is in their rates too."""


@dataclass(frozen=True, slots=True)
class Setting:
    """All of the model but its variability: what was measured, when, and where shares are about.

    ``base`` are shares in the long run, ``start`` and ``start_variances`` what is known of the first levels, ``skews``
    the third cumulants of what is open of the shares. ``of_weights`` says that the states are weights whose parts of
    their sum are the shares.
    """

    measured: Measured
    calendar: Seasons
    bursts: FloatArray
    base: FloatArray
    start: FloatArray
    start_variances: FloatArray
    shares: FloatArray
    shocks: FloatArray
    skews: FloatArray | None = None
    of_weights: bool = False

    def model(self, variability: Variability) -> StateSpace:
        """The model of independent places."""
        return self.fixed().model(variability)

    def open_ended(self) -> Setting:
        """The same, as if next to nothing were known of the levels: how they vary is learned without that.

        The prior of levels knows the counts already, which would then speak twice.
        """
        squares = np.square(self.base)
        return replace(self, start=self.base, start_variances=_WIDE * squares + squares.mean())

    def going_on(self, measured: Measured, calendar: Seasons, bursts: FloatArray) -> Setting:
        """The same for another length of the series: after what was learned from shares stay, and no level breaks."""
        n_times, n_places = measured.counts.shape
        n_later = max(n_times - len(self.shares), 0)
        shares = np.concatenate([self.shares, np.broadcast_to(self.shares[-1], (n_later, n_places))])
        shocks = self.shocks
        if shocks.shape != (1, 1):
            shocks = np.concatenate([shocks, np.zeros((n_later, n_places))])[:n_times]
        return replace(
            self, measured=measured, calendar=calendar, bursts=bursts, shares=shares[:n_times], shocks=shocks
        )

    def fixed(self, *, given_sum: bool = False, places: NDArray[np.int64] | None = None) -> Fixed:
        """What does not hang on the variability: of independent places, or of places once their sum is known."""
        measured = self.measured
        errors, shares = measured.errors(self.shares), self.shares
        scale_squared, starts = np.square(self.base), self.start_variances
        if self.of_weights:  # of what a weight moves, its share sees a part: the sum of weights moves with it
            scale_squared = scale_squared * (1 - self.base)
        fractions = np.ones((1, len(starts)))
        if given_sum and measured.is_shared:
            fractions, errors = _fractions(shares), errors * _fractions(errors)
            starts = starts * _fractions(starts[None])[0]
            scale_squared = scale_squared * _fractions(scale_squared[None])[0]
        chosen = slice(None) if places is None else places
        return Fixed(
            measured.exposures,
            self.calendar,
            self.bursts,
            shares[:, chosen],
            fractions[:, chosen],
            errors[:, chosen],
            scale_squared[chosen],
            starts[chosen],
            self.shocks if self.shocks.shape[1] == 1 else self.shocks[:, chosen],
            measured.error_skew,
            measured.is_shared,
            measured.tree,
        )

    @property
    def observed(self) -> FloatArray:
        """Observed shares less the prior means of their levels; 0 where nothing was seen."""
        exposures = self.measured.exposures[:, None]
        shares = np.divide(
            self.measured.counts, exposures, out=np.zeros(self.measured.counts.shape), where=exposures > 0
        )
        return shares - self.start


@dataclass(frozen=True, slots=True)
class Fixed:
    """All of a model's variances that do not hang on the variability, and the way from that to the model.

    ``fractions`` of the variance of chance are left where the sum of all places is known; ``scale_squared`` are
    squares of the shares that relative deviations are relative to.
    """

    exposures: FloatArray
    calendar: Seasons
    bursts: FloatArray
    shares: FloatArray
    fractions: FloatArray
    errors: FloatArray
    scale_squared: FloatArray
    starts: FloatArray
    shocks: FloatArray
    error_skew: float
    is_shared: bool
    tree: TreeNoise | None = None

    def model(self, variability: Variability) -> StateSpace:
        steps = variability.drift**2 * self.calendar.step_days / DAYS_A_YEAR
        series = np.stack([self.starts, self.scale_squared * steps, self.scale_squared * variability.wander**2], axis=1)
        of_kind = {"weekday": variability.weekday**2, "season": variability.season**2}
        coefficients = self.scale_squared[:, None] * np.array([of_kind[kind] for kind in self.calendar.kinds])[None, :]
        return StateSpace(
            exposures=self.exposures,
            process_variance=self.deviations(variability),
            noise_variance=self.errors,
            regressors=self.calendar.basis,
            state_variances=series,
            phi=float(np.exp(-self.calendar.step_days / variability.memory)),
            coefficient_variances=coefficients,
            shift_variance=self.shocks,
            noise_skew=self.error_skew,
            excess=self.excess(variability),
            tree=self.tree,
        )

    def deviations(self, variability: Variability) -> FloatArray:
        """The variance of realized counts around their expectation."""
        chance = self.exposures[:, None] * self.shares * self.fractions
        return np.asarray(chance * self._times(variability, self.shares), np.float64)

    def excess(self, variability: Variability) -> FloatArray:
        """The part of it that is more than chance, for each time; below 0 if it is less."""
        times = self._times(variability, self.shares.mean(axis=1, keepdims=True))[:, 0]
        return np.asarray(1 - 1 / times, np.float64)

    def _times(self, variability: Variability, shares: FloatArray) -> FloatArray:
        """How many times the variance of chance it is."""
        spread = variability.overdispersion + variability.burst * np.square(self.bursts)
        sizes = self.exposures[:, None] if self.is_shared else shares
        return np.asarray(variability.chance + sizes * spread[:, None], np.float64)


def _fractions(variances: FloatArray) -> FloatArray:
    """What is left of the variances of independent numbers once their sum is known, row by row."""
    total = np.maximum(variances.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(np.maximum(1 - variances / total, _LEAST_FRACTION), np.float64)


def bursts(totals: FloatArray, *, from_past: bool = False) -> FloatArray:
    """The part of each public total that is out of the ordinary: above the median of the weeks around, and chance.

    With ``from_past`` the weeks are those up to each time. Where the series begins, it is mirrored, or its first total
    repeated.
    """
    n_times = len(totals)
    half = min(_BURST_WINDOW, n_times) // 2
    if from_past:
        padded = np.concatenate([np.repeat(totals[:1], 2 * half), totals])
    else:
        padded = np.pad(totals, half, mode="reflect") if half else totals
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    usual = np.median(windows, axis=1)
    excess = totals - usual - _BURST_SCORE * np.sqrt(usual)
    parts = np.divide(np.maximum(excess, 0.0), totals, out=np.zeros(n_times), where=totals > 0)
    return np.asarray(parts, np.float64)
