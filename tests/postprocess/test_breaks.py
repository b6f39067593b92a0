"""Breaks of level: found where they are, not where they are not, and followed at once."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.estimate import Estimate
from tacit.mechanisms import mechanism_of, plan_for
from tacit.postprocess import filtered, smooth
from tacit.postprocess.smoothing.measured import measured
from tacit.postprocess.smoothing.model import bursts
from tacit.postprocess.smoothing.seasons import seasons
from tacit.postprocess.smoothing.steps import fitted
from tacit.provenance import Provenance
from tacit.randomness import SeededRandomness
from tacit.tally import Tally
from tacit.tallying import estimate_tally

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


def estimated(counts: NDArray[np.int64], epsilon: float, seed: int) -> Estimate:
    n_days, n_places = counts.shape
    domain = Domain(
        TimeAxis("2020-01-01", "day", "UTC", n_days), PlaceAxis.of([f"P{place}" for place in range(n_places)])
    )
    plan = plan_for(domain, mechanism="SS", epsilon=epsilon)
    mechanism, per_day = mechanism_of(plan), counts.sum(axis=1)
    places = np.repeat(np.tile(np.arange(n_places), n_days), counts.ravel())
    reports = mechanism.randomize(places, randomness=SeededRandomness(seed))
    provenance = Provenance(plan.fingerprint, is_simulation=True)
    return estimate_tally(Tally(provenance, mechanism.statistics(reports, per_day), per_day), plan)


def shocks_of(estimate: Estimate) -> NDArray[np.float64]:
    known = measured(estimate)
    found = fitted(known, seasons(estimate.domain.time), bursts(known.exposures), None)
    return np.broadcast_to(found.setting.shocks, known.counts.shape)


def test_breaks_are_found_within_days() -> None:
    shocks = shocks_of(estimated(counted(1, with_breaks=True), 3.0, 1))
    for place in (OPENS, CLOSES, DOUBLES):
        assert abs(int(np.argmax(shocks[:, place])) - 400) <= 7
    assert not shocks[:, [0, 4, 5, 6, 7]].any()


@pytest.mark.parametrize("epsilon", [0.5, 1.7, 4.0])
def test_where_nothing_breaks_hardly_a_break_is_found(epsilon: float) -> None:
    """A break is put where it is more likely than not; of 5 in 100 places and years one may be an error."""
    n_found = sum(
        shocks_of(estimated(counted(seed, with_breaks=False), epsilon, seed)).any(axis=0).sum() for seed in (1, 2, 3)
    )
    assert n_found <= 1


@pytest.mark.parametrize("epsilon", [1.7, 4.0])
def test_a_place_that_opens_is_followed_at_once(epsilon: float) -> None:
    counts = counted(4, with_breaks=True)
    smoothed = smooth(estimated(counts, epsilon, 4)).values
    for place in (OPENS, CLOSES):
        for span in (slice(340, 385), slice(415, 460)):
            true = counts[span, place].mean()
            assert smoothed[span, place].mean() == pytest.approx(true, abs=1.2)


def test_filtering_goes_on_after_a_break() -> None:
    """The break is at day 400, the last time that habits are looked at is day 448."""
    counts = counted(6, with_breaks=True)
    followed = filtered(estimated(counts, 3.0, 6)).values
    assert followed[460:, OPENS].mean() == pytest.approx(counts[460:, OPENS].mean(), rel=0.15)
    assert followed[460:, CLOSES].mean() < 0.15 * counts[:400, CLOSES].mean()
