r"""Error against epsilon: what other choices of epsilon would have meant for as many reports.

A report of symmetric unary encoding carries, for every cell, the variance :math:`q(1-q)/(p-q)^2` with
:math:`q = 1/(1+e^{\epsilon/2})`, so a count out of N reports has the standard error
:math:`\sqrt{N}\,e^{\epsilon/4}/(e^{\epsilon/2}-1)`. The law of the reports itself computes it here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from tacit.privacy.epsilon import logistic_threshold
from tacit.randomness.bernoulli import COIN
from tacit.release import Release
from tacit.support_laws import UnaryLaw

EPSILONS: Final = (0.4, 0.8, 1.7, 2.2, 4.4, 5.9)
_SAME: Final = 0.02


@dataclass(frozen=True, slots=True)
class Choice:
    """One epsilon: what it lets an attacker learn, and what it costs in error.

    ``errors`` are the standard errors of a place's count, one for each kind of period asked about; empty if the
    mechanism's error at another epsilon is not known.
    """

    epsilon: float
    odds: float
    largest_belief: float
    errors: tuple[float, ...]
    is_chosen: bool = False


def standard_error_at(epsilon: float, n_reports: float) -> float:
    """The standard error of a place's count among ``n_reports`` reports of symmetric unary encoding.

    >>> round(standard_error_at(2 * math.log(3), 100), 3)   # p = 3/4, q = 1/4: 100 * (3/16) / (1/4)
    8.66
    """
    flip = logistic_threshold(epsilon / 2)
    per_report = UnaryLaw(1, COIN - flip, flip).variances(np.ones(1))[0]
    return math.sqrt(float(per_report) * n_reports)


def largest_belief(epsilon: float, n_values: int) -> float:
    """The most anyone can believe in one of ``n_values`` values they held equally likely before."""
    return 1 / (1 + (n_values - 1) * math.exp(-epsilon))


def choices(release: Release, own_errors: Iterable[float], epsilons: Iterable[float] = EPSILONS) -> list[Choice]:
    """Other epsilons beside the release's own, for the same number of values and reports.

    ``own_errors`` are standard errors of the release as it is; those of the others are in the same proportion as the
    errors of a single report.
    """
    statement, own_errors = release.statement, tuple(own_errors)
    is_known = release.plan.mechanism == "unary"
    unit = standard_error_at(statement.epsilon, 1)

    def choice(epsilon: float, total: float, *, is_chosen: bool = False) -> Choice:
        ratio = 1.0 if is_chosen else standard_error_at(epsilon, 1) / unit
        errors = tuple(ratio * error for error in own_errors) if is_known or is_chosen else ()
        return Choice(epsilon, math.exp(total), largest_belief(total, statement.n_values), errors, is_chosen)

    own = choice(statement.epsilon, statement.total_epsilon, is_chosen=True)
    others = [choice(e, e) for e in epsilons if abs(e - statement.epsilon) > _SAME * e]
    return sorted([own, *others], key=lambda c: c.epsilon)
