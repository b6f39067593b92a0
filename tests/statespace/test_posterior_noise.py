"""What is known of filtered counts: given their public totals, and of weighted questions."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.statespace.posterior_noise import FilteredNoise, Moments

SHAPE = (3, 4)


def filtered_noise(*, is_shared: bool = True) -> FilteredNoise:
    rng = np.random.default_rng(7)
    arrays = rng.uniform(0.1, 0.9, SHAPE), rng.uniform(1e-5, 1e-3, SHAPE), *rng.uniform(1, 9, (2, *SHAPE))
    return FilteredNoise(np.array([90.0, 120.0, 60.0]), *arrays, is_shared)


def of_time(noise: FilteredNoise, *weights: float) -> Moments:
    asked = np.zeros(SHAPE)
    asked[1] = weights
    return noise.moments(asked)


def test_what_some_places_have_is_as_uncertain_as_what_the_others_have() -> None:
    noise = filtered_noise()
    some, others, all_of_them = (of_time(noise, *asked) for asked in ((1, 0, 1, 0), (0, 1, 0, 1), (1, 1, 1, 1)))
    for name in ("of_shares", "of_counts"):
        assert float(getattr(some, name)) == pytest.approx(float(getattr(others, name)))
        assert float(getattr(all_of_them, name)) == pytest.approx(0.0, abs=1e-12)
    assert float(some.third) == pytest.approx(-float(others.third))


@pytest.mark.parametrize("is_shared", [True, False])
def test_a_weighted_question_errs_by_its_weight(is_shared: bool) -> None:
    noise = filtered_noise(is_shared=is_shared)
    once, thrice = of_time(noise, 1, 0, 0.5, 0), of_time(noise, 3, 0, 1.5, 0)
    assert float(thrice.of_shares) == pytest.approx(9 * float(once.of_shares))
    assert float(thrice.of_counts) == pytest.approx(9 * float(once.of_counts))
    assert float(thrice.third) == pytest.approx(27 * float(once.third))
