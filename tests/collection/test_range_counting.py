"""The thesis' four structures by its own vocabulary, with the epsilon they claim."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from tacit.collection import range_counting
from tacit.collection.range_counting import central_flat, continual_tree, local_flat, local_hierarchical
from tacit.errors import BudgetExhausted, DataError, SettingError, UndeclaredCopy
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger

N = 64
DATES = [(date(2014, 1, 1) + timedelta(n)).isoformat() for n in range(N)]
MANY_DATES = [(date(1980, 1, 1) + timedelta(n)).isoformat() for n in range((1 << 13) + 1)]
COUNTS = [100 + 7 * (n % 7) for n in range(N)]
FOUR = {
    "central flat": lambda epsilon, dates, counts, **how: central_flat(epsilon, dates, counts, **how),
    "continual tree": lambda epsilon, dates, counts, **how: continual_tree(epsilon, 4, dates, counts, **how),
    "local flat": lambda epsilon, dates, counts, **how: local_flat(epsilon, dates, counts, **how),
    "local hierarchical": lambda epsilon, dates, counts, **how: local_hierarchical(epsilon, 4, dates, counts, **how),
}
CENTRAL = ("central flat", "continual tree")
every_structure = pytest.mark.parametrize("name", FOUR)


@pytest.mark.false_failure(1e-8)
@every_structure
def test_a_range_is_answered_within_its_interval(name, seed):
    series = FOUR[name](1.0, DATES, COUNTS, seed=seed)
    answer = series.answer((DATES[10], DATES[40]), level=1 - 1e-9)
    assert answer.lower <= sum(COUNTS[10:41]) <= answer.upper
    assert series.answer((DATES[10], DATES[40])).standard_error < sum(COUNTS[10:41]) / 3  # it says something
    assert answer.is_simulation
    assert series.plan.epsilon == 1.0


@every_structure
def test_one_date_may_be_asked_alone_and_as_a_date_object(name):
    series = FOUR[name](1.0, DATES, COUNTS, seed=3)
    assert series.answer(DATES[5]) == series.answer((DATES[5],)) == series.answer(date.fromisoformat(DATES[5]))


@every_structure
def test_the_same_question_twice_has_the_same_answer_and_ranges_add_up(name):
    series = FOUR[name](1.0, DATES, COUNTS, seed=3)
    left, right, both = (
        series.answer(asked).value for asked in ((DATES[3], DATES[20]), (DATES[21], DATES[50]), (DATES[3], DATES[50]))
    )
    assert left + right == pytest.approx(both, abs=1e-6)
    assert series.answer((DATES[3], DATES[20])).value == left


@pytest.mark.false_failure(1e-8)
@every_structure
@pytest.mark.parametrize("gap", [1, 5])
def test_missing_dates_are_days_without_events(name, gap, seed):
    kept = [n for n in range(N) if not 20 <= n < 20 + gap]
    series = FOUR[name](1.0, [DATES[n] for n in kept], [COUNTS[n] for n in kept], seed=seed)
    assert series.estimate.values.shape == (N, 1)
    assert series.answer((DATES[20], DATES[19 + gap]), level=1 - 1e-9).lower == 0


@every_structure
def test_dates_in_any_order_are_the_same_series(name):
    order = np.random.default_rng(0).permutation(N)
    shuffled = FOUR[name](1.0, [DATES[n] for n in order], [COUNTS[n] for n in order], seed=3)
    assert np.array_equal(shuffled.estimate.values, FOUR[name](1.0, DATES, COUNTS, seed=3).estimate.values)


@every_structure
@pytest.mark.parametrize(
    ("dates", "counts", "words"),
    [
        (DATES[:3], [1, 2], "pairs"),
        ([], [], "pairs"),
        (DATES[:3], [1, -4711, 2], "position 2"),
        (DATES[:3], [1, float("nan"), 2], "position 2"),
        (DATES[:3], [1, 2, 47.11], "position 3"),
        (DATES[:3], ["4711", "1", "2"], "whole numbers"),
        (DATES[:3], np.array([1, 2, 4711j]), "whole numbers"),
        (DATES[:3], [[1], [2, 3], [4]], "pairs"),
        (DATES[:3], 4711, "pairs"),
        (DATES[:3], np.array([1, 2**63, 2], np.uint64), "position 2"),
        (DATES[:3], [1, 1e300, 2], "position 2"),
        (DATES[:3], [2**62, 2**62, 2**62], "position 1"),
        (DATES[:3], [1, 2, 2**40 + 1], r"from 0 to 2\*\*40"),
        (MANY_DATES, [2**40] * len(MANY_DATES), r"at most 2\*\*53"),
        ([DATES[0], DATES[1], DATES[0]], [1, 2, 3], "position 3"),
        ([DATES[0], "4711-13-40"], [1, 2], "position 2"),
    ],
)
def test_bad_series_are_refused_without_their_values_and_nothing_is_spent(name, dates, counts, words, tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(DataError, match=words) as refused:
        FOUR[name](1.0, dates, counts, ledger=ledger, data_set="visits")
    assert "4711" not in str(refused.value)
    assert "47.11" not in str(refused.value)
    assert ledger.history() == []


@every_structure
def test_reversed_or_foreign_ranges_are_refused(name):
    series = FOUR[name](1.0, DATES, COUNTS, seed=3)
    for asked in ((DATES[9], DATES[3]), ("2013-12-31", DATES[3]), (DATES[3], "2014-12-31"), ()):
        with pytest.raises(SettingError):
            series.answer(asked)


@pytest.mark.parametrize("name", CENTRAL)
def test_a_single_date_is_a_series_too(name):
    series = FOUR[name](1.0, DATES[:1], [500], seed=3)
    assert abs(series.answer(DATES[0]).value - 500) < 30


@pytest.mark.parametrize("name", ["local flat", "local hierarchical"])
def test_a_report_of_the_only_date_is_refused(name, tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(DataError, match="at least 2 dates"):
        FOUR[name](1.0, DATES[:1], [500], ledger=ledger, data_set="visits")
    assert ledger.history() == []


@pytest.mark.parametrize("degree", [1, 0, -1, 2.5])
def test_a_tree_of_no_degree_is_refused(degree):
    for structure in (continual_tree, local_hierarchical):
        with pytest.raises(SettingError, match="at least 2"):
            structure(1.0, degree, DATES, COUNTS, seed=1)


@pytest.mark.parametrize("name", sorted(set(FOUR) - set(CENTRAL)))
def test_reports_of_private_days_cover_days_without_events(name, tmp_path):
    """Which days have events is private: a statement that depended on it would tell."""
    ledger, counts = Ledger(tmp_path / "ledger.sqlite"), [0, *COUNTS[1:]]
    FOUR[name](1.0, DATES, counts, ledger=ledger, data_set="visits")
    empty, other = (ledger.remaining("visits", {DATES[day]: b""}).guarantee for day in (0, 1))
    assert empty == other
    assert empty.replacement.epsilon > 0


@pytest.mark.parametrize("name", CENTRAL)
def test_a_series_after_gaussian_noise_is_paid_beside_it(name, tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.set_budget("visits", epsilon=9.0, delta=1e-6)
    ledger.spend(data_set="visits", release="gaussian", cost=Cost.zcdp(0.1), days={DATES[5]: b"events"})
    FOUR[name](1.0, DATES, COUNTS, ledger=ledger, data_set="visits")
    assert ledger.remaining("visits").guarantee.presence == Cost(1.0, 0.1)


@pytest.mark.parametrize("name", CENTRAL)
def test_an_interrupted_series_is_taken_up_with_the_same_counts_only(name, tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "finish", lambda *_: None)
        first = FOUR[name](1.0, DATES, COUNTS, ledger=ledger, data_set="visits")
    (entry,) = ledger.history()
    with pytest.raises(DataError, match="other events"):
        ledger.resume(entry.identifier, days=range_counting._Series.of(DATES, COUNTS).digests(ledger.key))
    with pytest.raises(BudgetExhausted):
        FOUR[name](1.0, DATES, [*COUNTS[:-1], 7], ledger=ledger, data_set="visits")
    again = FOUR[name](1.0, DATES, COUNTS, ledger=ledger, data_set="visits")
    assert np.array_equal(first.estimate.values, again.estimate.values)
    assert [entry.is_finished for entry in ledger.history()] == [True]


@every_structure
@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan")])
def test_an_epsilon_that_protects_nobody_is_refused(name, epsilon):
    with pytest.raises(SettingError, match="epsilon"):
        FOUR[name](epsilon, DATES, COUNTS, seed=1)


@every_structure
def test_real_noise_is_recorded_and_a_second_series_of_the_same_events_refused(name, tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    series = FOUR[name](1.0, DATES, COUNTS, ledger=ledger, data_set="visits")
    assert not series.answer(DATES[0]).is_simulation
    with pytest.raises(UndeclaredCopy):
        FOUR[name](1.0, DATES, COUNTS, ledger=ledger, data_set="a copy under another name")
    assert len(ledger.history()) == 1


@every_structure
def test_real_noise_needs_a_ledger_and_a_name(name, tmp_path):
    with pytest.raises(SettingError, match="ledger"):
        FOUR[name](1.0, DATES, COUNTS)
    with pytest.raises(SettingError, match="data_set"):
        FOUR[name](1.0, DATES, COUNTS, ledger=Ledger(tmp_path / "ledger.sqlite"))
