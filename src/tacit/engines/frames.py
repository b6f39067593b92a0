"""Spark's frames, Parquet files, tables and CSV files as sources: their columns, and how tasks make tables of them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tacit.engines.session import speaking
from tacit.engines.tasks import FrameTables, LineTables, Tables
from tacit.errors import SettingError
from tacit.events import ReadOptions
from tacit.events.csv_source import CsvLayout, CsvSource
from tacit.events.sources import FIRST_ROW, Piece, first_bytes, format_of

_KINDS: Final = {
    "string": pa.string(),
    "varchar": pa.string(),
    "char": pa.string(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal128(38, 0),
}
"""The Arrow type of each of Spark's; 38 digits are the most that a decimal of either has."""
_PATTERN: Final = re.compile(r"[\\{}\[\]*?]")  # what has a meaning in a pattern of Hadoop's
_OF_SEVERAL_BYTES: Final = ("utf-16", "utf-32")  # encodings in which a line end is no single byte


class FrameSource:
    """A frame of Spark: Parquet files, a table, or the result of a query.

    Rows are numbered in the order in which Spark would collect them, from 2 on as in files: for one Parquet file that
    is the file's own.
    """

    can_reread = True
    first_row = FIRST_ROW
    has_public_names = True
    total: int | None = None

    def __init__(self, frame: DataFrame, options: ReadOptions | None = None, *, name: str = "the Spark frame") -> None:
        self.name = name
        self.session: SparkSession = frame.sparkSession
        self._frame = frame
        self._batch_rows = (options or ReadOptions()).batch_rows
        with speaking(self.session, name):
            self.names: Sequence[str] = tuple(frame.columns)
            self._types = [field.dataType for field in frame.schema.fields]

    def kind(self, position: int) -> Any | None:
        """The Arrow type that a column comes in; one without columns for what can hold no date."""
        return _KINDS.get(self._types[position].typeName(), pa.struct([]))

    def pieces(self, positions: Sequence[int]) -> Iterator[Piece]:
        """Refuse: rows stay where they are."""
        return _refuse(self.name)

    def chosen(self, positions: Sequence[int]) -> DataFrame:
        """The frame of these columns alone, in this order."""
        return self._frame.toDF(*(f"c{number}" for number in range(len(self.names)))).select(
            *(F.col(f"c{position}").alias(f"p{place}") for place, position in enumerate(positions))
        )

    def tables(self, positions: Sequence[int]) -> Tables:
        """How a task makes tables of batches of :meth:`chosen`."""
        return FrameTables(self._batch_rows)


class LineSource:
    """A CSV file that Spark cuts into lines; the parser is that of one machine, and so are the rows set aside."""

    can_reread = True
    total: int | None = None

    def __init__(self, session: SparkSession, path: Path, options: ReadOptions) -> None:
        self.session = session
        self.name = path.name
        if options.fields_span_lines:
            raise SettingError(
                f"{self.name}: fields that span lines are not read by Spark, which cuts the file between lines. Read "
                "it on this machine alone, or save it as Parquet."
            )
        encoding = codecs.lookup(options.encoding or "utf-8").name
        if encoding.startswith(_OF_SEVERAL_BYTES):
            raise SettingError(
                f"{self.name}: text in {encoding} cannot be cut into lines by Spark. Read it on this machine alone, or "
                "save it as utf-8."
            )
        head = CsvSource(path, options)  # reads the column names, and refuses what is no such file
        self.names: Sequence[str] = head.names
        self.has_public_names, self.first_row = head.has_public_names, head.first_row
        self._path = path
        self._options = options
        self._encoding = "utf-8" if encoding.startswith("utf-8") else encoding
        self._layout = CsvLayout(len(self.names), options.separator or ",", options.quote)

    def kind(self, position: int) -> Any | None:
        """Text, in every column."""
        return None

    def pieces(self, positions: Sequence[int]) -> Iterator[Piece]:
        """Refuse: rows stay where they are."""
        return _refuse(self.name)

    def chosen(self, positions: Sequence[int]) -> DataFrame:
        """The lines of the file, as bytes."""
        return self.session.read.text(literal(self._path)).select(F.col("value").cast("binary").alias("line"))

    def tables(self, positions: Sequence[int]) -> Tables:
        """How a task makes tables of lines."""
        options = self._options
        return LineTables(options.batch_rows, self._layout, tuple(positions), self._encoding, options.header_lines)


SparkSource = FrameSource | LineSource


def open_named(session: SparkSession, name: str, options: ReadOptions) -> SparkSource:
    """Open a Parquet or CSV file, a folder of Parquet files, an address that Spark knows, or one of its tables."""
    path = Path(name)
    shown = _without_user(name) if "://" in name else path.name or name
    if "://" in name or path.is_dir():
        with speaking(session, shown):
            return FrameSource(session.read.parquet(name if "://" in name else literal(path)), options, name=shown)
    if path.is_file() or path.name != name:  # a table has no folder
        first_bytes(path)  # refuses a file that is not there
        kind = options.format or format_of(path)
        if kind == "csv.gz" and path.suffix != ".gz":
            raise SettingError(f"{shown} is compressed, which Spark knows by the name alone. Let it end in .gz.")
        if kind in ("csv", "csv.gz"):
            return LineSource(session, path, options)
        if kind != "parquet":
            raise SettingError(f"{shown}: Spark reads Parquet, CSV and tables here. Read it on this machine alone.")
        with speaking(session, shown):
            return FrameSource(session.read.parquet(literal(path)), options, name=shown)
    with speaking(session, shown):
        return FrameSource(session.table(name), options, name=name)


def literal(path: Path) -> str:
    r"""Return the pattern that Spark takes for this very path: its own paths are patterns, and ``[1]`` means 1.

    >>> literal(Path("/data/events[1].parquet"))
    '/data/events\\[1\\].parquet'
    """
    return _PATTERN.sub(r"\\\g<0>", str(path.absolute()))


def _without_user(address: str) -> str:
    """Return an address without the name and password that it may hold."""
    scheme, _, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _refuse(name: str) -> NoReturn:
    raise SettingError(f"the rows of {name} are read by Spark alone. Open the file itself to read it here.")
