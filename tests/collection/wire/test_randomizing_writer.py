"""Cells that no plan has are refused where they are handed over, and so is a file that is there, before any draw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from small_worlds import days_and_places
from tacit.collection.tallying import tally_reports
from tacit.collection.wire import RandomizingWriter
from tacit.domain import KindAxis
from tacit.errors import SettingError
from tacit.mechanisms.registry import plan_for
from tacit.randomness import SeededRandomness

DOMAIN = days_and_places(365, 3)
WITH_KINDS = replace(DOMAIN, kind=KindAxis.of(["fire", "flood"]))
ENDLESS = replace(DOMAIN, time=DOMAIN.time.without_end())
GOOD = [0, 1, 2]


@pytest.fixture
def refused(tmp_path):
    """Add events of which some lie outside, and return what is said; nothing is left, and a good event still counts."""

    def refused(domain, time_bins, columns, private=("place",)):
        path, plan = tmp_path / "a.reports", plan_for(domain, epsilon=1.0, private=private)
        with (
            pytest.raises(SettingError) as told,
            RandomizingWriter(path, plan, randomness=SeededRandomness(1)) as writer,
        ):
            writer.add(time_bins, columns)
        assert list(tmp_path.iterdir()) == []
        with RandomizingWriter(path, plan, randomness=SeededRandomness(1)) as writer:
            with pytest.raises(SettingError):
                writer.add(time_bins, columns)
            writer.add([0], [0])
        assert tally_reports([path], plan).n_reports == 1
        path.unlink()
        return str(told.value)

    return refused


@pytest.mark.parametrize("outside", [365, 400, -1, 2**62, np.uint64(2**63 + 1)])
def test_a_period_outside_the_plan_is_refused_with_its_position(refused, outside):
    said = refused(DOMAIN, np.array([0, 364, outside, outside], type(outside)), [0, 1, 2, 0])
    assert said == (
        "time_bins must lie between 0 and 364, the plan's periods; 2 of 4 do not, the first at position 2. "
        "Set aside events outside the domain first."
    )


def test_of_an_axis_without_end_the_last_period_is_the_last_that_a_tally_takes(refused, tmp_path):
    last = (1 << 24) - 1
    said = refused(ENDLESS, [last, last + 1], [0, 0])
    assert f"between 0 and {last}, the last period that a tally takes; 1 of 2 do not, the first at position 1" in said
    pairs = replace(WITH_KINDS, time=ENDLESS.time)
    assert f"between 0 and {last // 2}, " in refused(pairs, [last], [0])  # each period has two public bins


def test_what_is_private_is_refused_without_its_position(refused):
    for domain, time_bins, columns, private in (
        (DOMAIN, GOOD, [0, 3, 1], ("place",)),
        (DOMAIN, [0, 365, 1], GOOD, ("time",)),
        (DOMAIN, GOOD, [0, 3, 1], ("time", "place")),  # it was counted as the first place of the next day
        (WITH_KINDS, GOOD, [0, 6, 1], ("place",)),
    ):
        said = refused(domain, time_bins, columns, private)
        assert "1 of 3 do not. Set aside" in said
        assert "position" not in said
    assert "1 of 3 do not, the first at position 1" in refused(DOMAIN, GOOD, [0, 3, 1], ("time",))
    # it was counted as a place of the next day
    assert "the plan's places and kinds; 1 of 3 do not, the first at position 2" in refused(
        WITH_KINDS, GOOD, [0, 1, 6], ("kind",)
    )


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("columns", ["north", "south", "north"], "got texts. Find places by name with plan.domain.place.match"),
        ("columns", pd.Series(["north", "south", "north"]), "got texts. Find places"),
        ("columns", [0.0, 1.5, 2.0], "got numbers with fractions"),
        ("columns", [True, False, True], "got truth values"),
        ("columns", [0, None, 1], "got values of another kind"),
        ("time_bins", pd.date_range("2018-01-01", periods=3), "got dates. Find the periods of dates"),
        ("time_bins", ["2018-01-01"] * 3, "got texts. Find the periods of dates with plan.domain.time.bins_of_local"),
    ],
)
def test_what_is_no_cell_is_refused_with_the_way_to_one(refused, name, given, said):
    told = refused(DOMAIN, **{"time_bins": GOOD, "columns": GOOD} | {name: given})
    assert told.startswith(f"{name} must be whole numbers, the cells of the plan's domain; {said}")
    assert "north" not in told


def test_bins_and_columns_go_in_pairs(refused):
    assert "one length, one entry an event; got 3 and 1" in refused(DOMAIN, GOOD, [0])


def test_whole_numbers_of_any_kind_are_cells(tmp_path):
    plan = plan_for(DOMAIN, epsilon=1.0)
    kinds = [GOOD, np.array(GOOD, np.uint8), pd.Series(GOOD, dtype="Int64"), pd.Series(GOOD, dtype=object)]
    with RandomizingWriter(tmp_path / "a.reports", plan, randomness=SeededRandomness(1)) as writer:
        for given in (*kinds, []):
            writer.add(given, given)
    assert tally_reports([tmp_path / "a.reports"], plan).n_reports == 3 * len(kinds)


def test_a_second_run_does_not_replace_the_reports_of_the_first(tmp_path):
    path, plan = tmp_path / "all.reports", plan_for(DOMAIN, epsilon=1.0)

    def run(seed, **settings):
        with RandomizingWriter(path, plan, randomness=SeededRandomness(seed), **settings) as writer:
            writer.add(GOOD, GOOD)
        return path.read_bytes()

    first = run(1)
    with pytest.raises(SettingError, match=r"all\.reports exists already, and further reports of the same events"):
        run(2)
    assert path.read_bytes() == first
    assert run(2, overwrite=True) != first


def test_a_file_that_comes_while_events_are_counted_is_not_replaced_either(tmp_path):
    path, plan = tmp_path / "all.reports", plan_for(DOMAIN, epsilon=1.0)
    writer = RandomizingWriter(path, plan, randomness=SeededRandomness(1))
    writer.add(GOOD, GOOD)
    path.write_bytes(b"reports of another run")
    with pytest.raises(SettingError, match="exists already and holds something else"), writer:
        pass
    assert path.read_bytes() == b"reports of another run"
