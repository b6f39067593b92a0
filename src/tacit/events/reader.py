"""Events from a source, in batches, with every row accounted for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tacit.domain import Domain
from tacit.errors import DataError, NotDescribed, Remedy, SettingError
from tacit.events import digest
from tacit.events.badrows import BadRowFile, BadRowSummary, check_list, refuse_bad_rows, write_list
from tacit.events.columns import is_text
from tacit.events.contribution_bound import BoundedCount, Contributed, ContributionBound, PersonCounter, PersonCounts
from tacit.events.counts import CountKeeper, EventCounts, TableWatcher
from tacit.events.dates import DateForm, holds_dates, parse_date_format
from tacit.events.digest import DayDigest
from tacit.events.interpret import EventBatch, Interpreted, Interpreter
from tacit.events.mapping import EventColumns, ReadOptions, find_column, fold_column, looks_like_data, wanted_columns
from tacit.events.passes import Added, Engine, Pass, Progress, Reading, RowAccount, TableReader
from tacit.events.places import PointLocator, Polygons
from tacit.events.sources import Source, SqlQuery, open_source, rows_of


def open_events(
    source: object,
    *,
    columns: EventColumns,
    domain: Domain,
    options: ReadOptions | None = None,
    engine: Engine | None = None,
) -> Events:
    """Open a CSV or Parquet path, a :class:`SqlQuery`, or any frame with the Arrow capsule protocol.

    With an ``engine`` the source is one of its own, and the engine reads it (:mod:`tacit.engines`).

    Settings, columns and polygons are checked here; rows are read by :meth:`Events.batches` and
    :meth:`Events.count`. What is done with a row depends on that row and on these settings alone, so text needs a
    ``date_format``, and a CSV file an ``encoding`` and a ``separator`` too: take them from a
    :class:`~tacit.events.SourceDescription`, which :func:`~tacit.events.propose_source` proposes.

    >>> import pyarrow as pa
    >>> from tacit.domain import PlaceAxis, TimeAxis
    >>> table = pa.table({"SDate": ["2018-01-01 08:08", "2018-01-02"], "Town": ["south", "South"]})
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-02"), PlaceAxis.of(["North", "South"]))
    >>> columns, written = EventColumns(time="SDate", place="Town"), ReadOptions(date_format="year-first")
    >>> open_events(table, columns=columns, domain=domain, options=written).count().counts
    array([[0, 1],
           [0, 1]])
    """
    options = options or ReadOptions()
    if domain.kind is None:
        columns = replace(columns, kind=None)  # a description may name a column that is not counted by
    elif columns.kind is None:
        raise SettingError(
            "the kinds of events are counted, and no column is named that holds them.", remedy=Remedy.NAME_KINDS
        )
    if domain.place.is_all:  # then it does not matter where an event was
        columns = replace(columns, place=None, location=None, latitude=None, longitude=None)
    elif columns.place is None and not columns.has_coordinates:
        raise SettingError(
            "place must be the name of a column when no coordinates are given. Name the column of towns, or location, "
            "or latitude and longitude; or count in all, wherever events are."
        )
    if columns.has_coordinates and options.polygons is None:
        raise SettingError(
            "polygons must be given to place events by their coordinates; got polygons=None. "
            "Give a GeoJSON file, or leave out the columns of coordinates."
        )
    if options.zone is not None and options.zone != domain.time.zone:
        raise SettingError(
            f"zone must be that of the source's clocks, {options.zone}; got zone={domain.time.zone}. "
            "Count in the zone of the source, or correct its description."
        )
    if options.bad_rows is not None:
        check_list(Path(options.bad_rows))
    opened: Source = open_source(source, options=options) if engine is None else cast(Source, source)
    wanted = wanted_columns(columns, with_coordinates=True)
    positions = find_columns(opened, wanted, are_public=opened.has_public_names)
    locator = _locator(domain, options) if columns.has_coordinates else None
    query = source.query if isinstance(source, SqlQuery) else ""
    return Events(opened, positions, columns, domain, options, locator, query, engine)


def find_columns(source: Source, wanted: dict[str, str], *, are_public: bool = False) -> dict[str, int]:
    """Return the position of each wanted column, the column of dates first.

    Unless the names ``are_public``, they may be a first event in a file without column names; where none is found, no
    message repeats them.
    """
    folded = {fold_column(name) for name in source.names}
    may_quote = are_public or (
        any(fold_column(name) in folded for name in wanted.values()) and not looks_like_data(source.names)
    )
    return {
        part: find_column(source.names, name, role=part.rstrip("0123456789"), source=source.name, may_quote=may_quote)
        for part, name in wanted.items()
    }


def form_of_dates(source: Source, position: int, options: ReadOptions) -> DateForm:
    """Return the form of the column of dates; refuse one that holds none, and text that nothing describes."""
    kind = source.kind(position)
    if kind is not None and not holds_dates(kind):
        raise DataError(
            f"{source.name}: the column of dates holds {kind}, not dates or text. "
            "Name another column as time, or convert it to dates."
        )
    if options.date_format is not None:
        return parse_date_format(options.date_format)
    if kind is None or is_text(kind):
        raise NotDescribed(
            f"{source.name} may hold its dates as text, and nothing says how they are written. Give date_format: "
            "year-first, day-first, month-first or a pattern such as %d.%m.%Y."
        )
    return DateForm()


class Events:
    """A table of events, ready to be read, as often as its source allows.

    After a reading, :attr:`n_rows`, :attr:`n_left_out` and :attr:`bad_rows` account for its rows.
    """

    def __init__(
        self,
        source: Source,
        positions: dict[str, int],
        columns: EventColumns,
        domain: Domain,
        options: ReadOptions,
        locator: PointLocator | None,
        query: str = "",
        engine: Engine | None = None,
    ) -> None:
        self.domain = domain
        self._engine = engine
        self.columns = columns
        self.options = options
        self._source = source
        self._query = query
        self._polygons = "" if locator is None else locator.digest
        self._positions = positions
        self._form = form_of_dates(source, positions["time"], options)
        self._interpreter = Interpreter(
            domain,
            tuple(positions),
            columns.conditions,
            options,
            locator,
        )
        self._account = RowAccount()

    def __repr__(self) -> str:
        return f"Events({self.name!r})"

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return self._source.name

    @property
    def n_rows(self) -> int:
        """The rows read so far, blank ones apart: counted, left out, or bad."""
        return self._account.n_rows

    @property
    def n_left_out(self) -> int:
        """The rows that ``where`` left out, and those of other time bins than were asked for."""
        return self._account.n_left_out

    @property
    def bad_rows(self) -> BadRowSummary:
        """The rows set aside so far."""
        return replace(self._account.bad.summary(), rows_of=rows_of(self._source))

    def selection(self, only: slice | None = None) -> dict[str, str]:
        """Return digests of the public settings that decide which rows :meth:`batches` gives, for a ledger."""
        columns, options, domain = self.columns, self.options, self.domain
        return {
            "rows": digest.of_rows(columns, options, self._query),
            "time": digest.of_time(columns.time, options.date_format, domain.time, only),
            "place": digest.of_place(columns, options, domain.place, self._polygons),
            "kind": digest.of_kind(columns.kind, domain.kind),
        }

    def batches(
        self, *, progress: Progress | None = None, digest: DayDigest | None = None, only: slice | None = None
    ) -> Iterator[EventBatch]:
        """Yield the good rows in order, a batch at a time; ``only`` those of some time bins. ``digest`` is fed with
        them and, as by :meth:`count`, with the events that lack nothing but a kind or a user.

        Under strict reading the whole source is read once before the first batch, so that nothing is handed out of one
        that is refused; a source that can be read only once is refused at its first bad batch.
        """
        is_strict = self.options.strict
        if is_strict and self._source.can_reread:
            for made, first_row in self._read(None, only=only):
                self._account.add(made, first_row)
            refuse_bad_rows(self.name, self.bad_rows)
        for made, first_row in self._read(progress, only=only):
            self._account.add(made, first_row)
            if is_strict:
                refuse_bad_rows(self.name, self.bad_rows)
            if digest is not None:
                digest.update(made.events)
                digest.update(made.incomplete)
            if len(made.events):
                yield made.batch(first_row)

    def total(
        self,
        start: Added,
        *,
        progress: Progress | None = None,
        digest: DayDigest | None = None,
        bound: ContributionBound | None = None,
        only: slice | None = None,
    ) -> Added:
        """Return what all events add up to, from a sum that is empty, in one pass; ``digest`` is fed along the way.

        ``only`` takes the events of some time bins. Under strict reading bad rows are refused at the end.
        """
        done = Pass(start, digest)
        if self._engine is None:
            self._run(done, progress, bound, only)
            return done.total
        empty = self._empty(start, digest)
        positions = tuple(self._positions.values())
        return self._taken(self._engine.run(self._source, positions, self._reader(bound, only), empty), digest)

    def _empty(self, start: Added, digest: DayDigest | None) -> Pass[Added]:
        """The pass that an engine begins with."""
        account = RowAccount(listed=None if self.options.bad_rows is None else [])
        return Pass(start, None if digest is None else digest.empty(), account)

    def _taken(self, done: Pass[Added], digest: DayDigest | None) -> Added:
        """Take over what an engine made of all rows."""
        self._account = done.account
        if self.options.bad_rows is not None:
            write_list(Path(self.options.bad_rows), done.account.listed or [])
        if digest is not None and done.digest is not None:
            digest.take_over(done.digest)
        if self.options.strict:
            refuse_bad_rows(self.name, self.bad_rows)
        return done.total

    def count(
        self,
        *,
        progress: Progress | None = None,
        digest: DayDigest | None = None,
        bound: ContributionBound | None = None,
        contributed: Contributed | None = None,
        first_bin: int = 0,
    ) -> EventCounts:
        """Count the events of every cell exactly, in one pass; ``digest`` is fed along the way.

        With a ``bound`` only so many events of each person in each of its windows are counted
        (:mod:`tacit.events.contribution_bound`), less what was ``contributed`` before, and none before ``first_bin``.
        The digest takes in all events, those without a user or a kind too: it is that of the same events read without
        columns of users and kinds.
        """
        if bound is not None:
            self._check_users()
            keeper = CountKeeper(self.domain, self.name, rows_of=rows_of(self._source))
            return self._count_bounded(BoundedCount(bound, keeper, contributed, first_bin), keeper, digest, progress)
        is_table = self.columns.count is not None and self.columns.user is None
        of = rows_of(self._source)
        watcher = TableWatcher(with_kinds=self.domain.kind is not None, rows_of=of) if is_table else None
        keeper = CountKeeper(self.domain, self.name, watcher, rows_of=of)
        return self._finished(self.total(keeper, progress=progress, digest=digest))

    def _count_bounded(
        self, bounded: BoundedCount, keeper: CountKeeper, digest: DayDigest | None, progress: Progress | None
    ) -> EventCounts:
        with closing(bounded):
            if self._engine is None:
                self._run(Pass(bounded, digest), progress, bounded.bound)
                bounded.count()
            else:
                empty = self._empty(bounded, digest)
                positions = tuple(self._positions.values())
                reader = self._reader(bounded.bound, None)
                bounded = self._taken(self._engine.run_bounded(self._source, positions, reader, empty), digest)
                keeper = bounded.keeper
        return replace(self._finished(keeper), n_beyond=bounded.n_beyond, n_rows_beyond=bounded.n_rows_beyond)

    def count_persons(
        self,
        grid: Sequence[int],
        *,
        key: bytes,
        window: str | None = None,
        progress: Progress | None = None,
        digest: DayDigest | None = None,
    ) -> PersonCounts:
        """Count the persons of at most so many events, for each number of an ascending grid, in one pass.

        With a ``window`` a person counts once in each. The ``key`` tells persons apart, and decides nothing.
        """
        self._check_users()
        with closing(PersonCounter(grid)) as counter:
            self._run(Pass(counter, digest), progress, ContributionBound(1, None, window, key=key))
            return replace(counter.counts(), bad_rows=self.bad_rows)

    def _check_users(self) -> None:
        if self.columns.user is None:
            raise SettingError(
                "user must be the name of a column where the events of a person are bounded; got user=None. "
                "Name the column that tells persons apart, or count events without a bound."
            )

    def _finished(self, keeper: CountKeeper) -> EventCounts:
        return keeper.finish(n_rows=self.n_rows, n_left_out=self.n_left_out, bad_rows=self.bad_rows)

    def _run(
        self, done: Pass[Any], progress: Progress | None, bound: ContributionBound | None, only: slice | None = None
    ) -> None:
        """Take all rows in, here."""
        for made, first_row in self._read(progress, bound, only, done.account):
            done.take(made, first_row)
        if self.options.strict:
            refuse_bad_rows(self.name, self.bad_rows)

    def _reader(self, bound: ContributionBound | None, only: slice | None) -> TableReader:
        return TableReader(self.name, self.domain, self._interpreter, self._form, bound, only)

    def _read(
        self,
        progress: Progress | None,
        bound: ContributionBound | None = None,
        only: slice | None = None,
        account: RowAccount | None = None,
    ) -> Iterator[tuple[Interpreted, int]]:
        """Yield what is made of each table, and the number of its first row; who takes it in keeps the account."""
        self._account = account if account is not None else RowAccount()
        reading = Reading(self._source, tuple(self._positions.values()), self._reader(bound, only).read)
        path = self.options.bad_rows
        with nullcontext() if path is None else closing(BadRowFile(Path(path))) as listed:
            for first_row, made in reading.run(progress):
                if listed is not None:
                    listed.add(made.bad, first_row)
                yield made, first_row


def _locator(domain: Domain, options: ReadOptions) -> PointLocator:
    polygons = options.polygons
    if not isinstance(polygons, Polygons):
        assert polygons is not None
        polygons = Polygons.read(polygons, crs=options.polygons_crs, name_property=options.polygons_name)
    return polygons.locator(domain.place)
