"""The square-root factorization in its buffered form, on a grid of whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.continual_noise.exponentials import Exponentials
from tacit.counts.continual_noise.model import NodeNoise, check_horizon, check_ranges
from tacit.errors import SettingError
from tacit.privacy.cost import Cost

DIGITS: Final = 16
"""The binary digits of a decay or weight; with 46 of a buffer, a product fits in two words."""

_LARGEST_SHIFT: Final = 62
_MOST_BUFFERS: Final = 64
_MOST_BITS: Final = 20
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
               :math:`\sum_k (m^2 c_k^2 + 2 m c_k s + m s^2) / 2 \rho` with the slack s and m counts a unit. Also when
               the stream reacts to what was published.
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

    def __post_init__(self) -> None:
        check_horizon(self.horizon)
        check_at_least(1, most=self.most, buffers=len(self.decays))
        if len(self.decays) > _MOST_BUFFERS or max(self.grid_bits, self.guard_bits) > _MOST_BITS:
            raise SettingError(
                f"a buffered root has at most {_MOST_BUFFERS} buffers, and {_MOST_BITS} bits of grid and of guard; got "
                f"{len(self.decays)}, {self.grid_bits} and {self.guard_bits}. Make it with tune."
            )
        check_at_least(0, grid_bits=self.grid_bits, guard_bits=self.guard_bits)
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
        """How far rounding can move the effect of a unit on one noise, in units of the grid.

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
        straight = self.grid**2 * self.most**2 * (1 + squares)
        crossed = 2 * self.slack * self.grid * self.most * first
        return straight + crossed + self.most * self.slack**2 * (self.horizon - 1)

    @cached_property
    def node_noise(self) -> NodeNoise:
        return NodeNoise(True, self.squared_sensitivity / (2 * Fraction(self.cost.rho)))

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
            "most": self.most,
        }
