"""CSV files of every make, whole and broken."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import MissingColumn, UnreadableFile
from tacit.events import EventCounts, Reason

Write = Callable[..., Path]
Count = Callable[..., EventCounts]

PLAIN = """ID,SDate,Station,Town,Location
1,2018-01-01 08:08,East,Besançon,"(47.2380, 6.0243)"
2,2018-01-01 09:10,East,Saint-Vit,"(47.1800, 5.8100)"
3,2018-12-31 23:59,South,Ornans,"(47.1000, 6.1400)"
"""


def check(counts: EventCounts) -> None:
    """The three events of PLAIN."""
    assert counts.n_rows == counts.n_counted == 3
    assert not counts.bad_rows
    assert counts.counts[0].tolist() == [2, 0]
    assert counts.counts[364].tolist() == [0, 1]
    assert counts.counts.sum() == 3


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends_are_recognized(write: Write, count: Count, separator: str, line_end: str) -> None:
    text = PLAIN.replace(",", separator).replace("\n", line_end)
    check(count(write(text)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1", "utf-32", "ascii"])
def test_encodings_are_recognized(write: Write, count: Count, encoding: str) -> None:
    text = PLAIN.replace("ç", "c") if encoding == "ascii" else PLAIN
    check(count(write(text, encoding=encoding)))


def test_big_endian_utf_16_is_recognized_by_its_mark(write: Write, count: Count) -> None:
    check(count(write("\ufeff".encode("utf-16-be") + PLAIN.encode("utf-16-be"))))


def test_an_encoding_can_be_given(write: Write, count: Count) -> None:
    check(count(write(PLAIN, encoding="cp437"), encoding="cp437"))
    check(count(write(PLAIN, encoding="utf-16-le"), encoding="utf-16-le"))
    check(count(write(PLAIN), encoding="UTF_8"))


def test_a_french_file_is_read(write: Write, count: Count) -> None:
    text = (
        "Numéro;Début;Centre;Commune;Coordonnées\r\n"
        '1;01/01/2018 08:08;Est;BESANCON;"47,2380; 6,0243"\r\n'
        '2;01/01/2018 09:10;Est;ST VIT;"47,1800; 5,8100"\r\n'
        '3;31/12/2018 23:59;Sud;Ornans;"47,1000; 6,1400"\r\n'
    )
    check(count(write(text, encoding="cp1252"), "debut", "COMMUNE", date_format="day-first"))


def test_gzip_is_recognized_by_its_first_bytes(write: Write, count: Count) -> None:
    check(count(write(PLAIN, "events.csv.gz")))
    check(count(write(gzip.compress(PLAIN.encode()), "events.csv")))
    two_members = gzip.compress(PLAIN[:100].encode()) + gzip.compress(PLAIN[100:].encode())
    check(count(write(two_members, "events.csv")))


def test_blank_lines_are_no_events_but_have_row_numbers(write: Write, count: Count) -> None:
    counts = count(write("\n\nSDate,Town\n\n2018-01-01,Ornans\n\n,Ornans\n,\n\n\n"))
    assert counts.n_rows == 2
    assert counts.n_counted == 1
    assert counts.bad_rows.first_rows == {Reason.NO_DATE: (7,)}


def test_a_line_that_names_the_separator_is_no_header(write: Write, count: Count) -> None:
    counts = count(write("sep=;\nSDate;Town\n2018-01-01;Ornans\nx;Ornans\n"))
    assert counts.n_counted == 1
    assert counts.bad_rows.first_rows == {Reason.UNREADABLE_DATE: (4,)}


def test_quotes_may_hold_separators_line_ends_and_quotes(write: Write, count: Count) -> None:
    text = 'Note,SDate,Town\n"a, ""b""\nc",2018-01-01,"Ornans"\n"x\n\ny",,Ornans\nz,no,"Ornans"\n'
    for batch_rows in (1, 2, 1000):
        counts = count(write(text), batch_rows=batch_rows, fields_span_lines=True)
        assert counts.n_counted == 1
        # a field that spans lines is one row
        assert counts.bad_rows.first_rows == {Reason.NO_DATE: (3,), Reason.UNREADABLE_DATE: (4,)}


def test_ragged_rows_are_set_aside_with_their_numbers(write: Write, count: Count) -> None:
    text = "ID,SDate,Town\n1,2018-01-01,Ornans\n2,2018-01-01\n3,2018-01-01,Ornans,extra\n\n"
    text += "4,2018-01-01,Ornans\n5,,Ornans\n"
    for batch_rows in (1, 2, 1000):
        counts = count(write(text), batch_rows=batch_rows)
        assert (counts.n_rows, counts.n_counted) == (5, 2)
        assert counts.bad_rows.first_rows == {Reason.RAGGED: (3, 4), Reason.NO_DATE: (7,)}


def test_a_separator_at_the_end_of_every_row_is_no_column(write: Write, count: Count) -> None:
    check(count(write(PLAIN.replace("\n", ",\n").replace("Location,\n", "Location\n"))))


def test_a_row_may_end_without_a_line_end(write: Write, count: Count) -> None:
    check(count(write(PLAIN.rstrip("\n"))))


def test_a_file_that_turns_western_after_a_megabyte_of_ascii_is_read(write: Write, count: Count) -> None:
    rows = "2018-01-01,Ornans\n" * 70_000
    data = b"SDate,Town\n" + rows.encode() + "2018-01-02,Besançon\n".encode("latin-1")
    counts = count(write(data))
    assert counts.n_counted == 70_001
    assert counts.counts[1].tolist() == [1, 0]


def test_rows_that_are_not_utf_8_in_a_file_that_is_are_set_aside(write: Write, count: Count) -> None:
    good, bad = "2018-01-01,Besançon\n", "2018-01-02,Besançon\n".encode("latin-1")
    data = b"SDate,Town\n" + (good * 3).encode() + bad + (good * 60_000).encode() + bad
    for settings in ({}, {"batch_rows": 10_000}, {"encoding": "utf-8"}):
        counts = count(write(data), **settings)
        assert counts.n_counted == counts.counts[0, 0] == 60_003
        assert counts.bad_rows.first_rows == {Reason.UNREADABLE_TEXT: (5, 60_006)}
        assert str(counts.bad_rows) == "2 rows with text that does not fit the encoding (rows 5, 60006)"
    counts = count(write(b"\xef\xbb\xbf" + data))
    assert counts.bad_rows.counts == {Reason.UNREADABLE_TEXT: 2}


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_one_invalid_byte_does_not_turn_the_file_western(write: Write, count: Count, batch_rows: int) -> None:
    for where in range(4):
        rows = ["2018-01-01,Besançon\n".encode()] * 2 + [b"2018-01-01,Ornans\n", b"\n"]
        rows.insert(where, b"2018-01-01,Ornans\xff\n")
        counts = count(write(b"SDate,Town\n" + b"".join(rows)), batch_rows=batch_rows)
        assert counts.bad_rows.first_rows == {Reason.UNREADABLE_TEXT: (where + 2,)}
        assert counts.counts[0].tolist() == [2, 1]
        assert counts.n_rows == 4


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
def test_bytes_that_are_not_utf_8_matter_only_in_columns_that_are_read(
    write: Write, count: Count, batch_rows: int
) -> None:
    data = "SDate,Town,Note\n2018-01-01,Besançon,\n".encode() + b"2018-01-01,Ornans,\xe9\n"
    counts = count(write(data), batch_rows=batch_rows)
    assert not counts.bad_rows
    assert counts.n_counted == 2


@pytest.mark.parametrize("batch_rows", [1, 2, 1000])
@pytest.mark.parametrize("n_western", [1, 2, 100])
def test_rows_in_another_encoding_than_the_described_one_are_set_aside_however_many(
    write: Write, count: Count, batch_rows: int, n_western: int
) -> None:
    row = "2018-01-01,Besançon\n"
    data = ("SDate,Town\n" + row).encode() + row.encode("latin-1") * n_western
    counts = count(write(data), batch_rows=batch_rows, encoding="utf-8")
    assert counts.bad_rows.counts == {Reason.UNREADABLE_TEXT: n_western}
    assert counts.n_counted == 1


def test_a_western_file_may_hold_bytes_that_happen_to_be_utf_8(write: Write, count: Count) -> None:
    data = 'SDate,Town,Note\n2018-01-01,BESANÇON,"BLESSÉ\u00a0: 1, BRÛLÉ: 2, ÂGÉ"\n'
    assert count(write(data, encoding="cp1252")).n_counted == 1


def test_bytes_that_windows_leaves_out_do_not_crash(write: Write, count: Count) -> None:
    data = b"SDate,Town,Note\n2018-01-01,Besan\xe7on,\x81\x8d\n"
    assert count(write(data)).n_counted == 1
    assert count(write(data.replace(b"Besan", b"\x81"))).bad_rows.counts == {Reason.UNREADABLE_TEXT: 1}


@pytest.mark.parametrize("data", [b"SDate,Town\n", b"SDate,Town", b"SDate,Town\n\n,\n"])
def test_a_file_of_column_names_alone_counts_nothing(write: Write, count: Count, data: bytes) -> None:
    counts = count(write(data), date_format="year-first")
    assert (counts.n_rows, counts.n_events) == (0, 0)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", r"events\.csv is empty\. Export the events again"),
        (b"\n\r\n  \n", r"holds no text but blank lines\. Export"),
        (b"\xef\xbb\xbf", r"holds no text but blank lines"),
        (b"SDate,Town\n2018-01-01,Ornans\n2018-01-01,Orn\0ans\n", r"holds NUL bytes"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", r"holds NUL bytes: it is no CSV file"),
        (bytes(range(1, 256)) * 9, r"is not a text table"),
        (b"PK\x03\x04rest", r"is an archive, not a CSV, XLSX or Parquet file\. Unpack it"),
        (b"SQLite format 3\0", r"is a SQLite database.*Pass a SqlQuery"),
        (b"%PDF-1.7", r"is a PDF document"),
        (b'SDate,"Town\n2018-01-01,Ornans\n', r"row 1: a quote in the line of column names is not closed"),
        (b"\x1f\x8b\x08\x00trash", r"the compressed file is damaged or cut off here\. Copy or download it again"),
    ],
)
def test_broken_files_are_answered_with_a_sentence(write: Write, count: Count, data: bytes, sentence: str) -> None:
    with pytest.raises(UnreadableFile, match=sentence):
        count(write(data))


@pytest.mark.parametrize("batch_rows", [1, 100, 1_000_000])
@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b'2018-01-01,"Ornans', Reason.BAD_QUOTES),
        (b'2018-01-01,"Orn"ans', Reason.BAD_QUOTES),
        (b"\0,Ornans", Reason.UNREADABLE_DATE),
        (b"\xff", Reason.RAGGED),
        (b"2018-01-01,Orn\xffans", Reason.UNREADABLE_TEXT),
        (b"2018-01-01", Reason.RAGGED),
    ],
)
def test_a_damaged_row_is_set_aside_by_itself(
    write: Write, count: Count, batch_rows: int, row: bytes, reason: Reason
) -> None:
    """Rows that fill several blocks of bytes; where each row is a batch of its own, fewer, as each takes half a ms."""
    good, n_before = b"2018-01-01,Ornans\n", 400 if batch_rows == 1 else 9000
    data = b"SDate,Town\n" + good * n_before + row + b"\n" + good * 50 + row + b"\n"
    counts = count(write(data), batch_rows=batch_rows, encoding="utf-8")
    assert counts.bad_rows.first_rows == {reason: (n_before + 2, n_before + 53)}
    assert counts.n_counted == n_before + 50


def test_a_cut_off_gzip_file_is_refused_after_its_last_whole_row(write: Write, count: Count) -> None:
    rng = np.random.default_rng(7)
    noise = rng.integers(0, 10**9, 20_000)
    rows = "".join(f"2018-01-01,Ornans,{number}\n" for number in noise)
    data = gzip.compress(("SDate,Town,Note\n" + rows).encode())
    with pytest.raises(UnreadableFile, match=r"events\.csv, row [0-9]{4,5}: the compressed file is damaged or cut off"):
        count(write(data[: len(data) // 2]))
    damaged = bytearray(data)
    damaged[-6] ^= 255  # the checksum
    with pytest.raises(UnreadableFile, match=r"row 20002: the compressed file is damaged"):
        count(write(bytes(damaged)))


def test_truncated_utf_16_sets_its_last_row_aside(write: Write, count: Count) -> None:
    data = PLAIN.encode("utf-16") + "4,2018-01-01,East,Ornans".encode("utf-16-le") + b"\x00"
    counts = count(write(data))
    assert (counts.n_counted, counts.bad_rows.first_rows) == (3, {Reason.RAGGED: (5,)})


def test_a_missing_column_is_named_with_those_that_exist(write: Write, count: Count) -> None:
    with pytest.raises(MissingColumn) as caught:
        count(write(PLAIN), "SDat")
    assert str(caught.value) == (
        "events.csv has no column 'SDat' (asked for as time). It has: ID, SDate, Station, Town, Location. "
        "Did you mean 'SDate'?"
    )


def test_two_columns_of_one_name_are_refused_only_if_asked_for(write: Write, count: Count) -> None:
    text = "SDate,Town,Town,Note,Note\n2018-01-01,Ornans,Ornans,a,b\n"
    with pytest.raises(UnreadableFile, match=r"columns 2 and 3 are both called 'Town' \(asked for as place\)\. Rename"):
        count(write(text))
    assert count(write(text.replace("Town,Town", "Town,Towns"))).n_counted == 1


@pytest.mark.parametrize("row", ["1,2018-01-01 08:08,Pontarlier", "Dupont,Pontarlier,hier"])
def test_a_file_without_column_names_is_refused_without_its_first_row(write: Write, count: Count, row: str) -> None:
    with pytest.raises(MissingColumn, match="nor any other that was asked for") as caught:
        count(write(f"{row}\n2,2018-01-02,Ornans\n"))
    assert not [field for field in row.split(",") if field in str(caught.value).replace("(asked", "")]


def test_names_can_be_given_to_a_file_without_any(write: Write, count: Count) -> None:
    path = write("1,2018-01-01 08:08,Ornans\n2,2018-01-02,Ornans\n3,x,Ornans\n")
    counts = count(path, names=("ID", "SDate", "Town"), header_lines=0)
    assert (counts.n_counted, counts.bad_rows.first_rows) == (2, {Reason.UNREADABLE_DATE: (3,)})


def test_a_folder_or_a_missing_file_is_refused(tmp_path: Path, count: Count) -> None:
    with pytest.raises(UnreadableFile, match=r"none\.csv does not exist\. Check the name"):
        count(tmp_path / "none.csv")
    with pytest.raises(UnreadableFile, match="is a folder"):
        count(tmp_path)


def test_the_separator_can_be_given(write: Write, count: Count) -> None:
    check(count(write(PLAIN.replace(",", "_")), separator="_"))


def test_spaces_before_quotes_and_around_values_do_not_matter(write: Write, count: Count) -> None:
    counts = count(write('SDate, Town, Note\n 2018-01-01 , "Ornans", "a, b"\n2018-01-02,  Besançon ,c\n'))
    assert counts.n_counted == counts.n_rows == 2


def test_progress_ends_at_the_size_of_the_file(write: Write, opened: Callable[..., Any]) -> None:
    path = write(PLAIN)
    seen: list[tuple[int, int | None]] = []
    opened(path, batch_rows=1).count(progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
