r"""Error against epsilon: what other choices of epsilon would have meant for as many reports.

Where devices randomize, other epsilons are those of the same way to randomize, tuned to them (:data:`ORACLES`). Reports
of a tree, of tables and of devices that report for years are compared with basic one-time RAPPOR instead: its error is
known for any question and does not depend on the truth. Where a curator counts they are those of the same noise,
scaled. A report of RAPPOR carries, for every cell asked about, the variance :math:`q(1-q)/(p-q)^2` with
:math:`q = 1/(1+e^{\epsilon/2})` and :math:`p = 1-q`, so a count out of N reports has the standard error
:math:`\sqrt{N}\,e^{\epsilon/4}/(e^{\epsilon/2}-1)`. The distribution of the reports computes it here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from tacit.counts.noise import Noise
from tacit.counts.oracle_distributions import (
    HadamardDistribution,
    HashingDistribution,
    ResponseDistribution,
    SubsetDistribution,
    SupportDistribution,
    UnaryDistribution,
    mean_variance,
)
from tacit.privacy.cost import Cost
from tacit.privacy.epsilon import largest_belief, logistic_threshold
from tacit.randomness.bernoulli import COIN
from tacit.release import PrivacyStatement, Release

EPSILONS: Final = (0.4, 0.8, 1.7, 2.2, 4.4, 5.9)
"""A choice: from the paper's least to its largest; others may be given."""
_MOST_BITS: Final = 16  # of a hash value, as in plans; fewer make hashing worse for an epsilon above 11
_SAME: Final = 0.02  # in parts of epsilon, less than a table shows; twice as much would hide 4.4 beside 4.5
_DIFFERENT: Final = 1.001  # below the last digit shown; at 2 a page would give one error for very different ones


@dataclass(frozen=True, slots=True)
class Errors:
    """The standard errors of a place's count in one kind of period: the least and the largest of all counts.

    They differ where numbers of reports do, or where an error depends on the count itself. ``elsewhere`` is the largest
    one that another epsilon would have meant for as many reports (:data:`ORACLES`), or the same noise scaled, where a
    curator counted; none if that is not known.
    """

    step: str
    smallest: float
    largest: float
    elsewhere: Callable[[float], float] | None

    @property
    def differ(self) -> bool:
        """Whether one number would hide how much errors differ."""
        return self.largest > _DIFFERENT * self.smallest


@dataclass(frozen=True, slots=True)
class Choice:
    """One epsilon: what it lets an attacker learn, and what it costs in error.

    ``errors`` are the largest standard errors of a place's count, one for each kind of period asked about; empty where
    they are not known. Choices ``on_line`` were made alike; this leaves the release itself out where the others are
    RAPPOR's and it is not.
    """

    epsilon: float
    odds: float
    largest_belief: float
    errors: tuple[float, ...]
    on_line: bool = True
    is_chosen: bool = False


def standard_error_at(epsilon: float, n_reports: float) -> float:
    """Return the standard error of a place's count among ``n_reports`` reports of RAPPOR, symmetric unary encoding.

    >>> round(standard_error_at(2 * math.log(3), 100), 3)   # p = 3/4, q = 1/4: 100 * (3/16) / (1/4)
    8.66
    """
    per_report = _rappor_distribution(epsilon, 1).variances(np.ones(1))[0]
    return math.sqrt(float(per_report) * n_reports)


def errors_by(release: Release, step: str) -> Errors | None:
    """Return the errors of all unbiased counts in years, months or days; none if no such period was counted in full.

    The least is of periods counted in full, the largest of all.
    """
    estimate = release.unbiased.coarsen(time=step)
    axis, errors = estimate.domain.time, estimate.noise.standard_errors()
    is_whole = np.array([not axis.is_partial(bin) for bin in range(len(errors))])
    if not is_whole.any():
        return None
    largest = float(errors.max())
    return Errors(axis.step, float(errors[is_whole].min()), largest, _elsewhere(estimate.noise, release.statement))


def choices(release: Release, own_errors: Iterable[Errors], epsilons: Sequence[float] = EPSILONS) -> list[Choice]:
    """Return other epsilons beside the release as it is: as many reports of the same kind, or the curator's own noise.

    Where they are RAPPOR's and the release is not, RAPPOR at the same epsilon is among them.
    """
    statement, own_errors = release.statement, tuple(own_errors)
    prior = release.unbiased.provenance.prior
    on_line = statement.is_central or statement.mechanism in ORACLES

    def choice(epsilon: float) -> Choice:
        known = tuple(errors.elsewhere(epsilon) for errors in own_errors if errors.elsewhere is not None)
        errors = known if len(known) == len(own_errors) else ()
        total = statement.total_at(epsilon, prior)
        return Choice(epsilon, math.exp(total), largest_belief(total, statement.n_alternatives), errors)

    own = Choice(
        statement.epsilon,
        statement.odds,
        statement.largest_belief,
        tuple(errors.largest for errors in own_errors),
        on_line=on_line,
        is_chosen=True,
    )
    others = [e for e in epsilons if abs(e - statement.epsilon) > _SAME * e]
    others += [] if on_line else [statement.epsilon]
    return sorted([own, *map(choice, others)], key=lambda c: (c.epsilon, c.on_line))


def _elsewhere(noise: Noise, statement: PrivacyStatement) -> Callable[[float], float] | None:
    """Return the largest standard error under another epsilon, if it can be told."""
    if statement.is_central:
        return None if noise.scaled(Fraction(1)) is None else partial(_scaled_error, noise, statement)
    if statement.mechanism in ORACLES:
        return partial(_error_through, noise, ORACLES[statement.mechanism])
    reports = _rappor_reports(noise)
    return None if reports is None else partial(standard_error_at, n_reports=reports)


def _error_through(noise: Noise, oracle: Callable[[float, int], SupportDistribution], epsilon: float) -> float:
    """Return the largest standard error of as many reports through an oracle of another epsilon."""
    other = noise.through(partial(oracle, epsilon))
    assert other is not None
    return float(other.standard_errors().max())


def _scaled_error(noise: Noise, statement: PrivacyStatement, epsilon: float) -> float:
    """Return the largest standard error of a curator's noise had all its levels had more or less to spend."""
    if statement.rho:
        factor = Fraction(Cost.approximate(epsilon, statement.delta).rho) / Fraction(statement.rho)
    else:
        factor = Fraction(epsilon) / Fraction(statement.epsilon)
    scaled = noise.scaled(factor)
    assert scaled is not None
    return float(scaled.standard_errors().max())


def _rappor_distribution(epsilon: float, n_cells: int) -> UnaryDistribution:
    flip = logistic_threshold(epsilon / 2)
    return UnaryDistribution(n_cells, COIN - flip, flip)


def _optimized(epsilon: float, n_cells: int) -> UnaryDistribution:
    return UnaryDistribution(n_cells, COIN // 2, logistic_threshold(epsilon))


def _tuned(epsilon: float, n_cells: int) -> UnaryDistribution:
    odds = math.exp(epsilon)
    q = 1 / (1 + math.sqrt(odds * ((n_cells - 1) * odds + 1) / (odds + n_cells - 1)))
    return UnaryDistribution(n_cells, int(odds * q / (1 - q + odds * q) * COIN), math.ceil(q * COIN))


def _response(epsilon: float, n_cells: int) -> ResponseDistribution:
    odds = math.exp(epsilon)
    return ResponseDistribution(n_cells, int(COIN * ((odds - 1) / (odds + n_cells - 1))))


def _subset(epsilon: float, n_cells: int) -> SubsetDistribution:
    odds = math.exp(epsilon)
    middle = int(n_cells / (odds + 1))
    sizes = sorted({min(max(1, size), n_cells - 1) for size in (middle, middle + 1)})
    chances = (int(COIN * (size * odds / (size * odds + n_cells - size))) for size in sizes)
    made = [SubsetDistribution(n_cells, size, chance) for size, chance in zip(sizes, chances, strict=True)]
    return min(made, key=mean_variance)


def _hadamard(epsilon: float, n_cells: int) -> HadamardDistribution:
    return HadamardDistribution(n_cells, COIN - 2 * logistic_threshold(epsilon))


def _hashing(epsilon: float, n_cells: int, most_bits: int = _MOST_BITS) -> HashingDistribution:
    gain = math.expm1(epsilon)
    made = (HashingDistribution(n_cells, b, int(COIN * (gain / (gain + (1 << b))))) for b in range(1, most_bits + 1))
    return min(made, key=mean_variance)


ORACLES: Final[Mapping[str, Callable[[float, int], SupportDistribution]]] = {
    "unary": _rappor_distribution,
    "optimized unary": _optimized,
    "tuned unary": _tuned,
    "response": _response,
    "subset": _subset,
    "hadamard": _hadamard,
    "hashing": _hashing,
    "binary hashing": partial(_hashing, most_bits=1),
}
"""The distributions of reports of an epsilon about so many cells, as plans make them, by the names of mechanisms."""


def _rappor_reports(noise: Noise) -> float | None:
    """Return the number of RAPPOR's reports about one cell whose error is the largest that RAPPOR would have here."""
    rappor = noise.through(partial(_rappor_distribution, 1.0))
    return None if rappor is None else (float(rappor.standard_errors().max()) / standard_error_at(1.0, 1)) ** 2
