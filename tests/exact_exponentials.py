"""exp between two fractions, by its power series: independent of how the library does it."""

from __future__ import annotations

from fractions import Fraction

BITS = 512


def exp_minus_between(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions around exp(-exponent), within about 2**-480 of it."""
    halvings = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length() + 1)
    small = exponent / (1 << halvings)
    assert 0 <= small < 1
    # the partial sums of the alternating series lie in turn above and below
    low, high, term, n = Fraction(0), Fraction(1), Fraction(1), 0
    while term > Fraction(1, 1 << BITS):
        n += 1
        term = Fraction((term * small / n * (1 << 2 * BITS)).__ceil__(), 1 << 2 * BITS)
        low, high = (high - term, high) if n % 2 else (low, low + term)
    slack = Fraction(n + 1, 1 << BITS)  # terms are rounded up, each by less than 2**-1024
    low, high = low - slack, high + slack
    for _ in range(halvings):
        low, high = rounded(low * low, high * high)
    return low, high


def rounded(low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
    scale = 1 << 2 * BITS
    return Fraction((low * scale).__floor__(), scale), Fraction((high * scale).__ceil__(), scale)
