"""The protocol of the distributions of reports, and what all of them share."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.counts.exact_intervals import TwoDistributions


@dataclass(frozen=True, slots=True)
class TwoCoins:
    """A sum of cells, seen as coin flips: ``flips`` for each report, heads with probability ``inside`` for one flip of
    each report whose true cell is in the sum, and ``outside`` for all other flips."""

    inside: Fraction
    outside: Fraction
    flips: int


class SupportDistribution(Protocol):
    """The joint distribution of the supports of one report, given its true cell."""

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

    def sum_distributions(self, n_summed: int) -> TwoDistributions | None:
        """How many of ``n_summed`` cells a report supports, if its true cell is one of them and if it is not.

        None where that depends on more than this, or is not known.
        """

    def to_dict(self) -> dict[str, Any]: ...


class OracleDistribution:
    """What all distributions share: a kind, and plain data made of their fields."""

    __slots__ = ()
    kind: ClassVar[str]

    def sum_distributions(self, n_summed: int) -> TwoDistributions | None:
        return None

    def to_dict(self) -> dict[str, Any]:
        # whole numbers beyond 2**53 do not survive every JSON reader
        fields = asdict(self)  # type: ignore[call-overload]
        return {"kind": self.kind} | {n: hex(v) if v >= 1 << 53 else v for n, v in fields.items()}


def scaled_variance(distribution: SupportDistribution, square: FloatArray, mean: FloatArray) -> FloatArray:
    """The variance from a mean square and a mean; what rounding leaves below zero is zero."""
    variance: FloatArray = np.maximum(square - mean**2, 0.0)
    return variance / float(distribution.p - distribution.q) ** 2


def mean_variance(distribution: SupportDistribution) -> float:
    r"""Return the variance that one report adds to the count of a cell, on average over all cells, whatever the data.

    .. math:: \frac{q(1-q)}{(p-q)^2} + \frac1k\,\frac{1-p-q}{p-q}
    """
    p, q = float(distribution.p), float(distribution.q)
    return q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / distribution.n_cells


def single_cell(distribution: SupportDistribution, n_summed: int) -> TwoCoins | None:
    """The coins of one cell; a sum of several is not a number of coin flips."""
    return TwoCoins(distribution.p, distribution.q, 1) if n_summed == 1 else None
