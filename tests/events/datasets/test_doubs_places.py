"""The public list of towns of Doubs and their regions."""

from __future__ import annotations

import importlib.util
import json
from importlib import resources
from pathlib import Path

import pytest

from tacit.domain import OUTSIDE, Gazetteer, PlaceAxis, fold_name

DOUBS = Gazetteer.builtin("doubs")
AXIS = PlaceAxis.from_gazetteer(DOUBS)
REGIONS = (
    "CA du Grand Besançon",
    "CA Pays de Montbéliard Agglomération",
    "CC Altitude 800",
    "CC de Montbenoit",
    "CC des Deux Vallées Vertes",
    "CC des Lacs et Montagnes du Haut-Doubs",
    "CC des Portes du Haut-Doubs",
    "CC du Doubs Baumois",
    "CC du Grand Pontarlier",
    "CC du Pays d'Héricourt",
    "CC du Pays de Maîche",
    "CC du Pays de Sancey-Belleherbe",
    "CC du Plateau de Frasne et du Val de Drugeon (CFD)",
    "CC du Plateau de Russey",
    "CC du Val de Morteau",
    "CC du Val Marnaysien",
    "CC Loue-Lison",
)


def expected(row) -> int:
    return OUTSIDE if row.is_outside else REGIONS.index(row.parents[0])


def test_the_regions_are_the_papers_in_its_order():
    assert AXIS.cells == REGIONS


def test_there_are_573_communes_two_of_them_outside():
    assert len(DOUBS.rows) == 573
    outside = [row for row in DOUBS.rows if row.is_outside]
    assert {row.parents[0] for row in outside} == {"CC du Pays de Villersexel"}
    assert len(outside) == 2


def test_63_former_communes_and_11_former_names_are_aliases():
    assert sum(len(row.codes) - 1 for row in DOUBS.rows) == 63
    assert sum(len(row.aliases) for row in DOUBS.rows) == 63 + 11


def test_the_communes_of_each_region_are_as_many_as_in_the_source():
    counts = [sum(row.parents[0] == region for row in DOUBS.rows) for region in REGIONS]
    assert counts == [68, 72, 11, 16, 54, 32, 47, 58, 10, 3, 43, 27, 10, 17, 8, 21, 74]


def test_the_populations_of_the_regions_are_those_of_2016():
    assert list(DOUBS.population("region").values()) == [
        *(193187, 139989, 6278, 7586, 16293, 15721, 25869, 16167, 26976),
        *(1048, 18686, 5488, 5949, 6478, 20463, 7045, 25268),
    ]


@pytest.mark.parametrize("spelling", [str, str.upper, str.lower, fold_name, lambda name: name.replace("Saint", "St")])
def test_every_town_and_every_former_name_matches_its_region(spelling):
    pairs = [(spelling(name), expected(row)) for row in DOUBS.rows for name in (row.name, *row.aliases)]
    assert AXIS.match([name for name, _ in pairs]).tolist() == [cell for _, cell in pairs]


def test_every_name_matches_also_without_its_spaces_and_marks():
    pairs = [
        (fold_name(name).replace(" ", ""), expected(row)) for row in DOUBS.rows for name in (row.name, *row.aliases)
    ]
    assert AXIS.match([name for name, _ in pairs]).tolist() == [cell for _, cell in pairs]


def test_every_code_matches_its_region():
    pairs = [(code, expected(row)) for row in DOUBS.rows for code in row.codes]
    assert AXIS.match([code for code, _ in pairs]).tolist() == [cell for _, cell in pairs]


@pytest.mark.parametrize(
    ("town", "region"),
    [
        ("Besançon", 0),
        ("Montbéliard", 1),
        ("Levier", 2),
        ("Montbenoît", 3),
        ("L'Isle-sur-le-Doubs", 4),
        ("Mouthe", 5),
        ("Valdahon", 6),
        ("Baume-les-Dames", 7),
        ("Pontarlier", 8),
        ("Doubs", 8),
        ("Maîche", 10),
        ("Sancey-le-Grand", 11),
        ("Frasne", 12),
        ("Le Russey", 13),
        ("Villers-le-Lac", 14),
        ("Recologne", 15),
        ("Ornans", 16),
        ("Nods", 6),
        ("Clerval", 4),
        ("Pont-de-Roide", 1),
    ],
)
def test_well_known_towns_are_where_they_are(town, region):
    assert AXIS.match([town]).tolist() == [region]


def test_communes_of_bodies_seated_in_another_department_belong():
    for region in ("CC du Pays d'Héricourt", "CC du Val Marnaysien"):
        assert any(row.parents[0] == region and not row.is_outside for row in DOUBS.rows)


def test_codes_are_those_of_the_department():
    assert all(code.startswith("25") and len(code) == 5 for row in DOUBS.rows for code in row.codes)


def test_the_tile_map_has_a_tile_for_every_region_roughly_where_it_lies():
    tiles = AXIS.tiles
    assert tiles is not None
    assert DOUBS.tiles is not None
    assert tuple(DOUBS.tiles) == REGIONS
    assert len(set(tiles.values())) == 17
    at = {region: tiles[REGIONS[region]] for region in range(17)}
    besancon, montbeliard, pontarlier, morteau, marnay, hericourt, lacs = (at[i] for i in (0, 1, 8, 14, 15, 9, 5))
    assert marnay[0] < besancon[0] < morteau[0] <= montbeliard[0]
    assert hericourt[1] < montbeliard[1] < besancon[1] < pontarlier[1] < lacs[1]


def test_the_licence_names_source_producer_version_date_and_changes():
    note = resources.files("tacit.events.datasets").joinpath("LICENCE-OUVERTE.md").read_text(encoding="utf-8")
    for word in ("@etalab/decoupage-administratif", "0.3.0", "INSEE", "DGCL", "2.0", "2019", "What we changed"):
        assert word in note


@pytest.fixture(scope="module")
def builder():
    path = Path(__file__).parents[3] / "tools" / "build_doubs_places.py"
    spec = importlib.util.spec_from_file_location("build_doubs_places", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_builder_follows_mergers_and_refuses_a_commune_without_region(builder, tmp_path):
    def commune(code: str, name: str, kind: str, **more: str) -> dict[str, object]:
        return {"code": code, "nom": name, "type": kind, "departement": "25", "population": 1, **more}

    communes = [
        commune("25001", "Now", "commune-actuelle"),
        commune("25002", "Then", "commune-deleguee", chefLieu="25001"),
        commune("25003", "Before", "commune-absorbee", communeAbsorbante="25002"),
        commune("39001", "Elsewhere", "commune-actuelle") | {"departement": "39"},
    ]
    bodies = [{"code": siren, "nom": siren, "membres": []} for siren in (*builder.REGIONS, builder.OUTSIDE)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "communes.json").write_text(json.dumps(communes), encoding="utf-8")
    (tmp_path / "data" / "epci.json").write_text(json.dumps(bodies), encoding="utf-8")
    with pytest.raises(SystemExit, match="1 communes belong to none of the 18 regions"):
        builder.build(tmp_path)
    bodies[3]["membres"] = [{"code": "25001"}, {"code": "39001"}]
    (tmp_path / "data" / "epci.json").write_text(json.dumps(bodies), encoding="utf-8")
    lines = builder.build(tmp_path).splitlines()
    assert lines[1:4] == ["Now,25001,,242500320,Doubs,1,", "Then,25002,25001,,,,", "Before,25003,25001,,,,"]
