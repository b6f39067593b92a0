from __future__ import annotations

import re

import pytest

from tacit.domain import Gazetteer, KindAxis
from tacit.errors import DataError, SettingError

NAMESAKES = """town,code,region,department,alias
Foucherans,39233,Dole,Jura,
Foucherans,25250,Loue,Doubs,
Ornans,25434,Loue,Doubs,Bonnevaux
"""


def test_places_come_in_the_order_of_the_table():
    gazetteer = Gazetteer.from_text(NAMESAKES)
    assert gazetteer.levels == ("town", "region", "department")
    assert gazetteer.names("region") == ("Dole", "Loue")
    assert gazetteer.names("department") == ("Jura", "Doubs")


def test_namesakes_are_told_apart_by_code_or_by_where_they_are():
    assert Gazetteer.from_text(NAMESAKES).names("town") == ("Foucherans (39233)", "Foucherans (25250)", "Ornans")
    plain = Gazetteer.from_text("town,region\nSt Denis,West\nSaint-Denis,East\n")
    assert plain.names("town") == ("St Denis (West)", "Saint-Denis (East)")


@pytest.mark.parametrize(
    ("name", "regions"),
    [
        ("FOUCHERANS", {"Dole", "Loue"}),
        ("Foucherans (Jura)", {"Dole"}),
        ("Foucherans (25250)", {"Loue"}),
        ("Foucherans (loue)", {"Loue"}),
        ("Foucherans (Ain)", set()),
        ("39233", {"Dole"}),
        ("bonnevaux", {"Loue"}),
        ("Loue", {"Loue"}),
        ("nowhere", set()),
        ("", set()),
    ],
)
def test_a_name_finds_everything_it_may_mean(name, regions):
    gazetteer = Gazetteer.from_text(NAMESAKES)
    assert {gazetteer.name_at(row, "region") for _, row in gazetteer.find(name)} == regions


def test_the_digest_is_of_the_places_not_of_the_file(tmp_path):
    path = tmp_path / "places.csv"
    path.write_bytes(NAMESAKES.replace(",", ";").encode("utf-16"))
    read, written = Gazetteer.read(path), Gazetteer.from_text(NAMESAKES)
    assert read.sha256 == written.sha256
    assert read == written
    assert hash(read) == hash(written)
    assert (read.name, read.path) == ("places", str(path))
    moved = Gazetteer.from_text(NAMESAKES.replace("Foucherans,25250,Loue", "Foucherans,25250,Dole"))
    assert moved != written


def test_populations_add_up():
    text = "town,region,population,outside\nA,West,10,\nB,West,5,\nC,East,,\nD,North,7,yes\n"
    assert Gazetteer.from_text(text).population("region") == {"West": 15, "East": 0}


def test_a_table_with_nothing_inside_is_refused():
    with pytest.raises(DataError, match="at least one place that is not outside"):
        Gazetteer.from_text("town,region\n")
    with pytest.raises(DataError, match="at least one place that is not outside"):
        Gazetteer.from_text("town,region,outside\nA,West,yes\n")


def test_a_level_it_does_not_have_is_refused_with_those_it_has():
    with pytest.raises(SettingError, match="level must be one of town, region, department"):
        Gazetteer.from_text(NAMESAKES).names("canton")


def test_only_tables_that_come_with_tacit_are_built_in():
    with pytest.raises(
        SettingError, match=r"built in \(doubs\) or a CSV file; .* there is no such file\. Check the name"
    ):
        Gazetteer.builtin("../doubs")


def test_a_file_is_no_built_in_table(tmp_path):
    (tmp_path / "own.csv").write_text("town\nOrnans\n")
    with pytest.raises(SettingError, match=r"a file\. Read it with Gazetteer\.read"):
        Gazetteer.builtin(str(tmp_path / "own.csv"))


def test_a_table_of_one_column_is_a_list_of_places_of_that_kind():
    libraries = Gazetteer.from_text("Library\nCentre\nHarbour\n")
    assert libraries.levels == ("library",)
    assert libraries.names("library") == ("Centre", "Harbour")
    assert Gazetteer.from_text("commune\nLods\n").levels == ("town",)


def kinds_of(text: str) -> Gazetteer:
    return Gazetteer.from_text(text, of="kinds", name="k")


def test_a_table_of_kinds_has_kinds_groups_and_other_names():
    table = kinds_of("nature;famille;autres noms\nFeu;danger;incendie|fire\nChute;secours;\n")
    assert table.levels == ("kind", "group")
    assert (table.names("kind"), table.names("group")) == (("Feu", "Chute"), ("danger", "secours"))
    assert KindAxis.from_gazetteer(table).match(["FIRE", "chute", "danger"]).tolist() == [0, 1, -1]


def test_a_list_of_kinds_without_a_header_does_not_lose_its_first_one():
    with pytest.raises(DataError, match=r"must name the column: kind; got fire\. If that is a kind"):
        kinds_of("fire\nflood\n")
    assert kinds_of("Type\nfire\nflood\n").names("kind") == ("fire", "flood")


def test_the_built_in_kinds_are_not_the_built_in_places():
    kinds = Gazetteer.builtin("doubs", of="kinds")
    assert kinds.is_builtin
    assert kinds != Gazetteer.builtin("doubs")
    axis = KindAxis.from_gazetteer(kinds, "group")
    assert "rows" not in axis.to_dict()["gazetteer"]
    assert KindAxis.from_dict(axis.to_dict()) == axis
    assert KindAxis.from_dict(axis.to_dict()).match(["malaise"]).tolist() == [0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the table of kinds k is empty"),
        ("kind,group\nfire,danger\nFire,heat\n", "the table of kinds k must name every kind once; got fire 2 times"),
        ("kind,group\nfire,\n", "row 2 of the table of kinds k must name its group"),
        ("kind,group\n,danger\n", "row 2 of the table of kinds k must name its kind"),
        ("a,b\nfire,danger\n", "must have a column that names kinds, such as kind, type or nature; got a, b. Rename"),
        ("kind,type\nfire,x\n", "the table of kinds k must have one column for kind; got kind, type. Rename a column."),
        ("kind,alias_of\nfire,\nblaze,flood\n", "must be an alias of one kind; 'flood' is not in the table"),
        ("kind,outside\nfire,yes\n", "the table of kinds k must have at least one kind that is not outside"),
        ("kind\nfire;flood\n", "row 2 of the table of kinds k must have 1 column; it has 2"),
    ],
)
def test_a_bad_table_of_kinds_is_refused_in_words_of_kinds(text: str, said: str):
    with pytest.raises(DataError, match=re.escape(said)):
        kinds_of(text)
