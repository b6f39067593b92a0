"""Kinds of events: names that are matched, rows that are set aside, and digests that do not know kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.domain import Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import BadRows, SettingError
from tacit.events import (
    ContributionBound,
    DayDigest,
    EventColumns,
    EventCounts,
    KindSummary,
    ReadOptions,
    Reason,
    SourceDescription,
    open_events,
    propose_source,
    summarize,
)

Write = Callable[..., Path]
Count = Callable[..., EventCounts]

KINDS = """kind,group,alias,outside
Building fire,fire,Incendie|Feu de bâtiment,
Wildfire,fire,Feu de forêt,
Flood,technical,,
False alarm,technical,,yes
"""
TABLE = Gazetteer.from_text(KINDS, levels=("kind", "group"))
KIND = KindAxis.from_gazetteer(TABLE)
WRITTEN = ReadOptions(date_format="year-first")
KEY = bytes(range(32))


@pytest.fixture
def kinds(domain: Domain) -> Domain:
    return replace(domain, time=TimeAxis.between("2018-01-01", "2018-01-03", zone="Europe/Paris"), kind=KIND)


def rows(*kinds: str, towns: str = "Ornans") -> str:
    return "SDate,Town,Kind\n" + "".join(f"2018-01-02,{towns},{kind}\n" for kind in kinds)


def test_a_row_is_counted_in_the_column_of_its_place_and_kind(write: Write, count: Count, kinds: Domain) -> None:
    counts = count(write(rows("Flood", "wildfire") + "2018-01-03,Besançon,Building fire\n"), kind="Kind", domain=kinds)
    assert counts.counts.tolist() == [[0] * 6, [0, 0, 0, 0, 1, 1], [1, 0, 0, 0, 0, 0]]


def test_kinds_are_matched_as_people_write_them(write: Write, count: Count, kinds: Domain) -> None:
    typed = rows("BUILDING-FIRE", " incendie ", "Feu de batiment", "FEU DE FORET", "buildingfire")
    counts = count(write(typed), kind="Kind", domain=kinds)
    assert counts.counts[1].tolist() == [0, 0, 0, 4, 1, 0]


def test_kinds_are_counted_in_their_groups(write: Write, count: Count, kinds: Domain) -> None:
    groups = replace(kinds, kind=KindAxis.from_gazetteer(TABLE, "group"))
    counts = count(write(rows("wildfire", "Incendie", "fire", "flood")), kind="Kind", domain=groups)
    assert counts.counts[1].tolist() == [0, 0, 3, 1]


def test_every_reason_of_a_bad_kind_is_told_without_the_kind(write: Write, count: Count, kinds: Domain) -> None:
    counts = count(write(rows("", "Landslip", "False alarm", "fire", "Flood")), kind="Kind", domain=kinds)
    assert dict(counts.bad_rows.first_rows) == {
        Reason.NO_KIND: (2,),
        Reason.UNKNOWN_KIND: (3, 5),  # a group is no kind: it could be either of its kinds
        Reason.OUTSIDE_KIND: (4,),
    }
    assert counts.n_events == 1
    assert "andslip" not in str(counts.bad_rows)
    assert "larm" not in str(counts.bad_rows)


def test_a_name_that_several_kinds_share_is_set_aside(write: Write, count: Count, kinds: Domain) -> None:
    shared = KindAxis.from_gazetteer(Gazetteer.from_text("kind,alias\nfire,burning\nheat,burning\n", levels=("kind",)))
    counts = count(write(rows("burning", "fire")), kind="Kind", domain=replace(kinds, kind=shared))
    assert dict(counts.bad_rows.counts) == {Reason.AMBIGUOUS_KIND: 1}


def test_the_place_is_the_first_reason_and_the_user_the_last(write: Write, count: Count, kinds: Domain) -> None:
    text = "SDate,Town,Kind,Who\n2018-01-02,Nowhere,x,\n2018-01-02,Ornans,x,\n2018-01-02,Ornans,Flood,\n"
    counts = count(write(text), kind="Kind", user="Who", domain=kinds)
    assert list(counts.bad_rows.counts) == [Reason.UNKNOWN_PLACE, Reason.UNKNOWN_KIND, Reason.NO_USER]


def test_with_a_kind_called_other_no_kind_is_bad(write: Write, count: Count, kinds: Domain) -> None:
    other = replace(kinds, kind=KIND.with_elsewhere())
    counts = count(write(rows("", "Landslip", "False alarm", "Flood")), kind="Kind", domain=other)
    assert counts.counts[1].tolist() == [0, 0, 0, 0, 0, 0, 1, 3]
    assert not counts.bad_rows


def test_strict_reading_refuses_an_unknown_kind(write: Write, count: Count, kinds: Domain) -> None:
    with pytest.raises(BadRows, match=r"1 row with a kind that is not known \(row 2\)"):
        count(write(rows("Landslip", "Flood")), kind="Kind", domain=kinds, strict=True)


def test_a_domain_with_kinds_needs_their_column(write: Write, count: Count, kinds: Domain) -> None:
    with pytest.raises(SettingError, match=r"no column is named that holds them. Name it: EventColumns\(kind="):
        count(write(rows("Flood")), domain=kinds)


def test_a_column_of_kinds_is_not_read_where_none_are_counted(write: Write, count: Count, domain: Domain) -> None:
    counts = count(write(rows("", "Landslip", "Flood")), kind="Kind", domain=domain)
    assert counts.n_events == 3
    assert not counts.bad_rows


EVENTS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["North", "South", "x"]), st.sampled_from(["fire", "flood", "", "x"])),
    max_size=20,
)


@settings(max_examples=20)
@given(EVENTS, st.booleans(), st.booleans())
def test_the_same_events_have_the_same_digest_with_and_without_kinds(
    events: list[tuple[int, str, str]], with_other: bool, in_batches: bool
) -> None:
    plain = Domain(TimeAxis.between("2018-01-01", "2018-01-03"), PlaceAxis.of(["North", "South"]))
    axis = KindAxis.of(["fire", "flood"])
    table = pa.table(
        {
            "day": pa.array([f"2018-01-0{day + 1}" for day, _, _ in events], pa.string()),
            "town": pa.array([town for _, town, _ in events], pa.string()),
            "kind": pa.array([kind for _, _, kind in events], pa.string()),
        }
    )
    found = []
    for domain in (plain, replace(plain, kind=axis.with_elsewhere() if with_other else axis)):
        digest = DayDigest(KEY, domain)
        opened = open_events(table, columns=EventColumns("day", "town", kind="kind"), domain=domain, options=WRITTEN)
        if in_batches:
            assert sum(map(len, opened.batches(digest=digest, only=slice(1, 3)))) <= len(events)
        else:
            opened.count(digest=digest)
        found.append(digest.digests())
    assert found[0] == found[1]


@settings(max_examples=20)
@given(EVENTS)
def test_columns_of_places_and_kinds_add_up_to_places(events: list[tuple[int, str, str]]) -> None:
    domain = Domain(
        TimeAxis.between("2018-01-01", "2018-01-03"), PlaceAxis.of(["North", "South"]), KindAxis.of(["fire", "flood"])
    )
    table = pa.table(
        {name: pa.array(list(one), pa.string()) for name, one in zip("dtk", _columns(events), strict=True)}
    )
    counts = open_events(table, columns=EventColumns("d", "t", kind="k"), domain=domain, options=WRITTEN).count()
    expected = np.zeros(domain.sizes, np.int64)
    for day, town, kind in events:
        if town != "x" and kind in ("fire", "flood"):
            expected[day, ["North", "South"].index(town), ["fire", "flood"].index(kind)] += 1
    assert counts.counts.tolist() == expected.reshape(domain.shape).tolist()


def _columns(events: list[tuple[int, str, str]]) -> tuple[list[str], list[str], list[str]]:
    return [f"2018-01-0{day + 1}" for day, _, _ in events], [one[1] for one in events], [one[2] for one in events]


def test_a_user_day_is_bounded_over_all_kinds(write: Write, count: Any, kinds: Domain, opened: Any) -> None:
    text = "SDate,Town,Kind,Who\n" + "".join(f"2018-01-02,Ornans,{kind},a\n" for kind in ("Flood", "Wildfire", "Flood"))
    bound = ContributionBound(2, 1, "day", key=bytes(32))
    counts = opened(write(text), kind="Kind", user="Who", domain=kinds).count(bound=bound)
    assert counts.counts[1].tolist() == [0, 0, 0, 0, 1, 1]
    assert counts.n_beyond == 1


def test_rows_of_another_kind_do_not_repeat_a_date_and_place(write: Write, count: Count, kinds: Domain) -> None:
    text = "SDate,Town,Kind,N\n" + "".join(
        f"2018-01-0{day},Ornans,{kind},2\n" for day in (1, 2, 3) for kind in ("Flood", "Wildfire")
    )
    assert str(count(write(text), kind="Kind", count="N", domain=kinds).table) == (
        "one row for each date, place and kind, no period without a row"
    )
    again = count(write(text + "2018-01-03,ornans,flood,1\n"), kind="Kind", count="N", domain=kinds)
    assert str(again.table) == ("1 row repeats the date, place and kind of an earlier one, and was added to it (row 8)")


def test_a_summary_has_the_figures_of_every_kind(write: Write, count: Count, kinds: Domain) -> None:
    text = rows("Flood", "Flood", "Wildfire") + "2018-01-03,Ornans,Flood\n2018-01-03,Besançon,Flood\n"
    summary = summarize(count(write(text), kind="Kind", domain=kinds))
    assert summary.kinds == (
        KindSummary("Building fire", 0, 0.0, 0),
        KindSummary("Wildfire", 1, 1 / 3, 1),
        KindSummary("Flood", 4, 4 / 3, 2),
    )
    assert (summary.n_single_weeks, summary.n_occupied_weeks) == (2, 3)


@pytest.mark.parametrize("name", ["Kind", "TYPE", "Nature d'intervention", "catégorie"])
def test_the_column_of_kinds_is_proposed_where_its_name_says_so(name: str) -> None:
    table = pa.table({"day": ["2018-01-01"], "town": ["x"], name: ["fire"]})
    columns = EventColumns("day", "town")
    assert propose_source(table, columns=columns, with_kinds=True).description.kind == name
    assert propose_source(table, columns=columns).description.kind is None


def test_no_column_of_kinds_is_proposed_where_there_are_two(write: Write) -> None:
    table = pa.table({"day": ["2018-01-01"], "town": ["x"], "kind": ["fire"], "type": ["A"]})
    assert propose_source(table, columns=EventColumns("day", "town"), with_kinds=True).description.kind is None
    taken = propose_source(table, columns=EventColumns("day", "type"), with_kinds=True)
    assert taken.description.kind == "kind"


def test_a_description_keeps_the_column_of_kinds(tmp_path: Path) -> None:
    described = SourceDescription("parquet", "day", "town", kind="what")
    described.write(tmp_path / "events.source.toml")
    read = SourceDescription.read(tmp_path / "events.source.toml")
    assert read == described
    assert read.columns.kind == "what"
    assert "Columns: time is day, place is town, kind is what." in read.sentences()


def test_a_row_is_read_the_same_whatever_stands_beside_it() -> None:
    odd = ["fire", "FIRE", "", " ", "blaze", "x" * 5000, "fire,flood", "\0", "é"]
    rows = [("South", "flood"), ("x", "flood"), *(("North", kind) for kind in odd)]
    domain = Domain(
        TimeAxis.between("2018-01-01", "2018-01-03"), PlaceAxis.of(["North", "South"]), KindAxis.of(["fire", "flood"])
    )

    def read(some: list[tuple[str, str]]) -> list[object]:
        table = pa.table(
            {
                "day": pa.array(["2018-01-02"] * len(some), pa.string()),
                "town": pa.array([town for town, _ in some], pa.string()),
                "kind": pa.array([kind for _, kind in some], pa.string()),
            }
        )
        events = open_events(table, columns=EventColumns("day", "town", kind="kind"), domain=domain, options=WRITTEN)
        fates: list[object] = [None] * len(some)
        for batch in events.batches():
            for row, column in zip(batch.row.tolist(), batch.column.tolist(), strict=True):
                fates[row] = column
        for reason, where in events.bad_rows.first_rows.items():
            for row in where:
                fates[row] = reason
        return fates

    together = read(rows)
    assert together == [fate for row in rows for fate in read([row])]
    assert together[:4] == [3, Reason.UNKNOWN_PLACE, 0, 0]
