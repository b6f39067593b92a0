"""The likelihood kernels in plain NumPy: what the compiled ones must equal, up to the last digits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_NUMBERS_AT_ONCE = 1 << 22  # 32 MiB


def weigh(
    supports: NDArray[np.uint8],
    which: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    bins: NDArray[np.int64],
    gain: float,
    shares: NDArray[np.float64],
    factors: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """Write for every bin asked, none of them empty, the factors of its shares and its log-likelihood.

    Entries ``starts[b]`` to ``starts[b + 1]`` are of bin b: ``counts`` reports that support row ``which`` each.
    """
    lengths = starts[bins + 1] - starts[bins]
    ends = np.cumsum(lengths)
    first = 0
    while first < len(bins):
        before = int(ends[first - 1]) if first else 0
        most = before + _NUMBERS_AT_ONCE // shares.shape[1]
        stop = max(first + 1, int(np.searchsorted(ends, most, side="right")))
        asked = slice(first, stop)
        begins = np.concatenate(([0], np.cumsum(lengths[asked])))
        entries = np.repeat(starts[bins[asked]] - begins[:-1], lengths[asked]) + np.arange(begins[-1])
        rows = supports[which[entries]].astype(np.float64)
        z = 1.0 + gain * np.einsum("ij,ij->i", rows, np.repeat(shares[asked], lengths[asked], axis=0))
        weights = counts[entries] / z
        reports = np.add.reduceat(counts[entries], begins[:-1])
        inside = np.add.reduceat(rows * weights[:, None], begins[:-1], axis=0)
        factors[asked] = (np.add.reduceat(weights, begins[:-1])[:, None] + gain * inside) / reports[:, None]
        values[asked] = np.add.reduceat(counts[entries] * np.log(z), begins[:-1])
        first = stop


def curve(
    supports: NDArray[np.uint8],
    which: NDArray[np.int64],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    bins: NDArray[np.int64],
    gain: float,
    shares: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write for every bin asked how its log-likelihood bends (cells x cells), for changes of shares that add up to 0.

    The sum over reports of their outer products of supports, times the square of gain / z.
    """
    for number, bin in enumerate(bins.tolist()):
        entries = slice(starts[bin], starts[bin + 1])
        rows = supports[which[entries]].astype(np.float64)
        weights = counts[entries] * np.square(gain / (1.0 + gain * (rows @ shares[number])))
        out[number] = rows.T @ (rows * weights[:, None])
