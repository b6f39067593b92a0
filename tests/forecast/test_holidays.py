"""Holidays as covariates."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

from tacit.domain import TimeAxis
from tacit.errors import SettingError
from tacit.forecast.holidays import TABLE_BEGINS, calendar_covariates, parse_zones, zones_of_academy


def _on(name: str, day: str, **settings: object) -> float:
    axis = TimeAxis.between(day, day)
    return float(calendar_covariates(axis, horizon=0, **settings).columns[name][0])  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_zone_of_a_place_changes_with_the_reform_of_2015() -> None:
    # in 2015 zone A was closed from 7 February and zone B from 21 February; in 2016 they were 13 and 6 February
    assert _on("school holiday", "2015-02-10", academy="Besançon") == 0.0  # a holiday in zone A, not yet in B
    assert _on("school holiday", "2015-02-24", academy="Besançon") == 1.0
    assert _on("school holiday", "2016-02-08", academy="Besançon") == 0.0  # a holiday in zone B, no longer ours
    assert _on("school holiday", "2016-02-15", academy="Besançon") == 1.0


def test_zones_of_the_users_own_are_those_of_the_academy() -> None:
    axis = TimeAxis.between("2014-01-01", "2017-12-31")
    named = calendar_covariates(axis, academy="besancon", horizon=0)
    given = calendar_covariates(axis, zones="B until 2015-08-31, A", horizon=0)
    np.testing.assert_array_equal(named.columns["school holiday"], given.columns["school holiday"])


def test_other_countries_have_their_own_holidays_by_subdivision() -> None:
    assert _on("public holiday", "2018-10-03", country="DE") == 1.0
    assert _on("public holiday", "2018-01-06", country="DE") == 0.0
    assert _on("public holiday", "2018-01-06", country="DE", subdivision="BY") == 1.0


def test_school_holidays_are_those_of_france_alone() -> None:
    axis = TimeAxis.between("2018-05-01", "2018-05-31")
    for asked in ({"academy": "Besançon"}, {"zones": "A"}):
        with pytest.raises(SettingError, match="country must be FR where school holidays are asked for"):
            calendar_covariates(axis, country="DE", **asked)


def test_a_longer_bin_has_the_share_of_its_days() -> None:
    months = TimeAxis.between("2018-05", "2018-06", step="month")
    found = calendar_covariates(months, horizon=0).columns["public holiday"]
    np.testing.assert_allclose(found, [4 / 31, 0.0])


def test_every_hour_has_what_its_day_has() -> None:
    hours = TimeAxis.between("2018-03-24", "2018-03-26", step="hour", zone="Europe/Paris")
    easter = TimeAxis.between("2018-04-01", "2018-04-02", step="hour", zone="Europe/Paris")
    assert calendar_covariates(hours, horizon=0).columns["public holiday"].sum() == 0.0
    assert calendar_covariates(easter, horizon=0).columns["public holiday"].sum() == 24.0


def test_years_without_a_calendar_are_unknown_and_a_note_says_so() -> None:
    axis = TimeAxis.between("1994-12-01", "1996-01-31")
    known = calendar_covariates(axis, academy="Lyon", horizon=0)
    begins = (np.datetime64(TABLE_BEGINS) - np.datetime64("1994-12-01")).astype(int)
    assert np.isnan(known.columns["school holiday"][:begins]).all()
    assert np.isfinite(known.columns["school holiday"][begins:]).all()
    assert len(known.notes) == 1
    assert "1995-09-01" in known.notes[0]


def test_the_horizon_is_added_to_the_axis() -> None:
    known = calendar_covariates(TimeAxis.between("2018-12-01", "2018-12-31"), horizon=1)
    assert known.columns["public holiday"].tolist()[-1] == 1.0
    assert len(known.columns["public holiday"]) == 32


@pytest.mark.parametrize(
    "zones", ["D", "B until 2015-08-31", "A, B", "B until 2015-13-01, A", "B until 2015-01-01, C until 2014-01-01, A"]
)
def test_zones_that_make_no_sense_are_refused(zones: str) -> None:
    with pytest.raises(SettingError, match="zones must be A, B or C"):
        parse_zones(zones)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(SettingError, match="academy must be one of Aix-Marseille"):
        zones_of_academy("Atlantis")
    with pytest.raises(SettingError, match="country must be a code"):
        _on("public holiday", "2018-01-01", country="XX")
    with pytest.raises(SettingError, match="country must be a code"):
        _on("public holiday", "2018-01-01", country="DE", subdivision="Atlantis")
    with pytest.raises(SettingError, match="not both"):
        _on("public holiday", "2018-01-01", academy="Lyon", zones="A")


def test_every_academy_has_a_zone_today() -> None:
    for academy in ("Besançon", "Rouen", "Caen", "Bordeaux", "Nancy-Metz"):
        spans = zones_of_academy(academy)
        assert spans[-1].until is None
        assert all(span.until == dt.date(2015, 8, 31) for span in spans[:-1])
