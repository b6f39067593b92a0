"""From what is wanted to a plan: the mechanism that errs least, for devices or for a curator.

And a comparison in sentences: the best one, what is best for a single kind of question, and where nothing can work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tacit._base.languages import listed
from tacit._base.rounding import epsilon_at_most, whole
from tacit.domain import Domain
from tacit.errors import Remedy, SettingError
from tacit.mechanisms.central.table import central_mechanism_named, central_plan_for
from tacit.mechanisms.planner.central import GAUSSIAN
from tacit.mechanisms.planner.comparison import Comparison, compare
from tacit.mechanisms.planner.inverse import Target, excess, least_epsilon, least_events, nearest
from tacit.mechanisms.planner.oracles import choose
from tacit.mechanisms.planner.situation import CURATOR, Question, Situation
from tacit.mechanisms.registry import mechanism_named, n_values, plan_for
from tacit.plan import Plan
from tacit.privacy.guarantee import USUAL_DELTA
from tacit.privacy.shuffling import shuffled
from tacit.privacy.unit import Unit

USUAL_QUESTIONS: Final = "points,ranges,totals"
_ANY_NUMBER: Final = 1e6
"""Of events: which mechanism errs least does not depend on it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is counted, whom one trusts with it, what reports hide, and for whom a curator's epsilon holds."""

    domain: Domain
    trust: str
    private: tuple[str, ...]
    delta: float | None = None
    rho: float | None = None
    unit: Unit = field(default_factory=Unit)

    @property
    def n_bins(self) -> int:
        """The number of periods; a domain without an end has none."""
        if self.domain.time.n_bins is None:
            raise SettingError("errors can be predicted only for a time that ends.", remedy=Remedy.GIVE_LAST_DAY)
        return self.domain.time.n_bins

    def situation(self, epsilon: float | None, n_events: float = _ANY_NUMBER) -> Situation:
        """Return the situation that errors are predicted for."""
        return Situation(
            n_bins=self.n_bins,
            n_places=self.domain.place.n_cells,
            n_kinds=self.domain.n_kinds,
            n_events=n_events,
            trust=self.trust,
            private=self.private,
            epsilon=epsilon,
            delta=self.delta,
            rho=self.rho,
            unit=self.unit,
        )

    def plan(
        self,
        epsilon: float | None,
        *,
        questions: Sequence[Question] | None = None,
        f: float | None = None,
        mechanism: str | None = None,
        fan_outs: Sequence[int] | None = None,
        oracle: str | None = None,
        name: str = "counts",
    ) -> tuple[Plan, str | None]:
        """Return a plan, and why it has its mechanism if that was left to us.

        ``questions`` are what will be asked; left out, devices take what errs least at single counts and a curator what
        errs least at single counts, ranges and running totals together.
        """
        if self.trust == CURATOR:
            return self._of_a_curator(epsilon, questions, mechanism, fan_outs, name)
        return self._of_devices(epsilon, questions, f, mechanism, fan_outs, oracle, name)

    def _of_devices(
        self,
        epsilon: float | None,
        questions: Sequence[Question] | None,
        f: float | None,
        mechanism: str | None,
        fan_outs: Sequence[int] | None,
        oracle: str | None,
        name: str,
    ) -> tuple[Plan, str | None]:
        reason = None
        is_chosen = mechanism is None and fan_outs is None and oracle is None
        if is_chosen and epsilon is not None and f is None:
            if questions is not None:
                compared = compare(self.situation(epsilon), questions)
                mechanism, reason = compared.best_for_plan.contender.mechanism, choice_words(compared)
            else:
                chosen = choose(n_values(self.domain, self.private), epsilon)
                mechanism, reason = chosen.candidate.name, chosen.reason
        tables = None
        if epsilon is not None and questions is not None and mechanism and mechanism_named(mechanism).over_axes:
            tables = self.situation(epsilon).asked(questions)
        made = plan_for(
            self.domain,
            epsilon=epsilon,
            f=f,
            mechanism=mechanism,
            private=self.private,
            fan_outs=fan_outs,
            oracle=oracle,
            asked=tables,
            name=name,
        )
        return made, reason

    def _of_a_curator(
        self,
        epsilon: float | None,
        questions: Sequence[Question] | None,
        mechanism: str | None,
        fan_outs: Sequence[int] | None,
        name: str,
    ) -> tuple[Plan, str | None]:
        delta, reason = self.delta, None
        asked = Question.parse(USUAL_QUESTIONS) if questions is None else questions
        if mechanism is None and fan_outs is None and (epsilon is None) != (self.rho is None):
            compared = compare(self.situation(epsilon), asked)
            best, reason = compared.best_for_plan.contender, choice_words(compared)
            mechanism = best.mechanism
            fan_outs = list(best.fan_outs) if best.fan_outs and not best.is_designed else None
            delta = delta if best.noise == GAUSSIAN else None
        mechanism = mechanism or "tree"
        is_of_tables = questions is not None and central_mechanism_named(mechanism).name == "tables"
        made = central_plan_for(
            self.domain,
            epsilon=epsilon,
            rho=self.rho,
            delta=delta,
            mechanism=mechanism,
            fan_outs=fan_outs,
            asked=self.situation(epsilon).asked(asked) if is_of_tables else None,
            **self.unit.settings,
            name=name,
        )
        return made, reason


WORTHWHILE: Final = Target(0.1, is_relative=True)
"""The largest error that is worth having, where no mechanism reaches what was asked."""

_CLEARLY_BETTER: Final = 0.98  # 2 % less error: as much as nobody would notice is not said; a choice of words alone


def error_text(error: float) -> str:
    """Return an error for people: three digits, or whole; a dash where there is no answer.

    >>> error_text(1.3571), error_text(36.97), error_text(12345.6), error_text(math.inf)
    ('1.36', '37.0', '12,346', '–')
    """
    if math.isinf(error):
        return "–"
    digits = 2 if error < 10 else 1 if error < 100 else 0
    return f"{error:,.{digits}f}"


def share_text(share: float) -> str:
    """Return a share of the answer in percent, two digits.

    >>> share_text(0.00042), share_text(0.1234), share_text(25.0)
    ('0.042%', '12%', '2,500%')
    """
    percentage = 100 * share
    return f"{percentage:,.0f}%" if percentage >= 10 else f"{percentage:.2g}%"


def verdict(compared: Comparison) -> list[str]:
    """Return the sentences that sum a comparison up."""
    hopeless = compared.hopeless
    said = []
    if set(hopeless) != set(compared.questions):
        said += [_best(compared), *_specialists(compared)]
    said += [_nothing_works(compared, question) for question in hopeless]
    return said + _shuffling(compared.situation)


def _shuffling(situation: Situation) -> list[str]:
    """Return what a shuffler would add to the reports that are estimated together, if that is known."""
    n_reports = int(situation.reports_together) if situation.epsilon is not None and not situation.is_central else 0
    if not n_reports:
        return []
    assert situation.epsilon is not None
    bound = shuffled(situation.epsilon, n_reports, delta=USUAL_DELTA)
    return [bound.sentence] if bound.epsilon < bound.local_epsilon else []


def choice_words(compared: Comparison) -> str:
    """Say why a plan has the mechanism that it has."""
    best, situation = compared.best_for_plan, compared.situation
    errors = ""
    if situation.is_central:  # what devices' reports err by depends on how many there will be
        errors = f": by {listed([error_text(error) for error in best.errors])} events"
    kinds = listed([str(question) for question in compared.questions])
    among = f"{len(compared.predictions)} mechanisms and fan-outs"
    return f"For {kinds}, {best.contender} errs least of {among} that were compared{errors}."


def _best(compared: Comparison) -> str:
    best = compared.best
    kinds, shares = [], []
    for question, error in zip(compared.questions, best.errors, strict=True):
        if question not in compared.hopeless:
            kinds.append(str(question))
            shares.append(share_text(error / compared.situation.expected(question)))
    size = best.contender.report_bytes
    report = "" if size is None else f", with reports of {size:,} byte{'' if size == 1 else 's'}"
    errors = f"it errs by {listed(shares)} of the answer" + (f"s to {listed(kinds)}" if len(shares) > 1 else "")
    which = "these questions together" if len(compared.questions) > 1 else str(compared.questions[0])
    return f"Best for {which}: {best.contender}{report}; {errors}."


def _specialists(compared: Comparison) -> list[str]:
    """Return those that err clearly less than the best overall for one kind of question."""
    said = []
    for question, error in zip(compared.questions, compared.best.errors, strict=True):
        least = compared.least_error(question)
        if least < _CLEARLY_BETTER * error and question not in compared.hopeless:
            said.append(f"For {question} alone: {compared.best_for(question).contender}, {error_text(least)}.")
    return said


def _nothing_works(compared: Comparison, question: Question) -> str:
    situation = compared.situation
    error, answer = (error_text(value) for value in (compared.least_error(question), situation.expected(question)))
    remedies = []
    if situation.epsilon is not None:
        epsilon = least_epsilon(situation, [question], WORTHWHILE)
        # beyond that a remedy would protect nobody
        remedies += [] if epsilon is None else [f"epsilon {epsilon_at_most(epsilon)}"]
    remedies.append(f"{whole(least_events(situation, [question], WORTHWHILE))} events in all")
    return (
        f"Nothing can answer {question}: the least error is {error}, and the answer itself is about {answer}. "
        f"An error of {WORTHWHILE} takes {' or '.join(remedies)}; or ask for longer ranges."
    )


def reached(compared: Comparison, target: Target) -> str:
    """Return whether a target is met, and what it takes."""
    best = nearest(compared, target)
    if excess(best, compared, target) <= 1:
        return f"{best.contender} errs by at most {target} for all of these questions."
    needed = least_epsilon(compared.situation, compared.questions, target) if compared.situation.epsilon else None
    takes = f"It takes epsilon {epsilon_at_most(needed)}." if needed is not None else ""
    return f"Nothing errs by at most {target} for all of these questions. {takes}".rstrip()
