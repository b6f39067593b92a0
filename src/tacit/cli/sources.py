"""From options to domains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacit._base.reading import reading
from tacit.cli import console
from tacit.cli.described import Settings
from tacit.cli.options import DomainOptions
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.errors import PlanError, Remedy, SettingError
from tacit.events import BadRowSummary, TableNotes, scan_span
from tacit.mechanisms.central.table import central_mechanism_of
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan


def gazetteer_of(table: str, columns: Sequence[str] | None = None) -> Gazetteer:
    """A table of ours by name, or the user's by path, of which columns may be named: ``town=NOM_COM``."""
    if Path(table).is_file():
        return Gazetteer.read(table, columns=places_columns(columns))
    ours = Gazetteer.builtin(table)
    if columns:
        raise SettingError("--places-column is for a table of your own. Leave it out, or name the file: --places FILE")
    return ours


def moved_table(table: str | None) -> Gazetteer | Path | None:
    """Where a plan's table is now: a file, which is read as the plan says, or one of ours."""
    if table is None:
        return None
    return Path(table) if Path(table).is_file() else Gazetteer.builtin(table)


def agreed_plan(path: str | Path, places: str | None = None) -> Plan:
    """The plan in a file, if its epsilon and thresholds agree; else a refusal that names the file."""
    plan = Plan.read(path, gazetteer=moved_table(places))
    with reading(path, "a plan", Remedy.MAKE_PLAN, refusal=PlanError):
        if plan.is_central:
            central_mechanism_of(plan)
        else:
            mechanism_of(plan)
    return plan


def places_columns(given: Sequence[str] | None) -> dict[str, str]:
    """Columns of a table of places by what they are, from ``town=NOM_COM``."""
    named: dict[str, str] = {}
    for one in given or ():
        meaning, equals, column = (part.strip() for part in one.partition("="))
        if not (meaning and equals and column):
            raise SettingError(f"--places-column must be WHAT=COLUMN; got {one}. Write town=NOM_COM, say.")
        if named.setdefault(meaning.lower(), column) != column:
            raise SettingError(f"--places-column must name one column for {meaning.lower()}. Leave one out.")
    return named


def domain_of(options: DomainOptions, settings: Settings | None = None, *, level: str = "region") -> Domain:
    """The domain asked for; without dates it spans those of the events, for the curator's screen."""
    first, last = options.first, options.last
    if settings is not None and (first is None or last is None):
        with console.progress("Looking for the first and last date") as report:
            span = scan_span(
                settings.named,
                columns=settings.columns,
                options=settings.options,
                zone=options.zone,
                progress=report,
            )
        first, last = first or str(span.first)[:10], last or str(span.last)[:10]
    if first is None:
        raise SettingError("the first day must be given. Add: --from 2006-01-01")
    gazetteer = gazetteer_of(options.places, options.places_column)
    usual = level if level in gazetteer.levels else gazetteer.levels[0]
    place = PlaceAxis.from_gazetteer(gazetteer, level=options.level or usual)
    if options.elsewhere:
        place = place.with_elsewhere()
    return Domain(TimeAxis.between(first, last, step=options.step, zone=options.zone), place)


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
