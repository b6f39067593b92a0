"""Breaks of level: found where they are, not where they are not, and followed at once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from small_worlds import simulated_estimate
from tacit.counts.estimate import Estimate
from tacit.counts.observations import measured
from tacit.postprocess import filtered, smooth
from tacit.statespace.calendar import seasons
from tacit.statespace.fit import fitted
from tacit.statespace.model import total_excess

N_DAYS = 730
OPENS, CLOSES, DOUBLES = 1, 2, 3


def counted(seed: int, *, with_breaks: bool) -> NDArray[np.int64]:
    """Eight places; at day 400 one opens, one closes, and one has twice its level from then on."""
    rng = np.random.default_rng(seed)
    shares = np.tile([0.3, 0.1, 0.12, 0.1, 0.14, 0.12, 0.07, 0.05], (N_DAYS, 1))
    if with_breaks:
        shares[:400, OPENS] = 0.0
        shares[400:, CLOSES] = 0.0
        shares[400:, DOUBLES] *= 2.0
    shares /= shares.sum(axis=1, keepdims=True)
    return np.stack([rng.multinomial(n, s) for n, s in zip(rng.poisson(80, N_DAYS), shares, strict=True)])


def shifts_of(estimate: Estimate) -> NDArray[np.float64]:
    known = measured(estimate)
    model, _ = fitted(known, seasons(estimate.domain.time), total_excess(known.exposures), None)
    return np.broadcast_to(model.shift_variance, known.counts.shape)


def test_breaks_are_found_within_days() -> None:
    shifts = shifts_of(simulated_estimate(counted(1, with_breaks=True), epsilon=3.0, seed=1)[1])
    for place in (OPENS, CLOSES, DOUBLES):
        assert abs(int(np.argmax(shifts[:, place])) - 400) <= 7
    assert not shifts[:, [0, 4, 5, 6, 7]].any()


@pytest.mark.parametrize("epsilon", [0.5, 1.7, 4.0])
@pytest.mark.slow
def test_where_nothing_breaks_hardly_a_break_is_found(epsilon: float) -> None:
    """A break is put where it is more likely than not; of 5 in 100 places and years one may be an error."""
    n_found = 0
    for seed in (1, 2, 3):
        estimate = simulated_estimate(counted(seed, with_breaks=False), epsilon=epsilon, seed=seed)[1]
        n_found += np.count_nonzero(shifts_of(estimate).any(axis=0))
    assert n_found <= 1


@pytest.mark.parametrize("epsilon", [1.7, 4.0])
def test_a_place_that_opens_is_followed_at_once(epsilon: float) -> None:
    """Before and after are about 0 and 9 a day; noise alone moves a mean of 45 days by about 1."""
    counts = counted(4, with_breaks=True)
    smoothed = smooth(simulated_estimate(counts, epsilon=epsilon, seed=4)[1]).values
    for place in (OPENS, CLOSES):
        for span in (slice(340, 385), slice(415, 460)):
            true = counts[span, place].mean()
            assert smoothed[span, place].mean() == pytest.approx(true, abs=3.0)


@pytest.mark.slow
def test_filtering_goes_on_after_a_break() -> None:
    """The break is at day 400, the last time that habits are looked at is day 448."""
    counts = counted(6, with_breaks=True)
    followed = filtered(simulated_estimate(counts, epsilon=3.0, seed=6)[1]).values
    assert followed[460:, OPENS].mean() == pytest.approx(counts[460:, OPENS].mean(), rel=0.15)
    assert followed[460:, CLOSES].mean() < 0.15 * counts[:400, CLOSES].mean()
