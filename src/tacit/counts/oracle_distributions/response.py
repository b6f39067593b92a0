"""Distributions of reports that name cells: one of them, or several."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.counts.exact_intervals import NumberDistribution, TwoDistributions
from tacit.counts.oracle_distributions.distribution import OracleDistribution, TwoCoins, scaled_variance, single_cell
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


@dataclass(frozen=True, slots=True)
class SubsetDistribution(OracleDistribution):
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
        return scaled_variance(self, p * weights**2 + q * squares + pairs, p * weights + q * others)

    def coins(self, n_summed: int) -> TwoCoins | None:
        return single_cell(self, n_summed)

    def sum_distributions(self, n_summed: int) -> TwoDistributions | None:
        r"""How many of s cells are named: the others are drawn evenly from k - 1, s - 1 or s of them in the box.

        .. math:: f_{in} = p\,(1 + H(s{-}1, w{-}1)) + (1-p)\,H(s{-}1, w), \qquad
                  f_{out} = p\,H(s, w{-}1) + (1-p)\,H(s, w)

        with the hypergeometric distribution H(a, b) of how many of a marked cells are among b drawn from k - 1.
        """
        if n_summed == self.n_cells:  # as many cells are named whatever is true, and none is outside
            always = NumberDistribution(self.size, (1.0,))
            return TwoDistributions(always, always)
        others, w, p = self.n_cells - 1, self.size, float(self.p)
        distributions = []
        for marked, shift in ((n_summed - 1, 1), (n_summed, 0)):
            mass = np.zeros(w + 1)
            for chance, drawn, named in ((p, w - 1, shift), (1 - p, w, 0)):
                first, drawn_mass = _drawn(others, marked, drawn)
                mass[first + named : first + named + len(drawn_mass)] += chance * drawn_mass
            possible = np.flatnonzero(mass)
            distributions.append(
                NumberDistribution(int(possible[0]), tuple(mass[possible[0] : possible[-1] + 1].tolist()))
            )
        return TwoDistributions(*distributions)


def _drawn(n: int, marked: int, drawn: int) -> tuple[int, FloatArray]:
    """The hypergeometric distribution of how many marked ones are among those drawn: the least number, and the chances.

    No chances where so many cannot be drawn.
    """
    first, last = max(0, drawn - (n - marked)), min(marked, drawn)
    if not 0 <= marked <= n or not 0 <= drawn <= n:
        return 0, np.zeros(0)
    at = np.arange(first, last, dtype=np.float64)
    steps = np.log((marked - at) * (drawn - at)) - np.log((at + 1) * (n - marked - drawn + at + 1))
    logs = np.concatenate(([0.0], np.cumsum(steps)))
    mass = np.exp(logs - logs.max())
    return first, mass / mass.sum()
