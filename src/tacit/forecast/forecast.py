"""What a forecaster says: a law for every coming count."""

from __future__ import annotations

from dataclasses import dataclass

from tacit._base.arrays import IntArray
from tacit.counts.count_law import CountLaw
from tacit.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Forecasts:
    """Forecasts made at several origins: origin ``o`` knows the bins before ``o`` and speaks of bin ``o`` and on.

    ``counts`` is a law of origins x horizon x places, ``totals`` of origins x horizon: all places together.
    """

    origins: IntArray
    counts: CountLaw
    totals: CountLaw


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What is expected in the bins after a series: ``domain`` is those bins x places.

    ``counts`` is a law of bins x places, ``totals`` of bins: all places together. ``sums`` and ``total_sum`` are those
    of the whole horizon, in each place and in all. ``notes`` say what a reader must know of it.
    """

    domain: Domain
    counts: CountLaw
    totals: CountLaw
    sums: CountLaw
    total_sum: CountLaw
    forecaster: str
    origin: str = ""
    is_simulation: bool = False
    notes: tuple[str, ...] = ()
