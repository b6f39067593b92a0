"""Which periods a survey takes reports for, and what a message adds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from service_worlds import DAYS, NOON, TODAY, message, survey_of
from tacit.collection.wire import MessageFormat
from tacit.counts.provenance import Provenance
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import FormatError, PlanMismatch, SettingError
from tacit.mechanisms.registry import plan_for
from tacit.randomness import SeededRandomness
from tacit.service.refusals import Reason, Refused
from tacit.service.survey import Survey


@pytest.mark.parametrize(("late", "first"), [(0, TODAY), (1, TODAY - 1), (100, 0)])
def test_reports_are_taken_in_their_period_and_in_the_late_ones_after_it(late, first):
    survey = survey_of(late=late)
    assert survey.taken(NOON) == range(first, TODAY + 1)
    for day in range(first, TODAY + 1):
        assert survey.addition(message(survey, [day]), NOON).periods == (day, day)


@pytest.mark.parametrize(
    ("days", "reason"),
    [
        ([TODAY + 1], Reason.EARLY),
        ([TODAY, TODAY + 1], Reason.EARLY),
        ([TODAY - 2], Reason.LATE),
        ([0, TODAY], Reason.LATE),
    ],
)
def test_a_message_with_one_report_that_is_not_taken_is_refused_whole(days, reason):
    survey = survey_of(late=1)
    with pytest.raises(Refused) as refused:
        survey.addition(message(survey, days), NOON)
    assert refused.value.reason is reason


def test_the_period_is_that_of_the_plans_zone():
    paris = Domain(TimeAxis("2026-11-01", "day", "Europe/Paris"), DAYS.place)
    evening = datetime(2026, 11, 17, 23, 30, tzinfo=UTC)
    assert survey_of(paris, late=0).taken(evening) == range(TODAY + 1, TODAY + 2)
    assert survey_of(late=0).taken(evening) == range(TODAY, TODAY + 1)


def test_before_the_first_period_and_long_after_the_last_nothing_is_taken():
    ended = survey_of(Domain(TimeAxis.between("2026-11-01", "2026-11-20"), DAYS.place), late=2)
    assert not ended.taken(datetime(2026, 10, 31, tzinfo=UTC))
    assert list(ended.taken(datetime(2026, 11, 21, tzinfo=UTC))) == [18, 19]
    assert list(ended.taken(datetime(2026, 11, 22, tzinfo=UTC))) == [19]
    assert not ended.taken(datetime(2026, 11, 23, tzinfo=UTC))


def test_a_private_time_is_one_period_as_long_as_the_axis():
    domain = Domain(TimeAxis.between("2026-11-01", "2026-11-20"), PlaceAxis.of(["north", "south"]))
    survey = Survey("visits", MessageFormat.of(plan_for(domain, epsilon=1.0, private=("time", "place"))), late=2)
    days = [datetime(2026, 11, 1, tzinfo=UTC) + timedelta(days=n) for n in (-1, 0, 19, 20, 21, 22)]
    assert [list(survey.taken(day)) for day in days] == [[], [0], [0], [0], [0], []]
    added = survey.addition(message(survey, [4, 18], [0, 1]), NOON)
    assert (added.bins.tolist(), added.periods) == ([0], (0, 0))


def test_what_a_message_adds_is_its_tally():
    survey = survey_of()
    data = message(survey, [TODAY] * 40 + [TODAY - 1] * 7, np.arange(47) % 17)
    added, tally = survey.addition(data, NOON), survey.form.tally(survey.form.parse(data))
    assert added.bins.tolist() == [TODAY - 1, TODAY]
    assert added.statistics.tolist() == tally.statistics[[TODAY - 1, TODAY]].tolist()
    assert added.run_lengths.tolist() == [7, 40]


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ({"is_simulation": True, "prior_epsilon": 0.0}, Reason.LABEL),
        ({"is_simulation": False, "prior_epsilon": 0.5}, Reason.LABEL),
    ],
)
def test_simulated_reports_and_events_that_were_randomized_before_are_refused(label, reason):
    survey = survey_of()
    reports = survey.form.mechanism.randomize(np.array([3]), randomness=SeededRandomness(1))
    data = survey.form.encode(np.array([TODAY]), reports, Provenance.of_reports(survey.form.plan_id, **label))
    with pytest.raises(Refused) as refused:
        survey.addition(data, NOON)
    assert refused.value.reason is reason


def test_a_simulation_takes_simulated_reports_alone():
    survey = survey_of(is_simulation=True)
    data = survey.form.randomize(np.array([TODAY]), np.array([1]), randomness=SeededRandomness(1))
    assert survey.addition(data, NOON).n_reports == 1
    with pytest.raises(Refused, match="simulated reports alone"):
        survey.addition(message(survey, [TODAY]), NOON)


def test_other_plans_damage_and_empty_messages_are_refused():
    survey, other = survey_of(), survey_of(epsilon=3.0)
    with pytest.raises(PlanMismatch):
        survey.addition(message(other, [TODAY]), NOON)
    with pytest.raises(FormatError):
        survey.addition(message(survey, [TODAY])[:-1], NOON)
    with pytest.raises(Refused, match="no report"):
        survey.addition(message(survey, []), NOON)


@pytest.mark.parametrize("name", ["", "Visits", "a b", "../up", "a" * 65, "-a", "a-", "a/b"])
def test_a_name_that_cannot_stand_in_an_address_is_refused(name):
    with pytest.raises(SettingError, match="small letters"):
        Survey(name, survey_of().form)


def test_public_coordinates_in_words_are_the_bins_of_numbers():
    domain = Domain(
        TimeAxis("2026-11-01", "day", "Europe/Paris"), PlaceAxis.of(["a", "b"]), KindAxis.of(["x", "y", "z"])
    )
    survey = Survey("visits", MessageFormat.of(plan_for(domain, epsilon=1.0, private=("kind",))))
    assert survey.bin_of("2026-11-17T23:30+00:00", "b", None) == 17 * 2 + 1
    assert survey.bin_of("2026-11-17T23:30", "b", None) == 16 * 2 + 1
    assert survey.bin_of("2026-11-17", "a", None) == 16 * 2
    for time, place, kind in (
        ("2026-11-17", None, None),
        ("2026-11-17", "a", "x"),
        (None, "a", None),
        ("2026-11-17", "c", None),
        ("soon", "a", None),
        ("2026-10-17", "a", None),
        ("9999-12-31T23:59-23:00", "a", None),
    ):
        with pytest.raises(Refused) as refused:
            survey.bin_of(time, place, kind)
        assert refused.value.reason is Reason.MALFORMED


def test_short_periods_close_up_to_one_that_is_named_by_the_moment_it_begins_at():
    hours = survey_of(Domain(TimeAxis("2026-11-17", "hour", "Europe/Paris"), DAYS.place))
    slots = survey_of(Domain(TimeAxis.between("2026-11-17", "2026-11-18", "6 hours"), DAYS.place))
    for survey, until, n_periods in (
        (hours, "2026-11-16T23:00Z", 1),
        (hours, "2026-11-17T09:00+01:00", 10),
        (slots, "2026-11-17T06:00Z", 2),
    ):
        assert survey.n_periods_through(until, NOON) == n_periods
    for survey, until, said in (
        (hours, "2026-11-17", "begins"),
        (hours, "2026-11-17T09", "begins"),
        (hours, "2026-11-17T09:00", "begins"),  # of which zone?
        (hours, "2026-11-17T09:30+01:00", "begins"),
        (hours, "2026-11-17T09:00 01:00", "%2B"),
        (slots, "2026-11-17T07:00Z", "begins"),
        (slots, "2026-11-17T18:00Z", "a period that has begun"),
        (slots, "2026-11-19T00:00Z", "a period that has begun"),
    ):
        with pytest.raises(Refused, match=said):
            survey.n_periods_through(until, NOON)
