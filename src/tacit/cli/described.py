"""From options and the description of a source to what is read, and how."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, NoReturn

from tacit.cli import console
from tacit.cli.options import ReadingOptions, SourceOptions
from tacit.domain import Domain
from tacit.errors import AmbiguousDate, NotDescribed, SettingError
from tacit.events import (
    EventColumns,
    Events,
    Proposal,
    ReadOptions,
    SourceDescription,
    SqlQuery,
    open_events,
    propose_source,
)
from tacit.events.source_description import ENDING, ROLES

_WRITTEN: Final = ("date_format", "separator", "encoding", "decimal")


@dataclass(frozen=True, slots=True)
class Settings:
    """A source with its columns and how it is written: all that decides what is done with a row."""

    named: object
    columns: EventColumns
    options: ReadOptions

    def open(self, domain: Domain) -> Events:
        """Open the source; no row is read yet."""
        return open_events(self.named, columns=self.columns, domain=domain, options=self.options)


def open_source(source: SourceOptions, domain: Domain, *, with_user: bool = False) -> Events:
    """Open a source as its description or the options say; refuses text of which neither says how it is written."""
    try:
        return settings_of(source, with_user=with_user).open(domain)
    except NotDescribed:
        pass
    raise NotDescribed(
        f"{source.file} holds text, and nothing public says how it is written. Describe it first, once: "
        f"{_check_command(source)}"
    )


def settings_of(source: SourceOptions, *, with_user: bool = False) -> Settings:
    """What the description says, with the options that are not about the source; options alone, where there is none.

    ``with_user`` takes the column of users from the description too; one that is given is taken in any case.
    """
    named, description = named_source(source), description_of(source)
    if description is None:
        if source.time is None:
            raise NotDescribed(f"the column of dates must be named. Add: --time COLUMN, or: {_check_command(source)}")
        return Settings(named, columns_of(source), options_of(source))
    _refuse_contradictions(source, description)
    columns = columns_of(source, description if with_user else replace(description, user=None))
    return Settings(named, columns, description.options(options_of(source)))


def proposed(source: SourceOptions, *, zone: str) -> Proposal:
    """A description proposed from how the source looks, for the curator's screen."""
    if source.time is None:
        raise SettingError(f"the column with the dates of {source.file} must be named. Add: --time COLUMN")
    with console.progress("Looking at how the source is written") as report:
        return propose_source(
            named_source(source), columns=columns_of(source), options=options_of(source), zone=zone, progress=report
        )


def looked_at(source: SourceOptions, *, zone: str) -> Settings:
    """The settings of a description, or as the source looks: for exact figures that only the curator sees."""
    if description_of(source) is not None:
        return settings_of(source)
    proposal = proposed(source, zone=zone)
    description = proposal.description
    if description.date_format is None and proposal.dates is not None:
        refuse_dates(source)
    return Settings(named_source(source), columns_of(source), description.options(options_of(source)))


def refuse_dates(source: SourceOptions) -> NoReturn:
    """Refuse a source whose written dates could mean more than one thing, or nothing."""
    raise AmbiguousDate(
        f"{source.file}: only you can say how its dates are written, for its rows must not decide it. "
        "Add: --date-format day-first, --date-format month-first, or a pattern such as --date-format %d.%m.%Y"
    )


def description_path(source: SourceOptions) -> Path | None:
    """Where the description of a source is: as named, else beside the file; a database has no such place."""
    if source.source is not None:
        return source.source
    return None if "://" in source.file else Path(source.file + ENDING)


def description_of(source: SourceOptions) -> SourceDescription | None:
    """The description of a source; None if there is none and none was named."""
    path = description_path(source)
    if path is None or (source.source is None and not path.is_file()):
        return None
    return SourceDescription.read(path)


def columns_of(source: SourceOptions, description: SourceDescription | None = None) -> EventColumns:
    """The columns that the options name, else those of the description."""
    named: dict[str, Any] = {role: getattr(source, role, None) or getattr(description, role, None) for role in ROLES}
    return EventColumns(**named, where=tuple(source.where or ()))


def options_of(source: ReadingOptions) -> ReadOptions:
    """How to read, as far as the options say."""
    options = ReadOptions(
        date_format=source.date_format,
        separator=source.separator,
        encoding=source.encoding,
        decimal=source.decimal,
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
    """A path, or a query's result when a database address was given."""
    if "://" not in source.file:
        if source.query is not None:
            raise SettingError(
                "query belongs to a database address such as sqlite:///fires.db. Leave it out for a file."
            )
        return Path(source.file)
    if source.query is None:
        raise SettingError("a database address needs a query. Add: --query 'SELECT ... FROM ...'")
    return SqlQuery(source.file, source.query)


def _refuse_contradictions(source: SourceOptions, description: SourceDescription) -> None:
    names = None if description.names is None or description.header_lines else ",".join(description.names)
    said = {name: getattr(description, name) for name in (*ROLES, *_WRITTEN)} | {"names": names}
    for name, value in said.items():
        given = getattr(source, name, None)
        if given is not None and given != value and (value is not None or name not in ROLES):
            raise SettingError(
                f"--{name.replace('_', '-')} must be as the description of {source.file} says, {value or 'not given'}; "
                f"got {given}. Leave it out, or describe the source again: tacit check … --force"
            )


def _check_command(source: SourceOptions) -> str:
    """The command that describes a source, with what was given."""
    words = ["tacit", "check", source.file]
    if "://" in source.file:
        words += ["--query", source.query or "SELECT ...", "--source", "events.source.toml"]
    words += ["--time", source.time or "COLUMN"]
    if not (source.location or source.latitude):
        words += ["--place", source.place or "COLUMN"]
    known = {field.name for field in fields(source)} - {"file", "query", "source", "time", "place", "where", "strict"}
    for name in sorted(known & {*ROLES, *_WRITTEN, "names", "polygons"}):
        if getattr(source, name) is not None:
            words += [f"--{name.replace('_', '-')}", str(getattr(source, name))]
    return shlex.join(words)
