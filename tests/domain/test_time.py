from __future__ import annotations

import json
import pickle
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import STEPS, TimeAxis, sum_groups
from tacit.errors import SettingError

# in São Paulo the clocks changed at midnight
ZONES = ("UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata", "America/Sao_Paulo")
PARIS = "Europe/Paris"

moments = st.datetimes(datetime(2014, 12, 25), datetime(2019, 1, 7)).map(lambda t: t.replace(microsecond=0))
days = st.dates(date(2015, 1, 1), date(2018, 12, 31))


@st.composite
def axes(draw, steps=STEPS):
    first, last = sorted([draw(days), draw(days)])
    return TimeAxis.between(first, last, step=draw(st.sampled_from(steps)), zone=draw(st.sampled_from(ZONES)))


def array(*texts: str):
    return np.array(texts, "datetime64[s]")


def bin_by_hand(axis: TimeAxis, instant: datetime) -> int:
    """The definition, one time at a time, with the standard library alone."""
    zone = ZoneInfo(axis.zone)
    local = instant.astimezone(zone).replace(tzinfo=None)
    covered = axis.covered_from or axis.start
    if axis.step == "hour":
        hours = (instant - covered.replace(tzinfo=zone).astimezone(UTC)) // timedelta(hours=1)
        return hours if 0 <= hours < axis.n_bins else -1
    if local < covered or (axis.covered_until is not None and local >= axis.covered_until):
        return -1
    passed = local - axis.start
    if axis.step == "year":
        number = local.year - axis.start.year
    elif axis.step == "month":
        number = 12 * (local.year - axis.start.year) + local.month - axis.start.month
    elif axis.step == "week":
        number = passed.days // 7
    elif axis.step == "day":
        number = passed.days
    else:
        slot = int(axis.step.split()[0])
        number = passed.days * (24 // slot) + local.hour // slot
    return number if number < axis.n_bins else -1


@given(axes(), st.lists(moments, min_size=1, max_size=10))
def test_local_times_fall_into_the_bins_of_the_definition(axis, times):
    instants = [t.replace(tzinfo=ZoneInfo(axis.zone)).astimezone(UTC) for t in times]
    expected = [bin_by_hand(axis, instant) for instant in instants]
    assert axis.bins_of_local(np.array(times, "datetime64[s]")).tolist() == expected


@given(axes(), st.lists(moments, min_size=1, max_size=10))
def test_instants_fall_into_the_bins_of_the_definition(axis, times):
    expected = [bin_by_hand(axis, t.replace(tzinfo=UTC)) for t in times]
    assert axis.bins_of_utc(np.array(times, "datetime64[s]")).tolist() == expected


@given(axes())
def test_the_start_of_a_bin_lies_in_it_and_the_second_before_does_not(axis):
    numbers = np.arange(axis.n_bins)
    starts = axis.starts_utc()
    assert axis.bins_of_utc(starts).tolist() == numbers.tolist()
    assert axis.bins_of_utc(starts - np.timedelta64(1, "s")).tolist() == (numbers - 1).tolist()
    if axis.step != "hour":
        assert axis.bins_of_local(axis.starts()).tolist() == numbers.tolist()


@given(axes(), st.sampled_from(STEPS), st.data())
def test_coarsening_commutes_with_binning_and_with_summing(axis, step, data):
    try:
        coarse, groups = axis.coarsen(step)
    except SettingError:
        return
    times = np.array(data.draw(st.lists(moments, min_size=1, max_size=50)), "datetime64[s]")
    for fine_bins, coarse_bins in (
        (axis.bins_of_local(times), coarse.bins_of_local(times)),
        (axis.bins_of_utc(times), coarse.bins_of_utc(times)),
    ):
        assert np.where(fine_bins < 0, -1, groups[fine_bins]).tolist() == coarse_bins.tolist()
        fine, direct = (
            np.bincount(bins[bins >= 0], minlength=n)
            for bins, n in ((fine_bins, axis.n_bins), (coarse_bins, coarse.n_bins))
        )
        assert sum_groups(fine, groups).tolist() == direct.tolist()


@given(axes(steps=("hour", "3 hours", "day")))
def test_coarsening_in_two_steps_is_coarsening_in_one(axis):
    monthly, month_of_bin = axis.coarsen("month")
    yearly, year_of_month = monthly.coarsen("year")
    directly, year_of_bin = axis.coarsen("year")
    assert yearly == directly
    assert year_of_month[month_of_bin].tolist() == year_of_bin.tolist()


@given(axes())
def test_an_axis_survives_json_and_pickle(axis):
    assert TimeAxis.from_dict(json.loads(json.dumps(axis.to_dict()))) == axis
    assert pickle.loads(pickle.dumps(axis)) == axis
    assert TimeAxis.from_dict(axis.to_dict(with_end=False)) == axis.without_end()


@given(axes(), st.data())
def test_a_label_names_its_bin(axis, data):
    labels = axis.labels()
    assert len(set(labels)) == axis.n_bins
    first, last = sorted(data.draw(st.integers(0, axis.n_bins - 1)) for _ in range(2))
    assert axis.range(labels[first], labels[last]) == slice(first, last + 1)
    assert axis.label(first) == labels[first]


@given(axes(), st.integers(1, 400))
def test_the_end_does_not_move_any_bin(axis, n_bins):
    endless = axis.without_end()
    assert endless.n_bins is None
    assert endless.starts(n_bins).tolist() == endless.with_end(n_bins).starts().tolist()
    assert endless.bins_of_utc(axis.starts_utc()).tolist() == list(range(axis.n_bins))
    assert axis.to_dict(with_end=False) == endless.to_dict()


def test_the_day_the_clocks_go_forward_has_23_hours_and_the_day_they_go_back_25():
    hours = TimeAxis.between("2018-01-01", "2018-12-31", step="hour", zone=PARIS)
    day, day_of_hour = hours.coarsen("day")
    sizes = dict(zip(day.labels(), np.bincount(day_of_hour).tolist(), strict=True))
    assert {label: n for label, n in sizes.items() if n != 24} == {"2018-03-25": 23, "2018-10-28": 25}
    assert hours.n_bins == 365 * 24


def test_slots_of_several_hours_are_as_many_every_day():
    slots = TimeAxis.between("2018-03-25", "2018-03-25", step="6 hours", zone=PARIS)
    assert slots.labels() == [
        "2018-03-25T00:00+01:00",
        "2018-03-25T06:00+02:00",
        "2018-03-25T12:00+02:00",
        "2018-03-25T18:00+02:00",
    ]


def test_the_repeated_hour_is_two_bins_told_apart_by_their_offset():
    hours = TimeAxis.between("2018-10-28", "2018-10-28", step="hour", zone=PARIS)
    assert hours.n_bins == 25
    assert hours.labels()[2:4] == ["2018-10-28T02:00+02:00", "2018-10-28T02:00+01:00"]
    assert hours.starts()[2] == hours.starts()[3]
    assert hours.range("2018-10-28T02:00+01:00", "2018-10-28T02:00+01:00") == slice(3, 4)


def test_a_naive_time_in_the_repeated_hour_is_its_first_occurrence():
    hours = TimeAxis.between("2018-10-28", "2018-10-28", step="hour", zone=PARIS)
    assert hours.bins_of_local(array("2018-10-28T01:59:59", "2018-10-28T02:30", "2018-10-28T03:00")).tolist() == [
        1,
        2,
        4,
    ]
    assert hours.bins_of_utc(array("2018-10-28T00:30", "2018-10-28T01:30")).tolist() == [2, 3]


def test_a_naive_time_that_was_skipped_is_moved_forward():
    hours = TimeAxis.between("2018-03-25", "2018-03-25", step="hour", zone=PARIS)
    assert hours.labels()[1:3] == ["2018-03-25T01:00+01:00", "2018-03-25T03:00+02:00"]
    assert hours.bins_of_local(array("2018-03-25T02:00", "2018-03-25T02:59:59")).tolist() == [2, 2]
    slots = TimeAxis.between("2018-03-25", "2018-03-25", step="3 hours", zone=PARIS)
    assert slots.bins_of_local(array("2018-03-25T01:59:59", "2018-03-25T02:00")).tolist() == [0, 1]


def test_hours_of_an_axis_begin_with_its_local_hours_also_half_an_hour_from_utc():
    hours = TimeAxis.between("2018-03-04", "2018-03-04", step="hour", zone="Asia/Kolkata")
    assert hours.starts_utc()[0] == np.datetime64("2018-03-03T18:30")
    assert hours.label(5) == "2018-03-04T05:00+05:30"


def test_hours_that_a_change_of_half_an_hour_cuts_in_two_are_not_summed_to_days():
    hours = TimeAxis.between("2018-01-01", "2018-12-31", step="hour", zone="Australia/Lord_Howe")
    with pytest.raises(SettingError, match="a change of the clocks cuts one in two"):
        hours.coarsen("day")


def test_an_hour_axis_that_ends_between_two_repeated_hours_is_not_coarsened():
    hours = TimeAxis("2018-10-28", "hour", PARIS, 3)
    with pytest.raises(SettingError, match="Start and end the axis at midnight"):
        hours.coarsen("day")


def test_leap_years_have_their_29_february():
    assert TimeAxis.between("2016", "2016").n_bins == 366
    assert TimeAxis.between("2018", "2018").n_bins == 365
    assert TimeAxis.between("2016-02", "2016-02").label(28) == "2016-02-29"
    assert TimeAxis.between("1900-02", "1900-02").n_bins == 28
    assert TimeAxis.between("2000-02", "2000-02").n_bins == 29


def test_the_paper_has_4748_days_156_months_and_13_years():
    axis = TimeAxis.between("2006-01-01", "2018-12-31", zone=PARIS)
    assert (axis.n_bins, axis.coarsen("month")[0].n_bins, axis.coarsen("year")[0].n_bins) == (4748, 156, 13)


def test_weeks_are_those_of_iso_8601_across_year_ends():
    weeks = TimeAxis.between("2020-W52", "2021-W02", step="week", zone=PARIS)
    assert weeks.labels() == ["2020-W52", "2020-W53", "2021-W01", "2021-W02"]
    assert weeks.bins_of_local(array("2020-12-31", "2021-01-03T23:59:59", "2021-01-04")).tolist() == [1, 1, 2]


def test_missing_days_are_there():
    axis = TimeAxis.between("2018-01-01", "2018-01-05")
    counts = np.bincount(axis.bins_of_local(array("2018-01-01T10:00", "2018-01-05T10:00")), minlength=axis.n_bins)
    assert counts.tolist() == [1, 0, 0, 0, 1]


def test_times_outside_and_missing_times_have_no_bin():
    axis = TimeAxis.between("2018-01-01", "2018-12-31")
    times = array(
        "2017-12-31T23:59:59", "2018-01-01", "2018-12-31T23:59:59", "2019-01-01", "NaT", "9999-12-31", "0001-01-01"
    )
    for bins in (axis.bins_of_local(times), axis.bins_of_utc(times)):
        assert bins.tolist() == [-1, 0, 364, -1, -1, -1, -1]
        assert bins.dtype == np.int64


@pytest.mark.parametrize("step", STEPS)
def test_no_times_at_all_have_no_bins(step):
    axis = TimeAxis.between("2018", "2018", step=step, zone=PARIS)
    assert axis.bins_of_local(np.empty(0, "datetime64[s]")).shape == (0,)
    assert axis.bins_of_utc(np.full(2, np.datetime64("NaT"), "datetime64[s]")).tolist() == [-1, -1]


def test_finer_units_are_cut_to_the_second_also_before_1970():
    axis = TimeAxis.between("1969-12-31", "1970-01-01")
    times = np.array(["1969-12-31T23:59:59.999999", "1969-12-30T23:59:59.5"], "datetime64[us]")
    assert axis.bins_of_local(times).tolist() == [0, -1]
    assert axis.bins_of_local(times.astype("datetime64[ns]")).tolist() == [0, -1]


def test_a_month_of_which_only_some_days_are_counted_says_so():
    daily = TimeAxis.between("2018-03-15", "2018-05-10", zone=PARIS)
    monthly, groups = daily.coarsen("month")
    assert monthly.labels() == ["2018-03-15/2018-03-31", "2018-04", "2018-05-01/2018-05-10"]
    assert [monthly.is_partial(bin) for bin in range(3)] == [True, False, True]
    assert monthly.start == datetime(2018, 3, 1)
    assert monthly.starts()[0] == np.datetime64("2018-03-15")
    assert np.bincount(groups).tolist() == [17, 30, 10]
    assert monthly.bins_of_local(array("2018-03-14T23:59:59", "2018-05-11")).tolist() == [-1, -1]
    assert not any(daily.is_partial(bin) for bin in range(daily.n_bins))


def test_a_day_of_which_only_some_hours_are_counted_says_so():
    hours = TimeAxis("2018-03-04T05:00", "hour", PARIS, 24)
    daily, _ = hours.coarsen("day")
    assert daily.labels() == [
        "2018-03-04T05:00+01:00/2018-03-05T00:00+01:00",
        "2018-03-05T00:00+01:00/2018-03-05T05:00+01:00",
    ]


def test_an_axis_without_end_is_coarsened_without_end():
    monthly, groups = TimeAxis.between("2018-01-01", None).coarsen("month", n_bins=40)
    assert monthly.n_bins is None
    assert np.bincount(groups).tolist() == [31, 9]


def test_an_axis_between_whole_months_is_not_partial():
    axis = TimeAxis.between("2018-03", "2018-05", step="month")
    assert axis.labels() == ["2018-03", "2018-04", "2018-05"]
    assert axis.covered_from is None
    assert axis.covered_until is None


def test_a_range_takes_days_months_and_years_alike():
    axis = TimeAxis.between("2006-01-01", "2018-12-31")
    assert axis.range() == slice(0, 4748)
    assert axis.range("2006", "2006") == slice(0, 365)
    assert axis.range("2018-12-31", None) == slice(4747, 4748)
    assert axis.range(date(2006, 1, 2), datetime(2006, 1, 2, 15)) == slice(1, 2)
    assert axis.range(axis.starts()[3], axis.starts()[5]) == slice(3, 6)


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        ("2018-03-02", "2018-03-01", "last must not be before first; .* Swap"),
        ("2017-12-31", "2018-03-01", "first must lie on the time axis, 2018-01-01 to 2018-12-31"),
        ("2018-03-01", "2019-01-01", "last must lie on the time axis, 2018-01-01 to 2018-12-31"),
        ("2018-03-01", "soon", "last must be written as"),
    ],
)
def test_a_range_that_is_not_on_the_axis_is_refused(first, last, message):
    with pytest.raises(SettingError, match=message):
        TimeAxis.between("2018-01-01", "2018-12-31").range(first, last)


def test_half_a_month_of_monthly_counts_is_refused():
    axis = TimeAxis.between("2018", "2018", step="month")
    assert axis.range("2018-03-01", "2018-04-30") == slice(2, 4)
    with pytest.raises(SettingError, match=r"first must be a whole month .* inside 2018-03\. Ask for whole bins"):
        axis.range("2018-03-02", "2018-04-30")
    with pytest.raises(SettingError, match="last must be a whole month"):
        axis.range("2018-03", "2018-04-29")


def test_a_range_without_last_needs_an_end():
    endless = TimeAxis.between("2018-01-01", None)
    assert endless.range("2030-01-01", "2030-01-02") == slice(4383, 4385)
    with pytest.raises(SettingError, match="last must be given on a time axis without end"):
        endless.range("2018-01-01")


@pytest.mark.parametrize(
    ("start", "step", "fits"),
    [
        ("2018-03-15", "month", "2018-03-01"),
        ("2018-03-04", "week", "2018-02-26"),
        ("2018-03-04T05:00", "6 hours", "2018-03-04"),
    ],
)
def test_a_start_off_the_step_is_refused_with_one_that_fits(start, step, fits):
    with pytest.raises(SettingError, match=f"start must be the start of a {step}; .* Take {fits}, or"):
        TimeAxis(start, step)


@pytest.mark.parametrize("n_bins", [0, -1, 1.5, True, "3", 10**9])
def test_a_number_of_bins_that_cannot_be_is_refused(n_bins):
    with pytest.raises(SettingError, match="n_bins must"):
        TimeAxis("2018-01-01", "day", "UTC", n_bins)


def test_a_start_with_an_offset_is_refused():
    with pytest.raises(SettingError, match="without offset"):
        TimeAxis("2018-01-01T00:00+01:00", "day")


def test_bins_of_an_axis_without_end_must_be_counted():
    endless = TimeAxis("2018-01-01", "day")
    assert endless.labels(2) == ["2018-01-01", "2018-01-02"]
    for ask in (endless.labels, endless.starts, lambda: endless.coarsen("month")):
        with pytest.raises(SettingError, match="number of bins must be given"):
            ask()
    with pytest.raises(SettingError, match="number of bins must be 7"):
        endless.with_end(7).starts(8)


@pytest.mark.parametrize("bin", [-1, 365, 1.0])
def test_a_bin_that_is_not_there_has_no_label(bin):
    with pytest.raises(SettingError, match="bin must be"):
        TimeAxis.between("2018", "2018").label(bin)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"start": "2018-01-01", "step": "day"},
        {"start": "2018-01-01", "step": "day", "zone": "UTC", "end": 3},
        {"start": None, "step": "day", "zone": "UTC"},
        {"start": "2018-01-01", "step": "day", "zone": 3},
        {"start": "2018-01-01", "step": "day", "zone": "UTC", "n_bins": "many"},
        {"start": "2018-01-01", "step": "month", "zone": "UTC", "covered_from": "2018-02-01"},
        {"start": "2018-01-01", "step": "hour", "zone": "UTC", "covered_from": "2018-01-01T00:30"},
        {"start": "2018-01-01", "step": "month", "zone": "UTC", "covered_until": "2018-01-02"},
        {"start": "2018-01-01", "step": "month", "zone": "UTC", "n_bins": 2, "covered_until": "2018-01-02"},
        "2018",
    ],
)
def test_damaged_values_are_refused(values):
    with pytest.raises(SettingError):
        TimeAxis.from_dict(values)


def test_an_hour_axis_cannot_start_with_the_second_of_two_repeated_hours():
    with pytest.raises(SettingError, match="second of two repeated hours"):
        TimeAxis.between("2018-10-28T02:00+01:00", "2018-10-28", step="hour", zone=PARIS)


def test_a_date_that_stands_for_no_date_does_not_follow_clocks_for_thousands_of_years():
    endless = TimeAxis.between("2018-01-01", None, step="hour", zone=PARIS)
    assert endless.bins_of_local(array("2018-01-01T01:00", "9998-12-31")).tolist()[0] == 1


def test_days_whose_midnight_was_skipped_are_whole():
    hours = TimeAxis.between("2018-11-03", "2018-11-04", step="hour", zone="America/Sao_Paulo")
    assert (hours.n_bins, hours.label(24)) == (47, "2018-11-04T01:00-02:00")
    assert hours.coarsen("day")[0].labels() == ["2018-11-03", "2018-11-04"]
    for first, last in (("2018-11-04", "2018-11-04"), ("2018-11-03", "2018-11-03")):
        days, groups = TimeAxis.between(first, last, step="hour", zone="America/Sao_Paulo").coarsen("day")
        assert days.labels() == [first]
        assert groups.size == (23 if first == "2018-11-04" else 24)


@pytest.mark.parametrize(
    ("first", "last", "zone"),
    [("1890", "1950", "Europe/Paris"), ("2018-01", "2018-05", "Australia/Lord_Howe")],
)
def test_hours_across_a_change_of_a_part_of_an_hour_are_refused_with_what_to_do(first, last, zone):
    with pytest.raises(SettingError, match=r"changed by a part of an hour; .* or take '2 hours' or day") as caught:
        TimeAxis.between(first, last, step="hour", zone=zone)
    assert "covered_until" not in str(caught.value)
    assert TimeAxis.between(first, last, step="2 hours", zone=zone).covered_until is None


def test_a_period_that_is_counted_in_part_is_refused_with_what_is_counted_of_it():
    axis = TimeAxis.between("2025-03-01", "2025-04-15")
    for first, last in (("2025-04", "2025-04"), ("2025-04-01", "2025-04")):
        with pytest.raises(SettingError, match=r"got last=2025-04. Of that, 2025-04-01 to 2025-04-15 is counted: ask"):
            axis.range(first, last)
    with pytest.raises(SettingError, match=r"got first=2025. Of that, 2025-03-01 to 2025-04-15 is counted"):
        axis.range("2025", "2025")
    with pytest.raises(SettingError, match=r"got first=2025-05. Ask for a time inside it"):
        axis.range("2025-05", "2025-05")
