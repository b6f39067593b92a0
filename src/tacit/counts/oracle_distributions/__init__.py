r"""The distributions of reports that support cells: what a noise model must know of a local randomizer, and no more.

Every frequency oracle of the field reads a report as the set of cells it *supports*. The true cell is supported with
probability p, any other with probability q, and counts are estimated from the supports C by

.. math:: \hat n_v = \frac{C_v - N q}{p - q}.

How much a linear question :math:`\sum_v w_v \hat n_v` errs depends on how the supports of one report are correlated. A
distribution answers that exactly: ``variances(w)[u]`` is the variance that one report of true cell u adds to the
question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tacit.counts.oracle_distributions.distribution import SupportDistribution, TwoCoins, mean_variance
from tacit.counts.oracle_distributions.hashing import HadamardDistribution, HashingDistribution
from tacit.counts.oracle_distributions.response import ResponseDistribution, SubsetDistribution
from tacit.counts.oracle_distributions.unary import LongitudinalDistribution, UnaryDistribution
from tacit.errors import FormatError
from tacit.randomness.bernoulli import COIN

__all__ = [
    "ORACLE_DISTRIBUTIONS",
    "HadamardDistribution",
    "HashingDistribution",
    "LongitudinalDistribution",
    "ResponseDistribution",
    "SubsetDistribution",
    "SupportDistribution",
    "TwoCoins",
    "UnaryDistribution",
    "distribution_from_dict",
    "mean_variance",
]

ORACLE_DISTRIBUTIONS: Final[Mapping[str, Callable[..., SupportDistribution]]] = {
    kind.kind: kind
    for kind in (
        UnaryDistribution,
        ResponseDistribution,
        SubsetDistribution,
        HadamardDistribution,
        HashingDistribution,
        LongitudinalDistribution,
    )
}


def distribution_from_dict(content: Mapping[str, Any]) -> SupportDistribution:
    """Read a distribution back from plain data.

    >>> coins = UnaryDistribution(3, 3 << 62, 1 << 62)
    >>> distribution_from_dict(coins.to_dict()) == coins
    True
    """
    try:
        fields = {name: _whole(value) for name, value in content.items() if name != "kind"}
        distribution = ORACLE_DISTRIBUTIONS[content["kind"]](**fields)
        if not 0 < distribution.q < distribution.p <= 1:
            raise ValueError("nothing can be estimated by such coins")
        return distribution
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise FormatError("the noise model is damaged or newer than this version. Ask for the release again.") from None


def _whole(value: object) -> int:
    """A whole number of a file, large ones in hexadecimal digits."""
    number = int(value, 16) if isinstance(value, str) and len(value) <= len(hex(COIN)) else value
    if type(number) is not int or not 0 <= number <= COIN:
        raise ValueError("distribution")
    return number
