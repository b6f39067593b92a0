"""How many nodes of each level make up a range: exact means over all positions, and every single range."""

from __future__ import annotations

import numpy as np

from experiments.thesis_structures.structures import Floats, Integers, Structures, height_of


def mean_nodes(n_days: int, degree: int) -> Floats:
    """For each level (rows, root first) and each length from 1 to all days: the mean number of nodes used.

    A node is used by the ranges it lies inside of, but for those its parent lies inside of.

    >>> mean_nodes(4, 2).sum(axis=0).round(3).tolist()  # of three ranges of two days, one needs two nodes
    [1.0, 1.333, 2.0, 1.0]
    """
    lengths = np.arange(1, n_days + 1)
    used, above = [], np.zeros(n_days)
    for depth in range(height_of(n_days, degree) + 1):
        size = degree ** (height_of(n_days, degree) - depth)
        first = np.arange(0, n_days - size + 1, size)[:, None]
        positions = np.minimum(first, n_days - lengths) - np.maximum(0, first + size - lengths) + 1
        inside = positions.clip(min=0).sum(axis=0)
        used.append((inside - degree * above) / (n_days - lengths + 1))
        above = inside
    return np.array(used)


def all_ranges(n_days: int) -> tuple[Integers, Integers]:
    """The first day and the day after the last of every range."""
    first, stop = np.triu_indices(n_days + 1, 1)
    return first.astype(np.int64), stop.astype(np.int64)


def nodes_of_ranges(n_days: int, degree: int, first: Integers, stop: Integers) -> Integers:
    """The number of nodes that each range is the sum of."""
    levels = tuple(np.ones((1, degree**depth)) for depth in range(height_of(n_days, degree) + 1))
    return Structures(levels, degree, n_days, 0.0).answers(first, stop)[0].astype(np.int64)
