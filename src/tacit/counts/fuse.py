"""From noisy nodes of a tree to leaves that add up: one solver for trees over time and over places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.counts.estimate import Estimate
from tacit.counts.noise import TreeNoise
from tacit.counts.noise.node_distributions import NodeDistribution
from tacit.counts.provenance import Provenance
from tacit.domain import Domain
from tacit.domain.hierarchy import Hierarchy
from tacit.errors import SettingError

LEAST_SQUARES: Final = "least squares over a tree"


def fuse(
    hierarchy: Hierarchy,
    nodes: NDArray[np.integer] | NDArray[np.floating],
    distributions: Sequence[NodeDistribution | None],
    *,
    domain: Domain,
    axis: str = "time",
    order: NDArray[np.int64] | None = None,
    known: Sequence[int] = (),
    provenance: Provenance,
) -> Estimate:
    """The least-squares leaves of trees over one axis of a domain, one tree for each bin of the other.

    ``nodes`` has a row for each node, as the hierarchy numbers them, and a column for each tree. ``distributions`` are
    those of the noise of single nodes, one for each level, root first; None for a level that was not measured, whose
    rows are not looked at. ``known`` lists levels whose rows are public and exact, such as a total. Leaf i of a tree
    over places is place ``order[i]``. Leaves are unbiased, add up to every node, and carry the exact variance of any
    question.
    """
    noise = TreeNoise(hierarchy, tuple(distributions), domain.shape, axis, order, tuple(known))
    n_trees = domain.shape[1 if axis == "time" else 0]
    if nodes.shape != (hierarchy.n_nodes, n_trees):
        raise SettingError(
            f"nodes must have {hierarchy.n_nodes} rows, one for each node, and {n_trees} columns; "
            f"got shape={nodes.shape}."
        )
    return Estimate(
        domain=domain,
        values=noise.cells(noise.fusion.fuse(nodes)),
        noise=noise,
        totals=None,
        steps=() if noise.is_flat else (LEAST_SQUARES,),
        provenance=provenance,
    )
