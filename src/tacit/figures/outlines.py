"""Outlines of places from GeoJSON, as SVG paths: towns are dissolved into their regions, coasts simplified."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tacit._extras import require
from tacit.domain import PlaceAxis
from tacit.errors import DataError, UnreadableFile

WIDTH: Final = 600.0
_FINEST_DETAIL: Final = 0.4  # in units of the drawing, of which WIDTH is the whole


@dataclass(frozen=True, slots=True)
class Outlines:
    """The SVG path of each place that has one, in a drawing of ``width`` by ``height``."""

    paths: Mapping[int, str]
    width: float
    height: float


def outlines(polygons: str | Path | Mapping[str, Any], axis: PlaceAxis) -> Outlines:
    """Draw the places of an axis from a GeoJSON file, or its content.

    A feature belongs to the place that one of its properties names: the property that names most of them is taken.
    Coordinates may be degrees (EPSG:4326) or metres of any national grid (EPSG:2154).
    """
    shapely = require("shapely", extra="geography")
    shape = require("shapely.geometry", extra="geography").shape
    features = [feature for feature in _features(polygons) if feature.get("geometry")]
    by_place: dict[int, list[Any]] = {}
    for number, feature in zip(_places_of(features, axis), features, strict=True):
        if number >= 0:
            by_place.setdefault(number, []).append(shape(feature["geometry"]))
    if not by_place:
        raise DataError(
            f"none of the {len(features)} polygons names a place of this release. Give every feature a property "
            f"that holds the name of its {axis.level}."
        )
    merged = {number: shapely.make_valid(shapely.union_all(parts)) for number, parts in by_place.items()}
    left, bottom, right, top = shapely.total_bounds(list(merged.values()))
    is_degrees = max(abs(left), abs(right)) <= 360 and max(abs(bottom), abs(top)) <= 90
    squeeze = math.cos(math.radians((bottom + top) / 2)) if is_degrees else 1.0
    if not right > left or not top > bottom:
        raise DataError("the polygons have no extent. Check the coordinates of the GeoJSON file.")
    scale = WIDTH / ((right - left) * squeeze)

    def on_drawing(points: Any) -> Any:
        return (points - [left, top]) * [squeeze * scale, -scale]

    paths = {
        number: _path(shapely.simplify(shapely.transform(geometry, on_drawing), _FINEST_DETAIL))
        for number, geometry in sorted(merged.items())
    }
    return Outlines(paths, WIDTH, (top - bottom) * scale)


def _features(polygons: str | Path | Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    if isinstance(polygons, Mapping):
        content: Any = polygons
    else:
        try:
            content = json.loads(Path(polygons).read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            raise UnreadableFile(f"there is no file {polygons}. Check the path of the polygons.") from None
        except (OSError, ValueError):
            raise UnreadableFile(f"{polygons} is not GeoJSON. Export the polygons as GeoJSON, in UTF-8.") from None
    features = content.get("features") if isinstance(content, Mapping) else None
    if not isinstance(features, list) or not all(isinstance(feature, Mapping) for feature in features):
        raise UnreadableFile("polygons must be a GeoJSON FeatureCollection. Export them as one.")
    return features


def _places_of(features: Sequence[Mapping[str, Any]], axis: PlaceAxis) -> list[int]:
    """The place of each feature, by the property that names most."""
    best = [-1] * len(features)
    for key in {key: None for feature in features for key in feature.get("properties") or {}}:
        values = [(feature.get("properties") or {}).get(key) for feature in features]
        found = axis.match([value if isinstance(value, str) else None for value in values]).tolist()
        if sum(number >= 0 for number in found) > sum(number >= 0 for number in best):
            best = found
    return best


def _path(geometry: Any) -> str:
    rings = [ring for polygon in _polygons(geometry) for ring in (polygon.exterior, *polygon.interiors)]
    return "".join("M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in list(ring.coords)[:-1]) + "Z" for ring in rings)


def _polygons(geometry: Any) -> Iterable[Any]:
    if geometry.geom_type == "Polygon":
        return [] if geometry.is_empty else [geometry]
    return [polygon for part in getattr(geometry, "geoms", ()) for polygon in _polygons(part)]
