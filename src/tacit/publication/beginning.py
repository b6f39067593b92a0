"""From what is said when a publication begins to its first plan."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from tacit._base.extras import require
from tacit._base.validation import check_one_of, kind_of
from tacit.domain import Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis
from tacit.domain.step import When, parse_period
from tacit.errors import Remedy, SettingError
from tacit.events import SourceDescription
from tacit.events.source_description import description_beside, path_beside
from tacit.events.sources import SqlQuery, first_bytes, format_of
from tacit.mechanisms.planner import CURATOR, NOBODY, Question, Target, Wanted, least_epsilon
from tacit.plan import Plan
from tacit.privacy.unit import Unit

FRAME: Final = "frame"
PARQUET: Final = "parquet"
_INDEX: Final = "__index_level_"  # how a column begins that pandas makes of the numbers of rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What is said when a publication begins, and follows from its plan ever after."""

    places: Any
    kinds: Any
    first: str
    step: str
    zone: str | None
    trust: str | None
    epsilon: float | None
    target: str | None
    expected_events: float | None
    delta: float | None
    unit: Unit
    private: Sequence[str] | None

    def plan(self, source: SourceDescription, last: str, name: str) -> Plan:
        """Return the plan of the first stretch; one for devices has no end, so that later stretches share it."""
        if self.zone is None:
            raise SettingError("zone must be the time zone of the events' clocks, such as Europe/Paris. Name it.")
        if self.trust is None:
            raise SettingError(
                "trust must be curator (who runs this may know the exact counts, and adds noise) or nobody (every "
                "event is randomized before it is counted). Choose one."
            )
        check_one_of((CURATOR, NOBODY), trust=self.trust)
        time = TimeAxis.between(self.first, last, step=self.step, zone=self.zone)
        domain = Domain(time, places_of(self.places, source), kinds_of(self.kinds))
        if self.trust == CURATOR:
            wanted = Wanted(domain, CURATOR, domain.axes, self.delta, None, self.unit)
            # a target is for single counts, so the mechanism is the one that reaches it
            asked = None if self.target is None else [Question("points")]
            return wanted.plan(self._epsilon(wanted), questions=asked, name=name)[0]
        if self.delta is not None:
            raise SettingError("delta belongs to a curator's Gaussian noise; devices need none. Leave it out.")
        if self.unit != Unit():
            raise SettingError(
                "devices hide single events; only a curator can protect a person. Protect events, or trust one."
            )
        hidden = tuple(self.private) if self.private is not None else domain.axes[1:]
        if domain.n_columns == 1 and self.private is None:
            hidden = ("time",)  # there is nothing else to hide
        wanted = Wanted(domain, NOBODY, hidden)
        epsilon = self._epsilon(wanted)
        endless = domain if "time" in hidden else replace(domain, time=time.without_end())
        return replace(wanted, domain=endless).plan(epsilon, name=name)[0]

    def _epsilon(self, wanted: Wanted) -> float:
        if (self.epsilon is None) == (self.target is None):
            raise SettingError("epsilon must be given, or a target for the error of counts, and not both.")
        if self.target is None:
            assert self.epsilon is not None
            return self.epsilon
        target = Target.parse(self.target)
        if self.expected_events is None and (target.is_relative or wanted.trust == NOBODY):
            raise SettingError(
                "how much an error matters depends on what is counted: say how many events to expect. The number is "
                "public: do not count them for it.",
                remedy=Remedy.EXPECT_EVENTS,
            )
        found = least_epsilon(wanted.situation(1.0, self.expected_events or 1.0), [Question("points")], target)
        if found is None:
            raise SettingError(f"no epsilon gives counts that err by at most {target}. Ask for a larger error.")
        return found


def day_of(when: When | None, setting: str) -> str:
    """The first or the last day of what was written: of a month, a year, a time."""
    if when is None:
        raise SettingError(
            f"{setting} must be the {setting} day that is counted, which becomes public. The events must not tell it: "
            "name it, such as 2018-12-31."
        )
    period = parse_period(when, setting=setting)
    if setting == "first" or period.end is None:
        return period.start.date().isoformat()
    return (period.end - timedelta(days=1)).date().isoformat()


def check_stretch(first: str | None, last: str | None, step: str) -> None:
    """Refuse days that end before they begin, or that cut a period: the next stretch could not go on with it.

    A day that is not known yet is None.
    """
    if first is not None and last is not None and last < first:
        raise SettingError(f"last must not be before first; got first={first}, last={last}. Name a later last day.")
    axis = TimeAxis.between(first or last or "", last or first, step=step)
    is_cut = (first is not None and axis.covered_from is not None, last is not None and axis.covered_until is not None)
    if any(is_cut):
        got = ", ".join(f"{name}={day}" for name, day in (("first", first), ("last", last)) if day is not None)
        raise SettingError(f"first and last must begin and end a {step}; got {got}. Choose others.")


def described_as(
    events: object,
    named: Mapping[str, str | None],
    date_format: str | None,
    description: SourceDescription | None,
    zone: str | None,
) -> SourceDescription:
    """How the events are written: as described, or as the arguments say of a frame, a Parquet file or a query.

    A description that lies beside a file is read where none is given; arguments that contradict one are refused.
    """
    path = Path(events) if isinstance(events, str | Path) else None
    if path is not None:
        first_bytes(path)  # a file that is not there is refused before anything is asked about it
        description = description or description_beside(path)
    if description is not None:
        return description.agreeing({**named, "date_format": date_format, "zone": zone}, str(path or "the events"))
    if path is not None and format_of(path) != PARQUET:
        raise SettingError(
            f"{path}: text needs a description of how it is written, which somebody who knows the source confirmed. "
            f"One beside it, {path_beside(path).name}, would be read; there is none.",
            remedy=Remedy.DESCRIBE_SOURCE,
        )
    if named["time"] is None:
        raise SettingError("time must be the name of the column with the date or time of an event. Name it.")
    format = "sql" if isinstance(events, SqlQuery) else PARQUET if path is not None else FRAME
    roles: dict[str, Any] = {role: name for role, name in named.items() if name is not None}
    return SourceDescription(format, **roles, date_format=date_format, zone=zone)


def places_of(given: Any, source: SourceDescription) -> PlaceAxis:
    located = source.place is not None or source.columns.has_coordinates
    if given is None:
        if located:
            raise SettingError(
                "places must be listed where a column of places is named: the list is published, and the events must "
                "not decide it. Give names, or a table.",
                remedy=Remedy.LIST_PLACES,
            )
        return PlaceAxis.everything()
    if isinstance(given, PlaceAxis):
        return given
    if isinstance(given, str | Path):
        given = Gazetteer.read(given) if Path(given).is_file() else Gazetteer.builtin(str(given))
    elif is_table(given):
        given = _table_of(given, "places")
    if isinstance(given, Gazetteer):
        return PlaceAxis.from_gazetteer(given)
    return PlaceAxis.of(_names_of(given, "places"))


def kinds_of(given: Any) -> KindAxis | None:
    if given is None or isinstance(given, KindAxis):
        return given
    if isinstance(given, str | Path):
        of = "kinds"
        given = Gazetteer.read(given, of=of) if Path(given).is_file() else Gazetteer.builtin(str(given), of)
    elif is_table(given):
        given = _table_of(given, "kinds")
    if isinstance(given, Gazetteer):
        return KindAxis.from_gazetteer(given, given.levels[0])
    return KindAxis.of(_names_of(given, "kinds"))


def is_table(given: object) -> bool:
    """Return whether something is a frame of pandas, polars or Arrow, by what these have in common."""
    return hasattr(given, "__arrow_c_stream__") and hasattr(given, "columns")


def _table_of(frame: Any, of: str) -> Gazetteer:
    """Read a frame as the file of a table is read: columns are found by their names."""
    table = require("pyarrow", extra="events").table(frame)
    columns = {name: table[name].to_pylist() for name in table.column_names if not name.startswith(_INDEX)}
    written = io.StringIO()
    csv.writer(written).writerows([columns.keys(), *zip(*columns.values(), strict=True)])
    return Gazetteer.from_text(written.getvalue(), name=of, of=of)


def _names_of(given: Any, of: str) -> list[str]:
    """Return the names of a list; what is no list of names is refused."""
    is_listed = isinstance(given, Iterable) and not isinstance(given, Mapping | bytes)
    names = [name.as_py() if hasattr(name, "as_py") else name for name in given] if is_listed else []
    odd = [name for name in names if not isinstance(name, str | int)]
    if names and not odd:
        return list(map(str, names))
    got = f"{of}={given}" if isinstance(given, int | float) else kind_of(given)
    if is_listed:
        got += f" with {kind_of(odd[0])} in it" if odd else " without a name"
    raise SettingError(
        f"{of} must be a list of names, a table (a frame, a CSV file, a Gazetteer) or an axis; got {got}. "
        "Give one of these."
    )
