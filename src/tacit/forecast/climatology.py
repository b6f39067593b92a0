r"""What a covariate will be where its table ends: what is usual for the season, and what is left of the last anomaly.

.. math:: x_{t+h} = \bar x_{d(t+h)} + \rho^h (x_t - \bar x_{d(t)})

with the mean of the days of the year around d, of the past alone, and the part rho of an anomaly that outlives a bin.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit.domain import TimeAxis

_AROUND: Final = 10  # days of the year on either side
_DAYS: Final = 366
_LONGEST_MEMORY: Final = 0.98


def carried_on(column: FloatArray, time: TimeAxis) -> tuple[FloatArray, int | None]:
    """The column with the bins after its last known one filled in, and the first of them, if there is any."""
    known = np.flatnonzero(np.isfinite(column).reshape(len(column), -1).any(axis=1))
    if not len(known) or known[-1] == len(column) - 1:
        return column, None
    since = int(known[-1]) + 1
    starts = time.starts()
    days, years = starts.astype("datetime64[D]"), starts.astype("datetime64[Y]")
    day_of_year = (days - years.astype("datetime64[D]")).astype(np.int64)
    columns = column.reshape(len(column), -1)
    filled = np.column_stack([_filled(one, day_of_year, since) for one in columns.T])
    return filled.reshape(column.shape), since


def _filled(column: FloatArray, day_of_year: IntArray, since: int) -> FloatArray:
    known = np.flatnonzero(np.isfinite(column[:since]))
    if not len(known):
        return column
    usual = _usual(column[known], day_of_year[known])[day_of_year]
    anomaly = column - usual
    pairs = known[1:][np.diff(known) == 1]
    squares = float(np.square(anomaly[pairs - 1]).sum()) if len(pairs) else 0.0
    memory = float((anomaly[pairs] * anomaly[pairs - 1]).sum()) / squares if squares > 0 else 0.0
    memory = min(max(memory, 0.0), _LONGEST_MEMORY)
    ages = np.arange(since, len(column)) - known[-1]
    return np.concatenate([column[:since], usual[since:] + memory**ages * anomaly[known[-1]]])


def _usual(values: FloatArray, day_of_year: IntArray) -> FloatArray:
    """The mean of each day of the year with those around it; of all days where there are none around."""
    sums = np.bincount(day_of_year, values, _DAYS)
    counts = np.bincount(day_of_year, minlength=_DAYS).astype(np.float64)
    around = np.arange(_DAYS)[:, None] + np.arange(-_AROUND, _AROUND + 1)[None, :]
    sums, counts = sums[around % _DAYS].sum(axis=1), counts[around % _DAYS].sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(_DAYS, values.mean()), where=counts > 0), np.float64)
