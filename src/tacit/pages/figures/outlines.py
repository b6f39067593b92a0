"""Outlines of places from GeoJSON, as SVG paths: towns are dissolved into their regions, borders simplified."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tacit._base.extras import require
from tacit.domain import PlaceAxis
from tacit.events.places import Polygons

WIDTH: Final = 600.0
_FINEST_DETAIL: Final = 0.4  # in units of the drawing, of which WIDTH is the whole

_ROOM_FOR_LABEL: Final = 30.0


@dataclass(frozen=True, slots=True)
class Outlines:
    """The SVG path of each place that has one, in a drawing of ``width`` by ``height``.

    ``labels`` are points with room around them, for the places that are large enough to be written on.
    """

    paths: Mapping[int, str]
    labels: Mapping[int, tuple[float, float]]
    width: float
    height: float


def outlines(polygons: str | Path | Polygons, axis: PlaceAxis) -> Outlines:
    """Draw the places of an axis from a GeoJSON file, north up."""
    shapely = require("shapely", extra="geography")
    if not isinstance(polygons, Polygons):
        polygons = Polygons.read(polygons)
    dissolved = polygons.locator(axis)
    shapes = dissolved.tree.geometries
    left, bottom, right, top = shapely.total_bounds(shapes)
    # a degree of longitude is shorter than one of latitude
    squeeze = math.cos(math.radians((bottom + top) / 2)) if dissolved.crs == "EPSG:4326" else 1.0
    scale = WIDTH / ((right - left) * squeeze)

    def on_drawing(points: Any) -> Any:
        return (points - np.array([left, top])) * np.array([squeeze * scale, -scale])

    drawn = shapely.simplify(shapely.transform(shapes, on_drawing), _FINEST_DETAIL)
    paths = {int(cell): _path(shape) for cell, shape in zip(dissolved.cells, drawn, strict=True)}
    # the radius, as a line from the middle to the edge of the largest circle that fits in
    radii = shapely.maximum_inscribed_circle(drawn, tolerance=1.0)
    labels = {
        int(cell): (round(radius.coords[0][0], 1), round(radius.coords[0][1], 1))
        for cell, radius in zip(dissolved.cells, radii, strict=True)
        if radius.length >= _ROOM_FOR_LABEL
    }
    return Outlines(paths, labels, WIDTH, (top - bottom) * scale)


def _path(shape: Any) -> str:
    rings = [ring for polygon in _parts(shape) for ring in (polygon.exterior, *polygon.interiors)]
    return "".join("M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in list(ring.coords)[:-1]) + "Z" for ring in rings)


def _parts(shape: Any) -> Iterable[Any]:
    if shape.geom_type == "Polygon":
        return [] if shape.is_empty else [shape]
    return [polygon for part in getattr(shape, "geoms", ()) for polygon in _parts(part)]
