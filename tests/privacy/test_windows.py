"""Windows are whole days of the calendar, and it is counted how many of one kind lie in one of another."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.step import floor
from tacit.privacy.windows import (
    WHOLE,
    WINDOWS,
    Overlap,
    days_between,
    largest_overlap,
    overlaps,
    overlaps_of,
    window_of,
)

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
