"""Questions stand for all ranges of their kind, listed or spread evenly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import SettingError
from tacit.mechanisms.planner.situation import MOST_RANGES, Question, positions

KINDS = [Question("points"), Question("ranges"), Question("ranges", 3), Question("totals")]


def all_ranges(question: Question, n_bins: int) -> set[tuple[int, int]]:
    """Every range of a kind, one by one."""
    every = [(first, stop) for first in range(n_bins) for stop in range(first + 1, n_bins + 1)]
    if question.kind == "points":
        return {(first, stop) for first, stop in every if stop - first == 1}
    if question.kind == "totals":
        return {(first, stop) for first, stop in every if first == 0}
    return {(first, stop) for first, stop in every if question.length in (None, stop - first)}


@pytest.mark.parametrize("question", KINDS, ids=str)
@pytest.mark.parametrize("n_bins", [3, 4, 17, 60])
def test_every_range_of_a_kind_is_listed_once(question, n_bins):
    first, stop = question.ranges(n_bins)
    listed = list(zip(first.tolist(), stop.tolist(), strict=True))
    assert len(listed) == len(set(listed))
    assert set(listed) == all_ranges(question, n_bins)
    assert question.mean_length(n_bins) == pytest.approx(np.mean(stop - first))


@pytest.mark.parametrize("n_bins", [300, 2048, 100_000, 1 << 20])
@pytest.mark.parametrize("question", KINDS, ids=str)
def test_ranges_that_stand_in_for_all_are_like_all(question, n_bins):
    first, stop = question.ranges(n_bins)
    assert len(first) <= max(MOST_RANGES, n_bins if n_bins <= MOST_RANGES else 0)
    assert first.min() >= 0
    assert stop.max() <= n_bins
    lengths = (stop - first).astype(float)
    assert lengths.min() >= 1
    assert lengths.mean() == pytest.approx(question.mean_length(n_bins), rel=1e-3)
    if question.kind == "ranges" and question.length is None:
        # over all ranges the mean square of the length is N**2 / 6 + N / 3 + O(1)
        assert (lengths**2).mean() == pytest.approx(n_bins**2 / 6 + n_bins / 2, rel=2e-3)
        assert (first + stop).mean() == pytest.approx(n_bins, rel=2e-3)


@given(st.integers(1, 10**6), st.integers(1, 2000))
def test_positions_are_spread_evenly_over_all(count, most):
    chosen = positions(count, most)
    assert len(chosen) == min(count, most)
    assert chosen.min() >= 0
    assert chosen.max() < count
    # the largest gap between neighbours is at most about 2.6 times the mean one
    edges = np.concatenate([[-1], np.sort(chosen), [count]])
    assert np.diff(edges).max() <= 3 * count / len(chosen) + 2


@pytest.mark.parametrize("period", [2, 3, 8, 16, 256, 4096])
def test_positions_do_not_fall_into_step_with_a_tree(period):
    shares = np.bincount(positions(1 << 20) % period, minlength=period) / MOST_RANGES
    assert abs(shares - 1 / period).max() < 0.25 / period + 6 / MOST_RANGES


def test_words_become_questions_once_each():
    assert Question.parse("points,7 , ranges,totals,7") == (
        Question("points"),
        Question("ranges", 7),
        Question("ranges"),
        Question("totals"),
    )
    assert Question.parse(["30"]) == (Question("ranges", 30),)


@pytest.mark.parametrize("words", ["", "point", "0", "-3", "7.5", "points,,7", "٣"])
def test_other_words_are_refused(words):
    with pytest.raises(SettingError, match="a question must be points, ranges, totals or a length"):
        Question.parse(words)


def test_questions_out_of_the_domain_are_refused():
    with pytest.raises(SettingError, match=r"length must be at most the number of bins, 30; got length=31"):
        Question("ranges", 31).ranges(30)
    with pytest.raises(SettingError, match="length belongs to ranges"):
        Question("points", 2)
    with pytest.raises(SettingError, match="length must be a whole number of at least 1"):
        Question("ranges", 0)
