"""A statement says for whom it is: an event, a person in a window, or a device that reports for years."""

from __future__ import annotations

from dataclasses import replace

import pytest

from small_worlds import days_and_places
from tacit.counts.provenance import Provenance
from tacit.mechanisms.central.table import central_plan_for
from tacit.mechanisms.planner import plan_for_devices
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.unit import Unit
from tacit.release import PrivacyStatement

DOMAIN = days_and_places(28, 3)
MONTH = Unit.person(most=20, most_per_cell=5, window="month")


def stated(plan, prior=None) -> PrivacyStatement:
    label = Provenance(plan.fingerprint, prior=prior or Guarantee())
    return PrivacyStatement.of(plan, label, unbiased_steps=(), refined_steps=())


def plan_of(unit):
    return central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat", **unit.settings)


@pytest.mark.parametrize(
    ("unit", "sentences"),
    [
        (
            MONTH,
            (
                "Whether any one person had events in any one month, how many, when in the month and where.",
                "For each person and month, against everyone",
                "Neighbouring inputs: all events of one person in one month added or removed.",
                "Of one person's events in one month at most 20 are counted, of these at most 5 in one cell",
                "at epsilon 1 per person in a month.",
                "All events of one person in one month added or removed: epsilon 1.",
                "All events of one person on one day added or removed: epsilon 2.",
                "One event added or removed: epsilon 0.1.",
                "(ten months at epsilon 1 are protected as one at epsilon 10)",
            ),
        ),
        (
            Unit.person(most=20),
            (
                "Whether any one person is in the data at all, how many events they had, when and where.",
                "For each person, against everyone",
                "Neighbouring inputs: all events of one person on any days added or removed.",
                "Of all events of one person at most 20 are counted",
                "All events of one person on any days added or removed: epsilon 1.",
                "What other releases tell of the same people",
            ),
        ),
    ],
)
def test_a_person_is_told_what_is_protected_of_them(unit, sentences):
    statement = stated(plan_of(unit))
    for sentence in sentences:
        assert sentence in statement.text()
    assert statement.is_alone
    assert statement.total_epsilon == 1.0
    again = PrivacyStatement.from_dict(statement.to_dict())
    assert again == statement
    assert again.protected == unit


def test_what_was_made_for_the_same_person_is_in_the_figures():
    prior = Guarantee.of_release(Cost.pure(0.5), MONTH)
    statement = stated(plan_of(MONTH), prior)
    assert (statement.question, statement.total_epsilon) == ("person-month", 1.5)
    assert "together with this release they cost epsilon 1.5 for all events of one person in one month" in (
        statement.text()
    )
    assert PrivacyStatement.from_dict(statement.to_dict()) == statement


def test_days_count_as_often_as_the_month_that_was_asked_about_has_them():
    statement = stated(plan_of(Unit.user_day(most=2)), Guarantee.of_release(Cost.pure(0.5), MONTH))
    assert (statement.question, statement.total_epsilon) == ("person-day", 2.0)  # two prices of the other's
    assert "All events of one person in one month added or removed: epsilon 28.5." in statement.text()


def test_after_single_events_a_release_for_persons_still_promises_an_event():
    statement = stated(plan_of(MONTH), Guarantee.of_release(Cost.pure(0.5), Unit(), asked=["person-month"]))
    assert (statement.question, statement.total_epsilon) == ("presence", pytest.approx(0.6))
    assert "All events of one person in one month added or removed: not protected." in statement.text()
    assert statement.about_what == "an event"


def test_statements_of_events_and_user_days_are_written_as_before_persons():
    for unit in (Unit(), Unit.user_day(most=3)):
        content = stated(plan_of(unit)).to_dict()
        assert not {"window", "days", "most_per_cell"} & content.keys()
        assert not {"persons", "tells_kinds"} & content["guarantee"].keys()


def test_a_device_is_told_four_epsilons():
    plan, _ = plan_for_devices(DOMAIN, epsilon=1.0, epsilon_infinity=4.0)
    statement = stated(plan)
    text = statement.text()
    for sentence in (
        "For each device on its own, against everyone, the collector included.",
        "A person with several devices, who is protected once for each.",
        "from permanent answers that each device remembers, with epsilon 1 per report",
        "errors of several periods are correlated",
        "Every device remembers its permanent answers, and reports at most once in a period.",
        "One report: epsilon 1. 28 reports, one in each period: epsilon ",
        "Any number of reports, for ever: epsilon 4.",
        "If its value changes, all reports ever made tell at most epsilon 12 of which of 3 values it had.",
    ):
        assert sentence in text
    assert "all coins drawn again" not in text
    assert PrivacyStatement.from_dict(statement.to_dict()) == statement
    assert "with all coins drawn again" in stated(replace(plan, unit="event")).text()
