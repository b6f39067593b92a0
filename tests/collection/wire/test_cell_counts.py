"""Exact counts are the same however the events come, and only they decide the reports."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.collection.wire import cell_counts
from tacit.collection.wire.cell_counts import CellCounter, CellCounts
from tacit.errors import DataError, PlanMismatch, SettingError

N_PRIVATE = 5
EVENTS = st.lists(
    st.tuples(st.integers(0, 40) | st.integers(0, 10**15), st.integers(0, N_PRIVATE - 1), st.integers(0, 4)),
    max_size=60,
)


def counted(events) -> CellCounts:
    public, private, counts = np.array(events, np.int64).reshape(-1, 3).T
    return CellCounts.of(N_PRIVATE, public, private, counts)


def listed(counts: CellCounts) -> list[tuple[int, int]]:
    public, private = counts.events(0, counts.n_events)
    return list(zip(public.tolist(), private.tolist(), strict=True))


@given(EVENTS)
def test_events_come_back_in_the_order_of_bin_and_cell(events):
    counts = counted(events)
    expected = sorted((bin, cell) for bin, cell, count in events for _ in range(count))
    assert listed(counts) == expected
    assert counts.n_events == len(expected)
    bins, run_lengths = counts.bins()
    found = [bin for bin, _ in expected]
    assert dict(zip(bins.tolist(), run_lengths.tolist(), strict=True)) == {bin: found.count(bin) for bin in found}
    assert (np.diff(bins) > 0).all()


@given(EVENTS, st.randoms(use_true_random=False), st.integers(1, 7), st.integers(0, 20))
def test_neither_order_nor_batches_change_the_counts(events, random, n_batches, few):
    shuffled = random.sample(events, len(events))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_counts, "_FEWEST_PENDING", few)
        counter = CellCounter(N_PRIVATE)
        for number in range(n_batches):
            public, private, counts = np.array(shuffled[number::n_batches], np.int64).reshape(-1, 3).T
            counter.add(public, private, counts)
        assert counter.counts().digest() == counted(events).digest()


@given(EVENTS, EVENTS, EVENTS)
def test_counts_add_like_numbers(a, b, c):
    a, b, c = counted(a), counted(b), counted(c)
    assert ((a + b) + c).digest() == (c + (b + a)).digest()
    assert (a + CellCounts.none(N_PRIVATE)).digest() == a.digest()
    assert (a + b).n_events == a.n_events + b.n_events


@given(EVENTS, EVENTS)
def test_digests_are_equal_for_equal_counts_alone(a, b):
    a, b = counted(a), counted(b)
    assert (a.digest() == b.digest()) == (listed(a) == listed(b))


def test_the_number_of_private_cells_is_part_of_the_digest():
    one, other = (CellCounts.of(n, np.array([0]), np.array([0])) for n in (2, 3))
    assert one.digest() != other.digest()


@given(EVENTS, st.integers(0, 80), st.integers(0, 80))
def test_a_part_holds_the_events_of_its_numbers(events, start, stop):
    counts = counted(events)
    assert listed(counts.between(start, stop)) == listed(counts)[start:stop]


def test_cells_outside_the_plan_are_refused():
    with pytest.raises(SettingError, match="between 0 and 4; 1 of 2 do not"):
        CellCounts.of(N_PRIVATE, np.zeros(2, np.int64), np.array([0, 5]))
    for bin in (-1, 2**62):
        with pytest.raises(SettingError, match="public bins"):
            CellCounts.of(N_PRIVATE, np.array([bin]), np.array([0]))


def test_counts_of_other_plans_do_not_add():
    with pytest.raises(PlanMismatch, match="do not add"):
        _ = CellCounts.none(2) + CellCounts.none(3)


def test_more_cells_than_fit_in_memory_are_refused(monkeypatch):
    monkeypatch.setattr(cell_counts, "MOST_CELLS", 3)
    counter = CellCounter(N_PRIVATE)
    counter.add(np.arange(4), np.zeros(4, np.int64))
    with pytest.raises(DataError, match="more than 3 cells hold events"):
        counter.counts()


def test_exact_counts_are_in_no_repr():
    assert "173" not in repr(CellCounts.of(2, np.zeros(173, np.int64), np.zeros(173, np.int64)))


@pytest.mark.parametrize("n_cells", [1, 1 << 20])
def test_no_sum_of_counts_overflows(n_cells):
    """Rows of 10^12 events each, more than 64 bits hold: too many must not look like few, or like none."""
    counter = CellCounter(n_cells)
    cells = np.full(1 << 21, n_cells - 1)
    cells[0] = 0
    for _ in range(5):
        counter.add(np.zeros(len(cells), np.int64), cells, np.full(len(cells), 10**12))
    assert counter.counts().n_events > 10**10
    assert (counter.counts() + counter.counts()).n_events > 10**10
