"""Options that several commands share, declared once.

A group of options is a frozen dataclass; :func:`takes` spreads its fields into a command's own parameters. What is
rarely needed stands in panels of its own in the help, below the rest.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, NamedTuple, Self, get_args, get_type_hints

import typer

from tacit._base.languages import LANGUAGES
from tacit._base.validation import check_at_least, confidence_of
from tacit.errors import SettingError

if TYPE_CHECKING:
    from tacit.privacy.unit import Unit
    from tacit.release import Rules

Force = Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")]
LEDGER: Final = "The ledger"

PlacesColumns = Annotated[
    list[str] | None,
    typer.Option(
        help="What a column of that table is: town=NOM_COM, region=LIBEPCI, population=PTOT, or a level of your own "
        "such as branch=Name; may be repeated (default: recognized).",
        metavar="WHAT=COLUMN",
    ),
]
PlanFile = Annotated[Path, typer.Option("--plan", metavar="PLAN", help="The plan (TOML), made by: tacit plan")]
PlanPlaces = Annotated[
    str | None, typer.Option(help="The table of places, for a plan that does not carry its own.", metavar="TABLE")
]
ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release, made by: tacit release")]
ReleaseOut = Annotated[
    Path,
    typer.Option(
        help="Where to write: .parquet, which Tacit reads again; .csv or .xlsx, for other programs.", metavar="FILE"
    ),
]
SignWith = Annotated[
    Path | None,
    typer.Option(
        help="Sign the release with this private key, made by: tacit key", metavar="KEY", envvar="TACIT_SIGNING_KEY"
    ),
]
SignedBy = Annotated[
    str | None,
    typer.Option(help="Refuse a release that is not signed with this public key: its file or digits.", metavar="KEY"),
]
StatementOut = Annotated[
    Path | None, typer.Option(help="Also write the privacy statement as a page of its own (.html).", metavar="FILE")
]
DataSetName = Annotated[
    str | None, typer.Option(help="A lasting name for these events (default: the file's).", rich_help_panel=LEDGER)
]
MostEpsilon = Annotated[
    float | None,
    typer.Option(
        help="The most epsilon all releases of these events may cost (default: this release alone).",
        rich_help_panel=LEDGER,
    ),
]
AcceptLoss = Annotated[
    bool, typer.Option("--accept-loss", help="Go on although more than 1 % of the rows meant fall out.")
]
Again = Annotated[
    bool,
    typer.Option("--again", help="Randomize known events again, and state the summed epsilon.", rich_help_panel=LEDGER),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Say what it would cost and what would remain; spend nothing.", rich_help_panel=LEDGER
    ),
]
FirstPeriod = Annotated[str | None, typer.Option("--from", help="The first day, month or year.", metavar="DATE")]
LastPeriod = Annotated[str | None, typer.Option("--to", help="The last one, included.", metavar="DATE")]
PlaceNames = Annotated[list[str] | None, typer.Option(help="A place; may be repeated (default: all).", metavar="NAME")]
KindNames = Annotated[
    list[str] | None,
    typer.Option(help="A kind of event or a group of kinds; may be repeated (default: all).", metavar="NAME"),
]
KindLevel = Annotated[
    str | None,
    typer.Option(
        help="Add kinds of events up to: a level of their table, or all (default: the level that is counted)."
    ),
]


def _as_shares(levels: Any) -> Any:
    """Return levels of intervals as shares of one, as they are given or in percent."""
    if levels is None:
        return None
    return list(map(confidence_of, levels)) if isinstance(levels, (list, tuple)) else confidence_of(levels)


def confidence(help: str) -> Any:
    """Return the option for how sure intervals are: one name and one way to give it, for all commands."""
    return typer.Option("--confidence", callback=_as_shares, help=help, metavar="LEVEL")


Level = Annotated[float, confidence("How sure the intervals are: 95 or 0.95.")]
OwnLevel = Annotated[float | None, confidence("How sure the intervals are: 95 or 0.95 (default: as the release's).")]
Title = Annotated[str | None, typer.Option(help="The page's title.")]
Noun = Annotated[
    str | None,
    typer.Option(help="What a page calls one and many of the events, such as trip/trips.", metavar="ONE/MANY"),
]


def known_language(given: str | None) -> str | None:
    """Refuse a language that pages do not speak, before anything is done."""
    if given is not None and given not in LANGUAGES:
        raise SettingError(f"--language must be one of {', '.join(LANGUAGES)}; got {given}.")
    return given


Language = Annotated[
    str,
    typer.Option(
        help="The language of pages and statements: en, or fr, beside which the English statement stands and binds.",
        metavar="LANGUAGE",
        callback=known_language,
    ),
]
Synthetic = Annotated[
    str | None, typer.Option(help="Say on the page that the data are synthetic, in these words.", metavar="WORDS")
]
SimulationSeed = Annotated[int | None, typer.Option(help="A SIMULATION with known randomness: protects nobody.")]
ModelSeed = Annotated[int | None, typer.Option(help="The seed of models that draw lots (default: 0).")]


class Panel(NamedTuple):
    """A group of options that stands under a heading of its own in the help."""

    title: str
    options: type


def takes(**groups: type | Panel) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Spread dataclasses of options into a command's parameters, where it names them: ``@takes(source=SourceOptions)``.

    ``rules=Panel("What is shown", RuleOptions)`` puts them under a heading. A dataclass may name its ``usual`` options;
    all but those then stand under its own heading, ``others``.
    """
    panels = {name: group if isinstance(group, Panel) else Panel("", group) for name, group in groups.items()}

    def spread(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for parameter, hint in _hinted(command):
            if parameter.name in panels:
                parameters += _parameters_of(panels[parameter.name])
            else:
                parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))

        @functools.wraps(command)
        def run(**given: Any) -> None:
            made = {
                name: panel.options(**{field.name: given.pop(field.name) for field in fields(panel.options)})
                for name, panel in panels.items()
            }
            command(**made, **given)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        del run.__wrapped__
        return run

    return spread


def _hinted(command: Callable[..., None]) -> list[tuple[inspect.Parameter, Any]]:
    hints = get_type_hints(command, include_extras=True)
    return [(p, hints[p.name]) for p in inspect.signature(command).parameters.values()]


def _parameters_of(panel: Panel) -> list[inspect.Parameter]:
    group = panel.options
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=_under(panel.title or _own_title(group, field.name), hints[field.name]),
        )
        for field in fields(group)
    ]


def _own_title(group: type, option: str) -> str:
    usual: Sequence[str] = getattr(group, "usual", (option,))
    return "" if option in usual else str(getattr(group, "others", ""))


def _under(title: str, annotation: Any) -> Any:
    """Return an option under a heading; it is copied, because groups and commands share it."""
    if not title:
        return annotation
    kind, *about = get_args(annotation)
    found = [copy(part) for part in about]
    for part in found:
        part.rich_help_panel = title
    return Annotated[(kind, *found)]


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """The options that say how to read events, where there may be none to read."""

    usual: ClassVar = ("file", "source", "time", "place", "kind", "count", "where", "user")
    others: ClassVar = "How to read the file"

    time: Annotated[
        str | None,
        typer.Option(
            help="The column with the date or time of the event. This and the columns below stand in the description.",
            metavar="COLUMN",
        ),
    ] = None
    place: Annotated[str | None, typer.Option(help="The column with the town or region.", metavar="COLUMN")] = None
    kind: Annotated[
        str | None,
        typer.Option(help="The column with the kind of event, where kinds are counted.", metavar="COLUMN"),
    ] = None
    count: Annotated[
        str | None,
        typer.Option(help="The column with the number of events in the row (default: one).", metavar="COLUMN"),
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option(help="Keep only rows with COLUMN=VALUE or COLUMN!=VALUE; may be repeated.", metavar="CONDITION"),
    ] = None
    source: Annotated[
        Path | None,
        typer.Option(
            help="The description of the source, made by tacit check (default: FILE.source.toml).", metavar="TOML"
        ),
    ] = None
    location: Annotated[
        str | None,
        typer.Option(help="A column such as (47.2380, 6.0243), used where the place is blank.", metavar="COLUMN"),
    ] = None
    latitude: Annotated[str | None, typer.Option(help="The column of latitudes (or northings).", metavar="COLUMN")] = (
        None
    )
    longitude: Annotated[str | None, typer.Option(help="The column of longitudes (or eastings).", metavar="COLUMN")] = (
        None
    )
    query: Annotated[
        str | None, typer.Option(help="The SQL query, when FILE is a database address.", metavar="SQL")
    ] = None
    date_format: Annotated[
        str | None,
        typer.Option(
            help="How dates are written: year-first, day-first, month-first, or a pattern such as %d.%m.%Y.",
            metavar="FORM",
        ),
    ] = None
    separator: Annotated[str | None, typer.Option(help="The CSV separator.", metavar="CHAR")] = None
    encoding: Annotated[str | None, typer.Option(help="The CSV encoding, such as utf-8 or cp1252.", metavar="NAME")] = (
        None
    )
    decimal: Annotated[
        str | None, typer.Option(help="The decimal sign, . or , (default: either, and 1,000 is no count).")
    ] = None
    sheet: Annotated[
        str | None, typer.Option(help="The sheet of a spreadsheet (default: the first).", metavar="NAME")
    ] = None
    names: Annotated[
        str | None,
        typer.Option(help="The column names of a CSV file that has none, with commas: id,when,town.", metavar="NAMES"),
    ] = None
    polygons: Annotated[
        Path | None, typer.Option(help="GeoJSON polygons of towns or regions, for coordinates.", metavar="GEOJSON")
    ] = None
    polygons_name: Annotated[
        str | None, typer.Option(help="The polygons' property with their name (default: recognized).", metavar="NAME")
    ] = None
    polygons_crs: Annotated[
        str | None, typer.Option(help="The polygons' system, where the file does not say: EPSG:4326 or EPSG:2154.")
    ] = None
    crs: Annotated[str, typer.Option(help="The coordinates' system: EPSG:4326 or EPSG:2154.")] = "EPSG:4326"
    bad_rows: Annotated[
        Path | None,
        typer.Option(help="Write the number and reason of every row set aside, for your eyes only.", metavar="FILE"),
    ] = None
    strict: Annotated[bool, typer.Option("--strict", help="Refuse the file if any row is bad.")] = False


@dataclass(frozen=True, kw_only=True)
class SourceOptions(ReadingOptions):
    """The options that say where the events are and how to read them."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Events: a CSV, XLSX or Parquet file, or a database address (with --query): sqlite:///fires.db.",
        ),
    ]

    @property
    def shown(self) -> str:
        """The file, or an address without what may hold a password, for messages."""
        scheme, is_address, rest = self.file.partition("://")
        return f"{scheme}://***" if is_address and ("@" in rest or "?" in rest) else self.file

    @classmethod
    def of(cls, file: str, reading: ReadingOptions, **others: Any) -> Self:
        """Return the same options for a file."""
        return cls(**{field.name: getattr(reading, field.name) for field in fields(reading)}, file=file, **others)


@dataclass(frozen=True, kw_only=True)
class UserSourceOptions(SourceOptions):
    """The same for commands that bound what a user adds; elsewhere ``--user`` would promise what is not kept."""

    user: Annotated[
        str | None,
        typer.Option(
            help="The column that tells persons apart, where user-days or persons are protected.", metavar="COLUMN"
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """The options that say where the work is done."""

    engine: Annotated[
        str,
        typer.Option(help="What does the work: local, this machine, or spark, Apache Spark.", metavar="local|spark"),
    ] = "local"
    master: Annotated[
        str | None,
        typer.Option(help="The address of Spark's master (default: all cores of this machine).", metavar="URL"),
    ] = None


BEYOND: Final = Panel("Beyond one machine", EngineOptions)


@dataclass(frozen=True, kw_only=True)
class UnitOptions:
    """The options that say what is protected."""

    unit: Annotated[
        str,
        typer.Option(
            help="What is protected: event; user-day or person with --most; for devices that remember: device."
        ),
    ] = "event"
    most: Annotated[
        int, typer.Option(help="Of a person's events on a day or in a window, so many are counted.", metavar="N")
    ] = 1
    most_per_cell: Annotated[
        int | None,
        typer.Option(help="Of these so many in one period and place (default: all); less Gaussian noise.", metavar="N"),
    ] = None
    window: Annotated[
        str | None,
        typer.Option(help="A person is protected in each week, month or year (default: in all that is released)."),
    ] = None

    def protected(self) -> Unit:
        """Return the unit of privacy."""
        from tacit.privacy.unit import Unit

        if self.most_per_cell is not None:
            check_at_least(1, most_per_cell=self.most_per_cell)
        return Unit(self.unit, self.most, self.most_per_cell or 0, self.window)


@dataclass(frozen=True)
class DomainOptions:
    """The options that say what is counted: periods, places and, if wanted, kinds of events."""

    places: Annotated[
        str | None,
        typer.Option(
            help="The table of towns and regions: a CSV of your own, 'doubs', or 'none': then events are counted in "
            "all, wherever they are.",
            metavar="TABLE",
        ),
    ] = None
    places_column: PlacesColumns = None
    level: Annotated[
        str | None,
        typer.Option(help="The places to count: town, region or department (default: region; summary: town)."),
    ] = None
    elsewhere: Annotated[
        bool,
        typer.Option(
            "--elsewhere", help="Also count events without a place among these (unknown, outside, blank) as one place."
        ),
    ] = False
    kinds: Annotated[
        str | None,
        typer.Option(
            help="Also count by kind of event: 'doubs', a CSV of your own with kind, group and alias (other names), or "
            "names with commas such as fire,flood (default: no kinds).",
            metavar="TABLE",
        ),
    ] = None
    kind_level: Annotated[
        str | None, typer.Option(help="The kinds to count: kind or group, as the table of kinds has them.")
    ] = None
    other: Annotated[
        bool,
        typer.Option(
            "--other", help="Also count events of none of these kinds (unknown, outside, blank) as one kind: other."
        ),
    ] = False
    first: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="The first day, month or year (check and summary: the data's if left out; publish: asked for).",
            metavar="DATE",
        ),
    ] = None
    last: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="The last one, included (check and summary: the data's; plan: no end; publish: a later one goes on).",
            metavar="DATE",
        ),
    ] = None
    step: Annotated[str | None, typer.Option(help="hour, '3 hours', day, week, month or year (default: day).")] = None
    zone: Annotated[
        str | None,
        typer.Option(help="The time zone of the events' clocks, such as Europe/Paris (default: the description's)."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RuleOptions:
    """Rules of publication."""

    suppress: Annotated[
        list[str] | None,
        typer.Option(
            help="Leave out counts that say too little: 'relative error > 0.5' or 'count < 10'. They are not in the "
            "file.",
            metavar="RULE",
        ),
    ] = None
    keep_suppressed: Annotated[
        bool,
        typer.Option(
            "--keep-suppressed", help="Leave them blank in the table only: the file holds them, for sums over them."
        ),
    ] = False
    grey: Annotated[
        list[str] | None,
        typer.Option(help="Mark counts as greyed, by a rule of the same kind; they stay.", metavar="RULE"),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            help="Days without data, which is not zero: a day, 2018-03, 2018, or 2018-03-01/2018-03-20.",
            metavar="DAYS",
        ),
    ] = None

    def rules(self) -> Rules:
        """Return the rules, read as people write them."""
        from tacit.release import Rules

        if self.keep_suppressed and not self.suppress:
            raise SettingError(
                "--keep-suppressed is for counts that a rule suppresses. Give --suppress, or leave it out."
            )
        return Rules.parse(
            suppress=tuple(self.suppress or ()),
            grey=tuple(self.grey or ()),
            missing=tuple(self.missing or ()),
            keep_suppressed=self.keep_suppressed,
        )


def seed_or_none(seed: int | None) -> int | None:
    """Check a seed given on the command line."""
    if seed is not None and seed < 0:
        raise SettingError(f"seed must be a whole number of at least 0; got seed={seed}.")
    return seed
