"""The bound on a person's events, chosen from the events themselves: counted, paid, drawn, in this order."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tacit._base.rounding import epsilon_at_most, percent
from tacit.collection.curating import digest_key, key_of, pay
from tacit.errors import SettingError
from tacit.events import DayDigest, Events
from tacit.events.contribution_bound import PersonCounts
from tacit.events.passes import Progress
from tacit.mechanisms.central.bound_choice import BoundChoice
from tacit.privacy.cost import Budget
from tacit.privacy.ledger import Ledger, Spend

_SMALLEST_SHARE: Final = 1e-6  # 0.0001%; what is smaller, or as near to all, is said in words

Look = Callable[[PersonCounts], None]


@dataclass(frozen=True, slots=True, eq=False)
class ChosenBound:
    """The bound that was drawn, which may be published, and what was paid for it.

    Tell the ledger with ``Ledger.finish(chosen.spend)`` once it is written down: until then the same call on the same
    events draws the same bound at no further cost.
    """

    most: int
    choice: BoundChoice
    spend: Spend = field(repr=False)
    is_resumed: bool = False

    @property
    def statement(self) -> tuple[str, ...]:
        """The sentences that say what was done and what is promised."""
        choice = self.choice
        grid = ", ".join(str(bound) for bound in choice.grid)
        whose = f"persons in one {choice.window}" if choice.window else "persons"
        said = [
            f"The bound of {self.most} event{'' if self.most == 1 else 's'} was chosen from the public grid {grid} by "
            f"the exponential mechanism, so that {_share(choice.quantile)} {whose} have no more.",
            f"It costs epsilon {epsilon_at_most(choice.epsilon)} for one person added or removed"
            f"{f' in one {choice.window}' if choice.window else ''}, whatever their events.",
        ]
        if self.spend.is_simulation:
            return (*said, "SIMULATION: protects nobody.")
        return (*said, *self.spend.guarantee.sentences())


def choose_bound(
    events: Events,
    choice: BoundChoice,
    *,
    ledger: Ledger | None,
    data_set: str,
    budget: Budget | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    look: Look | None = None,
) -> ChosenBound:
    """Count persons by their events, pay, and draw the bound. A ``seed`` instead of a ledger makes a simulation.

    ``look`` is shown what was counted before anything is paid, and may refuse by raising.
    """
    key = key_of(ledger, seed)
    counted, digest = _counted(events, choice, key, progress, look)
    input_digest = input_digest_of(counted, key)
    asked: dict[str, Any] = {"ledger": ledger, "data_set": data_set, "budget": budget, "seed": seed}
    spend, is_resumed = _pay(events, choice, digest, input_digest=input_digest, **asked)
    most = choice.choose(counted.at_most, counted.n_persons, randomness=spend.draw(choice.name, input_digest))
    return ChosenBound(most, choice, spend, is_resumed)


def price_bound(
    events: Events,
    choice: BoundChoice,
    *,
    ledger: Ledger,
    data_set: str,
    budget: Budget | None = None,
    progress: Progress | None = None,
    look: Look | None = None,
) -> Spend:
    """Return the spend that :func:`choose_bound` would make: a dry run that writes nothing and draws nothing."""
    _, digest = _counted(events, choice, digest_key(ledger), progress, look)
    spend, _ = _pay(events, choice, digest, ledger=ledger, data_set=data_set, budget=budget, dry_run=True)
    return spend


def input_digest_of(counted: PersonCounts, key: bytes) -> bytes:
    """Return the digest by which a spend knows the exact ranks. Keep it from the public."""
    return hmac.digest(key, json.dumps([counted.n_persons, *counted.at_most]).encode(), hashlib.sha256)


def _pay(events: Events, choice: BoundChoice, digest: DayDigest, **asked: Any) -> tuple[Spend, bool]:
    days = digest.digests()
    return pay(events, days, release=choice.name, cost=choice.cost, unit=choice.unit, **asked)


def _share(quantile: float) -> str:
    if quantile < _SMALLEST_SHARE:
        return "almost no"
    return "almost all" if quantile > 1 - _SMALLEST_SHARE else f"about {percent(quantile)} of"


def _counted(
    events: Events, choice: BoundChoice, key: bytes, progress: Progress | None, look: Look | None
) -> tuple[PersonCounts, DayDigest]:
    if events.domain.time.n_bins is None:
        raise SettingError("the time axis must have an end where a bound is paid for; got none. Give the last day.")
    digest = DayDigest(key, events.domain)
    counted = events.count_persons(choice.grid, key=key, window=choice.window, progress=progress, digest=digest)
    if look is not None:
        look(counted)
    return counted, digest
