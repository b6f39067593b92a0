"""Parquet files, frames with the Arrow capsule protocol and query results.

Of PostgreSQL, through psycopg 3, types of columns are public, and a value that Python cannot hold spoils its row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit._base.reading import LARGEST_EXPANDED
from tacit.errors import DataError, SettingError, UnreadableFile
from tacit.events.columns import LONGEST_TEXT, bounded, is_text, longest_text, readable
from tacit.events.mapping import ReadOptions
from tacit.events.sources import FIRST_ROW, FIRST_ROW_OF_FRAME, RawTable, SqlQuery, first_bytes


@dataclass(frozen=True, slots=True)
class TablePiece:
    """Columns that are already in memory; ``row`` gives the place of each row among ``n_rows``, others are blank."""

    columns: tuple[Any, ...]
    n_rows: int
    done: int
    row: NDArray[np.int64] | None = None

    def load(self) -> RawTable:
        """Hand them over; text that is no UTF-8, or far too long, must not stand in the way of other rows."""
        return RawTable(
            tuple(readable(bounded(column)) if is_text(column.type) else column for column in self.columns),
            self.n_rows,
            self.row,
            n_blank=0 if self.row is None else self.n_rows - len(self.row),
        )


class ParquetSource:
    """A Parquet file, read without ever holding a whole row group."""

    can_reread = True
    first_row = FIRST_ROW
    has_public_names = True

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.name = path.name
        self._path = path
        self._batch_rows = options.batch_rows
        file = self._open()
        self.total: int | None = file.metadata.num_rows
        self._schema = file.schema_arrow
        self.names: Sequence[str] = tuple(self._schema.names)
        self._check_size(file.metadata)
        file.close()

    def _check_size(self, metadata: Any) -> None:
        """Refuse a file whose row groups cannot be held: a few bytes may stand for gigabytes."""
        for group in range(metadata.num_row_groups):
            row_group = metadata.row_group(group)
            if any(
                row_group.column(one).total_uncompressed_size > LARGEST_EXPANDED for one in range(row_group.num_columns)
            ):
                raise UnreadableFile(
                    f"{self.name} holds more than {LARGEST_EXPANDED >> 30} GiB in one column of a row group. Write it "
                    "again in smaller row groups."
                )

    def kind(self, position: int) -> Any | None:
        """Return the type that the file gives a column."""
        return self._schema.types[position]

    def pieces(self, positions: Sequence[int]) -> Iterator[TablePiece]:
        """Yield the file batch by batch."""
        chosen = [self.names[position] for position in positions]
        columns = list(dict.fromkeys(chosen))
        texts = [self.names[position] for position in positions if is_text(self._schema.types[position])]
        with self._open() as plain, self._open(read_dictionary=texts) as shared:
            batches = (
                batch
                for group in range(plain.metadata.num_row_groups)
                for batch in (shared if self._has_long_text(shared, group, texts) else plain).iter_batches(
                    batch_size=self._batch_rows, row_groups=[group], columns=columns
                )
            )
            damaged = f"{self.name} is damaged: some of its rows cannot be read. Write or copy it again."
            yield from _sliced(_guarded(batches, UnreadableFile(damaged)), chosen, self._batch_rows)

    def _has_long_text(self, shared: Any, group: int, texts: Sequence[str]) -> bool:
        """Return whether rows of a row group may share a long text: spelled out, a small file could fill any memory.

        The dictionary of a column is known once its first row is read.
        """
        if not texts:
            return False
        first = next(shared.iter_batches(batch_size=1, row_groups=[group], columns=list(texts)), None)
        return first is not None and any(longest_text(column) > LONGEST_TEXT for column in first.columns)

    def _open(self, read_dictionary: Sequence[str] = ()) -> Any:
        pa, parquet = require("pyarrow", extra="events"), require("pyarrow.parquet", extra="events")
        return _attempt(
            lambda: parquet.ParquetFile(
                self._path, read_dictionary=list(read_dictionary), pre_buffer=False, buffer_size=1 << 20
            ),
            (pa.ArrowException, OSError),
            UnreadableFile(f"{self.name} is damaged: its Parquet footer cannot be read. Write or copy it again."),
        )


class ArrowSource:
    """Any object that hands out an Arrow stream: pandas, polars, pyarrow, DuckDB."""

    first_row = FIRST_ROW_OF_FRAME
    has_public_names = True

    def __init__(self, frame: Any, options: ReadOptions) -> None:
        kind = type(frame)
        self.name = f"the {kind.__module__.split('.')[0]} {kind.__name__}"
        self._frame = frame
        self._batch_rows = options.batch_rows
        # a reader, unlike a table, is used up by reading
        self.can_reread = not hasattr(frame, "read_next_batch")
        shape = getattr(frame, "shape", None)
        self.total: int | None = shape[0] if isinstance(shape, tuple) and isinstance(shape[0], int) else None
        self._reader: Any = self._open()
        self._schema = self._reader.schema
        self.names: Sequence[str] = tuple(self._schema.names)

    def kind(self, position: int) -> Any | None:
        """Return the type that the frame gives a column."""
        return self._schema.types[position]

    def pieces(self, positions: Sequence[int]) -> Iterator[TablePiece]:
        """Yield the frame batch by batch."""
        reader, self._reader = self._reader, None
        if reader is None:
            if not self.can_reread:
                raise DataError(f"{self.name} was read already and cannot be read again. Pass a table or a file.")
            reader = self._open()
        broken = DataError(f"{self.name} stopped in the middle. Check the query or computation behind it.")
        yield from _sliced(_guarded(reader, broken), positions, self._batch_rows)

    def _open(self) -> Any:
        pa = require("pyarrow", extra="events")
        return _attempt(
            lambda: pa.RecordBatchReader.from_stream(self._frame),
            (pa.ArrowException, TypeError, ValueError),
            DataError(
                f"{self.name} cannot be handed over as an Arrow table: a column holds mixed kinds of values. "
                "Convert its columns to text, dates and numbers."
            ),
        )


class SqlSource:
    """The result of a query, fetched a batch at a time."""

    can_reread = True
    first_row = FIRST_ROW
    has_public_names = True
    total: int | None = None
    name: Final = "the query's result"

    def __init__(self, query: SqlQuery, options: ReadOptions) -> None:
        self._query = query
        self._batch_rows = options.batch_rows
        with self._result() as result:
            self.names: Sequence[str] = tuple(result.keys())
            self._types = arrow_types(result) if self._is_typed else (None,) * len(self.names)

    def kind(self, position: int) -> Any | None:
        """Return the type of a column of dates of PostgreSQL; elsewhere each value may be of a kind of its own."""
        return self._types[position]

    def pieces(self, positions: Sequence[int]) -> Iterator[TablePiece]:
        """Yield the result batch by batch."""
        pa = require("pyarrow", extra="events")
        types = [self._types[position] for position in positions]
        done = 0
        with self._result() as result:
            partitions = result.partitions(self._batch_rows)
            while (rows := self._guarded(lambda: next(partitions, None))) is not None:
                chosen = [[row[position] for position in positions] for row in rows]
                for part in runs(chosen):
                    done += len(part)
                    columns = map(pa.array, zip(*part, strict=True), types)
                    yield TablePiece(tuple(columns), len(part), done)

    @contextmanager
    def _result(self) -> Iterator[Any]:
        """Run the query; its result, transaction and connection are closed at the end, and nothing is committed."""
        connection = self._connect()
        failures = require("sqlalchemy", extra="sql").exc.SQLAlchemyError
        try:
            result = self._execute(connection)
            try:
                yield result
            finally:
                with suppress(failures):  # what broke off is closed already
                    result.close()
        finally:
            with suppress(failures):
                connection.rollback()
            connection.close()

    def _connect(self) -> Any:
        sql = require("sqlalchemy", extra="sql")
        refused = SettingError(
            "url must be a SQLAlchemy URL of a database whose driver is installed, such as sqlite:///events.db; "
            "got one that is not. Check its form, and install the driver."
        )
        url = with_driver(
            _attempt(lambda: sql.make_url(self._query.url), (sql.exc.SQLAlchemyError, ValueError), refused)
        )
        self._is_typed = uses_psycopg(url)
        # whatever the environment asks for: one character beyond that encoding would end the query
        own = {"connect_args": {"client_encoding": "utf8"}} if self._is_typed else {}
        engine = _attempt(
            lambda: sql.create_engine(url, poolclass=sql.NullPool, **own),
            (sql.exc.SQLAlchemyError, ImportError, ValueError),
            refused,
        )
        if engine.url.get_backend_name() == "sqlite" and (path := _sqlite_file(engine.url)) is not None:
            first_bytes(path)  # SQLite would make a file that is missing
        if self._is_typed:
            sql.event.listen(engine, "connect", lambda own, _: prepare(own))
        return _attempt(
            lambda: engine.connect().execution_options(stream_results=True, yield_per=self._batch_rows),
            (sql.exc.SQLAlchemyError, engine.dialect.dbapi.Error, OSError),
            UnreadableFile("the database cannot be reached. Check the URL, the password and that it is running."),
        )

    def _execute(self, connection: Any) -> Any:
        sql = require("sqlalchemy", extra="sql")
        literal = self._query.query.replace(":", "\\:")  # else SQLAlchemy takes ':name' for a value to be filled in
        result = self._guarded(lambda: connection.execute(sql.text(literal)))
        if not result.returns_rows:
            raise SettingError("query must return rows. Write a SELECT.")
        return result

    def _guarded(self, action: Callable[[], Any]) -> Any:
        sql = require("sqlalchemy", extra="sql")
        # the driver's own message may quote a value
        failed = DataError("the database refused or broke off the query. Try it in the database's own shell.")
        return _attempt(action, (sql.exc.SQLAlchemyError, OSError), failed)


def _sqlite_file(url: Any) -> Path | None:
    """Return the file of a SQLite URL, None where the database is in memory."""
    name = url.database or ""
    if name.startswith("file:") and url.query.get("uri", "false").lower() in ("true", "1", "yes", "on"):
        address = urlsplit(name)
        name = unquote(address.path)
        if url.query.get("mode") == "memory":
            return None
    return None if name in ("", ":memory:") else Path(name)


def _guarded(batches: Iterator[Any], refusal: Exception) -> Iterator[Any]:
    """Yield batches of a reader, whose failures are dropped for a refusal."""
    pa = require("pyarrow", extra="events")
    while (batch := _attempt(lambda: next(batches, None), (pa.ArrowException, OSError), refusal)) is not None:
        yield batch


def _sliced(batches: Iterator[Any], columns: Sequence[int | str], batch_rows: int) -> Iterator[TablePiece]:
    done = 0
    for batch in batches:
        for start in range(0, batch.num_rows, batch_rows):
            part = batch.slice(start, batch_rows)
            done += part.num_rows
            yield TablePiece(tuple(part.column(one) for one in columns), part.num_rows, done)


def runs(rows: Sequence[Sequence[object]]) -> Iterator[list[list[object]]]:
    """Cut rows where the kind of a column changes, so that a row's kinds are its own and not its neighbours'.

    >>> [len(run) for run in runs([[1, "a"], [None, "b"], [2.5, "c"], ["x", "d"]])]
    [3, 1]
    """
    run: list[list[object]] = []
    kinds: list[str | None] = []
    for row in rows:
        own = [_kind(value) for value in row]
        if run and any(None not in (one, other) and one != other for one, other in zip(own, kinds, strict=True)):
            yield run
            run = []
        kinds = [one if one is not None else other for one, other in zip(own, kinds, strict=True)] if run else own
        run.append([_plain(value) for value in row])
    if run:
        yield run


def _kind(value: object) -> str | None:
    """Return the kind of a value: those of one kind may stand in one Arrow array without changing each other."""
    value = _plain(value)
    if isinstance(value, datetime):
        return "instant" if value.tzinfo is not None else "datetime"
    if isinstance(value, float) or (type(value) is int and abs(value) <= _EXACT):
        return "number"
    return None if value is None else type(value).__name__


def _plain(value: object) -> object:
    """Return a value as one of a few types: what is none of them becomes text."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            return None
        value = int(value) if value == value.to_integral_value() and abs(value) < _LEAST_BIG else float(value)
    if isinstance(value, (memoryview, bytearray)):
        value = bytes(value)
    if type(value) is int and not -_LEAST_BIG <= value < _LEAST_BIG:
        return str(value)
    return value if value is None or type(value) in _TYPES else str(value)


_TYPES: Final = (str, int, float, bool, bytes, date, datetime)
_LEAST_BIG: Final = 2**63  # no longer a 64-bit integer
_EXACT: Final = 2**53  # up to here a float tells every integer from the next


def _attempt(action: Callable[[], Any], failures: tuple[type[BaseException], ...], error: Exception) -> Any:
    """Run an action; its failure, whose text may quote the data, is dropped for the error given."""
    try:
        return action()
    except failures:
        pass
    raise error


EXTRA: Final = "postgres"
_DATES: Final = ("date", "timestamp", "timestamptz")
_AS_THEY_ARE: Final = ("bool", "int2", "int4", "int8", "float4", "float8", "numeric")
"""Types whose every value psycopg can read."""


def with_driver(url: Any) -> Any:
    """Return a SQLAlchemy URL that names psycopg 3 where it names no driver, and ask for the extra."""
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if uses_psycopg(url):
        require("psycopg", extra=EXTRA)
    return url


def uses_psycopg(url: Any) -> bool:
    """Return whether a SQLAlchemy URL is read through psycopg 3."""
    return bool(url.drivername == "postgresql+psycopg")


def prepare(connection: Any) -> None:
    """Let a connection read only, and give every value that psycopg might refuse a reader of its own.

    An infinite date, or one beyond the years 1 to 9999, is read as none.
    """
    types = require("psycopg", extra=EXTRA).adapters.types
    connection.read_only = True
    for info in types:
        if info.name in _DATES:
            connection.adapters.register_loader(info.oid, _loader(_date_reader(connection, info.oid)))
        elif info.name not in _AS_THEY_ARE:
            connection.adapters.register_loader(info.oid, _loader(bytes.decode))
        if info.array_oid:
            connection.adapters.register_loader(info.array_oid, _loader(bytes.decode))


def arrow_types(result: Any) -> tuple[Any | None, ...]:
    """Return the Arrow types of the columns of a result that hold dates; None for all others."""
    pa, types = require("pyarrow", extra="events"), require("psycopg", extra=EXTRA).adapters.types
    dates = dict(zip(_DATES, (pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")), strict=True))
    by_oid = {types[name].oid: kind for name, kind in dates.items()}
    return tuple(by_oid.get(column.type_code) for column in result.cursor.description)


def _loader(read: Callable[[bytes], object]) -> Any:
    loader = require("psycopg.adapt", extra=EXTRA).Loader
    return type("OwnLoader", (loader,), {"load": lambda _, data: read(bytes(data))})


def _date_reader(connection: Any, oid: int) -> Callable[[bytes], object]:
    psycopg = require("psycopg", extra=EXTRA)
    usual = connection.adapters.get_loader(oid, psycopg.pq.Format.TEXT)(oid, connection)

    def read(data: bytes) -> object:
        try:
            return usual.load(data)
        except (psycopg.DataError, OverflowError, ValueError):  # its text quotes the value
            return None

    return read
