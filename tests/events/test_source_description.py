"""Descriptions of sources: proposed, written, read again, and refused where they are damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.domain import Domain
from tacit.errors import FormatError, NotDescribed, SettingError, UnreadableFile
from tacit.events import EventColumns, ReadOptions, SourceDescription, SqlQuery, open_events, propose_source

Write = Callable[..., Path]

COLUMNS = EventColumns("SDate", "Town")
FRENCH = "SDate;Town;N\n13/02/2018;Besançon;2\n"
GIVEN = ReadOptions(date_format="day-first")


@pytest.mark.parametrize(
    ("text", "encoding", "expected"),
    [
        (FRENCH, "utf-8", ("csv", "utf-8", ";", 1, ("SDate", "Town", "N"))),
        (FRENCH, "utf-8-sig", ("csv", "utf-8", ";", 1, ("SDate", "Town", "N"))),
        (FRENCH, "cp1252", ("csv", "cp1252", ";", 1, ("SDate", "Town", "N"))),
        (FRENCH, "utf-16", ("csv", "utf-16", ";", 1, ("SDate", "Town", "N"))),
        (FRENCH.replace(";", "\t"), "utf-8", ("csv", "utf-8", "\t", 1, ("SDate", "Town", "N"))),
        (
            "\r\nsep=|\r\n".lstrip() + FRENCH.replace(";", "|"),
            "utf-8",
            ("csv", "utf-8", "|", 2, ("SDate", "Town", "N")),
        ),
        ("\n\n" + FRENCH, "utf-8", ("csv", "utf-8", ";", 3, ("SDate", "Town", "N"))),
        (FRENCH.replace("2\n", "2;\n"), "utf-8", ("csv", "utf-8", ";", 1, ("SDate", "Town", "N", ""))),
    ],
)
def test_a_csv_file_is_proposed_as_it_looks(
    write: Write, domain: Domain, text: str, encoding: str, expected: tuple[Any, ...]
) -> None:
    path = write(text, encoding=encoding)
    found = propose_source(path, columns=COLUMNS, options=GIVEN, zone="Europe/Paris").description
    assert (found.format, found.encoding, found.separator, found.header_lines, found.names) == expected
    counts = open_events(path, columns=found.columns, domain=domain, options=found.options()).count()
    assert (counts.n_rows, counts.n_counted) == (1, 1)


def test_other_sources_say_all_else_themselves(tmp_path: Path) -> None:
    table = pa.table({"SDate": ["13/01/2018"], "Town": ["Ornans"]})
    pq.write_table(table, tmp_path / "events.parquet")
    sqlite3.connect(tmp_path / "events.db").close()
    query = SqlQuery(f"sqlite:///{tmp_path}/events.db", "select '2018-01-01' as SDate, 'Ornans' as Town")
    for source, kind in ((table, "frame"), (tmp_path / "events.parquet", "parquet"), (query, "sql")):
        found = propose_source(source, columns=COLUMNS, options=GIVEN).description
        assert found == SourceDescription(kind, "SDate", "Town", date_format="day-first")


def test_a_description_comes_back_from_its_file(write: Write, tmp_path: Path) -> None:
    for options in (GIVEN, ReadOptions(date_format="%d/%m/%Y", decimal=",", quote="", fields_span_lines=True)):
        columns = EventColumns("SDate", "Town", "N", latitude="Town", longitude="Town", user="N")
        found = propose_source(write(FRENCH), columns=columns, options=options, zone="Europe/Paris").description
        found.write(tmp_path / "a.source.toml")
        assert SourceDescription.read(tmp_path / "a.source.toml") == found


def test_nothing_measured_stands_in_a_description(write: Write, tmp_path: Path) -> None:
    found = propose_source(write(FRENCH), columns=COLUMNS, options=GIVEN).description
    found.write(tmp_path / "a.source.toml")
    text = (tmp_path / "a.source.toml").read_text(encoding="utf-8")
    assert "Besan" not in text
    assert "2018" not in text


def test_a_description_says_itself_in_plain_words(write: Write) -> None:
    columns = EventColumns("SDate", "Town", "N")
    found = propose_source(write(FRENCH), columns=columns, options=GIVEN, zone="Europe/Paris").description
    assert found.sentences() == [
        "It is a CSV file in UTF-8, with the separator ;.",
        "It has 3 columns; line 1 holds their names.",
        'Fields may stand in quotes ("). A line end always ends a row.',
        "Columns: time is SDate, place is Town, count is N.",
        "Dates are written day first (31/12/2018) or year first.",
        "Numbers may have a decimal point or comma.",
        "Clocks show the time of Europe/Paris.",
    ]


def test_a_file_with_other_column_names_is_not_the_described_one(write: Write, domain: Domain) -> None:
    found = propose_source(write(FRENCH), columns=COLUMNS, options=GIVEN).description
    for text in (FRENCH.replace("Town", "Ort"), FRENCH.split("\n", 1)[1], ""):
        with pytest.raises(UnreadableFile, match="does not have the column names in line 1") as caught:
            open_events(write(text), columns=found.columns, domain=domain, options=found.options())
        assert "Besan" not in str(caught.value)


def test_the_clocks_of_a_source_are_those_of_the_axis(write: Write, domain: Domain) -> None:
    found = propose_source(write(FRENCH), columns=COLUMNS, options=GIVEN, zone="Asia/Tokyo").description
    with pytest.raises(
        SettingError, match=r"zone must be that of the source's clocks, Asia/Tokyo; got zone=Europe/Paris"
    ):
        open_events(write(FRENCH), columns=found.columns, domain=domain, options=found.options())


def test_text_is_refused_before_a_row_is_read_where_nothing_says_how_it_is_written(
    write: Write, domain: Domain, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.events import reader

    monkeypatch.setattr(reader.Reading, "run", lambda *_: pytest.fail("a row was read"))
    texts = pa.table({"SDate": ["2018-01-01"], "Town": ["Ornans"]})
    for source in (write(FRENCH), texts, SqlQuery("sqlite://", "select '2018-01-01' as SDate, 1 as Town")):
        with pytest.raises(NotDescribed):
            open_events(source, columns=COLUMNS, domain=domain)
    for left_out in ("encoding", "separator", "date_format"):
        settings = {"encoding": "utf-8", "separator": ";", "date_format": "day-first"}
        del settings[left_out]
        with pytest.raises(NotDescribed):
            open_events(write(FRENCH), columns=COLUMNS, domain=domain, options=ReadOptions(**settings))


GOOD = """tacit_source = 1
format = "csv"
[columns]
time = "SDate"
place = "Town"
[text]
encoding = "utf-8"
separator = ";"
names = ["SDate", "Town", "N"]
[values]
date_format = "day-first"
"""


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("tacit_source = 1", "tacit_source = 2", "tacit_source = 1"),
        ("tacit_source = 1", "", "tacit_source = 1"),
        ('time = "SDate"', "", "must name the column of time"),
        ('"day-first"', "3", "date_format in the description of the source must be a str"),
        ('"day-first"', '"whenever"', "date_format must be"),
        ('"utf-8"', '"utf-9"', "encoding must be"),
        ('names = ["SDate", "Town", "N"]', "", "the names of its columns"),
        ('names = ["SDate", "Town", "N"]', "names = [1]", "names in the description"),
        ("[values]", "fields_span_lines = 1\n[values]", "fields_span_lines in the description"),
        ("[values]", "[values]\nrows = 3", "the part values of the description of the source may have"),
        ("[values]", "[other]\nrows = 3\n[values]", "may have the parts columns, text and values"),
        ('"csv"', '"ods"', "format must be"),
        ("[text]", "[text", "is not a description of a source, or it is damaged"),
    ],
)
def test_a_damaged_description_is_refused_with_a_sentence(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    path = tmp_path / "events.csv.source.toml"
    path.write_text(GOOD, encoding="utf-8")
    assert SourceDescription.read(path).names == ("SDate", "Town", "N")
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(FormatError, match=sentence):
        SourceDescription.read(path)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
@pytest.mark.slow
def test_bytes_that_changed_end_in_a_clear_error_or_another_description(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(GOOD.encode())
    for position in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[position] = data.draw(st.integers(0, 255))
    path = tmp_path / "a.source.toml"
    path.write_bytes(bytes(content))
    with suppress(FormatError):
        assert isinstance(SourceDescription.read(path), SourceDescription)


def test_a_missing_or_endless_description_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no description of a source"):
        SourceDescription.read(tmp_path / "none.toml")
    (tmp_path / "long.toml").write_bytes(b"#" * (1 << 21))
    with pytest.raises(FormatError, match="longer than a description"):
        SourceDescription.read(tmp_path / "long.toml")
