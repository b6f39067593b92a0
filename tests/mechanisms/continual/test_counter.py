"""The counter: what goes in, what comes out, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counter_worlds import DOMAIN, PLACES, counter, counts
from tacit.counts.continual_noise import KaryTree
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import DataError, PlanMismatch, SettingError
from tacit.mechanisms.continual import Counter, History
from tacit.mechanisms.continual import counter as counter_module
from tacit.mechanisms.continual.counter import LARGEST_COUNT
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger
from tacit.privacy.spend import Spend
from tacit.privacy.unit import Unit

COSTS = [Cost.pure(1.0), Cost.zcdp(0.5)]


def published(made: Counter, n_bins=50) -> History:
    _, totals = made.steps(made.begin(), counts(n_bins))
    return History.empty(made.stream).extended(totals)


@pytest.mark.parametrize("horizon", [50, None])
@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_single_steps_and_many_at_once_publish_the_same(cost, horizon):
    made = counter(cost, horizon=horizon)
    state, one_by_one = made.begin(), []
    for row in counts(50):
        state, totals = made.step(state, row)
        one_by_one.append(totals)
    assert np.array_equal(np.array(one_by_one), published(made).totals)
    assert state.position == 50


def test_a_state_can_be_stepped_from_again_with_the_same_result():
    made = counter()
    state, _ = made.steps(made.begin(), counts(20))
    first, again = made.step(state, [1, 2, 3]), made.step(state, [1, 2, 3])
    assert np.array_equal(first[1], again[1])


def test_one_place_takes_a_plain_number():
    one = counter(domain=Domain(DOMAIN.time, PlaceAxis.of(["all"])))
    state, totals = one.step(one.begin(), 7)
    assert totals.shape == (1,)
    state, _ = one.steps(state, np.empty((0, 1)))
    assert state.position == 1


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_ranges_add_up_to_the_last_digit(cost):
    history = published(counter(cost))
    for a, b, c in itertools.combinations(range(0, 51, 5), 3):
        parts = history.counts(np.array([a, b]), np.array([b, c]))
        assert (parts.sum(axis=0) == history.counts(np.array([a]), np.array([c]))[0]).all()


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_answers_are_ranges_with_their_errors(cost):
    history = published(counter(cost))
    found = history.answer("2018-01-03", "2018-01-20", ["South", "North"], level=0.9)
    assert found == history.answer("2018-01-03", "2018-01-20", ["North", "South"], level=0.9)
    value = history.counts(np.array([2]), np.array([20]))[0, [0, 1]].sum()
    assert found.value == value
    assert found.standard_error**2 == pytest.approx(
        2 * history.stream.noise_model.range_variances(np.array([2]), np.array([20]))[0]
    )
    assert found.lower <= value <= found.upper
    assert found.is_simulation


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_an_estimate_answers_as_the_history_does(cost):
    from tacit.counts.query import answer

    history = published(counter(cost))
    estimate = history.estimate(delta=1e-6 if cost.rho else 0.0)
    box = history.domain.box("2018-01-05", "2018-02-03", ["North"])
    one, other = answer(estimate, box), history.answer_box(box)
    assert one.value == pytest.approx(other.value)
    assert one.standard_error == pytest.approx(other.standard_error)
    assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper))
    assert estimate.provenance.is_simulation
    months = estimate.coarsen(time="month")
    assert months.values.sum() == pytest.approx(estimate.values.sum())


@pytest.mark.parametrize(
    "bad",
    [
        [[1, 2]],
        [[1, 2, 3, 4]],
        [1, 2, 3],
        [[1, 2], [3]],
        [[1, -1, 2]],
        [[1, float("nan"), 2]],
        [[1, float("inf"), 2]],
        [[1, 2.5, 2]],
        [["1", "x", "2"]],
        [[1, None, 2]],
        np.zeros((2, 3, 3)),
    ],
)
def test_bad_counts_are_refused_before_anything_is_drawn_and_never_told(bad):
    made = counter()
    state = made.begin()
    with pytest.raises(DataError) as refused:
        made.steps(state, bad)
    assert "2.5" not in str(refused.value)
    assert np.array_equal(made.steps(state, counts(3))[1], published(counter(), 3).totals)


def test_a_bin_counts_up_to_a_bound_and_one_event_more_is_not_refused():
    made = counter()
    full = made.steps(made.begin(), [[1, LARGEST_COUNT, 2]])[1]
    for beyond in (LARGEST_COUNT + 1, 10**12, 10**30):
        assert np.array_equal(made.steps(made.begin(), [[1, beyond, 2]])[1], full)


def test_totals_beyond_64_bits_are_refused_and_the_state_stays(monkeypatch):
    made = counter()
    state, _ = made.steps(made.begin(), counts(2))
    monkeypatch.setattr(counter_module, "_LARGEST_TOTAL", LARGEST_COUNT)  # as after thousands of full periods
    with pytest.raises(DataError, match="Nothing was counted"):
        made.steps(state, [[LARGEST_COUNT, 0, 0], [LARGEST_COUNT, 0, 0]])
    assert state.position == 2


def test_bins_beyond_the_horizon_are_refused():
    made = counter(horizon=5)
    state, _ = made.steps(made.begin(), counts(4))
    with pytest.raises(DataError, match="ends after 5 bins"):
        made.steps(state, counts(2))
    state, _ = made.step(state, [0, 0, 0])
    with pytest.raises(DataError):
        made.step(state, [0, 0, 0])


def test_the_end_of_the_time_axis_is_the_horizon():
    ended = counter(horizon=None, domain=Domain(TimeAxis.between("2018-01-01", "2018-01-31"), PlaceAxis.of(PLACES)))
    assert ended.stream.noise_model.horizon == ended.stream.n_bins == 31


@pytest.mark.parametrize(("first", "stop"), [(3, 2), (-1, 3), (0, 51), (51, 51)])
def test_ranges_reversed_or_out_of_what_is_counted_are_refused(first, stop):
    with pytest.raises(SettingError):
        published(counter()).counts(np.array([first]), np.array([stop]))


@pytest.mark.parametrize(
    ("first", "last"), [("2018-01-20", "2018-01-03"), ("2017-12-31", "2018-01-03"), ("2018-01-01", "2018-02-20")]
)
def test_dates_reversed_or_out_of_what_is_counted_are_refused(first, last):
    with pytest.raises(SettingError):
        published(counter()).answer(first, last)


def test_nothing_can_be_asked_before_the_first_bin():
    with pytest.raises(SettingError, match="nothing was counted"):
        History.empty(counter().stream).answer()


def test_the_state_of_another_counter_is_refused():
    with pytest.raises(PlanMismatch):
        counter(seed=6).step(counter().begin(), [1, 2, 3])
    with pytest.raises(PlanMismatch):
        Counter(counter().stream, bytes(32))


def test_a_noise_model_must_cost_what_was_spent():
    with pytest.raises(SettingError, match="must cost what was spent"):
        counter(noise_model=KaryTree.binary(10, Cost.pure(2.0)))


def test_the_unit_of_privacy_scales_the_noise():
    once, thrice = counter().stream.noise_model, counter(unit=Unit.user_day(most=3)).stream.noise_model
    ends = np.zeros(1, np.int64), np.array([100])
    assert thrice.range_variances(*ends)[0] == pytest.approx(9 * once.range_variances(*ends)[0], rel=0.03)
    hours = Domain(TimeAxis.between("2018-01-01", None, step="hour"), PlaceAxis.of(PLACES))
    with pytest.raises(SettingError, match="day or longer"):
        counter(unit=Unit.user_day(most=3), domain=hours)
    with pytest.raises(SettingError, match="counts of a"):
        counter(noise_model=KaryTree.binary(10, Cost.pure(1.0)), unit=Unit.user_day(most=3))
    with pytest.raises(SettingError, match=r"for the 2 counts of a person .* in one cell; got fewer"):
        counter(noise_model=KaryTree(10, Cost.pure(1.0), 3, most_per_cell=1), unit=Unit.person(most=3, most_per_cell=2))


def test_states_and_counters_never_show_what_they_hold():
    made = counter()
    state, _ = made.steps(made.begin(), counts(9))
    for text in (repr(made), repr(state)):
        assert made.key.hex() not in text
        assert "array" not in text


def test_a_dry_run_draws_no_noise(tmp_path):
    dry = Ledger(tmp_path / "l").spend(data_set="v", release="c", cost=Cost.pure(1.0), days=None, dry_run=True)
    with pytest.raises(SettingError, match="dry run"):
        Counter.start(dry, DOMAIN, horizon=10)


def test_a_spend_for_another_unit_is_refused(tmp_path):
    spend = Ledger(tmp_path / "l").spend(data_set="v", release="c", cost=Cost.pure(1.0), days=None)
    with pytest.raises(SettingError, match="unit user-day of at most 2 events"):
        Counter.start(spend, DOMAIN, horizon=10, unit=Unit.user_day(most=2))


def test_laplace_noise_beside_gaussian_is_stated_with_its_sum(tmp_path):
    ledger = Ledger(tmp_path / "l")
    ledger.set_budget("v", epsilon=30.0, delta=1e-6)
    ledger.finish(ledger.spend(data_set="v", release="table", cost=Cost.zcdp(0.1), days=None))
    pure = ledger.spend(data_set="v", release="counter", cost=Cost.pure(1.0), days=None)
    stream = Counter.start(pure, DOMAIN, horizon=50).stream
    assert stream.guarantee.presence == Cost(1.0, 0.1)
    assert "at delta 1e-06" in stream.guarantee.sentences()[0]
    gaussian = ledger.spend(data_set="v", release="other", cost=Cost.zcdp(0.1), days=None)
    plan = published(Counter.start(gaussian, DOMAIN, horizon=50)).plan(delta=1e-6)
    assert plan.delta == 1e-6


def test_a_rho_that_no_release_could_state_is_refused_at_the_start():
    with pytest.raises(SettingError, match="epsilon of at most 32 at delta 1e-06"):
        counter(Cost.zcdp(20.0))
    history = published(counter(Cost.zcdp(8.0)))
    assert history.estimate(delta=1e-6).provenance.plan_id == history.plan(delta=1e-6).fingerprint
    with pytest.raises(SettingError, match="Take a larger one"):
        history.plan(delta=1e-100)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.sampled_from(COSTS), st.booleans())
def test_however_bins_are_grouped_totals_are_the_same(sizes, cost, is_endless):
    made = counter(cost, horizon=None if is_endless else 256)
    n_bins = sum(sizes)
    given_counts = counts(n_bins)
    state, parts = made.begin(), []
    for size in sizes:
        state, totals = made.steps(state, given_counts[state.position : state.position + size])
        parts.append(totals)
    assert np.array_equal(np.concatenate(parts), made.steps(made.begin(), given_counts)[1])


def test_a_real_spend_makes_no_simulation(tmp_path):
    from tacit.privacy.ledger import Ledger

    spend = Ledger(tmp_path / "ledger.sqlite").spend(
        data_set="visits", release="counter", cost=Cost.pure(1.0), days=None
    )
    made = Counter.start(spend, DOMAIN, horizon=30)
    assert not made.stream.is_simulation
    again = Ledger(tmp_path / "ledger.sqlite").resume(data_set="visits", release="counter", days=None)
    assert Counter.start(again, DOMAIN, horizon=30).stream.identity == made.stream.identity
    assert isinstance(Spend.simulation(Cost.pure(1.0), seed=1), Spend)
