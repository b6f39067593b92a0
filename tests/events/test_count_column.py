"""Counts as people write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tacit.events import EventCounts, Reason
from tacit.events.columns import read_counts

BAD = None


def read(text: str, decimal: str | None) -> int | None:
    counts, reason = read_counts(pa.array([text]), decimal=decimal)
    assert reason[0] in (0, Reason.BAD_COUNT.code)
    return BAD if reason[0] else int(counts[0])


@pytest.mark.parametrize(
    ("text", "unknown", "point", "comma"),
    [
        ("7", 7, 7, 7),
        ("+7", 7, 7, 7),
        ("1000", 1000, 1000, 1000),
        ("1,000", BAD, 1000, 1),
        ("1.000", BAD, 1, 1000),
        ("250,000", BAD, 250_000, 250),
        ("1,000,000", BAD, 1_000_000, BAD),
        ("1.000.000", BAD, BAD, 1_000_000),
        ("1,000.00", BAD, 1000, BAD),
        ("1.000,000", BAD, BAD, 1000),
        ("999,999,999,999", BAD, 999_999_999_999, BAD),
        ("2,001", BAD, 2001, BAD),
        ("0,000", BAD, BAD, 0),
        ("1000,000", BAD, BAD, 1000),
        ("4,0", 4, BAD, 4),
        ("4.00", 4, 4, BAD),
        ("4.0000", 4, 4, BAD),
        ("4,", 4, BAD, 4),
        ("2,5", BAD, BAD, BAD),
        ("-1", BAD, BAD, BAD),
        (",000", BAD, BAD, BAD),
    ],
)
def test_a_sign_before_three_digits_is_not_guessed(
    text: str, unknown: int | None, point: int | None, comma: int | None
) -> None:
    assert (read(text, None), read(text, "."), read(text, ",")) == (unknown, point, comma)


def test_thousands_are_set_aside_until_the_decimal_sign_is_given(
    tmp_path: Path, count: Callable[..., EventCounts]
) -> None:
    path = tmp_path / "events.csv"
    path.write_text('SDate,Town,N\n2018-01-02,Ornans,"1,000"\n2018-01-03,Ornans,"250,000"\n2018-01-04,Ornans,3\n')
    counts = count(path, count="N")
    assert counts.n_events == 3
    assert str(counts.bad_rows) == "2 rows with a count that is not plainly a whole number of 0 or more (rows 2, 3)"
    assert count(path, count="N", decimal=".").n_events == 251_003
    path.write_text("SDate;Town;N\n2018-01-02;Ornans;1.000\n")
    assert count(path, count="N").n_events == 0
    assert count(path, count="N", decimal=",").n_events == 1000
    assert count(path, count="N", decimal=".").n_events == 1
