"""What is collected of parts of a source adds up to that of the whole: + is associative, commutative, has a zero."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.events import DayDigest, EventBatch, Reason
from tacit.events.badrows import FIRST_ROWS_KEPT, BadRowLog, BadRowSummary
from tacit.events.counts import MOST_IN_A_CELL, CountKeeper

PLACES = PlaceAxis.of(["North", "South"])
ENDLESS = Domain(TimeAxis.between("2018-01-01", "2018-01-01").without_end(), PLACES)
ENDING = ENDLESS.with_end(200)
KEY = bytes(32)
Row = tuple[int, int, int]
rows = st.lists(st.tuples(st.integers(0, 199), st.integers(0, 1), st.sampled_from([1, 7, 10**12])), max_size=8)
domains = st.sampled_from([ENDLESS, ENDING])


def batch_of(some: list[Row]) -> EventBatch:
    bins, places, counts = np.array(some, np.int64).reshape(-1, 3).T.copy()
    seconds = np.datetime64("2018-01-01", "s") + bins.astype("timedelta64[D]")
    return EventBatch(time_bin=bins, column=places, seconds=seconds, row=np.arange(len(bins)), count=counts)


def kept(domain: Domain, some: list[Row]) -> CountKeeper:
    keeper = CountKeeper(domain, "events.csv")
    keeper.add(batch_of(some))
    return keeper


def digested(domain: Domain, some: list[Row]) -> DayDigest:
    digest = DayDigest(KEY, domain)
    digest.update(batch_of(some))
    return digest


def logged(some: list[tuple[Reason, int]]) -> BadRowLog:
    log = BadRowLog()
    for reason, row in sorted(some, key=lambda one: one[1]):
        log.add(reason, np.array([row]))
    return log


def seen(part: CountKeeper | DayDigest | BadRowLog) -> object:
    """What can be told of a part, to be compared."""
    if isinstance(part, CountKeeper):
        found = part.finish(n_rows=0, n_left_out=0, bad_rows=BadRowSummary())
        return found.domain, found.counts.tolist(), found.n_counted
    return part.digests() if isinstance(part, DayDigest) else part.summary()


@pytest.mark.parametrize("made", [kept, digested])
@given(domain=domains, parts=st.lists(rows, min_size=3, max_size=3))
def test_counts_and_digests_add_in_any_order_and_grouping_to_those_of_the_whole(made, domain, parts) -> None:
    one, two, three = (made(domain, part) for part in parts)
    before = seen(one)
    whole = made(domain, [row for part in parts for row in part])
    assert seen((one + two) + three) == seen(one + (two + three)) == seen(whole)
    assert seen(one + two) == seen(two + one)
    assert seen(one + made(domain, [])) == before == seen(made(domain, []) + one)
    assert seen(one) == before, "adding changes no part"


bad_rows = st.sets(st.tuples(st.sampled_from(list(Reason)[:3]), st.integers(2, 90)))


@given(parts=st.lists(bad_rows, min_size=3, max_size=3))
def test_logs_of_bad_rows_add_in_any_order_and_grouping_to_that_of_the_whole(parts) -> None:
    one, two, three = (logged(list(part)) for part in parts)
    whole = logged([row for part in parts for row in part])
    assert seen((one + two) + three) == seen(one + (two + three)) == seen(whole)
    assert seen(one + two) == seen(two + one)
    assert seen(one + BadRowLog()) == seen(one) == seen(BadRowLog() + one)


def test_the_first_bad_rows_of_all_parts_are_kept() -> None:
    parts = [logged([(Reason.NO_DATE, row) for row in range(start, 100, 3)]) for start in range(2, 5)]
    assert reduce(add, parts).summary().first_rows[Reason.NO_DATE] == tuple(range(2, 2 + FIRST_ROWS_KEPT))


def test_a_full_cell_stays_full_when_parts_are_added() -> None:
    full = kept(ENDING, [])
    full.add_units(np.zeros(1, np.int64), np.array([MOST_IN_A_CELL]))
    total = full + kept(ENDING, [(0, 0, 7)]) + full
    assert seen(total)[1][0][0] == MOST_IN_A_CELL


def test_parts_of_different_domains_or_keys_do_not_add() -> None:
    with pytest.raises(SettingError, match="different domains"):
        kept(ENDING, []) + kept(ENDLESS, [])
    with pytest.raises(SettingError, match="different domains"):
        digested(ENDING, []) + digested(ENDLESS, [])
    with pytest.raises(SettingError, match="different keys"):
        DayDigest(KEY, ENDING) + DayDigest(bytes(31) + b"1", ENDING)


@pytest.mark.parametrize("part", [kept(ENDING, []), digested(ENDING, []), BadRowLog()])
def test_a_part_adds_to_its_own_kind_alone(part) -> None:
    with pytest.raises(TypeError):
        part + 1
