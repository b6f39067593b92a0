"""A unit says how much it may change the counts, and what it leaves open."""

from __future__ import annotations

import math

import pytest

from tacit.errors import FormatError, SettingError
from tacit.privacy.unit import Unit


def test_an_event_changes_one_count_by_one():
    assert Unit() == Unit("event")
    assert Unit().sensitivity == 1


def test_a_persons_day_changes_the_counts_by_its_bound():
    assert Unit.user_day(most=5).sensitivity == 5
    assert Unit.user_day(most=1) != Unit("event")


@pytest.mark.parametrize("unit", [Unit(), Unit.user_day(most=1), Unit.user_day(most=7)])
def test_every_unit_says_what_it_protects_what_not_and_what_is_counted(unit):
    for sentence in (unit.rule, unit.protects, unit.does_not_protect):
        assert sentence.endswith(".")
    assert Unit.from_dict(unit.to_dict()) == unit


@pytest.mark.parametrize("most", [0, -1, 1.5, math.nan, True, 10**9])
def test_a_bound_that_makes_no_sense_is_refused(most):
    with pytest.raises(SettingError, match="most must be"):
        Unit.user_day(most=most)


def test_an_unknown_unit_and_an_event_of_many_are_refused():
    with pytest.raises(SettingError, match="unit must be one of event, user-day"):
        Unit("household")
    with pytest.raises(SettingError, match="most must be 1"):
        Unit("event", 2)


@pytest.mark.parametrize("content", [{}, {"name": "event"}, {"name": "event", "most": 2}, {"name": 3, "most": 1}, None])
def test_a_damaged_unit_is_refused(content):
    with pytest.raises(FormatError, match="unit of privacy is damaged"):
        Unit.from_dict(content)
