"""Contract checks for local randomizers: ours and a plug-in author's."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.local.randomizer import LocalRandomizer
from tacit.privacy.epsilon import log_of_ratio
from tacit.randomness import SeededRandomness
from tacit.testing.frequencies import assert_frequencies


def check_channel(randomizer: LocalRandomizer) -> None:
    """Check on the listed channel that every row adds up to 1 and that epsilon is exact: not above, not below."""
    channel = randomizer.channel()
    assert len(channel) == randomizer.n_cells
    assert all(sum(row, start=Fraction(0)) == 1 for row in channel), "a row of the channel does not add up to 1"
    largest = max(max(column) / min(column) for column in zip(*channel, strict=True) if max(column))
    assert log_of_ratio(largest) == randomizer.epsilon, (
        f"epsilon is stated as {randomizer.epsilon}, but the channel gives {log_of_ratio(largest)}"
    )


def check_reports(
    randomizer: LocalRandomizer, *, seed: int, n_reports: int = 20_000, false_failure: float = 1e-9
) -> None:
    """Check that sampled reports have the channel's law and a length that does not depend on the value."""
    channel = randomizer.channel()
    for cell, row in enumerate(channel):
        cells = np.full(n_reports, cell)
        reports = randomizer.randomize(cells, randomness=SeededRandomness(seed + cell))
        assert reports.shape == (n_reports, randomizer.report_bytes)
        assert reports.dtype == np.uint8
        drawn = np.bincount(_as_numbers(reports), minlength=len(row))
        assert_frequencies(drawn, row, false_failure=false_failure / len(channel))


def check_one_at_a_time(randomizer: LocalRandomizer, cells: Sequence[int], *, seed: int) -> None:
    """Check that a device sending one value and a station sending many produce reports of the same form."""
    for cell in cells:
        alone = randomizer.randomize(np.array([cell]), randomness=SeededRandomness(seed))
        assert alone.shape == (1, randomizer.report_bytes)


def _as_numbers(reports: NDArray[np.uint8]) -> NDArray[np.int64]:
    weights = 256 ** np.arange(reports.shape[1], dtype=np.int64)
    return reports.astype(np.int64) @ weights
