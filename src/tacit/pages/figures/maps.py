"""Maps of places: where each stands, how dark it is, and what is written on it.

A map here is data: the page draws tiles as buttons and outlines as shapes that can be reached with the keyboard,
which no chart library offers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit.domain import PlaceAxis
from tacit.events.places import Polygons
from tacit.pages.figures.counts import Counts
from tacit.release.rules import MISSING, SUPPRESSED

N_SHADES: Final = 6  # as many as are told apart, on paper too; halved, a map has three classes
UNSURE: Final = -1
HIDDEN: Final = {SUPPRESSED: -2, MISSING: -3}
"""The numbers that stand for a shade where rules leave a count out, or where there are no data."""
# limits of shades that read well; fewer make coarser classes
_NICE: Final = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
_SHORT_WORD: Final = 3  # letters of CA, CC, du, des; longer words are names
_LONGEST_LABEL: Final = 22  # letters, 150 pixels: half would cut most names, twice as many leave no room for bars


@dataclass(frozen=True, slots=True)
class TileMap:
    """Places on a grid: (column, row) of each, from 0, and the size of the grid."""

    tiles: tuple[tuple[int, int], ...]
    n_columns: int
    n_rows: int


def tile_map(axis: PlaceAxis) -> TileMap:
    """Lay places out by the tiles of their table, or in a near square in their order.

    >>> tile_map(PlaceAxis.of(["a", "b", "c", "d", "e"]))
    TileMap(tiles=((0, 0), (1, 0), (2, 0), (0, 1), (1, 1)), n_columns=3, n_rows=2)
    """
    given = axis.tiles
    if given is None:
        n_columns = math.ceil(math.sqrt(axis.n_cells))
        tiles = tuple((number % n_columns, number // n_columns) for number in range(axis.n_cells))
    else:
        left, top = (min(tile[side] for tile in given.values()) for side in (0, 1))
        tiles = tuple((given[cell][0] - left, given[cell][1] - top) for cell in axis.cells)
    return TileMap(tiles, max(column for column, _ in tiles) + 1, max(row for _, row in tiles) + 1)


def shade_limits(values: NDArray[np.float64]) -> tuple[int, ...]:
    """Return round numbers that part positive counts into at most ``N_SHADES`` shades.

    Each lies halfway, as factors go, between a limit that leaves as many counts in every shade and one that gives every
    shade the same part of the range: the first alone puts 5 and 60 into one shade where most counts are small, the
    second leaves most counts in one where a few are large.

    >>> shade_limits(np.array([[12.0, 31.0, 55.0, 118.0, 240.0, 900.0]]))
    (30, 50, 100, 200, 300)
    >>> shade_limits(np.array([[0.2, 0.6, 1.4, 1.7, 1.8, 1.9, 3.8, 4.1, 4.3, 5.2, 6.9, 37.5, 61.7]]))
    (1, 2, 3, 7, 15)
    """
    positive = values[values > 0]
    if not positive.size:
        return ()
    equally_many = np.quantile(positive, np.arange(1, N_SHADES) / N_SHADES)
    equally_wide = np.geomspace(positive.min(), positive.max(), N_SHADES + 1)[1:-1]
    limits = sorted({_nice(limit) for limit in np.sqrt(equally_many) * np.sqrt(equally_wide)})
    return tuple(limit for limit in limits if positive.min() < limit <= positive.max())


def shades(counts: Counts, period: int, limits: Sequence[int]) -> list[int]:
    """Return the shade of every place, ``N_SHADES - 1`` the darkest; ``UNSURE`` or :data:`HIDDEN` for the rest."""
    found = np.searchsorted(np.asarray(limits), np.round(counts.shown[period]), side="right") + first_shade(limits)
    drawn = np.where(counts.reliable[period], found, UNSURE).tolist()
    return [HIDDEN.get(status, shade) for shade, status in zip(drawn, counts.status[period], strict=True)]


def first_shade(limits: Sequence[int]) -> int:
    """Return the lightest shade in use: few shades are dark ones, told from blank paper."""
    return N_SHADES - 1 - len(limits)


def short_names(names: Sequence[str]) -> list[str]:
    """Leave out acronyms and particles at the start, which many names share, as long as no name is part of another.

    >>> short_names(["CA du Grand Besançon", "CC du Val de Morteau", "CC Loue-Lison"])
    ['Grand Besançon', 'Val de Morteau', 'Loue-Lison']
    >>> short_names(["at Townsend", "Townsend at 7th", "CC Loue-Lison"])
    ['at Townsend', 'Townsend at 7th', 'CC Loue-Lison']
    """
    short = [_without_start(name) for name in names]
    words = [f" {name.lower()} " for name in names]
    for name, own in zip(short, names, strict=True):
        is_shortened = name != own
        if is_shortened and sum(f" {name.lower()} " in other for other in words) > 1:
            return list(names)
    return short if len(set(short)) == len(names) else list(names)


def chart_labels(names: Sequence[str]) -> list[str]:
    """Return short names that fit beside a bar: of long ones the middle is left out, as long as all stay different.

    >>> chart_labels(["Golden Gate Park Conservatory at 4th", "Golden Gate Park Conservatory at Bay", "Pier"])
    ['Golden Gate…tory at 4th', 'Golden Gate…tory at Bay', 'Pier']
    """
    short = short_names(names)
    fitting = [
        name
        if len(name) <= _LONGEST_LABEL
        else f"{name[: _LONGEST_LABEL // 2].rstrip()}…{name[-(_LONGEST_LABEL // 2) :]}"
        for name in short
    ]
    return fitting if len(set(fitting)) == len(set(short)) else short


def _without_start(name: str) -> str:
    words = name.split()
    while len(words) > 1 and len(words[0]) <= _SHORT_WORD and words[0].isalpha() and not words[0].istitle():
        words = words[1:]
    return " ".join(words)


def _nice(value: float) -> int:
    power = 10.0 ** math.floor(math.log10(value))
    candidates = [step * power for step in (*_NICE, 10.0)]
    nearest: float = min(candidates, key=lambda nice: abs(nice - value))
    return max(1, round(nearest))


WIDTH: Final = 600.0  # units of the drawing, which scales to the page
_FINEST_DETAIL: Final = 0.4  # in units of the drawing, of which WIDTH is the whole

_POINT_SIZES: Final = (6.0, 16.0)  # units; the least can still be touched, the largest is a town on a map of few
_EDGE: Final = 3.0  # radii around the places where arrows stand at the edge: with half of it they cover places
_ROOM_OF_POINT: Final = 18.0  # units, the least circle and as much again: halved, blots stay; doubled, shapes are cut
_SQUEEZED: Final = (3.0, 10.0)  # times smaller the others are at least, so that a place counts as far: see far_places
_ONE_IN: Final = 10  # places may be far; of half as many more maps are cut, of twice as many some blots stay
_ROOM_FOR_LABEL: Final = 30.0  # units around a number: halved, numbers cross borders; doubled, few places have one


@dataclass(frozen=True, slots=True)
class Outlines:
    """The SVG path of each place that has one, in a drawing of ``width`` by ``height``.

    ``labels`` are points with room around them, for the places that are large enough to be written on. Where a place is
    a point, its path is a circle around it; those of ``far``, which would squeeze all others, are arrows at the edge.
    """

    paths: Mapping[int, str]
    labels: Mapping[int, tuple[float, float]]
    width: float
    height: float
    are_points: bool = False
    far: tuple[int, ...] = ()


def points(axis: PlaceAxis) -> Outlines | None:
    """Draw places as circles where their table says they are, north up; None if it says so of less than half of them.

    Circles are as large as half the usual distance to the next place lets them be. The view is that of all places but a
    few far ones, in whose view the others would be one blot; these are arrows at its edge.
    """
    given = axis.points
    if 2 * len(given) < axis.n_cells or len(set(given.values())) < 2:
        return None
    cells = np.array([number for number, cell in enumerate(axis.cells) if cell in given])
    degrees = np.array([given[axis.cells[number]] for number in cells.tolist()])
    is_far = far_places(degrees)
    near = degrees[~is_far]
    squeeze = math.cos(math.radians(float(near[:, 0].min() + near[:, 0].max()) / 2))
    places = np.column_stack([degrees[:, 1] * squeeze, -degrees[:, 0]])
    places -= places[~is_far].min(axis=0)
    places *= WIDTH / float(places[~is_far].max())
    apart = np.hypot(*(places[~is_far][:, None] - places[~is_far]).transpose(2, 0, 1))
    apart[apart == 0] = np.inf
    radius = round(float(np.clip(np.median(apart.min(axis=1)) / 2, *_POINT_SIZES)), 1)  # else arcs are no circle
    places += radius * (_EDGE if is_far.any() else 1)
    width, height = (places[~is_far].max(axis=0) + radius * (_EDGE if is_far.any() else 1)).tolist()
    paths = {
        number: f"M{x - radius:.1f},{y:.1f}a{radius:.1f},{radius:.1f} 0 1 0 {2 * radius:.1f},0"
        f"a{radius:.1f},{radius:.1f} 0 1 0 {-2 * radius:.1f},0Z"
        for number, (x, y) in zip(cells[~is_far].tolist(), places[~is_far].tolist(), strict=True)
    }
    arrows = dict(zip(cells[is_far].tolist(), _arrows(places[is_far], width, height, radius), strict=True))
    return Outlines(paths | arrows, {}, width, height, are_points=True, far=tuple(arrows))


def far_places(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which of the points are so far from all others that these would be one blot in a view of all.

    That is a tenth of its width or less where places are few, a third where they are many. One place in ten may be
    far, and one in any case. Farthest from the medians are tried first.

    >>> far_places(np.array([[0.0, 0.0], [48.1, 5.9], [48.2, 6.1]])).tolist()
    [True, False, False]
    >>> far_places(np.array([[47.0, 5.0], [48.1, 5.9], [48.2, 6.1]])).tolist()
    [False, False, False]
    """
    is_far = np.zeros(len(points), bool)
    left = max(1, len(points) // _ONE_IN)
    times = np.clip(WIDTH / (_ROOM_OF_POINT * math.sqrt(len(points))), *_SQUEEZED)
    while left and np.count_nonzero(~is_far) > 2:
        near = np.flatnonzero(~is_far)
        order = near[np.argsort(np.hypot(*(points[near] - np.median(points[near], axis=0)).T), kind="stable")]
        side = np.ptp(points[near], axis=0).max()
        sides = (np.ptp(points[order[:-n]], axis=0).max() for n in range(1, min(left, len(near) - 2) + 1))
        n_far = next((n for n, rest in enumerate(sides, 1) if 0 < times * rest <= side), 0)
        if not n_far:
            break
        is_far[order[-n_far:]] = True
        left -= n_far
    return is_far


def _arrows(places: NDArray[np.float64], width: float, height: float, radius: float) -> list[str]:
    """Return a triangle at the edge of the view for each place beyond it, in its direction; none covers another."""
    inside = np.array([width, height]) - 2.6 * radius  # tips stay within
    taken: list[NDArray[np.float64]] = []
    drawn = []
    for place in places:
        center = np.array([width, height]) / 2
        way = place - center
        at = center + way * min(inside[side] / 2 / abs(way[side]) for side in (0, 1) if way[side])
        along = np.array([0.0, 1.0]) if abs(abs(at[0] - center[0]) - inside[0] / 2) < 1e-6 else np.array([1.0, 0.0])
        along *= -1 if (at - center) @ along > 0 else 1  # away from the corner
        while any(np.hypot(*(at - other)) < 2.2 * radius for other in taken):
            at = at + 2.3 * radius * along
        taken.append(at)
        way = way / np.hypot(*way)
        across = np.array([-way[1], way[0]])
        tip, foot = at + 1.2 * radius * way, at - 0.9 * radius * way  # longer than wide, so that it points
        corners = (tip, foot + 0.75 * radius * across, foot - 0.75 * radius * across)
        drawn.append("M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in corners) + "Z")
    return drawn


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
