"""Options become columns and settings of the reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit.cli.options import SourceOptions, UserSourceOptions
from tacit.cli.sources import columns_of


def test_users_are_named_only_where_a_command_bounds_what_they_add() -> None:
    assert columns_of(UserSourceOptions(file="a.csv", time="SDate", place="Town", user="Who")).user == "Who"
    assert columns_of(UserSourceOptions(file="a.csv", time="SDate", place="Town")).user is None
    assert columns_of(SourceOptions(file="a.csv", time="SDate", place="Town")).user is None


def test_check_tells_what_is_odd_about_a_table_of_counts(tacit: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("day,town,n\n2018-01-01,Ornans,4\n2018-01-03,Ornans,5\n2018-01-03,ORNANS,6\n", encoding="utf-8")
    ran = tacit("check", path, "--time", "day", "--place", "town", "--count", "n")
    assert (ran.code, "15 events counted" in ran.out) == (0, True)
    said = " ".join(ran.err.split())
    assert "Note: 1 row repeats the date and place of an earlier one, and was added to it (row 4)." in said
    assert "Note: 1 of 3 periods has no row, and counts as 0 (2018-01-02)." in said
