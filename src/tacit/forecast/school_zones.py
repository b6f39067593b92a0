"""Which of the three zones of French school holidays a place belongs to, and since when."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from typing import Final

from tacit.domain.names import fold_name
from tacit.errors import SettingError

ZONES: Final = ("A", "B", "C")
_REFORM: Final = dt.date(2015, 8, 31)  # zones were redrawn for the school year 2015–2016
_SPAN: Final = re.compile(r"([ABC])(?: until (\d{4}-\d{2}-\d{2}))?")

# the zones set on 24 July 1995, and those of today
_BEFORE: Final = {
    "A": "Caen, Clermont-Ferrand, Grenoble, Lyon, Montpellier, Nancy-Metz, Nantes, Rennes, Toulouse",
    "B": (
        "Aix-Marseille, Amiens, Besançon, Dijon, Lille, Limoges, Nice, Orléans-Tours, Poitiers, Reims, Rouen, "
        "Strasbourg"
    ),
    "C": "Bordeaux, Créteil, Paris, Versailles",
}
_SINCE: Final = {
    "A": "Besançon, Bordeaux, Clermont-Ferrand, Dijon, Grenoble, Limoges, Lyon, Poitiers",
    "B": (
        "Aix-Marseille, Amiens, Caen, Lille, Nancy-Metz, Nantes, Nice, Normandie, Orléans-Tours, Reims, Rennes, Rouen, "
        "Strasbourg"
    ),
    "C": "Créteil, Montpellier, Paris, Toulouse, Versailles",
}
TABLE_BEGINS: Final = dt.date(1995, 9, 1)


@dataclass(frozen=True, slots=True)
class ZoneSpan:
    """A zone, and the last day on which the place belonged to it (None: it still does)."""

    zone: str
    until: dt.date | None = None


def zones_of_academy(academy: str) -> tuple[ZoneSpan, ...]:
    """The zones of a French académie, from 1995 on.

    >>> [(span.zone, str(span.until)) for span in zones_of_academy("Besançon")]
    [('B', '2015-08-31'), ('A', 'None')]
    >>> zones_of_academy("lyon")
    (ZoneSpan(zone='A', until=None),)
    """
    wanted = fold_name(academy)
    before, since = _zone_of(wanted, _BEFORE), _zone_of(wanted, _SINCE)
    if since is None:
        known = sorted(name for names in _SINCE.values() for name in names.split(", "))
        raise SettingError(
            f"academy must be one of {', '.join(known)}; got academy={academy}. "
            'Or give the zones themselves, such as zones="B until 2015-08-31, A".'
        )
    if before is None or before == since:
        return (ZoneSpan(since),)
    return ZoneSpan(before, _REFORM), ZoneSpan(since)


def parse_zones(text: str) -> tuple[ZoneSpan, ...]:
    """Read zones in the order of time, each but the last with its last day.

    >>> parse_zones("B until 2015-08-31, A")
    (ZoneSpan(zone='B', until=datetime.date(2015, 8, 31)), ZoneSpan(zone='A', until=None))
    """
    spans = []
    for part in text.split(","):
        found = _SPAN.fullmatch(part.strip())
        if found is None:
            raise _zones_error(text)
        try:
            spans.append(ZoneSpan(found[1], dt.date.fromisoformat(found[2]) if found[2] else None))
        except ValueError:
            raise _zones_error(text) from None
    days = [span.until for span in spans[:-1]]
    if spans[-1].until is not None or None in days or sorted(set(days), key=str) != days:
        raise _zones_error(text)
    return tuple(spans)


def _zone_of(wanted: str, table: dict[str, str]) -> str | None:
    for zone, names in table.items():
        if wanted in [fold_name(name) for name in names.split(", ")]:
            return zone
    return None


def _zones_error(text: str) -> SettingError:
    return SettingError(
        "zones must be A, B or C in the order of time, each but the last with its last day, such as "
        f'"B until 2015-08-31, A"; got zones={text}.'
    )
