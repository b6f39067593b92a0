r"""The laws of reports that support cells: what a noise model must know of a local randomizer, and no more.

Every frequency oracle of the field reads a report as the set of cells it *supports*. The true cell is supported with
probability p, any other with probability q, and counts are estimated from the supports C by

.. math:: \hat n_v = \frac{C_v - N q}{p - q}.

How much a linear question :math:`\sum_v w_v \hat n_v` errs depends on how the supports of one report hang together. A
law answers that exactly: ``variances(w)[u]`` is the variance that one report of true cell u adds to the question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FormatError
from tacit.randomness.bernoulli import COIN

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TwoCoins:
    """A sum of cells, seen as coin flips: ``flips`` for each report, heads with probability ``inside`` for one flip of
    each report whose true cell is in the sum, and ``outside`` for all other flips."""

    inside: Fraction
    outside: Fraction
    flips: int


class SupportLaw(Protocol):
    """The joint law of the supports of one report, given its true cell."""

    @property
    def n_cells(self) -> int: ...

    @property
    def p(self) -> Fraction:
        """P(the true cell is supported)."""

    @property
    def q(self) -> Fraction:
        """P(another cell is supported)."""

    @property
    def needs_counts(self) -> bool:
        """Whether the variance of a question depends on where the true cells are."""

    def variances(self, weights: FloatArray) -> FloatArray:
        """For every true cell, the variance one report adds to the question."""

    def coins(self, n_summed: int) -> TwoCoins | None:
        """A sum of ``n_summed`` cells as coin flips, where it is exactly that."""

    def to_dict(self) -> dict[str, Any]: ...


class _Law:
    """What all laws share: a kind, and plain data made of their fields."""

    __slots__ = ()
    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        # whole numbers beyond 2**53 do not survive every JSON reader
        fields = asdict(self)  # type: ignore[call-overload]
        return {"kind": self.kind} | {n: hex(v) if v >= 1 << 53 else v for n, v in fields.items()}


@dataclass(frozen=True, slots=True)
class UnaryLaw(_Law):
    """Independent bits: the true cell's is one with probability ones / 2**64, any other's with zeros / 2**64."""

    kind: ClassVar[str] = "unary"
    n_cells: int
    ones: int
    zeros: int

    @property
    def p(self) -> Fraction:
        return Fraction(self.ones, COIN)

    @property
    def q(self) -> Fraction:
        return Fraction(self.zeros, COIN)

    @property
    def needs_counts(self) -> bool:
        return self.ones + self.zeros != COIN

    def variances(self, weights: FloatArray) -> FloatArray:
        p, q = float(self.p), float(self.q)
        squares = weights**2
        bits: FloatArray = squares.sum() * q * (1 - q) + squares * (p * (1 - p) - q * (1 - q))
        return bits / float(self.p - self.q) ** 2

    def coins(self, n_summed: int) -> TwoCoins | None:
        return TwoCoins(self.p, self.q, n_summed)


@dataclass(frozen=True, slots=True)
class ResponseLaw(_Law):
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
        square: FloatArray = q * (weights**2).sum() + (p - q) * weights**2
        mean: FloatArray = q * weights.sum() + (p - q) * weights
        return _spread(self, square, mean)

    def coins(self, n_summed: int) -> TwoCoins | None:
        if n_summed == self.n_cells:
            return None  # every report lies in the sum: there is no coin, and no variance either
        return TwoCoins(self.p + (n_summed - 1) * self.q, n_summed * self.q, 1)


@dataclass(frozen=True, slots=True)
class SubsetLaw(_Law):
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
        with_true = p * (s - 1) / (k - 1)
        two_others = (p * (s - 1) * (s - 2) + (1 - p) * s * (s - 1)) / ((k - 1) * (k - 2)) if k > 2 else 0.0
        others, squares = weights.sum() - weights, (weights**2).sum() - weights**2
        pairs: FloatArray = 2 * with_true * weights * others + two_others * (others**2 - squares)
        return _spread(self, p * weights**2 + q * squares + pairs, p * weights + q * others)

    def coins(self, n_summed: int) -> TwoCoins | None:
        return _single_cell(self, n_summed)


def _spread(law: SupportLaw, square: FloatArray, mean: FloatArray) -> FloatArray:
    """The variance from a mean square and a mean; what rounding leaves below zero is zero."""
    variance: FloatArray = np.maximum(square - mean**2, 0.0)
    return variance / float(law.p - law.q) ** 2


def _single_cell(law: SupportLaw, n_summed: int) -> TwoCoins | None:
    return TwoCoins(law.p, law.q, 1) if n_summed == 1 else None


LAWS: Final[Mapping[str, Callable[..., SupportLaw]]] = {law.kind: law for law in (UnaryLaw, ResponseLaw, SubsetLaw)}


def law_from_dict(content: Mapping[str, Any]) -> SupportLaw:
    """Read a law back from plain data.

    >>> law_from_dict(UnaryLaw(3, 3 << 62, 1 << 62).to_dict()) == UnaryLaw(3, 3 << 62, 1 << 62)
    True
    """
    try:
        fields = {n: int(v, 16) if isinstance(v, str) else int(v) for n, v in content.items() if n != "kind"}
        return LAWS[content["kind"]](**fields)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FormatError("the noise model is damaged or newer than this version. Ask for the release anew.") from None
