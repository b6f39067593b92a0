from __future__ import annotations

import pytest

from tacit.domain import Gazetteer, PlaceAxis
from tacit.domain.table import PlaceRow, read_table, read_text
from tacit.errors import DataError, MissingColumn, SettingError, UnreadableFile

TABLE = "town,region,department\nBesançon,Ouest,Doubs\nÉtupes,Est,Doubs\n"
ROWS = (PlaceRow("Besançon", ("Ouest", "Doubs")), PlaceRow("Étupes", ("Est", "Doubs")))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_usual_separators_encodings_and_line_ends_are_recognized(tmp_path, encoding, separator, line_end):
    path = tmp_path / "places.csv"
    path.write_bytes(TABLE.replace(",", separator).replace("\n", line_end).encode(encoding))
    assert read_table(read_text(path), source="places").rows == ROWS


@pytest.mark.parametrize(
    "header",
    [
        "LIBGEO,LIBEPCI,LIBDEP",
        "commune,epci,departement",
        "Commune,Région,Département",
        "VILLE,nom_epci,Dept",
        "Town,Region,County",
    ],
)
def test_french_and_english_headers_are_recognized(header):
    table = read_table(TABLE.replace("town,region,department", header), source="places")
    assert table.levels == ("town", "region", "department")
    assert table.columns == tuple(header.split(","))
    assert table.rows == ROWS


def test_columns_may_be_named():
    text = TABLE.replace("town,region,department", "NOM_COM,LIB_EPCI,DEP")
    table = read_table(text, levels={"town": "nom_com", "region": "LIB_EPCI"}, source="places")
    assert table.levels == ("town", "region")
    assert table.rows[0] == PlaceRow("Besançon", ("Ouest",))


def test_the_code_of_a_region_is_not_taken_for_its_name():
    text = "CODGEO;LIBGEO;EPCI;LIBEPCI;DEP;PMUN\n25056;Besançon;242500361;Grand Besançon;25;119198\n"
    table = read_table(text, source="places")
    assert table.columns == ("LIBGEO", "LIBEPCI")
    assert table.rows == (PlaceRow("Besançon", ("Grand Besançon",), ("25056",), (), 119198),)


def test_a_column_may_be_named_while_the_others_are_recognized():
    text = "NOM_COURT;epci;PTOT;CODE_C\nBesançon;Ouest;119 198;25056\n"
    named = {"town": "nom_court", "population": "PTOT", "code": "CODE_C"}
    table = read_table(text, columns=named, source="places")
    assert table.levels == ("town", "region")
    assert table.columns == ("NOM_COURT", "epci")
    assert table.named == {"population": "PTOT", "code": "CODE_C"}
    assert table.rows == (PlaceRow("Besançon", ("Ouest",), ("25056",), (), 119198),)


def test_levels_of_ones_own_are_all_levels_there_are():
    text = "Name,Area,region\nHasle,West,Jutland\n"
    table = read_table(text, columns={"branch": "Name", "area": "Area"}, source="places")
    assert (table.levels, table.rows[0].parents) == (("branch", "area"), ("West",))


def test_the_one_column_that_may_name_places_does():
    table = read_table("station,population,code\nNorth,600,N1\n", source="places")
    assert table.levels == ("station",)
    assert table.rows == (PlaceRow("North", (), ("N1",), (), 600),)
    assert read_table("code\nN1\n", source="places").levels == ("code",)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"town": "NOM"}, "must have a column NOM; got town, region, department.*columns=.*town.*COLUMN"),
        ({"population": "PTOT"}, "must have a column PTOT; got .*columns=.*population.*COLUMN"),
        ({"branch": "NOM"}, "must have a column NOM; got .*columns=.*branch.*COLUMN"),
    ],
)
def test_a_column_that_is_named_must_be_there(columns, message):
    with pytest.raises(MissingColumn, match=message):
        read_table(TABLE, columns=columns, source="places")


def test_levels_may_be_any_columns_finest_first():
    text = "city,library\nAarhus,Hasle\nAarhus,Viby\n"
    assert read_table(text, levels=["library", "city"], source="places").rows[1] == PlaceRow("Viby", ("Aarhus",))


def test_a_level_that_is_named_wins_over_one_that_is_recognized():
    text = "commune,epci,region\nBesançon,Grand Besançon,Bourgogne-Franche-Comté\n"
    with pytest.raises(DataError, match="one column for region; got epci, region"):
        read_table(text, source="places")
    table = read_table(text, levels=["commune", "epci", "region"], source="places")
    assert table.rows[0].parents == ("Grand Besançon", "Bourgogne-Franche-Comté")


def test_codes_populations_aliases_and_outside_are_read():
    text = (
        "commune;insee;epci;population;alias;hors\n"
        "Sancey;25529;CC Sancey;1 234;Sancey-le-Grand | Sancey;non\n"
        "Bonnal;25072;CC Villersexel;;;oui\n"
    )
    assert read_table(text, source="places").rows == (
        PlaceRow("Sancey", ("CC Sancey",), ("25529",), ("Sancey-le-Grand", "Sancey"), 1234, False),
        PlaceRow("Bonnal", ("CC Villersexel",), ("25072",), (), None, True),
    )


def test_rows_of_former_towns_lend_their_names_and_codes():
    text = "town,code,region,alias_of\nSancey,25529,S,\nSancey-le-Long,25530,,25529\nLe Long,,,SANCEY\n"
    (row,) = read_table(text, source="places").rows
    assert row.codes == ("25529", "25530")
    assert row.aliases == ("Sancey-le-Long", "Le Long")


def test_tiles_are_those_of_regions():
    text = "town,region,tile_x,tile_y\nA,West,0,0\nB,West,,\nC,East,1,0\n"
    assert read_table(text, source="places").tiles == {"West": (0, 0), "East": (1, 0)}
    assert read_table(TABLE, source="places").tiles == {}


def test_blank_lines_are_no_rows():
    assert read_table("\n" + TABLE.replace("\nÉ", "\n\n,,\nÉ") + "\n", source="places").rows == ROWS


def test_quoted_names_may_hold_the_separator():
    assert read_table('town,region\n"Val, Le",West\n', source="places").rows[0].name == "Val, Le"


def test_towns_are_the_same_only_if_each_level_is():
    text = "town,region\nSaint,Denis X\nSaint Denis,X\n"
    assert len(read_table(text, source="places").rows) == 2


def test_rows_are_numbered_as_a_spreadsheet_shows_them():
    with pytest.raises(DataError, match="row 5 "):
        read_table("\ntown,region\nA,West\n\n,West\n", source="places")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", UnreadableFile, "is empty. Give it a header"),
        ("\n \n", UnreadableFile, "is empty"),
        ('town,region\n"A,West\n', UnreadableFile, "is not a CSV file"),
        ("name,value\nA,1\n", MissingColumn, "a column that names places, .* got name, value. Rename"),
        ("town,region\nA\n", DataError, "row 2 of the table of places places must have 2 columns; it has 1"),
        ('town,region\n"A\nB",West\n', DataError, "row 2 .* must name its town on one line, without control"),
        ('town,region\nA,"We\tst"\n', DataError, "row 2 .* must name its region on one line"),
        ('town,region,alias\nA,West,"b\nc"\n', DataError, "row 2 .* must name its alias on one line"),
        ("town,region\n,West\n", DataError, "row 2 .* must name its town"),
        ("town,region,department\nA,West,\n", DataError, "row 2 .* must name its department"),
        ("town,region\nA,West\nÀ,west\n", DataError, "must name every town once; got A / West 2 times"),
        ("town,code,region\nA,1,West\nB,1,West\n", DataError, "must name every code once; got 1 2 times"),
        ("town,code,region,alias_of\nA,1,West,\nB,2,East,\nC,2,,A\n", DataError, "every code once; got 2 2 times"),
        ("town,region,outside\nA,West,perhaps\n", DataError, "must say yes or no in column outside; got 'perhaps'"),
        ("town,region,population\nA,West,many\n", DataError, "whole number as population; got 'many'"),
        ("town,region,alias_of\nA,West,\nB,,C\n", DataError, "row 3 .* 'C' is not in the table"),
        ("town,region,alias_of\nA,West,\nA,East,\nB,,A\n", DataError, "'A' stands for several towns; use its code"),
        ("town,region,tile_x,tile_y\nA,West,0,\n", DataError, "whole numbers as tile_x and tile_y"),
        ("town,region,tile_x,tile_y\nA,West,0,0\nB,West,1,0\n", DataError, "must give West the same tile"),
        ("town,region,tile_x,tile_y\nA,West,0,0\nB,East,0,0\n", DataError, r"must not share the tile \(0, 0\)"),
    ],
)
def test_a_broken_table_is_refused_with_what_to_do(text, error, message):
    with pytest.raises(error, match=message):
        read_table(text, source="places")


def test_a_named_level_that_is_not_there_is_refused():
    with pytest.raises(MissingColumn, match="must have a column canton; got town, region, department"):
        read_table(TABLE, levels=["town", "canton"], source="places")


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match=r"cannot be read .* Check the path"):
        read_text(tmp_path / "nowhere.csv")
    (tmp_path / "binary.csv").write_bytes(b"PK\x03\x04\x00\x00")
    with pytest.raises(UnreadableFile, match="must be a text file"):
        read_text(tmp_path / "binary.csv")


def test_the_typographic_marks_of_windows_are_read(tmp_path):
    (tmp_path / "places.csv").write_bytes("town\nL’Œuvre\n".encode("cp1252"))
    assert read_text(tmp_path / "places.csv") == "town\nL’Œuvre\n"


def test_points_are_read_kept_and_meant_over_finer_places():
    text = "town,region,lat,lon\nA,north,47.5,6\nB,north,46.5,7\nC,south,,\n"
    table = Gazetteer.from_text(text)
    assert table.points("region") == {"north": (47.0, 6.5)}
    assert PlaceAxis.from_gazetteer(table, "town").points == {"A": (47.5, 6.0), "B": (46.5, 7.0)}
    again = Gazetteer.from_dict(table.to_dict(), levels=table.levels, name="again")
    assert again.rows == table.rows
    assert again == Gazetteer.from_text("town,region\nA,north\nB,north\nC,south\n")  # points are not compared
    assert Gazetteer.from_text('station;latitude;longitude\nA;"47,5";6\n').points("station") == {"A": (47.5, 6.0)}


@pytest.mark.parametrize("point", ["91,6", "47,181", "47,", "north,6", "nan,6"])
def test_a_point_that_is_none_is_refused_with_its_row(point):
    with pytest.raises(DataError, match=r"row 2 of the table of places .* must have degrees"):
        Gazetteer.from_text(f"town,lat,lon\nA,{point}\n")


def test_a_carried_table_with_a_point_that_is_none_is_refused():
    values = Gazetteer.from_text("town,lat,lon\nA,47,6\n").to_dict()
    for damaged in ("47.0, 600.0", "47.0", "47.0, true", "47.0, 6.0, 1.0"):
        rows = values["rows"].replace("47.0, 6.0", damaged)
        with pytest.raises(SettingError, match="damaged"):
            Gazetteer.from_dict({"rows": rows}, levels=("town",), name="carried")
