"""Releases of neighbouring periods join to one: numbers, errors and statement."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.counts.noise import JoinedNoise
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import PlanError, SettingError
from tacit.forecast import series_of
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.privacy.ledger import Spend
from tacit.release import Release, Rules
from tacit.release.joining import join

PLACES = PlaceAxis.of(["north", "south"])
SPANS = (("2018-01-01", "2018-01-31"), ("2018-02-01", "2018-02-28"), ("2018-03-01", "2018-03-31"))


def released(first, last, *, places=PLACES, kind=None, seed=1, rules=None, level=0.95, **settings):
    domain = Domain(TimeAxis.between(first, last), places, kind)
    plan = central_plan_for(domain, **{"epsilon": 1.0, "mechanism": "tree", **settings})
    mechanism = central_mechanism_of(plan)
    counts = ExactTally(np.full(domain.shape, 7))
    estimate = mechanism.measure(counts, plan, spend=Spend.simulation(mechanism.cost, seed=seed))
    return Release.of(plan, estimate, rules=rules, level=level)


@pytest.fixture(scope="module")
def parts():
    return [released(*span, seed=seed) for seed, span in enumerate(SPANS)]


@pytest.fixture(scope="module")
def whole(parts):
    return join([parts[2], parts[0], parts[1]])


def test_numbers_stand_one_after_another_in_time(parts, whole):
    assert whole.domain.time.days == ("2018-01-01", "2018-03-31")
    assert np.array_equal(whole.unbiased.values, np.concatenate([part.unbiased.values for part in parts]))
    assert whole.is_simulation


def test_a_question_within_one_part_has_that_parts_answer(parts, whole):
    for part, (first, last) in zip(parts, SPANS, strict=True):
        own = part.answer(first=first, last=last, places=["south"])
        found = whole.answer(first=first, last=last, places=["south"])
        assert (found.value, found.standard_error) == pytest.approx((own.value, own.standard_error))
        assert (found.lower, found.upper) == (own.lower, own.upper)


def test_the_variance_of_a_question_across_parts_is_the_sum_of_theirs(parts, whole):
    found = whole.answer(first="2018-01-20", last="2018-03-10")
    pieces = [("2018-01-20", "2018-01-31"), SPANS[1], ("2018-03-01", "2018-03-10")]
    answers = [part.answer(first=a, last=b) for part, (a, b) in zip(parts, pieces, strict=True)]
    assert found.value == pytest.approx(sum(one.value for one in answers))
    assert found.standard_error**2 == pytest.approx(sum(one.standard_error**2 for one in answers))
    assert found.lower < found.value < found.upper


def test_months_and_quarters_of_the_whole_are_sums_with_their_errors(parts, whole):
    months = whole.coarsen(time="month")
    for month, part in enumerate(parts):
        own = part.coarsen(time="month").unbiased
        assert months.unbiased.values[month] == pytest.approx(own.values[0])
        assert months.unbiased.noise.standard_errors()[month] == pytest.approx(own.noise.standard_errors()[0])
    year = whole.coarsen(time="year").unbiased
    squares = [np.square(part.coarsen(time="year").unbiased.noise.standard_errors()) for part in parts]
    assert np.square(year.noise.standard_errors()) == pytest.approx(sum(squares))


def test_a_joined_release_is_read_back_and_joined_on(parts, whole, tmp_path):
    whole.write(tmp_path / "whole.parquet")
    again = Release.read(tmp_path / "whole.parquet")
    box = {"first": "2018-01-15", "last": "2018-03-15", "places": ["north"]}
    assert again.answer(**box) == whole.answer(**box)
    april = released("2018-04-01", "2018-04-30", seed=9)
    longer = join([again, april])
    assert longer.plan == join([*parts, april]).plan
    assert isinstance(longer.unbiased.noise, JoinedNoise)
    assert len(longer.unbiased.noise.parts) == 4


def test_the_whole_costs_an_event_what_a_part_costs(parts, whole):
    assert whole.statement.epsilon == parts[0].statement.epsilon == 1.0
    assert "one after another" in whole.statement.text()


def test_nothing_can_be_counted_under_a_joined_plan(whole):
    with pytest.raises(PlanError):
        central_mechanism_of(whole.plan)


def test_a_joined_release_can_be_forecast(whole):
    assert len(series_of(whole)) == 90


def test_tables_of_kinds_join():
    kind = KindAxis.of(["fire", "flood"])
    parts = [released(*span, kind=kind, mechanism="tables", seed=seed) for seed, span in enumerate(SPANS[:2])]
    whole = join(parts)
    found = whole.answer(first="2018-01-31", last="2018-02-01", kinds=["fire"])
    errors = [
        parts[0].answer(first="2018-01-31", last="2018-01-31", kinds=["fire"]).standard_error,
        parts[1].answer(first="2018-02-01", last="2018-02-01", kinds=["fire"]).standard_error,
    ]
    assert found.standard_error**2 == pytest.approx(sum(error**2 for error in errors))
    months = whole.coarsen(time="month", kind="all").unbiased.noise.standard_errors()
    own = parts[1].coarsen(time="month", kind="all").unbiased.noise.standard_errors()
    assert months[1] == pytest.approx(own[0])


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"epsilon": 2.0}, "epsilon"),
        ({"places": PlaceAxis.of(["north", "west"])}, "the same places"),
        ({"unit": "user-day", "most": 3}, "protected_unit"),
        ({"level": 0.9}, "level of intervals"),
    ],
)
def test_releases_that_differ_are_not_joined(parts, other, words):
    with pytest.raises(SettingError, match=words):
        join([parts[0], released(*SPANS[1], **other)])


@pytest.mark.parametrize("span", [("2018-02-02", "2018-02-28"), ("2018-01-31", "2018-02-28"), SPANS[0]])
def test_releases_of_periods_that_are_apart_or_overlap_are_not_joined(parts, span):
    with pytest.raises(SettingError, match="neighbouring"):
        join([parts[0], released(*span)])


def test_releases_without_the_counts_that_rules_removed_are_not_joined(parts):
    rules = Rules.parse(suppress=("count < 1000",))
    with pytest.raises(SettingError, match="suppressed"):
        join([parts[0], released(*SPANS[1], rules=rules)])


def test_a_persons_window_must_lie_in_one_part():
    person = {"unit": "person", "most": 2, "window": "month"}
    months = [released(*span, **person) for span in SPANS[:2]]
    assert join(months).statement.epsilon == 1.0
    halves = [released("2018-01-01", "2018-01-15", **person), released("2018-01-16", "2018-01-31", **person)]
    with pytest.raises(SettingError, match="their costs add up"):
        join(halves)
    endless = [released(*span, unit="person", most=2) for span in SPANS[:2]]
    with pytest.raises(SettingError, match="all days"):
        join(endless)


def test_days_are_joined_where_a_day_of_a_person_is_protected():
    days = [released(*span, unit="user-day", most=2) for span in SPANS[:2]]
    assert join(days).domain.shape[0] == 59
