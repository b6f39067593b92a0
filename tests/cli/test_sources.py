"""Options become columns and settings of the reader."""

from __future__ import annotations

from tacit.cli.options import SourceOptions, UserSourceOptions
from tacit.cli.sources import columns_of


def test_users_are_named_only_where_a_command_bounds_what_they_add() -> None:
    assert columns_of(UserSourceOptions(file="a.csv", time="SDate", place="Town", user="Who")).user == "Who"
    assert columns_of(UserSourceOptions(file="a.csv", time="SDate", place="Town")).user is None
    assert columns_of(SourceOptions(file="a.csv", time="SDate", place="Town")).user is None
