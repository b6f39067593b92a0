"""From a release to a series: what was not counted in full is never taken for a count."""

from __future__ import annotations

import numpy as np
import pytest

from small_series import PLACES, small_counts
from small_worlds import simulated_estimate
from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.forecast.past import series_of
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.release import Release, Rules


def released(n_days: int = 40, **settings) -> Release:
    domain = Domain(TimeAxis("2018-01-10", "day", "UTC", n_days), PlaceAxis.of(PLACES))
    return Release.of(*simulated_estimate(small_counts(n_days=n_days), domain=domain), refine="raw", **settings)


def test_a_release_gives_its_unbiased_counts_and_its_checksum():
    release = released()
    series = series_of(release)
    assert series.values == pytest.approx(release.unbiased.values, abs=20)
    assert series.totals.tolist() == small_counts(n_days=40).sum(axis=1).tolist()
    assert series.origin == release.checksum
    assert series.is_simulation


def test_days_without_data_are_missing():
    rules = Rules.parse(missing=("2018-01-20/2018-01-24",))
    assert np.flatnonzero(~series_of(released(rules=rules)).counted).tolist() == [10, 11, 12, 13, 14]


def test_a_month_counted_in_part_is_no_month():
    series = series_of(released(120, by="month"))  # from 10 January to 9 May
    assert series.domain.time.labels()[1:] == ["2018-02", "2018-03", "2018-04"]
    assert series.counted.tolist() == [False, True, True, True]


def test_counts_that_were_removed_are_refused():
    release = released(rules=Rules.parse(suppress=("count < 10",)))
    with pytest.raises(SettingError, match="suppressed"):
        series_of(release)


def test_a_release_that_hides_times_is_refused():
    plan = plan_for(
        Domain(TimeAxis("2018-01-10", "day", "UTC", 8), PlaceAxis.of(PLACES)), epsilon=2.0, private=("time",)
    )
    mechanism = mechanism_of(plan)
    statistics = np.full((3, mechanism.n_statistics), 20)
    estimate = estimate_tally(Tally(Provenance(plan.fingerprint), statistics, np.full(3, 60)), plan)
    with pytest.raises(SettingError, match="hides the time"):
        series_of(Release.of(plan, estimate, refine="raw"))


def test_a_single_period_is_too_little():
    with pytest.raises(SettingError, match="at least 2 periods"):
        series_of(released(1))
