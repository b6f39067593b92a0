"""A curator's mechanism: noise on the nodes of a tree, then least squares. A range errs little more than one count.

Adding up noisy counts adds up their noise. If sums of many periods get noise of their own, a long range is made of few
noisy numbers; but every level of sums is paid for by all. A flat table of counts is the tree that has leaves only.
Which tree is best: :mod:`tacit.mechanisms.central.tree_design`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_at_least, check_one_of
from tacit.counts.estimate import Estimate
from tacit.counts.node_distributions import DiscreteGaussian, DiscreteLaplace, NodeDistribution
from tacit.counts.noise.tree import fuse
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, Hierarchy
from tacit.errors import SettingError
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Spend
from tacit.privacy.unit import Unit

EVENT: Final = Unit()
LARGEST_TOTAL: Final = 1 << 53
"""The most that all counts of a release add up to: floats, in which trees are fitted, are exact up to there."""


class CentralMechanism(Protocol):
    """Exact counts in, noisy counts out, once for every spend.

    Formal guarantee: for two inputs that differ by one unit (an event, or all events of one person in a window), the
    distributions of the output differ by at most ``cost``. Nothing is drawn before the ledger has written the cost
    down, and all noise comes from the spend: the same spend gives the same noise, for the same plan and counts only.
    """

    @property
    def cost(self) -> Cost:
        """The cost of a release for each unit."""

    def measure(self, counts: ExactTally, plan: Plan, *, spend: Spend) -> Estimate:
        """Return the counts of a plan's domain with noise."""


def check_release(mechanism: CentralMechanism, counts: ExactTally, plan: Plan, spend: Spend) -> None:
    """Refuse, before any noise is drawn, a spend of another size or unit, or counts that the plan cannot publish."""
    if spend.cost != mechanism.cost:
        raise SettingError(
            f"the ledger was asked for {spend.cost}, but this mechanism costs {mechanism.cost}. "
            "Spend exactly the mechanism's cost."
        )
    if not spend.is_simulation and spend.unit != plan.protected_unit:
        raise SettingError(
            f"the ledger was asked for the unit {spend.unit}, but the plan protects the {plan.protected_unit}. "
            "Spend with the plan's unit."
        )
    check_counts(counts, plan.domain)


def check_counts(counts: ExactTally, domain: Domain) -> None:
    """Refuse counts that cannot be published over a domain; to be asked before they are paid for too."""
    shape = counts.reveal().shape
    if shape != domain.shape:
        raise SettingError(f"counts must have the domain's shape {domain.shape}; got shape={shape}.")
    if (counts.reveal() < 0).any():
        raise SettingError("counts must not be negative. Count events, or correct the table of counts.")
    high, low = counts.reveal() >> 32, counts.reveal() & 0xFFFF_FFFF  # their sums do not overflow
    if (int(high.sum()) << 32) + int(low.sum()) > LARGEST_TOTAL:
        raise SettingError(
            f"all counts together must be at most 2**53 = {LARGEST_TOTAL:,}, up to which whole numbers are exact; "
            "these are more. Count in larger pieces, or correct the table of counts."
        )


def input_digest_of(counts: ExactTally) -> bytes:
    """Return the digest by which a spend knows exact counts, the same on every platform. Keep it from the public."""
    cells = counts.reveal()
    return hashlib.sha256(repr(cells.shape).encode() + cells.astype(np.dtype("<i8"), order="C").tobytes()).digest()


def node_noise(cost: Cost, unit: Unit, part: Fraction, n_cells: int) -> NodeDistribution:
    """Return the noise of disjoint sums over at most ``n_cells`` cells, measured with a part of the cost."""
    if cost.epsilon:
        return DiscreteLaplace(Fraction(cost.epsilon) * part / unit.sensitivity)
    return DiscreteGaussian(unit.squared_sensitivity(n_cells) / (2 * Fraction(cost.rho) * part))


@dataclass(frozen=True, eq=False)
class NoisyTree:
    r"""Whole-number noise on every measured node of a tree over one axis, one tree for each bin of the other.

    .. math:: y_v = x_v + Z_v, \qquad Z_v \sim \mathrm{DLap}\Bigl(\frac{\epsilon_l}{m}\Bigr) \ \text{or} \
              \mathrm{DGauss}\Bigl(\frac{\Delta_l^2}{2\rho_l}\Bigr), \qquad
              \epsilon_l = \epsilon\,\frac{s_l}{\sum_j s_j}

    for the nodes v of level l, whose part of the budget is ``shares[l]`` (root first, 0 for a level that is not
    measured), where one unit changes the nodes of a level by at most m in all, and by squares that sum to at most
    :math:`\Delta_l^2`, the unit's squared sensitivity for the leaves under a node. The leaves are the least-squares
    fit.

    Privacy:   exactly the cost, for adding or removing one unit: an event lies in one node of each level of one tree,
               so the levels' costs add up and the trees' do not.
    Error:     :class:`~tacit.counts.tree_least_squares.TreeFusion` has the exact variance of any question.
    Cost:      O(nodes), one to two keystream words each.
    Reference: Hay2010; Qardaji2013.
    """

    hierarchy: Hierarchy
    shares: tuple[int, ...]
    cost: Cost
    axis: str = "time"
    order: NDArray[np.int64] | None = None
    unit: Unit = EVENT

    def __post_init__(self) -> None:
        check_one_of(("time", "place"), axis=self.axis)
        check_at_least(0, **{f"shares[{level}]": share for level, share in enumerate(self.shares)})
        if len(self.shares) != self.hierarchy.n_levels or not self.shares[-1]:
            raise SettingError(
                f"shares must name a part of the budget for each of {self.hierarchy.n_levels} levels, root first, and "
                f"some for the leaves; got shares={self.shares}."
            )
        if bool(self.cost.epsilon) == bool(self.cost.rho):
            raise SettingError(f"cost must be pure or zCDP, not both and not nothing; got {self.cost}.")

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """The number of nodes of every level of a tree, root first."""
        return self.hierarchy.level_sizes

    @cached_property
    def distributions(self) -> tuple[NodeDistribution | None, ...]:
        """The distribution of the noise of every level, root first; none where nothing is measured."""
        parts = [Fraction(share, sum(self.shares)) for share in self.shares]
        return tuple(
            node_noise(self.cost, self.unit, part, n_cells) if part else None
            for part, n_cells in zip(parts, self.hierarchy.widest, strict=True)
        )

    def measure(self, counts: ExactTally, plan: Plan, *, spend: Spend) -> Estimate:
        """Publish the counts of a plan's domain: the unbiased leaves, with the noise model of any question."""
        nodes = self.noisy_nodes(counts, plan, spend=spend)
        provenance = Provenance(plan.fingerprint, spend.is_simulation, spend.prior, spend.ledger_heads)
        return fuse(
            self.hierarchy,
            nodes,
            self.distributions,
            domain=plan.domain,
            axis=self.axis,
            order=self.order,
            provenance=provenance,
        )

    def noisy_nodes(self, counts: ExactTally, plan: Plan, *, spend: Spend) -> NDArray[np.int64]:
        """Return the sums of all nodes, root first, with noise: all that a release is made of. Not to be published."""
        check_release(self, counts, plan, spend)
        nodes = self.sum_nodes(counts.reveal())
        randomness = spend.draw(plan.fingerprint, input_digest_of(counts))
        for level, distribution in enumerate(self.distributions):
            here = nodes[self.hierarchy.level_slice(level)]
            if distribution is None:
                here[...] = 0  # what is not measured is not known to anyone downstream
            else:
                here += distribution.draw(here.size, randomness=randomness).reshape(here.shape)
        return nodes

    def sum_nodes(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sums of all nodes (rows), root first, of exact counts, time x columns, of any number of trees."""
        leaves = counts if self.axis == "time" else counts.T
        return self.hierarchy.sum_leaves(leaves if self.order is None else leaves[self.order])
