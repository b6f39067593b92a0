from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import AMBIGUOUS, MISSING, OUTSIDE, UNKNOWN, Gazetteer, KindAxis, PlaceAxis
from tacit.errors import SettingError

TEXT = """town,code,region,department,alias,outside
Besançon,25056,Ouest,Doubs,,
Saint-Vit,25527,Ouest,Doubs,Boismurie,
Saint-Denis,25001,Ouest,Doubs,,
L'Isle,25315,Est,Doubs,,
Saint-Denis,39001,Est,Jura,,
La Chaux,25002,Ouest,Doubs,,
Lachaux,25003,Est,Doubs,,
Bonnal,25072,Nord,Doubs,,yes
"""


@pytest.fixture
def towns() -> Gazetteer:
    return Gazetteer.from_text(TEXT, name="towns")


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("besancon", 0),
        ("ST. VIT", 0),
        ("St-Vit", 0),
        ("boismurie", 0),
        ("25527", 0),
        ("L’isle", 1),
        ("LISLE", 1),
        ("L ISLE", 1),
        ("Isle (L')", 1),
        ("ouest", 0),
        ("Est", 1),
        ("Paris", UNKNOWN),
        ("Doubs", UNKNOWN),
        ("Isle", 1),  # the official list drops articles
        ("Chaux", 0),
        ("Bonnal", OUTSIDE),
        ("nord", OUTSIDE),
        ("25072", OUTSIDE),
        ("", MISSING),
        ("  ", MISSING),
        ("-", MISSING),
        (None, MISSING),
        ("Saint-Denis", AMBIGUOUS),
        ("St Denis", AMBIGUOUS),
        ("St Denis (Jura)", 1),
        ("St Denis (25001)", 0),
        ("39001", 1),
        ("St Denis (Ain)", UNKNOWN),
        ("la chaux", 0),
        ("LACHAUX", 1),
        ("LA CHAUX (EST)", UNKNOWN),
    ],
)
def test_a_name_matches_its_region_or_says_why_not(towns, name, cell):
    axis = PlaceAxis.from_gazetteer(towns)
    assert axis.cells == ("Ouest", "Est")
    matched = axis.match([name])
    assert matched.tolist() == [cell]
    assert matched.dtype == np.int32


def test_names_that_only_spaces_tell_apart_are_ambiguous_without_them():
    axis = PlaceAxis.from_gazetteer(Gazetteer.from_text("town,region\nLa Cha ux,A\nLach aux,B\n"))
    assert axis.match(["la cha ux", "lach aux", "lachaux"]).tolist() == [0, 1, AMBIGUOUS]


def test_a_namesake_in_the_same_cell_is_not_ambiguous(towns):
    axis = PlaceAxis("department", ["Doubs"], towns)
    assert axis.match(["La Chaux", "Lachaux", "Ouest"]).tolist() == [0, 0, 0]
    assert axis.match(["Saint-Denis", "39001"]).tolist() == [AMBIGUOUS, OUTSIDE]


@pytest.mark.parametrize(("axis", "of"), [(PlaceAxis, "places"), (KindAxis, "kinds")])
def test_a_name_of_two_levels_is_asked_for_at_the_level_counted_and_no_event_is_counted_by_a_guess(axis, of):
    levels = ("fine", "coarse")
    table = Gazetteer.from_text("fine,coarse\nflood,danger\nrain,flood\n", levels=levels, of=of)
    fine, coarse = (axis.from_gazetteer(table, level) for level in levels)
    assert (fine.find("flood"), coarse.find("flood")) == ((0,), (1,))
    assert (fine.match(["flood"]).tolist(), coarse.match(["flood"]).tolist()) == ([0], [AMBIGUOUS])


def test_towns_of_regions_that_are_no_cells_are_outside(towns):
    assert PlaceAxis("region", ["Est"], towns).match(["Besançon", "L'Isle"]).tolist() == [OUTSIDE, 0]


def test_at_the_level_of_towns_every_town_is_a_cell(towns):
    axis = PlaceAxis.from_gazetteer(towns, "town")
    assert axis.n_cells == 7
    assert axis.match(axis.cells).tolist() == list(range(7))
    assert axis.match(["Ouest"]).tolist() == [UNKNOWN]


def test_plain_names_are_matched_folded_too():
    axis = PlaceAxis.of(["Hôpital St-Jean", "L'Isle", "Viby"])
    assert axis.match(["HOPITAL SAINT JEAN", "lisle", "viby ", "Aarhus", "", None]).tolist() == [0, 1, 2, -1, -3, -3]
    assert axis.level == "place"


@given(st.lists(st.text(alphabet="abcdé -'", max_size=8), max_size=20))
def test_matching_depends_on_each_name_alone(names):
    axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    assert axis.match(names).tolist() == [axis.match([name]).tolist()[0] for name in names]


def test_no_names_match_no_cells(towns):
    assert PlaceAxis.from_gazetteer(towns).match([]).shape == (0,)


@pytest.mark.parametrize("cells", [[], ["A", " "], ["A", None], ["Saint-Vit", "st vit"], "Ouest", 3])
def test_cells_that_are_no_list_of_different_names_are_refused(cells):
    with pytest.raises(SettingError, match="cells must"):
        PlaceAxis.of(cells)


@pytest.mark.parametrize("sign", ["\n", "\r", "\t", "\0", "\x1b", "\x85", "\u2028", "\udcff"])
@pytest.mark.parametrize("axis", [PlaceAxis, KindAxis])
def test_a_name_of_several_lines_is_refused_and_not_printed_raw(axis, sign):
    for made in (lambda: axis.of(["A", f"b{sign}c"]), lambda: axis.of(["A"], f"b{sign}c")):
        with pytest.raises(SettingError, match="on one line") as refused:
            made()
        assert sign not in str(refused.value)


def test_all_names_that_clash_are_named_at_once():
    with pytest.raises(SettingError) as refused:
        PlaceAxis.of(["STRASSE", "Pier", "Straße", "strasse", "A\tB", "Bésançon", "Besancon"])
    for shown in ("'STRASSE' and 'Straße' and 'strasse'", "'Bésançon' and 'Besancon'", r"'A\tB'"):
        assert shown in str(refused.value)
    assert "Pier" not in str(refused.value)


def test_cells_that_are_not_in_the_table_are_refused(towns):
    with pytest.raises(SettingError, match=r"cells must be of level region in the table towns; got 1 .* 'Nord'"):
        PlaceAxis("region", ["Ouest", "Nord"], towns)


def test_regions_coarsen_to_departments_where_they_lie_in_one():
    gazetteer = Gazetteer.from_text("town,region,department\nA,r1,d1\nB,r3,d2\nC,r2,d1\n")
    axis, groups = PlaceAxis.from_gazetteer(gazetteer).coarsen("department")
    assert axis.cells == ("d1", "d2")
    assert groups.tolist() == [0, 1, 0]
    assert groups.dtype == np.int64


def test_coarsening_commutes_with_matching():
    doubs = Gazetteer.builtin("doubs")
    names = [text for row in doubs.rows for text in (row.name, *row.aliases)]
    axis = PlaceAxis.from_gazetteer(doubs, "town")
    coarse, groups = axis.coarsen("region")
    fine = axis.match(names)
    assert np.where(fine < 0, fine, groups[fine]).tolist() == coarse.match(names).tolist()


def test_a_region_in_two_departments_is_not_coarsened(towns):
    with pytest.raises(SettingError, match=r"Est lies in several. Start from an axis of a finer level"):
        PlaceAxis.from_gazetteer(towns).coarsen("department")


def test_a_department_of_which_a_region_is_missing_is_not_made():
    gazetteer = Gazetteer.from_text("town,region,department\nA,r1,d1\nB,r2,d1\n")
    with pytest.raises(SettingError, match="r2 of d1 is not a cell of this axis"):
        PlaceAxis("region", ["r1"], gazetteer).coarsen("department")


def test_coarsening_needs_a_coarser_level_and_a_table(towns):
    with pytest.raises(SettingError, match="level must be coarser than region"):
        PlaceAxis.from_gazetteer(towns).coarsen("town")
    with pytest.raises(SettingError, match="level must be one of"):
        PlaceAxis.from_gazetteer(towns).coarsen("canton")
    with pytest.raises(SettingError, match="plain list of names"):
        PlaceAxis.of(["A"]).coarsen("region")
    axis, groups = PlaceAxis.of(["A", "B"]).coarsen("place")
    assert axis == PlaceAxis.of(["A", "B"])
    assert groups.tolist() == [0, 1]


@pytest.mark.parametrize(("name", "cells"), [("OUEST", (0,)), ("est", (1,)), ("Doubs", (0, 1)), ("Jura", (1,))])
def test_a_question_may_name_a_cell_or_a_coarser_place(towns, name, cells):
    assert PlaceAxis.from_gazetteer(towns).find(name) == cells


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Besançon", "which lies in Ouest. Ask for 'Ouest'"),
        ("St Denis", "which does not lie in one of them"),
        ("Ouestt", "Did you mean 'Ouest'"),
        ("ou", "This has it in the name: 'Ouest'"),
        ("es", "These have it in the name: 'Ouest', 'Est'"),
        ("Bonnal", "Did you mean|The first of 2"),
        ("xyz", "The first of 2 is 'Ouest'"),
    ],
)
def test_a_question_about_something_else_is_refused_with_what_to_ask(towns, name, message):
    with pytest.raises(SettingError, match=rf"places must be cells of the place axis .*({message})"):
        PlaceAxis.from_gazetteer(towns).find(name)


def test_a_question_that_may_mean_a_town_or_a_department_is_refused():
    axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    with pytest.raises(SettingError, match="both a town and a department"):
        axis.find("Doubs")


def test_part_of_a_department_does_not_pass_for_the_whole(towns):
    with pytest.raises(SettingError, match="does not lie in one of them"):
        PlaceAxis("region", ["Est"], towns).find("Doubs")


def test_an_axis_survives_json_and_pickle(towns):
    doubs = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    for axis in (doubs, PlaceAxis.of(["A", "B"])):
        assert PlaceAxis.from_dict(json.loads(json.dumps(axis.to_dict()))) == axis
        assert pickle.loads(pickle.dumps(axis)) == axis
    assert PlaceAxis.from_dict(doubs.to_dict()).match(["Besançon"]).tolist() == [0]
    assert PlaceAxis.from_dict(PlaceAxis.from_gazetteer(towns).to_dict(), gazetteer=towns).gazetteer is towns


def test_a_table_is_found_again_by_the_columns_that_were_named(tmp_path):
    path = tmp_path / "communes.csv"
    path.write_text("NOM,GROUPE,NUMERO,PTOT\nBesançon,Ouest,25056,119198\n", encoding="utf-8")
    named = {"town": "NOM", "region": "GROUPE", "code": "NUMERO", "population": "PTOT"}
    axis = PlaceAxis.from_gazetteer(Gazetteer.read(path, columns=named))
    values = json.loads(json.dumps(axis.to_dict()))
    assert values["gazetteer"]["named"] == {"code": "NUMERO", "population": "PTOT"}
    again = PlaceAxis.from_dict(values)
    assert again.match(["25056"]).tolist() == [0]
    assert again.gazetteer is not None
    assert again.gazetteer.population("region") == {"Ouest": 119198}
    del values["gazetteer"]["rows"]  # as plans were, before they carried their tables
    assert PlaceAxis.from_dict(values).gazetteer is None
    assert PlaceAxis.from_dict(values, gazetteer=path) == axis
    values["gazetteer"]["named"] = {"code": 7}
    with pytest.raises(SettingError, match="named of a gazetteer must give names of columns"):
        PlaceAxis.from_dict(values)


def test_only_level_and_cells_are_left_without_the_gazetteer():
    axis = PlaceAxis("region", ["CC Altitude 800"], Gazetteer.builtin("doubs"))
    assert axis.to_dict(with_gazetteer=False) == {"level": "region", "cells": ["CC Altitude 800"]}


def test_a_table_of_ones_own_travels_with_the_axis(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("NOM;LIB;pop;alias;x;y\nBesançon;Ouest;9;Vesontio|=1;0;1\nÉtupes;Est;;;1;1\n", encoding="latin-1")
    columns = {"population": "pop", "tile_x": "x", "tile_y": "y"}
    table = Gazetteer.read(path, levels={"town": "NOM", "region": "LIB"}, columns=columns)
    axis = PlaceAxis.from_gazetteer(table)
    values = json.loads(json.dumps(axis.to_dict(), sort_keys=True))
    assert str(tmp_path) not in json.dumps(values)
    path.unlink()
    again = PlaceAxis.from_dict(values)
    assert again == axis
    assert again.to_dict() == axis.to_dict()
    assert again.gazetteer == table
    assert again.gazetteer.rows == table.rows
    assert again.match(["etupes", "vesontio"]).tolist() == [1, 0]
    assert again.tiles == axis.tiles == {"Ouest": (0, 1), "Est": (1, 1)}


def test_no_path_that_stands_in_a_file_is_opened(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("town,region\nA,West\npassword=hunter2,x\n", encoding="utf-8")
    reference = {"name": "t", "sha256": "0" * 64, "levels": ["town"], "columns": ["town"], "path": str(secret)}
    axis = PlaceAxis.from_dict({"level": "region", "cells": ["West"], "gazetteer": reference})
    assert axis.gazetteer is None
    assert str(secret) not in repr(axis) + json.dumps(axis.to_dict())


def test_without_its_table_an_axis_matches_its_cells_and_says_what_is_missing(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("town,region\nA,West\n", encoding="utf-8")
    axis = PlaceAxis.from_gazetteer(Gazetteer.read(path))
    alone = PlaceAxis.from_dict(axis.to_dict(with_rows=False))
    assert alone == axis
    assert alone.to_dict() == axis.to_dict(with_rows=False)
    assert alone.match(["west", ""]).tolist() == [0, MISSING]
    with pytest.raises(SettingError, match=r"the table places without carrying it\. Give the table: gazetteer="):
        alone.match(["A"])
    with pytest.raises(SettingError, match="gazetteer=Gazetteer"):
        alone.check_table()


@pytest.mark.parametrize(
    "rows", ["x", "[]", '["A", [], [], [], -1, false]', '["A", ["West"], [], [], null, 0]', 3, "[" * 9999]
)
def test_a_table_that_a_file_carries_damaged_is_refused(rows):
    reference = {"name": "t", "sha256": "0" * 64, "levels": ["town", "region"], "columns": [], "rows": rows}
    with pytest.raises(SettingError, match="the table of places t that the file carries is damaged"):
        PlaceAxis.from_dict({"level": "region", "cells": ["West"], "gazetteer": reference})


def test_a_table_that_has_changed_is_refused(tmp_path):
    path = tmp_path / "places.csv"
    path.write_text("town,region\nA,West\nB,East\n", encoding="utf-8")
    values = PlaceAxis.from_gazetteer(Gazetteer.read(path)).to_dict()
    path.write_text("town,region\nA,East\nB,West\n", encoding="utf-8")
    with pytest.raises(SettingError, match="must be the table places with which the axis was made"):
        PlaceAxis.from_dict(values, gazetteer=path)
    values["gazetteer"]["rows"] = values["gazetteer"]["rows"].replace('"A"', '"C"')
    with pytest.raises(SettingError, match="must be the table places with which the axis was made"):
        PlaceAxis.from_dict(values)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"level": "region"},
        {"level": "region", "cells": "Ouest"},
        {"level": "", "cells": ["Ouest"]},
        {"level": "region", "cells": ["Ouest"], "gazetteer": "doubs"},
        {"level": "region", "cells": ["Ouest"], "gazetteer": {"name": "doubs"}},
        {"level": "region", "cells": ["Ouest"], "gazetteer": {"name": "x", "sha256": "", "path": "x", "levels": ["a"]}},
        {"level": "region", "cells": ["Ouest"], "gazetteer": {"name": "x", "sha256": "", "path": 3}},
        {"level": "region", "cells": ["Ouest"], "gazetteer": {"name": ["doubs"], "sha256": ""}},
        {"level": "region", "cells": ["Ouest"], "more": 1},
        ["Ouest"],
    ],
)
def test_damaged_values_are_refused(values):
    with pytest.raises(SettingError):
        PlaceAxis.from_dict(values)


def test_cells_that_do_not_agree_with_the_table_are_refused():
    values = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")).to_dict()
    with pytest.raises(SettingError, match="cells must be of level region"):
        PlaceAxis.from_dict(values | {"cells": ["CC de Paris"]})


def test_tiles_are_given_for_all_cells_or_not_at_all(towns):
    doubs = Gazetteer.builtin("doubs")
    assert PlaceAxis("region", ["CC Altitude 800"], doubs).tiles == {"CC Altitude 800": (1, 5)}
    assert PlaceAxis.from_gazetteer(doubs, "department").tiles is None
    assert PlaceAxis.from_gazetteer(towns).tiles is None
    assert PlaceAxis.of(["A"]).tiles is None


def test_an_axis_may_have_a_cell_for_events_that_lie_in_no_other():
    doubs = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    axis = doubs.with_elsewhere()
    assert (axis.n_cells, axis.cells[-1], axis.elsewhere) == (18, "elsewhere", 17)
    assert axis.with_elsewhere() == axis != doubs
    assert doubs.elsewhere is None
    assert (
        axis.match(["Besançon", "Paris", "Bonnal", ""]).tolist()
        == doubs.match(["Besançon", "Paris", "Bonnal", ""]).tolist()
    )
    assert axis.find("Elsewhere") == (17,)
    assert PlaceAxis.from_dict(axis.to_dict()) == axis
    assert "elsewhere" not in doubs.to_dict()
    tiles, known = axis.tiles, doubs.tiles
    assert tiles is not None
    assert known is not None
    assert len(set(tiles.values())) == 18
    assert {cell: tiles[cell] for cell in doubs.cells} == known


def test_elsewhere_stays_apart_in_larger_places_and_is_kept_or_left_out():
    axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")).with_elsewhere()
    departments, groups = axis.coarsen("department")
    assert departments.cells == ("Doubs", "elsewhere")
    assert groups.tolist() == [0] * 17 + [1]
    assert axis.keep([17, 3]).elsewhere == 0
    assert axis.keep([3]).elsewhere is None


@pytest.mark.parametrize(
    "values",
    [
        {"level": "place", "cells": ["a", "b"], "elsewhere": True},
        {"level": "place", "cells": ["a", "elsewhere"], "elsewhere": "yes"},
    ],
)
def test_an_axis_that_says_elsewhere_has_such_a_cell(values):
    with pytest.raises(SettingError, match="has_elsewhere must be true or false"):
        PlaceAxis.from_dict(values)


def test_a_table_with_a_place_of_that_name_has_no_room_for_elsewhere():
    with pytest.raises(SettingError, match="cells must not name a place elsewhere"):
        PlaceAxis.of(["North", "Elsewhere"]).with_elsewhere()


def test_a_table_without_regions_is_counted_by_its_finest_level():
    stations = Gazetteer.from_text("station,latitude,longitude\nPier,37.8,-122.4\nMarket,37.7,-122.3\n")
    assert PlaceAxis.from_gazetteer(stations).level == "station"
    assert PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")).level == "region"
