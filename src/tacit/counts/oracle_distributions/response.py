"""One cell named."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit._base.arrays import FloatArray
from tacit.counts.oracle_distributions.distribution import OracleDistribution, TwoCoins, scaled_variance
from tacit.randomness.bernoulli import COIN


@dataclass(frozen=True, slots=True)
class ResponseDistribution(OracleDistribution):
    """One cell named: the truth is kept with probability keep / 2**64, else a cell is drawn from all of them."""

    kind: ClassVar[str] = "response"
    n_cells: int
    keep: int

    @property
    def p(self) -> Fraction:
        return Fraction(self.keep, COIN) + self.q

    @property
    def q(self) -> Fraction:
        return Fraction(COIN - self.keep, COIN * self.n_cells)

    @property
    def needs_counts(self) -> bool:
        return True

    def variances(self, weights: FloatArray) -> FloatArray:
        p, q = float(self.p), float(self.q)
        weights = weights - weights.mean()  # one cell is named whatever happens: what all weights share adds no noise
        square: FloatArray = q * (weights**2).sum() + (p - q) * weights**2
        mean: FloatArray = q * weights.sum() + (p - q) * weights
        return scaled_variance(self, square, mean)

    def coins(self, n_summed: int) -> TwoCoins | None:
        if n_summed == self.n_cells:
            return None  # every report lies in the sum: there is no coin, and no variance either
        return TwoCoins(self.p + (n_summed - 1) * self.q, n_summed * self.q, 1)
