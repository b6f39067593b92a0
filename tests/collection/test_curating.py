"""What a trusted curator does with events: count, pay, add noise, in this order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from small_worlds import days_and_places
from tacit.collection.curating import add_events, curate_events, days_of, price_events
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import BudgetExhausted, DataError, SettingError, UndeclaredCopy
from tacit.events import EventColumns, ReadOptions, open_events
from tacit.mechanisms.central.table import central_plan_for
from tacit.mechanisms.continual import CounterFiles, pick, start_counter
from tacit.privacy.cost import Budget, Cost
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit
from tacit.release import Release

WRITTEN = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")
DOMAIN = days_and_places(10, 2)


def write_events(path, seed=1, n=200, domain=DOMAIN):
    generator = np.random.default_rng(seed)
    lines = ["day,town,who"]
    for _ in range(n):
        day = domain.time.label(int(generator.integers(domain.shape[0])))
        lines.append(f"{day},place {generator.integers(2)},{generator.integers(20)}")
    path.write_text("\n".join(lines))
    return path


def events_of(path, domain=DOMAIN, user=None):
    return open_events(path, columns=EventColumns(time="day", place="town", user=user), domain=domain, options=WRITTEN)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.fixture
def path(tmp_path):
    return write_events(tmp_path / "events.csv")


def test_every_day_of_the_plan_is_paid_for_also_those_without_events(path, ledger, tmp_path):
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    sparse = tmp_path / "sparse.csv"
    sparse.write_text("day,town\n2018-01-03,place 0\n")
    curate_events(events_of(sparse), plan, ledger=ledger, data_set="visits")
    (entry,) = ledger.history()
    assert (entry.first_day, entry.last_day, entry.n_days) == ("2018-01-01", "2018-01-10", 10)


@pytest.mark.parametrize(
    ("first", "last", "step", "n_days"),
    [("2018-01-01", "2018-01-31", "day", 31), ("2018-01-01", "2018-03-31", "month", 90)],
)
def test_the_days_of_longer_periods_are_all_there(first, last, step, n_days):
    domain = Domain(TimeAxis.between(first, last, step=step), PlaceAxis.of(["a"]))
    days = days_of(domain.time, {})
    assert len(days) == n_days
    assert min(days) == first
    assert max(days) == last


def test_a_second_release_needs_a_budget_and_states_the_sum(path, ledger):
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    other = central_plan_for(DOMAIN, epsilon=0.5, fan_outs=[2, 5])
    budget = Budget.pure(1.5)
    first = curate_events(events_of(path), plan, ledger=ledger, data_set="visits", budget=budget)
    ledger.finish(first.spend)
    second = curate_events(events_of(path), other, ledger=ledger, data_set="visits")
    release = Release.of(other, second.estimate)
    assert not release.statement.is_alone
    assert release.statement.total_epsilon == 1.5
    assert "together with this release they cost epsilon 1.5 for one event added or removed" in release.statement.text()
    with pytest.raises(BudgetExhausted, match="Nothing was spent"):
        curate_events(events_of(path), plan, ledger=ledger, data_set="visits")


def test_a_renamed_copy_gets_no_fresh_budget(path, ledger, tmp_path):
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    done = curate_events(events_of(path), plan, ledger=ledger, data_set="visits")
    ledger.finish(done.spend)
    copy = tmp_path / "copy.csv"
    copy.write_bytes(path.read_bytes())
    with pytest.raises(UndeclaredCopy, match="known as visits"):
        curate_events(events_of(copy), plan, ledger=ledger, data_set="another name")
    ledger.declare_same("another name", "visits")
    with pytest.raises(BudgetExhausted):
        curate_events(events_of(copy), plan, ledger=ledger, data_set="another name")


def test_a_dry_run_costs_nothing_and_leaves_nothing(path, tmp_path):
    book = Ledger(tmp_path / "books" / "ledger.sqlite")
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    price = price_events(events_of(path), plan, ledger=book, data_set="visits", budget=Budget.pure(3.0))
    assert price.is_dry_run
    assert price.cost.epsilon == 1.0
    assert "epsilon 2" in price.what_remains
    assert book.history() == []


def test_of_a_user_day_only_so_much_is_counted_and_the_noise_is_scaled(path, ledger):
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat", unit="user-day", most=2)
    done = curate_events(events_of(path, user="who"), plan, ledger=ledger, data_set="visits")
    event_plan = central_plan_for(DOMAIN, epsilon=0.5, mechanism="flat")
    alike = curate_events(events_of(path), event_plan, ledger=None, seed=1, data_set="visits")
    assert np.array_equal(done.estimate.noise.standard_errors(), alike.estimate.noise.standard_errors())
    assert done.counted.n_events + done.counted.n_beyond == 200
    assert done.counted.n_beyond > 0
    text = Release.of(plan, done.estimate).statement.text()
    assert "at most 2 are counted" in text
    assert str(done.counted.n_beyond) not in text.replace("epsilon 2", "")


def test_a_simulation_is_recorded_nowhere_and_real_noise_always(path, ledger):
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    done = curate_events(events_of(path), plan, ledger=None, data_set="visits", seed=4)
    assert done.estimate.provenance.is_simulation
    for settings in ({"ledger": None}, {"ledger": ledger, "seed": 1}):
        with pytest.raises(SettingError, match="ledger"):
            curate_events(events_of(path), plan, data_set="visits", **settings)
    assert ledger.history() == []


@pytest.mark.slow
def test_a_curator_killed_before_writing_takes_up_the_same_noise_at_no_cost(path, ledger, tmp_path):
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    plan.write(tmp_path / "plan.toml")
    script = f"""
        import os, signal
        import numpy as np
        from tacit.collection.curating import curate_events
        from tacit.events import EventColumns, ReadOptions, open_events
        from tacit.plan import Plan
        from tacit.privacy.ledger import Ledger
        plan = Plan.read({str(tmp_path / "plan.toml")!r})
        columns = EventColumns(time="day", place="town")
        events = open_events({str(path)!r}, columns=columns, domain=plan.domain, options={WRITTEN!r})
        done = curate_events(events, plan, ledger=Ledger({str(ledger.path)!r}), data_set="visits")
        np.save({str(tmp_path / "noisy.npy")!r}, done.estimate.values)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], env=os.environ, check=False)
    assert died.returncode == -signal.SIGKILL
    ledger = Ledger(ledger.path)
    again = curate_events(events_of(path), plan, ledger=ledger, data_set="visits")
    assert again.is_resumed
    assert np.array_equal(again.estimate.values, np.load(tmp_path / "noisy.npy"))
    assert len(ledger.history()) == 1
    ledger.finish(again.spend)
    with pytest.raises(BudgetExhausted):
        curate_events(events_of(path), plan, ledger=ledger, data_set="visits")


def test_other_events_under_an_unfinished_name_never_meet_its_noise(path, ledger, tmp_path):
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    first = curate_events(events_of(path), plan, ledger=ledger, data_set="visits", budget=Budget.pure(2.0))
    more = write_events(tmp_path / "more.csv", seed=2)
    second = curate_events(events_of(more), plan, ledger=ledger, data_set="visits")
    assert not second.is_resumed
    assert second.spend.identifier != first.spend.identifier
    assert second.spend.prior.presence == Cost.pure(1.0)


def test_a_plan_without_delta_beside_gaussian_noise_is_stated_at_the_usual_delta(path, ledger):
    gaussian = central_plan_for(DOMAIN, epsilon=1.0, delta=1e-6, mechanism="flat")
    budget = Budget.approximate(3.0, 1e-6)
    done = curate_events(events_of(path), gaussian, ledger=ledger, data_set="visits", budget=budget)
    ledger.finish(done.spend)
    pure = central_plan_for(DOMAIN, epsilon=0.5, mechanism="flat")
    second = curate_events(events_of(path), pure, ledger=ledger, data_set="visits")
    statement = Release.of(pure, second.estimate).statement
    assert statement.delta == 1e-6
    assert statement.total_epsilon == (Cost.pure(0.5) + Cost.zcdp(gaussian.rho)).epsilon_at(1e-6)


def test_a_price_per_event_is_not_added_to_one_for_a_persons_day(path, ledger):
    event = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    person = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat", unit="user-day", most=3)
    done = curate_events(events_of(path), event, ledger=ledger, data_set="visits", budget=Budget.pure(3.0))
    ledger.finish(done.spend)
    for use in (curate_events, price_events):
        with pytest.raises(SettingError, match="single events only"):
            use(events_of(path, user="who"), person, ledger=ledger, data_set="visits")
    assert len(ledger.history()) == 1


def test_an_event_release_after_one_of_persons_days_states_the_sum(path, ledger):
    person = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat", unit="user-day", most=3)
    event = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    first = curate_events(
        events_of(path, user="who"), person, ledger=ledger, data_set="visits", budget=Budget.pure(3.0)
    )
    ledger.finish(first.spend)
    assert first.spend.unit == ledger.history()[0].unit == person.protected_unit
    second = curate_events(events_of(path), event, ledger=ledger, data_set="visits")
    statement = Release.of(event, second.estimate).statement
    assert statement.total_epsilon == pytest.approx(1 + 2 / 3)
    assert "All events of one person on one day added or removed: not protected." in statement.text()


def counter(tmp_path, ledger, unit=None):
    files = CounterFiles(tmp_path / "c.counter", ledger=ledger)
    unit = unit or Unit("event")
    noise_model = pick(Cost.pure(1.0), DOMAIN.shape[0], most=unit.sensitivity)
    start_counter(files, noise_model, DOMAIN, data_set="c", unit=unit)
    return files


def test_events_are_added_to_a_counter_in_turn_and_known_to_the_ledger(path, ledger, tmp_path):
    files, exact = counter(tmp_path, ledger), events_of(path).count().counts
    first, second, third = (DOMAIN.time.label(day) for day in range(3))
    opened = []
    counts = add_events(
        files, lambda domain: opened.append(domain) or events_of(path, domain), first=first, last=second
    )
    assert opened == [DOMAIN.with_end(2)]
    assert np.array_equal(counts.counts, exact[:2])
    assert files.history().n_bins == 2
    with pytest.raises(DataError, match="counted already"):
        add_events(files, lambda domain: pytest.fail("it was read"), first=second)
    with pytest.raises(UndeclaredCopy):
        curate_events(
            events_of(path), central_plan_for(DOMAIN, epsilon=1.0), ledger=ledger, data_set="d", budget=Budget(9.0)
        )
    add_events(files, lambda domain: events_of(path, domain), first=third)
    assert files.history().n_bins == 3


@pytest.mark.parametrize(
    ("unit", "user", "told"), [(Unit("event"), "who", "Leave user out"), (Unit("user-day", 2), None, "user=")]
)
def test_a_counter_needs_users_where_it_protects_their_days_and_only_there(path, ledger, tmp_path, unit, user, told):
    files = counter(tmp_path, ledger, unit)
    with pytest.raises(SettingError, match=told):
        add_events(files, lambda domain: events_of(path, domain, user), first=DOMAIN.time.label(0))
    assert not files.history().n_bins


@pytest.mark.parametrize("refine", ["coherent", "likelihood"])
def test_tables_are_measured_taken_up_released_and_read_back(refine, ledger, tmp_path):
    domain = Domain(DOMAIN.time, DOMAIN.place, KindAxis.of(["fire", "flood"]))
    rows = [f"{domain.time.label(n % 10)},place {n % 2},{('fire', 'flood')[n % 3 == 0]}" for n in range(90)]
    (tmp_path / "events.csv").write_text("\n".join(["day,town,what", *rows]))
    columns = EventColumns(time="day", place="town", kind="what")
    events = open_events(tmp_path / "events.csv", columns=columns, domain=domain, options=WRITTEN)
    plan = central_plan_for(domain, rho=0.5, delta=1e-6, mechanism="tables", asked={"kind": 1.0, "joint": 1.0})
    first, again = (curate_events(events, plan, ledger=ledger, data_set="calls") for _ in range(2))
    assert again.is_resumed
    assert np.array_equal(first.estimate.values, again.estimate.values)
    assert len(ledger.history()) == 1
    release = Release.of(plan, first.estimate, refine=refine)
    release.write(tmp_path / "release.parquet")
    ledger.finish(again.spend)
    read = Release.read(tmp_path / "release.parquet")
    assert read.answer(kinds="flood") == release.answer(kinds="flood")
    assert (release.refined.values >= 0).all()
    assert "tables by place, by kind and of both" in " ".join(read.statement.text().split())
    errors = read.unbiased.coarsen(place="all").noise.standard_errors()
    assert (errors < 2**0.5 * read.unbiased.noise.standard_errors()[0, 0]).all()
