"""The entries that touched the same days, and how the windows of persons overlap them.

A data set is known by its declared name, and by the other names that its owner declared to be of the same events.
Public statements follow these names alone: whether two data sets have equal content is exact data. Equal content under
another name is found too, by the digests of days. It is told to whoever spends, who has to say whether the two names
are of the same events before anything is spent. A release of a whole data set for ever (a continual counter) has no
days of its own and touches every day of its names.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tacit.errors import Remedy, SettingError, UndeclaredCopy
from tacit.privacy.ledger.entries import NO_REPORT, Entry, now
from tacit.privacy.questions import LONGER, PERSON_DAY
from tacit.privacy.unit import WHOLE, Overlap, Window, largest_overlap, overlaps, window_of

EVERY_DAY: Final = ""  # stands for the days to come in what a release for ever touches
OTHER_CLOCKS: Final[Entry] = (True, 0)
"""Stands among entries whose days are those of several time zones: a person's day is then none of them."""
NEW: Final[Entry] = (True, -1)
"""Stands for an entry that is about to be made."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Entries that count together, with the names they went by and the days of which that was asked.

    They touch the same day; or, where the ``question`` is about a person in more than a day, the same window. With each
    stands how its own windows lie to that day or window; ``None`` if there is no largest number of them.
    """

    entries: frozenset[tuple[Entry, Overlap | None]]
    names: frozenset[str]
    days: frozenset[str]
    question: str = PERSON_DAY

    @property
    def is_of_days(self) -> bool:
        """Whether the entries touch the same day, so that it is about single events too."""
        return self.question == PERSON_DAY

    @property
    def n_days(self) -> int:
        return len(self.days)

    @property
    def is_known(self) -> bool:
        """Whether something was made of events of these days."""
        return any(number > 0 for (_, number), _ in self.entries)

    @property
    def is_released(self) -> bool:
        """Whether a curator's release is among the entries."""
        return any(is_spend for (is_spend, _), _ in self.entries)

    @property
    def of_reports(self) -> Touched:
        """The same with runs of reports alone."""
        return replace(self, entries=frozenset(one for one in self.entries if not one[0][0]))

    def without(self, entry: Entry, *, and_silent: bool = False) -> Touched:
        """Return the same without an entry, and without what made nothing of events of these days."""
        kept = (one for one in self.entries if one[0] != entry and (one[0][1] > 0 or not and_silent))
        return replace(self, entries=frozenset(kept))


@dataclass(frozen=True, slots=True)
class Bounds:
    """The windows in which entries bound a person, those of them that go on for ever, and the questions to ask."""

    windows: Mapping[Entry, Window]
    forever: frozenset[Entry]
    asked: tuple[str, ...]


def touched(
    connection: sqlite3.Connection,
    names: frozenset[str],
    days: Iterable[str] | None,
    bounds: Bounds,
    *,
    zone: str = "",
    new: Iterable[str] = (),
) -> list[Touched]:
    """Return what was done before to these days under the declared names; days with the same past are given once.

    ``None`` stands for every day that the data set has and will have; ``new`` are the days of an entry that is about to
    be made. Days of several time zones overlap, so that then all entries count on every day.
    """
    # a window reaches beyond the days that are asked about, and so do the entries on its other days
    rows = _entries_on(connection, names, None if bounds.asked else days)
    for day in new:
        rows[day].add(NEW)
    wanted = (*rows, EVERY_DAY) if days is None else tuple(days)
    questions = (PERSON_DAY, *bounds.asked)
    if len({*zones_of(connection, names), zone} - {""}) > 1:
        rows = _entries_on(connection, names, None)
        every = {*bounds.forever, OTHER_CLOCKS}.union(*rows.values(), {NEW} if new else ())
        entries: frozenset[tuple[Entry, Overlap | None]] = frozenset((entry, WHOLE) for entry in every)
        return [Touched(entries, names, frozenset(wanted), question) for question in questions]
    return [past for question in questions for past in _in_windows(rows, names, wanted, bounds, question)]


def _in_windows(
    rows: Mapping[str, set[Entry]], names: frozenset[str], wanted: Iterable[str], bounds: Bounds, question: str
) -> list[Touched]:
    """Return the entries of each window of a question that one of the wanted days lies in."""
    window = LONGER.get(question, "day")
    others = {entry: own for entry, own in bounds.windows.items() if own != window}
    endless = {entry: largest_overlap(others[entry], window) for entry in bounds.forever & others.keys()}
    lie = _overlaps(rows, {entry: own for entry, own in others.items() if entry not in endless}, window)
    asked: dict[str, set[str]] = defaultdict(set)
    for day in wanted:
        asked[window_of(day, window)].add(day)
    found: Mapping[str, set[Entry]] = rows if window == "day" else _by_window(rows, window)
    alike: dict[tuple[frozenset[Entry], Lies], set[str]] = defaultdict(set)
    for name, own_days in asked.items():
        entries = bounds.forever.union(found.get(name, ()))
        # most entries have windows like those that are asked about, or none
        lies = ((entry, lie.get((entry, name), endless.get(entry))) for entry in entries & others.keys())
        alike[entries, frozenset(lies) if others else frozenset()] |= own_days
    return [
        Touched(frozenset((dict.fromkeys(entries, WHOLE) | dict(lies)).items()), names, frozenset(own_days), question)
        for (entries, lies), own_days in alike.items()
    ]


Lies = frozenset[tuple[Entry, Overlap | None]]
"""Entries, each with how its windows overlap a window that is asked about."""


def _by_window(rows: Mapping[str, set[Entry]], window: Window) -> dict[str, set[Entry]]:
    found: dict[str, set[Entry]] = defaultdict(set)
    for day, entries in rows.items():
        found[window_of(day, window)] |= entries
    return found


def _overlaps(
    rows: Mapping[str, set[Entry]], windows: Mapping[Entry, Window], asked: Window
) -> dict[tuple[Entry, str], Overlap]:
    """Return how the windows of entries lie to each window that is asked about."""
    if not windows:
        return {}
    days: dict[Entry, list[str]] = defaultdict(list)
    for day, entries in rows.items():
        for entry in entries & windows.keys():
            days[entry].append(day)
    return {
        (entry, name): overlap
        for entry, own_days in days.items()
        for name, overlap in overlaps(own_days, windows[entry], asked).items()
    }


def _entries_on(
    connection: sqlite3.Connection, names: frozenset[str], days: Iterable[str] | None
) -> dict[str, set[Entry]]:
    rows: dict[str, set[Entry]] = defaultdict(set)
    for day, is_spend, number, name, digest in _rows_on(connection, days):
        if name in names:
            rows[day].add((bool(is_spend), -number if digest == NO_REPORT else number))
    return rows


def zones_of(connection: sqlite3.Connection, names: Iterable[str]) -> set[str]:
    """Return the time zones of all entries under these names; empty for entries that tell none."""
    wanted = frozenset(names)
    rows = connection.execute("SELECT data_set, zone FROM randomization UNION SELECT data_set, zone FROM spend")
    return {zone for name, zone in rows if name in wanted}


def check_zone(connection: sqlite3.Connection, data_set: str, zone: str) -> None:
    """Refuse days of another time zone than before: an event near midnight would lie on two days that never add up."""
    before = sorted(zones_of(connection, [data_set]) - {zone, ""})
    if zone and before:
        raise SettingError(
            f"zone must be that of what was made of {data_set} before, {before[0]}; got zone={zone}. Days of two "
            "zones overlap, and what was spent on them could not be added up. Nothing was spent. Plan with that zone."
        )


def declared_names(connection: sqlite3.Connection, data_set: str) -> frozenset[str]:
    """Return all names that were declared to be of the same events as this one, itself included."""
    pairs = [pair for pair, is_same in declarations(connection).items() if is_same]
    names, n_known = {data_set}, 0
    while n_known < len(names):
        n_known = len(names)
        for pair in pairs:
            if pair & names:
                names |= pair
    return frozenset(names)


def declare_names(connection: sqlite3.Connection, data_set: str, other: str, *, is_same: bool) -> None:
    """Write down whether two names are of the same events; that they are cannot be taken back."""
    if not is_same and other in declared_names(connection, data_set):
        raise SettingError(
            f"{data_set} and {other} were declared the same events, and releases have stated their sum. That "
            "cannot be taken back."
        )
    connection.execute(
        "INSERT INTO declaration (at, data_set, other, is_same) VALUES (?, ?, ?, ?)",
        (now(), data_set, other, is_same),
    )


def declarations(connection: sqlite3.Connection) -> dict[frozenset[str], bool]:
    """Return for each pair of names whether they were declared to be of the same events; the last word counts."""
    rows = connection.execute("SELECT data_set, other, is_same FROM declaration ORDER BY id")
    return {frozenset((first, second)): bool(is_same) for first, second, is_same in rows}


def check_declared(connection: sqlite3.Connection, data_set: str, days: Mapping[str, bytes] | None) -> None:
    """Refuse days whose very events are known under a name of which nobody said whether it is of the same events.

    Whether there is such a name depends on exact data. Only whoever spends sees this refusal, before anything is spent.
    """
    names = declared_names(connection, data_set)
    said = declarations(connection)
    shared: dict[str, set[str]] = defaultdict(set)
    for day, _, _, name, digest in _rows_on(connection, days) if days is not None else ():
        is_said = name in names or any(frozenset((name, own)) in said for own in names)
        if not is_said and digest and days is not None and digest == days[day]:
            shared[name].add(day)
    if shared:
        name, found = max(shared.items(), key=lambda item: (len(item[1]), item[0]))
        raise UndeclaredCopy(
            f"on {len(found)} of {len(days or ())} days these are the very events that are known as {name}. Nothing "
            "was spent.",
            remedy=Remedy.DECLARE_COPY,
            data_set=data_set,
            other=name,
        )


_ON_DAYS: Final = """
SELECT d.day, 0, r.id, r.data_set, d.digest FROM day AS d JOIN randomization AS r ON r.id = d.randomization {local}
UNION ALL
SELECT d.day, 1, s.id, s.data_set, d.digest FROM spend_day AS d JOIN spend AS s ON s.id = d.spend {central}
"""
_WANTED: Final = "JOIN wanted AS w ON w.day = d.day"


def _rows_on(connection: sqlite3.Connection, days: Iterable[str] | None) -> list[tuple[str, int, int, str, bytes]]:
    """Return day, whether it is a spend, number, name and digest of all entries on these days; ``None`` for all."""
    if days is None:
        return connection.execute(_ON_DAYS.format(local="", central="")).fetchall()
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS wanted (day TEXT PRIMARY KEY)")
    connection.execute("DELETE FROM wanted")
    connection.executemany("INSERT INTO wanted VALUES (?)", ((day,) for day in days))
    return connection.execute(_ON_DAYS.format(local=_WANTED, central=_WANTED)).fetchall()
