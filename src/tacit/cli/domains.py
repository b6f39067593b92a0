"""Plans, tables of places, kinds and domains, as the options name them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tacit import mechanisms
from tacit._base.reading import reading
from tacit.cli import console
from tacit.cli.options import DomainOptions
from tacit.domain import Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis
from tacit.domain.gazetteer import BUILTIN
from tacit.domain.table import KINDS
from tacit.errors import DataError, MissingColumn, PlanError, Remedy, SettingError
from tacit.plan import Plan

if TYPE_CHECKING:
    from tacit.cli.sources import Settings
    from tacit.events import SourceDescription

NO_PLACES: Final = "none"
"""What ``--places`` names where events are counted in all; a file of this name is ``./none``."""
_MOST_KINDS: Final = 40  # that are named on the screen, a few lines; twice as many nobody would read
_OWN: Final = "builtin"  # what ``--population`` names for the table of places itself


def gazetteer_of(table: str, columns: Sequence[str] | None = None) -> Gazetteer:
    """Return a table of ours by name, or the user's by path, of which columns may be named: ``town=NOM_COM``."""
    if Path(table).is_file():
        return Gazetteer.read(table, columns=places_columns(columns))
    ours = Gazetteer.builtin(table)
    if columns:
        raise SettingError("--places-column is for a table of your own. Leave it out, or name the file: --places FILE")
    return ours


def kinds_of(options: DomainOptions) -> KindAxis | None:
    """Return the kinds that are named: of a table of ours, of the user's own, or a list with commas; None for none."""
    named, level = options.kinds, options.kind_level
    if named is None:
        if level is not None or options.other:
            raise SettingError("--kind-level and --other are for counts by kind. Name the kinds: --kinds fire,flood")
        return None
    is_file = False
    with suppress(OSError):  # a long list of names is too long for the name of a file
        is_file = Path(named).is_file()
    if is_file or named in BUILTIN[KINDS]:
        table = Gazetteer.read(named, of=KINDS) if is_file else Gazetteer.builtin(named, KINDS)
        if level is not None and level not in table.levels:
            raise SettingError(f"--kind-level must be one of {', '.join(table.levels)}; got {level}. Name one of them.")
        axis = KindAxis.from_gazetteer(table, level or table.levels[0])
    elif "," in named:
        if level is not None:
            raise SettingError("--kind-level is for a table of kinds, and a list has one level. Leave it out.")
        axis = KindAxis.of([name.strip() for name in named.split(",") if name.strip()])
    else:
        raise SettingError(
            f"kinds must be a table that is built in ({', '.join(BUILTIN[KINDS])}), a CSV file, or names with commas "
            f"such as fire,flood; got kinds={named!r}, and there is no such file. Check the name and the folder; a "
            "list of one kind ends with a comma: fire,"
        )
    return axis.with_elsewhere() if options.other else axis


def moved_table(table: str | None) -> Gazetteer | Path | None:
    """Return the table of a plan that carries none: a file, which is read as the plan says, or one of ours."""
    if table is None:
        return None
    return Path(table) if Path(table).is_file() else Gazetteer.builtin(table)


def agreed_plan(path: str | Path, places: str | None = None) -> Plan:
    """Return the plan in a file, if its epsilon and thresholds agree; else a refusal that names the file."""
    plan = Plan.read(path, gazetteer=moved_table(places))
    with reading(path, "a plan", Remedy.MAKE_PLAN, refusal=PlanError):
        if plan.is_central:
            mechanisms.central_mechanism_of(plan)
        else:
            mechanisms.mechanism_of(plan)
    return plan


def places_columns(given: Sequence[str] | None) -> dict[str, str]:
    """Return columns of a table of places by what they are, from ``town=NOM_COM``."""
    named: dict[str, str] = {}
    for one in given or ():
        meaning, equals, column = (part.strip() for part in one.partition("="))
        if not (meaning and equals and column):
            raise SettingError(f"--places-column must be WHAT=COLUMN; got {one}. Write town=NOM_COM, say.")
        if named.setdefault(meaning.lower(), column) != column:
            raise SettingError(f"--places-column must name one column for {meaning.lower()}. Leave one out.")
    return named


def zone_of(given: str | None, known: SourceDescription | None = None) -> str:
    """Return the time zone of the source's description, else the one that was given; refused where nobody said it."""
    described = given if known is None or known.zone is None else known.zone
    if described is None:
        raise SettingError("the time zone of the events' clocks must be named. Add: --zone ZONE, such as Europe/Paris")
    if given not in (None, described):
        raise SettingError(f"--zone must be that of the source's description, {described}; got {given}. Leave it out.")
    return described


def domain_of(
    options: DomainOptions,
    settings: Settings | None = None,
    *,
    known: SourceDescription | None = None,
    level: str = "region",
) -> Domain:
    """Return the domain asked for; without dates it spans those of the events, for the curator's screen.

    A description that is ``known`` gives the time zone.
    """
    first, last, zone = options.first, options.last, zone_of(options.zone, known)
    place = places_of(options, level)
    if settings is not None and (first is None or last is None):
        span = settings.span(zone)
        first, last = first or str(span.first)[:10], last or str(span.last)[:10]
    if first is None:
        raise SettingError("the first day must be given. Add: --from 2006-01-01")
    time = TimeAxis.between(first, last, step=options.step or "day", zone=zone)
    return Domain(time, place, kinds_of(options))


def places_of(options: DomainOptions, level: str) -> PlaceAxis:
    """Return the places asked for, those of ``level`` where none is; one for all events where there shall be none."""
    if options.places == NO_PLACES:
        if options.places_column or options.level is not None or options.elsewhere:
            raise SettingError(
                "--places none counts events in all, wherever they are. Leave out --places-column, --level and "
                "--elsewhere, or name a table of places."
            )
        return PlaceAxis.everything()
    if options.places is None:
        raise SettingError(
            "the table of places must be named. Add: --places TABLE, or count events in all: --places none"
        )
    gazetteer = gazetteer_of(options.places, options.places_column)
    usual = level if level in gazetteer.levels else gazetteer.levels[0]
    axis = PlaceAxis.from_gazetteer(gazetteer, level=options.level or usual)
    return axis.with_elsewhere() if options.elsewhere else axis


def say_kinds(domain: Domain) -> None:
    """Name the kinds that are counted, where there are any: a table whose header is a kind lacks it."""
    if domain.kind is not None:
        more = domain.n_kinds - _MOST_KINDS
        names = ", ".join(domain.kind.cells[:_MOST_KINDS])
        console.say(f"Kinds that are counted: {names}{f' and {more:,} more' if more > 0 else ''}.")


def populations(table: str | None, columns: Sequence[str] | None, axis: PlaceAxis) -> dict[str, float] | None:
    """Return the inhabitants of every place, from the release's own table or from another, by place or by town."""
    if columns and table in (None, _OWN):
        raise SettingError("--places-column is for a table of populations. Name it, too: --population FILE")
    if table is None:
        return None
    read = axis.gazetteer if table == _OWN else _read(table, places_columns(columns), axis.level)
    if read is None:
        raise SettingError(
            "the release has no table of places with populations. Name a CSV with the columns "
            f"{axis.level} and population: --population places.csv"
        )
    found = read.population(axis.level if axis.level in read.levels else read.levels[0])
    if not any(found.values()):
        raise DataError(
            f"the table of places {read.path or read.name} must have a column with populations; none was found. Name "
            "it population, or say which it is: --places-column population=COLUMN"
        )
    # a release whose table is not at hand still knows the names of its own places
    known = axis if axis.gazetteer is not None else PlaceAxis.of(axis.cells, axis.level)
    inhabitants = dict.fromkeys(axis.cells, 0.0)
    for cell, number in zip(known.match(list(found)), found.values(), strict=True):
        if cell >= 0 and cell != axis.elsewhere:
            inhabitants[axis.cells[cell]] += number
    if axis.elsewhere is not None:
        # no place has this name, so nobody lives there: it starts as large as places are on average
        inhabitants[axis.cells[axis.elsewhere]] = sum(inhabitants.values()) / max(axis.n_cells - 1, 1)
    absent = [place for place in axis.cells if not inhabitants[place] > 0]
    if absent:
        raise SettingError(
            f"populations must be there for every {axis.level}; {len(absent)} of {axis.n_cells} have none, the first "
            f"is {absent[0]}. Add them to the table, or leave --population out."
        )
    return inhabitants


def _read(table: str, columns: dict[str, str], level: str) -> Gazetteer:
    """Return a table of towns and what they belong to, or one of places of this level alone."""
    try:
        found = Gazetteer.read(table, columns=columns)
    except MissingColumn:
        if columns:
            raise
        return Gazetteer.read(table, levels=(level,))
    if level not in found.levels:
        with suppress(MissingColumn):
            return Gazetteer.read(table, levels=(level,), columns=columns)
    return found
