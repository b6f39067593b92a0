"""Several cells named."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit.randomness.bernoulli import COIN
from tacit.support_laws.law import FloatArray, Law, TwoCoins, single_cell, spread


@dataclass(frozen=True, slots=True)
class SubsetLaw(Law):
    """``size`` cells named: the true one among them with probability include / 2**64, the others drawn evenly."""

    kind: ClassVar[str] = "subset"
    n_cells: int
    size: int
    include: int

    @property
    def p(self) -> Fraction:
        return Fraction(self.include, COIN)

    @property
    def q(self) -> Fraction:
        return (self.size - self.p) / (self.n_cells - 1)

    @property
    def needs_counts(self) -> bool:
        return True

    def variances(self, weights: FloatArray) -> FloatArray:
        k, s, p, q = self.n_cells, self.size, float(self.p), float(self.q)
        weights = weights - weights.mean()  # as many cells are named whatever happens: what all share adds no noise
        with_true = p * (s - 1) / (k - 1)
        two_others = (p * (s - 1) * (s - 2) + (1 - p) * s * (s - 1)) / ((k - 1) * (k - 2)) if k > 2 else 0.0
        others, squares = weights.sum() - weights, (weights**2).sum() - weights**2
        pairs: FloatArray = 2 * with_true * weights * others + two_others * (others**2 - squares)
        return spread(self, p * weights**2 + q * squares + pairs, p * weights + q * others)

    def coins(self, n_summed: int) -> TwoCoins | None:
        return single_cell(self, n_summed)
