r"""Sums of decaying exponentials: the algebra of buffered factorizations, in closed form.

The coefficients of the encoder are :math:`c_0 = 1,\; c_k = \sum_j \omega_j \theta_j^{k-1}` with
:math:`\theta_j = 1 - \kappa_j`. Those of its inverse have the same form: with the eigenvalues :math:`\mu` of
:math:`\mathrm{diag}(\kappa) + u u^\top,\; u_j = \sqrt{\omega_j}`, which are the roots of

.. math:: 1 + \sum_j \frac{\omega_j}{\kappa_j - \mu} = 0, \qquad g = \Bigl(\sum_j \frac{\omega_j}{(\kappa_j - \mu)^2}
          \Bigr)^{-1},

they are :math:`1, -\sum_j g_j (1 - \mu_j)^{k-1}`, and the coefficients of the decoder, their running sums, are

.. math:: b_k = \beta + \sum_j h_j (1 - \mu_j)^k, \qquad h_j = g_j / \mu_j, \qquad \beta = 1 - \sum_j h_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray

_HALVINGS: Final = 64


@dataclass(frozen=True, eq=False)
class Exponentials:
    """An encoder of exponentials: their ``decays`` (1 - theta, increasing) and ``weights`` (omega)."""

    decays: FloatArray
    weights: FloatArray

    @cached_property
    def inverse_decays(self) -> FloatArray:
        """The eigenvalues mu, each between a decay and the next: bisection, in distances from the decay below."""
        ceilings = np.append(self.decays[1:], self.decays[-1] + self.weights.sum())
        low, high = np.zeros(len(self.decays)), ceilings - self.decays
        gaps = self.decays[:, None] - self.decays[None, :]  # [term, root]
        with np.errstate(divide="ignore"):
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                above = 1 + (self.weights[:, None] / (gaps - middle)).sum(axis=0) > 0
                low, high = np.where(above, low, middle), np.where(above, middle, high)
        return self.decays + (low + high) / 2

    @cached_property
    def inverse_weights(self) -> FloatArray:
        """The weights g of the inverse."""
        gaps = self.decays[:, None] - self.inverse_decays[None, :]
        weights: FloatArray = 1 / (self.weights[:, None] / gaps**2).sum(axis=0)
        return weights

    @property
    def is_stable(self) -> bool:
        """Whether noise fades rather than growing without bound."""
        return bool(self.inverse_decays[-1] < 2)

    @property
    def decoder_weights(self) -> FloatArray:
        return self.inverse_weights / self.inverse_decays

    @property
    def floor(self) -> float:
        """The part beta of the decoder that never fades."""
        return float(1 / (1 + (self.weights / self.decays).sum()))

    def inverse_coefficients(self, count: int) -> FloatArray:
        """The first coefficients of the inverse."""
        powers = _powers(self.inverse_decays, np.arange(max(count - 1, 0)))
        return np.concatenate([np.ones(min(count, 1)), -(powers @ self.inverse_weights)])

    def encoder_sums(self, count: int) -> tuple[float, float]:
        """The sum of the coefficients 1 .. count - 1 of the encoder, and that of their squares."""
        n = np.array([count - 1.0])
        first = (self.weights * _geometric(self.decays, n)[0]).sum()
        return float(first), float(_squares(self.decays, self.weights[None, :], n)[0])

    def decoder_squares(self, counts: FloatArray) -> FloatArray:
        """The sum of the squares of the first coefficients of the decoder, for many counts at once."""
        weights, floor = self.decoder_weights, self.floor
        single = _geometric(self.inverse_decays, counts) @ weights
        return counts * floor**2 + 2 * floor * single + _squares(self.inverse_decays, weights[None, :], counts)

    def range_squares(self, first: FloatArray, length: FloatArray) -> FloatArray:
        r"""The squared length of the difference of two rows of the decoder: totals ``first`` and ``length`` later.

        .. math:: \sum_{k < d} b_k^2 + \sum_{k < a} (b_{k + d} - b_k)^2
        """
        faded = self.decoder_weights * (_powers(self.inverse_decays, length) - 1)
        return self.decoder_squares(length) + _squares(self.inverse_decays, faded, first)


def _powers(decays: FloatArray, exponents: IntArray | FloatArray) -> FloatArray:
    """(1 - decay) ** exponent, a row for each exponent."""
    powers: FloatArray = np.power((1 - decays)[None, :], np.asarray(exponents, np.float64)[:, None])
    return powers


def _geometric(decays: FloatArray, counts: FloatArray) -> FloatArray:
    """The sum of the first powers of 1 - decay, a row for each count; no digits are lost to small decays."""
    positive = decays < 1
    logs = np.log1p(-np.where(positive, decays, 0.5))
    smooth = -np.expm1(counts[:, None] * logs[None, :])
    sums: FloatArray = np.where(positive[None, :], smooth, 1 - _powers(decays, counts)) / decays[None, :]
    return sums


def _squares(decays: FloatArray, weights: FloatArray, counts: FloatArray) -> FloatArray:
    """The sum of the squares of sum_j weight_j (1 - decay_j)**k over k < count, a row of weights for each count."""
    total = np.zeros(len(counts))
    for own in range(len(decays)):
        products = decays[own] + decays - decays[own] * decays  # of (1 - a)(1 - b)
        total += (weights * weights[:, own : own + 1] * _geometric(products, counts)).sum(axis=1)
    return total
