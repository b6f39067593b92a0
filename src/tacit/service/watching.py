"""Alarms for poisoned reports, whose false ones are bounded over all of a survey's life.

Every look has a number, which the store gives out once, and look number i may be wrong with probability
w a / (i (i + 1)). These add up to w a at most, however many looks there are: large messages when they come, and every
period when it closes. A backup that is restored does not know which numbers were given out after it was made. So its
numbers begin again with another weight w, that of the second t at which it was restored: 1/2 for a survey that never
was, and 1 / (5 (t + 1) ln(t + 1)^2) afterwards. All weights add up to less than 1, whatever was restored how often.
"""

from __future__ import annotations

import logging
import math
from typing import Final

from tacit.collection.poisoning import Alarm, watch
from tacit.collection.wire import Batch
from tacit.counts.provenance import Provenance
from tacit.service.logs import log
from tacit.service.store import Store
from tacit.service.survey import Addition, Survey

FALSE_ALARM: Final = 1e-4
"""The probability of any false alarm in the life of a survey: one survey in ten thousand. Ten times as large, an alarm
needs a few reports fewer."""
LOOKED_FROM: Final = 10_000
"""Reports of a message that is looked at by itself: a look then costs about what counting it does. Smaller ones are
looked at together when their period closes."""

_MOST_KEPT: Final = 3  # alarms of one look: the operator reads the first


def share_of(restored_at: int, number: int) -> float:
    """Return how often a look may be wrong, by when its survey was restored and by its number since then.

    >>> sum(share_of(0, number) for number in range(1, 100_000)) <= FALSE_ALARM / 2
    True
    """
    return _weight(restored_at) * FALSE_ALARM / (number * (number + 1))


def _weight(restored_at: int) -> float:
    """Return the part of all false alarms that looks after one restore may have."""
    if not restored_at:
        return 1 / 2
    # the sum of 1 / (t ln(t)^2) over t from 2 on is 2.11, so that of all weights is 0.92
    return 1 / (5 * (restored_at + 1) * math.log(restored_at + 1) ** 2)


def look_at_message(store: Store, survey: Survey, addition: Addition) -> None:
    """Look at a message that was counted, if it is large, and keep what was found for the operator."""
    if addition.n_reports < LOOKED_FROM:
        return
    label = Provenance.of_reports(survey.form.plan_id, survey.is_simulation, 0.0)
    batch = Batch(addition.message_id, label, addition.bins, addition.run_lengths, addition.reports)
    share = share_of(*store.next_look(survey))
    keep(store, survey, watch(batch, survey.plan, false_alarm=share), "a message")


def keep(store: Store, survey: Survey, alarms: list[Alarm], of: str) -> None:
    """Keep the least probable alarms of a look: a forged message may raise one for every cell."""
    if alarms:
        log("alarm", level=logging.WARNING, survey=survey.id, alarms=len(alarms[:_MOST_KEPT]))
    store.add_alarms(survey, [f"In {of}: {alarm}" for alarm in alarms[:_MOST_KEPT]])
