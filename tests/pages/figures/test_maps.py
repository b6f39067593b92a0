"""Maps place every cell once, shade by count and say what is unsure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import Gazetteer, PlaceAxis
from tacit.pages.figures import (
    N_SHADES,
    UNSURE,
    counts_by,
    first_shade,
    points,
    shade_limits,
    shades,
    short_names,
    tile_map,
)


@given(st.integers(1, 700))
def test_a_plain_list_of_places_fills_a_near_square(n_places):
    layout = tile_map(PlaceAxis.of([f"p{i}" for i in range(n_places)]))
    assert len(set(layout.tiles)) == n_places
    assert layout.n_rows <= layout.n_columns <= layout.n_rows + 1
    assert layout.tiles == tuple(sorted(layout.tiles, key=lambda tile: (tile[1], tile[0])))


def test_the_regions_of_doubs_stand_where_their_table_says():
    layout = tile_map(PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
    assert len(set(layout.tiles)) == 17
    assert min(column for column, _ in layout.tiles) == min(row for _, row in layout.tiles) == 0
    assert layout.n_columns <= 7  # narrow enough for a telephone


@given(st.lists(st.floats(-100, 1e7), min_size=1, max_size=50))
def test_shades_are_parted_by_rising_whole_numbers(values):
    limits = shade_limits(np.array([values]))
    assert list(limits) == sorted(set(limits))
    assert len(limits) < N_SHADES
    assert all(isinstance(limit, int) and limit >= 1 for limit in limits)
    assert 0 <= first_shade(limits) < N_SHADES


@given(st.lists(st.floats(1.0, 5.0), min_size=10, max_size=60))
def test_a_count_far_above_most_has_a_shade_of_its_own(values):
    limits = shade_limits(np.array([*values, 100.0]))
    assert limits[-1] > 5


def test_larger_counts_are_darker_and_unsure_ones_have_no_shade(release):
    counts = counts_by(release, "year")
    limits = shade_limits(counts.shown[counts.reliable])
    found = shades(counts, 1, limits)
    sure = [(value, shade) for value, shade in zip(counts.shown[1], found, strict=True) if shade != UNSURE]
    assert [shade for _, shade in sorted(sure)] == sorted(shade for _, shade in sure)
    assert [shade == UNSURE for shade in found] == (~counts.reliable[1]).tolist()
    assert max(shade for _, shade in sure) <= N_SHADES - 1


def test_names_are_shortened_only_if_they_stay_different():
    assert short_names(["CC de Nods", "CA de Nods"]) == ["CC de Nods", "CA de Nods"]
    assert short_names(["CC du", "Val"]) == ["du", "Val"]
    stations = ["2nd at Townsend", "Townsend at 7th", "Market at 4th"]
    assert short_names(stations) == stations
    assert short_names(["CC Nods", "Nods"]) == ["CC Nods", "Nods"]
    assert short_names(["CC Nods", "Nods les Bains"]) == ["CC Nods", "Nods les Bains"]


def stations(*rows):
    table = Gazetteer.from_text("station,lat,lon\n" + "".join(f"{row}\n" for row in rows))
    return PlaceAxis.from_gazetteer(table, "station")


def test_points_stand_where_the_table_says_north_up():
    drawn = points(stations("south,46,6", "north,47,6", "east,46,7", "nowhere,,"))
    assert drawn.are_points
    assert sorted(drawn.paths) == [0, 1, 2]
    starts = {n: tuple(map(float, path[1:].split("a")[0].split(","))) for n, path in drawn.paths.items()}
    assert starts[1][0] == starts[0][0] < starts[2][0]
    assert starts[1][1] < starts[0][1] == starts[2][1]
    # a degree of longitude is shorter than one of latitude, by the cosine of the middle
    across, along = starts[2][0] - starts[0][0], starts[0][1] - starts[1][1]
    assert across / along == pytest.approx(np.cos(np.radians(46.5)), abs=1e-3)


def test_few_points_make_no_map():
    assert points(stations("a,46,6", "b,,", "c,,")) is None
    assert points(stations("a,46,6", "b,46,6")) is None
    assert points(PlaceAxis.of(["a", "b"])) is None


def table_of(points):
    rows = [f"p{number},{north:.6f},{east:.6f}" for number, (north, east) in enumerate(points)]
    return PlaceAxis.from_gazetteer(Gazetteer.from_text("\n".join(["station,latitude,longitude", *rows])), "station")


def places_in(path):
    """The point that a path begins with: the left end of a circle, or the tip of an arrow."""
    return [float(part) for part in path[1:].replace("a", "L").split("L")[0].split(",")]


@pytest.mark.parametrize("n_places", [3, 17, 90, 300])
def test_one_far_place_is_an_arrow_at_the_edge_and_squeezes_no_other(n_places):
    city = np.array([47.0, 6.0]) + np.random.default_rng(n_places).uniform(-0.05, 0.05, (n_places, 2))
    alone = points(table_of(city))
    city[-1] = 0.0, 0.0  # a coordinate that nobody filled in
    drawn = points(table_of(city))
    assert drawn.far == (n_places - 1,)
    near = np.array([places_in(drawn.paths[number]) for number in range(n_places - 1)])
    assert np.ptp(near, axis=0).max() >= 0.8 * max(drawn.width, drawn.height)
    x, y = places_in(drawn.paths[n_places - 1])
    assert 0 <= x <= drawn.width
    assert 0.8 * drawn.height <= y <= drawn.height  # in the south
    assert drawn.paths[n_places - 1].count("L") == 2
    if alone is not None:
        assert alone.far == ()


def test_two_towns_are_one_map_and_several_far_places_stand_side_by_side():
    rng = np.random.default_rng(5)
    north, south = (np.array([at, 6.0]) + rng.uniform(-0.05, 0.05, (20, 2)) for at in (47.0, 45.0))
    assert points(table_of(np.concatenate([north, south]))).far == ()
    lost = np.concatenate([north, south, np.zeros((3, 2)), [[60.0, 6.0]]])
    drawn = points(table_of(lost))
    assert drawn.far == (40, 41, 42, 43)
    tips = np.array([places_in(drawn.paths[number]) for number in drawn.far])
    apart = np.hypot(*(tips[:, None] - tips).transpose(2, 0, 1))
    assert apart[~np.eye(4, dtype=bool)].min() >= 6.0
    assert tips[3, 1] < tips[:3, 1].min()  # in the north
