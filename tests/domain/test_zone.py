from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.zone import ZoneTable, zone_info
from tacit.errors import SettingError

ZONES = ("Europe/Paris", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia")
EPOCH = datetime(1970, 1, 1)

moments = st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1)).map(lambda t: t.replace(microsecond=0))


def seconds(naive: datetime) -> int:
    return round((naive - EPOCH).total_seconds())


@given(st.sampled_from(ZONES), st.lists(moments, min_size=1, max_size=20))
def test_wall_clock_times_become_the_instants_the_standard_library_gives(zone, times):
    table = ZoneTable.over(zone, 1990, 2060)
    expected = [seconds(t.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC).replace(tzinfo=None)) for t in times]
    assert table.to_utc(np.array([seconds(t) for t in times])).tolist() == expected


@given(st.sampled_from(ZONES), st.lists(moments, min_size=1, max_size=20))
def test_instants_become_the_wall_clock_times_the_standard_library_gives(zone, times):
    table = ZoneTable.over(zone, 1990, 2060)
    expected = [seconds(t.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)) for t in times]
    assert table.to_local(np.array([seconds(t) for t in times])).tolist() == expected


@pytest.mark.parametrize("zone", ZONES)
def test_every_change_of_the_clocks_is_met_to_the_second(zone):
    table = ZoneTable.over(zone, 1995, 2040)
    around = np.concatenate([table.changes + shift for shift in (-1, 0, 1)])
    for instant, local in zip(around.tolist(), table.to_local(around).tolist(), strict=True):
        aware = (EPOCH + timedelta(seconds=instant)).replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
        assert seconds(aware.replace(tzinfo=None)) == local


def test_a_zone_without_changes_has_one_offset():
    assert ZoneTable.over("Asia/Kolkata", 2000, 2030).changes.size == 0
    assert ZoneTable.over("Asia/Kolkata", 2000, 2030).offsets.tolist() == [19800]


def test_the_years_before_the_calendar_ends_are_no_trouble():
    assert ZoneTable.over("Europe/Paris", 9990, 9999).changes.size > 0
    assert ZoneTable.over("Europe/Paris", 1, 1).offsets.size == 1


@pytest.mark.parametrize("zone", ["", "Paris", "../etc/passwd", "Europe", None, 1, ["UTC"]])
def test_a_zone_that_does_not_exist_is_refused_with_what_to_do(zone):
    with pytest.raises(SettingError, match=r"zone must be .*Europe/Paris"):
        zone_info(zone)
