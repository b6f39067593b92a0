"""What may follow what is one table: which promises can still be made after which entries."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pytest

from small_worlds import EVERY_ROW
from tacit.errors import AlreadyRandomized, SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.following import SELECTION, Entered, Refusal, refusal
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

ALL_ROWS = tuple(EVERY_ROW[part] for part in SELECTION)
PLACE = Entered(hidden=("place",), published=("time",), selection=ALL_ROWS)
KINDS_PUBLIC = Entered(hidden=("place",), published=("time", "kind"), selection=ALL_ROWS)
KINDS_HIDDEN = Entered(hidden=("place", "kind"), published=("time",), selection=ALL_ROWS)
ONE = Cost.pure(1.0)
EVENT, DAY, MONTH, ALL = Unit(), Unit.user_day(most=2), Unit.person(most=2, window="month"), Unit.person(most=2)


@pytest.mark.parametrize("unit", [EVENT, DAY, MONTH, ALL])
def test_single_events_may_follow_anything(unit):
    assert refusal(Entered(EVENT), [Entered(unit), PLACE]) is None


@pytest.mark.parametrize("unit", [DAY, MONTH, ALL])
@pytest.mark.parametrize("before", [PLACE, Entered(EVENT)])
def test_after_single_events_no_person_is_promised_anything(unit, before):
    assert refusal(Entered(unit), [Entered(ALL), before]) == Refusal.BOUNDS_NO_PERSON


@pytest.mark.parametrize(("new", "before"), list(itertools.product([DAY, MONTH, ALL], repeat=2)))
def test_units_of_persons_may_follow_each_other(new, before):
    assert refusal(Entered(new), [Entered(before)]) is None


def test_a_counter_of_shorter_windows_leaves_no_promise_for_all_days():
    assert refusal(Entered(ALL), [Entered(DAY, is_counter=True)]) == Refusal.HAS_NO_END
    assert refusal(Entered(MONTH), [Entered(DAY, is_counter=True)]) is None
    assert refusal(Entered(ALL), [Entered(ALL, is_counter=True)]) is None


def test_reports_follow_what_needs_no_delta():
    assert refusal(PLACE, [Entered(MONTH), Entered(EVENT)]) is None
    assert refusal(PLACE, [Entered(MONTH, is_pure=False)]) == Refusal.STATES_NO_DELTA


def test_a_plan_without_kinds_neither_publishes_nor_hides_them():
    assert refusal(KINDS_HIDDEN, [PLACE]) is None
    assert refusal(KINDS_PUBLIC, [PLACE]) is None
    assert refusal(KINDS_PUBLIC, [KINDS_HIDDEN]) == Refusal.UNDOES
    assert refusal(Entered(hidden=("time",), published=("place",)), [PLACE]) == Refusal.UNDOES


@pytest.mark.parametrize("part", SELECTION)
def test_reports_follow_those_that_count_the_same_rows(part):
    """Lists of what one of the runs publishes do not matter: no replacement changes it."""
    other = tuple("other" if name == part else "any" for name in SELECTION)
    for before in (PLACE, KINDS_PUBLIC, KINDS_HIDDEN):
        refused = refusal(replace(PLACE, selection=other), [before])
        assert (refused is None) == (part in (*before.published, *PLACE.published)), (part, before)
        assert refused in (None, Refusal.COUNTS_OTHERS)


def test_reports_follow_none_of_which_nobody_knows_which_rows_they_count():
    assert refusal(PLACE, [replace(PLACE, selection=())]) == Refusal.COUNTS_OTHERS
    assert refusal(PLACE, [Entered(EVENT)]) is None


GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "who-is-protected.md"
COLUMNS = {"reports": PLACE, "*event*": Entered(EVENT), "*user-day*": Entered(DAY), "*person*": Entered(MONTH)}


def test_the_table_of_the_guide_is_the_function():
    rows = [line.strip("|").split("|") for line in GUIDE.read_text(encoding="utf-8").splitlines() if "|" in line]
    (head,) = (row for row in rows if row[0].strip() == "made now")
    before = [cell.strip().removeprefix("after ") for cell in head[1:]]
    assert before == list(COLUMNS)
    found = {row[0].strip(): row[1:] for row in rows[rows.index(head) + 2 :][: len(COLUMNS)]}
    assert list(found) == before
    for (name, cells), (number, other) in itertools.product(found.items(), enumerate(before)):
        is_allowed = refusal(COLUMNS[name], [COLUMNS[other]]) is None
        assert re.match("yes|no", cells[number].strip())[0] == ("yes" if is_allowed else "no"), (name, other)


class TestInALedger:
    @pytest.fixture
    def spend(self, tmp_path):
        ledger = Ledger(tmp_path / "ledger.sqlite")
        ledger.set_budget("visits", epsilon=32.0, delta=1e-6)

        def spend(unit, *days, cost=ONE):
            covered = None if not days else dict.fromkeys(days, b"")
            ledger.spend(data_set="visits", release=f"{unit} {days}", cost=cost, days=covered, unit=unit)
            return ledger.remaining("visits")

        spend.ledger = ledger
        return spend

    def test_prices_of_persons_add_up_over_all_days_of_the_window(self, spend):
        spend(MONTH, "2025-01-01")
        assert spend(MONTH, "2025-02-01").guarantee.persons == (("person-month", Cost.pure(1.0)),)
        left = spend(MONTH, "2025-01-31")
        assert left.guarantee.persons == (("person-month", Cost.pure(2.0)),)
        assert left.guarantee.presence == Cost.pure(1.0)  # of one event on one day, 2/most of one price
        assert left.spent == Cost.pure(2.0)
        assert spend(ALL, "2030-01-01").guarantee.persons == (
            ("person-month", Cost.pure(2.0)),
            ("person", Cost.pure(4.0)),
        )

    def test_a_release_of_the_same_month_on_another_day_bounds_nothing_for_a_person(self, spend):
        spend(EVENT, "2025-01-01")
        assert spend(DAY, "2025-01-02").guarantee.person_day is None  # for every day there is
        with pytest.raises(SettingError, match="in the months of 1 of these days releases before protected single"):
            spend(MONTH, "2025-01-31")
        with pytest.raises(SettingError, match="for all of a person's events, so that no sum"):
            spend(ALL, "2025-03-31")
        spend(MONTH, "2025-02-01")

    def test_a_day_of_a_longer_window_costs_twice(self, spend):
        spend(MONTH, "2025-01-01", "2025-01-02")
        assert spend.ledger.remaining("visits").guarantee.person_day == Cost.pure(2.0)
        assert spend(MONTH, "2025-03-01").guarantee.person_day == Cost.pure(2.0)

    def test_days_count_as_often_as_a_window_has_them(self, spend):
        left = spend(MONTH, "2025-01-01")
        left = spend(DAY, "2025-01-01", "2025-01-02", "2025-01-03", cost=Cost(1.0, 0.125))
        assert left.guarantee.persons == (("person-month", Cost(4.0, 9 * 0.125)),)
        assert left.spent == Cost(4.0, 9 * 0.125)

    def test_single_events_after_persons_leave_them_unprotected_and_their_price_as_it_was(self, spend):
        before = spend(MONTH, "2025-01-01", "2025-01-02")
        left = spend(EVENT, "2025-01-02")
        assert left.guarantee.persons == (("person-month", None),)
        assert left.guarantee.presence == Cost.pure(2.0)
        assert before.spent == Cost.pure(1.0)
        assert left.spent == Cost.pure(2.0)

    def test_a_counter_of_days_leaves_no_promise_for_all_days(self, spend):
        spend(ALL, "2025-01-01")
        left = spend(DAY)
        assert left.guarantee.persons == (("person", None),)
        assert left.guarantee.person_day == Cost.pure(2.0)
        assert "Some reports or releases do not bound what a person adds" in left.guarantee.sentences()[-1]
        with pytest.raises(SettingError, match="for ever: no sum is a promise"):
            spend(ALL, "2025-01-02")

    def test_a_unit_is_read_back_as_it_was_spent_for(self, spend):
        unit = Unit.person(most=20, most_per_cell=5, window="year")
        spend(unit, "2025-01-01")
        assert [entry.unit for entry in spend.ledger.history()] == [unit]
        assert (
            spend.ledger.resume(data_set="visits", release=f"{unit} ('2025-01-01',)", days={"2025-01-01": b""}).unit
            == unit
        )

    def test_reports_tell_whether_they_know_kinds(self, spend):
        made = {"data_set": "visits", "epsilon": 1.0, "n_events": 1, "again": True, "selection": EVERY_ROW}
        spend.ledger.record_randomization(plan_id="a", private=("place",), days={"2025-01-01": b"a"}, **made)
        assert spend.ledger.remaining("visits").guarantee.hidden == ("place",)
        spend.ledger.record_randomization(plan_id="b", private=("place", "kind"), days={"2025-01-01": b"a"}, **made)
        assert spend.ledger.remaining("visits").guarantee.hidden == ("place", "kind")
        with pytest.raises(AlreadyRandomized, match="undo each other's protection"):
            spend.ledger.record_randomization(
                plan_id="c", private=("place",), days={"2025-01-01": b"a"}, tells_kinds=True, **made
            )
