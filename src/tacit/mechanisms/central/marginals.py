r"""A curator's tables by place, by kind and of both together: measured at once, and made to agree.

Counts of places that are sums of noisy joint counts err by all their noise. Here every table that is asked for is
measured, with the noise that is best for all of them, and least squares joins them
(:mod:`tacit.counts.noise.marginals`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.languages import stored
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.node_distributions import NodeDistribution
from tacit.counts.noise.marginals import MarginalNoise
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally
from tacit.domain.layout import Sizes
from tacit.domain.marginals import Axes, Marginals
from tacit.errors import SettingError
from tacit.mechanisms.central.tree import EVENT, check_release, input_digest_of, node_noise
from tacit.mechanisms.table_design import improved, needs_of, precisions_of
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Spend
from tacit.privacy.unit import Unit

NAMES: Final = ("total", "place", "kind", "joint")
"""The tables of a time bin, in the order of :class:`~tacit.domain.marginals.Marginals`."""
LEAST_SQUARES: Final = stored("least squares over tables")
_PARTS: Final = 1000
"""Shares of the budget are such parts of it; ten times as many change no error by a thousandth."""


@dataclass(frozen=True, eq=False)
class MarginalTables:
    r"""Whole-number noise on every cell of the tables that are measured, then least squares.

    .. math:: y_c = x_c + Z_c, \qquad Z_c \sim \mathrm{DLap}\Bigl(\frac{\epsilon_S}{m}\Bigr) \ \text{or} \
              \mathrm{DGauss}\Bigl(\frac{\Delta_S^2}{2\rho_S}\Bigr), \qquad
              \epsilon_S = \epsilon\,\frac{s_S}{\sum_T s_T}

    for the cells c of table S, whose part of the budget is its share s (0 for a table that is not measured), where one
    unit changes a table by at most m in all, and by squares that sum to at most :math:`\Delta_S^2`.

    Privacy:   exactly the cost, for adding or removing one unit: an event lies in one cell of each table of its bin, so
               the tables' costs add up and the bins' do not.
    Error:     :class:`~tacit.counts.noise.marginals.MarginalNoise` has the exact variance of any question.
    Cost:      O(cells), one to two keystream words each.
    Reference: Xiao2023.
    """

    sizes: Sizes
    shares: tuple[int, ...]
    cost: Cost
    unit: Unit = EVENT

    def __post_init__(self) -> None:
        check_at_least(0, **{f"share of {name}": share for name, share in zip(NAMES, self.shares, strict=False)})
        if len(self.shares) != len(NAMES) or not self.shares[-1]:
            raise SettingError(
                f"shares must name a part of the budget for {', '.join(NAMES)}, and some for the joint table; got "
                f"shares={self.shares}."
            )
        if bool(self.cost.epsilon) == bool(self.cost.rho):
            raise SettingError(f"cost must be pure or zCDP, not both and not nothing; got {self.cost}.")

    @property
    def axis(self) -> str:
        """The axis that is measured together: columns, of one time bin at a time; bins are independent."""
        return "column"

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """The number of cells of every table of a time bin, measured or not."""
        return self._tables.level_sizes

    @property
    def distributions(self) -> tuple[NodeDistribution | None, ...]:
        """The distribution of the noise of every table; none where nothing is measured."""
        parts = [Fraction(share, sum(self.shares)) for share in self.shares]
        return tuple(
            node_noise(self.cost, self.unit, part, n_cells) if part else None
            for part, n_cells in zip(parts, cells_summed(self.sizes), strict=True)
        )

    @property
    def noise(self) -> MarginalNoise:
        """The noise model of the joint table."""
        return MarginalNoise(self.distributions, self.sizes)

    def measure(self, counts: ExactTally, plan: Plan, *, spend: Spend) -> Estimate:
        """Publish the counts of a plan's domain: unbiased joint cells, with the noise model of any question."""
        nodes = self.noisy_nodes(counts, plan, spend=spend)
        return Estimate(
            domain=plan.domain,
            values=self.noise.fit(nodes.astype(np.float64)),
            noise=self.noise,
            totals=None,
            steps=(LEAST_SQUARES,) if any(self.shares[:-1]) else (),
            provenance=Provenance(plan.fingerprint, spend.is_simulation, spend.prior, spend.ledger_heads),
        )

    def noisy_nodes(self, counts: ExactTally, plan: Plan, *, spend: Spend) -> IntArray:
        """Return the cells of all tables (rows) of every time bin, with their noise: all that a release is made of.

        Not to be published: a table that is not measured is 0.
        """
        check_release(self, counts, plan, spend)
        randomness = spend.draw(plan.fingerprint, input_digest_of(counts))
        nodes = self.sum_nodes(counts.reveal())
        for level, distribution in enumerate(self.distributions):
            here = nodes[self._tables.level_slice(level)]
            if distribution is None:
                here[...] = 0  # what is not measured is not known to anyone downstream
            else:
                here += distribution.draw(here.size, randomness=randomness).reshape(here.shape)
        return nodes

    def sum_nodes(self, counts: IntArray) -> IntArray:
        """Return the cells of all tables (rows) of exact counts, time x columns, of any number of time bins."""
        return self._tables.sum_leaves(counts.T)

    @property
    def _tables(self) -> Marginals:
        return Marginals.every(self.sizes[1:])


def cells_summed(sizes: Sizes) -> tuple[int, ...]:
    """Return the number of joint cells that a cell of each table sums.

    >>> cells_summed((365, 17, 6))
    (102, 6, 17, 1)
    """
    tables = Marginals.every(sizes[1:])
    return tuple(tables.n_leaves // n_cells for n_cells in tables.level_sizes)


def best_shares(
    sizes: Sizes, *, is_pure: bool, asked: Mapping[str, float] | None = None, unit: Unit = EVENT
) -> tuple[int, ...]:
    """Return the shares of the budget with the least sum of variances of the cells of what is asked.

    ``asked`` weighs the tables by name; left out, places, kinds and joint cells count alike, cell by cell. See
    :mod:`tacit.mechanisms.table_design` for the search.

    >>> best_shares((1, 17, 6), is_pure=False)
    (0, 186, 126, 688)
    """
    weights = {"place": 1.0, "kind": 1.0, "joint": 1.0} if asked is None else dict(asked)
    if not weights or not weights.keys() <= set(NAMES) or min(weights.values()) < 0 or not any(weights.values()):
        raise SettingError(f"asked must weigh some of {', '.join(NAMES)}, none below 0; got asked={dict(weights)}.")
    tables = Marginals.every(sizes[1:])
    needs = needs_of(tables, {axes: weights.get(name, 0.0) for axes, name in _named(tables)})
    precisions = precisions_of(tables)
    if not is_pure:  # Gaussian noise follows the bounds of each table
        precisions = precisions / [unit.squared_sensitivity(n_cells) for n_cells in cells_summed(sizes)]
    power = 2 if is_pure else 1  # precision grows with the square of epsilon, and with rho
    found = [improved(np.array(start), needs, precisions, power) for start in _starts(is_pure)]
    shares = min(found, key=lambda one: one[0])[1]
    parts = np.round(shares * _PARTS).astype(int)
    parts[-1] = max(parts[-1], 1)
    return tuple(parts.tolist())


def _starts(is_pure: bool) -> Iterator[tuple[float, ...]]:
    """Yield the starts of the search: the error has one minimum in rho, but may have several in epsilon."""
    # a share of 0 would stay 0: a thousandth, which the search may raise or forget
    for measured in product((1e-3, 1.0), repeat=len(NAMES) - 1) if is_pure else [(1.0,) * (len(NAMES) - 1)]:
        yield *measured, 1.0


def least_error(sizes: Sizes, rho: float, *, asked: Mapping[str, float]) -> float:
    """Return the least sum of variances that any Gaussian measurement of marginals can have: the bound of Xiao2023."""
    tables = Marginals.every(sizes[1:])
    needs = needs_of(tables, {axes: asked.get(name, 0.0) for axes, name in _named(tables)})
    inside = np.array([prod(1 - 1 / tables.sizes[axis] for axis in axes) for axes in tables.levels])
    return float(np.sqrt(needs * inside).sum() ** 2 / (2 * rho))


def _named(tables: Marginals) -> Iterator[tuple[Axes, str]]:
    return zip(tables.levels, NAMES, strict=True)
