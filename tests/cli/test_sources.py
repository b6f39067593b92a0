"""Options become columns and settings of the reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from small_worlds import DOUBS
from tacit.cli.options import SourceOptions, UserSourceOptions
from tacit.cli.sources import columns_of


def test_users_are_named_only_where_a_command_bounds_what_they_add() -> None:
    assert columns_of(UserSourceOptions(file="a.csv", time="SDate", place="Town", user="Who")).user == "Who"
    assert columns_of(UserSourceOptions(file="a.csv", time="SDate", place="Town")).user is None
    assert columns_of(SourceOptions(file="a.csv", time="SDate", place="Town")).user is None


def test_check_tells_what_is_odd_about_a_table_of_counts(tacit: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("day,town,n\n2018-01-01,Ornans,4\n2018-01-03,Ornans,5\n2018-01-03,ORNANS,6\n", encoding="utf-8")
    ran = tacit("check", *DOUBS, path, "--time", "day", "--place", "town", "--count", "n")
    assert (ran.code, "15 events counted" in ran.out) == (0, True)
    said = " ".join(ran.err.split())
    assert "Note: 1 row repeats the date and place of an earlier one, and was added to it (row 4)." in said
    assert "Note: 1 of 3 periods has no row, and counts as 0 (2018-01-02)." in said


TOWNS = "NOM;GROUPE;NUMERO\nBesançon;Ouest;25056\nÉtupes;Est;25228\n"
NAMED = ("--places-column", "town=NOM", "--places-column", "Region = GROUPE", "--places-column", "code=NUMERO")


def test_columns_of_a_table_of_places_may_be_named(tacit: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_text(TOWNS, encoding="utf-8")
    (tmp_path / "events.csv").write_text("day,town\n2018-01-01,25056\n2018-01-02,etupes\n", encoding="utf-8")
    read = ("events.csv", "--time", "day", "--place", "town")
    ran = tacit("check", *DOUBS, *read, "--places", "towns.csv", *NAMED, "--confirm")
    assert ran.code == 0, ran.err
    assert "2 events counted" in ran.out
    planned = ("--places", "towns.csv", "--from", "2018-01-01", "--to", "2018-01-31", "--epsilon", 1)
    assert tacit("plan", *DOUBS, *planned, *NAMED).code == 0
    (tmp_path / "towns.csv").rename(tmp_path / "moved.csv")
    ran = tacit("randomize", *read, "--places", "moved.csv", "--seed", 1)
    assert ran.code == 0, ran.err
    assert "No row was set aside" in ran.out


def test_a_table_of_places_says_which_columns_it_has(tacit: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_text(TOWNS, encoding="utf-8")
    words = ("plan", *DOUBS, "--from", "2018-01-01", "--epsilon", 1, "--places")
    for wrong, code, said in (
        ((), 3, "must have a column that names places, such as town, commune or region; got NOM, GROUPE, NUMERO"),
        (("--places-column", "town=NAME"), 3, "must have a column NAME; got NOM, GROUPE, NUMERO"),
        (("--places-column", "NOM"), 2, "--places-column must be WHAT=COLUMN; got NOM. Write town=NOM_COM"),
        ((*NAMED, "--places-column", "town=GROUPE"), 2, "must name one column for town"),
    ):
        ran = tacit(*words, "towns.csv", *wrong)
        assert ran.code == code
        assert said in " ".join(ran.err.split())
    assert "--places-column town=COLUMN" in tacit(*words, "towns.csv").err
    assert "is for a table of your own" in tacit(*words, "doubs", "--places-column", "town=NOM").err
    assert "there is no such file" in tacit(*words, "nowhere.csv", "--places-column", "town=NOM").err


EXPORT = """N°;Début;Ville;Lat;Lon
1;31/12/2018 08:08;Besançon;47,2380;6,0243
2;02/10/2018 10:00;St Vit;;
3;02/10/2018;Atlantis;;
4;;Ornans;;
5;03/10/2018;;47,2380;6,0243
"""
POLYGONS = """{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"nom": "Besançon"},
"geometry": {"type": "Polygon", "coordinates":
[[[5.9, 47.1], [6.2, 47.1], [6.2, 47.4], [5.9, 47.4], [5.9, 47.1]]]}}]}"""


def test_check_says_how_an_export_is_written_and_counts_blank_places_by_coordinates(
    tacit: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "export.csv").write_text(EXPORT, encoding="latin-1")
    (tmp_path / "besancon.geojson").write_text(POLYGONS, encoding="utf-8")
    read = ("export.csv", "--time", "debut", "--place", "ville", "--date-format", "day-first")
    ran = tacit("check", *DOUBS, *read)
    assert ran.code == 0, ran.err
    assert "5 rows read, 2 events counted." in ran.out
    assert "It is a CSV file in Windows-1252, with the separator ;." in ran.out
    assert "Dates are written day first (31/12/2018) or year first." in ran.out
    for reason in ("no date (row 5)", "no place (row 6)", "a place that is not known (row 4)"):
        assert f"1 row with {reason}" in ran.err
    located = ("--latitude", "Lat", "--longitude", "Lon", "--polygons", "besancon.geojson")
    ran = tacit("check", *DOUBS, *read, *located)
    assert "5 rows read, 3 events counted." in ran.out
    assert "Numbers may have a decimal point or comma." in ran.out
    assert "no place" not in ran.err


def test_a_summary_of_nothing_is_refused(tacit, tmp_path):
    (tmp_path / "events.csv").write_text("day,town\n2018-01-01,Atlantis\n")
    ran = tacit(
        "summary", "events.csv", "--time", "day", "--place", "town", "--places", "doubs", "--zone", "Europe/Paris"
    )
    assert ran.code == 3
    assert "a place that is not known (row 2)" in ran.err
    assert "nothing in events.csv can be counted" in ran.err


def test_all_bad_rows_are_listed_in_a_private_file(tacit, tmp_path):
    bad = [f'2018-01-01,"Ornans{"x" * number}' for number in range(30)]
    (tmp_path / "events.csv").write_text("day,town\n2018-01-01,Ornans\n" + "\n".join([*bad, ",Ornans", ""]))
    words = ("check", "events.csv", "--time", "day", "--place", "town", "--places", "doubs", "--zone", "Europe/Paris")
    for _ in range(2):  # a list is replaced by the next
        assert tacit(*words, "--bad-rows", "bad.csv").code == 0
    quotes = [f'{row},"a quote that is not closed, or text after a closing quote"' for row in range(3, 33)]
    assert (tmp_path / "bad.csv").read_text().splitlines() == ["row,reason", *quotes, "33,no date"]
    assert (tmp_path / "bad.csv").stat().st_mode & 0o077 == 0
    ran = tacit(*words, "--bad-rows", "events.csv")
    assert ran.code == 2
    assert "events.csv exists already, and is no list of bad rows" in ran.err
    assert (tmp_path / "events.csv").read_text().startswith("day,town")


def test_a_file_alone_is_answered_with_its_columns_and_what_they_seem_to_hold(tacit, tmp_path):
    (tmp_path / "trips.csv").write_text("id;Start date;end;Station;Type\n1;03/04/2025 08:08;03/04/2025;A;x\n")
    ran = tacit("check", "trips.csv")
    assert ran.code == 0
    assert "trips.csv has 5 columns: id, Start date, end, Station, Type." in ran.out
    assert "time seems to be Start date, place seems to be Station, kind seems to be Type" in ran.out
    assert "Next: tacit check trips.csv --time 'Start date' --place Station --places TABLE --zone ZONE" in ran.out
    assert list(tmp_path.iterdir()) == [tmp_path / "trips.csv"]


def test_a_file_without_column_names_is_not_repeated(tacit, tmp_path):
    for text in ("Mary;03/04/2025;Ornans\nAnn;04/04/2025;Ornans\n", "Mary;Ornans\nAnn;Ornans\n"):
        (tmp_path / "visits.csv").write_text(text)
        ran = tacit("check", "visits.csv")
        assert ran.code == 3
        assert "--names" in ran.err
        assert "Mary" not in ran.out + ran.err


SPAN = ("--from", "2025-04-01", "--to", "2025-04-30")
READ = ("visits.csv", "--time", "day", "--place", "town")


@pytest.mark.parametrize(
    "words",
    [
        ("check", *READ),
        ("summary", *READ),
        ("laboratory", *READ),
        ("plan", *SPAN, "--epsilon", 1),
        ("bound", *READ, *SPAN, "--user", "who", "--epsilon", 1),
        ("counter", "start", *SPAN, "--epsilon", 1),
    ],
    ids=lambda words: words[0],
)
def test_nobody_else_chooses_the_places_or_the_time_zone(tacit, tmp_path, words):
    (tmp_path / "visits.csv").write_text("day,town,who\n2025-04-03,Ornans,a\n")
    for given, said in (
        (DOUBS[:2], "the time zone of the events' clocks must be named. Add: --zone ZONE"),
        (DOUBS[2:], "the table of places must be named. Add: --places TABLE, or count events in all: --places none"),
    ):
        ran = tacit(*words, *given)
        assert ran.code == 2
        assert said in " ".join(ran.err.split())
    assert list(tmp_path.iterdir()) == [tmp_path / "visits.csv"]


def test_the_time_zone_of_a_description_need_not_be_named_again(tacit, tmp_path):
    (tmp_path / "visits.csv").write_text("day,town\n2025-04-03T23:30:00Z,Ornans\n2025-04-03T21:30:00Z,Ornans\n")
    assert tacit("check", *READ, *DOUBS, "--confirm").code == 0
    for command in ("check", "summary"):
        ran = tacit(command, "visits.csv", *DOUBS[:2], "--from", "2025-04-04", "--to", "2025-04-04")
        assert ran.code == 0
        assert "1 row with a date outside the time axis (row 3)" in ran.err
