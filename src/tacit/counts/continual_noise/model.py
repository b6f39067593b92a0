"""The protocol of noise models of running counts, and the noise of one node."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Protocol

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.node_distributions import DiscreteGaussian, DiscreteLaplace
from tacit.errors import SettingError
from tacit.privacy.cost import Cost

LONGEST: Final = 1 << 40
"""No stream is longer: more bins than seconds in thirty thousand years."""


class ContinualNoise(Protocol):
    r"""The error of the running totals of one stream of counts, and of all that is computed from them.

    After bin t the total of the bins 0 .. t - 1 is published, in whole numbers of 1/``grid``. Its error is linear in
    independent noises of whole numbers, one for each node: with the sums of counts R that the nodes hold and the
    all-sums matrix A = LR, what is published is L(Rx + z).

    Mathematical contract: the error of a range is the difference of two errors of totals, has mean 0 and the variance
    stated here, whatever the counts are; and ``cost`` is what all that is ever published tells about one unit.
    """

    kind: ClassVar[str]
    is_causal: ClassVar[bool]

    @property
    def horizon(self) -> int:
        """The number of bins after which the stream ends."""

    @property
    def cost(self) -> Cost:
        """The cost of the whole stream."""

    @property
    def grid(self) -> int:
        """The number of units that a count has in what is published."""

    @property
    def excess_kurtosis(self) -> float:
        """The excess kurtosis of one node's noise, the largest if they differ; 0 for Gaussian noise."""

    @property
    def is_grainy(self) -> bool:
        """Return whether the noise of some node is mostly 0, so that no smooth distribution describes it."""

    def range_variances(self, first: IntArray, stop: IntArray) -> FloatArray:
        """Return the variance of the count of bins ``first`` .. ``stop`` - 1, for many ranges at once."""

    def range_cumulants(self, first: IntArray, stop: IntArray) -> FloatArray:
        """Return at most the fourth cumulant of these ranges: exact where all nodes weigh the same."""

    def loads(self, weights: FloatArray) -> FloatArray:
        """Return what every node contributes to questions about bins 0 .. n - 1, in its standard errors.

        ``weights`` has a row for each bin and a column for each question; so has the answer, with a row for each node.
        The variance of a question is the sum of the squares of its column.
        """

    def to_dict(self) -> dict[str, Any]: ...


def node_distribution(
    cost: Cost, *, sizes: Sequence[int], most: int = 1, most_per_cell: int = 0
) -> DiscreteLaplace | DiscreteGaussian:
    """Return the noise of each node, when a count stands in nodes of these numbers of bins.

    A unit is ``most`` counts, of these at most ``most_per_cell`` in one bin of one column; 0 stands for ``most``.

    >>> node_distribution(Cost.pure(1.0), sizes=(1, 4, 16))
    DiscreteLaplace(rate=Fraction(1, 3))
    >>> node_distribution(Cost.zcdp(0.5), sizes=(1, 4, 16), most=8)
    DiscreteGaussian(parameter=Fraction(192, 1))
    >>> node_distribution(Cost.zcdp(0.5), sizes=(1, 4, 16), most=8, most_per_cell=1)
    DiscreteGaussian(parameter=Fraction(104, 1))
    """
    check_at_least(1, levels=len(sizes), most=most)
    check_at_least(0, most_per_cell=most_per_cell)
    if (cost.epsilon > 0) == (cost.rho > 0):
        raise SettingError(
            f"the cost of a stream must be a pure epsilon or a rho, not both or neither; got cost={cost}. "
            "Use Cost.pure(epsilon) or Cost.zcdp(rho)."
        )
    if cost.epsilon:
        return DiscreteLaplace(Fraction(cost.epsilon) / (len(sizes) * most))
    squares = sum(most * min(most, (most_per_cell or most) * size) for size in sizes)
    return DiscreteGaussian(squares / (2 * Fraction(cost.rho)))


class OneNodeNoise:
    """Trees whose nodes all have the same noise. A tree adds ``cost``, the two bounds and ``sizes``."""

    cost: Cost
    most: int
    most_per_cell: int

    @property
    def sizes(self) -> tuple[int, ...]:
        """The most bins of a node, level by level from the leaves."""
        raise NotImplementedError

    @property
    def levels(self) -> int:
        """The largest number of nodes that a count stands in."""
        return len(self.sizes)

    @cached_property
    def node_noise(self) -> DiscreteLaplace | DiscreteGaussian:
        """The noise of each node."""
        return node_distribution(self.cost, sizes=self.sizes, most=self.most, most_per_cell=self.most_per_cell)

    @property
    def excess_kurtosis(self) -> float:
        return self.node_noise.excess_kurtosis

    @property
    def is_grainy(self) -> bool:
        return self.node_noise.variance < 1


def bounds_to_dict(most: int, most_per_cell: int) -> dict[str, int]:
    """Return the bounds of a unit as files have them: that of a cell only where it is one."""
    return {"most": most} | ({"most_per_cell": most_per_cell} if most_per_cell else {})


def check_horizon(horizon: int) -> None:
    """Refuse a number of bins that no stream has."""
    check_at_least(1, horizon=horizon)
    if horizon > LONGEST:
        raise SettingError(f"horizon must be at most {LONGEST:,} bins; got horizon={horizon}. Leave it out: no end.")


def check_ranges(first: IntArray, stop: IntArray, horizon: int) -> tuple[IntArray, IntArray]:
    """Return ranges as arrays of one shape; refuse reversed ones and those beyond the horizon, not empty ones."""
    first, stop = np.broadcast_arrays(np.asarray(first, np.int64), np.asarray(stop, np.int64))
    if first.size and not (first.min() >= 0 and (first <= stop).all() and stop.max() <= horizon):
        raise SettingError(f"every range must run forward within the bins 0 to {horizon - 1}. Swap its ends or cut it.")
    return first, stop
