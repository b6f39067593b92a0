"""A unit says how much it may change the counts, and what it leaves open."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.step import floor
from tacit.errors import FormatError, SettingError
from tacit.privacy.unit import (
    WHOLE,
    WINDOWS,
    Overlap,
    Unit,
    days_between,
    largest_overlap,
    overlaps,
    overlaps_of,
    window_of,
)


def test_an_event_changes_one_count_by_one():
    assert Unit() == Unit("event")
    assert Unit().sensitivity == 1


def test_a_persons_day_changes_the_counts_by_its_bound():
    assert Unit.user_day(most=5).sensitivity == 5
    assert Unit.user_day(most=1) != Unit("event")


def most_of(total, n_cells, per_cell, n_under):
    """The largest sum of squares over nodes of so many cells each, by listing all that one person may add."""
    counts = product(range(per_cell + 1), repeat=n_cells)
    nodes = range(0, n_cells, n_under)
    return max(sum(sum(cells[node : node + n_under]) ** 2 for node in nodes) for cells in counts if sum(cells) <= total)


@pytest.mark.parametrize(("most", "per_cell"), [(1, 1), (2, 1), (3, 1), (3, 2), (4, 3), (4, 4)])
def test_the_sum_of_squares_is_the_largest_that_a_person_can_make(most, per_cell):
    unit = Unit.person(most=most, most_per_cell=per_cell)
    for n_under in (1, 2, 3):
        n_nodes = -(-most // min(most, per_cell * n_under))  # as many as the largest sum needs
        assert unit.squared_sensitivity(n_under) == most_of(most, n_nodes * n_under, per_cell, n_under)
        assert most <= unit.squared_sensitivity(n_under) <= most * min(most, per_cell * n_under)


def test_without_a_bound_on_cells_all_may_fall_in_one():
    assert Unit.user_day(most=5).squared_sensitivity() == 25
    assert Unit.user_day(most=5) == Unit.user_day(most=5, most_per_cell=5)
    assert Unit().squared_sensitivity(100) == 1


UNITS = [
    Unit(),
    Unit("device"),
    Unit.user_day(most=1),
    Unit.user_day(most=7),
    Unit.user_day(most=7, most_per_cell=2),
    Unit.person(most=20),
    Unit.person(most=20, most_per_cell=5),
    Unit.person(most=1, window="year"),
    Unit.person(most=20, most_per_cell=5, window="month"),
]


def test_files_of_events_and_user_days_are_written_as_before_persons():
    assert Unit().to_dict() == {"name": "event", "most": 1}
    assert Unit.user_day(most=3).to_dict() == {"name": "user-day", "most": 3}
    assert Unit.person(most=20, window="month").to_dict() == {"name": "person", "most": 20, "window": "month"}


def test_units_tell_each_other_apart():
    assert len({*UNITS}) == len({str(unit) for unit in UNITS}) == len(UNITS)
    assert str(Unit.person(most=20, most_per_cell=5, window="month")) == (
        "person of at most 20 events in a month, 5 in one cell"
    )


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_says_what_it_protects_what_not_and_what_is_counted(unit):
    for sentence in (unit.rule, unit.protects, unit.does_not_protect):
        assert sentence.endswith(".")
    assert Unit.from_dict(unit.to_dict()) == unit


@pytest.mark.parametrize("most", [0, -1, 1.5, math.nan, True, 10**9])
def test_a_bound_that_makes_no_sense_is_refused(most):
    with pytest.raises(SettingError, match="most must be"):
        Unit.user_day(most=most)


def test_an_unknown_unit_and_an_event_of_many_are_refused():
    with pytest.raises(SettingError, match="unit must be one of event, user-day, person"):
        Unit("household")
    with pytest.raises(SettingError, match="most must be 1"):
        Unit("event", 2)
    with pytest.raises(SettingError, match="most must be 1 for the unit device"):
        Unit("device", 2)


@pytest.mark.parametrize("most_per_cell", [-1, 4, 1.5, True])
def test_a_bound_on_cells_that_makes_no_sense_is_refused(most_per_cell):
    with pytest.raises(SettingError, match="most_per_cell must be"):
        Unit.person(most=3, most_per_cell=most_per_cell)


@pytest.mark.parametrize(
    ("name", "window"), [("person", "day"), ("person", "hour"), ("user-day", "week"), ("event", "day")]
)
def test_a_window_that_does_not_fit_the_unit_is_refused(name, window):
    with pytest.raises(SettingError, match="window must be"):
        Unit(name, 1, window=window)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"name": "event"},
        {"name": "event", "most": 2},
        {"name": 3, "most": 1},
        {"name": "person", "most": 2, "most_per_cell": 2},
        {"name": "user-day", "most": 2, "window": "day"},
        {"name": "person", "most": 2, "window": []},
        None,
    ],
)
def test_a_damaged_unit_is_refused(content):
    with pytest.raises(FormatError, match="unit of privacy is damaged"):
        Unit.from_dict(content)


EVERY = (*WINDOWS, None)


@given(st.dates(), st.dates(), st.sampled_from(WINDOWS))
def test_windows_are_the_bins_of_a_time_axis_of_the_same_step(one, two, window):
    starts = [floor(datetime(day.year, day.month, day.day), window) for day in (one, two)]
    names = [window_of(day.isoformat(), window) for day in (one, two)]
    assert (names[0] == names[1]) == (starts[0] == starts[1])


@pytest.mark.parametrize(
    ("own", "asked", "largest"),
    [
        ("day", "week", Overlap(7, 0)),
        ("day", "month", Overlap(31, 0)),
        ("day", "year", Overlap(366, 0)),
        ("week", "month", Overlap(4, 2)),
        ("week", "year", Overlap(52, 2)),
        ("month", "year", Overlap(12, 0)),
        ("month", "week", Overlap(0, 2)),
        ("month", "day", Overlap(0, 1)),
        (None, "year", Overlap(0, 1)),
        ("week", None, None),
        (None, None, WHOLE),
    ],
)
def test_for_ever_there_is_a_largest_number_of_windows_in_a_window(own, asked, largest):
    assert largest_overlap(own, asked) == largest


@given(st.dates(), st.integers(0, 80), st.sampled_from(EVERY), st.sampled_from(EVERY))
def test_no_window_costs_more_than_what_holds_for_its_span_and_for_ever(first, n_days, own, asked):
    start = first.toordinal() % 700_000 + 1
    span = tuple(type(first).fromordinal(start + number).isoformat() for number in (0, n_days))
    possible, ever = overlaps_of(span, own, asked), largest_overlap(own, asked)
    for one in overlaps(days_between(*span), own, asked).values():
        assert one in possible
        # a window that is cut short may come to lie within, which costs less
        assert ever is None or one.n_within + one.n_partly <= ever.n_within + ever.n_partly
        assert ever is None or one.n_within + 2 * one.n_partly <= ever.n_within + 2 * ever.n_partly


def test_a_window_of_which_only_days_within_are_covered_lies_within():
    assert overlaps(["2025-01-30"], "year", "month") == {"2025-01": WHOLE}
    assert overlaps(["2025-01-30", "2025-02-01"], "year", "month") == dict.fromkeys(
        ("2025-01", "2025-02"), Overlap(0, 1)
    )
