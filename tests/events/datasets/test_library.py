"""The synthetic library: frozen, plausible, and readable by the commands."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from small_worlds import DOUBS
from tacit.errors import SettingError
from tacit.events.datasets import library


def test_the_data_set_of_the_published_seed_never_changes():
    counts = library.visits().counts.astype("<i8").tobytes()
    assert hashlib.sha256(counts).hexdigest() == "c809db288fee4bddc370aa70b862dab2bc243d28ec6481171e64965f26f9be05"


def test_another_seed_is_another_world():
    assert not np.array_equal(library.visits(8).counts, library.visits().counts)


def test_it_spans_the_days_of_the_thesis_and_has_weeks_seasons_and_closed_days():
    data = library.visits()
    hillside = data.counts[:, data.libraries.index("Hillside")]
    assert (len(data.days), str(data.days[0]), str(data.days[-1])) == (2006, "2014-01-02", "2019-06-30")
    weekday = (data.days.astype(int) + 3) % 7
    assert hillside[weekday == 1].mean() > 3 * hillside[weekday == 6].mean()
    month = data.days.astype("datetime64[M]").astype(int) % 12
    assert hillside[month == 2].mean() > 1.2 * hillside[month == 11].mean()
    assert (data.counts[data.days == np.datetime64("2015-12-25")] == 0).all()
    harbour = data.counts[:, data.libraries.index("Harbour")]
    assert harbour[(data.days >= library.REBUILT_FROM) & (data.days < library.REBUILT_UNTIL)].sum() == 0


def test_the_table_is_written_with_its_libraries(tmp_path):
    data = library.visits()
    data.write(tmp_path / "visits.csv", tmp_path / "libraries.csv")
    lines = (tmp_path / "visits.csv").read_text().splitlines()
    assert lines[0] == "Date,Library,Visits"
    assert len(lines) == 1 + 5 * 2006
    assert (tmp_path / "libraries.csv").read_text().splitlines() == ["library", *data.libraries]
    with pytest.raises(SettingError, match=r"\.csv"):
        data.write(tmp_path / "visits.parquet", tmp_path / "libraries.csv")


@pytest.mark.slow
def test_a_curator_counts_the_simulated_library(tacit, tmp_path):
    assert tacit("simulate", "library", "--out", "visits.csv").code == 0
    plan = ("--trust", "curator", "--places", "libraries.csv", "--level", "library", "--epsilon", "1")
    made = tacit("plan", *DOUBS, *plan, "--from", "2014-01-02", "--to", "2019-06-30", "--zone", "Europe/Copenhagen")
    assert made.code == 0, made.err
    described = ("--time", "Date", "--place", "Library", "--count", "Visits", "--places", "libraries.csv")
    described += ("--zone", "Europe/Copenhagen")
    assert tacit("check", *DOUBS, "visits.csv", *described, "--confirm").code == 0
    counted = tacit("count", "visits.csv")
    assert counted.code == 0, counted.err
    asked = tacit("query", "release.parquet", "--from", "2015-01-01", "--to", "2015-12-31", "--place", "Hillside")
    assert asked.code == 0, asked.err
