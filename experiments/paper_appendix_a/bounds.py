"""Exact probabilities of the paper's randomizers, in fractions."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, product
from math import comb

Bits = tuple[int, ...]


def probability(report: Bits, truth: Bits, f: Fraction) -> Fraction:
    """Equation 4: every bit is kept with probability 1 - f/2.

    >>> probability((1, 0), (1, 1), Fraction(1, 2))
    Fraction(3, 16)
    """
    n_flipped = sum(a != b for a, b in zip(report, truth, strict=True))
    return (1 - f / 2) ** (len(truth) - n_flipped) * (f / 2) ** n_flipped


def as_printed(report: Bits, truth: Bits, f: Fraction) -> Fraction:
    """The same as Appendix A prints it, with the exponents swapped: a flipped bit would be the likely one."""
    n_flipped = sum(a != b for a, b in zip(report, truth, strict=True))
    return (1 - f / 2) ** n_flipped * (f / 2) ** (len(truth) - n_flipped)


def vectors_with(n_ones: int, n_bits: int) -> Iterable[Bits]:
    for ones in combinations(range(n_bits), n_ones):
        yield tuple(int(place in ones) for place in range(n_bits))


def largest_ratio(n_bits: int, n_ones: int, f: Fraction) -> Fraction:
    """The largest ratio of probabilities of one report under two truths with so many ones each, over all of them.

    The first truth may be fixed: the randomizer treats all places alike.
    """
    truths = list(vectors_with(n_ones, n_bits))
    first = truths[0]
    return max(
        probability(report, first, f) / probability(report, other, f)
        for report in product((0, 1), repeat=n_bits)
        for other in truths
    )


def claimed_bound(n_ones: int, f: Fraction) -> Fraction:
    """What Appendix A ends with."""
    return (2 / f - 1) ** (2 * n_ones)


def tight_bound(n_bits: int, n_ones: int, f: Fraction) -> Fraction:
    """What it is for any number of ones: two truths differ in at most 2 min(h, n - h) places."""
    return (2 / f - 1) ** (2 * min(n_ones, n_bits - n_ones))


def mean_estimate(n_people: int, n_yes: int) -> Fraction:
    """The expected estimate 2c - 1/2 of the coin's proportion, over every answer of people of whom so many are "yes".

    A "yes" answers yes with probability 3/4, a "no" with 1/4.
    """
    total = Fraction(0)
    for said_by_yes, said_by_no in product(range(n_yes + 1), range(n_people - n_yes + 1)):
        chance = _binomial(said_by_yes, n_yes, Fraction(3, 4)) * _binomial(said_by_no, n_people - n_yes, Fraction(1, 4))
        total += chance * (2 * Fraction(said_by_yes + said_by_no, n_people) - Fraction(1, 2))
    return total


def _binomial(n_hits: int, n: int, p: Fraction) -> Fraction:
    return comb(n, n_hits) * p**n_hits * (1 - p) ** (n - n_hits)
