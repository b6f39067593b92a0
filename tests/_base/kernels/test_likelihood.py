"""The compiled likelihood, and how it bends, equal the plain ones, up to the last digits."""

from __future__ import annotations

import numpy as np
import pytest

from tacit._base.kernels import likelihood_plain

pytest.importorskip("numba")

from tacit._base.kernels import likelihood


@pytest.mark.parametrize(("n_bins", "k", "n_at_once"), [(1, 2, 1 << 22), (30, 17, 1 << 22), (30, 17, 100), (5, 64, 64)])
def test_factors_and_likelihoods_are_equal(monkeypatch, n_bins, k, n_at_once):
    monkeypatch.setattr(likelihood_plain, "_NUMBERS_AT_ONCE", n_at_once)
    rng = np.random.default_rng(k)
    supports = (rng.random((50, k)) < 0.4).astype(np.uint8)
    lengths = rng.integers(1, 40, n_bins)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    which, counts = rng.integers(0, 50, starts[-1]), rng.integers(1, 9, starts[-1])
    bins = np.sort(rng.choice(n_bins, max(1, n_bins // 2), replace=False))
    shares = rng.dirichlet(np.ones(k), len(bins))
    found = []
    for kernels in (likelihood, likelihood_plain):
        factors, values = np.empty(shares.shape), np.empty(len(bins))
        kernels.weigh(supports, which, counts, starts, bins, 3.5, shares, factors, values)
        found.append((factors, values))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)


@pytest.mark.parametrize(("n_bins", "k"), [(1, 2), (30, 17), (5, 64)])
def test_bends_are_equal(n_bins, k):
    rng = np.random.default_rng(k)
    supports = (rng.random((50, k)) < 0.4).astype(np.uint8)
    starts = np.concatenate(([0], np.cumsum(rng.integers(1, 40, n_bins))))
    which, counts = rng.integers(0, 50, starts[-1]), rng.integers(1, 9, starts[-1])
    bins = np.sort(rng.choice(n_bins, max(1, n_bins // 2), replace=False))
    shares = rng.dirichlet(np.ones(k), len(bins))
    found = []
    for kernels in (likelihood, likelihood_plain):
        bend = np.full((len(bins), k, k), np.nan)
        kernels.curve(supports, which, counts, starts, bins, 3.5, shares, bend)
        found.append(bend)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
