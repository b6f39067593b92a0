from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import Box, Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis, sum_groups
from tacit.errors import SettingError

TABLE = Gazetteer.from_text("town,region,department\nA,r1,d1\nB,r2,d2\nC,r3,d1\n")
DOMAIN = Domain(TimeAxis.between("2018-01-15", "2018-03-20", zone="Europe/Paris"), PlaceAxis.from_gazetteer(TABLE))


KINDS = Gazetteer.from_text("kind,group\nfire,danger\nflood,danger\nfall,help\nbirth,help\n", levels=("kind", "group"))
BY_KIND = Domain(DOMAIN.time, DOMAIN.place, KindAxis.from_gazetteer(KINDS))


def test_a_domain_has_every_bin_with_every_place():
    assert DOMAIN.shape == (65, 3)
    assert DOMAIN.n_cells == 195


def test_the_shape_needs_an_end():
    endless = DOMAIN.without_end()
    with pytest.raises(SettingError, match=r"must end .* Use domain\.with_end"):
        _ = endless.shape
    assert endless.with_end(65) == DOMAIN


def test_coarsening_both_axes_keeps_the_total():
    counts = np.arange(195).reshape(DOMAIN.shape)
    coarse, grouping = DOMAIN.coarsen(time="month", place="department")
    summed = grouping.sums(counts)
    assert coarse.shape == summed.shape == (3, 2)
    assert summed.sum() == counts.sum()
    assert summed[0].tolist() == [counts[:17, [0, 2]].sum(), counts[:17, 1].sum()]


def test_an_axis_that_is_not_named_stays_as_it_is():
    coarse, grouping = DOMAIN.coarsen(place="department")
    assert coarse.time == DOMAIN.time
    assert grouping.time.tolist() == list(range(65))
    assert grouping.columns.tolist() == [0, 1, 0]


def test_a_domain_without_end_is_coarsened_for_so_many_bins():
    coarse, grouping = DOMAIN.without_end().coarsen(time="month", n_bins=20)
    assert coarse.time.n_bins is None
    assert np.bincount(grouping.time).tolist() == [17, 3]


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=20),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_sums_over_groups_are_those_of_a_matrix(values, n_groups, random):
    groups = np.array([random.randrange(n_groups) for _ in values])
    matrix = (groups == np.arange(n_groups)[:, None]).astype(int)
    assert sum_groups(np.array(values), groups, n_groups=n_groups).tolist() == (matrix @ values).tolist()
    table = np.outer([1, 2, 3], values)
    assert sum_groups(table, groups, n_groups=n_groups, axis=1).tolist() == (table @ matrix.T).tolist()


def test_sums_keep_their_type():
    assert sum_groups(np.ones(3, np.int64), np.zeros(3, np.int64)).dtype == np.int64
    assert sum_groups(np.ones(3), np.zeros(3, np.int64)).dtype == np.float64


def test_a_box_is_named_by_dates_and_places():
    box = DOMAIN.box("2018-02", "2018-02", places=["R3", "r1"])
    assert box == Box(range(17, 45), (0, 2))
    assert box.n_cells == 56
    assert hash(box) == hash(Box(range(17, 45), (0, 2)))


def test_what_a_box_does_not_name_is_not_restricted():
    assert DOMAIN.box() == Box(range(65), (0, 1, 2))
    assert DOMAIN.box(first="2018-03-20").time == range(64, 65)
    assert DOMAIN.box(last="2018-01-15").time == range(1)
    assert DOMAIN.box(places="r2").columns == (1,)
    assert DOMAIN.box(places=["d1", "r2"]).columns == (0, 1, 2)


def test_the_weights_of_a_box_are_one_inside_and_zero_elsewhere():
    box = DOMAIN.box("2018-02", "2018-02", places=["r1", "r3"])
    weights = box.weights(DOMAIN)
    assert weights.shape == DOMAIN.shape
    assert weights.sum() == box.n_cells
    assert weights[17:45, [0, 2]].all()
    assert set(np.unique(weights)) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"first": "2018-02-02", "last": "2018-02-01"}, "last must not be before first"),
        ({"first": "2018-01-14"}, "first must lie on the time axis"),
        ({"last": "2018-03-21"}, "last must lie on the time axis"),
        ({"places": []}, "places must name at least one place"),
        ({"places": ["r9"]}, "places must be cells of the place axis"),
        ({"places": ["A"]}, "which lies in r1. Ask for 'r1'"),
        ({"places": ["r1", "R1"]}, "places must name every place once"),
        ({"places": ["r1", "d1"]}, "places must name every place once"),
    ],
)
def test_a_box_that_cannot_be_is_refused_with_what_to_do(settings, message):
    with pytest.raises(SettingError, match=message):
        DOMAIN.box(**settings)


@pytest.mark.parametrize(
    ("time", "places"),
    [
        (range(0), (0,)),
        (range(3, 1), (0,)),
        (range(-1, 2), (0,)),
        (range(0, 4, 2), (0,)),
        (range(1), ()),
        (range(1), (1, 0)),
        (range(1), (0, 0)),
        (range(1), (-1,)),
    ],
)
def test_an_empty_reversed_or_repeating_box_is_refused(time, places):
    with pytest.raises(SettingError, match="must be one or more"):
        Box(time, places)


@pytest.mark.parametrize("box", [Box(range(66), (0,)), Box(range(1), (3,))])
def test_a_box_that_leaves_the_domain_is_refused(box):
    with pytest.raises(SettingError, match="box must lie within the domain, 65 bins and 3 columns"):
        box.weights(DOMAIN)


def test_a_domain_survives_json():
    doubs = Domain(DOMAIN.time, PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
    assert Domain.from_dict(json.loads(json.dumps(doubs.to_dict()))) == doubs
    assert Domain.from_dict(DOMAIN.to_dict(), gazetteer=TABLE) == DOMAIN
    assert Domain.from_dict(doubs.to_dict(with_end=False)) == doubs.without_end()


def test_what_a_fingerprint_covers_has_neither_end_nor_table():
    assert DOMAIN.to_dict(with_end=False, with_gazetteer=False) == {
        "time": {"start": "2018-01-15", "step": "day", "zone": "Europe/Paris"},
        "place": {"level": "region", "cells": ["r1", "r2", "r3"]},
    }


@pytest.mark.parametrize("values", [{}, {"time": {}}, {"time": {}, "place": {}, "x": 1}, None, {"time": 1, "place": 2}])
def test_damaged_values_are_refused(values):
    with pytest.raises(SettingError):
        Domain.from_dict(values)


def test_a_domain_with_kinds_has_a_column_for_every_place_and_kind():
    assert BY_KIND.sizes == BY_KIND.grid == (65, 3, 4)
    assert BY_KIND.shape == (65, 12)
    assert BY_KIND.columns[:5] == ("r1, fire", "r1, flood", "r1, fall", "r1, birth", "r2, fire")
    assert DOMAIN.grid == DOMAIN.shape
    assert DOMAIN.columns == DOMAIN.place.cells


def test_a_box_names_kinds_and_groups_of_them():
    assert BY_KIND.box(places="r2", kinds="FALL").columns == (6,)
    assert BY_KIND.box(places=["r1", "r3"], kinds="danger").columns == (0, 1, 8, 9)
    assert BY_KIND.box(kinds=["help", "fire"]).columns == (0, 2, 3, 4, 6, 7, 8, 10, 11)
    assert BY_KIND.box() == Box(range(65), tuple(range(12)))


@pytest.mark.parametrize(
    ("domain", "kinds", "message"),
    [
        (DOMAIN, "fire", "kinds must be left out: these counts have no kinds"),
        (BY_KIND, [], "kinds must name at least one kind"),
        (BY_KIND, ["quake"], "kinds must be cells of the kind axis"),
        (BY_KIND, ["fire", "danger"], "kinds must name every kind once"),
    ],
)
def test_kinds_that_cannot_be_asked_for_are_refused(domain, kinds, message):
    with pytest.raises(SettingError, match=message):
        domain.box(kinds=kinds)


@pytest.mark.parametrize(
    ("levels", "grid"),
    [
        ({"kind": "group"}, (65, 3, 2)),
        ({"kind": "all"}, (65, 3)),
        ({"place": "all"}, (65, 1, 4)),
        ({"time": "month", "place": "department", "kind": "group"}, (3, 2, 2)),
        ({"time": "month", "place": "all", "kind": "all"}, (3, 1)),
    ],
)
def test_kinds_are_coarsened_as_places_are(levels, grid):
    coarse, grouping = BY_KIND.coarsen(**levels)
    assert coarse.grid == grid
    counts = np.arange(780).reshape(BY_KIND.shape)
    by_axis = counts.reshape(BY_KIND.grid)
    for axis, groups in enumerate((grouping.time, grouping.place, grouping.kind)):
        by_axis = sum_groups(by_axis, groups, axis=axis)
    np.testing.assert_array_equal(grouping.sums(counts).reshape(-1), by_axis.ravel())
    assert grouping.shape == coarse.shape


def test_a_domain_with_kinds_survives_json_and_one_without_has_no_word_of_them():
    assert Domain.from_dict(json.loads(json.dumps(BY_KIND.to_dict())), gazetteer=TABLE) == BY_KIND
    assert "kind" not in DOMAIN.to_dict()
    with pytest.raises(SettingError, match="may have kind"):
        Domain.from_dict(DOMAIN.to_dict() | {"sort": {}})


def test_kinds_that_no_other_names_are_of_another_kind():
    axis = BY_KIND.kind.with_elsewhere()
    assert axis.cells[-1] == "other"
    assert axis.match(["quake", "Fire"]).tolist() == [-1, 0]
    assert axis.coarsen("group")[0].cells == ("danger", "help", "other")
