"""Digests by which a ledger knows the same events again, and which rows a run of reports counts.

**Of events** (:class:`DayDigest`), the same in another file, format or row order. Each event is mixed with a secret
key into two 64-bit words; a day's digest is the sum of the words of its events. Sums forget the order, and a row that
counts three events adds what three rows would. Places enter by their name, so that the order of the cells does not
matter either. Kinds do not enter: the same events are known with and without them. The mix is fast, not a cipher: the
key makes the digests of different ledgers differ, and whoever has it can test a guess of a day's events. Guard both
like the events.

**Of the public settings that decide which rows are counted.** A row sends a report if it can be read, if conditions
keep it, and if its time, its place and (where kinds are counted) its kind are among those that are counted. Each of
these four is decided by other columns, so that each has a digest of its own: equal digests mean that the same rows are
counted, whatever they hold. The ledger compares them (:mod:`tacit.privacy.following`). No row has a say in them. Two
settings that count the same rows may have different digests, never the reverse. A coarser level of the same table is
such a case only in part: it knows the names of its own cells too, and towns of one name in one cell. Where events of
any place or kind are counted, elsewhere or as other, lists and levels decide nothing.
"""

from __future__ import annotations

import codecs
import hashlib
import json
from copy import copy
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import Words, mix
from tacit.domain import Domain, NamedAxis, TimeAxis
from tacit.domain.names import fold_name
from tacit.errors import SettingError
from tacit.events.interpret import EventBatch
from tacit.events.mapping import EventColumns, ReadOptions, fold_column

_MIN_KEY_BYTES: Final = 16  # 128 bits, which nobody guesses
_DAY: Final = 86_400  # seconds
_NO_DAYS: Final = np.empty((2, 0), np.uint64)
_ROWS_AT_ONCE: Final = 1 << 14
"""Rows that are mixed together: their words stay near the processor. Four times as many take a fifth longer."""


class DayDigest:
    """Keeps one digest of 16 bytes for every calendar day, on the axis' wall clock, that holds an event.

    By them a ledger knows events under a plan of any step. Digests of parts of a source add up: ``+`` is associative
    and commutative, and a new digest is its zero.

    >>> from tacit.domain import PlaceAxis, TimeAxis
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-31"), PlaceAxis.of(["North", "South"]))
    >>> DayDigest(bytes(16), domain).digests()
    {}
    """

    def __init__(self, key: bytes, domain: Domain) -> None:
        if len(key) < _MIN_KEY_BYTES:
            raise SettingError(
                f"key must have at least {_MIN_KEY_BYTES} bytes; got {len(key)} bytes. "
                "Draw it with secrets.token_bytes(32)."
            )
        # what may be sent to other machines: words that the key gives, not the key
        self._domain = domain
        self._keys = _words(key, b"keys", 4)
        self._place_words = np.stack([_words(key, b"place:" + cell.encode(), 2) for cell in domain.place.cells], axis=1)
        self._first_day, self._sums = 0, _NO_DAYS

    def update(self, batch: EventBatch) -> None:
        """Add the events of a batch."""
        if not len(batch):
            return
        seconds = batch.seconds.astype("datetime64[s]", copy=False).view(np.int64)
        self._cover(int(seconds.min()) // _DAY, int(seconds.max()) // _DAY)
        for start in range(0, len(seconds), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            place = batch.column[rows] if self._domain.kind is None else batch.column[rows] // self._domain.n_kinds
            self._add_rows(seconds[rows], place, None if batch.count is None else batch.count[rows])

    def _add_rows(
        self, seconds: NDArray[np.int64], place: NDArray[np.integer[Any]], count: NDArray[np.int64] | None
    ) -> None:
        day = seconds // _DAY - self._first_day
        for lane in range(2):
            first_key, second_key = self._keys[2 * lane : 2 * lane + 2]
            word = mix(mix(mix(seconds.view(np.uint64) + first_key) ^ self._place_words[lane][place]) + second_key)
            if count is not None:
                word *= count.view(np.uint64)
            np.add.at(self._sums[lane], day, word)

    def _cover(self, first: int, last: int) -> None:
        """Make room for these days, counted from 1970 on."""
        n_days = self._sums.shape[1]
        if n_days:
            first, last = min(first, self._first_day), max(last, self._first_day + n_days - 1)
        if last - first + 1 > n_days:
            wider = np.zeros((2, last - first + 1), np.uint64)
            wider[:, self._first_day - first :][:, :n_days] = self._sums
            self._first_day, self._sums = first, wider

    def __add__(self, other: DayDigest) -> DayDigest:
        if not isinstance(other, DayDigest):
            return NotImplemented
        if self._domain != other._domain or not np.array_equal(self._keys, other._keys):
            raise SettingError(
                "digests under different keys or over different domains cannot be added. Make both under one key and "
                "over one domain."
            )
        total = copy(self)
        total.take_over(self)
        n_days = other._sums.shape[1]
        if n_days:
            total._cover(other._first_day, other._first_day + n_days - 1)
            total._sums[:, other._first_day - total._first_day :][:, :n_days] += other._sums
        return total

    def empty(self) -> DayDigest:
        """Return a digest under the same key with no event in it."""
        zero = copy(self)
        zero._first_day, zero._sums = 0, _NO_DAYS
        return zero

    def take_over(self, other: DayDigest) -> None:
        """Take the days of another digest under the same key in place of one's own."""
        self._first_day, self._sums = other._first_day, other._sums.copy()

    def digests(self) -> dict[str, bytes]:
        """Return the digest of each day that holds an event, by its date: ``2018-01-31``."""
        found = np.flatnonzero(self._sums.any(axis=0))
        dates = (found + self._first_day).astype("datetime64[D]").astype(str).tolist()
        words = self._sums[:, found].T.astype(">u8")
        return {date: pair.tobytes() for date, pair in zip(dates, words, strict=True)}


def _words(key: bytes, what: bytes, count: int) -> Words:
    digest = hashlib.blake2b(what, key=hashlib.sha256(key).digest(), digest_size=8 * count).digest()
    return np.frombuffer(digest, ">u8").astype(np.uint64)


ANY: Final = "any"
"""Stands for a digest where every row is counted."""
_RULES: Final = 1
"""To be raised whenever dates, names or numbers are read otherwise: the same settings then count other rows."""


def of_rows(columns: EventColumns, options: ReadOptions, query: str) -> str:
    """Return the digest of what decides whether a row is read at all, and how many events it stands for."""
    conditions = {(fold_column(one.column), one.value, one.is_equal) for one in columns.conditions}
    text = [options.separator, options.quote, options.fields_span_lines]
    encoding = None if options.encoding is None else codecs.lookup(options.encoding).name
    counted = None if columns.count is None else [fold_column(columns.count), options.decimal]
    return _digest(sorted(conditions), encoding, text, counted, query)


def of_time(column: str, date_format: str | None, axis: TimeAxis, only: slice | None) -> str:
    """Return the digest of the times that are counted: a span on the clock of an axis."""
    return _digest(fold_column(column), date_format, axis.zone, *axis.span(only))


def of_place(columns: EventColumns, options: ReadOptions, axis: NamedAxis, polygons: str) -> str:
    """Return the digest of the places that are counted; ``polygons`` is that of the areas in which points count."""
    if axis.has_elsewhere or axis.is_all:
        return ANY
    named = (columns.place, columns.location, columns.latitude, columns.longitude)
    points = [options.decimal, options.crs, polygons] if columns.has_coordinates else []
    return _digest([None if name is None else fold_column(name) for name in named], points, *_names(axis))


def of_kind(column: str | None, axis: NamedAxis | None) -> str:
    """Return the digest of the kinds that are counted; without kinds all are."""
    return ANY if axis is None or column is None or axis.has_elsewhere else _digest(fold_column(column), *_names(axis))


def _names(axis: NamedAxis) -> tuple[Any, ...]:
    """Return what decides which names an axis knows: a table, its level and cells; or a list of names."""
    if axis.table is None:
        return (sorted(map(fold_name, axis.cells)),)
    return axis.table.sha256, axis.level, sorted(axis.cells)


def _digest(*settings: Any) -> str:
    return hashlib.sha256(json.dumps([_RULES, *settings]).encode()).hexdigest()
