"""How far to look ahead, in bins or in words."""

from __future__ import annotations

import pytest

from tacit.domain import TimeAxis
from tacit.domain.horizon import MOST_BINS, horizon_of
from tacit.errors import SettingError

DAYS = TimeAxis.between("2018-01-01", "2018-12-31", zone="Europe/Paris")


@pytest.mark.parametrize(
    ("asked", "n_bins"),
    [("1", 1), (7, 7), ("day", 1), ("week", 7), ("2 weeks", 14), ("month", 31), ("2 months", 59), ("year", 365)],
)
def test_days_ahead(asked, n_bins):
    assert horizon_of(asked, DAYS) == n_bins


@pytest.mark.parametrize(
    ("first", "last", "step", "asked", "n_bins"),
    [
        ("2018-01-01", "2018-01-31", "hour", "day", 24),
        ("2018-01-01", "2018-03-24", "hour", "day", 23),  # clocks go forward on the 25th
        ("2018-01-01", "2018-10-27", "hour", "day", 25),
        ("2018-01-01", "2018-01-31", "6 hours", "week", 28),
        ("2018-01", "2018-11", "month", "year", 12),
        ("2018-01", "2018-11", "month", "month", 1),
        ("2010", "2018", "year", "year", 1),
        ("2018-01-01", "2018-01-30", "day", "month", 29),  # from 31 January: to the end of February
    ],
)
def test_other_steps_ahead(first, last, step, asked, n_bins):
    assert horizon_of(asked, TimeAxis.between(first, last, step=step, zone="Europe/Paris")) == n_bins


@pytest.mark.parametrize(
    "asked", ["0", "-1", "soon", "1.5", "", "99999999999", f"{MOST_BINS + 1}", "900 years", "²", f"{9**99} days"]
)
def test_what_is_no_horizon_is_refused(asked):
    with pytest.raises(SettingError, match="horizon must be"):
        horizon_of(asked, DAYS)


def test_no_horizon_at_all_is_not_called_too_far():
    with pytest.raises(SettingError, match=r"got horizon=0\. Give for example"):
        horizon_of("0", DAYS)
    with pytest.raises(SettingError, match=r"1 to 9,000 periods; got horizon=9001\. Look less far ahead"):
        horizon_of("9001", DAYS)


def test_a_horizon_shorter_than_a_bin_is_refused():
    with pytest.raises(SettingError, match="each is a year"):
        horizon_of("week", TimeAxis.between("2010", "2018", step="year"))
