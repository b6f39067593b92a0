"""Zero, suppressed and missing are three things, in the table as in the release; what is suppressed is gone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from old_formats import as_before_the_third_format, document_of, put_document
from small_worlds import days_and_places, simulated_estimate
from tacit.collection.tallying import estimate_tally
from tacit.counts.noise import OracleNoise
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import TimeAxis
from tacit.errors import NotShown, SettingError
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.randomness import SeededRandomness
from tacit.release import Release, Rule, Rules
from tacit.release.files import _checksum
from tacit.release.release import BLANKED
from tacit.release.rules import without_cells
from tacit.release.statement import PrivacyStatement
from tacit.statespace.posterior_noise import FilteredNoise
from tacit.statespace.smoothed_noise import SmoothedNoise
from tacit.statespace.state_space import StateSpace

COUNTS = np.random.default_rng(3).poisson([30, 8, 2, 0], (20, 4))
COUNTS[7] = 0
PLAN, ESTIMATE = simulated_estimate(COUNTS, f=0.2)
RULES = Rules.parse(
    suppress=("relative error > 0.5",), grey=("count < 10", "relative error > 0.25"), missing=("2018-01-03/2018-01-05",)
)


KEPT = replace(RULES, keep_suppressed=True)


@pytest.fixture
def release():
    return Release.of(PLAN, ESTIMATE, refine="project", rules=RULES)


@pytest.fixture
def kept():
    return Release.of(PLAN, ESTIMATE, refine="project", rules=KEPT)


def test_rules_mean_what_they_say(release):
    columns, plain = release.columns(), Release.of(PLAN, ESTIMATE, refine="project").columns()
    count = plain["unbiased"]  # projected counts have no interval, so these are shown first
    no_count = np.where(plain["standard_error"] > 0, np.inf, 0.0)
    relative = np.divide(plain["standard_error"], count, out=no_count, where=count > 0)
    day = np.repeat(np.arange(20), 4)
    is_missing = (day >= 2) & (day <= 4)
    suppressed = ~is_missing & (relative > 0.5)
    greyed = ~is_missing & ~suppressed & ((count < 10) | (relative > 0.25))
    expected = np.select([is_missing, suppressed, greyed], ["missing", "suppressed", "greyed"], "shown")
    np.testing.assert_array_equal(columns["status"].astype(str), expected)
    assert {"missing", "suppressed", "greyed", "shown"} == set(expected)
    for name in BLANKED:
        if name in columns:
            np.testing.assert_array_equal(np.isnan(columns[name]), is_missing | suppressed)


def test_blank_zero_and_missing_differ_in_the_file(tmp_path, release):
    path = tmp_path / "r.parquet"
    release.write(path)
    table = pd.read_parquet(path)
    # a day without a report is known to be zero
    zero = table[(table["period"] == "2018-01-08")]
    assert (zero["refined"] == 0).all()
    assert set(zero["status"]) == {"greyed"}
    for status in ("suppressed", "missing"):
        rows = table[table["status"] == status]
        assert len(rows)
        assert rows[["unbiased", "standard_error", "lower", "upper", "refined"]].isna().all().all()
        assert not rows["reliable"].any()
    assert set(table.loc[table["status"] == "missing", "days_missing"]) == {1}
    assert set(table.loc[table["status"] != "missing", "days_missing"]) == {0}
    again = Release.read(path)
    assert again.rules == RULES
    assert again.checksum == release.checksum
    again.write(tmp_path / "again.parquet")
    assert Release.read(tmp_path / "again.parquet").checksum == release.checksum


def test_what_is_suppressed_is_gone_from_the_file_unless_it_is_kept(tmp_path, release, kept):
    is_suppressed = release.statuses() == "suppressed"
    for made in (release, kept):
        made.write(tmp_path / "r.parquet")
        again = Release.read(tmp_path / "r.parquet")
        for values, before in ((again.unbiased.values, ESTIMATE.values), (again.refined.values, kept.refined.values)):
            expected = np.where(is_suppressed, np.nan, before) if made is release else before
            np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(again.statuses(), kept.statuses())
        for name, column in made.columns().items():
            np.testing.assert_array_equal(again.columns()[name], column)
    assert "not in this release" in release.statement.text()
    assert "still holds them" in kept.statement.text()
    assert "relative error > 0.5" in kept.statement.text()
    assert "left out" not in Release.of(PLAN, ESTIMATE, refine="project").statement.text()


def test_noise_that_depends_on_counts_does_not_give_them_away():
    """Subset selection: the model holds estimated counts, of which those suppressed are evened out."""
    plan = plan_for(days_and_places(20, 4), epsilon=3.0, mechanism="response")
    mechanism, per_day = mechanism_of(plan), COUNTS.sum(axis=1)
    reports = mechanism.randomize(np.repeat(np.tile(np.arange(4), 20), COUNTS.ravel()), randomness=SeededRandomness(1))
    tally = Tally(Provenance(plan.fingerprint), mechanism.statistics(reports, per_day), per_day)
    estimate = estimate_tally(tally, plan)
    rules = Rules.parse(suppress=("count < 10",))
    plain, made = (
        Release.of(plan, estimate, refine="project"),
        Release.of(plan, estimate, refine="project", rules=rules),
    )
    assert isinstance(made.unbiased.noise, OracleNoise)
    is_gone = np.isnan(made.unbiased.values)
    for row, gone in zip(made.unbiased.noise.counts, is_gone, strict=True):
        assert len(set(row[gone].round(9))) <= 1
    np.testing.assert_allclose(made.unbiased.noise.counts.sum(axis=1), plain.unbiased.noise.counts.sum(axis=1))
    for name in ("standard_error", "lower", "upper"):
        shown = ~is_gone.ravel()
        np.testing.assert_allclose(made.columns()[name][shown], plain.columns()[name][shown])


@pytest.mark.parametrize("by", [None, "month"])
def test_the_model_of_smoothed_counts_does_not_give_them_away(by):
    """How much a day varies is nearly its count: the model holds one number for all that are removed of a day."""
    counts = np.random.default_rng(5).poisson([60, 12, 6, 2, 1], (120, 5))
    plan, estimate = simulated_estimate(counts, f=0.05)
    rules = Rules.parse(suppress=("count < 15",) if by is None else ("count < 300",))
    plain = Release.of(plan, estimate, refine="smooth", by=by)
    made = Release.of(plan, estimate, refine="smooth", by=by, rules=rules)
    is_gone = np.isnan(made.refined.values)
    noise, fine = made.refined.noise, is_gone
    if by is not None:
        noise, fine = noise.base, noise.grouping.fine(is_gone.astype(float)) > 0
    assert isinstance(noise, SmoothedNoise)
    assert (fine.sum(axis=1) > 1).all()
    for variances in (noise.model.process_variance, noise.model.noise_variance):
        np.testing.assert_allclose(
            variances.min(axis=1, where=fine, initial=np.inf), variances.max(axis=1, where=fine, initial=0)
        )
    for of_places in (
        noise.model.state_variances,
        noise.model.coefficient_variances,
        noise.share_weights,
        noise.count_weights,
    ):
        assert len(np.unique(of_places[fine.all(axis=0)], axis=0)) == 1
    for of_places in (noise.share_weights, noise.count_weights):
        assert of_places.sum() == pytest.approx(1.0)
    errors = made.refined.noise.standard_errors() / plain.refined.noise.standard_errors()
    np.testing.assert_allclose(errors[~is_gone], 1.0, rtol=0.05)


@pytest.mark.parametrize("by", [None, "month"])
@pytest.mark.parametrize("is_shared", [True, False])
def test_filtered_counts_do_not_give_them_away(by, is_shared):
    """Gains, variances and skewness follow the counts: one number for all that are removed of a day, or of all days."""
    counts = np.random.default_rng(5).poisson([60, 12, 6, 2, 1], (120, 5))
    plan, estimate = simulated_estimate(counts, f=0.05)
    if not is_shared:
        estimate = replace(estimate, totals=None)
    rules = Rules.parse(suppress=("count < 15",) if by is None else ("count < 300",))
    plain = Release.of(plan, estimate, refine="filter", by=by)
    made = Release.of(plan, estimate, refine="filter", by=by, rules=rules)
    is_gone = np.isnan(made.refined.values)
    noise, fine = made.refined.noise, is_gone
    if by is not None:
        noise, fine = noise.base, noise.grouping.fine(is_gone.astype(float)) > 0
    assert isinstance(noise, FilteredNoise)
    assert noise.is_shared == is_shared
    rows = fine if is_shared else fine.reshape(1, -1)
    assert (rows.sum(axis=1) > 1).all()
    for part in (noise.gains, noise.share_variance, noise.count_variance, noise.count_skew):
        part = part.reshape(rows.shape)
        least, most = part.min(axis=1, where=rows, initial=np.inf), part.max(axis=1, where=rows, initial=-np.inf)
        np.testing.assert_allclose(least, most)
    assert noise.offsets is None or not noise.offsets[fine].any()
    errors = made.refined.noise.standard_errors() / plain.refined.noise.standard_errors()
    np.testing.assert_allclose(errors[~is_gone], 1.0, rtol=0.05)


def test_a_curators_model_of_smoothed_counts_holds_one_number_for_all_that_are_removed():
    """Not even their sum per day is public."""
    counts = np.random.default_rng(5).poisson([60, 12, 6, 2], (120, 4))
    noise = SmoothedNoise(
        StateSpace(
            np.ones(120),
            counts + 1.0,
            np.full((120, 4), 2.0),
            np.zeros((120, 0)),
            np.ones((4, 3)),
            0.5,
            np.zeros((4, 0)),
            np.zeros((1, 1)),
        )
    )
    is_gone = counts < 10
    _, estimate = simulated_estimate(counts)
    found = without_cells(replace(estimate, noise=noise), is_gone).noise
    assert len(np.unique(found.model.process_variance[is_gone].round(9))) == 1
    np.testing.assert_array_equal(found.model.process_variance[~is_gone], noise.model.process_variance[~is_gone])


def test_suppressed_counts_are_not_answered_and_public_numbers_are(release, kept):
    (day, place), *_ = np.argwhere(release.statuses() == "suppressed")
    label, name = release.domain.time.label(int(day)), release.domain.place.cells[place]
    for made in (release, kept):
        for asked in ({}, {"measured": True}):
            with pytest.raises(NotShown, match="suppressed"):
                made.answer(first=label, last=label, places=[name], **asked)
        assert made.answer().value == COUNTS.sum()
        with pytest.raises(NotShown, match="no data"):
            made.answer(first="2018-01-03", last="2018-01-05")
    with pytest.raises(NotShown, match="gone from this release"):
        release.answer(places=[name])
    (shown,) = np.flatnonzero((release.statuses()[9:11, :1] == "shown").all(axis=0))
    asked = {"first": "2018-01-10", "last": "2018-01-11", "places": [f"place {shown}"]}
    assert release.answer(**asked) == kept.answer(**asked) == Release.of(PLAN, ESTIMATE).answer(**asked)
    assert kept.answer(places=["place 1"]) == Release.of(PLAN, ESTIMATE).answer(places=["place 1"])


def test_answers_are_smoothed_where_that_has_an_interval_unless_measured_ones_are_asked_for():
    smooth = Release.of(PLAN, ESTIMATE, refine="smooth")
    asked = {"first": "2018-01-02", "last": "2018-01-09", "places": ["place 1"]}
    found, measured = smooth.answer(**asked), smooth.answer(**asked, measured=True)
    assert found.value == pytest.approx(smooth.refined.values[1:9, 1].sum())
    assert measured.value == pytest.approx(ESTIMATE.values[1:9, 1].sum())
    assert found.standard_error < measured.standard_error
    assert smooth.basis == "smoothed"
    for refine in ("project", "raw"):
        plain = Release.of(PLAN, ESTIMATE, refine=refine)
        assert plain.answer(**asked) == plain.answer(**asked, measured=True) == measured
        assert plain.basis == "measured"


def test_a_number_of_reports_that_is_the_count_is_suppressed_with_it():
    counts = np.array([[3], [40], [2]])
    plan, estimate = simulated_estimate(np.hstack([counts, counts]))
    one = replace(estimate.domain, place=estimate.domain.place.of(["all"]))
    alone = replace(
        estimate, domain=one, values=2.0 * counts, noise=estimate.noise.coarsen(estimate.domain.coarsen(place="all")[1])
    )
    made = Release.of(plan, alone, refine="project", rules=Rules.parse(suppress=("count < 10",)))
    assert made.columns()["status"].tolist() == ["suppressed", "shown", "suppressed"]
    np.testing.assert_array_equal(made.columns()["reports"], [np.nan, 80, np.nan])
    with pytest.raises(NotShown, match="suppressed"):
        made.answer(first="2018-01-01", last="2018-01-01")


def test_files_of_the_first_format_hold_what_they_suppress(tmp_path, kept):
    kept.write(tmp_path / "r.parquet")
    about = document_of(tmp_path / "r.parquet")
    statement = replace(kept.statement, suppressed=(), keeps_suppressed=False)
    about = as_before_the_third_format(about | {"statement": statement.to_dict()}) | {"format": 1}
    del about["rules"]["keep_suppressed"]
    columns = {name: column for name, column in kept.columns().items() if name != "days_missing"}
    about["checksum"] = _checksum(about, columns)
    put_document(tmp_path / "r.parquet", about, without=("days_missing",))
    old = Release.read(tmp_path / "r.parquet")
    assert old.rules == KEPT
    assert isinstance(old.statement, PrivacyStatement)
    np.testing.assert_array_equal(old.unbiased.values, ESTIMATE.values)


def test_without_rules_there_is_no_status():
    assert "status" not in Release.of(PLAN, ESTIMATE).columns()


def test_months_are_judged_by_their_own_errors(kept):
    months = kept.coarsen(time="month")
    assert months.rules == KEPT
    assert "suppressed" not in set(months.statuses()[:, 0])
    # a month that lacks three days was counted in part
    assert "missing" not in set(months.statuses().ravel())
    assert set(months.columns()["days_missing"]) == {3}
    whole = Rules.parse(missing=("2018-01-01/2018-01-31",))
    axis = Release.of(PLAN, ESTIMATE, by="month").domain.time
    assert set(whole.statuses(np.ones((1, 4)), np.ones((1, 4)), axis).ravel()) == {"missing"}


@pytest.mark.parametrize("text", ["", "count > 10", "relative error < 0.5", "count < x", "error > 1", "count < -1"])
def test_a_rule_that_is_none_is_refused(text):
    with pytest.raises(SettingError, match="a rule must read"):
        Rule.parse(text)


def test_sums_over_what_is_gone_are_suppressed_too(release):
    smooth = Release.of(PLAN, ESTIMATE, refine="smooth", rules=RULES)
    is_gone = (smooth.statuses() == "suppressed").any(axis=0)
    assert 0 < is_gone.sum() < 4
    months = smooth.coarsen(time="month")
    np.testing.assert_array_equal(months.statuses()[0] == "suppressed", is_gone)
    np.testing.assert_array_equal(np.isnan(months.columns()["refined"]), is_gone)
    # projected days do not add up to months, and months cannot be projected without all places
    with pytest.raises(SettingError, match="keep_suppressed"):
        release.coarsen(time="month")
    assert release.coarsen(time="day") is release


@pytest.mark.parametrize("span", ["2018-03-05/2018-03-01", "2018-03-01/soon", "2018-03-01T05:00", ""])
def test_missing_days_are_days(span):
    with pytest.raises(SettingError, match="missing"):
        Rules.parse(missing=(span,))


@pytest.mark.parametrize(
    ("span", "days"),
    [
        ("2018-12", ("2018-12-01", "2018-12-31")),
        ("2018", ("2018-01-01", "2018-12-31")),
        ("2018-W10", ("2018-03-05", "2018-03-11")),
        (" 2018-03 / 2018-05-02 ", ("2018-03-01", "2018-05-02")),
    ],
)
def test_a_month_or_a_year_is_all_its_days(span, days):
    assert Rules.parse(missing=(span,)).missing == (days,)


@pytest.mark.parametrize("span", ["2017-12-31", "2018-01-15/2018-01-21", "2018", "2019"])
def test_missing_days_outside_the_time_are_refused(span):
    with pytest.raises(SettingError, match="2018-01-01 to 2018-01-20; got"):
        Release.of(PLAN, ESTIMATE, refine="project", rules=Rules.parse(missing=(span,)))


@pytest.mark.parametrize("day", ["2020-02-30", "2020-13-01", "2020-00-10"])
def test_days_that_are_none_cannot_be_missing(day):
    with pytest.raises(SettingError, match="missing days must read"):
        Rules(missing=((day, day),))


def test_a_month_with_some_missing_days_is_missing_in_part():
    months = TimeAxis.between("2020-01-01", "2020-06-30", step="month")
    rules = Rules(missing=(("2020-02-10", "2020-04-05"), ("2020-02-01", "2020-02-12")))
    assert np.flatnonzero(rules.missing_bins(months)).tolist() == [1, 2]
    assert np.flatnonzero(rules.missing_bins(months, partly=True)).tolist() == [3]
    assert rules.days_missing(months).tolist() == [0, 29, 31, 5, 0, 0]


def test_a_month_counted_in_part_is_missing_if_that_part_is():
    months = TimeAxis.between("2020-01-20", "2020-03-10", step="month")
    rules = Rules(missing=(("2020-01-20", "2020-01-31"), ("2020-03-01", "2020-03-10")))
    assert rules.missing_bins(months).tolist() == [True, False, True]


def test_hours_of_a_missing_day_are_missing():
    hours = TimeAxis.between("2020-01-01", "2020-01-02", step="6 hours")
    rules = Rules(missing=(("2020-01-02", "2020-01-02"),))
    assert rules.missing_bins(hours).tolist() == [False] * 4 + [True] * 4
