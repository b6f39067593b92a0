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

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.node_distributions import NodeDistribution
from tacit.counts.noise.marginals import TABLES, Axes, MarginalNoise
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally
from tacit.domain.layout import Sizes
from tacit.errors import SettingError
from tacit.mechanisms.central.tree import EVENT, check_release, input_digest_of, node_noise
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Spend
from tacit.privacy.unit import Unit

NAMES: Final = ("total", "place", "kind", "joint")
"""The tables of a time bin, in the order of :data:`~tacit.counts.noise.marginals.TABLES`."""
LEAST_SQUARES: Final = "least squares over tables"
_PARTS: Final = 1000
"""Shares of the budget are such parts of it; ten times as many change no error by a thousandth."""
_MOST_ROUNDS: Final = 100_000  # ends a search that would never be still; none is known to come near
_STILL: Final = 1e-10  # relative gain of a round below which the search ends; a tenth of it finds the same shares


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
        if len(self.shares) != len(TABLES) or not self.shares[-1]:
            raise SettingError(
                f"shares must name a part of the budget for {', '.join(NAMES)}, and some for the joint table; got "
                f"shares={self.shares}."
            )
        if bool(self.cost.epsilon) == bool(self.cost.rho):
            raise SettingError(f"cost must be pure or zCDP, not both and not nothing; got {self.cost}.")

    @property
    def axis(self) -> str:
        """Counts of one time bin are measured together; those of two bins have nothing to do with each other."""
        return "column"

    @property
    def level_sizes(self) -> tuple[int, ...]:
        """The number of cells of every table of a time bin, measured or not."""
        return tuple(prod(self.sizes[axis] for axis in axes) for axes in TABLES)

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
        nodes, tables, first = self.noisy_nodes(counts, plan, spend=spend), dict[Axes, FloatArray](), 0
        for axes, size, distribution in zip(TABLES, self.level_sizes, self.distributions, strict=True):
            if distribution is not None:
                table = nodes[first : first + size].T.astype(np.float64)
                tables[axes] = table.reshape([n if axis in (0, *axes) else 1 for axis, n in enumerate(self.sizes)])
            first += size
        return Estimate(
            domain=plan.domain,
            values=self.noise.fit(tables),
            noise=self.noise,
            totals=None,
            steps=(LEAST_SQUARES,) if len(tables) > 1 else (),
            provenance=Provenance(plan.fingerprint, spend.is_simulation, spend.prior, spend.ledger_heads),
        )

    def noisy_nodes(self, counts: ExactTally, plan: Plan, *, spend: Spend) -> IntArray:
        """The cells of all tables (rows) of every time bin, with their noise: all that a release is made of.

        Not to be published: a table that is not measured is 0.
        """
        check_release(self, counts, plan, spend)
        randomness = spend.draw(plan.fingerprint, input_digest_of(counts))
        nodes, first = self.sum_nodes(counts.reveal()), 0
        for size, distribution in zip(self.level_sizes, self.distributions, strict=True):
            here = nodes[first : first + size]
            if distribution is None:
                here[...] = 0  # what is not measured is not known to anyone downstream
            else:
                here += distribution.draw(here.size, randomness=randomness).reshape(here.shape)
            first += size
        return nodes

    def sum_nodes(self, counts: IntArray) -> IntArray:
        """The cells of all tables (rows) of exact counts, time x columns, of any number of time bins."""
        grid = counts.reshape(-1, *self.sizes[1:])
        tables = [grid.sum(axis=(1, 2))[:, None], grid.sum(axis=2), grid.sum(axis=1), grid.reshape(len(grid), -1)]
        return np.ascontiguousarray(np.concatenate(tables, axis=1).T)


def cells_summed(sizes: Sizes) -> tuple[int, ...]:
    """How many joint cells are summed in a cell of each table.

    >>> cells_summed((365, 17, 6))
    (102, 6, 17, 1)
    """
    return tuple(prod(sizes[axis] for axis in (1, 2) if axis not in axes) for axes in TABLES)


def best_shares(
    sizes: Sizes, *, is_pure: bool, asked: Mapping[str, float] | None = None, unit: Unit = EVENT
) -> tuple[int, ...]:
    """Return the shares of the budget with the least sum of variances of the cells of what is asked.

    ``asked`` weighs the tables by name; left out, places, kinds and joint cells count alike, cell by cell. The search
    multiplies each share by a root of its gain and never errs more than before (Silvey1978).

    >>> best_shares((1, 17, 6), is_pure=False)
    (0, 186, 126, 688)
    """
    weights = {"place": 1.0, "kind": 1.0, "joint": 1.0} if asked is None else dict(asked)
    if not weights or not weights.keys() <= set(NAMES) or min(weights.values()) < 0 or not any(weights.values()):
        raise SettingError(f"asked must weigh some of {', '.join(NAMES)}, none below 0; got asked={dict(weights)}.")
    needs, spread = _needs(sizes, [weights.get(name, 0.0) for name in NAMES]), _spread(sizes)
    if not is_pure:  # Gaussian noise follows the bounds of each table
        spread = spread / [unit.squared_sensitivity(n_cells) for n_cells in cells_summed(sizes)]
    power = 2 if is_pure else 1  # precision grows with the square of epsilon, and with rho
    found = [_improved(np.array(start), needs, spread, power) for start in _starts(is_pure)]
    shares = min(found, key=lambda one: one[0])[1]
    parts = np.round(shares * _PARTS).astype(int)
    parts[-1] = max(parts[-1], 1)
    return tuple(parts.tolist())


def _starts(is_pure: bool) -> Iterator[tuple[float, ...]]:
    """Where the search begins: the error has one minimum in rho, but may have several in epsilon."""
    for measured in product((1e-3, 1.0), repeat=len(TABLES) - 1) if is_pure else [(1.0,) * (len(TABLES) - 1)]:
        yield *measured, 1.0


def _improved(shares: FloatArray, needs: FloatArray, spread: FloatArray, power: int) -> tuple[float, FloatArray]:
    """The least error that is found from these shares on, and its shares."""
    before = np.inf
    for _ in range(_MOST_ROUNDS):
        shares = shares / shares.sum()
        variances = 1 / np.maximum(spread @ shares**power, 1e-300)
        error = float(needs @ variances)
        if error > before * (1 - _STILL):
            break
        before = error
        gains = spread.T @ (needs * variances**2) * shares ** (power - 1)
        shares = shares * gains ** (1 / (power + 1))
    return error, shares


def least_error(sizes: Sizes, rho: float, *, asked: Mapping[str, float]) -> float:
    """The least sum of variances that any Gaussian measurement of marginals can have: the bound of Xiao2023."""
    needs = _needs(sizes, [asked.get(name, 0.0) for name in NAMES])
    inside = np.array([np.prod([1 - 1 / sizes[axis] for axis in axes]) for axes in TABLES])
    return float(np.sqrt(needs * inside).sum() ** 2 / (2 * rho))


def _needs(sizes: Sizes, asked: list[float]) -> FloatArray:
    """How much the variance of each residual adds to the sum of the variances of what is asked."""
    needs = np.zeros(len(TABLES))
    for number, axes in enumerate(TABLES):
        for table, weight in zip(TABLES, asked, strict=True):
            if set(axes) <= set(table):
                n_cells = np.prod([sizes[axis] for axis in table])
                inside = np.prod([1 - 1 / sizes[axis] for axis in axes])
                outside = np.prod([float(sizes[axis]) ** 2 for axis in table if axis not in axes])
                needs[number] += weight * n_cells * inside / outside
    return needs


def _spread(sizes: Sizes) -> FloatArray:
    """The precision of each residual (rows) for a unit of precision of each table (columns)."""
    return np.array(
        [
            [
                1 / np.prod([sizes[axis] for axis in table if axis not in axes]) if set(axes) <= set(table) else 0.0
                for table in TABLES
            ]
            for axes in TABLES
        ]
    )
