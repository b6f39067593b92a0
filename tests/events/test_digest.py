"""The same events have the same digests, whatever they are written in."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.events import DayDigest, EventBatch

KEY = bytes(range(32))
DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-10"), PlaceAxis.of(["North", "South", "East"]))

EVENTS = st.lists(st.tuples(st.integers(0, 10 * 86400 - 1), st.integers(0, 2)), min_size=1, max_size=50)


def batch(events: list[tuple[int, int]], counts: list[int] | None = None) -> EventBatch:
    second = np.array([one for one, _ in events], np.int64)
    return EventBatch(
        time_bin=second // 86400,
        column=np.array([place for _, place in events], np.int32),
        count=None if counts is None else np.array(counts, np.int64),
        seconds=np.datetime64("2018-01-01T00:00:00", "s") + second,
        row=np.arange(len(events)) + 2,
    )


def digests(*batches: EventBatch, key: bytes = KEY, domain: Domain = DOMAIN) -> dict[str, bytes]:
    digest = DayDigest(key, domain)
    for one in batches:
        digest.update(one)
    return digest.digests()


@given(EVENTS, st.randoms(use_true_random=False), st.integers(0, 50))
def test_neither_order_nor_batches_matter(events: list[tuple[int, int]], rnd: random.Random, cut: int) -> None:
    shuffled = events.copy()
    rnd.shuffle(shuffled)
    assert digests(batch(events)) == digests(batch(shuffled[:cut]), batch(shuffled[cut:]))


@given(EVENTS, st.data())
def test_rows_and_counts_of_the_same_events_agree(events: list[tuple[int, int]], data: st.DataObject) -> None:
    counts = [data.draw(st.integers(0, 4)) for _ in events]
    repeated = [event for event, count in zip(events, counts, strict=True) for _ in range(count)]
    assert digests(batch(events, counts)) == digests(batch(repeated))
    assert digests(batch(events)) == digests(batch(events, [1] * len(events)))


@given(EVENTS, st.data())
def test_any_change_shows_on_its_day_and_on_no_other(events: list[tuple[int, int]], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(events) - 1))
    second, place = events[index]
    day = second // 86400
    changed = data.draw(
        st.sampled_from(
            [[(second, (place + 1) % 3)], [(day * 86400 + (second + 1) % 86400, place)], [], [events[index]] * 2]
        )
    )
    before = digests(batch(events))
    after = digests(batch(events[:index] + changed + events[index + 1 :]))
    date = f"2018-01-{day + 1:02d}"
    assert before.get(date) != after.get(date)
    del before[date]
    after.pop(date, None)
    assert before == after


def test_places_enter_by_name() -> None:
    other = Domain(DOMAIN.time, PlaceAxis.of(["East", "North", "South"]))
    assert digests(batch([(5, 0), (6, 2)])) == digests(batch([(5, 1), (6, 0)]), domain=other)


def test_another_key_gives_other_digests() -> None:
    one, other = digests(batch([(5, 0)])), digests(batch([(5, 0)]), key=bytes(32))
    assert one.keys() == other.keys() == {"2018-01-01"}
    assert one["2018-01-01"] != other["2018-01-01"]
    assert len(one["2018-01-01"]) == 16


def test_digests_are_the_same_on_every_machine() -> None:
    assert digests(batch([(5, 0), (86400, 2)], [1, 3])) == {
        "2018-01-01": bytes.fromhex("fa5b559734a1ae0026c8ecd373460f40"),
        "2018-01-02": bytes.fromhex("3b78d2497f2e2415b405da05e6d88784"),
    }


def test_a_short_key_is_refused() -> None:
    with pytest.raises(SettingError, match="key must have at least 16 bytes; got 3 bytes"):
        DayDigest(b"abc", DOMAIN)


def test_formats_names_and_row_order_do_not_matter(
    write: Callable[..., Path], opened: Callable[..., Any], domain: Domain
) -> None:
    def of(source: object) -> dict[str, bytes]:
        digest = DayDigest(KEY, domain)
        opened(source, date_format="day-first").count(digest=digest)
        return digest.digests()

    one = of(write("SDate,Town\n2018-01-01 08:08,BESANCON\n2018-01-02 00:00:05,Ornans\nx,Ornans\n", "a.csv"))
    other = of(
        write(
            "id;Town;SDate\n7;Pontarlier;02.01.2018 00:00:05\n8;Besançon;01.01.2018 08:08:00\n9;x;13.01.2018\n", "b.csv"
        )
    )
    utc = pa.table({"SDate": ["2018-01-01T07:08:00Z", "2018-01-01T23:00:05Z"], "Town": ["St Vit", "Ornans"]})
    assert one == other == of(utc)
    assert len(one) == 2
