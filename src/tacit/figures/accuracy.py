r"""Error against epsilon: what other choices of epsilon would have meant for as many reports.

Other epsilons are those of basic one-time RAPPOR, whatever made the release: its error is known for any question and
does not depend on the truth. A report carries, for every cell asked about, the variance :math:`q(1-q)/(p-q)^2` with
:math:`q = 1/(1+e^{\epsilon/2})` and :math:`p = 1-q`, so a count out of N reports has the standard error
:math:`\sqrt{N}\,e^{\epsilon/4}/(e^{\epsilon/2}-1)`. The law of the reports itself computes it here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tacit.noise import LinearImage, Noise, OracleNoise, SampledTreeNoise
from tacit.privacy.epsilon import logistic_threshold
from tacit.randomness.bernoulli import COIN
from tacit.release import Release
from tacit.support_laws import UnaryLaw

EPSILONS: Final = (0.4, 0.8, 1.7, 2.2, 4.4, 5.9)
RAPPOR: Final = "unary"
_SAME: Final = 0.02
_DIFFERENT: Final = 1.001


@dataclass(frozen=True, slots=True)
class Errors:
    """The standard errors of a place's count in one kind of period: the least and the largest of all counts.

    They differ where numbers of reports do, or where an error depends on the count itself. ``rappor_reports`` is the
    number of reports whose count would have RAPPOR's largest error; none if that is not known.
    """

    step: str
    smallest: float
    largest: float
    rappor_reports: float | None

    @property
    def differ(self) -> bool:
        """Whether one number would hide how much errors differ."""
        return self.largest > _DIFFERENT * self.smallest


@dataclass(frozen=True, slots=True)
class Choice:
    """One epsilon: what it lets an attacker learn, and what it costs in error.

    ``errors`` are the largest standard errors of a place's count, one for each kind of period asked about; empty where
    they are not known. They are RAPPOR's, all but those of the release itself, if that was made in another way.
    """

    epsilon: float
    odds: float
    largest_belief: float
    errors: tuple[float, ...]
    is_rappor: bool = True
    is_chosen: bool = False


def standard_error_at(epsilon: float, n_reports: float) -> float:
    """The standard error of a place's count among ``n_reports`` reports of RAPPOR, symmetric unary encoding.

    >>> round(standard_error_at(2 * math.log(3), 100), 3)   # p = 3/4, q = 1/4: 100 * (3/16) / (1/4)
    8.66
    """
    per_report = _rappor_law(epsilon, 1).variances(np.ones(1))[0]
    return math.sqrt(float(per_report) * n_reports)


def largest_belief(epsilon: float, n_values: int) -> float:
    """The most anyone can believe in one of ``n_values`` values they held equally likely before."""
    return 1 / (1 + (n_values - 1) * math.exp(-epsilon))


def errors_by(release: Release, step: str) -> Errors | None:
    """The errors of all counts of a release in years, months or days; none if no such period was counted in full.

    The least is of periods counted in full, the largest of all.
    """
    estimate = release.unbiased.coarsen(time=step)
    axis, errors = estimate.domain.time, estimate.noise.standard_errors()
    is_whole = np.array([not axis.is_partial(bin) for bin in range(len(errors))])
    if not is_whole.any():
        return None
    largest = float(errors.max())
    return Errors(axis.step, float(errors[is_whole].min()), largest, _rappor_reports(estimate.noise))


def choices(release: Release, own_errors: Iterable[Errors], epsilons: Sequence[float] = EPSILONS) -> list[Choice]:
    """RAPPOR at other epsilons beside the release as it is, for the same number of values and reports.

    Where the release is not RAPPOR's, RAPPOR at the same epsilon is among them.
    """
    statement, own_errors = release.statement, tuple(own_errors)
    is_rappor = statement.mechanism == RAPPOR
    reports = [errors.rappor_reports for errors in own_errors]

    def choice(epsilon: float) -> Choice:
        known = tuple(standard_error_at(epsilon, n) for n in reports if n is not None)
        errors = known if len(known) == len(reports) else ()
        return Choice(epsilon, math.exp(epsilon), largest_belief(epsilon, statement.n_values), errors)

    own = Choice(
        statement.epsilon,
        statement.odds,
        statement.largest_belief,
        tuple(errors.largest for errors in own_errors),
        is_rappor=is_rappor,
        is_chosen=True,
    )
    others = [e for e in epsilons if abs(e - statement.epsilon) > _SAME * e]
    others += [] if is_rappor else [statement.epsilon]
    return sorted([own, *map(choice, others)], key=lambda c: (c.epsilon, c.is_rappor))


def _rappor_law(epsilon: float, n_cells: int) -> UnaryLaw:
    flip = logistic_threshold(epsilon / 2)
    return UnaryLaw(n_cells, COIN - flip, flip)


def _rappor_reports(noise: Noise) -> float | None:
    """As many reports about one cell as would have RAPPOR's largest error, had these reports been RAPPOR's."""
    rappor = _of_rappor(noise)
    return None if rappor is None else (float(rappor.standard_errors().max()) / standard_error_at(1.0, 1)) ** 2


def _of_rappor(noise: Noise) -> Noise | None:
    if isinstance(noise, LinearImage):
        base = _of_rappor(noise.base)
        return None if base is None else replace(noise, base=base)
    if isinstance(noise, OracleNoise):
        return replace(noise, law=_rappor_law(1.0, noise.law.n_cells), counts=None)
    if isinstance(noise, SampledTreeNoise):
        law = _rappor_law(1.0, noise.hierarchy.n_leaves)
        return OracleNoise(law, noise.reports, noise.shape, noise.private)
    return None
