"""Every broken or unusual file is answered with a sentence that says what to do, and no value of it."""

from __future__ import annotations

import time

import pytest

from small_worlds import DOUBS

HEADER = "ID,SDate,Station,Town,Location"
ROWS = [f'{i},2018/03/{1 + i % 28:02d} 08:08,Besançon East,Besançon,"(47.2380, 6.0243)"' for i in range(60)]
COLUMNS = ("--time", "SDate", "--place", "Town")


@pytest.fixture
def check(tacit, tmp_path):
    """Write bytes, run ``tacit check`` on them."""

    def run(content: bytes, *words: str):
        (tmp_path / "events.csv").write_bytes(content)
        return tacit("check", *DOUBS, "events.csv", *(words or COLUMNS))

    return run


def text(*rows: str, header: str = HEADER) -> str:
    return "\n".join([header, *rows]) + "\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\n\n\n", "blank lines"),
        (text().encode(), "no rows"),
        (b"\x00\x01\x02\xff\xfe garbage \x00" * 50, "events.csv"),
        (b"\x1f\x8b\x08\x00cut short", "events.csv"),
        (b"PK\x03\x04 a spreadsheet" * 20, "events.csv"),
    ],
)
def test_a_corrupted_file_is_refused_with_advice(check, content, words):
    ran = check(content)
    assert ran.code == 3
    assert words in ran.err
    assert "Besançon" not in ran.err


def test_a_row_with_a_damaged_quote_is_set_aside_by_itself(check):
    ran = check((text(*ROWS) + '61,2018/03/01 08:08,"never closed,Besançon,x\n' + "\n".join(ROWS)).encode())
    assert ran.code == 0
    assert "120 events counted" in ran.out
    assert "1 row with a quote that is not closed, or text after a closing quote (row 62)" in ran.err
    assert "fields_span_lines = true" in ran.out


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
def test_usual_encodings_are_recognized(check, encoding):
    ran = check(text(*ROWS).encode(encoding))
    assert ran.code == 0, ran.err
    assert "60 events counted" in ran.out
    assert "No row was set aside" in ran.out


def test_a_french_file_is_read_as_it_is(check):
    rows = [f"{i};{1 + i % 28:02d}/03/2018 08:08;Besançon;47,2380;6,0243" for i in range(60)]
    content = text(*rows, header="Numéro;Début;Commune;Latitude;Longitude").encode("cp1252")
    columns = ("--time", "début", "--place", "commune")
    asked = check(content, *columns)
    assert asked.code == 3
    assert "32 can only be day first, 0 only month first, 28 either" in asked.out
    assert "--date-format day-first" in asked.err
    ran = check(content, *columns, "--date-format", "day-first")
    assert ran.code == 0, ran.err
    assert "60 events counted" in ran.out


def test_dates_that_can_be_read_two_ways_are_refused_with_a_request(check):
    rows = [f"{i},{1 + i % 12:02d}/03/2018,x,Besançon,y" for i in range(60)]
    ran = check(text(*rows).encode())
    assert ran.code == 3
    assert "--date-format" in ran.err or "date_format" in ran.err
    assert check(text(*rows).encode(), *COLUMNS, "--date-format", "day-first").code == 0


def test_a_missing_column_is_named_with_the_ones_that_exist(check):
    ran = check(text(*ROWS).encode(), "--time", "SDat", "--place", "Town")
    assert ran.code == 3
    assert "SDate" in ran.err


def test_very_many_unknown_towns_are_set_aside_quickly(check):
    rows = (f"{i},2018/03/01 08:08,s,Nowhere-{i},l" for i in range(200_000))
    content = text(*ROWS, *rows).encode()
    started = time.monotonic()
    ran = check(content)
    assert time.monotonic() - started < 60  # a guard against quadratic work, not a timing
    assert ran.code == 0
    assert "200,000 rows were set aside" in ran.err
    assert "60 events counted" in ran.out
    assert "Nowhere" not in ran.err + ran.out


def test_a_file_of_strangers_only_says_that_nothing_can_be_counted(check):
    ran = check(text(*(row.replace("Besançon,", "Elsewhere,") for row in ROWS)).encode())
    assert ran.code == 3
    assert "can be counted" in ran.err
    assert "Elsewhere" not in ran.err + ran.out


def test_the_paper_s_own_row_is_understood(check):
    row = '8,2008/08/08 08:08,Besançon East,Besançon,"(47.2380, 6.0243)"'
    assert "1 event counted" in check(text(row).encode()).out
