"""Alarms for poisoned reports, whose false ones are bounded over all of a survey's life.

Every look has a number, which the store gives out once, and look number i may be wrong with probability
a / (i (i + 1)). These add up to a at most, however many looks there are: large messages when they come, and every
period when it closes.
"""

from __future__ import annotations

from typing import Final

from tacit.collection.poisoning import Alarm, watch
from tacit.collection.wire import Batch
from tacit.counts.provenance import Provenance
from tacit.service.store import Store
from tacit.service.survey import Addition, Survey

FALSE_ALARM: Final = 1e-4
"""The probability of any false alarm in the life of a survey: one survey in ten thousand. Ten times as large, an alarm
needs a few reports fewer."""
LOOKED_FROM: Final = 10_000
"""Reports of a message that is looked at by itself: a look then costs about what counting it does. Smaller ones are
looked at together when their period closes."""

_MOST_KEPT: Final = 3  # alarms of one look: the operator reads the first


def share_of(number: int) -> float:
    """How often a look may be wrong, by its number.

    >>> sum(share_of(number) for number in range(1, 100_000)) <= FALSE_ALARM
    True
    """
    return FALSE_ALARM / (number * (number + 1))


def look_at_message(store: Store, survey: Survey, addition: Addition) -> None:
    """Look at a message that was counted, if it is large, and keep what was found for the operator."""
    if addition.n_reports < LOOKED_FROM:
        return
    label = Provenance.of_reports(survey.form.plan_id, survey.is_simulation, 0.0)
    batch = Batch(addition.message_id, label, addition.bins, addition.run_lengths, addition.reports)
    number = store.next_look(survey)
    keep(store, survey, watch(batch, survey.plan, false_alarm=share_of(number)), "a message")


def keep(store: Store, survey: Survey, alarms: list[Alarm], of: str) -> None:
    """Keep the least probable alarms of a look: a forged message may raise one for every cell."""
    store.add_alarms(survey, [f"In {of}: {alarm}" for alarm in alarms[:_MOST_KEPT]])
