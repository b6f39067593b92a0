"""A counter, its files and its ledger: killed anywhere, they agree, and one key makes one counter."""

from __future__ import annotations

import shutil
from contextlib import suppress

import numpy as np
import pytest

from counter_worlds import DOMAIN, counter, counts, files
from killed import forks, killed_at, quiet
from tacit.collection.range_counting import central_flat
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import AlreadyReleased, BudgetExhausted, SettingError, TacitError, UndeclaredCopy
from tacit.mechanisms.continual import Counter, CounterFiles, pick, start_counter
from tacit.mechanisms.continual.files import days_of_bins, days_of_counts
from tacit.mechanisms.continual.history import History
from tacit.mechanisms.continual.starting import place_of
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

NOISE_MODEL = pick(Cost.pure(1.0), 100)
EVERY = 7
"""Of so many points one is tried in a run, others in the next: the first is drawn."""


def opened(folder, name="visits.counter") -> CounterFiles:
    return CounterFiles(folder / name, ledger=Ledger(folder / "ledger.sqlite"))


def begin(folder, name="visits.counter", data_set="visits", **settings) -> CounterFiles:
    there = opened(folder, name)
    start_counter(there, NOISE_MODEL, DOMAIN, data_set=data_set, unit=Unit("event"), **settings)
    return there


@pytest.mark.parametrize(
    ("domain", "unit"),
    [
        (Domain(TimeAxis.between("2025-01-01", None, step="hour"), DOMAIN.place), Unit.user_day(most=1)),
        (Domain(TimeAxis.between("2025-01-01", "2025-12-31"), DOMAIN.place), Unit()),
        (DOMAIN, Unit.person(most=2)),
    ],
)
def test_a_counter_that_cannot_be_made_is_not_paid(tmp_path, domain, unit):
    there = opened(tmp_path)
    with pytest.raises(SettingError, match="must be"):
        start_counter(there, NOISE_MODEL, domain, data_set="visits", unit=unit)
    assert there.ledger.history() == []


def test_a_counter_that_cannot_be_written_is_not_paid(tmp_path):
    there = CounterFiles(tmp_path / "a.counter", tmp_path / "nowhere" / "h.csv", ledger=Ledger(tmp_path / "l.sqlite"))
    with pytest.raises(TacitError, match="nowhere"):
        start_counter(there, NOISE_MODEL, DOMAIN, data_set="visits", unit=Unit())
    assert there.ledger.history() == []


@pytest.mark.false_failure(0)
@quiet
@forks
@pytest.mark.slow
def test_a_kill_at_any_point_of_a_start_leaves_one_counter_and_no_key(tmp_path, seed):
    event, n_killed = 1 + seed % EVERY, 0
    while True:
        folder = tmp_path / f"at-{event}"
        folder.mkdir()
        was_killed = killed_at(event, lambda folder=folder: begin(folder))
        paid = [entry.release for entry in Ledger(folder / "ledger.sqlite").history()]
        if paid:
            with pytest.raises(BudgetExhausted):
                begin(folder, "other.counter")
        if was_killed:
            with suppress(SettingError):  # it is a counter already
                begin(folder)
        opened(folder).add(counts(3))
        (spend,) = Ledger(folder / "ledger.sqlite").history()
        assert spend.is_finished
        assert spend.identifier == opened(folder).spend
        assert not (folder / "other.counter").exists()
        shutil.rmtree(folder)
        if not was_killed:
            break
        n_killed += 1
        event += EVERY
    assert n_killed > 15


@pytest.mark.false_failure(0)
@quiet
@forks
@pytest.mark.slow
def test_a_kill_at_any_point_of_an_add_keeps_the_record_ahead_of_what_is_published(tmp_path, seed):
    begin(tmp_path).add(counts(6)[:3])
    event, n_killed, expected = 1 + seed % EVERY, 0, None
    while True:
        folder = tmp_path / f"at-{event}"
        folder.mkdir()
        for name in ("visits.counter", "visits.history.csv", "ledger.sqlite", "ledger.sqlite.key"):
            shutil.copy(tmp_path / name, folder / name)
        was_killed = killed_at(event, lambda folder=folder: opened(folder).add(counts(6)[3:], first=3))
        n_published = History.read(folder / "visits.history.csv").n_bins
        (spend,) = Ledger(folder / "ledger.sqlite").history()
        assert spend.n_days >= n_published
        if opened(folder).history().n_bins == 3:
            opened(folder).add(counts(6)[3:], first=3)
        totals = opened(folder).history().totals
        expected = totals if expected is None else expected
        assert np.array_equal(totals, expected)
        shutil.rmtree(folder)
        if not was_killed:
            break
        n_killed += 1
        event += EVERY
    assert n_killed > 15


def test_two_counters_of_one_spend_count_the_same_or_not_at_all(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    place = place_of(tmp_path / "visits.counter")
    spend = ledger.spend(data_set="v", release="c", cost=NOISE_MODEL.cost, days=None, input_digest=place)
    made = Counter.start(spend, DOMAIN, noise_model=NOISE_MODEL, place=place)
    with pytest.raises(SettingError, match="other counts"):
        Counter.start(spend, DOMAIN, noise_model=NOISE_MODEL, place=place_of(tmp_path / "other.counter"))
    one, other = opened(tmp_path), opened(tmp_path, "other.counter")
    for there in (one, other):
        there.create(made, spend=spend)
    with pytest.raises(SettingError, match="finished"):
        Counter.start(spend, DOMAIN, noise_model=NOISE_MODEL, place=place)
    first = one.add([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(AlreadyReleased, match="2018-01-01 was counted before"):
        other.add([[1, 2, 4]])
    assert np.array_equal(other.add([[1, 2, 3]]), first[:1])
    with pytest.raises(AlreadyReleased, match="2018-01-02 was counted before"):
        other.add([[4, 5, 5]])


def test_refused_counts_are_not_noted(tmp_path):
    there = begin(tmp_path)
    for bad in ([[1, 2]], [[-1, 0, 0]]):
        with pytest.raises(Exception, match="Nothing was counted"):
            there.add(bad)
    there.add([[1, 2, 3]])


def test_a_real_counter_goes_on_only_with_a_ledger(tmp_path):
    begin(tmp_path)
    with pytest.raises(SettingError, match="Give that ledger"):
        CounterFiles(tmp_path / "visits.counter").add(counts(1))
    assert CounterFiles(tmp_path / "visits.counter").history().n_bins == 0
    with pytest.raises(SettingError, match="a ledger, or a seed"):
        begin(tmp_path, "other.counter", seed=3)


def test_a_simulation_whose_start_was_interrupted_is_completed(tmp_path):
    there = files(tmp_path)
    with pytest.raises(SettingError, match="counter already"):
        start_counter(there, NOISE_MODEL, DOMAIN, data_set="v", unit=Unit("event"), seed=5)
    there.history_path.unlink()
    stream, spend = start_counter(there, NOISE_MODEL, DOMAIN, data_set="v", unit=Unit("event"), seed=5)
    assert spend is None
    assert stream == there.history().stream


def test_a_series_of_one_place_is_known_again_by_its_numbers(tmp_path):
    domain = Domain(TimeAxis.between("2018-01-01", None), PlaceAxis.of(["all"]))
    there = opened(tmp_path)
    start_counter(there, NOISE_MODEL, domain, data_set="visits", unit=Unit("event"))
    there.add([[12], [0], [7]])
    with pytest.raises(UndeclaredCopy, match="known as visits"):
        central_flat(1.0, ["2018-01-01", "2018-01-03"], [12, 7], ledger=there.ledger, data_set="renamed")


def test_days_have_digests_of_dates_places_and_numbers():
    there = TimeAxis.between("2018-01-01", None, step="week")
    assert days_of_bins(there, range(1, 2)) == [[f"2018-01-{day:02d}" for day in range(8, 15)]]
    hours = TimeAxis.between("2018-01-01", None, step="hour")
    assert days_of_bins(hours, range(22, 26)) == [["2018-01-01"], ["2018-01-01"], ["2018-01-02"], ["2018-01-02"]]
    stream = counter().stream
    rows = np.array([[1, 2, 0], [0, 0, 0], [1, 2, 0]])
    found = days_of_counts(bytes(32), stream, 0, rows)
    assert list(found) == ["2018-01-01", "2018-01-03"]
    assert len(set(found.values())) == 2
    assert days_of_counts(bytes(32), stream, 2, rows[2:])["2018-01-03"] == found["2018-01-03"]
    assert days_of_counts(bytes(31) + b"1", stream, 0, rows).keys() == found.keys()
    assert days_of_counts(bytes(31) + b"1", stream, 0, rows) != found
