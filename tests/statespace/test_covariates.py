"""The regressors of totals."""

from __future__ import annotations

import numpy as np
import pytest

from tacit._base.fields import from_plain, plain
from tacit.domain import TimeAxis
from tacit.statespace.covariates import Covariates, Terms, calendar_columns, seasons
from tacit.statespace.settings import SETTINGS

STARTS = {"week": "2018-01-01"}


@pytest.mark.parametrize("step", ["hour", "6 hours", "day", "week", "month", "year"])
def test_every_step_has_a_size_for_each_term(step: str) -> None:
    time = TimeAxis(STARTS.get(step, "2018-01-01"), step, "Europe/Paris", 20)
    rows, kinds = Terms().rows(time, None, 0, 20), Terms().kinds(step)
    assert rows.shape == (20, len(kinds))
    assert all(getattr(SETTINGS.totals, f"{kind}_sd") > 0 for kind in kinds)
    assert np.isfinite(rows).all()
    np.testing.assert_array_equal(Terms().rows(time, None, 5, 20), rows[5:])


def _flags() -> Covariates:
    flags = np.zeros(40)
    flags[[9, 30]] = 1
    return Covariates(TimeAxis("2018-01-01", "day", "UTC", 40), {"holiday": flags})


def test_a_rare_flag_acts_on_its_day_the_day_before_and_the_day_after() -> None:
    known = _flags()
    terms = Terms.learned(known, 25)
    rows = terms.rows(known.time, known, 0, 40)[:, -3:]
    assert terms.kinds("day")[-3:] == ("flag", "flag", "flag")
    assert [np.flatnonzero(column).tolist() for column in rows.T] == [[9, 30], [8, 29], [10, 31]]


def test_days_beside_that_other_columns_flag_are_left_to_them() -> None:
    known = _flags()
    before = np.roll(known.columns["holiday"], -1)
    both = Covariates(known.time, {**known.columns, "before": before})
    assert len(Terms.learned(both, 40).kinds("day")) == len(Terms().kinds("day")) + 2


def test_numbers_are_scaled_by_what_was_learned_from_and_what_is_unknown_has_no_effect() -> None:
    values = np.concatenate([np.tile([10.0, 20.0], 15), [1000.0, -1000.0, np.nan]])
    known = Covariates(TimeAxis("2018-01-01", "day", "UTC", 33), {"traffic": values})
    terms = Terms.learned(known, 30)
    level = terms.rows(known.time, known, 0, 35)[:, -2]
    np.testing.assert_allclose(level[:2], [-1, 1])
    np.testing.assert_array_equal(level[30:], [4, -4, 0, 0, 0])  # far outside what was seen, unknown, beyond the table


def test_columns_that_never_change_are_left_out_and_those_of_places_averaged() -> None:
    time = TimeAxis("2018-01-01", "day", "UTC", 30)
    by_place = np.stack([np.arange(30.0), np.full(30, np.nan), np.arange(30.0) + 2], axis=1)
    known = Covariates(time, {"constant": np.ones(30), "weather": by_place})
    terms = Terms.learned(known, 30)
    assert [column.name for column in terms.columns] == ["weather"]
    assert terms.columns[0].centre == pytest.approx(15.5)


def test_the_mean_level_of_a_year_is_a_third_of_its_drift_away_from_the_first() -> None:
    year = seasons(TimeAxis("2018-01-01", "day", "UTC", 365))
    assert year.mean_drift(0.3) == pytest.approx(0.3**2 / 3, rel=1e-3)  # that of a Brownian motion over a unit of time


def test_an_axis_of_hours_has_their_numbers() -> None:
    hours = calendar_columns(TimeAxis("2018-01-01", "hour", "UTC", 26), 26)["hour"]
    np.testing.assert_array_equal(hours, [*range(24), 0, 1])


def test_a_handful_of_numbers_is_not_learned_from() -> None:
    """Three months say nothing of a fourth with more holidays than any of them."""
    known = Covariates(TimeAxis("2018-02-01", "month", "UTC", 4), {"holidays": np.array([0.0, 0.01, 0.02, 0.13])})
    assert Terms.learned(known, 3).columns == ()


def test_terms_come_back_from_plain_data() -> None:
    terms = Terms(Terms.learned(_flags(), 40).columns, ("07-14", "12-31"))
    assert from_plain(Terms, plain(terms)) == terms
