"""The names in a column, for the curator's screen."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tacit.domain import Gazetteer, PlaceAxis
from tacit.errors import DataError, MissingColumn
from tacit.events import ReadOptions, names_in
from tacit.release.exports import csv_text


def test_names_come_with_their_rows_the_most_frequent_first():
    table = pa.table({"town": ["B", "A", " A", None, "", "C", "A"]})
    assert names_in(table, column="town") == {"A": 3, "B": 1, "C": 1}


def test_names_of_a_file_are_counted_over_all_its_batches(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("town\n" + "North\n" * 3000 + "South\n" * 1000)
    options = ReadOptions(encoding="utf-8", separator=",", batch_rows=500)
    assert names_in(path, column="town", options=options) == {"North": 3000, "South": 1000}


def test_a_column_of_numbers_is_not_taken_for_places():
    table = pa.table({"id": [str(number) for number in range(10_001)]})
    with pytest.raises(DataError, match="more than 10,000 different texts"):
        names_in(table, column="id")


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(MissingColumn):
        names_in(pa.table({"town": ["A"]}), column="place")


def test_names_are_read_as_they_were_before_a_table_guarded_them_from_spreadsheets(tmp_path):
    names = ["=SUM(A1)", "-7 Bridge", "'s-Hertogenbosch", "'+1"]
    path = tmp_path / "towns.csv"
    path.write_text(csv_text({"town": np.array(names, object)}))
    options = ReadOptions(separator=",", encoding="utf-8", header_lines=1, names=("town",))
    assert set(names_in(path, column="town", options=options)) == set(names)
    axis = PlaceAxis.from_gazetteer(Gazetteer.read(path), "town")
    assert axis.cells == tuple(names)
    written = path.read_text().split("\n")[1:-1]
    assert written[0] == "'=SUM(A1)"
    assert axis.match(written).tolist() == [0, 1, 2, 3]
