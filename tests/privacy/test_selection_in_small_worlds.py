"""Which runs of reports may follow which, against all rows of a small world: what tells a hidden value is refused.

Rows have a day, a place and a kind, each of two values that lists may hold and one that they never do, and a station.
Runs are listed that count some of them, by the code that reads events, and hide some coordinates. Everybody sees of
each event in which runs it has a report, and what these publish. A pair of runs leaks if one run counts two events that
agree in all that is published, and the other run counts one of them alone.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.events import EventColumns, ReadOptions, open_events
from tacit.privacy.following import SELECTION, Entered, Refusal, refusal

COORDINATES = ("time", "place", "kind")
VALUES = (
    ("2025-01-01", "2025-01-02", "2025-03-01"),
    ("north", "south", "nowhere"),
    ("fire", "fall", "strange"),
    ("East", "West"),
)
ROWS = list(itertools.product(*VALUES))
TABLE = pa.table(dict(zip(("time", "place", "kind", "station"), zip(*ROWS, strict=True), strict=True)))
DAYS = {day: {0: (0,), 1: (1,), 2: (0, 1)}[day] for day in range(3)}
PLACES = (
    PlaceAxis.of(["north", "south"]),
    PlaceAxis.of(["north"]),
    PlaceAxis.of(["north"]).with_elsewhere(),
    PlaceAxis.of(["south"]).with_elsewhere(),
)
KINDS = (None, KindAxis.of(["fire", "fall"]), KindAxis.of(["fire"]), KindAxis.of(["fire"]).with_elsewhere())
WHERE = ((), ("station=East",))


@dataclass(frozen=True, eq=False)
class Run:
    """A run of reports: the days it covers, which rows it counts, and what the ledger holds of it."""

    days: tuple[int, ...]
    counts: np.ndarray
    entered: Entered


def runs() -> list[Run]:
    found = []
    for days, place, kind, where in itertools.product(DAYS.values(), PLACES, KINDS, WHERE):
        time = TimeAxis.between(VALUES[0][days[0]], VALUES[0][days[-1]])
        columns = EventColumns(time="time", place="place", kind="kind", where=where)
        options = ReadOptions(date_format="year-first")
        events = open_events(TABLE, columns=columns, domain=Domain(time, place, kind), options=options)
        counted = np.zeros(len(ROWS), np.int64)
        for batch in events.batches():
            counted[batch.row] = 1
        selection = events.selection()
        axes = COORDINATES[: 2 if kind is None else 3]
        for n_hidden in range(1, len(axes) + 1):
            for hidden in itertools.combinations(axes, n_hidden):
                published = tuple(axis for axis in axes if axis not in hidden)
                entered = Entered(hidden=hidden, published=published, selection=tuple(selection[p] for p in SELECTION))
                found.append(Run(days, counted, entered))
    return found


def groups_of(published: frozenset[str]) -> np.ndarray:
    """A row for each value of what is published, with ones where events have it."""
    known = [tuple(row[COORDINATES.index(axis)] for axis in sorted(published)) for row in ROWS]
    return np.array([[one == value for one in known] for value in sorted(set(known))], np.int64)


GROUPS = {
    frozenset(names): groups_of(frozenset(names)) for n in range(4) for names in itertools.combinations(COORDINATES, n)
}


def leaks(*runs: Run) -> bool:
    groups = GROUPS[frozenset(axis for run in runs for axis in run.entered.published)]
    return any(
        ((in_both > 0) & (in_both < groups @ one.counts)).any()
        for one, two in itertools.permutations(runs, 2)
        for in_both in [groups @ (one.counts * two.counts)]
    )


@pytest.fixture(scope="module")
def every_run() -> list[Run]:
    return runs()


def test_a_run_is_refused_after_another_just_where_the_two_tell_what_both_hide(every_run):
    n_allowed = n_refused = 0
    for one, two in itertools.combinations_with_replacement(every_run, 2):
        if not {*one.days} & {*two.days}:
            continue  # no event is in both; of which days a run is, is public
        found = refusal(two.entered, [one.entered])
        assert found == refusal(one.entered, [two.entered])
        if found != Refusal.UNDOES:
            assert (found == Refusal.COUNTS_OTHERS) == leaks(one, two), (one.entered, two.entered)
            n_allowed += found is None
            n_refused += found is not None
    assert min(n_allowed, n_refused) > 1000


def test_three_runs_may_follow_each_other_just_where_no_two_tell_what_all_hide(every_run):
    whole = [run for run in every_run if run.days == (0, 1)][::3]
    pairs = [
        (one, two) for one, two in itertools.product(whole, repeat=2) if refusal(two.entered, [one.entered]) is None
    ]
    n_allowed = 0
    for (one, two), three in itertools.product(pairs, whole):
        found = refusal(three.entered, [one.entered, two.entered])
        if found != Refusal.UNDOES:
            assert (found == Refusal.COUNTS_OTHERS) == leaks(one, two, three)
            n_allowed += found is None
    assert n_allowed > 100
