"""Numpy's dates are taken wherever dates are."""

from __future__ import annotations

import numpy as np
import pytest

import tacit
from small_worlds import days_and_places
from tacit.collection.curating import add_events
from tacit.collection.range_counting import local_flat
from tacit.counts.continual_noise import KaryTree
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.events import EventColumns, ReadOptions, open_events
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.continual import CounterFiles, start_counter
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Spend
from tacit.privacy.unit import Unit
from tacit.release import Release, Rules

FIRST, LAST = np.datetime64("2018-01-02"), np.datetime64("2018-01-04")
TEXTS = ("2018-01-02", "2018-01-04")
forms = pytest.mark.parametrize("unit", ["D", "s", "ns"])


@forms
def test_axes_and_boxes_take_numpys_dates(unit):
    first, last = (day.astype(f"datetime64[{unit}]") for day in (FIRST, LAST))
    assert TimeAxis.between(first, last) == TimeAxis.between(*TEXTS)
    assert TimeAxis(first, "day") == TimeAxis(TEXTS[0], "day")
    domain = days_and_places(9, 2)
    assert domain.time.range(first, last) == domain.time.range(*TEXTS)
    assert domain.box(first, last) == domain.box(*TEXTS)
    year = TimeAxis.between(np.datetime64("2018"), np.datetime64("2018-12"))
    assert year == TimeAxis.between("2018-01-01", "2018-12-31")
    assert year.range(np.datetime64("2018-02")) == year.range("2018-02-01")


@forms
def test_releases_and_their_rules_take_numpys_dates(unit):
    first, last = (day.astype(f"datetime64[{unit}]") for day in (FIRST, LAST))
    plan = central_plan_for(days_and_places(9, 2), epsilon=1.0, mechanism="flat")
    spend = Spend.simulation(Cost.pure(1.0), seed=1)
    estimate = central_mechanism_of(plan).measure(ExactTally(np.ones((9, 2), int)), plan, spend=spend)
    assert Rules.parse(missing=(first,)) == Rules.parse(missing=(TEXTS[0],))
    assert Rules.parse(missing=(np.datetime64("2018-01"),)) == Rules.parse(missing=("2018-01",))
    release = Release.of(plan, estimate, refine="raw")
    assert release.answer(first=first, last=last) == release.answer(first=TEXTS[0], last=TEXTS[1])
    opened = tacit.Publication(release)
    assert opened.answer(first, last) == opened.answer(*TEXTS)


@forms
def test_series_and_counters_take_numpys_dates(unit, tmp_path):
    first, last = (day.astype(f"datetime64[{unit}]") for day in (FIRST, LAST))
    series = local_flat(1.0, np.array([first, last]), [3, 4], seed=1)
    assert series.answer((first, last)) == series.answer(TEXTS)
    assert series.answer(first) == series.answer(TEXTS[0])
    domain = Domain(TimeAxis.between(*TEXTS), PlaceAxis.everything())
    files = CounterFiles(tmp_path / "counter")
    start_counter(files, KaryTree(3, Cost.pure(1.0)), domain, data_set="x", unit=Unit(), seed=1)
    frame, written = {"day": ["2018-01-02", "2018-01-04"]}, ReadOptions(date_format="year-first")
    pyarrow = pytest.importorskip("pyarrow")

    def opened(over):
        return open_events(pyarrow.table(frame), columns=EventColumns(time="day"), domain=over, options=written)

    assert add_events(files, opened, first=first, last=last).n_events == 2
    history = files.history()
    assert history.answer(first, last) == history.answer(*TEXTS)


def test_publishing_takes_numpys_dates():
    from tacit.publication.beginning import day_of

    assert [day_of(day, "first") for day in (FIRST, LAST.astype("datetime64[ns]"))] == list(TEXTS)
