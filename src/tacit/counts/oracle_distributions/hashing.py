"""Distributions of reports that name a hash value, or a column of a Hadamard matrix."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.galois import LARGEST_DEGREE, form_blocks, walsh_hadamard
from tacit._base.kernels import hadamard_plain
from tacit._base.validation import check_at_least
from tacit.counts.oracle_distributions.distribution import OracleDistribution, TwoCoins, scaled_variance, single_cell
from tacit.errors import SettingError
from tacit.randomness.bernoulli import COIN

_NUMBERS_AT_ONCE: Final = 1 << 20  # 8 MiB of sums


@dataclass(frozen=True, slots=True)
class HashingDistribution(OracleDistribution):
    r"""One of g = 2**bits hash values named: the truth's with probability keep / 2**64, else one drawn from all.

    The report is a random element a of the field of 2**m elements and a value z; it supports the cells v with
    T(a v) = z, where T takes the ``bits`` highest bits. Any two cells meet in a value with probability 1/g, so

    .. math:: p = \kappa + \frac{1 - \kappa}{g}, \qquad q = \frac1g, \qquad \kappa = \frac{\text{keep}}{2^{64}}.

    Three cells need not be independent, so the variance of a question is computed from the family itself. With
    :math:`W_a(z)` the sum of the weights of all cells that a sends to z,

    .. math:: \mathrm{E}_u\Bigl[\bigl(\textstyle\sum_v w_v 1_v\bigr)^2\Bigr]
              = \mathrm{E}_a\Bigl[\kappa\, W_a(T(a u))^2 + \frac{1-\kappa}{g} \sum_z W_a(z)^2\Bigr].

    The second part has a closed form, because any two cells are independent. The first is a sum over the whole
    field, for all u at once through Walsh–Hadamard transforms: O(2**m g log g), exact.
    """

    kind: ClassVar[str] = "hashing"
    n_cells: int
    bits: int
    keep: int

    def __post_init__(self) -> None:
        check_at_least(2, n_cells=self.n_cells)
        check_at_least(1, bits=self.bits)
        if self.degree > LARGEST_DEGREE or not 0 < self.keep < COIN:
            raise SettingError("n_cells, bits and keep must make a hash with a field. Make it from epsilon.")

    @property
    def degree(self) -> int:
        """The degree m of the field."""
        return field_degree(self.n_cells, self.bits)

    @property
    def p(self) -> Fraction:
        return self.q + Fraction(self.keep, COIN) * (1 - self.q)

    @property
    def q(self) -> Fraction:
        return Fraction(1, 1 << self.bits)

    @property
    def needs_counts(self) -> bool:
        return True

    def variances(self, weights: FloatArray) -> FloatArray:
        q, kept = float(self.q), self.keep / COIN
        total, squares = float(weights.sum()), float((weights**2).sum())
        drawn = q * (q * total**2 + (1 - q) * squares)
        square: FloatArray = kept * self._squares_at_truth(weights) + (1 - kept) * drawn
        mean: FloatArray = q * total + float(self.p - self.q) * weights
        return scaled_variance(self, square, mean)

    def coins(self, n_summed: int) -> TwoCoins | None:
        return single_cell(self, n_summed)

    def _squares_at_truth(self, weights: FloatArray) -> FloatArray:
        """The mean over a of W_a(T(a u))**2, for every true cell u."""
        size, g = 1 << self.degree, 1 << self.bits
        if size == g:  # only a = 0 sends two cells to one value
            alone: FloatArray = (weights.sum() ** 2 + (size - 1) * weights**2) / size
            return alone
        transform = np.zeros(size)
        transform[: self.n_cells] = weights
        walsh_hadamard(transform)
        gathered = np.zeros(size)
        for _, vectors in form_blocks(self.degree, self.bits, _NUMBERS_AT_ONCE):
            sums = transform[vectors]
            walsh_hadamard(sums)  # now g W_a(z), a row for each z
            sums *= sums
            walsh_hadamard(sums)
            gathered += np.bincount(vectors.ravel(), weights=sums.ravel(), minlength=size)
        walsh_hadamard(gathered)
        return gathered[: self.n_cells] / (float(g) ** 3 * size)


def field_degree(n_cells: int, bits: int) -> int:
    """Return the least m such that 2**m elements tell all cells apart and have enough bits.

    >>> field_degree(17, 2), field_degree(16, 2), field_degree(2, 8)
    (5, 4, 8)
    """
    return max((n_cells - 1).bit_length(), bits)


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
