r"""The square-root factorization in its buffered form, and the algebra of sums of decaying exponentials.

The coefficients of the encoder are :math:`c_0 = 1,\; c_k = \sum_j \omega_j \theta_j^{k-1}` with
:math:`\theta_j = 1 - \kappa_j`. Those of its inverse have the same form: with the eigenvalues :math:`\mu` of
:math:`\mathrm{diag}(\kappa) + u u^\top,\; u_j = \sqrt{\omega_j}`, which are the roots of

.. math:: 1 + \sum_j \frac{\omega_j}{\kappa_j - \mu} = 0, \qquad g = \Bigl(\sum_j \frac{\omega_j}{(\kappa_j - \mu)^2}
          \Bigr)^{-1},

they are :math:`1, -\sum_j g_j (1 - \mu_j)^{k-1}`, and the coefficients of the decoder, their running sums, are

.. math:: b_k = \beta + \sum_j h_j (1 - \mu_j)^k, \qquad h_j = g_j / \mu_j, \qquad \beta = 1 - \sum_j h_j.

Noise is drawn on a grid of whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.continual_noise.model import bounds_to_dict, check_horizon, check_ranges
from tacit.counts.node_distributions import DiscreteGaussian
from tacit.errors import SettingError
from tacit.privacy.cost import Cost

_HALVINGS: Final = 64  # of an interval: as many as a float has bits


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
        """Return whether noise fades rather than growing without bound."""
        return bool(self.inverse_decays[-1] < 2)

    @property
    def decoder_weights(self) -> FloatArray:
        return self.inverse_weights / self.inverse_decays

    @property
    def floor(self) -> float:
        """The part beta of the decoder that never fades."""
        return float(1 / (1 + (self.weights / self.decays).sum()))

    def inverse_coefficients(self, count: int) -> FloatArray:
        """Return the first coefficients of the inverse."""
        powers = _powers(self.inverse_decays, np.arange(max(count - 1, 0)))
        return np.concatenate([np.ones(min(count, 1)), -(powers @ self.inverse_weights)])

    def encoder_sums(self, count: int) -> tuple[float, float]:
        """Return the sum of the coefficients 1 .. count - 1 of the encoder, and that of their squares."""
        n = np.array([count - 1.0])
        first = (self.weights * _geometric(self.decays, n)[0]).sum()
        return float(first), float(_squares(self.decays, self.weights[None, :], n)[0])

    def encoder_products(self, count: int, n_lags: int) -> FloatArray:
        r"""Return at most the products of the encoder's columns that lie 0 .. ``n_lags`` bins apart.

        .. math:: g_l = \sum_{k < \text{count}} c_k c_{k + l}
        """
        lags = np.arange(1.0, n_lags + 1)
        fading = np.log1p(-self.decays)
        both = self.decays[:, None] + self.decays - self.decays[:, None] * self.decays  # of (1 - a)(1 - b)
        sums = _geometric(both.ravel(), np.array([count - 1.0])).reshape(both.shape)
        inner = self.weights * (self.weights @ sums)
        later = np.exp(lags[:, None] * fading) @ inner + np.exp((lags - 1)[:, None] * fading) @ self.weights
        return np.append(1 + inner.sum(), later)

    def decoder_squares(self, counts: FloatArray) -> FloatArray:
        """Return the sum of the squares of the first coefficients of the decoder, for many counts at once."""
        weights, floor = self.decoder_weights, self.floor
        single = _geometric(self.inverse_decays, counts) @ weights
        return counts * floor**2 + 2 * floor * single + _squares(self.inverse_decays, weights[None, :], counts)

    def range_squares(self, first: FloatArray, length: FloatArray) -> FloatArray:
        r"""Return the squared length of the difference of two rows of the decoder, ``length`` totals apart.

        .. math:: \sum_{k < d} b_k^2 + \sum_{k < a} (b_{k + d} - b_k)^2
        """
        faded = self.decoder_weights * (_powers(self.inverse_decays, length) - 1)
        return self.decoder_squares(length) + _squares(self.inverse_decays, faded, first)


def _powers(decays: FloatArray, exponents: IntArray | FloatArray) -> FloatArray:
    """Return (1 - decay) ** exponent, a row for each exponent."""
    powers: FloatArray = np.power((1 - decays)[None, :], np.asarray(exponents, np.float64)[:, None])
    return powers


def _geometric(decays: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the sum of the first powers of 1 - decay, a row for each count; no digits are lost to small decays."""
    positive = decays < 1
    logs = np.log1p(-np.where(positive, decays, 0.5))
    smooth = -np.expm1(counts[:, None] * logs[None, :])
    sums: FloatArray = np.where(positive[None, :], smooth, 1 - _powers(decays, counts)) / decays[None, :]
    return sums


def _squares(decays: FloatArray, weights: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the sum of the squares of sum_j weight_j (1 - decay_j)**k over k < count, a row for each count."""
    total = np.zeros(len(counts))
    for own in range(len(decays)):
        products = decays[own] + decays - decays[own] * decays  # of (1 - a)(1 - b)
        total += (weights * weights[:, own : own + 1] * _geometric(products, counts)).sum(axis=1)
    return total


DIGITS: Final = 16
"""The binary digits of a decay or weight; with 46 of a buffer, a product fits in two words."""

_LARGEST_SHIFT: Final = 62  # shifts stay below the 63 bits of a whole number
_MOST_BUFFERS: Final = 64  # the longest tuned stream needs 11; a file that asks for more is refused
_MOST_BITS: Final = 20  # of grid and of guard: a buffer of 2**21 counts still fits in 61 bits
# more than the floats of the sums may have lost: 2**12 times their last digit
_MARGIN: Final = 1 + Fraction(1, 1 << 40)


@dataclass(frozen=True)
class BufferedRoot:
    r"""Totals whose noise is taken back later: the square root of the all-sums matrix, as a sum of exponentials.

    .. math:: w_t = z_t - \sum_j \omega_j S_j, \qquad S_j \leftarrow \theta_j S_j + w_t, \qquad
              \text{published}_t = \sum_{i \le t} (x_i + w_i)

    so that :math:`z = C(w)` with the encoder's coefficients :math:`c_0 = 1,\; c_k = \sum_j \omega_j \theta_j^{k-1}`.
    Every quantity is a whole number of 1/``grid`` (buffers have ``guard_bits`` digits more), :math:`\theta_j = 1 - n_j
    2^{-q_j}` and :math:`\omega_j = m_j 2^{-p_j}` are given by whole numbers (n, q) and (m, p), and both products are
    rounded. Given the counts, what is published tells z and z tells what is published; one more count at bin i moves z
    by :math:`c_{t-i}` and at most ``slack`` units of the grid, which is what all rounding together can do.

    Privacy:   rho-zCDP exactly, for noise of variance
               :math:`\sum_k (m^2 c_k^2 + 2 m c_k s + m s^2) / 2 \rho` with the slack s and m counts a unit; less where
               a cell has at most ``most_per_cell`` of them. Also when the stream reacts to what was published.
    Error:     variance sigma^2 sum_{k<t} b_k^2 for the total t, with the decoder b of the exponentials.
    Cost:      one noise a bin; one buffer for each exponential to keep.
    Reference: Fichtenberger2023, Henzinger2023 (the square root); McMahan2024, Dvijotham2024 (buffers).
    """

    kind: ClassVar[str] = "buffered root"
    is_causal: ClassVar[bool] = True
    excess_kurtosis: ClassVar[float] = 0.0

    horizon: int
    cost: Cost
    decays: tuple[tuple[int, int], ...]
    weights: tuple[tuple[int, int], ...]
    grid_bits: int = 16
    guard_bits: int = 8
    most: int = 1
    most_per_cell: int = 0

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_at_least(1, most=self.most, buffers=len(self.decays))
        if len(self.decays) > _MOST_BUFFERS or max(self.grid_bits, self.guard_bits) > _MOST_BITS:
            raise SettingError(
                f"a buffered root has at most {_MOST_BUFFERS} buffers, and {_MOST_BITS} bits of grid and of guard; got "
                f"{len(self.decays)}, {self.grid_bits} and {self.guard_bits}. Make it with tune."
            )
        check_at_least(0, grid_bits=self.grid_bits, guard_bits=self.guard_bits, most_per_cell=self.most_per_cell)
        if not self.cost.rho or self.cost.epsilon:
            raise SettingError(f"a buffered root costs a rho; got cost={self.cost}. Use Cost.zcdp(rho).")
        for mantissa, shift in (*self.decays, *self.weights):
            if not (0 < mantissa < 1 << DIGITS and DIGITS <= shift <= _LARGEST_SHIFT):
                raise SettingError("decays and weights must be fractions of 16 digits below 1. Make them with tune.")
        sizes = [Fraction(mantissa, 1 << shift) for mantissa, shift in self.decays]
        if len(self.weights) != len(sizes) or sorted(set(sizes)) != sizes or not self.exponentials.is_stable:
            raise SettingError("decays must increase, have a weight each, and be stable. Make them with tune.")

    @property
    def grid(self) -> int:
        return 1 << self.grid_bits

    @cached_property
    def exponentials(self) -> Exponentials:
        return Exponentials(*(np.array([math.ldexp(n, -q) for n, q in part]) for part in (self.decays, self.weights)))

    @cached_property
    def slack(self) -> Fraction:
        """Return how far rounding can move the effect of a unit on one noise, in units of the grid.

        The roundings of a buffer's decay, with and without the unit, differ by less than 1 a step, which fades with the
        decay; each product with a weight adds less than 1, all in units of 1/2**guard_bits; rounding to the grid adds
        less than 1.
        """
        pairs = zip(self.decays, self.weights, strict=True)
        piled = sum((Fraction(m << q, n << p) for (n, q), (m, p) in pairs), Fraction())
        return 1 + (piled + len(self.decays)) / (1 << self.guard_bits)

    @cached_property
    def squared_sensitivity(self) -> Fraction:
        """A bound on the squared length of what one unit does to the noises, in units of the grid."""
        first, squares = (Fraction(s) * _MARGIN for s in self.exponentials.encoder_sums(self.horizon))
        rounded = self.most * self.slack**2 * (self.horizon - 1)
        crossed = 2 * self.slack * self.grid * self.most
        in_one_bin = self.grid**2 * self.most**2 * (1 + squares) + crossed * first + rounded
        if not 0 < self.most_per_cell < self.most or self.exponentials.weights.sum() > 1:
            return in_one_bin
        # in as many bins in a row as it takes
        n_full, rest = divmod(self.most, self.most_per_cell)
        products = self.exponentials.encoder_products(self.horizon, n_full)
        full = np.append(n_full, 2 * np.arange(n_full - 1.0, -1, -1)) * products
        straight = (
            self.most_per_cell**2 * Fraction(math.fsum(full))
            + 2 * self.most_per_cell * rest * Fraction(math.fsum(products[1:]))
            + rest**2 * Fraction(products[0])
        )
        return min(in_one_bin, self.grid**2 * straight * _MARGIN + crossed * (1 + first) + rounded)

    @cached_property
    def node_noise(self) -> DiscreteGaussian:
        return DiscreteGaussian(self.squared_sensitivity / (2 * Fraction(self.cost.rho)))

    @property
    def is_grainy(self) -> bool:
        return self.node_noise.variance < 1

    @property
    def variance(self) -> float:
        """The variance of one noise, in counts."""
        return self.node_noise.variance / self.grid**2

    def range_variances(self, first: IntArray, stop: IntArray) -> FloatArray:
        first, stop = check_ranges(first, stop, self.horizon)
        shape = first.shape
        lengths = (stop - first).astype(np.float64).ravel()
        squares = self.exponentials.range_squares(first.astype(np.float64).ravel(), lengths)
        return self.variance * squares.reshape(shape)

    def range_cumulants(self, first: IntArray, stop: IntArray) -> FloatArray:
        return np.zeros_like(self.range_variances(first, stop))

    def loads(self, weights: FloatArray) -> FloatArray:
        n_bins = len(weights)
        size = 1 << (2 * n_bins).bit_length()
        kernel = np.fft.rfft(self.exponentials.inverse_coefficients(n_bins), size)
        spectrum = np.conj(kernel)[:, None] * np.fft.rfft(weights, size, axis=0)
        return np.fft.irfft(spectrum, size, axis=0)[:n_bins] * math.sqrt(self.variance)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "horizon": self.horizon,
            "cost": self.cost.to_dict(),
            "decays": [list(pair) for pair in self.decays],
            "weights": [list(pair) for pair in self.weights],
            "grid_bits": self.grid_bits,
            "guard_bits": self.guard_bits,
        } | bounds_to_dict(self.most, self.most_per_cell)
