"""The kinds of the synthetic interventions have the shares of the fire services' statistics, and the known seasons."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.domain import Gazetteer, KindAxis, PlaceAxis
from tacit.events.datasets import doubs
from tacit.events.datasets.doubs import rows

AXIS = KindAxis.from_gazetteer(Gazetteer.builtin("doubs", of="kinds"))


@pytest.fixture(scope="module")
def kind(rows: dict[str, np.ndarray]) -> np.ndarray:
    names, codes = np.unique(rows["Kind"].astype(str), return_inverse=True)
    return AXIS.match(names.tolist())[codes]


def share(kind: np.ndarray, name: str, where: np.ndarray) -> float:
    return float(np.mean(kind[where] == AXIS.cells.index(name)))


def test_every_kind_of_the_table_has_a_share_and_no_other() -> None:
    assert AXIS.cells == rows.KINDS
    assert np.sum(list(rows.SHARES.values()), axis=0).tolist() == [100, 100]
    assert (rows.weights() >= 0).all()


@pytest.mark.slow
def test_every_row_has_a_kind_of_the_table_some_by_other_names(rows: dict[str, np.ndarray], kind: np.ndarray) -> None:
    assert (kind >= 0).all()
    written = set(rows["Kind"])
    assert {"ROAD ACCIDENT", "malaise", "inondation"} <= written - set(AXIS.cells)


def test_groups_have_the_shares_of_the_statistics(kind: np.ndarray) -> None:
    groups, of_kind = AXIS.coarsen("group")
    shares = dict(zip(groups.cells, np.bincount(of_kind[kind]) / len(kind), strict=True))
    assert 0.75 < shares["assistance"] < 0.85
    assert 0.055 < shares["accident"] < 0.065
    assert 0.06 < shares["fire"] < 0.07
    assert 0.08 < shares["technical"] < 0.105


def test_months_hours_and_weekdays_have_their_kinds(rows: dict[str, np.ndarray], kind: np.ndarray) -> None:
    month = rows["SDate"].astype("datetime64[M]").astype(np.int64) % 12 + 1
    hour = rows["SDate"].astype("datetime64[h]").astype(np.int64) % 24
    weekday = (rows["SDate"].astype("datetime64[D]").astype(np.int64) + 3) % 7
    assert share(kind, "outdoor fire", month == 7) > 3 * share(kind, "outdoor fire", month == 1)
    assert share(kind, "building fire", month == 1) > 1.3 * share(kind, "building fire", month == 7)
    assert share(kind, "outdoor fire", hour == 18) > 1.4 * share(kind, "outdoor fire", hour == 10)
    assert share(kind, "road accident", weekday == 4) > 1.2 * share(kind, "road accident", weekday == 6)
    assert share(kind, "animals and insects", month == 8) > 10 * share(kind, "animals and insects", month == 2)


def test_cities_and_storms_have_their_kinds(
    data: doubs.DoubsInterventions, rows: dict[str, np.ndarray], kind: np.ndarray
) -> None:
    names, codes = np.unique(rows["Town"].astype(str), return_inverse=True)
    region = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")).match(names.tolist())[codes]
    assert share(kind, "vehicle fire", region < 2) > 2 * share(kind, "vehicle fire", region >= 2)
    is_stormy = (data.storms.sum(axis=1) > data.ordinary.sum(axis=1))[
        (rows["SDate"].astype("datetime64[D]") - data.days[0]).astype(np.int64)
    ]
    assert share(kind, "water damage", is_stormy) > 0.2
    assert share(kind, "water damage", ~is_stormy) < 0.04
