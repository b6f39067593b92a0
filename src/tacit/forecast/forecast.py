"""What a forecaster says: a distribution for every coming count, and how many crews that asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.validation import check_positive, check_share
from tacit.counts.count_distribution import CountDistribution
from tacit.domain import Domain

DEFAULT_QUANTILE: Final = 0.9  # crews are enough on nine days in ten
_SLACK: Final = 1e-9  # a quotient that is whole but for its last digits needs no crew more


@dataclass(frozen=True, slots=True, eq=False)
class Forecasts:
    """Forecasts made at several origins: origin ``o`` knows the bins before ``o`` and speaks of bin ``o`` and on.

    ``counts`` are distributions of origins x horizon x places, ``totals`` of origins x horizon: all places together.
    """

    origins: IntArray
    counts: CountDistribution
    totals: CountDistribution


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What is expected in the bins after a series: ``domain`` is those bins x places.

    ``counts`` are distributions of bins x places, ``totals`` of bins: all places together. ``sums`` and ``total_sum``
    are those of the whole horizon, in each place and in all. ``notes`` say what a reader must know of it.
    """

    domain: Domain
    counts: CountDistribution
    totals: CountDistribution
    sums: CountDistribution
    total_sum: CountDistribution
    forecaster: str
    origin: str = ""
    is_simulation: bool = False
    notes: tuple[str, ...] = ()


def crews_for(
    distribution: CountDistribution, *, quantile: float = DEFAULT_QUANTILE, per_crew: float = 1.0
) -> IntArray:
    """Return the least crews that are enough with probability ``quantile``, if one handles ``per_crew`` events a bin.

    Crews that may help each other need fewer: the crews for a sum are at most the sum of the crews, as a rule.

    >>> distribution = CountDistribution(np.array([0.0, 4.0, 24.0]), np.array([0.0, 4.0, 24.0]))
    >>> crews_for(distribution, quantile=0.9, per_crew=4).tolist()
    [0, 2, 8]
    """
    check_share(quantile=quantile)
    check_positive(per_crew=per_crew)
    return np.ceil(distribution.quantiles(quantile) / per_crew - _SLACK).astype(np.int64)
