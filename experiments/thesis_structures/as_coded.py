r"""What the code of the thesis' appendix 14.1 does, with its faults. Nothing here protects anybody as it claims to.

============================  ==========  =====================================================  =======================
structure                     claims      fault                                                  gives
============================  ==========  =====================================================  =======================
central flat                  epsilon     none but float noise                                   epsilon
continual tree                epsilon     scale log2(levels)/epsilon in place of levels/epsilon;  nothing: infinite
                                          the noise of a node's first child is that of its
                                          second child plus that of the node
local flat ("OLH")            epsilon     a value that is not kept is drawn again from *all* N    ln(1 + N e^eps/(N-1))
local hierarchy               epsilon     the same on each level; a level for the root, which     ln(1 + B e^eps/(B-1))
                                          tells nothing
============================  ==========  =====================================================  =======================

Reports are not simulated one by one, but counted with the distribution that the code's loops give.
"""

from __future__ import annotations

import math

import numpy as np

from experiments.thesis_structures.oracles import counted_reports, epsilon_of_keeping, estimated
from experiments.thesis_structures.structures import Floats, Integers, Structures, height_of, nodes_of


def central_flat(counts: Integers, epsilon: float, *, n_structures: int, generator: np.random.Generator) -> Structures:
    """Laplace noise of scale 1/epsilon on every day."""
    noise = generator.laplace(scale=1 / epsilon, size=(n_structures, len(counts)))
    return Structures((counts + noise,), 2, len(counts), epsilon)


def continual_tree(
    counts: Integers, epsilon: float, degree: int, *, n_structures: int, generator: np.random.Generator
) -> Structures:
    """Noise of too small a scale on every node, and with degree 2 about half of it can be computed from the rest."""
    nodes = nodes_of(counts, degree)
    scale = math.log2(len(nodes)) / epsilon
    noise: list[Floats] = []
    for level in nodes:
        own = generator.laplace(scale=scale, size=(n_structures, len(level)))
        if noise:
            own[:, ::degree] = own[:, 1::degree] + noise[-1]
        noise.append(own)
    levels = tuple(level + drawn for level, drawn in zip(nodes, noise, strict=True))
    return Structures(levels, degree, len(counts), math.inf)


def local_flat(counts: Integers, epsilon: float, *, n_structures: int, generator: np.random.Generator) -> Structures:
    """Every visit keeps its day or draws one of all days, its own among them."""
    n_days = len(counts)
    keep = keeping(epsilon, n_days)
    reports = counted_reports(np.broadcast_to(counts, (n_structures, n_days)), keep, generator)
    return Structures((estimated(reports, keep),), 2, n_days, epsilon_of_keeping(keep, n_days))


def local_hierarchy(
    counts: Integers, epsilon: float, degree: int, *, n_structures: int, generator: np.random.Generator
) -> Structures:
    """Every visit reports one of the levels, the root's among them, as the flat structure does."""
    n_levels = height_of(len(counts), degree) + 1
    chosen = generator.multinomial(np.broadcast_to(counts, (n_structures, len(counts))), [1 / n_levels] * n_levels)
    levels = []
    for depth in range(n_levels):
        true = nodes_of(chosen[:, :, depth], degree)[depth]
        keep = keeping(epsilon, degree**depth)
        levels.append(n_levels * estimated(counted_reports(true, keep, generator), keep))
    true_epsilon = epsilon_of_keeping(keeping(epsilon, degree), degree)
    # the last day's path ends at the last leaf there is: days that do not exist are added, and so is their noise
    return Structures(tuple(levels), degree, len(counts), true_epsilon, stretches_the_last_day=True)


def keeping(epsilon: float, n_values: int) -> float:
    """The chance to keep a value: e^eps/(e^eps + g - 1), right only if the others were drawn from the g - 1 others."""
    return math.exp(epsilon) / (math.exp(epsilon) + (n_values - 1))


def height_by_logarithms(n_days: int, degree: int) -> int:
    """The height as coded: a quotient of floating-point logarithms, rounded up.

    >>> height_by_logarithms(125, 5), height_of(125, 5)
    (4, 3)
    """
    return int(np.ceil(np.log(n_days) / np.log(degree)))
