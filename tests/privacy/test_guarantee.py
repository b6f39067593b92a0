"""What may be promised after several entries, compared with distances of counts that are listed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import FormatError, SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import NOTHING, PERSON_DAY, PRESENCE, REPLACEMENT, Guarantee
from tacit.privacy.unit import Unit

costs = st.builds(Cost, st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0]), st.sampled_from([0.0, 0.125, 0.5])).filter(
    lambda cost: cost != Cost()
)
units = st.just(Unit()) | st.builds(lambda most: Unit.user_day(most=most), st.integers(1, 5))
windows = st.sampled_from(["week", "month", "year", None])
units |= st.builds(lambda most, window: Unit.person(most=most, window=window), st.integers(1, 5), windows)
reports = st.builds(Guarantee.of_reports, st.sampled_from([0.1, 1.0, 2.0]), st.sampled_from([("place",), ("time",)]))
releases = st.builds(
    lambda cost, unit, counter: Guarantee.of_release(cost, unit, is_counter=counter), costs, units, st.booleans()
)
entries = reports | releases


def bounded(rows: tuple[tuple[str, int], ...], most: int) -> np.ndarray:
    """The counts of two places when of each person's rows of a day the first ``most`` are counted."""
    counts, taken = np.zeros(2, int), {}
    for person, place in rows:
        taken[person] = taken.get(person, 0) + 1
        counts[place] += taken[person] <= most
    return counts


ROWS = [("ana", 0), ("ana", 1), ("ben", 0), ("ben", 1)]
TABLES = [rows for n in range(5) for rows in itertools.product(ROWS, repeat=n)]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_an_event_costs_what_the_largest_change_of_bounded_counts_costs(most):
    """All tables of up to four rows, with any one row taken out: the largest distance is the one that is stated."""
    largest = max(
        int(np.abs(bounded(rows, most) - bounded(rows[:gone] + rows[gone + 1 :], most)).sum())
        for rows in TABLES
        for gone in range(len(rows))
    )
    stated = Guarantee.of_release(Cost.pure(1.0), Unit.user_day(most=most))
    assert largest == 2
    assert stated.presence.epsilon == float(Fraction(largest, most)) or stated.presence.epsilon == math.nextafter(
        largest / most, 9
    )
    assert stated.person_day == Cost.pure(1.0)


@pytest.mark.parametrize("most", [1, 2])
def test_a_replaced_event_costs_what_the_largest_change_costs(most):
    """Any one row replaced by any other, of whomever."""
    largest = max(
        int(np.abs(bounded(rows, most) - bounded((*rows[:at], other, *rows[at + 1 :]), most)).sum())
        for rows in TABLES
        for at in range(len(rows))
        for other in ROWS
    )
    stated = Guarantee.of_release(Cost.pure(1.0), Unit.user_day(most=most))
    assert largest == (4 if most == 1 else 3)  # four rows are too few to reach 4 with a bound of 2
    assert stated.replacement.epsilon >= Fraction(largest, most)


def test_reports_then_a_release_leave_replacement_alone():
    both = Guarantee.of_reports(3.0, ("place",)) + Guarantee.of_release(Cost.pure(1.0), Unit())
    assert (both.presence, both.replacement, both.person_day) == (None, Cost.pure(5.0), None)
    assert both.strongest(Unit()) == (REPLACEMENT, Cost.pure(5.0))


def test_a_persons_day_is_promised_by_user_days_alone():
    days = Guarantee.of_release(Cost.pure(1.0), Unit.user_day(most=4))
    assert days.strongest(Unit.user_day(most=4)) == (PERSON_DAY, Cost.pure(1.0))
    assert (days + days).person_day == Cost.pure(2.0)
    for other in (Guarantee.of_reports(1.0, ("place",)), Guarantee.of_release(Cost.pure(1.0), Unit())):
        assert (days + other).person_day is None
    assert (days + Guarantee.of_release(Cost.pure(1.0), Unit())).strongest(Unit())[0] == PRESENCE


def test_gaussian_noise_costs_twice_and_a_counter_four_times():
    table = Guarantee.of_release(Cost.zcdp(0.5), Unit())
    counter = Guarantee.of_release(Cost.zcdp(0.5), Unit(), is_counter=True)
    assert (table.replacement.rho, counter.replacement.rho) == (1.0, 2.0)


@given(st.lists(entries, max_size=5))
def test_the_order_of_entries_does_not_matter_and_nothing_is_neutral(some):
    whole = Guarantee.sum(some)
    assert whole == Guarantee.sum(reversed(some))
    assert whole == Guarantee.sum([*some, Guarantee()])
    assert Guarantee.from_dict(whole.to_dict()) == whole
    assert len(whole.sentences()) == 3 + len(whole.persons)


@given(st.lists(entries, max_size=4), entries)
def test_another_entry_never_makes_a_promise_stronger(some, more):
    before, after = Guarantee.sum(some), Guarantee.sum([*some, more])
    for question in (PRESENCE, REPLACEMENT, PERSON_DAY, *before.asked):
        old, new = before.of_question(question), after.of_question(question)
        assert new is None or (old is not None and new.epsilon >= old.epsilon and new.rho >= old.rho)


@given(st.lists(entries, min_size=1, max_size=4))
def test_what_holds_for_every_part_is_no_stronger_than_any_part(some):
    whole = Guarantee.parallel(some)
    for question in (PRESENCE, REPLACEMENT, PERSON_DAY):
        parts, found = [one.of_question(question) for one in some], whole.of_question(question)
        assert (found is None) == (None in parts or (question == REPLACEMENT and whole.hidden == ()))
        assert found is None or all(found.epsilon >= part.epsilon and found.rho >= part.rho for part in parts)


@pytest.mark.parametrize(
    "change",
    [
        {"presence": 1},
        {"replacement": None},
        {"hidden": []},
        {"spans_lines": 1},
        {"hidden": ["time", "when"]},
        {"more": 1},
        {"hidden": 3},
    ],
)
def test_a_damaged_promise_is_refused(change):
    with pytest.raises(FormatError):
        Guarantee.from_dict(Guarantee().to_dict() | change)


def test_reports_that_hide_different_coordinates_leave_no_promise():
    both = Guarantee.of_reports(1.0, ("place",)) + Guarantee.of_reports(1.0, ("time",))
    assert (both.presence, both.replacement, both.person_day, both.hidden) == (None, None, None, ())
    assert both.strongest(None) == (NOTHING, None)
    assert "replaced by any other: not protected." in both.sentences()[1]
    assert Guarantee.from_dict(both.to_dict()) == both


def test_the_condition_of_one_entry_holds_for_the_sum():
    both = Guarantee.of_release(Cost.pure(1.0), Unit(), spans_lines=True) + Guarantee.of_release(Cost.pure(1.0), Unit())
    assert both.spans_lines
    assert both.sentences()[-1].startswith("All this holds only as long as no row leaves a quote open")


def test_a_curator_has_no_devices():
    with pytest.raises(SettingError, match="for a curator; got unit=device"):
        Guarantee.of_release(Cost.pure(1.0), Unit("device"))


MONTH = Unit.person(most=4, window="month")


def test_a_person_is_promised_what_its_window_costs():
    month = Guarantee.of_release(Cost.pure(1.0), MONTH)
    assert month.persons == (("person-month", Cost.pure(1.0)),)
    assert month.strongest(MONTH) == ("person-month", Cost.pure(1.0))
    assert month.person_day == Cost.pure(2.0)  # a part of what is counted goes, and as much may come in
    assert month.presence == Cost.pure(0.5)
    assert "All events of one person in one month added or removed: epsilon 1." in month.sentences()
    assert Guarantee.from_dict(month.to_dict()) == month


def test_a_question_that_nobody_asked_is_promised_of_nothing_alone():
    assert Guarantee().of_question("person") == Cost()
    assert Guarantee.of_release(Cost.pure(1.0), MONTH).of_question("person") is None
    days = Guarantee.of_release(Cost.pure(1.0), Unit.user_day(most=1))
    assert (days + Guarantee.of_release(Cost.pure(1.0), MONTH)).persons == (("person-month", None),)
    asked = Guarantee.of_release(
        Cost.pure(1.0), Unit.user_day(most=1), days=("2025-02-01", "2025-02-28"), asked=["person-month"]
    )
    assert (asked + Guarantee.of_release(Cost.pure(1.0), MONTH)).persons == (("person-month", Cost.pure(29.0)),)


@pytest.mark.parametrize(
    "other",
    [
        Guarantee(persons=(("person", None),)),  # single events of other days, as a ledger adds them up
        Guarantee.of_release(Cost.pure(1.0), Unit.user_day(most=2), is_counter=True, asked=["person"]),
    ],
)
def test_why_a_person_is_not_protected_is_true_of_a_counter_and_of_single_events(other):
    both = Guarantee.of_release(Cost.pure(1.0), Unit.person(most=2)) + other
    assert both.person_day is not None
    assert both.sentences()[-1] == (
        "All events of one person on any days added or removed: not protected. Some reports or releases do not bound "
        "what a person adds in that time."
    )


def test_gaussian_noise_of_a_persons_counter_costs_more_where_events_of_other_times_come_in():
    for unit, times in ((MONTH, 4), (Unit.user_day(most=4), 2)):
        counter = Guarantee.of_release(Cost.zcdp(1.0), unit, is_counter=True)
        assert counter.presence.rho == times / 4
        assert counter.replacement.rho == 4 * times / 4
    assert Guarantee.of_release(Cost.zcdp(1.0), MONTH).person_day.rho == 2.0
    assert Guarantee.of_release(Cost.zcdp(1.0), MONTH, is_counter=True).person_day.rho == 4.0


def test_a_plan_without_kinds_leaves_the_kind_hidden():
    plain, public, hidden = (
        Guarantee.of_reports(1.0, ("place",)),
        Guarantee.of_reports(1.0, ("place",), tells_kinds=True),
        Guarantee.of_reports(1.0, ("place", "kind")),
    )
    counts = Guarantee.of_release(Cost.pure(1.0), Unit())
    assert (plain + counts).hidden == ("place",)
    assert (public + plain + counts).hidden == ("place",)
    assert (hidden + plain + counts).hidden == ("place", "kind")
    assert (hidden + public).hidden == ("place",)
    both = hidden + plain + counts
    assert "One event's place and kind replaced by any other: epsilon 4." in both.sentences()[1]
    assert Guarantee.from_dict(both.to_dict()) == both
    assert "tells_kinds" not in plain.to_dict()
    with pytest.raises(FormatError):
        Guarantee.from_dict(plain.to_dict() | {"hidden": ["place", "kind"]})
