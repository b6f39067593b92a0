r"""Tables from reports that hide several coordinates: each report answers for one table of them.

One report of the joint cell answers everything, but a count by place is then a sum of as many noisy cells as there are
kinds. Here a report picks a table (by place, by kind, joint) at random, whatever the value is, and sends its cell of
that table through an oracle with the whole epsilon. Least squares join the tables, and the chances are those with the
least sum of variances of what is asked. The joint cell alone is one of the choices, so that nothing errs less.

What else is known does not: an epsilon split among the coordinates (SPL), and one coordinate reported among fake ones
(RS+FD, RS+RFD; Arcolezi2021, Arcolezi2023b). The latter is a report of one table whose number is withheld, so that
it says less. Where both coordinates may change it has the same epsilon: what fake data add against a change of one
coordinate is lost when all of them change (``docs/proofs/sampled-tables.md``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit._base.validation import check_at_least
from tacit.counts.estimate import Estimate
from tacit.counts.noise.sampled import variance_of_differences
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.domain.marginals import Axes, Marginals, subsets
from tacit.errors import PlanError, Remedy, SettingError
from tacit.mechanisms.local.sampled_levels import SampledLevels, level_chances, of_level
from tacit.mechanisms.local.tree_design import LevelOracle, oracle_from_thresholds, short_oracle
from tacit.mechanisms.table_design import improved, needs_of, precisions_of
from tacit.plan import Plan

_GRID: Final = 1024  # chances are whole parts of so many; ten times as many change no error by a thousandth
_TOO_FEW: Final = 8
"""A table that deserves less than 8 of 1024 reports is left out; half or twice as many change no error by 1 %."""


@dataclass(frozen=True, slots=True)
class SampledTables(SampledLevels[Marginals]):
    r"""Tables of a product of axes, one of them for each report: the chances that make what is asked err least.

    Where events are spread evenly, N reports leave the residual of the axes A (:mod:`tacit.counts.table_least_squares`)

    .. math:: N \Bigl(\frac{1}{\lambda_A} - \frac{1}{n_A}\Bigr), \qquad
              \lambda_A = \sum_{S \supseteq A} \frac{\alpha_S}{(a_S + 1/n_S)\, n_{S \setminus A}},

    for tables S of :math:`n_S` cells, chosen with probability :math:`\alpha_S`, with half the oracle's variance a of
    the difference of two cells. So the sum of the variances asked for is convex in the chances.

    Privacy:   epsilon-local for replacing the value, all coordinates together, per report: the largest epsilon of the
               tables' oracles, since the table is chosen without looking at the value and is part of the report.
    Error:     exact for any question, see :mod:`tacit.counts.noise.sampled`. The joint table is always among those that
               are asked, if only by one report in 1,024, so that any question has an answer without bias.
    Cost:      one byte for the table, then the longest of the oracles' reports; O(oracle) to randomize and to tally.
    Reference: Arcolezi2021 (SMP); Xiao2023.

    >>> tables = SampledTables.from_epsilon(epsilon=1.0, sizes=(17, 6))
    >>> tables.hierarchy.tables, [round(chance / 2**64, 2) for chance in tables.chances]
    (((0,), (1,), (0, 1)), [0.18, 0.11, 0.7])
    """

    @classmethod
    def from_epsilon(
        cls,
        *,
        epsilon: float,
        sizes: tuple[int, ...],
        asked: Mapping[Axes, float] | None = None,
        level_oracle: LevelOracle = short_oracle,
    ) -> SampledTables:
        """Make the tables over axes of these sizes with the least sum of variances of the cells of what is asked.

        ``asked`` weighs tables by their axes; left out, those of one axis and the joint one count alike, cell by cell.
        """
        check_at_least(2, n_cells=math.prod(sizes))
        joint = tuple(range(len(sizes)))
        weights = (
            {axes: 1.0 for axes in subsets(len(sizes)) if len(axes) in (1, len(sizes))} if asked is None else asked
        )
        if not weights or min(weights.values()) < 0 or not any(weights.values()):
            raise SettingError("asked must weigh some tables, none below 0.")
        # axes of one cell leave several names for the same table
        wide = tuple(axis for axis in joint if sizes[axis] > 1)
        useful = [axes for axes in subsets(len(sizes))[1:] if axes == joint or set(axes) < set(wide)]
        oracles = {axes: level_oracle(epsilon, math.prod(sizes[axis] for axis in axes)) for axes in useful}
        shares = _best_shares(
            sizes, {axes: variance_of_differences(one.distribution) for axes, one in oracles.items()}, weights
        )
        kept = tuple(axes for axes in useful if axes in shares)
        return cls(
            Marginals(sizes, kept),
            tuple(oracles[axes] for axes in kept),
            level_chances([shares[axes] for axes in kept]),
        )

    @classmethod
    def of_cells(cls, *, epsilon: float, n_cells: int) -> SampledTables:
        """Make tables over two axes of about the same size, or one: for whoever knows the number of cells alone."""
        check_at_least(2, n_cells=n_cells)
        small = max(size for size in range(1, math.isqrt(n_cells) + 1) if n_cells % size == 0)
        return cls.from_epsilon(epsilon=epsilon, sizes=(n_cells // small, small) if small > 1 else (n_cells,))

    def thresholds(self) -> dict[str, int]:
        """Return the sizes of the axes; for each table its axes as bits, its chance, its oracle's thresholds."""
        thresholds = {f"axis {number}": size for number, size in enumerate(self.hierarchy.sizes, 1)}
        parts = zip(self.hierarchy.tables, self.chances, self.oracles, strict=True)
        for number, (axes, chance, oracle) in enumerate(parts, 1):
            own = {"axes": sum(1 << axis for axis in axes), "chance": chance} | oracle.thresholds()
            thresholds |= {f"table {number} {name}": value for name, value in own.items()}
        return thresholds

    @classmethod
    def from_thresholds(cls, thresholds: Mapping[str, int], n_cells: int) -> SampledTables:
        """Make the tables that were agreed on; the names of an oracle's thresholds say which oracle it is."""
        sizes, tables, chances, oracles = list[int](), list[Axes](), list[int](), []
        while (size := thresholds.get(f"axis {len(sizes) + 1}")) is not None:
            sizes.append(size)
        if math.prod(sizes) != n_cells:
            raise SettingError(f"axes must have {n_cells} cells together. Make the thresholds again.")
        while own := of_level("table", len(tables) + 1, thresholds):
            bits = own.pop("axes")
            tables.append(tuple(axis for axis in range(len(sizes)) if bits >> axis & 1))
            chances.append(own.pop("chance"))
            oracles.append(oracle_from_thresholds(own, math.prod(sizes[axis] for axis in tables[-1])))
        made = cls(Marginals(tuple(sizes), tuple(tables)), tuple(oracles), tuple(chances))
        if made.thresholds() != dict(thresholds):
            raise SettingError("thresholds must belong to axes and tables numbered from 1. Make them again.")
        return made

    def estimate(self, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
        """Estimate all tables without bias, and fuse them into joint cells that add up to the number of reports."""
        sizes = plan.layout(domain).private_sizes
        if sizes != self.hierarchy.sizes:
            raise PlanError(
                f"the plan's tables have axes of {self.hierarchy.sizes} cells, and its private coordinates {sizes}.",
                remedy=Remedy.MAKE_PLAN,
            )
        return SampledLevels.estimate(self, tally, plan, domain)


def _best_shares(sizes: Sequence[int], errors: Mapping[Axes, float], asked: Mapping[Axes, float]) -> dict[Axes, int]:
    """Return the parts of 1,024 reports that each table gets; those that deserve hardly any are left out."""
    every = Marginals.every(tuple(sizes))
    needs = needs_of(every, asked)
    needs[0] = 0.0  # the number of reports is public
    own = np.array([errors.get(axes, math.inf) + 1 / every.n_cells(axes) for axes in every.tables])
    _, shares = improved(np.ones(len(own)), needs, precisions_of(every)[:, 1:] / own, power=1)
    parts = dict(zip(every.tables, np.rint(shares * _GRID).astype(int).tolist(), strict=True))
    kept = {axes: part for axes, part in parts.items() if part >= _TOO_FEW}
    joint = every.tables[-1]
    return kept | {joint: max(parts[joint], 1)}
