r"""Where the error of flat local counts starts to fall: by the share of the domain, or by the share of individuals?

A range of r of N days that holds the share :math:`\varphi` of n visits is reported by a visit inside it with
:math:`p_R = p + (r-1) q`, by one outside with :math:`q_R = r q`, so that its answer has the variance

.. math:: n \frac{\varphi p_R (1 - p_R) + (1 - \varphi) q_R (1 - q_R)}{(p - q)^2}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from experiments.thesis_structures import as_claimed


@dataclass(frozen=True)
class Peak:
    """Errors of ranges at the shares of the domain they span, for one share of individuals inside them."""

    epsilon: float
    individuals: float
    domain: tuple[float, ...]
    exact: tuple[float, ...]
    measured: tuple[float, ...]

    @property
    def at(self) -> float:
        """The share of the domain with the largest error."""
        return self.domain[int(np.argmax(self.exact))]


def exact_error(n_days: int, n_visits: int, epsilon: float, length: int, individuals: float) -> float:
    """The root mean square error by the formula."""
    p, q = math.exp(epsilon) / (math.exp(epsilon) + n_days - 1), 1 / (math.exp(epsilon) + n_days - 1)
    inside, outside = p + (length - 1) * q, length * q
    spread = individuals * inside * (1 - inside) + (1 - individuals) * outside * (1 - outside)
    return math.sqrt(max(n_visits * spread, 0.0)) / (p - q)


def peak(
    n_days: int,
    n_visits: int,
    epsilon: float,
    individuals: float,
    domain: Sequence[float],
    *,
    n_structures: int,
    generator: np.random.Generator,
) -> Peak:
    """Put that share of visits into the range, whatever share of the domain it is, and measure its error."""
    exact, measured = [], []
    for share in domain:
        length = round(share * n_days)
        counts = np.zeros(n_days, np.int64)
        n_inside = round(individuals * n_visits)
        counts[:length] = _spread(n_inside, length)
        counts[length:] = _spread(n_visits - n_inside, n_days - length)
        made = as_claimed.local_flat(counts, epsilon, n_structures=n_structures, generator=generator)
        answers = made.answers(np.array([0]), np.array([length]))[:, 0]
        measured.append(float(np.sqrt(np.mean((answers - n_inside) ** 2))))
        exact.append(exact_error(n_days, n_visits, epsilon, length, individuals))
    return Peak(epsilon, individuals, tuple(domain), tuple(exact), tuple(measured))


def _spread(total: int, n_days: int) -> np.ndarray:
    """So many visits over so many days, as evenly as whole numbers can be."""
    return np.diff(np.arange(n_days + 1) * total // n_days)
