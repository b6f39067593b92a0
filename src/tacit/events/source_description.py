"""Public descriptions of how a source is written, true whatever its rows hold.

A row may be read only as public settings say: if one row decided how others are read, one person's presence would
change what is counted of everyone, and no epsilon would hold. A :class:`SourceDescription` is these settings, confirmed
by someone who knows the source, in a file beside it (``events.csv.source.toml``).
"""

from __future__ import annotations

import codecs
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from tacit._base.extras import require
from tacit._base.files import write_whole
from tacit._base.reading import another_kind
from tacit._base.validation import check_one_of
from tacit.domain.zone import zone_info
from tacit.errors import FormatError, Remedy, SettingError, TacitError
from tacit.events.dates import DateOrder, parse_date_format
from tacit.events.mapping import FORMATS, EventColumns, ReadOptions

FORMAT: Final = 1
ENDING: Final = ".source.toml"
# a description of a thousand columns has 30 KB
_MAX_BYTES: Final = 1 << 20

ROLES: Final = ("time", "place", "kind", "count", "user", "location", "latitude", "longitude")
_TEXT: Final = ("encoding", "separator", "quote", "fields_span_lines", "header_lines", "names")
_VALUES: Final = ("date_format", "decimal", "zone", "sheet")
WRITTEN: Final = ("date_format", "separator", "encoding", "decimal", "sheet", "names")
_FORMAT_WORDS: Final = {
    "csv": "a CSV file",
    "csv.gz": "a CSV file compressed with gzip",
    "parquet": "a Parquet file",
    "xlsx": "a spreadsheet (XLSX)",
    "sql": "the result of a query",
    "frame": "a frame",
}
_ENCODINGS: Final = {"cp1252": "Windows-1252", "iso8859-1": "Latin-1"}
# signs that would be lost in a sentence
_SEPARATORS: Final = {",": "comma", "\t": "tab", " ": "space"}
_DECIMALS: Final = {None: "a decimal point or comma", ".": "a decimal point", ",": "a decimal comma"}


@dataclass(frozen=True, slots=True)
class SourceDescription:
    """A description of how a source is written: public, and true whatever its rows hold.

    ``time`` and the other roles are names of columns, as in :class:`EventColumns`. The rest is as in
    :class:`ReadOptions`; ``encoding``, ``separator``, ``quote``, ``fields_span_lines``, ``header_lines`` and ``names``
    are for CSV files. ``date_format`` is None where dates carry their own type, and in a proposal whose dates may be
    day first or month first: nobody but the owner of the source may choose.

    >>> visits = SourceDescription("csv", time="Date", place="Branch", encoding="utf-8", separator=",",
    ...                            names=("Date", "Branch"), date_format="day-first")
    >>> visits.columns.place, visits.options().date_format
    ('Branch', 'day-first')
    """

    format: str
    time: str
    place: str | None = None
    kind: str | None = None
    count: str | None = None
    user: str | None = None
    location: str | None = None
    latitude: str | None = None
    longitude: str | None = None
    encoding: str | None = None
    separator: str | None = None
    quote: str = '"'
    fields_span_lines: bool = False
    header_lines: int = 1
    names: tuple[str, ...] | None = None
    date_format: str | None = None
    decimal: str | None = None
    zone: str | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        check_one_of(FORMATS, format=self.format)
        if self.is_csv and (self.encoding is None or self.separator is None or self.names is None):
            raise SettingError(
                "the description of a CSV file must give its encoding, its separator and the names of its columns.",
                remedy=Remedy.DESCRIBE_SOURCE,
            )
        if self.zone is not None:
            zone_info(self.zone)
        _ = self.columns, self.options()

    @classmethod
    def of(cls, format: str, columns: EventColumns, options: ReadOptions, *, zone: str | None) -> SourceDescription:
        """Return the description that columns and options amount to."""
        roles = {role: getattr(columns, role) for role in ROLES}
        about_text = {name: getattr(options, name) for name in _TEXT} if format.startswith("csv") else {}
        return cls(
            format,
            **roles,
            **about_text,
            date_format=options.date_format,
            decimal=options.decimal,
            zone=zone,
            sheet=options.sheet,
        )

    @property
    def is_csv(self) -> bool:
        """Whether all of it is text."""
        return self.format in ("csv", "csv.gz")

    @property
    def columns(self) -> EventColumns:
        """The names of the columns."""
        return EventColumns(**{role: getattr(self, role) for role in ROLES})

    def options(self, others: ReadOptions | None = None) -> ReadOptions:
        """Return the options for reading the source; what is not about its text is taken from ``others``."""
        own = {name: getattr(self, name) for name in (*_VALUES, *(_TEXT if self.is_csv else ()))}
        return replace(others or ReadOptions(), format=self.format, **own)

    def agreeing(self, given: Mapping[str, str | None], shown: str) -> SourceDescription:
        """Return the description with the columns and the zone that are ``given`` besides; what contradicts is refused.

        ``shown`` is the source's name in messages. ``names`` are given in one text, with commas.
        """
        names = None if self.names is None or self.header_lines else ",".join(self.names)
        said = {name: getattr(self, name) for name in (*ROLES, "zone", *WRITTEN)} | {"names": names}
        for name, value in said.items():
            own = given.get(name)
            if own is not None and own != value and (value is not None or name in WRITTEN):
                raise SettingError(
                    f"{name} must be as the description of {shown} says, {value or 'not given'}; got {name}={own}.",
                    remedy=Remedy.KEEP_TO_DESCRIPTION,
                )
        more: dict[str, Any] = {name: given.get(name) or getattr(self, name) for name in (*ROLES, "zone")}
        return replace(self, **more)

    def sentences(self) -> list[str]:
        """Return the description in plain words."""
        said = [f"It is {_FORMAT_WORDS[self.format]}."]
        if self.is_csv:
            assert self.separator is not None
            assert self.names is not None
            n_columns = len([name for name in self.names if name])
            between = _SEPARATORS.get(self.separator, self.separator)
            said = [f"It is {_FORMAT_WORDS[self.format]} in {self._encoding()}, with the separator {between}."]
            where = f"line {self.header_lines} holds their names" if self.header_lines else "no line holds their names"
            said.append(f"It has {n_columns} columns; {where}.")
            said.append(
                'Fields may stand in quotes ("), and span lines within them: a row with a stray quote swallows others.'
                if self.fields_span_lines and self.quote
                else ('Fields may stand in quotes (").' if self.quote else "Quotes mean nothing.")
                + " A line end always ends a row."
            )
        if self.format == "xlsx":
            said.append(
                f"Its {'first sheet' if self.sheet is None else f'sheet {self.sheet}'} is read; row 1 holds the names."
            )
        roles = [f"{role} is {getattr(self, role)}" for role in ROLES if getattr(self, role) is not None]
        said.append(f"Columns: {', '.join(roles)}.")
        if self.date_format is not None:
            form = parse_date_format(self.date_format)
            said.append(
                f"Dates are {_DATES[form.order] if form.order is not None else 'written as ' + self.date_format}."
            )
        if self.is_csv and (self.count or self.location or self.latitude):
            said.append(f"Numbers may have {_DECIMALS[self.decimal]}.")
        if self.zone is not None:
            said.append(f"Clocks show the time of {self.zone}.")
        return said

    def _encoding(self) -> str:
        assert self.encoding is not None
        name = codecs.lookup(self.encoding).name
        return _ENCODINGS.get(name, name.upper())

    def to_dict(self) -> dict[str, Any]:
        """Return the description as plain data; what is None is left out."""
        groups = {"columns": ROLES, "text": _TEXT if self.is_csv else (), "values": _VALUES}
        content: dict[str, Any] = {"tacit_source": FORMAT, "format": self.format}
        for group, names in groups.items():
            own = {name: getattr(self, name) for name in names}
            content[group] = {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in own.items()
                if value is not None
            }
        return {name: value for name, value in content.items() if value != {}}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> SourceDescription:
        """Read a description from plain data; refuses what it does not know."""
        if content.get("tacit_source") != FORMAT:
            raise FormatError(
                f"the description of the source must have tacit_source = {FORMAT}. A newer one needs a newer Tacit.",
                remedy=Remedy.DESCRIBE_SOURCE,
            )
        own: dict[str, Any] = {"format": content.get("format")}
        for group, names in (("columns", ROLES), ("text", _TEXT), ("values", _VALUES)):
            part = content.get(group, {})
            if not isinstance(part, Mapping) or not set(part) <= set(names):
                raise FormatError(
                    f"the part {group} of the description of the source may have {', '.join(names)}. Remove the rest."
                )
            own |= part
        if not set(content) <= {"tacit_source", "format", "columns", "text", "values"}:
            raise FormatError(
                "the description of the source may have the parts columns, text and values. Remove others."
            )
        _check_types(own)
        if "names" in own:
            own["names"] = tuple(own["names"])
        return cls(**own)

    def write(self, path: str | Path) -> None:
        """Write the description as TOML."""
        if self.date_format is None and (self.is_csv or self.format == "xlsx"):
            raise SettingError(
                "date_format must be chosen before a description is written; got date_format=None. "
                "Say which it is: year-first, day-first, month-first or a pattern."
            )
        text = (
            "# How a source of events is written. Public: every line must be true whatever its rows hold,\n"
            "# and nothing here may be changed because of what some row holds.\n"
        )
        write_whole(Path(path), (text + require("tomli_w", extra="cli").dumps(self.to_dict())).encode())

    @classmethod
    def read(cls, path: str | Path) -> SourceDescription:
        """Read a description from TOML."""
        path = Path(path)
        kind, describe = "a description of a source", Remedy.DESCRIBE_SOURCE
        refused: TacitError
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
            if len(data) > _MAX_BYTES:
                raise FormatError(f"{path} is longer than a description of a source can be. Name another file.")
            return cls.from_dict(tomllib.loads(data.decode("utf-8")))
        except TacitError as wrong:
            refused = wrong.about(another_kind(path, kind) or f"{path}: {wrong.problem}", FormatError)
        except FileNotFoundError:
            refused = FormatError(f"there is no description of a source at {path}.", remedy=describe)
        except (OSError, TypeError, LookupError, ValueError, RecursionError):  # not UTF-8, no TOML, or other fields
            refused = FormatError(
                another_kind(path, kind) or f"{path} is not {kind}, or it is damaged.", remedy=describe
            )
        raise refused  # outside the block: its context would hold what the file holds


def path_beside(source: str | Path) -> Path:
    """Return the path at which the description of a file lies.

    >>> path_beside("events.csv").name
    'events.csv.source.toml'
    """
    return Path(str(source).rstrip("/") + ENDING)


def description_beside(source: str | Path) -> SourceDescription | None:
    """Return the description that lies beside a file; None if there is none."""
    path = path_beside(source)
    return SourceDescription.read(path) if path.is_file() else None


_DATES: Final = {
    DateOrder.YEAR_FIRST: "written year first (2018-12-31)",
    DateOrder.DAY_FIRST: "written day first (31/12/2018) or year first",
    DateOrder.MONTH_FIRST: "written month first (12/31/2018) or year first",
}


def _check_types(own: Mapping[str, Any]) -> None:
    kinds: dict[str, type] = {field.name: str for field in fields(SourceDescription)}
    kinds |= {"fields_span_lines": bool, "header_lines": int, "names": list}
    for name, value in own.items():
        is_list_of_text = name != "names" or (isinstance(value, list) and all(isinstance(one, str) for one in value))
        if type(value) is not kinds[name] or not is_list_of_text:
            raise FormatError(f"{name} in the description of the source must be a {kinds[name].__name__}. Correct it.")
    if "time" not in own:
        raise FormatError("the description of the source must name the column of time. Add it.")
