"""PostgreSQL through psycopg 3: types of columns are public; a value that Python cannot hold spoils its row alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tacit._base.extras import require

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
