"""The names in a column, for the curator's screen."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tacit.errors import DataError, MissingColumn
from tacit.events import ReadOptions, names_in


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
