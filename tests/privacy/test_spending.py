"""A release is paid before its noise is drawn, within a budget that knows the events, and its noise is drawn once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import defaultdict
from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_worlds import EVERY_ROW
from tacit.errors import AlreadyRandomized, AlreadyReleased, BudgetExhausted, DataError, SettingError, UndeclaredCopy
from tacit.privacy.cost import Budget, Cost
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, Spend
from tacit.privacy.ledger import file as ledger_file
from tacit.privacy.unit import Unit

DAYS = {"2018-01-01": b"a" * 16, "2018-01-02": b"b" * 16}
ONE = Guarantee.of_release(Cost.pure(1.0), Unit())
OTHER_DAYS = {"2018-02-01": b"c" * 16, "2018-02-02": b"d" * 16}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def spend(ledger, epsilon=1.0, *, data_set="fires", release="first", days=DAYS, **settings):
    return ledger.spend(data_set=data_set, release=release, cost=Cost.pure(epsilon), days=days, **settings)


def randomize(ledger, epsilon=2.0, *, data_set="fires", days=DAYS, **settings):
    return ledger.record_randomization(
        data_set=data_set,
        plan_id="plan",
        private=("place",),
        epsilon=epsilon,
        days=days,
        n_events=9,
        **{"selection": EVERY_ROW} | settings,
    )


def test_a_spend_is_written_down_and_carries_its_noise(ledger):
    paid = spend(ledger)
    (entry,) = ledger.history()
    assert (entry.identifier, entry.data_set, entry.release, entry.cost) == (
        paid.identifier,
        "fires",
        "first",
        Cost.pure(1),
    )
    assert (entry.first_day, entry.last_day, entry.n_days, entry.is_finished) == ("2018-01-01", "2018-01-02", 2, False)
    assert paid.prior.is_of_nothing
    assert not paid.is_simulation
    assert len(set(paid.draw("first", b"counts").words(100).tolist())) == 100
    other = spend(ledger, release="second", days=OTHER_DAYS)
    assert (other.draw("second", b"counts").words(5) != paid.draw("first", b"counts").words(5)).any()


class TestBudgets:
    def test_without_a_budget_the_first_release_is_all_there_is(self, ledger):
        spend(ledger, 1.0)
        with pytest.raises(BudgetExhausted, match="epsilon 1, the price of a first release"):
            spend(ledger, 0.001, release="second")
        ledger.set_budget("fires", epsilon=1.5)
        assert spend(ledger, 0.5, release="second").prior == ONE

    def test_a_refusal_says_budget_spent_price_and_what_would_fit(self, ledger):
        ledger.set_budget("fires", epsilon=1.0)
        spend(ledger, 0.7)
        with pytest.raises(BudgetExhausted) as refused:
            spend(ledger, 0.5, release="second")
        said = str(refused.value)
        for words in ("epsilon 1;", "epsilon 0.7 is spent", "cost epsilon 0.5 more", "would fit: epsilon 0.3"):
            assert words in said
        assert "Ledger.set_budget('fires', ...)" in said
        assert len(ledger.history()) == 1
        spend(ledger, 0.3, release="second")

    def test_a_budget_can_be_given_with_the_first_release(self, ledger):
        spend(ledger, 1.0, budget=Budget.pure(2.0))
        spend(ledger, 1.0, release="second", budget=Budget.pure(2.0))
        with pytest.raises(SettingError, match="the budget of fires is epsilon 2, not epsilon 9"):
            spend(ledger, 1.0, release="third", days=OTHER_DAYS, budget=Cost.pure(9.0))
        with pytest.raises(BudgetExhausted):
            spend(ledger, 1.0, release="third")

    def test_a_budget_given_with_a_refused_release_is_not_kept(self, ledger):
        with pytest.raises(BudgetExhausted):
            spend(ledger, 2.0, budget=Budget.pure(1.0))
        assert ledger.remaining("fires").budget is None

    def test_a_budget_may_be_lowered_below_what_is_spent(self, ledger):
        spend(ledger, 1.0)
        ledger.set_budget("fires", epsilon=0.5)
        assert ledger.remaining("fires").room.epsilon == 0
        with pytest.raises(BudgetExhausted):
            spend(ledger, 0.01, release="second")
        assert ledger.remaining("fires", OTHER_DAYS).room.epsilon == 0.5

    def test_pure_and_gaussian_releases_share_a_budget_with_delta(self, ledger):
        ledger.set_budget("fires", epsilon=3.0, delta=1e-6)
        spend(ledger, 1.0)
        room = ledger.remaining("fires").room
        ledger.spend(data_set="fires", release="second", cost=Cost.zcdp(room.rho), days=DAYS)
        with pytest.raises(BudgetExhausted):
            spend(ledger, 0.01, release="third")
        assert ledger.remaining("fires").spent.epsilon_at(1e-6) <= 3.0

    def test_a_pure_budget_refuses_gaussian_noise(self, ledger):
        ledger.set_budget("fires", epsilon=3.0)
        with pytest.raises(BudgetExhausted, match=r"rho 0\.01"):
            ledger.spend(data_set="fires", release="first", cost=Cost.zcdp(0.01), days=DAYS)

    @pytest.mark.parametrize(
        "given_", [{}, {"epsilon": 1.0, "rho": 1.0}, {"epsilon": 0.0}, {"epsilon": float("nan")}, {"rho": -1.0}]
    )
    def test_a_budget_that_makes_no_sense_is_not_declared(self, ledger, given_):
        with pytest.raises(SettingError):
            ledger.set_budget("fires", **given_)
        assert not ledger.path.exists()


class TestWhichEvents:
    def test_a_renamed_copy_does_not_get_a_fresh_budget(self, ledger):
        spend(ledger)
        with pytest.raises(UndeclaredCopy, match="known as fires"):
            spend(ledger, data_set="copy", release="second")
        ledger.declare_same("copy", "fires")
        with pytest.raises(BudgetExhausted, match="fires, as which these events are known too,"):
            spend(ledger, data_set="copy", release="second")
        with pytest.raises(BudgetExhausted):
            spend(ledger, data_set="copy", release="second", budget=Budget.pure(9.0))

    def test_a_refusal_says_what_would_be_needed_of_every_budget_concerned(self, ledger):
        spend(ledger)
        ledger.declare_same("copy", "fires")
        ledger.set_budget("copy", epsilon=1.5)
        needed = (
            r"the budget of copy is epsilon 1\.5; .* A budget of epsilon 2 would be needed\. "
            r"The budget of fires is epsilon 1, and epsilon 2 would be needed there\."
        )
        with pytest.raises(BudgetExhausted, match=needed):
            spend(ledger, data_set="copy", release="second")
        ledger.set_budget("fires", epsilon=2)
        ledger.set_budget("copy", epsilon=2)
        spend(ledger, data_set="copy", release="second")

    def test_changed_content_under_the_same_name_does_not_get_a_fresh_budget(self, ledger):
        spend(ledger)
        with pytest.raises(BudgetExhausted):
            spend(ledger, release="second", days={"2018-01-01": b"one event corrected"})

    def test_new_days_are_free_and_the_dearest_day_counts(self, ledger):
        ledger.set_budget("fires", epsilon=2.0)
        spend(ledger, 1.0)
        assert spend(ledger, 2.0, release="second", days=OTHER_DAYS).prior.is_of_nothing
        both = {"2018-01-02": DAYS["2018-01-02"], "2018-03-01": b"e" * 16}
        assert spend(ledger, 1.0, release="third", days=both).prior == ONE
        assert ledger.remaining("fires").spent == Cost.pure(2.0)
        assert ledger.remaining("fires", {"2018-03-01": b""}).room.epsilon == 1.0

    def test_declared_names_are_followed(self, ledger):
        ledger.declare_same("a", "b")
        ledger.set_budget("a", epsilon=3.0)
        spend(ledger, data_set="a", days={"2018-01-01": b"x"})
        spend(ledger, data_set="b", release="second", days={"2018-01-01": b"x"})
        third = spend(ledger, data_set="b", release="third", days={"2018-01-01": b"x and more"})
        assert third.prior.presence == Cost.pure(2.0)
        with pytest.raises(UndeclaredCopy, match="known as b"):
            spend(ledger, data_set="c", release="fourth", days={"2018-01-01": b"x and more"})

    def test_days_without_events_do_not_link_data_sets(self, ledger):
        spend(ledger, days={"2018-01-01": b""})
        assert spend(ledger, data_set="visits", days={"2018-01-01": b""}).prior.is_of_nothing
        with pytest.raises(BudgetExhausted):  # but a name knows its days, with events or without
            spend(ledger, release="second", days={"2018-01-01": b"late"})

    def test_a_release_for_ever_touches_every_day(self, ledger):
        ledger.set_budget("fires", epsilon=2.0)
        spend(ledger, 1.0)
        assert spend(ledger, 1.0, release="counter", days=None).prior == ONE
        with pytest.raises(BudgetExhausted):
            spend(ledger, 0.1, release="third")
        assert spend(ledger, 1.0, release="third", days=OTHER_DAYS).prior == ONE
        with pytest.raises(BudgetExhausted):
            spend(ledger, 1.0, release="another counter", days=None)

    def test_a_release_for_ever_of_a_linked_name_counts_too(self, ledger):
        ledger.set_budget("a", epsilon=9.0)
        spend(ledger, data_set="a", days={"2018-01-01": b"x"})
        spend(ledger, data_set="a", release="counter", days=None)
        ledger.declare_same("a", "b")
        copy = spend(ledger, data_set="b", release="third", days={"2018-01-01": b"x", "2018-01-02": b"y"})
        assert copy.prior.presence == Cost.pure(2.0)

    def test_a_counter_that_notes_its_days_is_known_by_content(self, ledger):
        ledger.set_budget("visits", epsilon=1.5)
        counter = spend(ledger, 1.0, data_set="visits", release="counter", days=None)
        ledger.extend(counter.identifier, DAYS)
        ledger.extend(counter.identifier, DAYS)
        with pytest.raises(UndeclaredCopy, match="known as visits"):
            spend(ledger, 1.0, data_set="copy")
        assert ledger.remaining("visits").spent == Cost.pure(1.0)
        entry = ledger.history()[0]
        assert (entry.is_forever, entry.n_days, entry.first_day) == (True, 2, "2018-01-01")
        assert ledger.resume(counter.identifier).identifier == counter.identifier

    def test_a_counter_of_a_copy_is_refused_the_days_that_were_paid_before(self, ledger):
        spend(ledger, 1.0, data_set="visits")
        copy = spend(ledger, 1.0, data_set="copy", release="counter", days=None)  # nothing is known of it yet
        with pytest.raises(UndeclaredCopy):
            ledger.extend(copy.identifier, DAYS)
        ledger.declare_same("visits", "copy")
        with pytest.raises(BudgetExhausted, match="paid under more than one name"):
            ledger.extend(copy.identifier, DAYS)
        ledger.extend(copy.identifier, OTHER_DAYS)
        assert ledger.remaining("visits").spent == Cost.pure(2.0)

    def test_only_a_release_for_ever_receives_further_days(self, ledger):
        paid = spend(ledger)
        for name in (paid.identifier, "nobody"):
            with pytest.raises(SettingError, match="holds no counter"):
                ledger.extend(name, OTHER_DAYS)

    @settings(max_examples=25)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["a", "b"]),
                st.none() | st.sets(st.integers(1, 4), min_size=1),
                st.sampled_from([0.1, 0.25, 0.5, 1.0]),
            ),
            max_size=12,
        )
    )
    @pytest.mark.slow
    def test_no_day_ever_costs_more_than_its_budget(self, tmp_path_factory, asked):
        """Any releases of a data set and of its copy; whoever pays is added up here once more by hand."""
        ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
        ledger.declare_same("a", "b")
        ledger.set_budget("a", epsilon=1.0)
        ledger.set_budget("b", epsilon=1.0)
        most = 1 + Fraction(1, 2**51)  # ten times 0.1, which a double has a little above a tenth, is 1
        spent, forever = defaultdict(Fraction), defaultdict(Fraction)
        for number, (name, days, epsilon) in enumerate(asked):
            content = None if days is None else {str(day): b"events of %d" % day for day in days}
            try:
                spend(ledger, epsilon, data_set=name, release=str(number), days=content)
            except BudgetExhausted:
                continue
            for day in days or ():
                spent[day] += Fraction(epsilon)
            if days is None:
                forever[name] += Fraction(epsilon)
        for total in spent.values():
            assert total + sum(forever.values()) <= most
        assert sum(forever.values()) <= most


class TestUnits:
    PERSON = Unit.user_day(most=3)

    def test_the_unit_is_kept_with_the_price(self, ledger):
        paid = spend(ledger, unit=self.PERSON)
        assert paid.unit == ledger.history()[0].unit == self.PERSON
        assert Ledger(ledger.path).resume(paid.identifier, days=DAYS).unit == self.PERSON
        assert spend(ledger, release="second", days=OTHER_DAYS).unit == ledger.history()[1].unit == Unit("event")

    def test_an_event_costs_two_counts_of_a_persons_day(self, ledger):
        """One event more may push another out: of the day's ``most`` counts two change."""
        ledger.set_budget("fires", epsilon=4.0)
        spend(ledger, 1.0, unit=self.PERSON)
        second = spend(ledger, 1.0, release="second", unit=Unit.user_day(most=5))
        assert second.prior.person_day == Cost.pure(1.0)
        assert second.guarantee.person_day == Cost.pure(2.0)
        third = spend(ledger, 1.0, release="third")
        assert third.prior.presence.epsilon == pytest.approx(2 / 3 + 2 / 5)
        assert third.guarantee.person_day is None

    def test_units_do_not_nest_where_one_event_is_counted(self, ledger):
        """With ``most`` 1 and a person at A then B, dropping A turns [1, 0] into [0, 1]."""
        ledger.set_budget("fires", epsilon=3.0)
        spend(ledger, 1.0, unit=Unit.user_day(most=1))
        both = spend(ledger, 1.0, release="second")
        assert both.guarantee.presence == Cost.pure(3.0)
        assert ledger.remaining("fires").spent == Cost.pure(3.0)
        with pytest.raises(BudgetExhausted, match="epsilon 3 is spent"):
            spend(ledger, 0.01, release="third")

    @pytest.mark.parametrize("days", [DAYS, None])
    def test_a_price_per_event_bounds_nothing_for_a_persons_day(self, ledger, days):
        ledger.set_budget("fires", epsilon=9.0)
        spend(ledger, 1.0)
        for dry_run in (True, False):
            with pytest.raises(SettingError, match=r"Keep to the unit event, or use other days"):
                spend(ledger, 1.0, release="second", days=days, unit=self.PERSON, dry_run=dry_run)
        assert len(ledger.history()) == 1
        assert spend(ledger, 1.0, release="second", days=OTHER_DAYS, unit=self.PERSON).prior.is_of_nothing

    def test_where_a_person_has_no_window_other_days_are_not_advised(self, ledger):
        ledger.set_budget("fires", epsilon=9.0)
        spend(ledger, 1.0)
        with pytest.raises(SettingError, match=r"Keep to the unit event\.$"):
            spend(ledger, 1.0, release="second", days=OTHER_DAYS, unit=Unit.person(most=3))

    def test_nor_do_reports_of_single_events(self, ledger):
        randomize(ledger, 1.0)
        with pytest.raises(SettingError, match="on 2 of these days"):
            spend(ledger, 1.0, unit=self.PERSON, budget=Budget.pure(9.0))

    def test_nor_does_an_event_counter_for_ever(self, ledger):
        ledger.set_budget("fires", epsilon=9.0)
        spend(ledger, 1.0, days=None)
        with pytest.raises(SettingError, match="Keep to the unit event"):
            spend(ledger, 1.0, release="second", unit=self.PERSON)

    def test_a_counter_of_persons_days_is_refused_days_that_are_known_by_events(self, ledger):
        spend(ledger, 1.0, data_set="copy", budget=Budget.pure(9.0))
        counter = spend(ledger, 1.0, release="counter", days=None, unit=self.PERSON, budget=Budget.pure(9.0))
        ledger.declare_same("copy", "fires")
        with pytest.raises(SettingError, match="Keep to the unit event"):
            ledger.extend(counter.identifier, DAYS)
        ledger.extend(counter.identifier, OTHER_DAYS)


class TestLocalRandomizations:
    def test_reports_of_the_same_events_count_and_are_stated(self, ledger):
        randomize(ledger, 2.0)
        with pytest.raises(BudgetExhausted, match="epsilon 2 is spent"):
            spend(ledger, 1.0)
        with pytest.raises(BudgetExhausted, match="cost epsilon 2 more"):
            spend(ledger, 1.0, budget=Budget.pure(3.0))
        paid = spend(ledger, 1.0, budget=Budget.pure(4.0))
        assert (paid.guarantee.presence, paid.guarantee.replacement) == (None, Cost.pure(4.0))
        assert ledger.remaining("fires").spent == Cost.pure(4.0)
        assert paid.guarantee.sentences()[1].startswith("One event's place replaced by any other: epsilon 4.")

    def test_releases_count_twice_among_reports_whose_epsilon_is_for_replacing(self, ledger):
        spend(ledger, 0.5)
        with pytest.raises(AlreadyRandomized, match=r"2 of 2 days .* epsilon 1 in all.*raise that to 3"):
            randomize(ledger, 2.0)
        assert randomize(ledger, 2.0, again=True).total_epsilon == 3.0

    def test_no_sum_of_reports_and_gaussian_noise_is_stated(self, ledger):
        ledger.spend(data_set="fires", release="first", cost=Cost.zcdp(0.1), days=DAYS)
        with pytest.raises(AlreadyRandomized, match="Gaussian"):
            randomize(ledger, again=True)
        assert len(ledger.history()) == 1

    def test_a_declared_budget_binds_reports_too(self, ledger):
        ledger.set_budget("fires", epsilon=1.0)
        with pytest.raises(BudgetExhausted):
            randomize(ledger, 2.0)
        assert randomize(ledger, 1.0).total_epsilon == 1.0


class TestTimeZones:
    """Days of two zones overlap: an event at 20:00 in London is on the next day in Tokyo."""

    def test_a_data_set_has_one(self, ledger):
        ledger.set_budget("fires", epsilon=9.0)
        spend(ledger, zone="UTC")
        for attempt in (
            lambda: spend(ledger, release="second", days=OTHER_DAYS, zone="Asia/Tokyo"),
            lambda: spend(ledger, release="second", days=None, zone="Asia/Tokyo", dry_run=True),
        ):
            with pytest.raises(SettingError, match=r"zone must be that of .* UTC; got zone=Asia/Tokyo"):
                attempt()
        assert spend(ledger, release="second", days=OTHER_DAYS, zone="UTC").prior.is_of_nothing
        assert spend(ledger, release="third", days=OTHER_DAYS).prior == ONE

    def test_reports_have_the_same(self, ledger):
        randomize(ledger, zone="UTC")
        with pytest.raises(SettingError, match="zone must be"):
            randomize(ledger, days=OTHER_DAYS, zone="Asia/Tokyo")

    def test_names_of_several_zones_that_are_the_same_events_add_up_on_every_day(self, ledger):
        ledger.set_budget("fires", epsilon=9.0)
        days = Unit.user_day(most=1)
        spend(ledger, zone="UTC", unit=days)
        spend(ledger, data_set="copy", release="second", days=OTHER_DAYS, zone="Asia/Tokyo", unit=days)
        assert ledger.remaining("fires").guarantee.person_day == Cost.pure(1.0)
        ledger.declare_same("fires", "copy")
        both = ledger.remaining("fires", DAYS).guarantee
        assert (both.presence, both.person_day) == (Cost.pure(4.0), None)
        assert ledger.others("second").presence == Cost.pure(2.0)

    def test_a_name_without_entries_is_looked_at_in_its_own_zone(self, ledger):
        ledger.set_budget("fires", epsilon=9.0)
        spend(ledger, zone="UTC")
        ledger.declare_same("fires", "copy")
        paid = spend(ledger, data_set="copy", release="second", days=OTHER_DAYS, zone="Asia/Tokyo")
        assert paid.prior.presence == Cost.pure(1.0)


class TestDryRuns:
    def test_a_dry_run_makes_no_file(self, ledger):
        tried = spend(ledger, 1.0, dry_run=True, budget=Budget.pure(3.0))
        assert tried.is_dry_run
        assert tried.what_remains == "epsilon 2"
        assert not ledger.path.exists()
        assert list(ledger.path.parent.iterdir()) == []

    def test_a_dry_run_changes_nothing_and_says_the_same(self, ledger):
        ledger.set_budget("fires", epsilon=3.0)
        before = ledger.path.read_bytes()
        tried = [spend(ledger, dry_run=True) for _ in range(5)][-1]
        assert ledger.path.read_bytes() == before
        paid = spend(ledger)
        assert (tried.cost, tried.prior, tried.what_remains) == (paid.cost, paid.prior, paid.what_remains)

    def test_a_dry_run_is_refused_as_the_real_one(self, ledger):
        spend(ledger)
        with pytest.raises(BudgetExhausted):
            spend(ledger, release="second", dry_run=True)

    def test_a_dry_run_draws_no_noise_and_has_nothing_to_finish(self, ledger):
        tried = spend(ledger, dry_run=True)
        with pytest.raises(SettingError, match="draws no noise"):
            tried.draw("first", b"counts")
        with pytest.raises(SettingError, match="nothing to finish"):
            ledger.finish(tried)


class TestResuming:
    def test_an_unfinished_spend_is_taken_up_with_the_same_noise(self, ledger):
        paid = spend(ledger, 1.0)
        noise = paid.draw("first", b"counts").words(50)
        again = Ledger(ledger.path).resume(data_set="fires", release="first", days=DAYS, cost=Cost.pure(1.0))
        assert again.identifier == paid.identifier
        assert (again.cost, again.prior) == (paid.cost, paid.prior)
        np.testing.assert_array_equal(again.draw("first", b"counts").words(50), noise)
        np.testing.assert_array_equal(
            ledger.resume(paid.identifier, days=DAYS).draw("first", b"counts").words(50), noise
        )
        assert len(ledger.history()) == 1

    def test_a_killed_release_is_spent_and_resumed_never_redrawn(self, ledger):
        script = """
import sys, time
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger
paid = Ledger(sys.argv[1]).spend(
    data_set="fires", release="first", cost=Cost.pure(1.0), days={"2018-01-01": b"a" * 16, "2018-01-02": b"b" * 16})
print(*paid.draw("first", b"counts").words(20).tolist(), flush=True)
time.sleep(60)
"""
        with subprocess.Popen([sys.executable, "-c", script, ledger.path], stdout=subprocess.PIPE) as process:
            drawn = [int(word) for word in process.stdout.readline().split()]
            os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(BudgetExhausted, match="never finished: resumed with the events as they were then"):
            spend(ledger, 1.0)
        again = ledger.resume(data_set="fires", release="first", days=DAYS)
        assert again.draw("first", b"counts").words(20).tolist() == drawn

    def test_a_finished_release_is_never_drawn_again(self, ledger):
        paid = spend(ledger)
        ledger.finish(paid)
        ledger.finish(paid)  # told twice, after a crash for instance
        for how in ({"data_set": "fires", "release": "first"}, {"identifier": paid.identifier}):
            with pytest.raises(AlreadyReleased, match="its noise cannot be drawn again"):
                ledger.resume(**how, days=DAYS)
        assert ledger.history()[0].is_finished

    def test_a_wiped_key_is_nowhere_on_the_disk(self, ledger, monkeypatch):
        """Many keys, on pages of which some are left empty, are looked for in tests/privacy/test_ledger_chain.py."""
        monkeypatch.setattr(ledger_file, "_SYNCHRONOUS", "OFF")  # faster; the power will not fail
        ledger.set_budget("fires", epsilon=30.0)
        paid = [spend(ledger, 0.01, release=str(number) * 20) for number in range(20)]
        keys = [one.draw(one.release, b"counts")._key for one in paid]
        content = ledger.path.read_bytes()
        assert all(key in content for key in keys)
        for one in paid:
            ledger.finish(one)
        names = sorted(path.name for path in ledger.path.parent.iterdir())
        assert names == ["ledger.sqlite", "ledger.sqlite.checked", "ledger.sqlite.key"]
        content = ledger.path.read_bytes()
        assert not any(key in content for key in keys)

    @pytest.mark.parametrize(
        "days", [{"2018-01-01": b"a" * 16}, {**DAYS, "2018-01-02": b"z" * 16}, {**DAYS, "2018-01-03": b""}, {}, None]
    )
    def test_other_events_never_meet_the_same_noise(self, ledger, days):
        paid = spend(ledger)
        for how in ({"data_set": "fires", "release": "first"}, {"identifier": paid.identifier}):
            with pytest.raises(DataError, match="paid for other events") as refused:
                ledger.resume(**how, days=days)
            assert not any(digest in str(refused.value) for digest in ("a" * 16, "61" * 16))

    def test_other_counts_of_the_same_events_never_meet_the_same_noise(self, ledger):
        """The same rows, bounded by another column of users, are other counts."""
        spend(ledger, input_digest=b"counts")
        with pytest.raises(DataError):
            ledger.resume(data_set="fires", release="first", days=DAYS, input_digest=b"other counts")
        with pytest.raises(DataError):
            ledger.resume(data_set="fires", release="first", days=DAYS)
        ledger.resume(data_set="fires", release="first", days=DAYS, input_digest=b"counts")

    def test_another_price_is_not_resumed(self, ledger):
        spend(ledger, 1.0)
        with pytest.raises(SettingError, match="paid with epsilon 1, not epsilon 2"):
            ledger.resume(data_set="fires", release="first", days=DAYS, cost=Cost.pure(2.0))

    def test_what_was_never_paid_cannot_be_resumed_or_finished(self, ledger, tmp_path):
        with pytest.raises(SettingError, match="no such spend"):
            ledger.resume(data_set="fires", release="first", days=DAYS)
        with pytest.raises(SettingError, match="Give these"):
            ledger.resume(data_set="fires", days=DAYS)
        paid = spend(ledger)
        with pytest.raises(SettingError, match="in its own ledger"):
            Ledger(tmp_path / "other.sqlite").finish(paid)


class TestOneReleaseOfOneInput:
    def test_drawing_again_gives_the_same_noise(self, ledger):
        for paid in (spend(ledger), Spend.simulation(Cost.pure(1.0), seed=3)):
            one, same = paid.draw("first", b"counts"), paid.draw("first", b"counts")
            np.testing.assert_array_equal(one.words(50), same.words(50))

    def test_another_release_is_not_paid_for(self, ledger):
        with pytest.raises(SettingError, match="pays for release first, not for second"):
            spend(ledger).draw("second", b"counts")
        Spend.simulation(Cost.pure(1.0), seed=3).draw("second", b"counts")

    def test_other_counts_never_meet_the_same_noise(self, ledger):
        for paid in (spend(ledger), Spend.simulation(Cost.pure(1.0), seed=3)):
            paid.draw("first", b"counts")
            for other in (b"other counts", b""):
                with pytest.raises(SettingError, match="other counts"):
                    paid.draw("first", other)

    def test_nor_do_they_through_a_copy_of_the_spend_in_another_process(self, ledger):
        spend(ledger).draw("first", b"")
        copy = Ledger(ledger.path).resume(data_set="fires", release="first", days=DAYS)
        with pytest.raises(SettingError, match="other counts"):
            copy.draw("first", b"counts")
        copy.draw("first", b"")

    def test_counts_named_when_paying_are_the_only_ones(self, ledger):
        paid = spend(ledger, input_digest=b"the very counts")
        with pytest.raises(SettingError, match="other counts"):
            paid.draw("first", b"other counts")
        paid.draw("first", b"the very counts")
        assert b"the very counts" not in ledger.path.read_bytes()  # the ledger holds keyed digests only

    def test_nothing_is_drawn_once_it_is_finished(self, ledger):
        paid, copy = spend(ledger), ledger.resume(data_set="fires", release="first", days=DAYS)
        paid.draw("first", b"counts")
        ledger.finish(paid)
        for one in (paid, copy):
            with pytest.raises(SettingError, match="never drawn again"):
                one.draw("first", b"counts")

    def test_an_input_is_known_by_bytes(self, ledger):
        with pytest.raises(SettingError, match="must be bytes"):
            spend(ledger).draw("first", "counts")


class TestSpends:
    def test_only_a_ledger_or_a_simulation_makes_one(self):
        with pytest.raises(SettingError, match=r"Call Ledger\.spend"):
            Spend(identifier="1", data_set="a", release="b", cost=Cost.pure(1.0), source=None, seal=object())

    def test_a_simulation_costs_nothing_and_is_labelled(self, ledger):
        one, same = Spend.simulation(Cost.pure(1.0), seed=3), Spend.simulation(Cost.pure(1.0), seed=3)
        assert one.is_simulation
        np.testing.assert_array_equal(one.draw("any", b"counts").words(9), same.draw("any", b"counts").words(9))
        ledger.finish(one)
        assert not ledger.path.exists()
        with pytest.raises(SettingError, match="finished"):
            one.draw("any", b"counts")

    def test_neither_key_nor_digest_is_shown(self, ledger):
        paid = spend(ledger)
        assert paid.draw("first", b"counts")._key.hex() not in repr(paid)
        shown = repr(paid) + repr(ledger) + repr(ledger.history())
        assert not any(digest in shown for digest in ("a" * 16, "61" * 16))  # a random identifier has fewer in a row

    @pytest.mark.parametrize("name", ["", "  ", None, 7])
    def test_names_are_needed(self, ledger, name):
        for setting in ("data_set", "release"):
            with pytest.raises(SettingError, match=f"{setting} must be a lasting name"):
                spend(ledger, **{setting: name})

    def test_a_release_for_nothing_is_refused(self, ledger):
        with pytest.raises(SettingError, match="must cost something"):
            ledger.spend(data_set="fires", release="first", cost=Cost(), days=DAYS)
        assert not ledger.path.exists()

    def test_a_release_of_no_day_is_refused(self, ledger):
        """It would touch nothing and so be free for ever."""
        with pytest.raises(SettingError, match="at least one day"):
            spend(ledger, days={})
        assert not ledger.path.exists()


MANY_TRIES = """
import sys
from tacit.errors import BudgetExhausted
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger
ledger, n_paid = Ledger(sys.argv[1]), 0
for number in range(75):
    try:
        ledger.spend(
            data_set="fires", release=f"{sys.argv[2]}-{number}", cost=Cost.pure(0.01), days={"2018-01-01": b"a"})
        n_paid += 1
    except BudgetExhausted:
        pass
print(n_paid)
"""


@pytest.mark.slow
def test_hundreds_of_spends_at_once_never_overspend(ledger):
    ledger.set_budget("fires", epsilon=1.0)
    running = [
        subprocess.Popen([sys.executable, "-c", MANY_TRIES, ledger.path, str(number)], stdout=subprocess.PIPE)
        for number in range(4)
    ]
    assert sum(int(process.communicate()[0]) for process in running) == 100
    assert len(ledger.history()) == 100
    assert ledger.remaining("fires").room.epsilon == 0


@pytest.mark.parametrize(
    ("unit", "kind", "budget"),
    [
        (Unit("user-day", 2), "epsilon", {"epsilon": 5.0}),
        (Unit("user-day", 3, 2), "rho", {"rho": 0.9}),
        (Unit("person", 2, 0, "week"), "epsilon", {"epsilon": 5.0}),
    ],
)
def test_a_refusal_says_what_fits_for_a_person_and_for_a_release_of_days(unit, kind, budget, ledger):
    days, cost = {f"2018-01-{day:02d}": b"%d" % day for day in range(1, 11)}, {"epsilon": Cost.pure, "rho": Cost.zcdp}
    ledger.set_budget("fires", **budget)
    half = budget[kind] / 2
    ledger.spend(data_set="fires", release="all", cost=cost[kind](half), days=days, unit=Unit("person", 5))
    with pytest.raises(BudgetExhausted) as refused:
        ledger.spend(data_set="fires", release="next", cost=cost[kind](half), days=days, unit=unit)
    words = str(refused.value)
    found = re.search(rf"What would fit: .*?{kind} (\S+).*? for a person, which is .*?{kind} (\S+)", words)
    assert f"for a release per {unit}. A budget of" in words
    person, own = map(float, found.groups())
    assert (person, own < person) == (half, True)
    for factor, is_admitted in ((1.001, False), (1.0, True)):
        with nullcontext() if is_admitted else pytest.raises(BudgetExhausted):
            ledger.spend(data_set="fires", release="next", cost=cost[kind](own * factor), days=days, unit=unit)
