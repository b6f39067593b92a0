"""Queries of a real PostgreSQL server: every type of date, text of any kind, refusals without values or passwords."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from postgres_server import PASSWORD, Server
from small_worlds import DOUBS
from tacit.errors import DataError, MissingExtra, UnreadableFile
from tacit.events import EventColumns, ReadOptions, SqlQuery, scan_span
from tacit.events.badrows import Reason
from tacit.events.sources import open_source

Count = Callable[..., Any]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        # half past midnight in Paris is the day before in UTC and in New York, where the server is
        ("timestamptz '2018-06-02 00:30+02', timestamptz '2018-06-01 23:30Z'", [152, 152]),
        ("timestamp '2018-06-02 00:30', timestamp '2018-06-01 23:30'", [152, 151]),
        ("date '2018-06-02', date '2018-06-01'", [152, 151]),
        ("'2018-06-02'::text, '2018-06-01'::varchar(10)", [152, 151]),
    ],
    ids=["with zone", "without zone", "date", "text"],
)
def test_dates_of_every_type_fall_on_their_day(postgres: Server, count: Count, dates: str, days: list[int]) -> None:
    query = f'select unnest(array[{dates}]) as "SDate", \'Ornans\' as "Town"'
    counts = count(SqlQuery(postgres.url(), query))
    assert counts.counts.sum(axis=1).nonzero()[0].tolist() == sorted(set(days))
    assert counts.n_counted == 2


def test_typed_dates_need_no_form_of_dates_and_text_does(postgres: Server) -> None:
    query = "select now() as at, current_date as day, '2018-01-01'::text as written, 7 as n"
    source = open_source(SqlQuery(postgres.url(), query), options=ReadOptions())
    assert [str(source.kind(position)) for position in range(4)] == [
        "timestamp[us, tz=UTC]",
        "date32[day]",
        "None",
        "None",
    ]


def test_a_date_that_python_cannot_hold_spoils_its_own_row_alone(postgres: Server, count: Count) -> None:
    for kind in ("timestamptz", "timestamp", "date"):
        dates = f"unnest(array['infinity', '-infinity', '20000-01-01', '0044-03-15 BC', '2018-01-01', null]::{kind}[])"
        counts = count(SqlQuery(postgres.url(), f'select {dates} as "SDate", \'Ornans\' as "Town"'))
        assert (counts.n_rows, counts.n_counted) == (6, 1)
        assert counts.bad_rows.counts == {Reason.NO_DATE: 5}


def test_numbers_count_and_others_are_read_as_text(postgres: Server, count: Count) -> None:
    query = """select date '2018-01-01' as "SDate", town as "Town", n as "N" from (values
        ('Ornans', 2::numeric), ('Ornans', 1e1), ('Ornans', 1.5), ('Ornans', 'NaN'), ('Atlantis', 3)) v(town, n)"""
    counts = count(SqlQuery(postgres.url(), query), count="N")
    assert counts.n_events == 12
    assert counts.bad_rows.counts == {Reason.BAD_COUNT: 1, Reason.NO_COUNT: 1, Reason.UNKNOWN_PLACE: 1}
    odd = 'select date \'2018-01-01\' as "SDate", {} as "Town"'
    for value in ("array['Atlantis']", "'{\"a\": [1]}'::json", "interval '1 day'", "'\\x00'::bytea", "point '(1,2)'"):
        assert count(SqlQuery(postgres.url(), odd.format(value))).bad_rows.counts == {Reason.UNKNOWN_PLACE: 1}
    assert count(SqlQuery(postgres.url(), odd.format("'Ornans'::char(9)"))).n_counted == 1


def test_text_is_read_in_any_encoding_that_is_declared(postgres: Server, count: Count, monkeypatch) -> None:
    postgres.run(
        "create database raw encoding 'SQL_ASCII' template template0; \\c raw\n"
        "create table t as select date '2018-01-01' as \"SDate\", convert_from(b, 'SQL_ASCII') as \"Town\""
        " from unnest(array['\\x4f726e616e73', '\\x426573616ee76f6e'::bytea]) b;"
    )
    with pytest.raises(DataError, match="refused or broke off the query"):
        count(SqlQuery(postgres.url("raw"), "select * from t"))
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    signs = "select date '2018-01-01' as \"SDate\", unnest(array['Ornans', '東京']) as \"Town\""
    assert count(SqlQuery(postgres.url(), signs)).bad_rows.counts == {Reason.UNKNOWN_PLACE: 1}


def test_signs_of_sql_are_read_as_the_server_reads_them(postgres: Server, count: Count) -> None:
    query = "select '2018-01-01'::date as \"SDate\", 'Ornans' as \"Town\" where 'a:b %s 10%' like '%:b%' and 7 % 4 = 3"
    assert count(SqlQuery(postgres.url().replace("postgresql", "postgres", 1), query)).n_counted == 1


def test_rows_come_in_batches_before_the_last_is_made(postgres: Server) -> None:
    endless = "select date '2018-01-01' as \"SDate\", generate_series(1, 1000000000000) as n"
    # a client that waits for all rows is stopped by the server
    url = postgres.url() + "&options=-c%20statement_timeout%3D30s"
    source = open_source(SqlQuery(url, endless), options=ReadOptions(batch_rows=1000))
    with closing(source.pieces([0, 1])) as pieces:
        assert [next(pieces).n_rows for _ in range(3)] == [1000] * 3


def test_the_span_is_that_of_the_dates(postgres: Server) -> None:
    query = "select generate_series(timestamp '2018-02-01', '2018-03-01', '1 hour') as at, 'x' as town"
    span = scan_span(SqlQuery(postgres.url(), query), columns=EventColumns("at", "town"), zone="Europe/Paris")
    assert (str(span.first)[:10], str(span.last)[:10], span.n_rows) == ("2018-02-01", "2018-03-01", 28 * 24 + 1)


def test_nothing_is_written_and_refusals_show_no_value(postgres: Server, count: Count) -> None:
    postgres.run("create table kept as select 1 as n; create sequence numbers;")
    fails = "select date '2018-01-01' as \"SDate\", ('hidden' || i)::int as \"Town\" from generate_series(1, 2) i"
    for query in ("delete from kept", "select nextval('numbers')", "select * from nowhere", "select 'hidden", fails):
        with pytest.raises(DataError, match="refused or broke off the query") as refused:
            count(SqlQuery(postgres.url(), query))
        assert refused.value.__cause__ is None
        assert refused.value.__context__ is None
        assert "hidden" not in str(refused.value)


def test_a_wrong_password_or_host_is_refused_and_not_shown(postgres: Server, count: Count) -> None:
    for url in (postgres.url(password="wrong-word"), f"postgresql://reader:{PASSWORD}@/postgres?host=/nowhere"):
        with pytest.raises(
            UnreadableFile, match=r"database cannot be reached\. Check the URL, the password"
        ) as refused:
            count(SqlQuery(url, "select 1"))
        assert refused.value.__context__ is None
        assert not any(word in str(refused.value) for word in ("wrong-word", PASSWORD, "nowhere"))


def test_a_connection_that_is_cut_is_a_sentence(postgres: Server) -> None:
    endless = "select date '2018-01-01' as \"SDate\", generate_series(1, 1000000000000) as n"
    source = open_source(SqlQuery(postgres.url(), endless), options=ReadOptions(batch_rows=1000))
    pieces = source.pieces([0, 1])
    next(pieces)
    postgres.run(
        "select pg_terminate_backend(pid) from pg_stat_activity"
        " where usename = current_user and pid <> pg_backend_pid();"
    )
    with pytest.raises(DataError, match="refused or broke off the query"):
        all(piece.n_rows for piece in pieces)


def test_the_extra_is_named_where_it_is_missing(count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"this needs psycopg.* pip install 'tacit\[postgres\]'"):
        count(SqlQuery("postgresql://reader@localhost/city", "select 1"))


def test_the_shell_counts_a_table_and_never_shows_an_address_with_a_password(postgres: Server, tacit, tmp_path) -> None:
    postgres.run(
        "create table visits as"
        " select timestamptz '2025-04-03 10:00Z' as day, 'Ornans' as town, '03/04/2025' as written;"
    )
    query = ("--query", "select * from visits", "--place", "town")
    said = ""
    for words in (
        ("check", *DOUBS, postgres.url(), *query, "--time", "written"),
        ("check", *DOUBS, postgres.url(), *query, "--time", "day", "--source", "v.source.toml", "--confirm"),
        ("plan", *DOUBS, "--from", "2025-04-01", "--to", "2025-04-30", "--epsilon", "2", "--out", "plan.toml"),
        ("randomize", postgres.url(), *query, "--plan", "plan.toml"),
        ("randomize", postgres.url(), *query[:2], "--plan", "plan.toml", "--time", "written"),
        (
            "randomize",
            postgres.url(),
            *query[:2],
            "--source",
            "v.source.toml",
            "--data-set",
            "visits",
            "--out",
            "visits.reports",
        ),
        ("tally", "visits.reports"),
        ("ledger",),
    ):
        ran = tacit(*words)
        said += ran.out + ran.err
    assert "postgresql://***" in said
    assert "tacit check 'postgresql://***' --query" in said
    assert (tmp_path / "visits.reports").exists()
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert PASSWORD.encode() not in path.read_bytes()
    assert PASSWORD not in said
