"""Counts ready to be drawn agree with the release they come from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.pages.figures import coarser_steps, counts_by, counts_in_all, rows_of, totals_by, truth_by
from tacit.pages.figures.counts import tenths
from tacit.release import Release


def release_of(private, shape=(6, 3), step="month"):
    """A small release with one report in every public bin and cell, whatever is private."""
    n_times, n_places = shape
    axis = TimeAxis.between("2018-01-01", None, step=step).with_end(n_times)
    domain = Domain(axis, PlaceAxis.of([f"p{i}" for i in range(n_places)]))
    plan = plan_for(domain, epsilon=2.0, private=private)
    mechanism = mechanism_of(plan)
    statistics = np.full((plan.n_public, mechanism.n_statistics), 40, np.int64)
    tally = Tally(Provenance(plan.fingerprint), statistics, np.full(plan.n_public, 100, np.int64))
    return Release.of(plan, estimate_tally(tally, plan))


@pytest.mark.parametrize("step", ["day", "month", "year"])
def test_counts_are_the_columns_of_the_coarsened_release(release, step):
    counts, columns = counts_by(release, step), release.coarsen(time=step).columns()
    assert list(counts.periods) == list(dict.fromkeys(columns["period"]))
    for name, values in (("refined", counts.values), ("refined_lower", counts.lower), ("refined_upper", counts.upper)):
        np.testing.assert_array_equal(columns[name], values.ravel(), err_msg=name)


@pytest.mark.parametrize("step", ["day", "month", "year"])
def test_a_count_that_is_drawn_is_marked_by_its_own_error(release, step):
    """The legend says: its standard error is more than a third of it."""
    counts = counts_by(release, step)
    assert np.array_equal(release.coarsen(time=step).columns()["reliable"], counts.reliable.ravel())
    assert np.array_equal(counts.reliable, counts.standard_errors <= counts.values / 3)


def test_the_whole_time_is_the_release_s_own_answer(release):
    counts = counts_in_all(release)
    for number, place in enumerate(release.domain.place.cells):
        answer = release.answer(places=[place])
        assert release.is_reliable(answer) == counts.reliable[0, number]
        assert counts.values[0, number] == pytest.approx(answer.value)
        limits = (counts.lower[0, number], counts.upper[0, number])
        assert limits == pytest.approx((answer.lower, answer.upper), abs=0.5)  # drawn as whole numbers
        assert counts.standard_errors[0, number] == pytest.approx(answer.standard_error)


def test_totals_are_exact_where_the_period_of_a_report_is_public(release, true_counts):
    totals = totals_by(release, "year")
    assert totals.is_exact
    assert totals.values.sum() == true_counts.sum()
    assert np.array_equal(totals.lower, totals.upper)


def test_totals_are_estimated_where_the_period_is_private():
    release = release_of(("time",))
    totals = totals_by(release, "month")
    assert not totals.is_exact
    assert totals.values[0, 0] == pytest.approx(release.unbiased.values[0].sum())
    answer = release.answer(first="2018-01", last="2018-01")
    assert (totals.lower[0, 0], totals.upper[0, 0]) == (answer.lower, answer.upper)


def test_places_are_exact_over_all_time_where_the_place_is_public():
    counts = counts_in_all(release_of(("time",)))
    assert counts.is_exact
    assert counts.values.tolist() == [[100.0, 100.0, 100.0]]


def test_nothing_is_exact_where_both_are_private():
    release = release_of(("time", "place"))
    assert not counts_in_all(release).is_exact
    assert not totals_by(release, "month").is_exact


def test_what_is_drawn_lies_within_its_limits_even_where_the_estimate_does_not(release):
    counts = counts_by(release.again(refine="project"), "day")
    assert (counts.values < 0).any()
    assert ((counts.lower <= counts.shown) & (counts.shown <= counts.upper)).all()


def test_periods_counted_in_part_are_marked(release):
    assert counts_by(release, "month").is_partial == (True, *[False] * 25, True)


def test_the_last_periods_and_chosen_places_keep_their_numbers(release):
    counts = counts_by(release, "month")
    part = counts.last(3).of_places(np.array([2, 0]))
    assert part.periods == counts.periods[-3:]
    assert part.places == ("CC Est", "CA du Nord")
    assert np.array_equal(part.upper, counts.upper[-3:][:, [2, 0]])
    assert counts.last(10_000).periods == counts.periods


def test_weeks_are_not_forced_into_months():
    axis = TimeAxis.between("2018-01-01", "2018-12-30", step="week")
    assert list(coarser_steps(axis)) == ["week"]
    assert list(coarser_steps(TimeAxis.between("2018-01-01", "2018-12-31"))) == ["year", "month", "day"]
    assert list(coarser_steps(TimeAxis.between("2018", "2019", step="year"))) == ["year"]


def test_times_of_day_are_placed_as_their_own_clock_shows():
    axis = TimeAxis.between("2018-03-24", "2018-03-26", step="6 hours", zone="Europe/Paris")
    plan = plan_for(Domain(axis, PlaceAxis.of(["a", "b"])), epsilon=2.0)
    tally = Tally(Provenance(plan.fingerprint), np.ones((12, 2), np.int64), np.ones(12, np.int64))
    counts = counts_by(Release.of(plan, estimate_tally(tally, plan)), "6 hours")
    assert counts.starts[:2] == ("2018-03-24T00:00:00Z", "2018-03-24T06:00:00Z")


def test_rows_hold_plain_numbers(release):
    counts = counts_by(release, "year")
    row = rows_of(counts.period_columns() | counts.series_columns(0))[0]
    assert {name: type(value) for name, value in row.items()} == {
        "start": str,
        "period": str,
        "partial": bool,
        "estimate": float,
        "shown": float,
        "lower": float,
        "upper": float,
        "reliable": bool,
    }


def test_truth_is_added_up_like_the_release(release, true_counts):
    truth = ExactTally(true_counts)
    assert truth_by(release, truth, "year").sum() == true_counts.sum()
    assert truth_by(release, truth, None).tolist() == [true_counts.sum(axis=0).tolist()]


def test_truth_of_another_shape_is_refused(release):
    with pytest.raises(SettingError, match="the release's shape"):
        truth_by(release, ExactTally(np.zeros((3, 4), np.int64)), "year")


def test_a_number_is_one_number_in_the_table_and_in_what_scripts_round_again():
    values = np.concatenate([np.linspace(-3, 3, 6001), 304 + np.arange(-8, 8) / 16, [305.457]])
    for value, tenth in zip(values.tolist(), tenths(values).tolist(), strict=True):
        assert math.floor(tenth + 0.5) == round(value) == -math.floor(0.5 - tenth)  # a half goes up, or away from it
        assert abs(tenth - value) <= 0.1 + 1e-9
        assert round(tenth, 1) == tenth
