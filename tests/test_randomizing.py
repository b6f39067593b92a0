"""Events become reports only after the ledger has agreed, and never twice unnoticed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tacit import randomizing
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import AlreadyRandomized, DataError, SettingError
from tacit.events import EventColumns, ReadOptions, open_events
from tacit.mechanisms import plan_for
from tacit.privacy.ledger import Ledger
from tacit.randomizing import randomize_events
from tacit.randomness import SecureRandomness, SeededRandomness
from tacit.tallying import estimate_tally, tally_reports

DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-10"), PlaceAxis.of(["north", "south", "west"]))
PLAN = plan_for(DOMAIN, epsilon=2.0)
COLUMNS = EventColumns(time="day", place="where")


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


def randomized(table, path, ledger, *, plan=PLAN, columns=COLUMNS, randomness=None, options=None, **settings):
    return randomize_events(
        open_events(table, columns=columns, domain=plan.domain, options=options),
        plan,
        path,
        randomness=randomness or SecureRandomness(),
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


def test_a_count_column_makes_as_many_reports(tmp_path, ledger):
    table = pl.DataFrame({"day": ["2018-01-01", "2018-01-02"], "where": ["north", "west"], "n": [40, 0]})
    done = randomized(table, tmp_path / "a", ledger, columns=EventColumns(time="day", place="where", count="n"))
    assert done.n_reports == 40


def test_a_row_of_many_events_is_written_piece_by_piece(tmp_path, ledger, monkeypatch):
    monkeypatch.setattr(randomizing, "_PIECE_EVENTS", 7)
    table = pl.DataFrame(
        {"day": ["2018-01-01", "2018-01-02", "2018-01-02"], "where": ["north", "west", "south"], "n": [20, 3, 9]}
    )
    randomized(table, tmp_path / "a", ledger, columns=EventColumns(time="day", place="where", count="n"))
    assert tally_reports([tmp_path / "a"], PLAN).reports.tolist() == [20, 12]


def test_a_count_beyond_all_measure_is_refused_and_spends_nothing(tmp_path, ledger):
    table = pl.DataFrame({"day": ["2018-01-01"], "where": ["north"], "n": [10**11]})
    with pytest.raises(DataError, match="Check the column of counts"):
        randomized(table, tmp_path / "a", ledger, columns=EventColumns(time="day", place="where", count="n"))
    assert ledger.history() == []


def test_the_price_is_recorded_even_if_writing_fails(tmp_path, ledger):
    """Spent, never drawn twice: the ledger comes first."""

    class Broken(SecureRandomness):
        def fill(self, out):
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="disk is full") as failure:
        randomized(frame(), tmp_path / "a", ledger, randomness=Broken())
    assert "--again" in failure.value.__notes__[0]
    assert len(ledger.history()) == 1
    assert not (tmp_path / "a").exists()
    with pytest.raises(AlreadyRandomized):
        randomized(frame(), tmp_path / "a", ledger)


def test_a_place_that_cannot_be_written_is_refused_before_the_price_is_paid(tmp_path, ledger):
    (tmp_path / "taken").mkdir()
    for path in (tmp_path / "taken", tmp_path / "nowhere" / "a"):
        with pytest.raises(SettingError):
            randomized(frame(), path, ledger)
    assert ledger.history() == []


def test_a_refused_run_writes_nothing_and_draws_nothing(tmp_path, ledger):
    randomized(frame(), tmp_path / "a", ledger)

    class Unused(SecureRandomness):
        def fill(self, out):
            raise AssertionError("noise was drawn before the ledger agreed")

    with pytest.raises(AlreadyRandomized, match="10 of 10 days"):
        randomized(frame(), tmp_path / "b", ledger, randomness=Unused())
    assert not (tmp_path / "b").exists()


def test_again_carries_the_sum_into_the_reports(tmp_path, ledger):
    randomized(frame(), tmp_path / "a", ledger)
    done = randomized(frame().reverse(), tmp_path / "b", ledger, again=True, data_set="other name")
    assert done.prior_epsilon == 2.0
    assert tally_reports([tmp_path / "b"], PLAN).provenance.prior_epsilon == 2.0


def test_a_file_that_grew_is_randomized_from_its_new_days_on(tmp_path, ledger):
    table = frame()
    randomized(table.filter(pl.col("day") <= "2018-01-05"), tmp_path / "a", ledger)
    with pytest.raises(AlreadyRandomized, match="5 of 10 days"):
        randomized(table, tmp_path / "b", ledger)
    done = randomized(table, tmp_path / "b", ledger, only=DOMAIN.time.range("2018-01-06", None))
    assert done.prior_epsilon == 0
    both = tally_reports([tmp_path / "a", tmp_path / "b"], PLAN)
    assert both.n_reports == 500


def test_new_days_of_the_same_data_set_are_free(tmp_path, ledger):
    table = frame()
    randomized(table.filter(pl.col("day") <= "2018-01-05"), tmp_path / "a", ledger)
    done = randomized(table.filter(pl.col("day") > "2018-01-05"), tmp_path / "b", ledger)
    assert done.prior_epsilon == 0


def test_events_that_change_between_the_two_readings_are_not_written(tmp_path, ledger):
    path = tmp_path / "events.csv"
    frame().write_csv(path)
    events = open_events(path, columns=COLUMNS, domain=DOMAIN)
    batches = events.batches

    def read_then_change(**settings):
        yield from batches(**settings)
        path.write_bytes(path.read_bytes().replace(b"north", b"South"))

    events.batches = read_then_change
    with pytest.raises(DataError, match="changed while it was read"):
        randomize_events(events, PLAN, tmp_path / "a", randomness=SecureRandomness(), ledger=ledger, data_set="events")
    assert not (tmp_path / "a").exists()


def test_strict_reading_spends_nothing_on_a_file_with_bad_rows(tmp_path, ledger):
    table = pl.concat([frame(), pl.DataFrame({"day": ["2018-01-03"], "where": ["nowhere"]})])
    with pytest.raises(DataError):
        randomized(table, tmp_path / "a", ledger, options=ReadOptions(strict=True))
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
    randomized(frame(), tmp_path / "a", None, randomness=SeededRandomness(1))
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
    randomized(table.sort("where"), tmp_path / "a", None, randomness=SeededRandomness(1))
    content = (tmp_path / "a").read_bytes()
    payload = np.frombuffer(content[-32 - 500 : -32], np.uint8)
    assert (np.diff(payload.astype(int)) >= 0).all()
