"""A column of a Hadamard matrix named."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.kernels import hadamard_plain
from tacit.counts.oracle_distributions.distribution import OracleDistribution, TwoCoins, single_cell
from tacit.randomness.bernoulli import COIN


@dataclass(frozen=True, slots=True)
class HadamardDistribution(OracleDistribution):
    r"""A column named: with probability keep / 2**64 from the half that supports the truth, else from all of them.

    Cell v is supported by the columns with +1 in row v + 1 of the Hadamard matrix of order K = 2**n_bits > k. Any two
    rows agree in half of the columns, and a product of two rows is a row again, so with :math:`\kappa` = keep / 2**64

    .. math:: V_u(w) = \frac{1}{\kappa^2}\Bigl(\sum_v w_v^2 + \kappa \sum_{a \oplus b = u + 1} w_{a-1} w_{b-1}\Bigr)
              - w_u^2

    where a and b run over the rows of cells: all u at once by two fast transforms.
    """

    kind: ClassVar[str] = "hadamard"
    n_cells: int
    keep: int

    @property
    def n_bits(self) -> int:
        return self.n_cells.bit_length()

    @property
    def p(self) -> Fraction:
        return Fraction(COIN + self.keep, 2 * COIN)

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def needs_counts(self) -> bool:
        return True

    def variances(self, weights: FloatArray) -> FloatArray:
        kept, order = self.keep / COIN, 1 << self.n_bits
        rows = np.zeros(order)
        rows[1 : self.n_cells + 1] = weights
        hadamard_plain.transform(rows)
        rows **= 2
        hadamard_plain.transform(rows)
        pairs = rows[1 : self.n_cells + 1] / order
        variances: FloatArray = ((weights**2).sum() + kept * pairs) / kept**2 - weights**2
        return np.maximum(variances, 0.0)  # what rounding leaves below zero

    def coins(self, n_summed: int) -> TwoCoins | None:
        return single_cell(self, n_summed)
