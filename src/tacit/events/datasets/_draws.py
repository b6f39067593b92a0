"""Uniform, normal, Poisson and other draws for the simulated data sets, the same bits on every machine.

A data set that is frozen must not change with a release of NumPy, so nothing here uses ``np.random``: draws
are made of the words of a seeded source by inversion, with the arithmetic of ``tacit.events.datasets._draws``.
For simulation only: floats decide here, which they never may where privacy depends on a coin.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from math import factorial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_at_least
from tacit.randomness import Randomness, SeededRandomness

Floats = NDArray[np.float64]

# ln 2 in two parts; the first has so few digits that a product with a small whole number is exact
_LN2_HIGH: Final = float.fromhex("0x1.62e42feep-1")
_LN2_LOW: Final = float.fromhex("0x1.a39ef35793c76p-33")
_PER_LN2: Final = float.fromhex("0x1.71547652b82fep+0")
_SQRT_HALF: Final = float.fromhex("0x1.6a09e667f3bcdp-1")
_HALF_PI: Final = float.fromhex("0x1.921fb54442d18p+0")

# so many terms that the next is below the last digit of a double; fewer would change the frozen data
_EXP_TERMS: Final = [float(Fraction(1, factorial(n))) for n in range(15)]
_ATANH_TERMS: Final = [float(Fraction(2, 2 * n + 1)) for n in range(12)]
_COS_TERMS: Final = [float(Fraction((-1) ** n, factorial(2 * n))) for n in range(12)]
_SIN_TERMS: Final = [float(Fraction((-1) ** n, factorial(2 * n + 1))) for n in range(12)]


def exp(x: Floats) -> Floats:
    """Return e to the power of x, for x between -700 and 700."""
    halvings = np.rint(x * _PER_LN2)
    rest = (x - halvings * _LN2_HIGH) - halvings * _LN2_LOW
    return np.ldexp(polynomial(_EXP_TERMS, rest), halvings.astype(np.int32))


def log(x: Floats) -> Floats:
    """Return the natural logarithm of x > 0."""
    mantissa, exponent = np.frexp(x)
    is_low = mantissa < _SQRT_HALF
    mantissa = np.where(is_low, 2.0 * mantissa, mantissa)
    exponent = np.where(is_low, exponent - 1, exponent)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    series = ratio * polynomial(_ATANH_TERMS, ratio * ratio)
    return exponent * _LN2_HIGH + (series + exponent * _LN2_LOW)


def cos_turns(turns: Floats) -> Floats:
    """Return the cosine of an angle given in full turns."""
    folded = np.abs(turns - np.rint(turns))
    # beyond an eighth of a turn the sine of what is left to a quarter is the more exact series
    near = 4.0 * folded * _HALF_PI
    far = (0.25 - folded) * 4.0 * _HALF_PI
    return np.where(folded <= 0.125, polynomial(_COS_TERMS, near * near), far * polynomial(_SIN_TERMS, far * far))


def sin_turns(turns: Floats) -> Floats:
    """Return the sine of an angle given in full turns."""
    return cos_turns(turns - 0.25)


def polynomial(coefficients: Sequence[float], x: Floats) -> Floats:
    """Return the polynomial with these coefficients, lowest power first, by Horner's rule."""
    value = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = value * x + coefficient
    return value


Integers = NDArray[np.int64]


class Draws:
    """Draws from one stream of random words, in the order they are asked for.

    >>> Draws.seeded(25, "example").integers(5, below=10).tolist()
    [4, 6, 5, 6, 0]
    """

    __slots__ = ("_randomness",)

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness

    @classmethod
    def seeded(cls, seed: int, purpose: str) -> Draws:
        """Return a stream of its own for each purpose: one more draw in a part leaves the other parts alone."""
        check_at_least(0, seed=seed)
        digest = hashlib.sha256(f"{purpose} {seed}".encode()).digest()
        return cls(SeededRandomness(int.from_bytes(digest[:16], "big")))

    def uniforms(self, *shape: int) -> Floats:
        """Return uniform numbers strictly between 0 and 1: the midpoints of 2**52 equal steps."""
        words = self._randomness.words(int(np.prod(shape, dtype=np.int64)))
        return (((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52).reshape(shape)

    def normals(self, *shape: int) -> Floats:
        """Return standard normal numbers, by inversion."""
        return normal_quantile(self.uniforms(*shape))

    def exponentials(self, *shape: int) -> Floats:
        """Return exponential numbers of mean 1, by inversion."""
        return -log(self.uniforms(*shape))

    def integers(self, count: int, *, below: int) -> Integers:
        """Return whole numbers from 0 up to but not including ``below``, all alike to one part in 2**52 / below."""
        return np.floor(self.uniforms(count) * below).astype(np.int64)

    def poisson(self, means: Floats) -> Integers:
        """Return Poisson numbers of these means (at most 700): probabilities added up until they pass a uniform."""
        passed = self.uniforms(*means.shape)
        probability = exp(-means)
        reached = probability.copy()
        drawn = np.zeros(means.shape, dtype=np.int64)
        # at ten deviations and more past the mean the probabilities no longer change the sum
        for k in range(1, int(means.max(initial=0.0) * 2 + 100)):
            is_beyond = passed > reached
            if not is_beyond.any():
                break
            probability = probability * means / k
            drawn += is_beyond
            reached = reached + probability
        return drawn

    def categories(self, weights: Floats, rows: Integers) -> Integers:
        """Return, for each entry of ``rows``, a column drawn in proportion to that row of ``weights``."""
        reached = np.cumsum(weights, axis=1)
        passed = self.uniforms(len(rows)) * reached[rows, -1]
        drawn = np.zeros(len(rows), dtype=np.int64)
        for column in range(weights.shape[1] - 1):
            drawn += passed >= reached[rows, column]
        return drawn

    def choices(self, count: int, weights: Floats) -> Integers:
        """Return positions drawn in proportion to ``weights``, with replacement."""
        reached = np.cumsum(weights)
        passed = self.uniforms(count) * reached[-1]
        drawn: Integers = np.searchsorted(reached, passed, side="right").astype(np.int64)
        return np.minimum(drawn, len(weights) - 1)

    def multinomial(self, totals: Integers, weights: Floats) -> Integers:
        """Share out each total over the columns of its row of ``weights``.

        >>> Draws.seeded(1, "example").multinomial(np.array([5, 0]), np.ones((2, 3))).sum(axis=1).tolist()
        [5, 0]
        """
        rows = np.repeat(np.arange(len(totals)), totals)
        n_columns = weights.shape[1]
        cells = rows * n_columns + self.categories(weights, rows)
        return np.bincount(cells, minlength=weights.size).reshape(weights.shape).astype(np.int64)

    def permutation(self, count: int) -> Integers:
        """Return the numbers from 0 to ``count`` - 1 in random order."""
        return np.argsort(self._randomness.words(count), kind="stable").astype(np.int64)


def normal_quantile(share: Floats) -> Floats:
    """Return the point below which a standard normal falls with this probability, strictly between 0 and 1.

    Relative accuracy about 10**-15. Reference: Wichura1988 (algorithm AS 241, PPND16).

    >>> round(float(normal_quantile(np.array(0.975))), 12)
    1.95996398454
    """
    centred = share - 0.5
    middle = 0.180625 - centred * centred
    inner = centred * polynomial(_MIDDLE[0], middle) / polynomial(_MIDDLE[1], middle)
    tail = np.sqrt(-log(np.minimum(share, 1.0 - share)))
    near, far = tail - 1.6, tail - 5.0
    outer = np.where(
        tail <= 5.0,
        polynomial(_NEAR_TAIL[0], near) / polynomial(_NEAR_TAIL[1], near),
        polynomial(_FAR_TAIL[0], far) / polynomial(_FAR_TAIL[1], far),
    )
    return np.where(np.abs(centred) <= 0.425, inner, np.copysign(outer, centred))


# numerator and denominator, lowest power first
_MIDDLE = (
    (3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
     45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227),
    (1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751,
     21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854),
)  # fmt: skip
_NEAR_TAIL = (
    (1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
     1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414),
    (1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851,
     0.14810397642748008, 0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-09),
)  # fmt: skip
_FAR_TAIL = (
    (6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
     0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-05, 2.0103343992922881e-07),
    (1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615,
     0.0007868691311456133, 1.8463183175100548e-05, 1.421511758316446e-07, 2.0442631033899397e-15),
)  # fmt: skip
