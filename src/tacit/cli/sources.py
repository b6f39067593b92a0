"""Sources of events, as the options name them, and lines about their rows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from tacit.cli import console
from tacit.cli.domains import NO_PLACES
from tacit.cli.options import DomainOptions, ReadingOptions, SourceOptions
from tacit.domain import Domain
from tacit.errors import AmbiguousDate, NotDescribed, SettingError
from tacit.events import (
    BadRowSummary,
    EventColumns,
    Events,
    Proposal,
    ReadOptions,
    SourceDescription,
    Span,
    SqlQuery,
    TableNotes,
    open_events,
    propose_source,
    scan_span,
)
from tacit.events.source_description import ROLES, WRITTEN, path_beside
from tacit.events.sources import first_bytes

if TYPE_CHECKING:
    from tacit.engines.spark import SparkEngine


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

    def span(self, zone: str) -> Span:
        """Return the first and the last date, for the curator's screen."""
        with console.progress("Looking for the first and last date") as report:
            return scan_span(self.named, columns=self.columns, options=self.options, zone=zone, progress=report)


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
    description = agreeing(source, description)
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
    return None if "://" in source.file else path_beside(source.file)


def description_of(source: SourceOptions) -> SourceDescription | None:
    """Return the description of a source; None if there is none and none was named."""
    path = description_path(source)
    if path is None or (source.source is None and not path.is_file()):
        return None
    return SourceDescription.read(path)


def check_there(source: SourceOptions) -> None:
    """Refuse a file that is not there or cannot be opened, before anything is asked about it."""
    if "://" not in source.file:
        first_bytes(Path(source.file))


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


def agreeing(source: SourceOptions, description: SourceDescription) -> SourceDescription:
    """Return a description with the columns that the options name besides; options that contradict it are refused."""
    return description.agreeing({name: getattr(source, name, None) for name in (*ROLES, *WRITTEN)}, source.shown)


def check_command(source: SourceOptions, domain: Domain | None = None, given: DomainOptions | None = None) -> str:
    """Return the command that describes a source, with what was given."""
    words = ["tacit", "check", source.shown]
    if "://" in source.file:
        words += ["--query", source.query or "SELECT ...", "--source", "events.source.toml"]
    words += ["--time", source.time or "COLUMN"]
    has_places = domain is None or not domain.place.is_all
    if has_places and not (source.location or source.latitude):
        words += ["--place", source.place or "COLUMN"]
    known = {field.name for field in fields(source)} - {"file", "query", "source", "time", "place", "where", "strict"}
    for name in sorted(known & {*ROLES, *WRITTEN, "polygons"}):
        if getattr(source, name) is not None:
            words += [f"--{name.replace('_', '-')}", str(getattr(source, name))]
    places, zone = (None, None) if given is None else (given.places, given.zone)
    words += ["--places", places or ("TABLE" if has_places else NO_PLACES)]
    words += ["--zone", zone or ("ZONE" if domain is None else domain.time.zone)]
    return shlex.join(words)


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
