r"""Totals dealt out to places: from what is expected of both to laws of counts.

.. math:: \mu_r = \hat T s_r, \qquad \operatorname{Var} = \mu_r + \hat T^2 \{ s_r^2 k (\phi + e^V - 1)
          + \operatorname{Var} s_r + \omega s_r (1 - s_r) \},

with the variance V of the log of the total's rate, its overdispersion :math:`\phi` and that of places :math:`\omega`;
k is what forecasts of the past say that was missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit._base.arrays import FloatArray
from tacit.counts.count_law import CountLaw
from tacit.statespace.ahead import Ahead
from tacit.statespace.share_model import Shares


@dataclass(frozen=True, slots=True, eq=False)
class Dealt:
    """Total and shares after origins; ``overdispersion`` is of totals, ``of_places`` of places.

    ``excesses`` (origins x horizon) are the multiples of the total's relative variance.
    """

    total: Ahead
    shares: Shares | None
    overdispersion: float
    excesses: FloatArray
    of_places: float

    def laws(self) -> tuple[CountLaw, CountLaw]:
        """Of the counts of places (origins x horizon x places), and of totals (origins x horizon)."""
        variances = self.total.variances()
        means = np.exp(self.total.means() + variances / 2)
        relative = self.excesses * (self.overdispersion + np.expm1(variances))
        totals = CountLaw(means, means + relative * np.square(means))
        if self.shares is None:
            return CountLaw(totals.means[..., None], totals.variances[..., None]), totals
        share = self.shares.means
        counts = means[..., None] * share
        relative_to_total = (
            relative[..., None] * np.square(share) + self.shares.variances + self.of_places * share * (1 - share)
        )
        return CountLaw(counts, counts + np.square(means)[..., None] * relative_to_total), totals

    def sum_distributions(self) -> tuple[CountLaw, CountLaw]:
        """Of sums over the horizon at a single origin: of places, and of all."""
        counts, totals = self.laws()
        expected, longest = totals.means, float(self.excesses.max())
        alone = expected + longest * self.overdispersion * np.square(expected)
        all_together = longest * self.total.sum_variances(expected)
        total = CountLaw(expected.sum(axis=1), alone.sum(axis=1) + all_together)
        if self.shares is None:
            return total, total
        share, of_places = self.shares.means[0], counts.means[0].T
        chance = counts.means[0] + np.square(expected[0])[:, None] * (
            longest * self.overdispersion * np.square(share) + self.of_places * share * (1 - share)
        )
        of_total = longest * self.total.sum_variances(np.ascontiguousarray(of_places))
        of_share = self.shares.sum_variances(expected)[0]
        return CountLaw(of_places.sum(axis=1), chance.sum(axis=0) + of_total + of_share), total
