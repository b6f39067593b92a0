"""The origin of numbers: the label that rides on everything made under a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tacit._base.fields import number, text, truth
from tacit.errors import PlanMismatch, SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee, heads_from_dict, heads_to_dict

MOST_EPSILON: Final = 500.0  # exp(500) is still a float; nothing is protected long before


@dataclass(frozen=True, slots=True)
class Provenance:
    """The plan, whether a known seed was used, and what was promised about the same events by other entries.

    The label survives adding, files and every step: one simulated part makes the whole a simulation, and what holds
    for every part's events holds for the whole's. ``ledger_heads`` are the heads of the ledgers that paid
    (:meth:`tacit.privacy.ledger.Ledger.verify`); simulations have none. ``fields_span_lines`` says that a row of the
    source could swallow others (:mod:`tacit.events.source_description`), of any part.

    >>> real, simulated = Provenance("a"), Provenance("a", is_simulation=True)
    >>> (real + simulated).is_simulation
    True
    """

    plan_id: str
    is_simulation: bool = False
    prior: Guarantee = field(default_factory=Guarantee)
    ledger_heads: tuple[str, ...] = ()
    fields_span_lines: bool = False

    def __post_init__(self) -> None:
        _check(self.prior_epsilon)

    @classmethod
    def of_reports(
        cls, plan_id: str, is_simulation: bool, prior_epsilon: float, ledger_heads: tuple[str, ...] = ()
    ) -> Provenance:
        """Return the label of reports of events whose replacement had cost this epsilon before."""
        _check(prior_epsilon)
        prior = Guarantee.of_a_sum(Cost(epsilon=prior_epsilon), is_local=True)
        return cls(plan_id, is_simulation, prior, ledger_heads)

    @property
    def prior_epsilon(self) -> float:
        """Return what replacing an event's private part had cost before, apart from any zCDP part.

        The most that can be stated where nothing was protected any more.
        """
        return MOST_EPSILON if self.prior.replacement is None else self.prior.replacement.epsilon

    def __add__(self, other: Provenance) -> Provenance:
        if self.plan_id != other.plan_id:
            raise PlanMismatch(
                f"cannot add tallies of plans {self.plan_id} and {other.plan_id}; "
                "estimate each on its own and add the estimates."
            )
        return Provenance(
            self.plan_id,
            self.is_simulation or other.is_simulation,
            Guarantee.parallel([self.prior, other.prior]),
            tuple(sorted({*self.ledger_heads, *other.ledger_heads})),
            self.fields_span_lines or other.fields_span_lines,
        )

    def to_dict(self) -> dict[str, Any]:
        content = {
            "plan": self.plan_id,
            "is_simulation": self.is_simulation,
            "prior": self.prior.to_dict(),
        } | heads_to_dict(self.ledger_heads)
        return content | ({"fields_span_lines": True} if self.fields_span_lines else {})

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Provenance:
        """Read a label; one of an earlier version tells the price of replacement alone."""
        plan_id, label = text(content, "plan"), truth(content, "is_simulation")
        spans = truth({"fields_span_lines": False} | dict(content), "fields_span_lines")
        if "prior" in content:
            return cls(plan_id, label, Guarantee.from_dict(content["prior"]), heads_from_dict(content), spans)
        return cls.of_reports(plan_id, label, number(content, "prior_epsilon"), heads_from_dict(content))


def _check(prior_epsilon: float) -> None:
    if not 0 <= prior_epsilon <= MOST_EPSILON:  # written so that NaN fails too
        raise SettingError(
            f"prior_epsilon must lie between 0 and {MOST_EPSILON:g}; got prior_epsilon={prior_epsilon}. "
            "Beyond that nothing is protected."
        )


def check_plan(what: str, plan_id: str, expected: str) -> None:
    """Refuse what was made under another plan than the expected one; both are fingerprints."""
    if plan_id != expected:
        raise PlanMismatch(f"{what} was made under plan {plan_id}, not {expected}. Use the plan it was made under.")
