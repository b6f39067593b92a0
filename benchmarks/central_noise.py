"""Discrete Laplace and Gaussian noise beside OpenDP, on one core. Run: python benchmarks/central_noise.py

The same work for both: exact integer noise for a vector of counts. Both draw from a secure source, and both have the
distribution of the real numbers, not of floats. OpenDP works through fewer values (its time is linear in them), in one
call as its documentation does, and rates are compared. The counts are all zero, so that what comes out is the noise;
its frequencies are checked before a time is printed. Words after the command choose rows: python
benchmarks/central_noise.py Laplace
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from measure import checksum, per_second, pin_to_one_core, print_machine, print_table, ratio, side_by_side
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit.audit.testing import RecordedWords, assert_frequencies
from tacit.randomness import Randomness, SecureRandomness, SeededRandomness, discrete_gaussian, discrete_laplace

N_OURS, N_PEER = 10_000_000, 20_000
FALSE_FAILURE = 1e-12
Values = NDArray[np.int64]
Draw = Callable[[int, Randomness], Values]


@dataclass(frozen=True)
class Row:
    """One line of the table: a distribution of noise, drawn by us and by OpenDP."""

    title: str
    target: float | None
    draw: Draw
    weight: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    spread: float
    peer: Callable[[Any], Any]


def laplace_row(scale: int) -> Row:
    def peer(dp: Any) -> Any:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        return dp.m.make_laplace(*space, scale=float(scale))

    return Row(
        f"discrete Laplace, scale {scale}",
        500,
        lambda count, source: discrete_laplace(count, Fraction(1, scale), randomness=source),
        lambda z: np.exp(-np.abs(z) / scale),
        scale,
        peer,
    )


def gaussian_row(deviation: int) -> Row:
    def peer(dp: Any) -> Any:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
        return dp.m.make_gaussian(*space, scale=float(deviation))

    return Row(
        f"discrete Gaussian, sigma {deviation:,}",
        None,
        lambda count, source: discrete_gaussian(count, Fraction(deviation) ** 2, randomness=source),
        lambda z: np.exp(-0.5 * (z / deviation) ** 2),
        deviation,
        peer,
    )


ROWS = [laplace_row(1), laplace_row(10), gaussian_row(1), gaussian_row(10), gaussian_row(1_000_000)]


def main() -> None:
    pin_to_one_core()
    print_machine("tacit", "opendp", "numpy", "numba", "cryptography")
    rows = [row for row in ROWS if len(sys.argv) == 1 or any(w.lower() in row.title.lower() for w in sys.argv[1:])]
    print_checksums(rows)
    _kernels.WORTH_LOADING = 0  # compiled kernels alone  # type: ignore[misc]
    keystream = keystream_bytes_per_second()
    print(f"keystream {keystream / 1e9:.1f} GB/s\n")
    headings = ["noise", "tacit", "OpenDP", "tacit is × faster", "target", "keystream each", "share of limit"]
    print_table(headings, [line_of(row, keystream) for row in rows])


def line_of(row: Row, keystream: float) -> list[str]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    source, measurement, zeros = SecureRandomness(), row.peer(dp), [0] * N_PEER
    timings = side_by_side({"tacit": lambda: row.draw(N_OURS, source), "OpenDP": lambda: measurement(zeros)})
    for name in timings:
        check(row, np.asarray(timings[name].result))
    times = ratio(timings["OpenDP"], timings["tacit"], work_of_slow=N_PEER, work_of_fast=N_OURS)
    n_bytes = bytes_drawn(row.draw)
    return [
        row.title,
        per_second(N_OURS, timings["tacit"].median),
        per_second(N_PEER, timings["OpenDP"].median),
        f"{times:,.0f}",
        "" if row.target is None else f"{row.target:,.0f} {'reached' if times >= row.target else 'MISSED'}",
        f"{n_bytes:.1f} B",
        f"{N_OURS * n_bytes / keystream / timings['tacit'].median:.0%}",
    ]


def check(row: Row, values: Values) -> None:
    """Stop where values come more or less often than chance explains."""
    width = math.ceil(row.spread / 2)
    edges = width * np.arange(-8, 9)
    z = np.arange(-60 * width, 60 * width + 1, max(1, width // 1000), dtype=np.float64)
    weights = row.weight(z)
    expected = np.bincount(np.searchsorted(edges, z, side="right"), weights, 18) / weights.sum()
    assert_frequencies(
        np.bincount(np.searchsorted(edges, values, side="right"), minlength=18), expected, false_failure=FALSE_FAILURE
    )


def bytes_drawn(draw: Draw) -> float:
    """What one value takes of the keystream, proposals that are rejected included."""
    n, source = 100_000, RecordedWords(SeededRandomness(2018))
    draw(n, source)
    return 8 * len(source.drawn) / n


def keystream_bytes_per_second() -> float:
    """The speed of the secure source in blocks of 1 MiB."""
    source, block = SecureRandomness(), np.empty(1 << 17, np.uint64)
    timing = side_by_side({"fill": lambda: [source.fill(block) for _ in range(50)]})["fill"]
    return 50 * block.nbytes / min(timing.seconds)


def print_checksums(rows: list[Row]) -> None:
    """Compiled and plain kernels give the same noise from the same seed."""
    for row in rows:
        sums = set()
        for worth_loading in (0, 1 << 62):
            _kernels.WORTH_LOADING = worth_loading  # type: ignore[misc]
            sums.add(checksum(row.draw(100_000, SeededRandomness(2018))))
        assert len(sums) == 1, row.title
    print("compiled and plain kernels draw the same noise\n")


if __name__ == "__main__":
    main()
