"""Coordinates fall into polygons, dissolved into the cells of the place axis."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyproj
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import Domain, PlaceAxis
from tacit.errors import SettingError, UnreadableFile
from tacit.events import EventCounts, Polygons, Reason
from tacit.events.columns import east_and_north, read_location, read_number

Write = Callable[..., Path]
Count = Callable[..., EventCounts]

# four towns of one degree square each, side by side, and one that no one knows
SQUARES = {"Besançon": (5, 47), "St Vit": (4, 47), "Ornans": (5, 46), "Pontarlier": (6, 46), "Dole": (3, 47)}
TO_LAMBERT = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:2154", always_xy=True)


def square(x: float, y: float) -> shapely.Polygon:
    # many points on each side: straight lines in degrees are curved in Lambert-93
    return shapely.segmentize(shapely.box(x, y, x + 1, y + 1), 0.05)


def geojson(property_name: str = "nom", *, crs: str | None = None, lambert: bool = False) -> str:
    features = []
    for number, (name, corner) in enumerate(SQUARES.items()):
        shape = square(*corner)
        if lambert:
            shape = shapely.transform(shape, lambda points: np.column_stack(TO_LAMBERT.transform(*points.T)))
        features.append(
            {
                "type": "Feature",
                "properties": {"id": number, property_name: name},
                "geometry": json.loads(shapely.to_geojson(shape)),
            }
        )
    collection: dict[str, Any] = {"type": "FeatureCollection", "features": features}
    if crs is not None:
        collection["crs"] = {"type": "name", "properties": {"name": crs}}
    return json.dumps(collection)


POINTS = [
    ("(47.5, 5.5)", 0),
    ("47,5; 4,5", 0),
    ("46.5 5.5", 1),
    ("[46,5, 6,5]", 1),
    ("(47.0, 5.5)", 0),  # on the border of two cells: the first
    ("(47.5, 3.5)", Reason.OUTSIDE_LOCATION),  # a polygon no cell knows
    ("(0, 0)", Reason.OUTSIDE_LOCATION),
    ("(5.5, 47.5)", Reason.OUTSIDE_LOCATION),  # latitude comes first
    ("(47.5)", Reason.UNREADABLE_LOCATION),
    ("north of town", Reason.UNREADABLE_LOCATION),
    ("", Reason.NO_PLACE),
]


def check(counts: EventCounts, points: list[tuple[str, Any]] = POINTS) -> None:
    for cell in (0, 1):
        assert counts.counts[:, cell].sum() == sum(found is not Reason and found == cell for _, found in points)
    for reason in Reason:
        rows = tuple(2 + number for number, (_, found) in enumerate(points) if found is reason)
        assert counts.bad_rows.first_rows.get(reason, ()) == rows


def table(points: list[tuple[str, Any]] = POINTS) -> str:
    return "SDate\tWhere\n" + "".join(f"2018-01-01\t{text}\n" for text, _ in points)


@pytest.mark.parametrize("property_name", ["name", "nom", "NOM", "libellé de la commune"])
def test_points_fall_into_regions_made_of_towns(write: Write, count: Count, property_name: str) -> None:
    polygons = write(geojson(property_name), "towns.geojson")
    check(count(write(table()), place=None, location="Where", polygons=polygons, batch_rows=3))


@pytest.mark.parametrize("declared", ["urn:ogc:def:crs:EPSG::2154", "EPSG:2154"])
def test_polygons_may_be_in_lambert_93(write: Write, count: Count, declared: str) -> None:
    polygons = write(geojson(crs=declared, lambert=True), "towns.geojson")
    inside = [(text, found) for text, found in POINTS if text != "(47.0, 5.5)"]
    check(count(write(table(inside)), place=None, location="Where", polygons=polygons), inside)


def test_a_system_that_is_not_declared_can_be_given(write: Write, count: Count) -> None:
    polygons = write(geojson(lambert=True), "towns.geojson")
    with pytest.raises(
        SettingError, match=r"polygons_crs must be given for towns\.geojson: its coordinates are no degrees"
    ):
        count(write(table()), place=None, location="Where", polygons=polygons)
    inside = POINTS[:2]
    settings = {"polygons": polygons, "polygons_crs": "EPSG:2154"}
    check(count(write(table(inside)), place=None, location="Where", **settings), inside)


@pytest.mark.parametrize("lambert", [True, False])
def test_points_may_be_in_lambert_93_in_either_order(write: Write, count: Count, lambert: bool) -> None:
    east, north = TO_LAMBERT.transform(5.5, 47.5)
    points: list[tuple[str, Any]] = [
        (f"({east:.1f}, {north:.1f})", 0),
        (f"({north:.1f}, {east:.1f})", 0),
        ("(0, 0)", Reason.OUTSIDE_LOCATION),
    ]
    polygons = write(geojson(crs="EPSG:2154" if lambert else None, lambert=lambert), "towns.geojson")
    check(count(write(table(points)), place=None, location="Where", polygons=polygons, crs="EPSG:2154"), points)


def test_two_columns_of_coordinates_are_read_typed_or_written(write: Write, count: Count) -> None:
    polygons = write(geojson(), "towns.geojson")
    settings = {"place": None, "latitude": "Lat", "longitude": "Lon", "polygons": polygons}
    text = count(
        write("SDate;Lat;Lon\n2018-01-01;47,5;5,5\n2018-01-01;46.5;6.5\n2018-01-01;;\n2018-01-01;47,5;\n"), **settings
    )
    frame = pa.table(
        {"SDate": ["2018-01-01"] * 4, "Lat": [47.5, 46.5, None, 47.5], "Lon": [5.5, 6.5, None, float("nan")]}
    )
    for counts, first in ((text, 2), (count(frame, **settings), 0)):
        assert counts.counts[0].tolist() == [1, 1]
        assert counts.bad_rows.first_rows == {Reason.NO_PLACE: (first + 2,), Reason.UNREADABLE_LOCATION: (first + 3,)}


def test_coordinates_serve_only_rows_without_a_place(write: Write, count: Count) -> None:
    polygons = write(geojson(), "towns.geojson")
    text = (
        "SDate;Town;Where\n2018-01-01;Ornans;(47.5, 5.5)\n2018-01-01; ;(47.5, 5.5)\n2018-01-01;Atlantis;(47.5, 5.5)\n"
    )
    counts = count(write(text), location="Where", polygons=polygons)
    assert counts.counts[0].tolist() == [1, 1]
    assert counts.bad_rows.first_rows == {Reason.UNKNOWN_PLACE: (4,)}


def test_places_and_points_outside_are_counted_elsewhere_where_there_is_such_a_cell(
    write: Write, count: Count, domain: Domain
) -> None:
    polygons = write(geojson(), "towns.geojson")
    rows = [
        ("Ornans", ""),
        ("Atlantis", ""),
        ("Bonnal", ""),
        ("", ""),
        ("", "(0, 0)"),
        ("", "here"),
        ("", "(47.5, 5.5)"),
    ]
    text = "\n".join(["SDate;Town;Where", *(f"2018-01-02;{town};{point}" for town, point in rows), "never;Ornans;"])
    with_elsewhere = Domain(domain.time, domain.place.with_elsewhere())
    counts = count(write(text), location="Where", polygons=polygons, separator=";", domain=with_elsewhere)
    assert counts.counts[1].tolist() == [1, 1, 5]
    assert counts.bad_rows.counts == {Reason.UNREADABLE_DATE: 1}


def test_coordinates_without_polygons_are_refused(write: Write, count: Count) -> None:
    with pytest.raises(SettingError, match="polygons must be given to place events by their coordinates"):
        count(write(table()), place=None, location="Where")


def test_the_property_with_the_name_can_be_given(write: Write, places: PlaceAxis) -> None:
    path = write(geojson("a"), "towns.geojson")
    with pytest.raises(
        SettingError, match=r"no feature of towns\.geojson does in its properties id\. Give polygons_name"
    ):
        Polygons.read(path, name_property="id").locator(places)
    assert len(Polygons.read(path, name_property="a").locator(places).cells) == 2


def test_polygons_of_regions_need_no_dissolving(write: Write, places: PlaceAxis) -> None:
    text = geojson().replace("Besan\\u00e7on", "West").replace("Ornans", "south")
    locator = Polygons.read(write(text, "regions.geojson")).locator(places)
    assert locator.locate(np.array([5.5, 5.5]), np.array([47.5, 46.5]), crs="EPSG:4326").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is not a GeoJSON file"),
        ("[1, 2]", "is not a GeoJSON file"),
        ('{"type": "FeatureCollection", "features": []}', "holds no polygons that can be read"),
        (
            '{"features": [{"geometry": {"type": "Point", "coordinates": [1, 2]}}]}',
            "holds no polygons that can be read",
        ),
        (
            '{"features": [{"geometry": {"type": "Polygon", "coordinates": "?"}}, 7]}',
            "holds no polygons that can be read",
        ),
    ],
)
def test_files_that_are_no_polygons_are_refused(write: Write, content: str, sentence: str) -> None:
    with pytest.raises(UnreadableFile, match=sentence):
        Polygons.read(write(content, "towns.geojson"))


def test_other_coordinate_systems_are_refused(write: Write, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"polygons must be in EPSG:4326 \(degrees\) or EPSG:2154"):
        Polygons.read(write(geojson(crs="EPSG:3857"), "towns.geojson"))
    with pytest.raises(UnreadableFile, match="there is no GeoJSON file"):
        Polygons.read(tmp_path / "none.geojson")


def test_a_shape_that_crosses_itself_is_mended(write: Write, places: PlaceAxis) -> None:
    bow = {"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}
    collection = {"features": [{"properties": {"nom": "Ornans"}, "geometry": bow}]}
    locator = Polygons.read(write(json.dumps(collection), "bow.geojson")).locator(places)
    assert locator.locate(np.array([0.1, 0.5]), np.array([0.5, 0.9]), crs="EPSG:4326").tolist() == [1, -1]


NUMBER = st.decimals(-90, 90, places=4)


@given(
    NUMBER,
    NUMBER,
    st.sampled_from([".", ","]),
    st.sampled_from(["({}, {})", "{}; {}", "[{};{}]", " ( {} / {} ) ", "{} {}"]),
)
def test_reading_a_location_undoes_writing_it(first: Any, second: Any, mark: str, form: str) -> None:
    text = form.format(*(f"{number:.4f}".replace(".", mark) for number in (first, second)))
    for decimal in (None, mark):
        read_first, read_second, is_blank = read_location(pa.array([text]), decimal=decimal)
        assert (read_first[0], read_second[0]) == (float(first), float(second))
        assert not is_blank[0]


def test_a_given_decimal_mark_is_the_only_one() -> None:
    numbers, is_blank = read_number(pa.array(["47.5", "47,5", "", None]), decimal=",")
    assert np.isnan(numbers).tolist() == [True, False, True, True]
    assert is_blank.tolist() == [False, False, True, True]


def test_degrees_are_written_latitude_first() -> None:
    x, y = east_and_north(np.array([47.0]), np.array([6.0]), crs="EPSG:4326")
    assert (x[0], y[0]) == (6.0, 47.0)
