"""Where numbers come from: the label that rides on everything made under a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tacit.errors import PlanMismatch, SettingError
from tacit.privacy.heads import heads_from_dict, heads_to_dict

MOST_EPSILON: Final = 500.0


@dataclass(frozen=True, slots=True)
class Provenance:
    """Which plan, whether a known seed was used, and what the same events had cost before.

    The label survives adding, files and every step: one simulated part makes the whole a simulation, and the
    largest prior epsilon among the parts is the whole's. ``ledger_heads`` are the heads of the ledgers that paid
    (:meth:`tacit.privacy.ledger.Ledger.verify`); simulations have none.

    >>> real, simulated = Provenance("a"), Provenance("a", is_simulation=True)
    >>> (real + simulated).is_simulation
    True
    """

    plan_id: str
    is_simulation: bool = False
    prior_epsilon: float = 0.0
    ledger_heads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.prior_epsilon <= MOST_EPSILON:  # written so that NaN fails too
            raise SettingError(
                f"prior_epsilon must lie between 0 and {MOST_EPSILON:g}; got prior_epsilon={self.prior_epsilon}. "
                "Beyond that nothing is protected."
            )

    def __add__(self, other: Provenance) -> Provenance:
        if self.plan_id != other.plan_id:
            raise PlanMismatch(
                f"cannot add tallies of plans {self.plan_id} and {other.plan_id}; "
                "estimate each on its own and add the estimates."
            )
        return Provenance(
            self.plan_id,
            self.is_simulation or other.is_simulation,
            max(self.prior_epsilon, other.prior_epsilon),
            tuple(sorted({*self.ledger_heads, *other.ledger_heads})),
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "plan": self.plan_id,
            "is_simulation": self.is_simulation,
            "prior_epsilon": self.prior_epsilon,
        } | heads_to_dict(self.ledger_heads)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Provenance:
        label, prior = content["is_simulation"], content["prior_epsilon"]
        if not isinstance(label, bool) or isinstance(prior, bool) or not isinstance(prior, (int, float)):
            raise TypeError("provenance")
        return cls(str(content["plan"]), label, float(prior), heads_from_dict(content))
