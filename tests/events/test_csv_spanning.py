"""Files whose fields may span lines: blocks of whole rows, whatever the quotes hold."""

from __future__ import annotations

import csv
import gzip
import io
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.events import csv_blocks
from tacit.events.csv_blocks import (
    DAMAGED_QUOTES,
    TOO_LONG,
    UNCLOSED,
    UNFIT,
    Block,
    StreamDamage,
    cut_blocks,
    read_fully,
    row_at,
)
from tacit.events.csv_source import (
    CUT_OFF,
    CsvLayout,
    Transcoded,
    Unzipped,
    parse_block,
    take_lines,
)

FIELD = st.text(alphabet='ab ,;"\né', max_size=6)
TABLE = st.lists(st.lists(FIELD, min_size=3, max_size=3), min_size=1, max_size=20)


def blocks(data: bytes, block_bytes: int, separator: str = ",") -> list[Block]:
    return list(cut_blocks(io.BytesIO(data), separator=separator, block_bytes=block_bytes))


def parsed(cut: list[Block], n_fields: int, separator: str = ",") -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for block in cut:
        table = parse_block(block, CsvLayout(n_fields, separator, fields_span_lines=True), range(n_fields))
        assert table.damage is None
        rows.extend(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return rows


def written(rows: list[list[str]], separator: str, line_end: str, quoting: int) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, lineterminator=line_end, quoting=quoting).writerows(rows)
    return out.getvalue().encode()


@given(
    TABLE,
    st.integers(1, 60),
    st.sampled_from([",", ";"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_well_written_tables_come_back_whole(
    rows: list[list[str]], block_bytes: int, separator: str, line_end: str, quoting: int
) -> None:
    cut = blocks(written(rows, separator, line_end, quoting), block_bytes, separator)
    assert parsed(cut, 3, separator) == [tuple(row) for row in rows if any(row)]


@settings(max_examples=300)
@given(st.text(alphabet='ab ,"\n', max_size=60), st.integers(1, 40))
def test_any_text_is_read_as_the_standard_library_reads_it_or_refused(text: str, block_bytes: int) -> None:
    text = text.rstrip("\n") + "\n"
    expected: list[list[str]] = []
    is_damaged = True
    with suppress(csv.Error):
        expected.extend(csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True))
        is_damaged = False
    cut = blocks(text.encode(), block_bytes)
    assert any(block.damage is not None for block in cut) == is_damaged
    read = [row for block in cut for row in csv.reader(io.StringIO(block.data.decode(), newline=""))]
    assert [[field.strip(" ") for field in row] for row in read] == [
        [field.strip(" ") for field in row] for row in expected
    ]
    n_rows = sum(row_at(block.data, len(block.data)) for block in cut)
    assert n_rows == len(expected)


@given(TABLE, st.integers(1, 60))
def test_the_size_of_blocks_does_not_matter(rows: list[list[str]], block_bytes: int) -> None:
    data = written(rows, ",", "\n", csv.QUOTE_MINIMAL)
    assert b"".join(block.data for block in blocks(data, block_bytes)) == data


def test_a_stray_quote_in_a_field_belongs_to_the_text() -> None:
    cut = blocks(b'1,a 5" pipe,x\n2,"b ""c""",y\n3, "d, e",z\n', 1000)
    assert parsed(cut, 3) == [("1", 'a 5" pipe', "x"), ("2", 'b "c"', "y"), ("3", "d, e", "z")]


def test_text_after_a_closing_quote_is_damage_at_its_row() -> None:
    cut = blocks(b'1,a,x\n2,"b"c,y\n3,d,z\n', 1000)
    assert cut[-1].damage == DAMAGED_QUOTES
    assert sum(row_at(block.data, len(block.data)) for block in cut) == 1


@pytest.mark.parametrize("block_bytes", [4, 10, 1000])
def test_a_quote_that_never_closes_is_damage_at_its_row(block_bytes: int) -> None:
    cut = blocks(b'1,a,x\n2,"b\nc",y\n3,"d,z\n4,e,v\n', block_bytes)
    assert cut[-1].damage == UNCLOSED
    assert sum(row_at(block.data, len(block.data)) for block in cut) == 2


@pytest.mark.parametrize(("start", "damage"), [(b'1,"', UNCLOSED), (b"1,", TOO_LONG)])
def test_a_row_without_end_is_refused_before_it_fills_the_memory(
    start: bytes, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_blocks, "MAX_ROW_BYTES", 1 << 12)
    stream = io.BytesIO(start + b"x" * (1 << 20))
    cut = list(cut_blocks(stream, separator=",", block_bytes=64))
    assert [block.damage for block in cut] == [damage]
    assert stream.tell() < 1 << 14


def test_lines_are_skipped_across_reads() -> None:
    class Drip(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(1)

    for end in (b"\n", b"\r\n", b"\r"):
        lines, rest = take_lines(Drip(b"a" + end + b"b" + end + b"c" + end), 2)
        assert (lines, rest.read(1)) == ([b"a" + end, b"b" + end], b"c")
    lines, rest = take_lines(io.BytesIO(b"a\nb"), 3)
    assert (lines, rest.read(9)) == ([b"a\n", b"b"], b"")


def test_what_is_good_before_the_damage_is_handed_out() -> None:
    whole = gzip.compress(bytes(range(256)) * 500, compresslevel=0)
    stream = Unzipped(io.BytesIO(whole[: len(whole) // 2]))
    got, damage = read_fully(stream, 1 << 20)
    assert len(got) > 10_000
    assert damage == CUT_OFF
    with pytest.raises(StreamDamage, match=CUT_OFF):
        stream.read(1)
    text = Transcoded(io.BytesIO("Besançon".encode("utf-16-le") + b"\x00\xd8\x00"), "utf-16-le")
    assert (text.read(1000) + text.read(1)).decode() == "Besançon" + UNFIT
