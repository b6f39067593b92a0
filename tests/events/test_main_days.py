"""Which days are proposed where a few dates stand far from the rest."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tacit.events import EventColumns, scan_span
from tacit.events.scan import main_days


def per_day(**parts):
    found = np.zeros(109_573, np.int64)
    for days, n_rows in parts.values():
        found[days] += n_rows
    return found


SPRING = (slice(46_021, 46_080), 900)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({}, range(46_021, 46_080)),
        ({"null": (25_567, 20_000)}, range(46_021, 46_080)),  # 1970, with a quarter of all rows
        ({"null": (25_567, 30), "older": (0, 4), "typing": (60_000, 1)}, range(46_021, 46_080)),
        ({"near": (46_021 - 20, 3)}, range(46_001, 46_080)),  # a quiet fortnight is none
        ({"last year": (slice(45_700, 45_900), 90)}, range(45_700, 46_080)),  # a small year before counts
        ({"sparse": (slice(25_000, 46_000, 300), 1)}, range(25_000, 46_080)),  # one row a year belongs to it
    ],
)
def test_days_at_an_end_are_left_out_where_they_are_few_and_far_away(others, expected):
    assert main_days(per_day(spring=SPRING, **others)) == expected


@pytest.mark.parametrize("numbers", [[5], [5, 5_000], [0, 109_572]])
def test_one_day_and_two_days_are_all_there_is(numbers):
    days = np.zeros(109_573, np.int64)
    days[numbers] = 3
    assert main_days(days) == range(numbers[0], numbers[-1] + 1)


def test_a_span_tells_its_main_days_and_how_many_rows_lie_beyond():
    days = [
        *pd.date_range("2026-01-01", periods=59).repeat(9),
        *[pd.Timestamp("1970-01-01")] * 30,
        pd.Timestamp("2062-01-05"),
    ]
    span = scan_span(pd.DataFrame({"day": days}), columns=EventColumns("day"))
    assert (str(span.first)[:10], str(span.last)[:10]) == ("1970-01-01", "2062-01-05")
    assert (span.main, span.n_far) == (("2026-01-01", "2026-02-28"), 31)
