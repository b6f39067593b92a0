"""Counts come back from true answers, from noisy ones in part, and from noise that cancels."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.audits.broken import ThesisCounter
from hypothesis import given
from hypothesis import strategies as st

from tacit.audit import (
    averaged,
    is_redrawn,
    noiseless_combinations,
    range_design,
    reconstruct_by_least_squares,
    reconstruct_exactly,
    reconstruct_through_dependence,
    share_identified,
)
from tacit.errors import SettingError
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.randomness import SeededRandomness


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=12), st.data())
def test_what_is_determined_is_the_truth(counts, data):
    n = len(counts)
    some_range = st.tuples(st.integers(0, n - 1), st.integers(1, n)).map(lambda r: (min(r), max(r)))
    ranges = data.draw(st.lists(some_range.filter(lambda r: r[0] < r[1]), min_size=1, max_size=20))
    answers = [sum(counts[first:stop]) for first, stop in ranges]
    found = reconstruct_exactly(ranges, answers, n)
    assert (found.values[found.is_determined] == np.array(counts)[found.is_determined]).all()
    solved = reconstruct_by_least_squares(ranges, answers, n)
    assert (solved.is_determined == found.is_determined).all()
    known = found.is_determined
    assert np.allclose(solved.values[known], found.values[known], atol=1e-6)
    assert found.n_recovered(counts) == np.count_nonzero(known)


def test_ranges_of_a_year_give_every_day_away_though_none_is_a_single_day():
    counts = np.random.default_rng(1).integers(0, 900, 365)
    # from every day to the last, and from the first to the last but one: never fewer than two days
    ranges = [(first, 365) for first in range(364)] + [(0, 364)]
    found = reconstruct_exactly(ranges, [counts[a:b].sum() for a, b in ranges], 365)
    assert found.share_recovered(counts) == 1.0


@pytest.mark.false_failure(1e-9)
def test_noisy_ranges_give_bits_away(seed):
    """128 bits, 2,048 ranges: 99 % with noise of scale 0.5, about half with 32. Bad luck: below 1e-9."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, 128)
    ranges = np.sort(rng.integers(0, 129, (3000, 2)), axis=1)
    ranges = ranges[ranges[:, 0] < ranges[:, 1]][:2048]
    truth = range_design(ranges, 128) @ bits
    shares = []
    for scale in (0.5, 4.0, 32.0):
        noisy = truth + rng.laplace(0, scale, len(truth))
        weight = 2 * scale**2 / 0.25
        found = reconstruct_by_least_squares(ranges, noisy, 128, expected=0.5, weight=weight)
        shares.append(found.share_recovered(bits))
    assert shares[0] > 0.9 > shares[1] > 0.5
    assert shares[2] < 0.8


@pytest.mark.false_failure(0)
def test_the_thesis_tree_gives_its_second_children_away_exactly(seed):
    counter = ThesisCounter(0.2, 6, seed, fault="dependent")
    counts = np.random.default_rng(seed).integers(0, 500, 64)
    answers = counter(counts[None, :])[0]
    parent, first, second = answers[31], answers[63], answers[64]
    assert (parent + second - first) / 2 == pytest.approx(counts[1])
    for combinations in (
        noiseless_combinations(counter.mixing().T),
        noiseless_combinations(counter(np.zeros((200, 64), np.int64))),
    ):
        found = reconstruct_through_dependence(counter.design(), answers, combinations)
        assert len(combinations) == counter.n_nodes - 64
        assert found.is_determined[1::2].all()
        assert (np.rint(found.values[found.is_determined]) == counts[found.is_determined]).all()


@pytest.mark.false_failure(0)
def test_independent_noise_has_no_combination_without_noise_and_determines_nothing(seed):
    counter = ThesisCounter(0.2, 3, seed, fault="none")
    combinations = noiseless_combinations(counter(np.zeros((40, 8), np.int64)))
    assert len(combinations) == 0


def test_ranges_must_lie_in_the_bins():
    for ranges in ([(2, 2)], [(-1, 2)], [(0, 4)]):
        with pytest.raises(SettingError, match="0 <= first < stop <= 3"):
            reconstruct_exactly(ranges, [1.0], 3)


@pytest.mark.false_failure(1e-8)
@pytest.mark.parametrize(("f", "n_reports", "share"), [(0.9, 30, 0.29), (0.8, 30, 0.66), (0.5, 7, 0.82)])
def test_one_time_reports_sent_again_give_devices_away(f, n_reports, share, seed):
    """17 regions; six standard errors of 3,000 devices."""
    sue = UnaryEncoding.rappor(f=f, n_cells=17)
    found = share_identified(sue, n_reports=n_reports, n_devices=3_000, randomness=SeededRandomness(seed))
    assert found == pytest.approx(share, abs=0.06)


def test_answers_that_are_kept_do_not_average_out():
    assert not is_redrawn(lambda: [1.0, 2.0])
    fresh = iter(range(10))
    assert is_redrawn(lambda: next(fresh))
    assert averaged(lambda: [1.0, 2.0], 5).tolist() == [1.0, 2.0]
