"""What was published: the running totals after every bin, for anyone to ask."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_share
from tacit.counts.estimate import Answer, Estimate
from tacit.counts.noise import FactorizationNoise
from tacit.counts.provenance import Provenance
from tacit.domain import Box, Domain
from tacit.errors import SettingError
from tacit.mechanisms.continual.stream import Stream
from tacit.plan import CENTRAL, Plan
from tacit.privacy.epsilon import LARGEST_EPSILON
from tacit.privacy.guarantee import Guarantee

_CAUSAL: Final = "differences of running totals"
_AHEAD: Final = (
    "differences of running totals with noise drawn ahead, which protects only events that do not react to what is "
    "published"
)


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The published totals of a stream, a row for each bin, in units of 1/``stream.noise_model.grid``.

    Every answer is a difference of two published totals, so that the same question has the same answer and parts add
    up: what holds for [a, b) and [b, c) adds to what holds for [a, c), to the last digit.
    """

    stream: Stream
    totals: IntArray

    def __post_init__(self) -> None:
        if self.totals.ndim != 2 or self.totals.shape[1] != self.stream.n_places:
            raise SettingError(f"totals must have {self.stream.n_places} places; got shape={self.totals.shape}.")
        self.totals.flags.writeable = False

    @classmethod
    def empty(cls, stream: Stream) -> History:
        return cls(stream, np.empty((0, stream.n_places), np.int64))

    def extended(self, published: IntArray) -> History:
        """With the totals of more bins."""
        return History(self.stream, np.concatenate([self.totals, published.reshape(-1, self.stream.n_places)]))

    def __repr__(self) -> str:
        label = ", simulation" if self.stream.is_simulation else ""
        return f"History({self.n_bins} bins x {self.stream.n_places} places, {self.stream.noise_model.cost}{label})"

    @property
    def n_bins(self) -> int:
        return len(self.totals)

    @property
    def domain(self) -> Domain:
        """The domain of the bins so far."""
        if not self.n_bins:
            raise SettingError("nothing was counted yet, so there is nothing to ask. Add the counts of a bin first.")
        return self.stream.domain.with_end(self.n_bins)

    def counts(self, first: IntArray, stop: IntArray) -> FloatArray:
        """The published counts of bins ``first`` .. ``stop`` - 1, for many ranges at once; a column for each place."""
        first, stop = np.broadcast_arrays(np.atleast_1d(first), np.atleast_1d(stop))
        if not ((first >= 0) & (first <= stop) & (stop <= self.n_bins)).all():
            raise SettingError(f"every range must run forward within the {self.n_bins} bins so far. Swap or cut it.")
        totals = np.concatenate([np.zeros((1, self.stream.n_places), np.int64), self.totals])
        counts: FloatArray = (totals[stop] - totals[first]) / self.stream.noise_model.grid
        return counts

    def answer(
        self,
        first: str | None = None,
        last: str | None = None,
        places: list[str] | None = None,
        *,
        level: float = 0.95,
    ) -> Answer:
        """How many events there were from ``first`` to ``last``, both included, in these places; all if left out."""
        return self.answer_box(self.domain.box(first, last, places), level=level)

    def answer_box(self, box: Box, *, level: float = 0.95) -> Answer:
        """How many events there were in a box."""
        check_share(level=level)
        weights = box.weights(self.domain)
        noise = self.noise()
        first, stop = np.array([box.time.start]), np.array([box.time.stop])
        value = float(self.counts(first, stop)[0, list(box.places)].sum())
        lower, upper = noise.interval(value, weights, level)
        variance = float(self.stream.noise_model.range_variances(first, stop)[0]) * len(box.places)
        return Answer(value, math.sqrt(variance), lower, upper, level, box, self.stream.is_simulation)

    def noise(self) -> FactorizationNoise:
        """The noise of the counts of all bins so far."""
        return FactorizationNoise(self.stream.noise_model, self.domain.shape)

    def plan(self, *, delta: float = 0.0) -> Plan:
        """What was agreed, as a release says it. Gaussian noise has an epsilon only together with a ``delta``."""
        stream, cost = self.stream, self.stream.noise_model.cost
        if not delta and not cost.is_pure:
            raise SettingError(
                "delta must be given where Gaussian noise was used; got none. Take one far below 1 in the number of "
                "people, such as 1e-6."
            )
        if cost.rho and cost.epsilon_at(delta) > LARGEST_EPSILON:
            raise SettingError(
                f"delta must be such that {cost} amounts to an epsilon of at most {LARGEST_EPSILON:g}; got "
                f"delta={delta:g}. Take a larger one, up to 1 in ten times the number of people."
            )
        return Plan(
            domain=self.domain,
            mechanism="counter",
            epsilon=cost.epsilon_at(delta) if cost.rho else cost.epsilon,
            thresholds=(),
            private=("time", "place"),
            unit=stream.unit.name,
            neighbors=CENTRAL,
            most=stream.unit.most,
            rho=cost.rho,
            delta=delta if cost.rho else 0.0,
        )

    def restated(self, prior: Guarantee, *, ledger_heads: tuple[str, ...]) -> History:
        """The same totals when all other entries about the events promise ``prior``, as the ledger of this head tells.

        The history itself says what they had promised when the counter was started.
        """
        return History(replace(self.stream, prior=prior, ledger_heads=ledger_heads), self.totals)

    def estimate(self, *, delta: float = 0.0) -> Estimate:
        """The counts of all bins so far as an estimate that knows its errors, under :meth:`plan`."""
        return Estimate(
            domain=self.domain,
            values=np.diff(self.totals, axis=0, prepend=0) / self.stream.noise_model.grid,
            noise=self.noise(),
            totals=None,
            steps=(_CAUSAL if self.stream.noise_model.is_causal else _AHEAD,),
            provenance=Provenance(
                self.plan(delta=delta).fingerprint,
                self.stream.is_simulation,
                self.stream.prior,
                self.stream.ledger_heads,
            ),
        )
