"""Sources, plans, tables of places and domains, as the options name them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from tacit._base.reading import reading
from tacit.cli import console
from tacit.cli.options import DomainOptions, ReadingOptions, SourceOptions
from tacit.domain import Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis
from tacit.domain.gazetteer import BUILTIN
from tacit.domain.table import KINDS
from tacit.errors import AmbiguousDate, DataError, MissingColumn, NotDescribed, PlanError, Remedy, SettingError
from tacit.events import (
    BadRowSummary,
    EventColumns,
    Events,
    Proposal,
    ReadOptions,
    SourceDescription,
    SqlQuery,
    TableNotes,
    open_events,
    propose_source,
    scan_span,
)
from tacit.events.source_description import ENDING, ROLES
from tacit.mechanisms.central.table import central_mechanism_of
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan

if TYPE_CHECKING:
    from tacit.engines.spark import SparkEngine

NO_PLACES: Final = "none"
"""What ``--places`` names where events are counted in all; a file of this name is ``./none``."""
_MOST_KINDS: Final = 40  # that are named on the screen, a few lines; twice as many nobody would read
_WRITTEN: Final = ("date_format", "separator", "encoding", "decimal", "sheet")


@dataclass(frozen=True, slots=True)
class Settings:
    """A source with its columns and how it is written: all that decides what is done with a row."""

    named: object
    columns: EventColumns
    options: ReadOptions

    def open(self, domain: Domain, engine: SparkEngine | None = None) -> Events:
        """Open the source, here or on an engine; no row is read yet."""
        if engine is None:
            return open_events(self.named, columns=self.columns, domain=domain, options=self.options)
        from tacit.engines.frames import open_named

        named = open_named(engine.session, str(self.named), self.options)
        return engine.open(named, columns=self.columns, domain=domain, options=self.options)


def open_source(
    source: SourceOptions, domain: Domain, *, with_user: bool = False, engine: SparkEngine | None = None
) -> Events:
    """Open a source as its description or the options say; refuses text of which neither says how it is written."""
    check_kinds_are_counted(source, domain)
    try:
        return settings_of(source, with_user=with_user, engine=engine).open(domain, engine)
    except NotDescribed:
        pass
    raise NotDescribed(
        f"{source.shown} holds text, and nothing public says how it is written. Describe it first, once: "
        f"{check_command(source, domain)}"
    )


def check_kinds_are_counted(source: SourceOptions, domain: Domain) -> None:
    """Refuse a column of kinds that was named where none are counted: it would be left out without a word."""
    if source.kind is not None and domain.kind is None:
        raise SettingError(
            f"--kind {source.kind} is for counts by kind, and no kinds are counted here. Leave it out, or name the "
            "kinds when the plan or counter is made: --kinds fire,flood"
        )


def settings_of(source: SourceOptions, *, with_user: bool = False, engine: SparkEngine | None = None) -> Settings:
    """Return the settings of a source: those of its description, or without one those of the options alone.

    ``with_user`` takes the column of users from the description too; one that is given is taken in any case. An
    ``engine`` finds the source by its name.
    """
    named = named_source(source) if engine is None else _named_for_an_engine(source)
    description = description_of(source)
    if description is None:
        if source.time is None:
            raise NotDescribed(f"the column of dates must be named. Add: --time COLUMN, or: {check_command(source)}")
        return Settings(named, columns_of(source), options_of(source))
    _refuse_contradictions(source, description)
    columns = columns_of(source, description if with_user else replace(description, user=None))
    return Settings(named, columns, description.options(options_of(source)))


def proposed(source: SourceOptions, *, zone: str, with_kinds: bool = False) -> Proposal:
    """Return a description proposed from how the source looks, for the curator; ``with_kinds`` finds their column."""
    if source.time is None:
        raise SettingError(f"the column with the dates of {source.shown} must be named. Add: --time COLUMN")
    with console.progress("Looking at how the source is written") as report:
        return propose_source(
            named_source(source),
            columns=columns_of(source),
            options=options_of(source),
            zone=zone,
            with_kinds=with_kinds,
            progress=report,
        )


def looked_at(source: SourceOptions, *, zone: str, with_kinds: bool = False) -> Settings:
    """Return the settings of a description, or as the source looks: for exact figures that only the curator sees."""
    if description_of(source) is not None:
        return settings_of(source)
    proposal = proposed(source, zone=zone, with_kinds=with_kinds)
    description = proposal.description
    if description.date_format is None and proposal.dates is not None:
        refuse_dates(source)
    return Settings(named_source(source), columns_of(source, description), description.options(options_of(source)))


def refuse_dates(source: SourceOptions) -> NoReturn:
    """Refuse a source whose written dates could mean more than one thing, or nothing."""
    raise AmbiguousDate(
        f"{source.shown}: only you can say how its dates are written, for its rows must not decide it. "
        "Add: --date-format day-first, --date-format month-first, or a pattern such as --date-format %d.%m.%Y"
    )


def description_path(source: SourceOptions) -> Path | None:
    """Return the path of a source's description: as named, else beside the file; None for a database."""
    if source.source is not None:
        return source.source
    return None if "://" in source.file else Path(source.file.rstrip("/") + ENDING)


def description_of(source: SourceOptions) -> SourceDescription | None:
    """Return the description of a source; None if there is none and none was named."""
    path = description_path(source)
    if path is None or (source.source is None and not path.is_file()):
        return None
    return SourceDescription.read(path)


def columns_of(source: SourceOptions, description: SourceDescription | None = None) -> EventColumns:
    """Return the columns that the options name, else those of the description."""
    named: dict[str, Any] = {role: getattr(source, role, None) or getattr(description, role, None) for role in ROLES}
    return EventColumns(**named, where=tuple(source.where or ()))


def options_of(source: ReadingOptions) -> ReadOptions:
    """Return the options of reading that were given."""
    options = ReadOptions(
        date_format=source.date_format,
        separator=source.separator,
        encoding=source.encoding,
        decimal=source.decimal,
        sheet=source.sheet,
        bad_rows=source.bad_rows,
        strict=source.strict,
        polygons=source.polygons,
        polygons_name=source.polygons_name,
        polygons_crs=source.polygons_crs,
        crs=source.crs,
    )
    if source.names is None:
        return options
    return replace(options, header_lines=0, names=tuple(name.strip() for name in source.names.split(",")))


def named_source(source: SourceOptions) -> object:
    """Return a path, or a query's result when a database address was given."""
    if "://" not in source.file:
        if source.query is not None:
            raise SettingError(
                "query belongs to a database address such as sqlite:///fires.db. Leave it out for a file."
            )
        return Path(source.file)
    if source.query is None:
        raise SettingError("a database address needs a query. Add: --query 'SELECT ... FROM ...'")
    return SqlQuery(source.file, source.query)


def columns_far_away(source: SourceOptions, engine: SparkEngine) -> Sequence[str]:
    """Return the names of the columns of a source that an engine finds."""
    from tacit.engines.frames import open_named

    return open_named(engine.session, _named_for_an_engine(source), options_of(source)).names


def _named_for_an_engine(source: SourceOptions) -> str:
    if source.query is not None:
        raise SettingError("--query is for databases that are read on this machine. Name a table of Spark instead.")
    return source.file


def _refuse_contradictions(source: SourceOptions, description: SourceDescription) -> None:
    names = None if description.names is None or description.header_lines else ",".join(description.names)
    said = {name: getattr(description, name) for name in (*ROLES, *_WRITTEN)} | {"names": names}
    for name, value in said.items():
        given = getattr(source, name, None)
        if given is not None and given != value and (value is not None or name not in ROLES):
            raise SettingError(
                f"--{name.replace('_', '-')} must be as the description of {source.shown} says, "
                f"{value or 'not given'}; got {given}. Leave it out, or describe the source again: "
                "tacit check … --force"
            )


def check_command(source: SourceOptions, domain: Domain | None = None) -> str:
    """Return the command that describes a source, with what was given."""
    words = ["tacit", "check", source.shown]
    if "://" in source.file:
        words += ["--query", source.query or "SELECT ...", "--source", "events.source.toml"]
    words += ["--time", source.time or "COLUMN"]
    has_places = domain is None or not domain.place.is_all
    if has_places and not (source.location or source.latitude):
        words += ["--place", source.place or "COLUMN"]
    known = {field.name for field in fields(source)} - {"file", "query", "source", "time", "place", "where", "strict"}
    for name in sorted(known & {*ROLES, *_WRITTEN, "names", "polygons"}):
        if getattr(source, name) is not None:
            words += [f"--{name.replace('_', '-')}", str(getattr(source, name))]
    words += ["--places", "TABLE" if has_places else NO_PLACES]
    words += ["--zone", "ZONE" if domain is None else domain.time.zone]
    return shlex.join(words)


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
            central_mechanism_of(plan)
        else:
            mechanism_of(plan)
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
        with console.progress("Looking for the first and last date") as report:
            span = scan_span(
                settings.named,
                columns=settings.columns,
                options=settings.options,
                zone=zone,
                progress=report,
            )
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


def say_beyond(n_events: int, n_rows: int) -> None:
    """Say how many events a bound on persons left out; nothing if it left out none."""
    if n_events:
        were = "was" if n_events == 1 else "were"
        console.say(
            f"For your eyes only: {console.counted(n_events, 'event')} lay beyond the bound on a person, in "
            f"{console.counted(n_rows, 'row')}, and {were} not counted."
        )


def say_bad_rows(summary: BadRowSummary) -> None:
    """List what was set aside, by reason and row number."""
    if summary:
        were = "was" if summary.n_rows == 1 else "were"
        console.warn(f"{console.counted(summary.n_rows, 'row')} {were} set aside:")
        for line in summary.lines():
            console.warn(f"  {line}")
    else:
        console.say("No row was set aside.")


def say_table_notes(notes: TableNotes | None) -> None:
    """Tell what is odd about a table of counts, which only its owner can judge."""
    for line in notes.lines() if notes is not None else ():
        console.warn(f"Note: {line}.")


_OWN: Final = "builtin"


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
