"""Settings of a source: which column holds what, which rows are meant, and how the text is to be read."""

from __future__ import annotations

import codecs
import difflib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tacit._base.validation import check_at_least, check_one_of
from tacit.errors import MissingColumn, Remedy, SettingError, UnreadableFile

if TYPE_CHECKING:
    from tacit.events.places import Polygons

SEPARATORS: Final = (",", ";", "\t", "|")
FORMATS: Final = ("csv", "csv.gz", "parquet", "xlsx", "sql", "frame")
CRS_CHOICES: Final = ("EPSG:4326", "EPSG:2154")
_NAMES_SHOWN: Final = 40  # enough to see most tables whole
_LOOKS_LIKE_DATA: Final = re.compile(r"\s*[-+(]?\s*[0-9].*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Condition:
    """Keep the rows whose text in a column equals a value, or differs from it. Nothing is evaluated.

    >>> Condition.parse("Station != Besançon East")
    Condition(column='Station', value='Besançon East', is_equal=False)
    >>> Condition.parse("Station")
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: where must be COLUMN=VALUE or COLUMN!=VALUE; got where='Station'. \
Name a column, then = or !=, then the text to compare with.
    """

    column: str
    value: str
    is_equal: bool = True

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read ``COLUMN=VALUE`` or ``COLUMN!=VALUE``."""
        column, sign, value = text.partition("=")
        is_equal = not column.endswith("!")
        column = column.rstrip("!").strip()
        if not sign or not column:
            raise SettingError(
                f"where must be COLUMN=VALUE or COLUMN!=VALUE; got where={text!r}. "
                "Name a column, then = or !=, then the text to compare with."
            )
        return cls(column, value.removeprefix("=").strip(), is_equal)


@dataclass(frozen=True, slots=True)
class EventColumns:
    """The names of the columns that matter.

    ``time`` is needed; so is ``place``, or coordinates in one column (``location``) or two (``latitude`` and
    ``longitude``), or both, unless events are counted in all, wherever they are. Coordinates beside a place serve the
    rows whose place is blank. Without ``count`` every row is one event. Every condition in ``where`` must hold for a
    row to be read at all. ``user`` names whose event it is, so that what one person adds to a day can be bounded; a row
    without a user cannot be and is then a bad row. ``kind`` names the kind of event, and is read where kinds are
    counted.

    >>> EventColumns(time="SDate", place="Town", where=("Station=East",)).conditions
    (Condition(column='Station', value='East', is_equal=True),)
    """

    time: str
    place: str | None = None
    count: str | None = None
    location: str | None = None
    latitude: str | None = None
    longitude: str | None = None
    where: tuple[Condition | str, ...] = ()
    user: str | None = None
    kind: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.where, (str, Condition)):
            raise SettingError("where must be a tuple of conditions. Write where=('Station=East',).")
        if (self.latitude is None) != (self.longitude is None):
            raise SettingError("latitude and longitude must be given together. Name both columns, or neither.")
        if self.location is not None and self.latitude is not None:
            raise SettingError(
                "coordinates must come from location or from latitude and longitude, not from both. Name one."
            )
        _ = self.conditions

    @property
    def has_coordinates(self) -> bool:
        """Whether coordinates are mapped."""
        return self.location is not None or self.latitude is not None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of ``where``, read."""
        return tuple(one if isinstance(one, Condition) else Condition.parse(one) for one in self.where)


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Settings for reading a source. Nothing here may be measured on the rows: see ``SourceDescription``.

    Text needs ``date_format``: ``"year-first"``, ``"day-first"``, ``"month-first"`` or a pattern such as
    ``"%d.%m.%Y %H:%M"``. A CSV file also needs ``encoding`` and ``separator``. Its events begin after ``header_lines``
    lines; ``names`` are its column names, without which they are taken from the last of these lines. ``quote`` may
    enclose a field (``""``: nothing may). A line end ends a row unless ``fields_span_lines``. ``decimal`` is the
    decimal sign, ``"."`` or ``","``; the other one then groups the thousands of counts. Without it either is a decimal
    sign, and ``1,000`` is no count, for it may be one or a thousand. ``zone`` is that of the source's clocks, if known.
    ``sheet`` names one of a spreadsheet, by default the first.

    ``crs`` is that of the events' coordinates; ``polygons`` a GeoJSON file, with ``polygons_crs`` where it declares
    none and ``polygons_name`` the property that names its features. ``strict`` refuses the file if any row is bad.
    ``bad_rows`` is a private file to write, with the number and reason of every row that is set aside.
    ``batch_rows`` sets how many rows, about, are in memory at a time.
    """

    date_format: str | None = None
    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    strict: bool = False
    polygons: str | Path | Polygons | None = None
    polygons_crs: str | None = None
    polygons_name: str | None = None
    crs: str = "EPSG:4326"
    batch_rows: int = 131_072
    format: str | None = None
    quote: str = '"'
    fields_span_lines: bool = False
    header_lines: int = 1
    names: tuple[str, ...] | None = None
    zone: str | None = None
    sheet: str | None = None
    bad_rows: str | Path | None = None

    def __post_init__(self) -> None:
        from tacit.events.dates import parse_date_format

        check_at_least(1, batch_rows=self.batch_rows)
        check_at_least(0, header_lines=self.header_lines)
        check_one_of(CRS_CHOICES, crs=self.crs)
        check_one_of(('"', ""), quote=self.quote)
        if self.format is not None:
            check_one_of(FORMATS, format=self.format)
        if self.polygons_crs is not None:
            check_one_of(CRS_CHOICES, polygons_crs=self.polygons_crs)
        if self.decimal is not None:
            check_one_of((".", ","), decimal=self.decimal)
        if self.separator is not None:
            check_separator(self.separator)
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.date_format is not None:
            parse_date_format(self.date_format)  # refuses what cannot be read
        if self.names is None and not self.header_lines:
            raise SettingError("names must be given where no line holds the column names. Name every column, in order.")


def check_separator(separator: str) -> None:
    """Refuse what cannot stand between fields."""
    if len(separator) != 1 or separator in '"\r\n\0':
        raise SettingError(f"separator must be one character such as ; or , or a tab; got separator={separator!r}.")
    if not separator.isascii():
        raise SettingError(f"separator must be an ASCII character; got separator={separator!r}.")


def check_encoding(encoding: str) -> None:
    """Refuse a name that is no text encoding."""
    try:
        is_text = codecs.lookup(encoding)._is_text_encoding
    except LookupError:
        is_text = False
    if not is_text:
        raise SettingError(
            f"encoding must be the name of a text encoding; got encoding={encoding!r}. "
            "Write utf-8, cp1252 (Windows, Western Europe), latin-1 or utf-16."
        )


def find_column(names: Sequence[str], wanted: str, *, role: str, source: str, may_quote: bool = True) -> int:
    """Find a column by its exact name, else without regard to case, accents and outer spaces.

    Unless the names ``may_quote``, which a first event taken for them may not, the message repeats none of them.

    >>> find_column(["id", "Début"], "debut", role="time", source="events.csv")
    1
    >>> find_column(["id", "SDate"], "SDat", role="time", source="events.csv")
    Traceback (most recent call last):
    ...
    tacit.errors.MissingColumn: events.csv has no column 'SDat' (asked for as time). It has: id, SDate. \
Did you mean 'SDate'?
    """
    for same in (lambda name: name == wanted, lambda name: fold_column(name) == fold_column(wanted)):
        found = [position for position, name in enumerate(names) if same(name)]
        if len(found) == 1:
            return found[0]
        if found:
            positions = " and ".join(str(position + 1) for position in found)
            raise UnreadableFile(
                f"{source}: columns {positions} are both called {wanted!r} (asked for as {role}). "
                "Rename all but one of them."
            )
    if not may_quote and len(names) == 1:
        raise MissingColumn(
            f"{source} has no column {wanted!r} (asked for as {role}): its lines seem to be one column.",
            remedy=Remedy.GIVE_SEPARATOR,
        )
    if not may_quote:
        raise MissingColumn(
            f"{source} has no column {wanted!r} (asked for as {role}), nor any other that was asked for.",
            remedy=Remedy.GIVE_NAMES,
        )
    nearest = _nearest(names, wanted)
    shown = ", ".join(name.strip()[:60] for name in names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")
    hint = f"Did you mean {nearest!r}?" if nearest is not None else f"Name the column to use as {role}."
    raise MissingColumn(f"{source} has no column {wanted!r} (asked for as {role}). It has: {shown}. {hint}")


def fold_column(name: str) -> str:
    """Return a column's name without case, accents and outer spaces."""
    bare = unicodedata.normalize("NFKD", name.strip()).casefold()
    return "".join(letter for letter in bare if not unicodedata.combining(letter))


def looks_like_data(names: Sequence[str]) -> bool:
    """Return whether a line of column names is rather a first event: it must then not be repeated in a message.

    >>> looks_like_data(["1", "2018-03-04 05:06", "Ornans"]), looks_like_data(["ID", "SDate", "Town"])
    (True, False)
    """
    return any(_LOOKS_LIKE_DATA.fullmatch(name) is not None for name in names)


def wanted_columns(columns: EventColumns, *, with_coordinates: bool) -> dict[str, str]:
    """Return the columns to read, by their part: ``{"time": "SDate", "place": "Town", "where0": "Station"}``."""
    roles = (
        "time",
        "place",
        "kind",
        "count",
        "user",
        *(("location", "latitude", "longitude") if with_coordinates else ()),
    )
    wanted = {role: getattr(columns, role) for role in roles if getattr(columns, role) is not None}
    wanted.update((f"where{number}", one.column) for number, one in enumerate(columns.conditions))
    return wanted


def _nearest(names: Sequence[str], wanted: str) -> str | None:
    by_fold = {fold_column(name): name.strip() for name in names if name.strip()}
    # 0.6 is difflib's own: about three letters of five
    close = difflib.get_close_matches(fold_column(wanted), by_fold, n=1, cutoff=0.6)
    return by_fold[close[0]][:60] if close else None
