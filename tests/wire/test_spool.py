"""Rows come back sorted, also where a part is too large for memory and must be parted again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.wire import spool
from tacit.wire.spool import Spool


@pytest.fixture(autouse=True)
def small_memory(monkeypatch):
    monkeypatch.setattr(spool, "_ROWS_IN_MEMORY", 5)


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 2**24 - 1)), max_size=200),
    st.sampled_from([1, 3]),
    st.booleans(),
)
def test_rows_come_back_sorted_by_bin_and_number(tmp_path_factory, rows, width, in_one_bin):
    numbers = [(0 if in_one_bin else b, n % 256**width) for b, n in rows]
    made = Spool(tmp_path_factory.mktemp("spool"), width)
    for part in np.array_split(np.arange(len(numbers)), 3):
        if len(part):
            reports = np.array([list(numbers[i][1].to_bytes(width, "little")) for i in part], np.uint8)
            made.add(np.array([numbers[i][0] for i in part]), reports)
    pieces = list(made.sorted_pieces())
    got = [(int(row["bin"]), int.from_bytes(row["report"].tobytes(), "little")) for piece in pieces for row in piece]
    assert got == sorted(numbers)
    assert all(len(piece) <= 5 for piece in pieces)


def test_any_number_of_equal_rows_passes_through(tmp_path):
    made = Spool(tmp_path, 2)
    made.add(np.zeros(100, np.int64), np.full((100, 2), 7, np.uint8))
    assert sum(len(piece) for piece in made.sorted_pieces()) == 100
    assert list(tmp_path.iterdir()) == []
