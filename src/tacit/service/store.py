"""Where a collector keeps surveys, tallies and reports: SQLite or PostgreSQL, through one set of statements.

What is acknowledged is durable: a message is counted by one transaction that notes its id, keeps its reports and adds
to the tallies, and it is answered after the commit (see ``commits``). Here is all that is asked of the store beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import sqlalchemy as sa
from alembic.util import CommandError
from numpy.typing import NDArray
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from tacit._base.extras import require
from tacit.collection.wire import MessageFormat
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.errors import SettingError
from tacit.plan import Plan
from tacit.service.commits import Outcome, Writer
from tacit.service.failures import Failures
from tacit.service.migrations import upgrade
from tacit.service.refusals import Reason, Refused
from tacit.service.schema import ALARM, METADATA, PERIOD, REFUSAL, RUN, SURVEY, TALLY
from tacit.service.shelf import Shelf
from tacit.service.survey import Addition, Survey, is_name
from tacit.service.tokens import Tokens

_PATIENCE_SECONDS: Final = 30  # for another process to end its transaction; they take milliseconds
_MOST_WORDS: Final = 300  # letters of what a database says: two sentences; the rest names no cause
_PATIENT: Final = {"connect_timeout": "5", "tcp_user_timeout": "10000"}
"""Seconds until a server is given up that does not let us in, and milliseconds until one that went silent is. Twice as
long, senders wait twice as long to hear that they must try again; half may be too short for a busy network."""


class Store:
    """One database. Its address is SQLAlchemy's: ``sqlite:///collector.sqlite`` or ``postgresql://user@host/name``."""

    def __init__(self, url: str) -> None:
        self._engine = _engine_of(url)
        self._reader = self._engine.execution_options(tacit_reads=True)
        self._insert: Any = postgresql.insert if self._engine.dialect.name == "postgresql" else sqlite.insert
        self._kept: dict[str, Survey] = {}
        self.failures = Failures()
        self.tokens = Tokens(self._begin, self._reading)
        self.shelf = Shelf(self._begin, self._reading, self._insert)
        self._writer = Writer(self._engine)
        try:
            upgrade(self._engine)
        except (SQLAlchemyError, self._driver_error, CommandError) as problem:
            self._engine.dispose()
            raise _unopened(self._engine.url, problem) from None

    def close(self) -> None:
        self._writer.close()
        self._engine.dispose()

    @contextmanager
    def _as_refusals(self, *, is_write: bool = False) -> Iterator[None]:
        """Say that the store does not answer and why, and nothing of what was asked of it."""
        try:
            yield
        except (SQLAlchemyError, self._driver_error) as problem:
            cause = self.failures.note(problem, is_write=is_write)
            raise Refused(
                Reason.STORE,
                f"the store failed ({cause.value}). It is not known to be counted; send the same again.",
                retry_after=5,
            ) from None

    @property
    def _driver_error(self) -> type[Exception]:
        return self._engine.dialect.dbapi.Error  # type: ignore[union-attr]

    @contextmanager
    def _begin(self) -> Iterator[sa.Connection]:
        with self._as_refusals(is_write=True), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[sa.Connection]:
        """A transaction that changes nothing; in SQLite it waits for no writer."""
        with self._as_refusals(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """A transaction that sees the store as it is at its first question, whatever is written meanwhile."""
        level = {} if self._engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        with self._as_refusals(), self._reader.execution_options(**level).begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction for rows that come from another store."""
        with self._begin() as connection:
            yield connection

    def n_rows(self) -> int:
        """How many rows there are in all tables."""
        with self._reading() as connection:
            counts = [sa.select(sa.func.count()).select_from(table) for table in METADATA.sorted_tables]
            return sum(int(connection.execute(one).scalar_one()) for one in counts)

    def size(self) -> int:
        """Return how many bytes the store takes on its disk."""
        if self._engine.dialect.name == "postgresql":
            with self._reading() as connection:
                return int(connection.execute(sa.text("SELECT pg_database_size(current_database())")).scalar_one())
        path = Path(str(self._engine.url.database))
        return sum(one.stat().st_size for one in (path, path.with_name(f"{path.name}-wal")) if one.exists())

    def database(self) -> str:
        """The database and its version."""
        with self._reading() as connection:
            asked = "SELECT sqlite_version()" if self._engine.dialect.name == "sqlite" else "SHOW server_version"
            name = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[self._engine.dialect.name]
            return f"{name} {str(connection.execute(sa.text(asked)).scalar_one()).split()[0]}"

    def check(self) -> None:
        """Refuse if the database does not answer, or if the last write failed and none succeeded since.

        Nothing is written while writes succeed. After a failure one write is tried every few seconds at most.
        """
        with self._reading() as connection:
            connection.execute(sa.select(sa.func.count()).select_from(SURVEY)).scalar_one()
        if self.failures.may_probe():
            with self._begin() as connection:  # the one row that every store has; it stays as it is
                connection.execute(sa.text("UPDATE alembic_version SET version_num = version_num"))
            self.failures.wrote()
        if (cause := self.failures.of_writing) is not None:
            raise Refused(Reason.STORE, f"the store cannot write ({cause.value}).", retry_after=5)

    # surveys

    def add_survey(self, survey: Survey) -> None:
        """Make a survey; one that is there must be the same."""
        row = {
            "id": survey.id,
            "plan": survey.plan.to_json(),
            "late": survey.late,
            "is_open": survey.is_open,
            "is_simulation": survey.is_simulation,
            "n_closed": 0,
            "n_looks": 0,
        }
        with self._begin() as connection:
            connection.execute(self._insert(SURVEY).on_conflict_do_nothing(), row)
        self.survey(survey.id).check_same(survey)

    def change_survey(self, survey: Survey) -> None:
        """Let a survey that is there be as late and as open as this one. What is closed stays closed.

        Other processes see it when they ask for all surveys the next time.
        """
        changed = sa.update(SURVEY).where(SURVEY.c.id == survey.id)
        with self._begin() as connection:
            connection.execute(changed.values(late=survey.late, is_open=survey.is_open))
        self._kept.pop(survey.id, None)

    def survey(self, survey_id: str) -> Survey:
        """Return a survey. It is read and its plan verified once, and again after it was changed here."""
        if survey_id not in self._kept:
            if not is_name(survey_id):  # no database need see what is no name
                raise Refused(Reason.UNKNOWN, "there is no survey of this name.")
            with self._reading() as connection:
                row = connection.execute(sa.select(SURVEY).where(SURVEY.c.id == survey_id)).one_or_none()
            if row is None:
                raise Refused(Reason.UNKNOWN, "there is no survey of this name.")
            form = MessageFormat.of(Plan.from_dict(json.loads(row.plan)))
            self._kept[survey_id] = Survey(row.id, form, row.late, row.is_open, row.is_simulation)
        return self._kept[survey_id]

    def known(self, survey_id: str) -> Survey | None:
        """Return a survey that was read before, without asking the database."""
        return self._kept.get(survey_id)

    def surveys(self) -> list[Survey]:
        """Return all surveys, each as late and as open as it is now, whichever process changed it."""
        asked = sa.select(SURVEY.c.id, SURVEY.c.late, SURVEY.c.is_open).order_by(SURVEY.c.id)
        with self._reading() as connection:
            found = connection.execute(asked).all()
        for id, late, is_open in found:
            kept = self.survey(id)
            if (kept.late, kept.is_open) != (late, is_open):
                self._kept[id] = replace(kept, late=late, is_open=is_open)
        return [self._kept[id] for id, _, _ in found]

    # reports

    def add(self, additions: Sequence[Addition]) -> list[Outcome]:
        """Count messages in one transaction: all of them, or none if the database fails. Each counts once."""
        with self._as_refusals(is_write=True):
            outcomes = self._writer.add(additions)
        if Outcome.COUNTED in outcomes:  # else nothing was written, and nothing is known of the disk
            self.failures.wrote()
        return outcomes

    def tally(self, survey: Survey, *, n_bins: int | None = None) -> Tally:
        """The tally of all reports that were counted so far, or of the first public bins alone."""
        asked = sa.select(TALLY).where(TALLY.c.survey == survey.id)
        if n_bins is not None:
            asked = asked.where(TALLY.c.bin < n_bins)
        with self._reading() as connection:
            rows = connection.execute(asked).all()
        n_bins = max((row.bin for row in rows), default=-1) + 1 if n_bins is None else n_bins
        statistics = np.zeros((n_bins, survey.form.mechanism.n_statistics), np.int64)
        reports = np.zeros(n_bins, np.int64)
        for row in rows:
            statistics[row.bin], reports[row.bin] = np.frombuffer(row.statistics, "<i8"), row.n_reports
        label = Provenance.of_reports(survey.form.plan_id, survey.is_simulation, 0.0)
        return Tally(label, statistics, reports)

    def n_reports(self, survey: Survey) -> int:
        """How many reports were counted so far."""
        asked = sa.select(sa.func.coalesce(sa.func.sum(TALLY.c.n_reports), 0)).where(TALLY.c.survey == survey.id)
        with self._reading() as connection:
            return int(connection.execute(asked).scalar_one())

    # closing

    def n_closed(self, survey: Survey) -> int:
        """How many of its first periods are closed."""
        asked = sa.select(SURVEY.c.n_closed).where(SURVEY.c.id == survey.id)
        with self._reading() as connection:
            return int(connection.execute(asked).scalar_one())

    def close_periods(self, survey: Survey, n_periods: int) -> None:
        """Take no more reports for the first so many periods. They are never opened again."""
        changed = sa.update(SURVEY).where(SURVEY.c.id == survey.id, SURVEY.c.n_closed < n_periods)
        with self._begin() as connection:
            connection.execute(changed.values(n_closed=n_periods))

    def unmixed(self, survey: Survey) -> list[int]:
        """The closed periods whose reports are still kept as they came."""
        stop = survey.n_bins(self.n_closed(survey))
        asked = sa.select(RUN.c.bin).where(RUN.c.survey == survey.id, RUN.c.bin < stop).distinct()
        with self._reading() as connection:
            return sorted({survey.period_of(bin) for bin in connection.execute(asked).scalars()})

    def is_mixed(self, survey: Survey, period: int) -> bool:
        """Return whether the reports of a closed period are safe in a file."""
        asked = sa.select(PERIOD.c.number).where(PERIOD.c.survey == survey.id, PERIOD.c.number == period)
        with self._reading() as connection:
            return connection.execute(asked).one_or_none() is not None

    def runs(self, survey: Survey, period: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """The bins and reports of a period, in the order of random numbers."""
        asked = sa.select(RUN.c.bin, RUN.c.reports).where(self._of_period(survey, period)).order_by(RUN.c.id)
        with self._reading() as connection:
            for row in connection.execution_options(yield_per=1000).execute(asked):
                yield row.bin, np.frombuffer(row.reports, np.uint8).reshape(-1, survey.form.report_bytes)

    def forget_runs(self, survey: Survey, period: int, n_reports: int) -> None:
        """Delete the reports of a period that are safe in a file of their own, and note how many there were."""
        noted = {"survey": survey.id, "number": period, "n_reports": n_reports}
        with self._begin() as connection:
            connection.execute(self._insert(PERIOD).on_conflict_do_nothing(), noted)
            connection.execute(sa.delete(RUN).where(self._of_period(survey, period)))

    @staticmethod
    def _of_period(survey: Survey, period: int) -> sa.ColumnElement[bool]:
        bins = survey.bins_of(period)
        return sa.and_(RUN.c.survey == survey.id, RUN.c.bin >= bins.start, RUN.c.bin < bins.stop)

    # what the operator sees

    def add_refusals(self, refusals: Mapping[tuple[str, Reason], int]) -> None:
        """Add to the numbers of what was refused."""
        with self._begin() as connection:
            for (survey_id, reason), n in sorted(refusals.items(), key=lambda one: (one[0][0], one[0][1].value)):
                asked = self._insert(REFUSAL).values(survey=survey_id, reason=reason.value, n=n)
                connection.execute(
                    asked.on_conflict_do_update(index_elements=["survey", "reason"], set_={"n": REFUSAL.c.n + n})
                )

    def refusals(self, survey: Survey) -> dict[str, int]:
        """How many messages were refused for each reason."""
        asked = sa.select(REFUSAL.c.reason, REFUSAL.c.n).where(REFUSAL.c.survey == survey.id).order_by(REFUSAL.c.reason)
        with self._reading() as connection:
            return {row.reason: row.n for row in connection.execute(asked)}

    def add_alarms(self, survey: Survey, alarms: Iterable[str]) -> None:
        rows = [{"survey": survey.id, "what": one[:300]} for one in alarms]
        if rows:
            with self._begin() as connection:
                connection.execute(self._insert(ALARM).on_conflict_do_nothing(), rows)

    def alarms(self, survey: Survey) -> list[str]:
        with self._reading() as connection:
            asked = sa.select(ALARM.c.what).where(ALARM.c.survey == survey.id).order_by(ALARM.c.what)
            return list(connection.execute(asked).scalars())

    def next_look(self, survey: Survey) -> tuple[int, int]:
        """Return when the survey was restored, and the number of a look for poisoned reports since then, from 1 on."""
        changed = sa.update(SURVEY).where(SURVEY.c.id == survey.id).values(n_looks=SURVEY.c.n_looks + 1)
        with self._begin() as connection:
            row = connection.execute(changed.returning(SURVEY.c.restored_at, SURVEY.c.n_looks)).one()
            return int(row.restored_at), int(row.n_looks)


def _unopened(url: sa.URL, problem: Exception) -> SettingError:
    """Say what is wrong with a store that cannot be opened, in the words of its database, which know no password."""
    where = f"the database {url.database}" if url.drivername.startswith("postgresql") else str(url.database)
    if isinstance(problem, CommandError):  # its tables are of a step that is not known here
        return SettingError(f"the store, {where}, was made by a newer version of Tacit. Install that version.")
    said = str(getattr(problem, "orig", None) or problem).strip() or type(problem).__name__
    words = " ".join(said.split())[:_MOST_WORDS].rstrip(".?")
    if url.password and str(url.password) in words:
        words = type(problem).__name__
    return SettingError(
        f"the store, {where}, cannot be opened: {words}. Check its address, its permissions and that it runs."
    )


def _engine_of(url: str) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except SQLAlchemyError:
        raise SettingError(
            "the store's address cannot be read. Give sqlite:///FILE or postgresql://USER@HOST/NAME."
        ) from None
    if parsed.drivername == "postgresql":
        require("psycopg", extra="postgres")
        patient = {name: value for name, value in _PATIENT.items() if name not in parsed.query}
        return sa.create_engine(
            parsed.set(drivername="postgresql+psycopg").update_query_dict(patient), pool_pre_ping=True
        )
    if parsed.drivername != "sqlite" or not parsed.database or parsed.database == ":memory:":
        raise SettingError(
            "the store must be a SQLite file or a PostgreSQL database. Give sqlite:///FILE or postgresql://USER@HOST/NAME."
        )
    with suppress(OSError):  # what cannot be made is told by the database
        Path(parsed.database).touch(mode=0o600)  # for its owner alone; its journal gets the same rights
    engine = sa.create_engine(parsed, connect_args={"timeout": _PATIENCE_SECONDS})
    sa.event.listen(engine, "connect", _prepare_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _begin_sqlite(connection: sa.Connection) -> None:
    is_reading = connection.get_execution_options().get("tacit_reads", False)
    connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")


def _prepare_sqlite(connection: Any, _: object) -> None:
    """A journal that survives a crash, on the disk before a commit returns; what is deleted is overwritten."""
    connection.isolation_level = None  # so that transactions begin as we say
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")
