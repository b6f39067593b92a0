"""Outlines are dissolved, north up, and the same from degrees as from metres."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import shapely

from tacit.domain import Gazetteer, PlaceAxis
from tacit.errors import SettingError, UnreadableFile
from tacit.events.datasets.doubs.regions import REGIONS
from tacit.events.places import Polygons
from tacit.pages.figures import outlines


def square(left, bottom, size):
    right, top = left + size, bottom + size
    return [[left, bottom], [right, bottom], [right, top], [left, top], [left, bottom]]


def collection(squares, **more):
    features = [
        {
            "type": "Feature",
            "properties": {"id": i, "nom": name},
            "geometry": {"type": "Polygon", "coordinates": [ring]},
        }
        for i, (name, ring) in enumerate(squares)
    ]
    return {"type": "FeatureCollection", "features": features} | more


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "places.geojson"
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return write


def points(path):
    return {tuple(map(float, pair)) for pair in re.findall(r"([-\d.]+),([-\d.]+)", path)}


TOWNS = PlaceAxis.from_gazetteer(
    Gazetteer.from_text("town,region\nA,North\nB,North\nC,South\n", name="towns"), level="region"
)


def test_towns_are_dissolved_into_their_regions_and_the_north_is_up(write):
    drawing = outlines(
        write(collection([("A", square(0, 1, 1)), ("B", square(1, 1, 1)), ("C", square(0, 0, 1))])), TOWNS
    )
    assert sorted(drawing.paths) == [0, 1]
    assert drawing.paths[0].count("M") == 1  # one ring: the border between A and B is gone
    assert max(y for _, y in points(drawing.paths[0])) <= min(y for _, y in points(drawing.paths[1])) + 0.2
    assert drawing.width == 600


def test_metres_of_lambert_93_keep_their_shape(write):
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::2154"}}
    path = write(collection([("A", square(900_000, 6_600_000, 50_000))], crs=crs))
    drawing = outlines(path, TOWNS)
    assert drawing.height == pytest.approx(600)
    assert drawing.labels[0] == pytest.approx((300, 300), abs=2)


def test_degrees_of_longitude_are_shortened_by_latitude(write):
    drawing = outlines(write(collection([("A", square(6, 59.5, 1))])), TOWNS)
    assert drawing.height == pytest.approx(1200, rel=0.01)


def test_small_places_carry_no_label(write):
    drawing = outlines(write(collection([("A", square(0, 0, 5)), ("C", square(20, 20, 0.1))])), TOWNS)
    assert list(drawing.labels) == [0]


def test_polygons_of_other_places_are_refused(write):
    with pytest.raises(SettingError, match="must name places"):
        outlines(write(collection([("Paris", square(0, 0, 1))])), TOWNS)


def test_a_file_that_is_no_geojson_is_refused(tmp_path):
    path = tmp_path / "places.geojson"
    path.write_text("town;region\n")
    with pytest.raises(UnreadableFile):
        outlines(path, TOWNS)


def test_each_region_of_doubs_has_its_own_sketched_outline():
    axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    path = Path(str(resources.files("tacit.domain").joinpath("places", "doubs_outlines.geojson")))
    assert sorted(outlines(path, axis).paths) == list(range(axis.n_cells))
    shapes = Polygons.read(path).shapes
    assert all(shape.is_valid for shape in shapes)
    assert shapely.area(shapely.union_all(shapes)) == pytest.approx(sum(map(shapely.area, shapes)))  # none overlap
    north, east = np.array([region.centre for region in REGIONS]).T
    found = Polygons.read(path).locator(axis).locate(east, north, crs="EPSG:4326")
    assert [axis.cells[cell] for cell in found] == [region.name for region in REGIONS]
