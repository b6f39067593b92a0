"""Draws follow their distributions exactly (word by word), and repeat with the seed on every machine."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import stats

from tacit.errors import SettingError
from tacit.events.datasets._draws import Draws, normal_quantile


class EvenWords:
    """A source whose words divide 0 .. 2**64 into equal steps: every distribution can be read off its draws."""

    is_simulation = True

    def words(self, count: int) -> NDArray[np.uint64]:
        step = (1 << 64) // max(count, 1)
        return np.array([step * i + step // 2 for i in range(count)], dtype=np.uint64)

    def fill(self, out: NDArray[np.uint64]) -> None:
        out[:] = self.words(len(out))


class ExtremeWords(EvenWords):
    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([0, 2**64 - 1] * count, dtype=np.uint64)[:count]


N_EVEN = 10_000


def test_uniforms_never_reach_zero_or_one() -> None:
    assert Draws(ExtremeWords()).uniforms(2).tolist() == [2.0**-53, 1.0 - 2.0**-53]


def test_normals_stay_finite_at_the_ends_of_the_words() -> None:
    low, high = Draws(ExtremeWords()).normals(2).tolist()
    assert low == -high
    assert high == pytest.approx(stats.norm.isf(2.0**-53), rel=1e-14)


@given(st.floats(2.0**-53, 1 - 2.0**-53))
def test_the_normal_quantile_agrees_with_scipy(share: float) -> None:
    assert float(normal_quantile(np.array(share))) == pytest.approx(stats.norm.ppf(share), rel=2e-14, abs=1e-16)


@pytest.mark.parametrize("mean", [0.0, 0.3, 7.0, 111.0, 650.0])
def test_poisson_draws_are_the_quantiles_of_their_uniforms(mean: float) -> None:
    uniforms = Draws(EvenWords()).uniforms(N_EVEN)
    drawn = Draws(EvenWords()).poisson(np.full(N_EVEN, mean))
    assert drawn.tolist() == stats.poisson.ppf(uniforms, mean).tolist()
    assert drawn.dtype == np.int64


def test_exponentials_have_mean_and_deviation_one() -> None:
    drawn = Draws(EvenWords()).exponentials(N_EVEN)
    assert drawn.mean() == pytest.approx(1.0, abs=1e-4)
    assert drawn.std() == pytest.approx(1.0, abs=2e-3)


def test_integers_fall_evenly() -> None:
    assert np.bincount(Draws(EvenWords()).integers(100, below=10)).tolist() == [10] * 10


def test_choices_and_categories_follow_their_weights() -> None:
    weights = np.array([5.0, 0.0, 3.0, 2.0])
    chosen = Draws(EvenWords()).choices(100, weights)
    assert np.bincount(chosen, minlength=4).tolist() == [50, 0, 30, 20]
    drawn = Draws(EvenWords()).categories(weights[None, :], np.zeros(100, dtype=np.int64))
    assert drawn.tolist() == chosen.tolist()


@given(
    arrays.arrays(np.int64, st.integers(0, 6), elements=st.integers(0, 50)),
    st.integers(1, 5),
    st.integers(0, 2**32),
)
def test_a_multinomial_shares_out_every_total(totals: NDArray[np.int64], n_columns: int, seed: int) -> None:
    draws = Draws.seeded(seed, "test")
    weights = draws.uniforms(len(totals), n_columns)
    shared = draws.multinomial(totals, weights)
    assert shared.shape == weights.shape
    assert shared.sum(axis=1).tolist() == totals.tolist()


@given(st.integers(0, 200), st.integers(0, 2**32))
def test_a_permutation_holds_every_number_once(count: int, seed: int) -> None:
    assert sorted(Draws.seeded(seed, "test").permutation(count).tolist()) == list(range(count))


def test_each_purpose_has_a_stream_of_its_own() -> None:
    assert (
        Draws.seeded(1, "a").integers(8, below=1000).tolist() != Draws.seeded(1, "b").integers(8, below=1000).tolist()
    )
    assert (
        Draws.seeded(1, "a").integers(8, below=1000).tolist() == Draws.seeded(1, "a").integers(8, below=1000).tolist()
    )


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(SettingError, match="seed must be a whole number of at least 0"):
        Draws.seeded(-1, "test")


def test_normals_are_the_bits_the_data_sets_were_frozen_with() -> None:
    drawn = Draws.seeded(25, "golden").normals(1000).astype("<f8")
    assert hashlib.sha256(drawn.tobytes()).hexdigest() == NORMALS_SHA256


NORMALS_SHA256 = "6b43780f1f4705b73d5284a4bd15ead980d4b893cc75ad2c258029a3c12f774a"
