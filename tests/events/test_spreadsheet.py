"""Sheets are read like any other table, row by row; bombs and damage end in a sentence."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from small_worlds import DOUBS
from tacit.errors import SettingError, UnreadableFile
from tacit.events import Reason, spreadsheet

Count = Callable[..., Any]
ROWS = [
    (datetime(2018, 1, 1, 8, 8), "Besançon", 2),
    (date(2018, 1, 2), "ornans", 1),
    ("2018-01-03", "Ornans", 1),
    (None, None, None),
    ("no date", "Ornans", 1),
    (time(8, 8), "Ornans", 1),
    (43101, "Ornans", 1),
    (None, "Ornans", 1),
    (date(2018, 1, 4), "Atlantis", 1),
]


def book(tmp_path: Path, rows: list[Any], sheet: str = "First", name: str = "events.xlsx") -> Path:
    made = openpyxl.Workbook()
    made.active.title = "Empty" if sheet != "First" else sheet
    into = made.active if sheet == "First" else made.create_sheet(sheet)
    for row in [("SDate", "Town", "N"), *rows]:
        into.append(row)
    made.save(tmp_path / name)
    return tmp_path / name


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_every_cell_is_read_by_its_own_type(tmp_path: Path, count: Count, batch_rows: int) -> None:
    counts = count(book(tmp_path, ROWS), count="N", date_format="year-first", batch_rows=batch_rows)
    assert (counts.n_rows, counts.n_counted, counts.n_events) == (8, 3, 4)
    assert counts.bad_rows.first_rows == {
        Reason.UNREADABLE_DATE: (6, 7, 8),
        Reason.NO_DATE: (9,),
        Reason.UNKNOWN_PLACE: (10,),
    }


def test_the_first_sheet_is_read_or_the_one_that_is_named(tmp_path: Path, count: Count) -> None:
    path = book(tmp_path, ROWS, sheet="Visits")
    assert count(path, date_format="year-first", sheet="Visits").n_counted == 3
    with pytest.raises(UnreadableFile, match="the first row of the sheet must hold the names"):
        count(path, date_format="year-first")
    with pytest.raises(SettingError, match=r"sheet must be the name of a sheet of events\.xlsx; got sheet=Other"):
        count(path, date_format="year-first", sheet="Other")


def test_a_row_has_no_say_in_how_another_is_read(tmp_path: Path, count: Count) -> None:
    odd = [(True, 3.5, "x"), ("=1/0", "#N/A", -1), (datetime(1899, 12, 31), "x" * 5000, 10**30), ("é", "", None)]
    alone = count(book(tmp_path, ROWS), count="N", date_format="year-first")
    mixed = [row for pair in zip(ROWS, odd * 3, strict=False) for row in pair]
    among = count(book(tmp_path, mixed), count="N", date_format="year-first")
    assert among.counts.tolist() == alone.counts.tolist()


def changed(path: Path, part: str, change: Callable[[bytes], bytes]) -> Path:
    """Write a spreadsheet again with one part changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == part else old.read(name))
    path.write_bytes(out.getvalue())
    return path


SHEET = "xl/worksheets/sheet1.xml"


def test_entities_that_expand_without_end_are_refused(tmp_path: Path, count: Count, monkeypatch) -> None:
    laughs = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    declared = f'<!DOCTYPE x [<!ENTITY e0 "{"x" * 1000}">{laughs}]>'.encode()
    cell = b'<c r="A2" t="inlineStr"><is><t>&e11;</t></is></c>'
    path = changed(
        book(tmp_path, []),
        SHEET,
        lambda text: declared + text.replace(b"</sheetData>", b'<row r="2">' + cell + b"</row></sheetData>"),
    )
    with pytest.raises(UnreadableFile, match=r"events\.xlsx is damaged, or no spreadsheet") as refused:
        count(path, date_format="year-first")
    assert refused.value.__cause__ is None
    monkeypatch.setattr(spreadsheet.pyexpat, "version_info", (2, 4, 0))
    with pytest.raises(SettingError, match="whose expat is old"):
        count(path, date_format="year-first")


def test_rows_and_columns_far_away_fill_no_memory(tmp_path: Path, count: Count) -> None:
    far = b'<row r="5000000000"><c r="XFD5000000000"><v>1</v></c></row></sheetData>'
    path = changed(book(tmp_path, ROWS), SHEET, lambda text: text.replace(b"</sheetData>", far))
    assert count(path, date_format="year-first").n_counted == 3


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    path = changed(book(tmp_path, ROWS), SHEET, lambda text: text + b" " * 300_000)
    monkeypatch.setattr(spreadsheet, "LARGEST_EXPANDED", 200_000)
    with pytest.raises(UnreadableFile, match="unpacks to more than"):
        count(path, date_format="year-first")


def test_an_archive_that_is_no_spreadsheet_is_named_for_what_it_is(tmp_path: Path, count: Count) -> None:
    with zipfile.ZipFile(tmp_path / "events.zip", "w") as archive:
        archive.writestr("events.csv", "SDate,Town\n")
    with pytest.raises(UnreadableFile, match=r"events\.zip is an archive, not a CSV, XLSX or Parquet file"):
        count(tmp_path / "events.zip")


def test_the_shell_describes_and_counts_a_sheet(tacit, tmp_path: Path) -> None:
    book(tmp_path, ROWS, sheet="Visits", name="visits.xlsx")
    words = ("visits.xlsx", "--time", "SDate", "--place", "Town", "--sheet", "Visits", "--places", "doubs")
    ran = tacit("check", *DOUBS, *words, "--zone", "Europe/Paris", "--confirm")
    assert "Its sheet Visits is read; row 1 holds the names." in ran.out
    assert 'sheet = "Visits"' in (tmp_path / "visits.xlsx.source.toml").read_text()
    assert tacit("check", *DOUBS, "visits.xlsx", "--sheet", "Other").code == 2
