"""From what is wanted to a plan: the mechanism that errs least, for devices or for a curator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tacit.domain import Domain
from tacit.errors import Remedy, SettingError
from tacit.mechanisms.central.table import central_mechanism_named, central_plan_for
from tacit.mechanisms.planner.central import GAUSSIAN
from tacit.mechanisms.planner.comparison import compare
from tacit.mechanisms.planner.oracles import choose
from tacit.mechanisms.planner.situation import CURATOR, Question, Situation
from tacit.mechanisms.planner.words import choice_words
from tacit.mechanisms.registry import mechanism_named, n_values, plan_for
from tacit.plan import Plan
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
