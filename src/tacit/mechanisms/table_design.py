r"""The part of a budget, or of all reports, for each table of a product of axes: the least sum of variances asked for.

With the precision :math:`\tau_S` of a cell of table S, the residual of the axes A has the variance

.. math:: v_A = \Bigl(\sum_{S \supseteq A} \frac{\tau_S}{n_{S \setminus A}}\Bigr)^{-1}

(:mod:`tacit.counts.table_least_squares`), and the variances of all cells of what is asked add up to :math:`\sum_A c_A
v_A`. Both a curator's noise and the reports of devices lead here: precision grows with the square of epsilon, with rho,
and with the number of reports.

Reference: Xiao2023; Silvey1978.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.domain.marginals import Axes, Marginals, subsets

_MOST_ROUNDS: Final = 100_000  # ends a search that would never be still; none is known to come near
# of what nobody needs, whose share goes to nothing; its square, and ten digits of needs beside it, fit into a float
_LEAST_PRECISION: Final = 1e-140
_STILL: Final = 1e-10  # relative gain of a round below which the search ends; a tenth of it finds the same shares


def needs_of(marginals: Marginals, asked: Mapping[Axes, float]) -> FloatArray:
    """Return what the variance of each residual adds to the weighted sum of variances of the tables asked for."""
    sizes = marginals.sizes
    needs = []
    for axes in subsets(len(sizes)):
        inside = prod(1 - 1 / sizes[axis] for axis in axes)
        tables = ((table, weight) for table, weight in asked.items() if set(axes) <= set(table))
        needs.append(
            sum(
                weight * marginals.n_cells(table) * inside / marginals.n_cells(_less(table, axes)) ** 2
                for table, weight in tables
            )
        )
    return np.array(needs, np.float64)


def precisions_of(marginals: Marginals) -> FloatArray:
    """Return the precision of each residual (rows) for a unit of precision of each level (columns)."""
    return np.array(
        [
            [
                1 / marginals.n_cells(_less(table, axes)) if set(axes) <= set(table) else 0.0
                for table in marginals.levels
            ]
            for axes in subsets(len(marginals.sizes))
        ]
    )


def improved(shares: FloatArray, needs: FloatArray, precisions: FloatArray, power: int) -> tuple[float, FloatArray]:
    """Return the least error that is found from these shares on, and its shares, 1 together.

    A level's precision is its share to this ``power``. Each round multiplies shares by a root of their gains and never
    errs more than before. Of power 1 there is one minimum.
    """
    before = np.inf
    for _ in range(_MOST_ROUNDS):
        shares = shares / shares.sum()
        variances = 1 / np.maximum(precisions @ shares**power, _LEAST_PRECISION)
        error = float(needs @ variances)
        if error > before * (1 - _STILL):
            break
        before = error
        gains = precisions.T @ (needs * variances**2) * shares ** (power - 1)
        shares = shares * gains ** (1 / (power + 1))
    return error, shares


def _less(table: Axes, axes: Axes) -> Axes:
    return tuple(axis for axis in table if axis not in axes)
