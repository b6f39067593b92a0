"""The likelihood kernels, compiled. ``likelihood_plain`` says what each does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled


@compiled
def weigh(
    supports: NDArray[np.uint8],
    which: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    bins: NDArray[np.int64],
    gain: Any,
    shares: NDArray[np.float64],
    factors: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    n_cells = shares.shape[1]
    for i in range(bins.size):
        outside, reports, value = 0.0, 0.0, 0.0
        for cell in range(n_cells):
            factors[i, cell] = 0.0
        for entry in range(starts[bins[i]], starts[bins[i] + 1]):
            row = supports[which[entry]]
            supported = 0.0
            for cell in range(n_cells):
                supported += row[cell] * shares[i, cell]
            z = 1.0 + gain * supported
            weight = counts[entry] / z
            outside += weight
            reports += counts[entry]
            value += counts[entry] * np.log(z)
            for cell in range(n_cells):
                factors[i, cell] += row[cell] * weight
        for cell in range(n_cells):
            factors[i, cell] = (outside + gain * factors[i, cell]) / reports
        values[i] = value


@compiled
def curve(
    supports: NDArray[np.uint8],
    which: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    bins: NDArray[np.int64],
    gain: Any,
    shares: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    n_cells = shares.shape[1]
    named = np.empty(n_cells, np.int64)
    for i in range(bins.size):
        out[i] = 0.0
        for entry in range(starts[bins[i]], starts[bins[i] + 1]):
            row = supports[which[entry]]
            n_named, supported = 0, 0.0
            for cell in range(n_cells):
                if row[cell]:
                    named[n_named] = cell
                    n_named += 1
                    supported += shares[i, cell]
            slope = gain / (1.0 + gain * supported)
            weight = counts[entry] * slope * slope
            for a in range(n_named):
                for b in range(a + 1):
                    out[i, named[a], named[b]] += weight
        for a in range(n_cells):
            for b in range(a):
                out[i, b, a] = out[i, a, b]
