"""A second run of reports counts the same rows as the first, or is refused: who has a report tells what is hidden."""

from __future__ import annotations

import itertools
import sqlite3
from dataclasses import replace

import polars as pl
import pytest

from tacit.collection.randomizing import randomize_events
from tacit.collection.range_counting import local_flat
from tacit.collection.tallying import tally_reports
from tacit.domain import Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import AlreadyRandomized
from tacit.events import EventColumns, Polygons, ReadOptions, open_events
from tacit.mechanisms.registry import plan_for
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger, chain
from tacit.privacy.ledger.file import FORMAT

DAYS = TimeAxis.between("2025-01-01", "2025-01-03")
PLACES = PlaceAxis.of(["north", "south"])
KINDS = KindAxis.of(["fire", "fall"])
COLUMNS = EventColumns(time="day", place="town", kind="what")
WRITTEN = ReadOptions(date_format="year-first")
TABLE = pl.DataFrame(
    {
        "day": ["2025-01-01"] * 3 + ["2025-01-02"] * 2,
        "town": ["north", "south", "north", "south", "south"],
        "what": ["fire", "fall", "fire", "fall", "fall"],
        "station": ["East", "West", "East", "West", "West"],
    }
)
COPY = TABLE[[0, 1, 3]]  # an event less on every day
EVERYTHING = Domain(DAYS, PLACES)
BY_KIND = Domain(DAYS, PLACES, KINDS)
FIRES = Domain(DAYS, PLACES, KindAxis.of(["fire"]))


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.fixture
def randomized(tmp_path, ledger):
    numbers = itertools.count()

    def randomized(domain, private, *, table=TABLE, columns=COLUMNS, options=WRITTEN, data_set="events", **settings):
        plan = plan_for(domain, epsilon=1.0, private=private)
        events = open_events(table, columns=columns, domain=domain, options=options)
        path = tmp_path / f"{next(numbers)}.reports"
        given = {"ledger": ledger, "again": True} | settings
        randomize_events(events, plan, path, data_set=data_set, **given)
        return tally_reports([path], plan)

    return randomized


def refused(randomized, ledger, *run, match, **settings):
    entries, head = ledger.history(), ledger.head
    with pytest.raises(AlreadyRandomized, match=match):
        randomized(*run, **settings)
    assert (ledger.history(), ledger.head) == (entries, head)


def test_two_runs_with_other_kinds_would_tell_the_hidden_kind_of_every_event(randomized, ledger):
    """Of two events on the second day both are in one run, and none in the other: neither is a fire."""
    hidden = ("place", "kind")
    assert randomized(BY_KIND, hidden, ledger=None, again=False, seed=1).reports.tolist() == [3, 2]
    assert randomized(FIRES, hidden, ledger=None, again=False, seed=2).reports.tolist() == [2]
    randomized(BY_KIND, hidden)
    refused(randomized, ledger, FIRES, hidden, match="counted events with other kinds of events.*its place and kind")


def test_a_day_without_a_report_tells_too(randomized, ledger):
    """The first run shows that no event of the second day is a fire; then nobody may see that there are events."""
    randomized(FIRES, ("place", "kind"))
    second = DAYS.range("2025-01-02", "2025-01-02")
    refused(randomized, ledger, EVERYTHING, ("place",), only=second, match="other kinds")


def test_a_day_on_which_the_second_run_has_no_report_tells_too(randomized, ledger):
    randomized(EVERYTHING, ("place",))
    second = DAYS.range("2025-01-02", "2025-01-02")
    refused(randomized, ledger, FIRES, ("place", "kind"), only=second, match="other kinds")
    refused(randomized, ledger, FIRES, ("time", "kind"), only=second, match="undo each other's protection")


def test_lists_of_what_is_public_do_not_matter(randomized):
    randomized(Domain(DAYS, PLACES, KINDS), ("place",))
    randomized(FIRES, ("place",))
    randomized(EVERYTHING, ("place",))


def test_where_every_place_or_kind_is_counted_lists_do_not_matter(randomized):
    elsewhere = PlaceAxis.of(["north"]).with_elsewhere()
    randomized(Domain(DAYS, PLACES.with_elsewhere()), ("place",))
    randomized(Domain(DAYS, elsewhere), ("place",))
    randomized(Domain(DAYS, elsewhere, KindAxis.of(["fire"]).with_elsewhere()), ("place", "kind"))


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"columns": replace(COLUMNS, where=("station=East",))}, "conditions"),
        ({"columns": replace(COLUMNS, place="station")}, "other places"),
        ({"options": replace(WRITTEN, encoding="latin-1", separator=";")}, "ways to read a row"),
        ({"columns": replace(COLUMNS, count="n"), "table": TABLE.with_columns(n=1)}, "ways to read a row"),
    ],
    ids=["where", "another column", "another encoding", "a column of counts"],
)
def test_other_conditions_columns_or_readings_are_refused(randomized, ledger, settings, what):
    randomized(EVERYTHING, ("place",))
    refused(randomized, ledger, EVERYTHING, ("place",), match=what, **settings)
    randomized(EVERYTHING, ("place",), columns=replace(COLUMNS, place="TOWN", kind=None))


def test_other_places_are_refused_in_any_order_they_are_the_same(randomized, ledger):
    randomized(EVERYTHING, ("place",))
    refused(
        randomized, ledger, Domain(DAYS, PlaceAxis.of(["north", "south", "west"])), ("place",), match="other places"
    )
    randomized(Domain(DAYS, PlaceAxis.of(["SOUTH", "north"])), ("place",))


def test_a_hidden_time_has_the_same_days_of_any_step(randomized, ledger):
    days, weeks = (TimeAxis.between("2024-12-30", "2025-01-12", step=step) for step in ("day", "week"))
    randomized(Domain(days, PLACES), ("time", "place"))
    randomized(Domain(weeks, PLACES), ("time", "place"))
    refused(randomized, ledger, EVERYTHING, ("time", "place"), match="other days")
    refused(randomized, ledger, Domain(days, PLACES), ("time", "place"), only=slice(0, 7), match="other days")


def test_runs_of_other_days_may_count_other_kinds(randomized, ledger):
    randomized(FIRES, ("place", "kind"), only=DAYS.range("2025-01-01", "2025-01-01"))
    randomized(BY_KIND, ("place", "kind"), only=DAYS.range("2025-01-02", None))
    assert ledger.remaining("events").guarantee.replacement == Cost.pure(1.0)


def test_a_coarser_level_counts_rows_that_name_its_own_cells_and_is_refused(randomized, ledger):
    table = Gazetteer.from_text("town,region\nnorth,coast\nsouth,hills\neast,hills\n")
    towns, regions = (PlaceAxis.from_gazetteer(table, level) for level in ("town", "region"))
    assert (towns.match(["coast"]).tolist(), regions.match(["coast"]).tolist()) == ([-1], [0])
    randomized(Domain(DAYS, towns), ("place",))
    refused(randomized, ledger, Domain(DAYS, regions), ("place",), match="other places")


def test_the_areas_in_which_points_count_are_compared(tmp_path):
    pytest.importorskip("shapely")
    columns = EventColumns(time="day", place="town", latitude="y", longitude="x")
    table = TABLE.with_columns(x=pl.lit("0.5"), y=pl.lit("0.5"))

    def digest(*sides: float, names=("north", "south"), **options: str) -> str:
        import shapely

        shapes = tuple(shapely.box(0, number, side, number + 1) for number, side in enumerate(sides))
        areas = Polygons("areas", shapes, tuple({"name": name} for name in names), "EPSG:4326")
        read = replace(WRITTEN, polygons=areas, **options)
        return open_events(table, columns=columns, domain=EVERYTHING, options=read).selection()["place"]

    assert digest(1.0, 1.0) == digest(1.0, 1.0)
    others = [digest(1.0, 2.0), digest(1.0, 1.0, names=("north", "nowhere")), digest(1.0, 1.0, crs="EPSG:2154")]
    assert len({digest(1.0, 1.0), *others}) == 4


def test_a_series_of_counts_is_compared_by_its_days(ledger):
    dates = ["2025-01-01", "2025-01-02", "2025-01-03"]
    local_flat(1.0, dates, [3, 2, 0], ledger=ledger, data_set="events")
    with pytest.raises(AlreadyRandomized, match="with other days"):
        local_flat(1.0, dates[:2], [3, 2], ledger=ledger, data_set="events")


class TestNamesThatAreDeclaredTheSame:
    def test_runs_that_count_other_rows_leave_no_promise_about_what_they_hide(self, randomized, ledger):
        randomized(BY_KIND, ("place", "kind"))
        randomized(FIRES, ("place", "kind"), data_set="copy", table=COPY)
        plans = [plan_for(domain, epsilon=1.0, private=("place", "kind")) for domain in (BY_KIND, FIRES)]
        assert ledger.others(plans[0].fingerprint).is_of_nothing
        ledger.declare_same("events", "copy")
        promises = [ledger.remaining(name).guarantee for name in ("events", "copy")]
        promises += [ledger.others(plan.fingerprint) for plan in plans]
        ledger.set_budget("events", epsilon=9.0)
        promises.append(
            ledger.spend(
                data_set="events", release="counts", cost=Cost.pure(1.0), days={"2025-01-01": b""}, dry_run=True
            ).prior
        )
        for promised in promises:
            assert (promised.replacement, promised.hidden, promised.presence) == (None, (), None)
            assert "not protected. What some of its reports hide, others show." in promised.sentences()[1]
        refused(randomized, ledger, BY_KIND, ("place", "kind"), match="other kinds")

    def test_runs_that_count_the_same_rows_add_up(self, randomized, ledger):
        randomized(BY_KIND, ("place", "kind"))
        randomized(BY_KIND, ("place", "kind"), data_set="copy", table=COPY)
        ledger.declare_same("events", "copy")
        assert ledger.remaining("events").guarantee.replacement == Cost.pure(2.0)

    def test_a_day_on_which_one_of_them_shows_none_is_enough(self, randomized, ledger):
        randomized(FIRES, ("place", "kind"))
        second = DAYS.range("2025-01-02", "2025-01-02")
        randomized(EVERYTHING, ("place",), data_set="copy", table=TABLE[:-1], only=second)
        ledger.declare_same("events", "copy")
        assert ledger.remaining("copy").guarantee.replacement is None
        plan = plan_for(EVERYTHING, epsilon=1.0, private=("place",))
        assert ledger.others(plan.fingerprint).replacement is None


class TestARunThatWasInterrupted:
    @pytest.fixture
    def stopped(self, randomized, monkeypatch):
        def fail(*_):
            raise OSError("the disk is gone")

        with monkeypatch.context() as patched:
            patched.setattr("os.replace", fail)
            with pytest.raises(OSError, match="disk is gone"):
                randomized(EVERYTHING, ("place",))

    def test_goes_on_with_the_same_selection_alone(self, stopped, randomized, ledger):
        """All rows are from some station: the same counts, and other events would have been left out."""
        other = replace(COLUMNS, where=("station!=nowhere",))
        refused(randomized, ledger, EVERYTHING, ("place",), columns=other, match="conditions")
        randomized(EVERYTHING, ("place",), again=False)
        assert [entry.is_finished for entry in ledger.history()] == [True]

    def test_goes_on_after_a_migration(self, stopped, randomized, ledger, tmp_path):
        old = as_format_six(ledger)
        randomized(EVERYTHING, ("place",), ledger=old, again=False)
        assert [entry.is_finished for entry in old.history()] == [True]


def as_format_six(ledger: Ledger) -> Ledger:
    """The same ledger as the format before selections had it, without a chain that knows them."""
    connection = sqlite3.connect(ledger.path)
    connection.execute("ALTER TABLE randomization DROP COLUMN selection")
    connection.execute("UPDATE about SET format = 6")
    connection.commit()
    key = ledger._file.key_file.read()
    connection.execute("DELETE FROM chain")
    chain.begin(connection, key)
    chain.append(connection, key)
    connection.commit()
    connection.close()
    ledger.path.with_name("ledger.sqlite.checked").unlink(missing_ok=True)
    return Ledger(ledger.path)


class TestTheSixthFormat:
    def test_what_it_counted_is_not_known_and_no_run_may_follow(self, randomized, ledger):
        randomized(EVERYTHING, ("place",))
        old = as_format_six(ledger)
        before = old.path.read_bytes()
        assert old.remaining("events").guarantee.replacement == Cost.pure(1.0)
        assert old.path.read_bytes() == before
        with pytest.raises(
            AlreadyRandomized, match=r"by a version that did not note which.*Nothing was spent.*new days"
        ):
            randomized(EVERYTHING, ("place",), ledger=old)
        assert len(old.history()) == 1

    def test_it_is_migrated_by_the_next_entry(self, randomized, ledger):
        first = DAYS.range("2025-01-01", "2025-01-01")
        randomized(EVERYTHING, ("place",), only=first)
        old = as_format_six(ledger)
        rest = DAYS.range("2025-01-02", None)
        randomized(EVERYTHING, ("place",), ledger=old, only=rest)
        with sqlite3.connect(old.path) as connection:
            (found,) = connection.execute("SELECT format FROM about").fetchone()
            selections = [text for (text,) in connection.execute("SELECT selection FROM randomization ORDER BY id")]
        connection.close()
        assert found == FORMAT == 7
        assert [bool(text) for text in selections] == [False, True]
        assert old.remaining("events").guarantee.replacement == Cost.pure(1.0)
        randomized(EVERYTHING, ("place",), ledger=old, only=rest)

    def test_two_runs_of_which_it_is_not_known_leave_no_promise(self, randomized, ledger):
        for _ in range(2):
            randomized(EVERYTHING, ("place",))
        assert ledger.remaining("events").guarantee.replacement == Cost.pure(2.0)
        assert as_format_six(ledger).remaining("events").guarantee.replacement is None
