"""The audit plays its games against what a collector reads out of messages, as against any command."""

from __future__ import annotations

import sys

import pytest

from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import plan_for

DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["north", "south", "west"]))
WIRE = """
import sys
from datetime import UTC, datetime
import numpy as np
from tacit.collection.wire import MessageFormat
from tacit.plan import Plan
from tacit.randomness import SecureRandomness
from tacit.service.survey import Survey

form = MessageFormat.of(Plan.read(sys.argv[1]))
survey = Survey("visits", form)
clock, day = datetime(2018, 7, 1, 12, tzinfo=UTC), np.array([181])
for line in sys.stdin:
    sent = form.randomize(day, np.array([int(line)]), randomness=SecureRandomness())
    print(survey.addition(sent, clock).reports.tobytes().hex())
"""
"""A message of one report for each value, and the report as the collector takes it from the bytes."""


def audited(tacit, plan, *words):
    with open("wire.py", "w", encoding="utf-8") as file:
        file.write(WIRE)
    return tacit("audit", "plan.json", "--command", f"{sys.executable} wire.py {plan}", *words)


@pytest.mark.slow
@pytest.mark.false_failure(1e-7)
def test_what_a_collector_reads_out_of_messages_keeps_the_claim(tacit):
    plan_for(DOMAIN, epsilon=1.0).write("plan.json")
    ran = audited(tacit, "plan.json", "--runs", "1500", "--confidence", "0.9999999")
    assert ran.code == 0, ran.out + ran.err
    assert "not refuted" in ran.out


@pytest.mark.slow
@pytest.mark.false_failure(1e-12)
def test_messages_of_a_larger_epsilon_are_found_out(tacit):
    """Messages of epsilon 4 where the plan says 1: bounds of 1,500 runs lie near 3."""
    plan_for(DOMAIN, epsilon=4.0, mechanism="response").write("loud.json")
    plan_for(DOMAIN, epsilon=1.0, mechanism="response").write("plan.json")
    ran = audited(tacit, "loud.json", "--runs", "1500")
    assert ran.code == 1, ran.out + ran.err
    assert "REFUTED" in ran.out
