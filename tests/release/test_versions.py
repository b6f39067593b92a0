"""A release that replaces another says which, and what that cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from small_worlds import days_and_places, simulated
from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.errors import PlanMismatch, SettingError
from tacit.mechanisms.registry import plan_for
from tacit.release import Release, Version

COUNTS = np.random.default_rng(3).poisson(8, (10, 4))
PLAN, EARLY = simulated(COUNTS)
_, LATE = simulated(np.random.default_rng(4).poisson(1, (10, 4)), seed=2)


def released(tally, **settings):
    return Release.of(PLAN, estimate_tally(tally, PLAN), **settings)


def test_late_reports_make_a_second_version_that_names_the_first(tmp_path):
    first = released(EARLY)
    first.write(tmp_path / "1.parquet")
    former = Release.read(tmp_path / "1.parquet")
    second = released(EARLY + LATE, revises=former)
    second.write(tmp_path / "2.parquet")
    again = Release.read(tmp_path / "2.parquet")
    assert again.version == second.version == Version(2, first.checksum)
    assert again.checksum == second.checksum
    text = again.statement.text()
    assert "This is version 2. It replaces version 1" in text
    assert first.checksum[:12] in text
    assert "nothing more" in text
    assert again.statement.total_epsilon == first.statement.total_epsilon
    assert released(EARLY, revises=again).version.number == 3
    assert again.coarsen(time="month").version == again.version
    assert "version 2" in again.coarsen(time="month").statement.text()


def test_the_first_version_speaks_of_none():
    assert "ersion" not in released(EARLY).statement.text()
    assert released(EARLY).version == Version(1, "")


def test_a_release_of_another_plan_is_not_revised():
    other = plan_for(days_and_places(10, 4), f=0.4)
    tally = Tally(Provenance(other.fingerprint), EARLY.statistics, EARLY.reports)
    with pytest.raises(PlanMismatch, match="another plan"):
        Release.of(other, estimate_tally(tally, other), revises=released(EARLY))


def test_a_curators_revision_says_that_it_was_paid_for_again():
    version = Version(2, "ab" * 32)
    assert "paid for again" in version.words(is_central=True, is_alone=False)
    assert "add what that one cost" in version.words(is_central=True, is_alone=True)


def test_a_revision_of_events_randomized_again_does_not_claim_to_cost_nothing():
    words = Version(2, "abc").words(is_central=False, is_alone=False)
    assert "nothing more" not in words
    assert "more than once" in words


def test_simulations_and_real_releases_do_not_replace_each_other():
    real = Tally(Provenance(PLAN.fingerprint), EARLY.statistics, EARLY.reports)
    with pytest.raises(SettingError, match="was a simulation, and this is not"):
        released(real, revises=released(EARLY))
    with pytest.raises(SettingError, match="was not a simulation, and this is one"):
        released(EARLY, revises=released(real))


@pytest.mark.parametrize("by", [None, "month"])
def test_reports_that_are_gone_are_counted_at_the_resolution_of_the_former(tmp_path, by):
    """Whatever the periods of the new one."""
    fewer = replace(EARLY, statistics=EARLY.statistics[:9], reports=EARLY.reports[:9])
    former = released(EARLY + LATE)
    found = released(fewer, revises=former, by=by)
    expected = np.count_nonzero(np.append(EARLY.reports[:9], 0) < (EARLY + LATE).reports)
    assert found.version.n_fewer == expected
    assert f"{expected} public numbers of reports are smaller" in found.statement.text()
    assert "nothing more" in found.statement.text()
    found.write(tmp_path / "2.parquet")
    assert Release.read(tmp_path / "2.parquet").version == found.version
    assert released(EARLY + LATE, revises=released(EARLY)).version.n_fewer == 0
    assert released(fewer, revises=released(EARLY + LATE, by="month")).version.n_fewer == 1


def test_reports_that_were_replaced_are_noticed_and_not_said_to_cost_nothing(tmp_path):
    """As many reports, but randomized again."""
    _, again = simulated(COUNTS, seed=9)
    former = released(EARLY, by="month")
    former.write(tmp_path / "1.parquet")
    found = released(again, revises=Release.read(tmp_path / "1.parquet"))
    assert (found.version.n_fewer, found.version.n_other) == (0, 1)
    assert "1 public number of reports is the same as in that one, but of other reports" in found.statement.text()
    assert "nothing more" not in found.statement.text()
    days = released(again, revises=released(EARLY))
    assert 5 <= days.version.n_other <= 10
    found.write(tmp_path / "2.parquet")
    assert Release.read(tmp_path / "2.parquet").version == found.version


def test_later_versions_do_not_forget_that_reports_were_replaced(tmp_path):
    """Nor claim that all of them cost events nothing more."""
    _, again = simulated(COUNTS, seed=9)
    second = released(again, revises=released(EARLY))
    third = released(again, revises=second)
    fourth = released(again + LATE, revises=third)
    for found in (third, fourth):
        assert (found.version.n_other, found.version.replaced_in) == (0, 2)
        assert "In version 2 reports were replaced" in found.statement.text()
        assert "nothing more" not in found.statement.text()
        assert not found.version.costs_nothing_more
    fourth.write(tmp_path / "4.parquet")
    assert Release.read(tmp_path / "4.parquet").version == fourth.version
