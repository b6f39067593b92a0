from __future__ import annotations

from datetime import datetime

import pytest

from tacit.domain.step import STEPS, check_coarsens, floor, parse_step
from tacit.errors import SettingError

MADE_OF = {
    "hour": set(STEPS),
    "2 hours": {"2 hours", "4 hours", "6 hours", "8 hours", "12 hours", "day", "week", "month", "year"},
    "3 hours": {"3 hours", "6 hours", "12 hours", "day", "week", "month", "year"},
    "4 hours": {"4 hours", "8 hours", "12 hours", "day", "week", "month", "year"},
    "6 hours": {"6 hours", "12 hours", "day", "week", "month", "year"},
    "8 hours": {"8 hours", "day", "week", "month", "year"},
    "12 hours": {"12 hours", "day", "week", "month", "year"},
    "day": {"day", "week", "month", "year"},
    "week": {"week"},
    "month": {"month", "year"},
    "year": {"year"},
}


@pytest.mark.parametrize("fine", STEPS)
@pytest.mark.parametrize("coarse", STEPS)
def test_only_steps_made_of_whole_bins_are_coarser(fine, coarse):
    if coarse in MADE_OF[fine]:
        check_coarsens(fine, coarse)
    else:
        with pytest.raises(SettingError, match=r"must be made of whole bins .* Start from"):
            check_coarsens(fine, coarse)


@pytest.mark.parametrize(
    ("written", "step"),
    [("hour", "hour"), ("1h", "hour"), ("1 hour", "hour"), ("3 Hours", "3 hours"), ("24h", "day"), ("weeks", "week")],
)
def test_steps_are_read_as_people_write_them(written, step):
    assert parse_step(written) == step


@pytest.mark.parametrize("step", ["", "minute", "5 hours", "48 hours", "0 hours", "fortnight", None, 3])
def test_other_steps_are_refused_with_the_list(step):
    with pytest.raises(SettingError, match="step must be one of hour, 2 hours"):
        parse_step(step)


def test_a_week_starts_on_monday_also_across_a_new_year():
    assert floor(datetime(2021, 1, 3, 23, 59), "week") == datetime(2020, 12, 28)
