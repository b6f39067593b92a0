"""From names and points to the cells of an axis of places, and from names to those of an axis of kinds.

The axis matches names, each distinct one once. Points fall into polygons of a GeoJSON file. The polygons of towns are
dissolved into cells by name, through the gazetteer of the axis. A point on a border shared by two cells belongs to the
first of them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit._base.reading import read_document, reading
from tacit._base.validation import check_one_of
from tacit.domain import NamedAxis, PlaceAxis
from tacit.domain.names import fold_name
from tacit.errors import SettingError, UnreadableFile
from tacit.events.badrows import Reason
from tacit.events.columns import codes_of
from tacit.events.mapping import CRS_CHOICES

MISSING: Final = -3  # a code among those below
# the numbers that an axis' match gives in place of a cell
REASON_OF_PLACE: Final = {
    -1: Reason.UNKNOWN_PLACE,
    -2: Reason.OUTSIDE_PLACE,
    MISSING: Reason.NO_PLACE,
    -4: Reason.AMBIGUOUS_PLACE,
}
REASON_OF_KIND: Final = {
    -1: Reason.UNKNOWN_KIND,
    -2: Reason.OUTSIDE_KIND,
    MISSING: Reason.NO_KIND,
    -4: Reason.AMBIGUOUS_KIND,
}
# A file may hold a million names that mean nothing: only so many are remembered.
_NAMES_KEPT: Final = 1 << 16
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio; any large odd one does
# in order of preference where several properties name the same number of cells
_NAME_PROPERTIES: Final = ("name", "nom", "libelle", "label", "region", "epci_name", "nom_epci", "nom_commune", "town")
OUTSIDE: Final = -1


class NameMatcher:
    """Matches names of places or kinds to the cells of an axis, each distinct name once. Safe to share by threads."""

    def __init__(self, axis: NamedAxis) -> None:
        self._axis = axis
        self._known: dict[str, tuple[int, int]] = {}

    def cells(self, column: Any) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """Return the cell of every row of an Arrow column, or a negative number as :meth:`NamedAxis.match` gives.

        And a word for the name itself, by which two towns of one region are told apart; 0 where there is none.
        """
        codes, names = codes_of(column)
        known = self._known
        new = [name for name in names if name not in known]
        cells = self._axis.match(new).tolist()
        found = {name: (cell, _word(name)) for name, cell in zip(new, cells, strict=True)}
        of_name = [known[name] if name in known else found[name] for name in names]
        if len(known) < _NAMES_KEPT:
            known.update(found)
        cell_of, word_of = zip(*of_name, strict=True) if of_name else ((), ())
        return np.array(cell_of, np.int32)[codes], np.array(word_of, np.uint64)[codes]


def joined_words(places: NDArray[np.uint64], kinds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return one word for the place and the kind of each row; 0 where no place is written."""
    return np.where(places == 0, places, places * _MULTIPLIER ^ kinds)


def _word(name: str) -> int:
    folded = fold_name(name)
    return int.from_bytes(hashlib.blake2b(folded.encode(), digest_size=8).digest(), "big") if folded else 0


@dataclass(frozen=True, slots=True, eq=False)
class Polygons:
    """The features of a GeoJSON file: shapes, their properties, and the coordinate system of both axes."""

    source: str
    shapes: tuple[Any, ...]
    properties: tuple[Mapping[str, Any], ...]
    crs: str
    name_property: str | None = None

    @classmethod
    def read(cls, path: str | Path, *, crs: str | None = None, name_property: str | None = None) -> Polygons:
        """Read a file; ``crs`` is for one that declares none and is not in degrees."""
        path = Path(path)
        collection = _load(path)
        shapely = require("shapely", extra="geography")
        shapes, properties = _shapes(shapely, collection["features"])
        if not shapes:
            raise UnreadableFile(f"{path.name} holds no polygons that can be read. Export it again as GeoJSON.")
        chosen = crs or _declared_crs(collection, path.name) or "EPSG:4326"
        check_one_of(CRS_CHOICES, polygons_crs=chosen)
        low_x, low_y, high_x, high_y = shapely.total_bounds(np.array(shapes, dtype=object))
        # a thousandth of a degree, 100 m, for borders that were rounded
        are_degrees = -180.001 <= low_x <= high_x <= 180.001 and -90.001 <= low_y <= high_y <= 90.001
        if chosen == "EPSG:4326" and not are_degrees:
            raise SettingError(
                f"polygons_crs must be given for {path.name}: its coordinates are no degrees. "
                "Give polygons_crs='EPSG:2154' if they are Lambert-93."
            )
        return cls(path.name, shapes, properties, chosen, name_property)

    def locator(self, axis: PlaceAxis) -> PointLocator:
        """Dissolve the features into the cells of an axis."""
        shapely = require("shapely", extra="geography")
        cells = self._cells_of_features(axis)
        found = sorted({int(cell) for cell in cells if cell >= 0})
        shapes = np.array(self.shapes, dtype=object)
        merged = np.array([shapely.unary_union(shapes[cells == cell]) for cell in found], dtype=object)
        shapely.prepare(merged)
        areas = sorted(
            (axis.cells[cells[number]], shapely.to_wkb(shapes[number], hex=True))
            for number in np.flatnonzero(cells >= 0)
        )
        digest = hashlib.sha256(json.dumps([self.crs, areas]).encode()).hexdigest()
        return PointLocator(shapely.STRtree(merged), np.array(found, np.int32), self.crs, digest)

    def _cells_of_features(self, axis: PlaceAxis) -> NDArray[np.int32]:
        names = [self.name_property] if self.name_property is not None else self._property_names()
        best = np.full(len(self.shapes), OUTSIDE, np.int32)
        for name in names:
            values = [_text(one.get(name)) for one in self.properties]
            cells = axis.match(values)
            if np.count_nonzero(cells >= 0) > np.count_nonzero(best >= 0):
                best = cells
        if not (best >= 0).any():
            raise SettingError(
                f"polygons must name places of the place axis; no feature of {self.source} does in its properties "
                f"{', '.join(names) or '(it has none)'}. Give polygons_name, or polygons of these places."
            )
        return best

    def _property_names(self) -> list[str]:
        known = {name: None for one in self.properties for name in one}
        lower = {name.lower(): name for name in known}
        preferred = [lower[name] for name in _NAME_PROPERTIES if name in lower]
        return list(dict.fromkeys([*preferred, *known]))


@dataclass(frozen=True, slots=True, eq=False)
class PointLocator:
    """Cells as shapes, ready to say in which of them points fall; ``digest`` stands for the shapes."""

    tree: Any
    cells: NDArray[np.int32]
    crs: str
    digest: str

    def locate(self, x: NDArray[np.float64], y: NDArray[np.float64], *, crs: str) -> NDArray[np.int32]:
        """Return the cell of each point, -1 where it is in none; x is east (longitude), y north (latitude)."""
        shapely = require("shapely", extra="geography")
        found = np.full(len(x), OUTSIDE, np.int32)
        if not len(x):
            return found
        points = shapely.points(*_transformed(x, y, crs, self.crs))
        which, shape = self.tree.query(points, predicate="intersects")
        # written last wins: go from the last cell to the first
        order = np.argsort(-shape, kind="stable")
        found[which[order]] = self.cells[shape[order]]
        return found


def _transformed(
    x: NDArray[np.float64], y: NDArray[np.float64], source: str, target: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if source == target:
        return x, y
    pyproj = require("pyproj", extra="geography")
    transformer = pyproj.Transformer.from_crs(source, target, always_xy=True)
    new_x, new_y = transformer.transform(x, y)
    # what cannot be projected becomes infinite, and an infinite point is an error where NaN is an empty one
    is_finite = np.isfinite(new_x) & np.isfinite(new_y)
    return np.where(is_finite, new_x, np.nan), np.where(is_finite, new_y, np.nan)


def _load(path: Path) -> dict[str, Any]:
    remedy, missing = "Export the polygons as a GeoJSON FeatureCollection.", "Check the name and the folder."
    with reading(path.name, "a GeoJSON file", remedy, missing=missing, refusal=UnreadableFile, keeps=()):
        collection = json.loads(read_document(path))
        if not isinstance(collection["features"], list):
            raise ValueError("features")
    return dict(collection)


def _shapes(shapely: Any, features: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Mapping[str, Any], ...]]:
    """Return the areas that can be read and their properties; points and lines are no places."""
    features = [one for one in features if isinstance(one, dict) and one.get("geometry")]
    texts = np.array([json.dumps(one["geometry"]) for one in features], dtype=object)
    with np.errstate(all="ignore"):  # of corners beyond all maps
        shapes = shapely.make_valid(shapely.from_geojson(texts, on_invalid="ignore"))
        is_area = [shape is not None and 0 < shape.area < np.inf for shape in shapes]
    kept = [number for number, fits in enumerate(is_area) if fits]
    return tuple(shapes[kept]), tuple(features[number].get("properties") or {} for number in kept)


def _declared_crs(collection: Mapping[str, Any], name: str) -> str | None:
    """Return the system of the old but common ``crs`` member; without one GeoJSON is in degrees."""
    declared = collection.get("crs")
    if not isinstance(declared, dict):
        return None
    text = str((declared.get("properties") or {}).get("name", ""))
    if text.endswith("CRS84"):
        return "EPSG:4326"
    found = re.search(r"EPSG:(?::|[0-9.]+:)?([0-9]+)$", text)
    if found is None or f"EPSG:{found[1]}" not in CRS_CHOICES:
        raise SettingError(
            f"polygons must be in EPSG:4326 (degrees) or EPSG:2154 (Lambert-93); {name} declares another system. "
            "Convert it."
        )
    return f"EPSG:{found[1]}"


def _text(value: object) -> str | None:
    return None if value is None or isinstance(value, (dict, list)) else str(value)
