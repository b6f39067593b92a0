"""Distributions of independent bits: each through one coin, or through two coins in a row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit._base.arrays import FloatArray
from tacit.counts.oracle_distributions.distribution import OracleDistribution, SupportDistribution, TwoCoins
from tacit.randomness.bernoulli import COIN


@dataclass(frozen=True, slots=True)
class UnaryDistribution(OracleDistribution):
    """Independent bits: the true cell's is one with probability ones / 2**64, any other's with zeros / 2**64."""

    kind: ClassVar[str] = "unary"
    n_cells: int
    ones: int
    zeros: int

    @property
    def p(self) -> Fraction:
        return Fraction(self.ones, COIN)

    @property
    def q(self) -> Fraction:
        return Fraction(self.zeros, COIN)

    @property
    def needs_counts(self) -> bool:
        return self.ones + self.zeros != COIN

    def variances(self, weights: FloatArray) -> FloatArray:
        return _variances_of_bits(self, weights)

    def coins(self, n_summed: int) -> TwoCoins | None:
        return TwoCoins(self.p, self.q, n_summed)


@dataclass(frozen=True, slots=True)
class LongitudinalDistribution(OracleDistribution):
    r"""Independent bits of a first report: a permanent coin flips the true bit, an instantaneous one sends the result.

    With the chances :math:`\varphi` = permanent / 2**64 of a flip, a = ones / 2**64 to send a one for a permanent one
    and b = zeros / 2**64 for a permanent zero, a bit of the report is one with probability

    .. math:: p = (1 - \varphi) a + \varphi b \quad\text{(true cell)}, \qquad q = \varphi a + (1 - \varphi) b.

    These are multiples of 2**-128, so the distribution keeps the three thresholds and not the two chances.
    """

    kind: ClassVar[str] = "longitudinal"
    n_cells: int
    permanent: int
    ones: int
    zeros: int

    @property
    def p(self) -> Fraction:
        return Fraction((COIN - self.permanent) * self.ones + self.permanent * self.zeros, COIN**2)

    @property
    def q(self) -> Fraction:
        return Fraction(self.permanent * self.ones + (COIN - self.permanent) * self.zeros, COIN**2)

    @property
    def needs_counts(self) -> bool:
        return self.ones + self.zeros != COIN

    def variances(self, weights: FloatArray) -> FloatArray:
        return _variances_of_bits(self, weights)

    def coins(self, n_summed: int) -> TwoCoins | None:
        return TwoCoins(self.p, self.q, n_summed)


def _variances_of_bits(distribution: SupportDistribution, weights: FloatArray) -> FloatArray:
    """Return, for every true cell, the variance that independent bits of one report add to the question."""
    p, q = float(distribution.p), float(distribution.q)
    squares = weights**2
    bits: FloatArray = squares.sum() * q * (1 - q) + squares * (p * (1 - p) - q * (1 - q))
    return bits / float(distribution.p - distribution.q) ** 2
