from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pytest

from tacit.domain.step import parse_period
from tacit.errors import SettingError


@pytest.mark.parametrize(
    ("when", "start", "end"),
    [
        ("2018", datetime(2018, 1, 1), datetime(2019, 1, 1)),
        ("2018-12", datetime(2018, 12, 1), datetime(2019, 1, 1)),
        ("2020-02", datetime(2020, 2, 1), datetime(2020, 3, 1)),
        ("2018-W01", datetime(2018, 1, 1), datetime(2018, 1, 8)),
        ("2020-W53", datetime(2020, 12, 28), datetime(2021, 1, 4)),
        (" 2018-03-04 ", datetime(2018, 3, 4), datetime(2018, 3, 5)),
        (date(2018, 3, 4), datetime(2018, 3, 4), datetime(2018, 3, 5)),
        (np.datetime64("2018-03-04"), datetime(2018, 3, 4), datetime(2018, 3, 5)),
        (np.datetime64("2018-03-04T05:00"), datetime(2018, 3, 4, 5), None),
        (np.datetime64("2018-03-04T05:00", "ns"), datetime(2018, 3, 4, 5), None),
        (np.datetime64("2018-03"), datetime(2018, 3, 1), datetime(2018, 4, 1)),
        (np.datetime64("2018"), datetime(2018, 1, 1), datetime(2019, 1, 1)),
        ("2018-03-04T05:00", datetime(2018, 3, 4, 5), None),
        ("2018-03-04 05:00:07", datetime(2018, 3, 4, 5, 0, 7), None),
        ("2018-03-04T05:00+00:00", datetime(2018, 3, 4, 5, tzinfo=UTC), None),
        (datetime(2018, 3, 4), datetime(2018, 3, 4), None),
        ("2018-03-15/2018-03-31", datetime(2018, 3, 15), datetime(2018, 4, 1)),
    ],
)
def test_a_period_is_read_as_people_write_it(when, start, end):
    period = parse_period(when, setting="first")
    assert (period.start, period.end) == (start, end)


@pytest.mark.parametrize(
    "when",
    [
        *("", "yesterday", "04/03/2018", "2018/03/04", "20180304", "2018-03-04T25:00"),
        *("9999", "0000", "2018-03-04/", None, 2018, 1.5, np.datetime64("NaT")),
        *(np.datetime64("2018-03-04", "W"), np.datetime64("12018-03-04")),
    ],
)
def test_what_is_no_period_is_refused_with_the_forms_to_use(when):
    with pytest.raises(SettingError, match="last must be written as 2018, 2018-03, 2018-W10"):
        parse_period(when, setting="last")


@pytest.mark.parametrize(
    ("when", "kind"),
    [
        *((when, "day") for when in ("2018-02-30", "2019-02-29", "2018-13-01", "2018-00-10", "2018-02-30T05:00")),
        *((when, "day") for when in ("0000-01-01", "2018-02-01/2018-02-30", " 2018-02-30 ")),
        *((when, "month") for when in ("2018-13", "2018-00")),
        *((when, "week") for when in ("2018-W54", "2019-W53", "2018-W00")),
    ],
)
def test_what_is_written_well_but_not_in_the_calendar_is_said_not_to_exist(when, kind):
    with pytest.raises(SettingError, match=f"^first must be in the calendar; got .*: this {kind} does not exist"):
        parse_period(when, setting="first")


@pytest.mark.parametrize("when", ["9999-12", "9999-12-31"])
def test_the_last_year_of_the_calendar_is_out_of_reach(when):
    with pytest.raises(SettingError, match="last must be before the year 9999"):
        parse_period(when, setting="last")
