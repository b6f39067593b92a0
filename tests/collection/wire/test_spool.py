"""Reports come back sorted, also where a part is too large for memory, and lie on the disk enciphered."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.collection.wire import spool
from tacit.collection.wire.spool import Spool


@pytest.fixture(autouse=True)
def small_memory(monkeypatch):
    monkeypatch.setattr(spool, "ROWS_IN_MEMORY", 5)


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 2**24 - 1)), max_size=200),
    st.sampled_from([1, 3]),
    st.booleans(),
)
def test_reports_come_back_sorted_by_bin_and_number(tmp_path_factory, rows, width, in_one_bin):
    numbers = [(0 if in_one_bin else b, n % 256**width) for b, n in rows]
    with Spool(tmp_path_factory.mktemp("spool"), width) as made:
        for part in np.array_split(np.arange(len(numbers)), 3):
            if len(part):
                reports = np.array([list(numbers[i][1].to_bytes(width, "little")) for i in part], np.uint8)
                made.add(np.array([numbers[i][0] for i in part]), reports)
        pieces = list(made.sorted_reports())
    got = [int.from_bytes(report.tobytes(), "little") for piece in pieces for report in piece]
    assert got == [number for _, number in sorted(numbers)]
    assert all(len(piece) <= 5 for piece in pieces)


def test_any_number_of_equal_rows_passes_through(tmp_path):
    with Spool(tmp_path, 2) as made:
        made.add(np.zeros(100, np.int64), np.full((100, 2), 7, np.uint8))
        assert sum(len(piece) for piece in made.sorted_reports()) == 100
        assert [path.name for folder in tmp_path.iterdir() for path in folder.iterdir()] == []
    assert list(tmp_path.iterdir()) == []


def left_behind(tmp_path, width: int, n_rows: int, n_batches: int) -> list[bytes]:
    """What a process that is killed in the middle would leave on the disk."""
    with Spool(tmp_path, width) as made:
        for _ in range(n_batches):
            made.add(np.full(n_rows, 3), np.full((n_rows, width), 0x55, np.uint8))
        return [path.read_bytes() for folder in tmp_path.iterdir() for path in folder.iterdir()]


def test_what_lies_on_the_disk_meanwhile_tells_neither_reports_nor_their_order(tmp_path):
    """Equal rows look like random bytes: no two blocks of the cipher are alike, whatever was appended when."""
    (content,) = left_behind(tmp_path, 8, 500, 3)
    assert len(content) == 3 * 500 * 16
    blocks = [content[at : at + 16] for at in range(0, len(content), 16)]
    assert len(set(blocks)) == len(blocks)
    # 12,000 pairs of bits each way: a share of ones this far from a half has a chance below 1e-12
    assert abs(np.unpackbits(np.frombuffer(content, np.uint8)).mean() - 0.5) < 0.01


def test_two_spools_of_the_same_rows_have_nothing_in_common(tmp_path):
    """The key is drawn for each spool and kept nowhere."""
    one, other = (left_behind(tmp_path, 3, 50, 1)[0] for _ in range(2))
    assert one != other
