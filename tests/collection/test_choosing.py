"""A bound is counted, paid for and drawn, in this order; an interruption draws the same bound again."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_worlds import days_and_places
from tacit.collection.choosing import choose_bound
from tacit.errors import BudgetExhausted, SettingError
from tacit.events import EventColumns, open_events, spill
from tacit.mechanisms.central.bound_choice import BoundChoice
from tacit.privacy.cost import Budget
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

DOMAIN = days_and_places(40, 2)
FIRST = np.datetime64("2018-01-01")
GRID = (1, 2, 4)
CHOICE = BoundChoice(GRID, quantile=0.75, epsilon=2.0)


def events_of(rows, user="who", domain=DOMAIN):
    """Events of rows (day, person, number)."""
    table = pa.table(
        {
            "day": pa.array(FIRST + np.array([day for day, _, _ in rows], np.int64)),
            "town": ["place 0"] * len(rows),
            "who": [who for _, who, _ in rows],
            "n": [n for _, _, n in rows],
        }
    )
    return open_events(table, columns=EventColumns("day", "town", "n", user=user), domain=domain)


ROWS = [(day, who, 1) for who, n in (("a", 1), ("b", 3), ("c", 40), ("d", 2)) for day in range(n)]
# another bound than 2 is drawn with a probability below e^-65
PLENTY = [(0, f"person {number}", 2 if number < 200 else 4) for number in range(270)]


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 39), st.sampled_from("abcdef"), st.integers(0, 3)), min_size=1, max_size=30),
    st.sampled_from([None, "month"]),
)
def test_persons_are_counted_by_their_events(rows, window):
    counted = events_of(rows).count_persons(GRID, key=bytes(32), window=window)
    held = Counter()
    for day, who, n in rows:
        held[who, int(day >= 31) if window else 0] += n
    numbers = [n for n in held.values() if n]
    assert counted.n_persons == len(numbers)
    assert counted.at_most == tuple(sum(n <= bound for n in numbers) for bound in GRID)


def test_persons_of_more_rows_than_a_file_holds_are_counted_once(monkeypatch):
    monkeypatch.setattr(spill, "MAX_ROWS", 3)
    monkeypatch.setattr(spill, "_HELD_BYTES", 1)
    counted = events_of(ROWS).count_persons(GRID, key=bytes(32))
    assert (counted.n_persons, counted.at_most) == (4, (1, 2, 3))
    assert "4" not in repr(counted)


def test_the_ledger_is_paid_before_a_bound_is_drawn_and_keeps_to_its_budget(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    chosen = choose_bound(events_of(PLENTY), CHOICE, ledger=ledger, data_set="visits")
    assert chosen.most == 2
    (entry,) = ledger.history()
    assert (entry.cost, entry.unit, entry.is_finished) == (CHOICE.cost, Unit.person(most=1), False)
    again = choose_bound(events_of(PLENTY[::-1]), CHOICE, ledger=ledger, data_set="visits")
    assert (again.most, again.is_resumed, len(ledger.history())) == (2, True, 1)
    ledger.finish(again.spend)
    with pytest.raises(BudgetExhausted):
        choose_bound(events_of(PLENTY), CHOICE, ledger=ledger, data_set="visits")
    said = " ".join(chosen.statement)
    assert "bound of 2 events was chosen from the public grid 1, 2, 4" in said
    assert "epsilon 2 for one person" in said
    assert "One event added or removed" in said


def test_a_release_of_persons_may_follow_within_the_budget(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    budget = Budget(epsilon=5.0)
    chosen = choose_bound(events_of(PLENTY), CHOICE, ledger=ledger, data_set="visits", budget=budget)
    ledger.finish(chosen.spend)
    other = BoundChoice(GRID, quantile=0.75, epsilon=1.0)
    second = choose_bound(events_of(PLENTY), other, ledger=ledger, data_set="visits")
    assert "All events of one person on any days added or removed: epsilon 3." in second.statement


@pytest.mark.parametrize(
    ("quantile", "said"),
    [
        (1e-300, "so that almost no persons have no more."),
        (0.000125, "so that about 0.0125% of persons have no more."),
        (0.95, "so that about 95% of persons have no more."),
        (0.999999, "so that about 99.9999% of persons have no more."),
        (0.999999999, "so that almost all persons have no more."),
    ],
)
def test_a_bound_of_one_event_and_any_share_are_said_in_words(quantile, said):
    choice = BoundChoice((1,), quantile=quantile, epsilon=1.0)
    statement = choose_bound(events_of(ROWS), choice, ledger=None, data_set="visits", seed=3).statement
    assert statement[0].startswith("The bound of 1 event was chosen")
    assert statement[0].endswith(said)


def test_a_simulation_says_so_and_needs_no_ledger(tmp_path):
    chosen = choose_bound(events_of(PLENTY), CHOICE, ledger=None, data_set="visits", seed=3)
    assert chosen.most == choose_bound(events_of(PLENTY), CHOICE, ledger=None, data_set="visits", seed=3).most
    assert "SIMULATION" in chosen.statement[-1]
    with pytest.raises(SettingError, match="Give a ledger, or a seed"):
        choose_bound(events_of(PLENTY), CHOICE, ledger=None, data_set="visits")
    with pytest.raises(SettingError, match="user must be"):
        choose_bound(events_of(PLENTY, user=None), CHOICE, ledger=None, data_set="visits", seed=3)
    endless = DOMAIN.time.without_end()
    with pytest.raises(SettingError, match="must have an end"):
        choose_bound(
            events_of(PLENTY, domain=type(DOMAIN)(endless, DOMAIN.place)),
            CHOICE,
            ledger=None,
            data_set="visits",
            seed=3,
        )
