r"""What devices could do that trust nobody: one report an event, through an oracle or through a tree of them.

One report through an oracle of k cells adds, on average over the cells it may come from,

.. math:: V(r) = a r + b r^2, \qquad V(1) = a + b, \qquad V(k) = a k + b k^2

to the variance of a sum of r cells. This is exact where cells are alike to the oracle (unary encodings, response and
subset selection; b is 0 or, where as many cells are named whatever happens, -a/k) and holds on average over the
positions of the range for the others.

In a tree each report answers for one level, chosen with probability :math:`\alpha_l`; the total is public. The nodes of
a level then err as if independently, by a itself, and by which reports the level happened to get:

.. math:: \sigma_l^2 = \frac{n}{\alpha_l} \Bigl(a_l + \frac{1 - \alpha_l}{k_l}\Bigr).

Reference: Kulkarni2019; Hay2010.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from tacit.counts.noise.sampled import error_of_differences, level_variances
from tacit.counts.oracle_distributions import SupportDistribution, mean_variance
from tacit.counts.tree_least_squares import TreeFusion
from tacit.errors import TacitError
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.planner.oracles import compare_oracles
from tacit.mechanisms.planner.situation import Contender, QuadraticError, Situation

DEGREES: Final = (2, 3, 4, 8, 16)
"""The fan-outs that are tried for trees of one degree."""
MOST_DESIGNED: Final = 1 << 20
"""Up to so many bins the best tree is searched for, in a time that grows with their number; beyond, only trees of one
degree are compared."""


def report_error(distribution: SupportDistribution) -> QuadraticError:
    """What one report adds to the variance of a sum of cells, on average over where it may come from.

    >>> from tacit.counts.oracle_distributions import UnaryDistribution
    >>> report_error(UnaryDistribution(17, 3 << 62, 1 << 62))
    QuadraticError(single=0.75, shared=0.0)
    """
    one, single = mean_variance(distribution), error_of_differences(distribution)
    # what differs by rounding alone does not differ
    return QuadraticError(single, one - single) if abs(one - single) > 1e-12 * one else QuadraticError(one)


def flat_contenders(situation: Situation) -> list[Contender]:
    """Every oracle over the values that a report hides."""
    assert situation.epsilon is not None
    if situation.n_hidden < 2:
        return []
    n, made = situation.reports_together, []
    for candidate in compare_oracles(situation.n_hidden, situation.epsilon):
        try:
            error = report_error(candidate.randomizer.distribution)
        except TacitError:  # an oracle that does not go so far
            continue
        if "time" in situation.private:
            scaled = QuadraticError(n * error.single, n * error.shared)
        else:  # every bin is estimated from reports of its own
            scaled = QuadraticError(n * (error.single + error.shared))
        made.append(Contender(candidate.name, scaled, report_bytes=candidate.report_bytes))
    return made


def tree_contenders(situation: Situation, degrees: Sequence[int] = DEGREES) -> list[Contender]:
    """Hierarchical histograms over time, fused, where the time is what a report hides: of each degree."""
    assert situation.epsilon is not None
    if situation.private != ("time",):
        return []
    return [_tree(situation, degree) for degree in degrees if degree < situation.n_bins]


def designed_contenders(situation: Situation) -> list[Contender]:
    """The hierarchical histogram that a plan would get."""
    if situation.private != ("time",) or not 2 <= situation.n_bins <= MOST_DESIGNED:
        return []
    return [_tree(situation, None)]


def _tree(situation: Situation, degree: int | None) -> Contender:
    assert situation.epsilon is not None
    histogram = _histogram(situation.epsilon, situation.n_bins, degree)
    distributions = [oracle.distribution for oracle in histogram.oracles]
    variances = [situation.reports_together * one for one in level_variances(distributions, histogram.chances)]
    sizes = [int(boundaries[1]) for boundaries in histogram.hierarchy.boundaries]
    return Contender(
        "hierarchical",
        TreeFusion(histogram.hierarchy, variances),
        fan_outs=tuple(-(-above // below) for above, below in pairwise(sizes)),
        report_bytes=histogram.report_bytes,
        is_designed=degree is None,
    )


@lru_cache(maxsize=16)
def _histogram(epsilon: float, n_bins: int, degree: int | None) -> HierarchicalHistogram:
    return HierarchicalHistogram.from_epsilon(epsilon=epsilon, n_cells=n_bins, fan_out=degree)
