"""Damaged tables of events and of covariates end in a clear error or are read; bombs do not fill the memory."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from damaged_files import flipped, outcomes
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import UnreadableFile
from tacit.events import EventColumns, ReadOptions, open_events, propose_source
from tacit.events.csv_blocks import MAX_ROW_BYTES, ByteStream, cut_lines
from tacit.events.csv_source import Transcoded, Unzipped
from tacit.forecast import covariate_table
from tacit.forecast.covariate_table import read_covariates

DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-20", zone="Europe/Paris"), PlaceAxis.of(["north", "south"]))
N_DAYS = 20
DAYS = [date(2018, 1, 1) + timedelta(days=day) for day in range(N_DAYS)]
COLUMNS = EventColumns("day", "town", "n")
TOWNS = ["north", "South"] * (N_DAYS // 2)
ROWS = "".join(f'{day},"{town}",{day.day}\n' for day, town in zip(DAYS, TOWNS, strict=True))
CSV = f"day,town,n\n{ROWS}".encode()
Use = Callable[[Path], object]


def parquet(**columns: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"day": DAYS, "town": TOWNS, "n": list(range(N_DAYS))} | columns), out)
    return out.getvalue()


def xlsx() -> bytes:
    book = openpyxl.Workbook()
    for row in [("day", "town", "n"), *zip(DAYS, TOWNS, range(N_DAYS), strict=True)]:
        book.active.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def events(**options: object) -> Use:
    read = ReadOptions(date_format="year-first", **options)
    return lambda path: open_events(path, columns=COLUMNS, domain=DOMAIN, options=read).count()


def proposed(path: Path) -> object:
    return propose_source(path, columns=COLUMNS, zone="Europe/Paris")


def covariates(path: Path) -> object:
    return read_covariates(path, DOMAIN, date="day", place="town", horizon=5)


TEXT = {"format": "csv", "encoding": "utf-8", "separator": ","}
KINDS: dict[str, tuple[bytes, Use]] = {
    "events": (CSV, events(**TEXT)),
    "events in UTF-16": (CSV.decode().encode("utf-16"), events(**TEXT | {"encoding": "utf-16"})),
    "events in Shift JIS": (CSV, events(**TEXT | {"encoding": "shift_jis"})),
    "events that span lines": (CSV, events(**TEXT, fields_span_lines=True)),
    "compressed events": (gzip.compress(CSV), events(**TEXT | {"format": "csv.gz"})),
    "events in Parquet": (parquet(), events(format="parquet")),
    "events in XLSX": (xlsx(), events(format="xlsx")),
    "events in XLSX to be described": (xlsx(), proposed),
    "events to be described": (CSV, proposed),
    "compressed events to be described": (gzip.compress(CSV), proposed),
    "covariates": (CSV, covariates),
    "compressed covariates": (gzip.compress(CSV), covariates),
    "covariates in Parquet": (parquet(), covariates),
}
N_FILES = 12
"""Of each kind: a run takes a few seconds. Twice as many take twice the time; 300 found nothing more for most kinds."""


def looked_at(contents: list[bytes], use: Use, folder: Path) -> list[str]:
    """What came of files but for readings and clear refusals."""
    path = folder / "table"

    def write_and_use(content: bytes) -> None:
        path.write_bytes(content)
        use(path)

    return [what for what in outcomes(iter(contents), write_and_use) if what.startswith("FAILED")]


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_tables_end_in_a_sentence_or_in_a_reading(kind, seed, tmp_path):
    content, use = KINDS[kind]
    rng = np.random.default_rng(seed)
    assert looked_at([flipped(content, rng) for _ in range(N_FILES)], use, tmp_path) == []


ODD_COLUMNS: dict[str, pa.Array] = {
    "nulls": pa.nulls(N_DAYS),
    "lists": pa.array([[1]] * N_DAYS),
    "records": pa.array([{"a": 1}] * N_DAYS),
    "bytes": pa.array([b"\xff\x00"] * N_DAYS),
    "truth": pa.array([True, None] * (N_DAYS // 2)),
    "decimals": pa.array([Decimal("1e30")] * N_DAYS),
    "durations": pa.array(np.arange(N_DAYS), pa.duration("s")),
    "times of day": pa.array(np.arange(N_DAYS, dtype=np.int32), pa.time32("s")),
    "far instants": pa.array(np.full(N_DAYS, 2**62), pa.timestamp("us")),
    "near instants": pa.array(np.full(N_DAYS, -(2**62)), pa.timestamp("ns")),
    "instants of an unknown zone": pa.array(np.arange(N_DAYS), pa.timestamp("s", tz="Europe/Atlantis")),
    "floats": pa.array([np.nan, np.inf, -np.inf, 1e308] * (N_DAYS // 4)),
    "large integers": pa.array([2**64 - 1] * N_DAYS, pa.uint64()),
    "a dictionary": pa.array(["north", None] * (N_DAYS // 2)).dictionary_encode(),
    "a dictionary of numbers": pa.array([1.5, None] * (N_DAYS // 2)).dictionary_encode(),
    "odd text": pa.array(["\x00", "é" * 300, "", "9" * 5000] * (N_DAYS // 4)),
}


@pytest.mark.parametrize("name", ["day", "town", "n"])
@pytest.mark.parametrize("use", [events(format="parquet"), proposed, covariates], ids=["events", "proposed", "joined"])
def test_columns_of_any_type_end_in_a_sentence_or_in_a_reading(use, name, tmp_path):
    for kind, column in ODD_COLUMNS.items():
        assert looked_at([parquet(**{name: column})], use, tmp_path) == [], kind


def test_text_without_the_mark_that_its_encoding_asks_for_is_refused(tmp_path):
    (tmp_path / "events.csv").write_bytes(CSV.decode().encode("utf-16-le"))
    with pytest.raises(UnreadableFile, match="does not begin as its encoding asks"):
        events(**TEXT | {"encoding": "utf-16"})(tmp_path / "events.csv")


@pytest.mark.parametrize("encoding", [None, "utf-16-le", "shift_jis"])
@pytest.mark.slow
def test_a_line_of_compressed_gigabytes_is_not_held(tmp_path, encoding):
    n_megabytes, path = 160, tmp_path / "bomb.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(n_megabytes):
            file.write(b"x" * (1 << 20))
    with path.open("rb") as file:
        stream: ByteStream = Unzipped(file)
        if encoding is not None:
            stream = Transcoded(stream, encoding)
        tracemalloc.start()
        try:
            lengths = [len(block.data) for block in cut_lines(stream, block_bytes=1 << 16)]
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert len(lengths) == 1
    assert lengths[0] > MAX_ROW_BYTES  # it is seen to be too long
    assert peak < n_megabytes << 19  # half of what was packed


def test_a_table_of_covariates_is_not_held_beyond_the_limit_of_files(tmp_path, monkeypatch):
    (tmp_path / "weather.csv").write_bytes(CSV)
    assert covariates(tmp_path / "weather.csv").columns
    monkeypatch.setattr(covariate_table, "LARGEST_EXPANDED", 100)
    with pytest.raises(UnreadableFile, match="Leave rows or columns out"):
        covariates(tmp_path / "weather.csv")
