"""Public and school holidays as covariates: known for years ahead, whatever the forecast.

French school holidays differ between three zones, and places have changed theirs.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray, Times
from tacit._base.extras import require
from tacit._base.languages import stored
from tacit._base.validation import check_at_least
from tacit.domain import TimeAxis
from tacit.domain.names import fold_name
from tacit.errors import SettingError
from tacit.statespace.covariates import Covariates, weekdays

_REFORM: Final = dt.date(2015, 8, 31)  # zones were redrawn for the school year 2015–2016
_SPAN: Final = re.compile(r"([ABC])(?: until (\d{4}-\d{2}-\d{2}))?")

# the zone set on 24 July 1995 ("-" for none), and that of today
_ZONES: Final = {
    "AA": "Clermont-Ferrand, Grenoble, Lyon",
    "BA": "Besançon, Dijon, Limoges, Poitiers",
    "CA": "Bordeaux",
    "AB": "Caen, Nancy-Metz, Nantes, Rennes",
    "BB": "Aix-Marseille, Amiens, Lille, Nice, Orléans-Tours, Reims, Rouen, Strasbourg",
    "-B": "Normandie",
    "AC": "Montpellier, Toulouse",
    "CC": "Créteil, Paris, Versailles",
}
TABLE_BEGINS: Final = dt.date(1995, 9, 1)


def calendar_covariates(
    time: TimeAxis,
    *,
    country: str = "FR",
    subdivision: str | None = None,
    academy: str | None = None,
    zones: str | None = None,
    horizon: int = 366,
) -> Covariates:
    """Return holidays on the bins of a time axis and ``horizon`` more, each the share of the bin's days that have them.

    There are public holidays, the days before and after them, bridge days (a working day between a holiday and another
    day off) and, for France, school holidays: those of an ``academy``, whose zone may have changed over the years, or
    of ``zones`` such as "B until 2015-08-31, A". Days beyond what the calendars hold are NaN, and notes say so.

    >>> known = calendar_covariates(TimeAxis.between("2018-05-01", "2018-05-31"), academy="Besançon", horizon=1)
    >>> known.columns["public holiday"][[0, 7, 9, 20]], known.columns["bridge day"].nonzero()[0]
    (array([1., 1., 1., 1.]), array([ 6,  8, 10]))
    """
    check_at_least(0, horizon=horizon)
    if academy is not None and zones is not None:
        raise SettingError(f"academy or zones must be given, not both; got academy={academy}, zones={zones}.")
    if country.upper() != "FR" and (academy is not None or zones is not None):
        raise SettingError(
            f"country must be FR where school holidays are asked for; got country={country}. Leave academy and zones "
            "out, and give those of another country as a table."
        )
    n_bins = (time.n_bins or 0) + horizon
    check_at_least(1, n_bins=n_bins)
    starts = time.without_end().starts(n_bins + 1)
    # a day more at either end, for the days before and after
    days = np.arange(starts[0].astype("datetime64[D]") - 4, starts[-1].astype("datetime64[D]") + 5)
    columns, notes = _public(days, country, subdivision)
    if academy is not None or zones is not None:
        spans = zones_of_academy(academy) if academy is not None else parse_zones(zones or "")
        columns["school holiday"], school_notes = _school(days, spans, begins=TABLE_BEGINS if academy else None)
        notes += school_notes
    binned = {name: _binned(column, days, starts) for name, column in columns.items()}
    return Covariates(time.with_end(n_bins), binned, tuple(notes))


def public_holidays(time: TimeAxis, *, country: str = "FR", subdivision: str | None = None) -> dict[str, str]:
    """Return the names of the public holidays on the days of a time axis, by ISO date.

    >>> public_holidays(TimeAxis.between("2018-12-20", "2019-01-10"))
    {'2018-12-25': 'Christmas Day', '2019-01-01': "New Year's Day"}
    """
    starts = time.without_end().starts((time.n_bins or 1) + 1)
    first, last = (at.astype("datetime64[D]") for at in (starts[0], starts[-1] - np.timedelta64(1, "s")))
    days = np.arange(first, last + 1)
    found = _holidays(country, subdivision, days.astype("datetime64[Y]").astype(np.int64) + 1970)
    return {str(day): str(found[day]) for day in days.tolist() if day in found}


def _public(days: Times, country: str, subdivision: str | None) -> tuple[dict[str, FloatArray], list[str]]:
    years = days.astype("datetime64[Y]").astype(np.int64) + 1970
    found = _holidays(country, subdivision, years)
    holiday = np.array([day in found for day in days.tolist()], bool)
    is_off = holiday | (weekdays(days) >= 5)
    before, after = np.roll(holiday, -1), np.roll(holiday, 1)
    columns = {
        "public holiday": holiday,
        "day before a holiday": before & ~holiday,
        "day after a holiday": after & ~holiday,
        "bridge day": ~is_off & np.roll(is_off, -1) & np.roll(is_off, 1) & (before | after),
    }
    is_known = (years >= found.start_year) & (years <= found.end_year)
    note = stored("public holidays of %(country)s are known to %(year)s only", country=country, year=found.end_year)
    known = {name: np.where(is_known, column, np.nan) for name, column in columns.items()}
    return known, [] if is_known.all() else [note]


def _holidays(country: str, subdivision: str | None, years: IntArray) -> Any:
    library = require("holidays", extra="forecast")
    span = range(int(years.min()), int(years.max()) + 1)
    try:
        plain = library.country_holidays(country.upper(), subdiv=subdivision, years=span)
        language = "en_US" if "en_US" in plain.supported_languages else plain.default_language
        return library.country_holidays(country.upper(), subdiv=subdivision, years=span, language=language)
    except NotImplementedError:
        raise SettingError(
            "country must be a code of two letters whose public holidays are known, and subdivision one of its own; "
            f"got country={country}, subdivision={subdivision}. Give for example country=FR, or DE and BY."
        ) from None


@cache
def _school_table() -> Any:
    """Return the school holidays of every French zone by day; reading them takes half a second."""
    return require("vacances_scolaires_france", extra="forecast").SchoolHolidayDates().data


def _school(days: Times, spans: Sequence[ZoneSpan], *, begins: dt.date | None) -> tuple[FloatArray, list[str]]:
    """Return whether schools are closed on each day, in the zone that the place belonged to then."""
    table = _school_table()
    first, last = max(min(table), begins or dt.date.min), max(table)
    column = np.full(len(days), np.nan)
    for number, day in enumerate(days.tolist()):
        if first <= day <= last:
            zone = next(span.zone for span in spans if span.until is None or day <= span.until)
            column[number] = day in table and table[day][f"vacances_zone_{zone.lower()}"]
    note = stored("school holidays are known from %(first)s to %(last)s only", first=first, last=last)
    return column, [note] if np.isnan(column).any() else []


def _binned(column: FloatArray, days: Times, starts: Times) -> FloatArray:
    """Return the mean over the days that each bin touches; NaN if one is unknown."""
    first = (starts[:-1].astype("datetime64[D]") - days[0]).astype(np.int64)
    # an end at midnight belongs to the day before
    stop = ((starts[1:] - np.timedelta64(1, "s")).astype("datetime64[D]") - days[0]).astype(np.int64) + 1
    sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(column))])
    unknown = np.concatenate([[0], np.cumsum(np.isnan(column))])
    means = (sums[stop] - sums[first]) / (stop - first)
    return np.where(unknown[stop] > unknown[first], np.nan, means)


@dataclass(frozen=True, slots=True)
class ZoneSpan:
    """A zone, and the last day on which the place belonged to it (None: it still does)."""

    zone: str
    until: dt.date | None = None


def zones_of_academy(academy: str) -> tuple[ZoneSpan, ...]:
    """Return the zones of a French académie, from 1995 on.

    >>> [(span.zone, str(span.until)) for span in zones_of_academy("Besançon")]
    [('B', '2015-08-31'), ('A', 'None')]
    >>> zones_of_academy("lyon")
    (ZoneSpan(zone='A', until=None),)
    """
    wanted = fold_name(academy)
    zones = next((zones for zones, names in _ZONES.items() if wanted in map(fold_name, names.split(", "))), None)
    if zones is None:
        known = sorted(name for names in _ZONES.values() for name in names.split(", "))
        raise SettingError(
            f"academy must be one of {', '.join(known)}; got academy={academy}. "
            'Or give the zones themselves, such as zones="B until 2015-08-31, A".'
        )
    before, since = tuple(zones)
    return (ZoneSpan(since),) if before in ("-", since) else (ZoneSpan(before, _REFORM), ZoneSpan(since))


def parse_zones(text: str) -> tuple[ZoneSpan, ...]:
    """Return zones in the order of time, each but the last with its last day.

    >>> parse_zones("B until 2015-08-31, A")
    (ZoneSpan(zone='B', until=datetime.date(2015, 8, 31)), ZoneSpan(zone='A', until=None))
    """
    parts = [part.strip() for part in text.split(",")]
    found = [span for part in parts if (span := _SPAN.fullmatch(part))]
    with suppress(ValueError):  # a day that is in no calendar
        spans = tuple(ZoneSpan(span[1], dt.date.fromisoformat(span[2]) if span[2] else None) for span in found)
        days = [span.until for span in spans]
        is_ordered = None not in days[:-1] and sorted(set(days[:-1]), key=str) == days[:-1]
        if len(spans) == len(parts) and days[-1] is None and is_ordered:
            return spans
    raise SettingError(
        "zones must be A, B or C in the order of time, each but the last with its last day, such as "
        f'"B until 2015-08-31, A"; got zones={text}.'
    )
