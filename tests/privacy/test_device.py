"""Statements about devices that report for years give four epsilons, each that of the mechanism."""

from __future__ import annotations

import json
import math

import pytest

from small_worlds import days_and_places
from tacit._base.rounding import epsilon_at_most
from tacit.counts.provenance import Provenance
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.plan import Plan
from tacit.privacy.device import DeviceFigures, DeviceLoss
from tacit.release import PrivacyStatement

REPEATED = [name for name, entry in MECHANISMS.items() if entry.is_repeated]


def statement_of(plan: Plan) -> PrivacyStatement:
    return PrivacyStatement.of(plan, Provenance(plan.fingerprint), unbiased_steps=(), refined_steps=())


@pytest.mark.parametrize("name", REPEATED)
def test_a_statement_gives_the_epsilons_of_one_report_of_n_of_one_value_and_of_changing_values(name):
    plan = plan_for(days_and_places(30, 9), epsilon=0.7, mechanism=name)
    mechanism, statement = mechanism_of(plan), statement_of(plan)
    figures = statement.device
    assert figures == DeviceFigures(
        epsilon_1=mechanism.epsilon_1,
        n_reports=30,
        epsilon_n=mechanism.epsilon_after(30),
        epsilon_infinity=mechanism.epsilon_infinity,
        n_slots=mechanism.n_slots,
        epsilon_of_values=mechanism.epsilon_of_values(),
        is_hashed="hashing" in name,
    )
    said = dict(statement.paragraphs())["Reported again and again"]
    for epsilon in (figures.epsilon_1, figures.epsilon_n, figures.epsilon_infinity, figures.epsilon_of_values):
        assert f"epsilon {epsilon_at_most(epsilon)}" in said
    assert "30 reports, one in each period" in said
    assert "is not hidden" in said
    assert ("hash function stands in every report" in said) == figures.is_hashed
    again = PrivacyStatement.from_dict(json.loads(json.dumps(statement.to_dict())))
    assert again == statement
    assert again.text() == statement.text()


def test_a_statement_without_an_end_names_no_number_of_reports():
    domain = Domain(TimeAxis.between("2026-01-01", None), PlaceAxis.of(["north", "south", "west"]))
    statement = statement_of(plan_for(domain, epsilon=1.0, mechanism="loloha"))
    assert statement.device is not None
    assert statement.device.epsilon_n is None
    assert "in each period" not in statement.text()


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in REPEATED])
def test_mechanisms_without_a_memo_say_nothing_of_devices(name):
    statement = statement_of(plan_for(days_and_places(3, 9), epsilon=1.0, mechanism=name))
    assert statement.device is None
    assert "device" not in statement.to_dict()
    assert "again and again" not in statement.text()


def test_nothing_is_stated_where_nothing_is_bounded_or_bits_are_shared():
    unbounded = LongitudinalRappor.from_parameters(f=0, q=0.75, p=0.25, n_cells=9)
    bloom = LongitudinalRappor.from_parameters(f=0.5, q=0.75, p=0.25, n_cells=9, hashes=2, n_bits=16)
    for one in (unbounded, bloom):
        assert DeviceFigures.of(one.thresholds(), 9, 30) is None
        plan = Plan(days_and_places(3, 9), "longitudinal", one.epsilon, tuple(sorted(one.thresholds().items())))
        assert "larger and not stated here" in statement_of(plan).text()
    assert math.isinf(DeviceLoss.of(unbounded.thresholds(), 9).epsilon_of_values())
