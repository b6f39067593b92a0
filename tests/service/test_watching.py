"""Forged reports raise an alarm; honest ones hardly ever do, over all of a survey's life."""

from __future__ import annotations

import math
from datetime import timedelta

import numpy as np
import pytest

from service_worlds import NOON, TODAY, message, survey_of
from tacit.counts.provenance import Provenance
from tacit.service import watching
from tacit.service.mixing import close_due
from tacit.service.store import Store
from tacit.service.watching import FALSE_ALARM, LOOKED_FROM, look_at_message, share_of

SURVEY = survey_of(late=1)


@pytest.fixture
def store(tmp_path):
    made = Store(f"sqlite:///{tmp_path / 'collector.sqlite'}")
    made.add_survey(SURVEY)
    yield made
    made.close()


def forged(n):
    """A message of reports that are all one and the same."""
    return forged_from(SURVEY.form.parse(message(SURVEY, [TODAY])).reports, n)


def forged_from(report, n):
    data = SURVEY.form.encode(np.full(n, TODAY), np.repeat(report, n, axis=0), Provenance(SURVEY.form.plan_id))
    return SURVEY.addition(data, NOON)


@pytest.mark.false_failure(1e-8)
def test_a_large_message_is_looked_at_when_it_comes(store, monkeypatch, seed):
    monkeypatch.setattr(watching, "FALSE_ALARM", 1e-8)
    honest = SURVEY.addition(message(SURVEY, [TODAY] * LOOKED_FROM, np.arange(LOOKED_FROM) % 17), NOON)
    look_at_message(store, SURVEY, honest)
    assert store.alarms(SURVEY) == []
    look_at_message(store, SURVEY, forged(LOOKED_FROM - 1))
    assert store.alarms(SURVEY) == []  # the period's look finds it
    look_at_message(store, SURVEY, forged(LOOKED_FROM))
    found = store.alarms(SURVEY)
    assert 1 <= len(found) <= 3
    assert any("one and the same" in one or "more than if it were true" in one for one in found)
    assert store.next_look(SURVEY) == (0, 3)


def test_many_small_messages_are_looked_at_when_their_period_closes(store, tmp_path):
    one = forged(20)
    store.add([one])
    for _ in range(30):
        again = forged(1)
        copied = SURVEY.form.encode(
            np.full(20, TODAY), np.repeat(one.reports[:1], 20, axis=0), Provenance(SURVEY.form.plan_id)
        )
        store.add([SURVEY.addition(copied, NOON), again])
    close_due(store, SURVEY, NOON + timedelta(days=5), tmp_path)
    assert any(said.startswith("In a period: 2026-11-17") for said in store.alarms(SURVEY))


def test_the_shares_of_all_looks_add_up_to_less_than_what_is_promised():
    once = sum(share_of(0, number) for number in range(1, 10_000))
    assert FALSE_ALARM * 0.499 < once < FALSE_ALARM / 2
    n = 100_000
    restored = sum(2 * share_of(second, 1) for second in range(1, n))  # all looks after a restore have twice the first
    rest = FALSE_ALARM / 5 / math.log(n)  # the integral of 1 / (t ln(t)^2) from n on
    assert FALSE_ALARM * 0.4 < restored < restored + rest < FALSE_ALARM / 2
