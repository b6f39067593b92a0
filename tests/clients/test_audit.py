"""The audit plays its games against the browser client, run by Node, as against any command."""

from __future__ import annotations

import json

import pytest

from browser_client import SOURCES
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import plan_for

DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["north", "south", "west"]))


def audited(tacit, node, plan, *words):
    return tacit("audit", "plan.json", "--command", f"{node} {SOURCES / 'audit.mjs'} {plan}", *words)


@pytest.mark.slow
@pytest.mark.false_failure(1e-7)
@pytest.mark.parametrize("mechanism", ["subset", "hashing", "longitudinal"])
def test_the_browser_client_keeps_its_claim(tacit, node, mechanism):
    plan_for(DOMAIN, epsilon=1.0, mechanism=mechanism).write("plan.json")
    ran = audited(tacit, node, "plan.json", "--runs", "20000", "--confidence", "0.9999999")
    assert ran.code == 0, ran.out + ran.err
    assert "not refuted" in ran.out


@pytest.mark.slow
@pytest.mark.false_failure(1e-12)
def test_a_client_with_a_larger_epsilon_is_found_out(tacit, node):
    """A client of epsilon 3 where the plan says 1; bounds of 20,000 runs lie near 2.9, give or take 0.03."""
    plan_for(DOMAIN, epsilon=3.0, mechanism="response").write("loud.json")
    plan_for(DOMAIN, epsilon=1.0, mechanism="response").write("plan.json")
    ran = audited(tacit, node, "loud.json", "--runs", "20000")
    assert ran.code == 1, ran.out + ran.err
    assert "REFUTED" in ran.out


def test_a_damaged_plan_ends_the_audit_with_the_clients_sentence(tacit, node, tmp_path):
    plan = plan_for(DOMAIN, epsilon=1.0)
    plan.write("plan.json")
    content = json.loads(plan.to_json()) | {"fingerprint": "0" * 32}
    (tmp_path / "edited.json").write_text(json.dumps(content), encoding="utf-8")
    ran = audited(tacit, node, "edited.json", "--runs", "1000")
    assert ran.code == 2
    assert "it was edited" in ran.err
