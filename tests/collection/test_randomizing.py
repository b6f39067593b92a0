"""Events become reports only after the ledger has agreed, and never twice unnoticed."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.collection.randomizing import randomize_events
from tacit.collection.tallying import estimate_tally, tally_reports
from tacit.collection.wire import RandomizingWriter, ReportFile, spool
from tacit.collection.wire import randomizing_writer as report_files
from tacit.collection.wire.cell_counts import CellCounts, drawing_key
from tacit.collection.wire.randomizing_writer import OneFile
from tacit.counts.provenance import Provenance
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import AlreadyRandomized, DataError, SettingError, UndeclaredCopy
from tacit.events import EventColumns, ReadOptions, open_events
from tacit.mechanisms.planner import plan_for_devices
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit
from tacit.randomness import SeededRandomness

DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-10"), PlaceAxis.of(["north", "south", "west"]))
PLAN = plan_for(DOMAIN, epsilon=2.0)
COLUMNS = EventColumns(time="day", place="where")
WRITTEN = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def frame(n: int = 500, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "day": [f"2018-01-{d:02d}" for d in rng.integers(1, 11, n)],
            "where": rng.choice(["north", "South", "WEST"], n),
        }
    )


def randomized(table, path, ledger, *, plan=PLAN, columns=COLUMNS, seed=None, options=WRITTEN, **settings):
    return randomize_events(
        open_events(table, columns=columns, domain=plan.domain, options=options),
        plan,
        path,
        seed=seed,
        ledger=ledger,
        data_set=settings.pop("data_set", "events"),
        **settings,
    )


def test_every_event_becomes_one_report_on_its_public_day(tmp_path, ledger):
    table = frame()
    done = randomized(table, tmp_path / "a", ledger)
    assert done.n_reports == 500
    tally = tally_reports([tmp_path / "a"], PLAN)
    days = table.group_by("day").len().sort("day")["len"].to_list()
    assert tally.reports.tolist() == days
    assert estimate_tally(tally, PLAN).totals.ravel().tolist() == days


def test_a_plan_for_devices_that_remember_is_not_drawn_from_events(tmp_path, ledger):
    plan, _ = plan_for_devices(DOMAIN, epsilon=1.0)
    with pytest.raises(SettingError, match="all coins would be drawn again for every event"):
        randomized(frame(), tmp_path / "reports", ledger, plan=plan)
    assert not ledger.history()


def test_a_count_column_makes_as_many_reports(tmp_path, ledger):
    table = pl.DataFrame({"day": ["2018-01-01", "2018-01-02"], "where": ["north", "west"], "n": [40, 0]})
    done = randomized(table, tmp_path / "a", ledger, columns=EventColumns(time="day", place="where", count="n"))
    assert done.n_reports == 40


def test_a_count_makes_the_reports_that_as_many_rows_would(tmp_path):
    table = pl.DataFrame(
        {"day": ["2018-01-01", "2018-01-02", "2018-01-02"], "where": ["north", "west", "south"], "n": [20, 3, 9]}
    )
    rows = table[np.repeat(np.arange(3), table["n"])]
    randomized(table, tmp_path / "a", None, seed=1, columns=EventColumns(time="day", place="where", count="n"))
    randomized(rows, tmp_path / "b", None, seed=1)
    assert tally_reports([tmp_path / "a"], PLAN).reports.tolist() == [20, 12]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_count_beyond_all_measure_is_refused_and_spends_nothing(tmp_path, ledger):
    table = pl.DataFrame({"day": ["2018-01-01"], "where": ["north"], "n": [10**11]})
    with pytest.raises(DataError, match="Check the column of counts"):
        randomized(table, tmp_path / "a", ledger, columns=EventColumns(time="day", place="where", count="n"))
    assert ledger.history() == []


class TestARunThatIsStopped:
    """Nobody reports an event twice because a run was stopped: the same call goes on with the same reports."""

    def stopped(self, table, path, ledger, monkeypatch, at="replace", **settings):
        """Run into a failure: of writing the file, or of telling the ledger that it is written."""

        def fail(*_):
            raise OSError("the disk is gone")

        with monkeypatch.context() as patched:
            if at == "replace":
                patched.setattr("os.replace", fail)
            else:
                patched.setattr(Ledger, "finish_randomization", fail)
            with pytest.raises(OSError, match="disk is gone") as failure:
                randomized(table, path, ledger, **settings)
        assert "Run the same again" in failure.value.__notes__[0]

    @pytest.mark.parametrize("at", ["replace", "finish"])
    def test_it_has_paid_and_is_taken_up_at_no_further_cost(self, tmp_path, ledger, monkeypatch, at):
        self.stopped(frame(), tmp_path / "a", ledger, monkeypatch, at)
        (paid,) = ledger.history()
        assert not paid.is_finished
        secret, head = ledger.report_secret(paid), ledger.head
        # whatever is written down meanwhile, the file is the same
        ledger.set_budget("something else", epsilon=1.0)
        assert ledger.head_of(paid) == head != ledger.head
        done = randomized(frame().reverse(), tmp_path / "a", ledger, overwrite=False)
        assert done.is_resumed
        assert [entry.is_finished for entry in ledger.history()] == [True]
        assert tally_reports([tmp_path / "a"], PLAN).n_reports == 500
        counts = CellCounts.of(3, *cells_of(frame()))
        key = drawing_key(secret, PLAN.fingerprint, counts.digest())
        label = Provenance(PLAN.fingerprint, ledger_heads=(head,))
        OneFile().write(tmp_path / "b", mechanism_of(PLAN), counts, key=key, provenance=label)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_the_key_is_wiped_once_the_file_is_written(self, tmp_path, ledger):
        randomized(frame(), tmp_path / "a", ledger)
        (entry,) = ledger.history()
        assert entry.is_finished
        with pytest.raises(AlreadyRandomized, match="their key is wiped"):
            ledger.report_secret(entry)
        with pytest.raises(AlreadyRandomized, match="10 of 10 days"):
            randomized(frame(), tmp_path / "b", ledger)

    def test_counts_that_changed_meanwhile_are_refused_or_paid_and_drawn_apart(self, tmp_path, ledger, monkeypatch):
        self.stopped(frame(), tmp_path / "a", ledger, monkeypatch)
        grown = pl.concat([frame(), frame(1)])
        with pytest.raises(AlreadyRandomized, match="10 of 10 days"):
            randomized(grown, tmp_path / "a", ledger)
        done = randomized(grown, tmp_path / "a", ledger, again=True)
        assert (done.is_resumed, done.prior.replacement.epsilon) == (False, 2.0)
        first, second = ledger.history()
        assert (first.is_finished, second.is_finished) == (False, True)
        assert randomized(frame(), tmp_path / "b", ledger).is_resumed

    def test_the_same_counts_at_other_times_of_the_day_are_other_events(self, tmp_path, ledger, monkeypatch):
        self.stopped(frame(), tmp_path / "a", ledger, monkeypatch)
        later = frame().with_columns(pl.col("day") + " 12:00:00")
        with pytest.raises(AlreadyRandomized):
            randomized(later, tmp_path / "a", ledger)

    def test_another_plan_or_name_is_not_taken_for_it(self, tmp_path, ledger, monkeypatch):
        self.stopped(frame(), tmp_path / "a", ledger, monkeypatch)
        for settings in ({"plan": plan_for(DOMAIN, epsilon=1.0)}, {"data_set": "other name"}):
            with pytest.raises((AlreadyRandomized, UndeclaredCopy)):
                randomized(frame(), tmp_path / "a", ledger, **settings)

    def test_a_repetition_is_taken_up_with_the_sum_it_had(self, tmp_path, ledger, monkeypatch):
        randomized(frame(), tmp_path / "a", ledger)
        self.stopped(frame(), tmp_path / "b", ledger, monkeypatch, again=True)
        done = randomized(frame(), tmp_path / "b", ledger, again=True)
        assert (done.is_resumed, done.prior.replacement.epsilon) == (True, 2.0)
        assert len(ledger.history()) == 2
        assert randomized(frame(), tmp_path / "c", ledger, again=True).prior.replacement.epsilon == 4.0

    def test_other_events_are_told_of_the_run_that_was_interrupted(self, tmp_path, ledger, monkeypatch):
        self.stopped(frame(), tmp_path / "a", ledger, monkeypatch)
        with pytest.raises(AlreadyRandomized, match="A run under this plan was interrupted"):
            randomized(frame()[:-1], tmp_path / "b", ledger)

    def test_a_run_that_is_taken_up_states_what_was_spent_meanwhile(self, tmp_path, ledger, monkeypatch):
        self.stopped(frame(), tmp_path / "a", ledger, monkeypatch)
        randomized(frame()[:-1], tmp_path / "b", ledger, again=True)
        done = randomized(frame(), tmp_path / "a", ledger)
        assert (done.is_resumed, done.prior.replacement.epsilon) == (True, 2.0)
        assert ReportFile.open(tmp_path / "a").provenance.prior == done.prior

    def test_another_file_in_its_place_is_left_alone(self, tmp_path, ledger, monkeypatch):
        self.stopped(frame(), tmp_path / "a", ledger, monkeypatch)
        (tmp_path / "a").write_text("something else")
        with pytest.raises(SettingError, match="holds something else"):
            randomized(frame(), tmp_path / "a", ledger, overwrite=False)
        assert (tmp_path / "a").read_text() == "something else"
        assert randomized(frame(), tmp_path / "b", ledger, overwrite=False).is_resumed

    def test_a_file_is_refused_before_anything_is_read_or_paid(self, tmp_path, ledger):
        (tmp_path / "a").write_text("something else")
        with pytest.raises(SettingError, match="exists already"):
            randomized(frame(), tmp_path / "a", ledger, overwrite=False)
        with pytest.raises(SettingError, match="exists already"):
            randomized(frame(), tmp_path / "a", None, seed=1, overwrite=False)
        assert ledger.history() == []

    def test_an_unfinished_run_of_other_events_does_not_open_the_way_to_a_file(self, tmp_path, ledger, monkeypatch):
        self.stopped(frame(), tmp_path / "a", ledger, monkeypatch)
        (tmp_path / "b").write_text("something else")
        new_days = frame().filter(pl.col("day") > "2018-01-05"), plan_for(DOMAIN, epsilon=2.0)
        with pytest.raises(SettingError, match="exists already"):
            randomized(new_days[0], tmp_path / "b", ledger, overwrite=False, again=True)
        assert len(ledger.history()) == 1


def cells_of(table: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    places = {"north": 0, "South": 1, "WEST": 2}
    return (
        table["day"].str.slice(8).cast(pl.Int64).to_numpy() - 1,
        np.array([places[name] for name in table["where"]], np.int64),
    )


@given(st.integers(0, 40), st.randoms(use_true_random=False), st.integers(1, 9), st.sampled_from([2, 7, 1 << 20]))
@pytest.mark.slow
def test_any_order_and_batches_give_the_same_file(tmp_path_factory, n, random, rows_a_batch, rows_in_memory):
    """Rows are shuffled and come in other batches; large bins go through files: the same seed gives the same bytes."""
    folder, table = tmp_path_factory.mktemp("orders"), frame(n + 1)
    shuffled = table[random.sample(range(n + 1), n + 1)].to_arrow()
    batches = pa.Table.from_batches(shuffled.to_batches(max_chunksize=rows_a_batch), schema=shuffled.schema)
    randomized(table, folder / "a", None, seed=5)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(report_files, "ROWS_IN_MEMORY", rows_in_memory)
        patched.setattr(report_files, "_GATHERED_REPORTS", rows_in_memory)
        patched.setattr(spool, "ROWS_IN_MEMORY", rows_in_memory)
        randomized(batches, folder / "b", None, seed=5)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]


def test_a_seed_gives_the_file_that_a_writer_of_the_same_seed_gives(tmp_path):
    randomized(frame(), tmp_path / "a", None, seed=5)
    with RandomizingWriter(tmp_path / "b", PLAN, randomness=SeededRandomness(5)) as writer:
        for part in frame().reverse().iter_slices(77):
            writer.add(*cells_of(part))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_run_reads_the_events_once(tmp_path, ledger):
    """A stream that cannot be read twice will do, and nothing can change between two readings."""
    table = frame()
    pieces = (batch for batch in table.to_arrow().to_batches(max_chunksize=50))
    reader = pa.RecordBatchReader.from_batches(table.to_arrow().schema, pieces)
    assert randomized(reader, tmp_path / "a", ledger).n_reports == 500


def test_a_place_that_cannot_be_written_is_refused_before_the_price_is_paid(tmp_path, ledger):
    (tmp_path / "taken").mkdir()
    for path in (tmp_path / "taken", tmp_path / "nowhere" / "a"):
        with pytest.raises(SettingError):
            randomized(frame(), path, ledger)
    assert ledger.history() == []


def test_a_refused_run_writes_nothing_and_draws_nothing(tmp_path, ledger, monkeypatch):
    randomized(frame(), tmp_path / "a", ledger)

    def unused(*_):
        raise AssertionError("noise was drawn before the ledger agreed")

    monkeypatch.setattr("tacit.randomness.source.KeyedRandomness.fill", unused)
    with pytest.raises(AlreadyRandomized, match="10 of 10 days"):
        randomized(frame(), tmp_path / "b", ledger)
    assert not (tmp_path / "b").exists()


def test_again_carries_the_sum_into_the_reports(tmp_path, ledger):
    randomized(frame(), tmp_path / "a", ledger)
    ledger.declare_same("events", "other name")
    done = randomized(frame().reverse(), tmp_path / "b", ledger, again=True, data_set="other name")
    assert done.prior.replacement.epsilon == 2.0
    assert tally_reports([tmp_path / "b"], PLAN).provenance.prior_epsilon == 2.0


def test_reports_of_events_randomized_before_add_to_those_of_other_days_alone(tmp_path, ledger):
    randomized(frame(), tmp_path / "first", ledger)
    early, late = DOMAIN.time.range(None, "2018-01-05"), DOMAIN.time.range("2018-01-06", None)
    for name, only in (("early", early), ("late", late)):
        randomized(frame(), tmp_path / name, ledger, again=True, only=only)
    both = tally_reports([tmp_path / "early", tmp_path / "late"], PLAN)
    assert (both.n_reports, both.provenance.prior_epsilon) == (500, 2.0)
    with pytest.raises(SettingError, match="would count twice"):
        tally_reports([tmp_path / "first", tmp_path / "late"], PLAN)


def test_a_file_that_grew_is_randomized_from_its_new_days_on(tmp_path, ledger):
    table = frame()
    randomized(table.filter(pl.col("day") <= "2018-01-05"), tmp_path / "a", ledger)
    with pytest.raises(AlreadyRandomized, match="5 of 10 days"):
        randomized(table, tmp_path / "b", ledger)
    done = randomized(table, tmp_path / "b", ledger, only=DOMAIN.time.range("2018-01-06", None))
    assert done.prior.replacement.epsilon == 0
    both = tally_reports([tmp_path / "a", tmp_path / "b"], PLAN)
    assert both.n_reports == 500


def test_new_days_of_the_same_data_set_are_free(tmp_path, ledger):
    table = frame()
    randomized(table.filter(pl.col("day") <= "2018-01-05"), tmp_path / "a", ledger)
    done = randomized(table.filter(pl.col("day") > "2018-01-05"), tmp_path / "b", ledger)
    assert done.prior.replacement.epsilon == 0


def test_strict_reading_spends_nothing_on_a_file_with_bad_rows(tmp_path, ledger):
    table = pl.concat([frame(), pl.DataFrame({"day": ["2018-01-03"], "where": ["nowhere"]})])
    with pytest.raises(DataError):
        randomized(table, tmp_path / "a", ledger, options=replace(WRITTEN, strict=True))
    assert ledger.history() == []
    done = randomized(table, tmp_path / "a", ledger)
    assert done.bad_rows.n_rows == 1


def test_a_file_of_no_reports_is_a_result_too(tmp_path, ledger):
    done = randomized(pl.DataFrame({"day": ["2018-01-03"], "where": ["nowhere"]}), tmp_path / "a", ledger)
    assert (done.n_reports, done.bad_rows.n_rows) == (0, 1)
    tally = tally_reports([tmp_path / "a"], PLAN)
    assert tally.n_reports == 0
    assert (estimate_tally(tally, PLAN).values == 0).all()


def test_real_reports_need_a_ledger_and_simulated_ones_spend_nothing(tmp_path):
    with pytest.raises(SettingError, match="must be recorded"):
        randomized(frame(), tmp_path / "a", None)
    with pytest.raises(SettingError, match="a simulation must not be"):
        randomized(frame(), tmp_path / "a", Ledger(tmp_path / "ledger.sqlite"), seed=1)
    randomized(frame(), tmp_path / "a", None, seed=1)
    assert tally_reports([tmp_path / "a"], PLAN).provenance.is_simulation


@pytest.mark.parametrize("private", [("time",), ("time", "place")])
def test_other_coordinates_can_be_private(tmp_path, ledger, private):
    plan = plan_for(DOMAIN, epsilon=8.0, private=private)
    randomized(frame(), tmp_path / "a", ledger, plan=plan)
    tally = tally_reports([tmp_path / "a"], plan)
    assert tally.n_reports == 500
    estimate = estimate_tally(tally, plan)
    assert estimate.values.shape == (10, 3)
    assert abs(estimate.values.sum() - 500) < 300


def test_the_order_of_the_input_leaves_no_trace(tmp_path, ledger):
    """Under one seed and one day, sorted or shuffled input differ only by which noise met which event."""
    table = frame().with_columns(pl.lit("2018-01-01").alias("day"))
    randomized(table.sort("where"), tmp_path / "a", None, seed=1)
    content = (tmp_path / "a").read_bytes()
    payload = np.frombuffer(content[-32 - 500 : -32], np.uint8)
    assert (np.diff(payload.astype(int)) >= 0).all()


def test_the_ledger_covers_every_day_of_a_public_period_that_has_a_report(tmp_path, ledger):
    """Which days of a week have events is private where weeks are public."""
    weeks = Domain(TimeAxis.between("2018-01-01", "2018-01-28", step="week"), DOMAIN.place)
    plan = plan_for(weeks, epsilon=2.0)
    read = open_events(
        pl.DataFrame({"day": ["2018-01-03"], "where": ["north"]}), columns=COLUMNS, domain=weeks, options=WRITTEN
    )
    randomize_events(read, plan, tmp_path / "a", ledger=ledger, data_set="events")
    counted = ledger.remaining("events", {f"2018-01-{day:02d}": b"" for day in range(1, 8)})
    other = ledger.remaining("events", {"2018-01-15": b""})
    assert counted.guarantee.replacement.epsilon == pytest.approx(2.0)
    assert other.guarantee.replacement.epsilon == 0


@pytest.mark.parametrize("private", [("place",), ("kind",), ("place", "kind")])
def test_the_ledger_covers_the_days_of_reports_whatever_else_is_public(tmp_path, ledger, private):
    """Public bins are time x kind, time x place or time: their numbers are not those of days."""
    domain = replace(DOMAIN, kind=KindAxis.of(["fire", "flood"]))
    table = pl.DataFrame({"day": ["2018-01-03"], "where": ["west"], "what": ["flood"]})
    columns = replace(COLUMNS, kind="what")
    plan = plan_for(domain, epsilon=2.0, private=private)
    randomized(table, tmp_path / "a", ledger, plan=plan, columns=columns, only=slice(2, 3))
    of_day = {day: ledger.remaining("events", {f"2018-01-{day:02d}": b""}).guarantee for day in range(1, 11)}
    assert [day for day, promised in of_day.items() if not promised.is_of_nothing] == [3]


def test_rows_without_a_kind_change_no_statement_about_days_without_reports(tmp_path, ledger):
    """Whether such a row is there is not public, and statements are."""
    domain = replace(DOMAIN, kind=KindAxis.of(["fire", "flood"]))
    table = pl.DataFrame({"day": ["2018-01-03", "2018-01-04"], "where": ["west"] * 2, "what": ["flood", ""]})
    plan = plan_for(domain, epsilon=2.0, private=("place", "kind"))
    randomized(table, tmp_path / "a", ledger, plan=plan, columns=replace(COLUMNS, kind="what"))
    reported, without_kind, empty = (
        ledger.remaining("events", {day: b""}).guarantee for day in ("2018-01-03", "2018-01-04", "2018-01-05")
    )
    assert without_kind == empty != reported


@pytest.mark.parametrize(("day", "is_covered"), [("2018-01-05", True), ("2018-01-08", False)])
def test_a_day_of_the_run_without_a_report_has_no_hidden_presence(tmp_path, ledger, day, is_covered):
    """The file shows that there was no event: one more would have been one report more."""
    table = frame().filter(pl.col("day") != "2018-01-05")
    randomized(table, tmp_path / "a", ledger, only=DOMAIN.time.range("2018-01-01", "2018-01-07"))
    ledger.set_budget("events", epsilon=9.0)
    asked = {"data_set": "events", "release": "one day", "cost": Cost.pure(1.0), "days": {day: b""}}
    if is_covered:
        with pytest.raises(SettingError, match="protected single events only"):
            ledger.spend(**asked, unit=Unit.user_day(most=1))
    paid = ledger.spend(**asked)
    assert (paid.guarantee.presence is None) == is_covered
    assert paid.guarantee.replacement.epsilon == 2.0
    assert ledger.others("one day").has_reports == is_covered


def test_days_that_are_to_come_are_not_said_to_be_empty(tmp_path, ledger):
    today = datetime.now(UTC).date()
    days = [str(today + timedelta(days=n)) for n in (-1, 5)]
    plan = plan_for(Domain(TimeAxis.between(days[0], days[1]), DOMAIN.place), epsilon=2.0)
    randomized(pl.DataFrame({"day": days[:1], "where": ["north"]}), tmp_path / "a", ledger, plan=plan)
    assert ledger.remaining("events", {str(today): b""}).guarantee.has_reports
    assert ledger.remaining("events", {days[1]: b""}).guarantee.is_of_nothing


def test_an_axis_without_end_is_silent_up_to_now(tmp_path, ledger):
    plan = plan_for(Domain(TimeAxis.between("2018-01-01", None), DOMAIN.place), epsilon=2.0)
    randomized(frame(), tmp_path / "a", ledger, plan=plan)
    assert ledger.remaining("events", {"2019-07-01": b""}).guarantee.has_reports
    assert ledger.remaining("events", {"2017-07-01": b""}).guarantee.is_of_nothing


def test_a_part_of_an_axis_without_end_is_silent_up_to_its_own_end(tmp_path, ledger):
    """A month's reports say nothing of the next month, whatever the plan still allows."""
    plan = plan_for(Domain(TimeAxis.between("2018-01-01", None), DOMAIN.place), epsilon=2.0)
    randomized(frame(), tmp_path / "a", ledger, plan=plan, only=plan.domain.time.range("2018-01-01", "2018-01-31"))
    assert ledger.remaining("events", {"2018-01-31": b""}).guarantee.has_reports
    assert ledger.remaining("events", {"2018-02-01": b""}).guarantee.is_of_nothing


def test_the_drawing_key_depends_on_all_that_it_is_made_of():
    secrets, plans, digests = (b"a" * 32, b"b" * 32), ("00" * 16, "ff" * 16), (b"a" * 32, b"b" * 32)
    keys = {drawing_key(*parts) for parts in itertools.product(secrets, plans, digests)}
    assert len(keys) == 8
