"""A name that a spreadsheet would run stays text in every CSV file, and reads back as it was."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counter_worlds
from small_worlds import simulated_estimate
from tacit._base.files import as_it_was, harmless
from tacit.counts.series import Series
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.forecast.forecaster import forecaster_named
from tacit.forecast.tables import write_forecast
from tacit.mechanisms.continual.history import History
from tacit.release import Release
from tacit.release.synthetic import SyntheticRows

NAMES = ("=HYPERLINK(A1)", "+1", "-2+3", "@SUM(A1)", "'=1x", "'s-Hertogenbosch", "plain")
STARTS = ("=", "+", "-", "@", "\t", "\r")
DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-02-28"), PlaceAxis.of(NAMES))
COUNTS = np.full((59, len(NAMES)), 30)


@given(st.text("='+-@\t\rab", max_size=6))
def test_every_text_reads_back_as_it_was_and_none_begins_a_formula(name):
    assert as_it_was(harmless(name)) == name
    assert not harmless(name).startswith(STARTS)


@pytest.fixture(scope="module")
def release():
    return Release.of(*simulated_estimate(COUNTS, domain=DOMAIN))


def texts_of(path):
    """All cells of a CSV file that are not numbers."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if not line.startswith("#")]
    cells = [cell for row in csv.reader(io.StringIO("".join(lines), newline="")) for cell in row]
    return [cell for cell in cells if not _is_number(cell)]


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return cell != "+1"  # a place


def test_no_csv_holds_a_formula(release, tmp_path):
    release.write(tmp_path / "release.csv")
    SyntheticRows.of(release, seed=1).write(tmp_path / "rows.csv")
    series = Series.exact(DOMAIN, COUNTS)
    write_forecast(forecaster_named("weekday mean").fit(series).predict(2), tmp_path / "forecast.csv")
    domain = Domain(TimeAxis.between("2018-01-01", None), PlaceAxis.of(NAMES))
    made = counter_worlds.files(tmp_path, counter_worlds.counter(domain=domain))
    made.add(COUNTS[:3], first=0)
    for path in sorted(tmp_path.glob("*.csv")):
        texts = texts_of(path)
        assert "'=HYPERLINK(A1)" in texts, path
        assert [text for text in texts if text.startswith(STARTS)] == [], path
    assert History.read(made.history_path).stream.domain.place.cells == NAMES


def test_numbers_of_a_release_stay_numbers(release, tmp_path):
    release.write(tmp_path / "release.csv")
    negative = [row for row in texts_of(tmp_path / "release.csv") if row.lstrip("'").startswith("-") and row != "'-2+3"]
    assert negative == []
