"""What is about to be published and at what price: for the screen of whoever publishes, before anything is paid."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import numpy as np

from tacit._base.languages import listed
from tacit.counts.provenance import Provenance
from tacit.domain import Domain
from tacit.errors import TacitError
from tacit.events.badrows import BadRowSummary, Reason, share_lost
from tacit.mechanisms.planner import CURATOR, GAUSSIAN, NOBODY, USUAL_QUESTIONS, Question, Wanted, choose, compare
from tacit.mechanisms.planner.local import report_variance
from tacit.plan import Plan
from tacit.privacy.epsilon import largest_belief
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.unit import Unit
from tacit.release import PrivacyStatement

USUAL_EPSILONS: Final = (0.5, 1.0, 2.0, 4.0)
"""What a first table offers to choose from: odds of 1.6, 2.7, 7.4 and 55."""
_SUMMED: Final = 30  # periods of the second column: a month of days. Half or twice as many show the same growth


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The standard error of one place's count, in one period and in thirty of them, had someone been trusted so.

    Whoever held ``n_values`` equally likely before, the ``hidden`` ones of an event (its places, say) or that one is
    there and that it is not, can believe in one of them at most so much afterwards as ``belief`` says; a statement says
    the same.
    """

    trust: str
    unit: str
    one: float
    thirty: float
    hidden: str
    n_values: int
    belief: float


@dataclass(frozen=True, slots=True, eq=False)
class Preview:
    """What is about to be published: exact figures of the rows, never to be published themselves.

    ``unknown`` names places that the events have and the plan has not, with their numbers of rows. The last ``n_empty``
    periods have no event, ``n_busy`` of them have one; it is None where the time is hidden. ``prior`` is what other
    entries about the same days promise already. ``refusal`` is why it will not be published; none if it can be.
    """

    plan: Plan
    first: str
    last: str
    n_events: int = field(repr=False)
    n_rows: int = field(repr=False)
    n_left_out: int = field(repr=False)
    bad_rows: BadRowSummary = field(repr=False)
    unknown: tuple[tuple[str, int], ...] = field(repr=False)
    n_empty: int = field(repr=False)
    n_busy: int | None = field(default=None, repr=False)
    prior: Guarantee = field(default_factory=Guarantee)
    ledger: Path | None = None
    is_new_ledger: bool = False
    refusal: TacitError | None = field(default=None, repr=False)

    @property
    def n_of_other_days(self) -> int:
        """The rows of other days, and those that conditions left out."""
        return self.n_left_out + self.bad_rows.counts.get(Reason.OUTSIDE_TIME, 0)

    @property
    def fallen(self) -> BadRowSummary:
        """The rows of these days that fall out, and why."""
        return self.bad_rows.without(Reason.OUTSIDE_TIME)

    @property
    def lost(self) -> float:
        """The part of the rows that falls out."""
        return share_lost(self)

    @property
    def promises(self) -> tuple[str, ...]:
        """The price in words, together with all that was made of these days before."""
        label = Provenance(self.plan.fingerprint, prior=self.prior)
        return PrivacyStatement.of(self.plan, label, unbiased_steps=(), refined_steps=()).promises

    @property
    def public(self) -> str:
        """What everybody will know exactly."""
        plan, step = self.plan, self.plan.domain.time.step
        if plan.is_central:
            return "Nothing exact becomes public: every count that is published has noise."
        seen = {"time": step, "place": "place", "kind": "kind"}
        axes = [seen[axis] for axis in plan.public if axis != "place" or not plan.domain.place.is_all]
        if not axes:
            return "Everybody will see how many events there were in all."
        also = "" if "time" not in plan.public or step == "month" else " Count by month if the day is a secret."
        return f"Everybody will see exactly how many events there were per {listed(axes)}.{also}"

    def errors(self) -> tuple[ExpectedError, ...]:
        """How large errors to expect at the plan's epsilon if nobody, or a curator, is trusted."""
        bins = self.plan.domain.time.range(self.first, self.last)
        domain = self.plan.domain.with_end(len(range(bins.stop)[bins]))
        unit, epsilon = self.plan.protected_unit, self.plan.epsilon
        curators = self.plan if self.plan.is_central else None
        return expected_errors(domain, unit, epsilon, self.n_events, self.n_busy, curators)


def expected_errors(
    domain: Domain, unit: Unit, epsilon: float, n_events: int, n_busy: int | None, plan: Plan | None = None
) -> tuple[ExpectedError, ...]:
    """Return the standard errors of single counts for devices, for a curator, and for persons where the unit is one.

    Devices hide place and kind on a public period, of which ``n_busy`` have the events: periods without any, which a
    wrong first day adds, must not make errors look small. Without both they hide the period, and errors of periods are
    correlated. A curator has the mechanism of the ``plan``, or the one that would be chosen. Smoothing errs less.
    """
    found: list[tuple[str, Unit, float, float, str, int]] = []
    n_bins, n_hidden = domain.shape
    if n_hidden > 1:
        best, n_reports = choose(n_hidden, epsilon).candidate, max(1, round(n_events / max(1, n_busy or n_bins)))
        one = replace(best, n_reports=n_reports).mean_variance
        hidden = [axis for axis, n in zip(domain.axes, domain.grid, strict=True) if axis != "time" and n > 1]
        found.append((NOBODY, Unit(), one, _SUMMED * one, listed(hidden), n_hidden))
    elif n_bins > 1:
        of_report = report_variance(choose(n_bins, epsilon).candidate.randomizer.distribution)
        lengths = np.array([1, min(_SUMMED, n_bins)])
        one, thirty = (max(1, n_events) * of_report.range_variances(0 * lengths, lengths)).tolist()
        found.append((NOBODY, Unit(), one, thirty, domain.time.step, n_bins))
    for whom in [Unit(), *([unit] if unit.is_of_a_person else [])]:
        one, thirty = _curators_variances(domain, whom, epsilon, plan if whom == unit else None)
        found.append((CURATOR, whom, one, thirty, "", 2))
    return tuple(
        ExpectedError(trust, str(whom), math.sqrt(one), math.sqrt(thirty), hidden, n, largest_belief(epsilon, n))
        for trust, whom, one, thirty, hidden, n in found
    )


def _curators_variances(domain: Domain, unit: Unit, epsilon: float, plan: Plan | None) -> tuple[float, float]:
    """Return the mean variance of a curator's counts of one period, and of thirty; fewer are scaled up to thirty."""
    delta = (plan.delta or None) if plan is not None else None
    situation = Wanted(domain, CURATOR, domain.axes, delta, None, unit).situation(epsilon)
    compared = compare(situation, Question.parse(USUAL_QUESTIONS))
    best = next(
        one.contender
        for one in compared.predictions
        if one.contender.is_plannable
        and (plan is None or one.contender.mechanism == plan.mechanism)
        and (plan is None or (one.contender.noise == GAUSSIAN) == bool(plan.delta))
    )
    n_summed = min(_SUMMED, situation.n_bins)
    one, summed = (
        best.rmse(question, situation.n_bins) ** 2 for question in (Question("points"), Question("ranges", n_summed))
    )
    return one, summed * _SUMMED / n_summed
