r"""One of several things by the exponential mechanism, exactly.

.. math:: P(i) = \frac{e^{-x_i}}{\sum_j e^{-x_j}}

for rational exponents x. The cumulative probabilities are real numbers, and the draw inverts them with as many digits
as it takes (:func:`tacit.randomness.inversion.settle`): a uniform number is drawn 64 binary digits at a time and
compared with integers that enclose each of them, until it is surely on one side of all. No float takes part, and
nothing is rejected. Of n choices one word does not decide with a probability of about 2n / 2**64.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Final

from tacit.errors import SettingError
from tacit.randomness.inversion import Enclosure, coarser, exp_minus, quotient, settle
from tacit.randomness.source import Randomness

_GUARD_BITS: Final = 64  # by which enclosures are finer than what is asked for


def draw_choice(exponents: Sequence[Fraction], *, randomness: Randomness) -> int:
    """Draw the number of one of the exponents x, with a probability in proportion to exp(-x).

    >>> from tacit.randomness import SeededRandomness
    >>> drawn = [draw_choice([Fraction(0), Fraction(1)], randomness=SeededRandomness(seed)) for seed in range(1000)]
    >>> 640 < drawn.count(0) < 820  # 1000 / (1 + 1/e) is 731
    True
    """
    if not exponents:
        raise SettingError("a choice must have at least one thing to choose; got none.")
    return settle(partial(cumulative, tuple(exponents)), 0, 0, randomness)


def cumulative(exponents: tuple[Fraction, ...], bits: int) -> Iterator[Enclosure]:
    """Enclose the probabilities of the first one, the first two, ... of the choices at so many bits; not of all.

    >>> list(cumulative((Fraction(0), Fraction(0), Fraction(0)), 8))
    [(85, 86), (170, 171)]
    """
    fine, least = bits + _GUARD_BITS, min(exponents)
    weights = [exp_minus(exponent - least, fine) for exponent in exponents]
    sums = list(accumulate(weights, lambda a, b: (a[0] + b[0], a[1] + b[1])))
    for some in sums[:-1]:
        low, high = quotient(some, sums[-1], fine)
        yield coarser((low, min(high, 1 << fine)), _GUARD_BITS)
