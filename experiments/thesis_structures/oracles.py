"""Reports that keep a value with some chance and else draw one of all values: counted, estimated, and their epsilon."""

from __future__ import annotations

import math

import numpy as np

from experiments.thesis_structures.structures import Floats, Integers


def counted_reports(true: Integers, keep: float, generator: np.random.Generator) -> Integers:
    """How many reports name each value (column), for several structures (rows) of these true counts."""
    kept = generator.binomial(true, keep)
    n_values = true.shape[1]
    redrawn = generator.multinomial((true - kept).sum(axis=1), [1 / n_values] * n_values)
    return kept + redrawn


def estimated(reports: Integers, keep: float) -> Floats:
    """The unbiased estimate of the true counts: every value is drawn at random equally often."""
    n_reports, n_values = reports.sum(axis=1, keepdims=True), reports.shape[1]
    return (reports - (1 - keep) * n_reports / n_values) / keep


def epsilon_of_keeping(keep: float, n_values: int) -> float:
    """The log of the largest ratio of the chances of a report under two values.

    >>> round(epsilon_of_keeping(math.e / (math.e + 1), 2), 2)  # the thesis' two halves at a claimed epsilon of 1
    1.86
    """
    if keep == 1:
        return math.inf if n_values > 1 else 0.0
    return math.log(1 + n_values * keep / (1 - keep))
