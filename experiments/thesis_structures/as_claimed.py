"""The thesis' structures with the noise its text promises: independent for every node, and as much as epsilon takes."""

from __future__ import annotations

import math

import numpy as np

from experiments.thesis_structures import as_coded
from experiments.thesis_structures.oracles import counted_reports, epsilon_of_keeping, estimated
from experiments.thesis_structures.structures import Integers, Structures, height_of, nodes_of

central_flat = as_coded.central_flat  # has no fault that could be measured


def continual_tree(
    counts: Integers, epsilon: float, degree: int, *, n_structures: int, generator: np.random.Generator
) -> Structures:
    """Laplace noise of scale levels/epsilon on every node, the root's among them."""
    nodes = nodes_of(counts, degree)
    scale = len(nodes) / epsilon
    levels = tuple(level + generator.laplace(scale=scale, size=(n_structures, len(level))) for level in nodes)
    return Structures(levels, degree, len(counts), epsilon)


def local_flat(counts: Integers, epsilon: float, *, n_structures: int, generator: np.random.Generator) -> Structures:
    """Randomized response over the days."""
    n_days = len(counts)
    keep = keeping(epsilon, n_days)
    reports = counted_reports(np.broadcast_to(counts, (n_structures, n_days)), keep, generator)
    return Structures((estimated(reports, keep),), 2, n_days, epsilon_of_keeping(keep, n_days))


def local_hierarchy(
    counts: Integers, epsilon: float, degree: int, *, n_structures: int, generator: np.random.Generator
) -> Structures:
    """Randomized response over the nodes of one level below the root; the root is the public number of reports."""
    height = height_of(len(counts), degree)
    chosen = generator.multinomial(np.broadcast_to(counts, (n_structures, len(counts))), [1 / height] * height)
    levels = [np.full((n_structures, 1), float(counts.sum()))]
    for depth in range(1, height + 1):
        true = nodes_of(chosen[:, :, depth - 1], degree)[depth]
        keep = keeping(epsilon, degree**depth)
        levels.append(height * estimated(counted_reports(true, keep, generator), keep))
    return Structures(tuple(levels), degree, len(counts), epsilon_of_keeping(keeping(epsilon, degree), degree))


def keeping(epsilon: float, n_values: int) -> float:
    """The chance that makes keeping, or else drawing from all g values, randomized response with this epsilon.

    A value is named with e^eps/(e^eps + g - 1) if it is true and 1/(e^eps + g - 1) if not; the difference is kept.
    """
    return math.expm1(epsilon) / (math.exp(epsilon) + n_values - 1)
