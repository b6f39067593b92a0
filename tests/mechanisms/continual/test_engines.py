"""What engines publish is what the matrices of their noise models say, in steps of any size."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from statistical import assert_variance
from stream_matrices import buffered, factors
from tacit._base.kernels import draws_plain
from tacit.counts.continual_noise import BufferedRoot, Epochs, FusedTree, KaryTree, NestedTree, RefinedTree, SmoothTree
from tacit.errors import SettingError
from tacit.mechanisms.continual.engines import NodeDraws, engine_of
from tacit.mechanisms.continual.picker import tune
from tacit.privacy.cost import Cost

KEY = bytes(range(32))
PURE = Cost.pure(0.7)
N_BINS = 75
NOISE_MODELS = [
    KaryTree.binary(N_BINS, PURE),
    KaryTree(N_BINS, PURE, 1, (3, 4)),
    SmoothTree(N_BINS, PURE, zeros=3, ones=6),
    SmoothTree(N_BINS, Cost.zcdp(0.1), zeros=2, ones=12),
    RefinedTree(N_BINS, PURE, (3, 4)),
    RefinedTree(N_BINS, PURE, (2, 2, 2, 2)),
    FusedTree(N_BINS, PURE, (3, 4)),
    FusedTree(N_BINS, Cost.zcdp(0.1), (2, 2, 2)),
    Epochs(5, PURE, ((), (2,), (4,), (4, 2))),
    tune(N_BINS, Cost.zcdp(0.3)),
]


def name(noise_model):
    return f"{noise_model.kind} of {noise_model.cost}"


def published(noise_model, counts, *, key=KEY, parts=None):
    engine = engine_of(noise_model, NodeDraws(key, counts.shape[1]))
    memory, position, totals = engine.start(), 0, []
    for size in parts or [len(counts)]:
        memory, some = engine.advance(memory, position, counts[position : position + size])
        totals.append(some)
        position += size
    assert position == len(counts)
    return np.concatenate(totals), memory


def some_counts(n_places=3, n_bins=N_BINS, seed=1):
    return np.random.default_rng(seed).integers(0, 1000, (n_bins, n_places))


@pytest.mark.parametrize("noise_model", NOISE_MODELS, ids=name)
def test_bins_one_by_one_or_together_are_published_alike(noise_model):
    counts = some_counts()
    together, memory = published(noise_model, counts)
    rng = np.random.default_rng(7)
    for _ in range(5):
        cuts = np.sort(rng.choice(np.arange(1, N_BINS), 8, replace=False))
        parts = np.diff([0, *cuts, N_BINS]).tolist()
        apart, kept = published(noise_model, counts, parts=parts)
        assert np.array_equal(apart, together)
        assert all(np.array_equal(kept[part], memory[part]) for part in memory)
    assert np.array_equal(published(noise_model, counts, parts=[1] * N_BINS)[0], together)


@pytest.mark.parametrize("noise_model", NOISE_MODELS, ids=name)
def test_another_key_gives_other_noise_and_the_noise_hangs_on_nothing_else(noise_model):
    counts = some_counts()
    one, other = published(noise_model, counts)[0], published(noise_model, counts, key=bytes(32))[0]
    assert not np.array_equal(one, other)
    if not isinstance(
        noise_model, RefinedTree | Epochs
    ):  # refined estimates are rounded, so counts show in the last digit
        without = published(noise_model, np.zeros_like(counts))[0]
        assert np.array_equal(one - without, np.cumsum(counts, axis=0) * noise_model.grid)


@pytest.mark.parametrize(
    "noise_model", [noise_model for noise_model in NOISE_MODELS if isinstance(noise_model, NestedTree)], ids=name
)
def test_nested_totals_are_the_decoder_of_noisy_nodes(noise_model):
    counts = some_counts()
    decoder, encoder = factors(noise_model)
    noise = NodeDraws(KEY, 3).take(noise_model.node_noise, 0, 0, N_BINS)
    assert np.array_equal(published(noise_model, counts)[0], decoder @ (encoder @ counts + noise))


def noise_of_tree(noise_model):
    """The noise of all nodes, leaves first, as the matrices number them; nodes not complete have none."""
    draws = NodeDraws(KEY, 3)
    rows = []
    for level, size in enumerate(noise_model.sizes):
        for total in range(size, noise_model.horizon + size, size):
            before = sum((total - 1) // other for other in noise_model.sizes)
            last = sum(noise_model.horizon // other for other in noise_model.sizes)
            rows.append(
                draws.take(noise_model.node_noise, 0, before + level, before + level + 1)[0] * (before + level < last)
            )
    return np.array(rows)


@pytest.mark.parametrize(
    "noise_model", [noise_model for noise_model in NOISE_MODELS if isinstance(noise_model, RefinedTree)], ids=name
)
def test_refined_totals_are_the_decoder_of_noisy_nodes_up_to_the_grid(noise_model):
    counts = some_counts()
    decoder, encoder = factors(noise_model)
    exact = decoder @ (encoder @ counts + noise_of_tree(noise_model))
    found = published(noise_model, counts)[0] / noise_model.grid
    assert np.abs(found - exact).max() < 0.5 * sum(noise_model.fan_outs) * 2 / noise_model.grid + 1e-3


@pytest.mark.parametrize(
    "noise_model", [noise_model for noise_model in NOISE_MODELS if isinstance(noise_model, FusedTree)], ids=name
)
def test_fused_totals_are_rounded_least_squares_exactly(noise_model):
    counts = some_counts()
    decoder, _ = factors(noise_model)
    n_top = -(-N_BINS // noise_model.sizes[-1])
    draws = NodeDraws(KEY, 3)
    noise = np.concatenate(
        [
            draws.take(noise_model.node_noise, level, 0, n_top * noise_model.sizes[-1] // size)
            for level, size in enumerate(noise_model.sizes)
        ]
    )
    numerators = np.rint(decoder * noise_model.denominator)
    assert np.abs(numerators / noise_model.denominator - decoder).max() < 1e-9
    exact = np.cumsum(counts, axis=0) * noise_model.denominator + numerators.astype(np.int64) @ noise
    rounded = [
        [round_half_up(Fraction(int(v) * noise_model.grid, noise_model.denominator)) for v in row] for row in exact
    ]
    assert published(noise_model, counts)[0].tolist() == rounded


def round_half_up(value: Fraction) -> int:
    return (2 * value.numerator + value.denominator) // (2 * value.denominator)


def drawn_noise(noise_model: BufferedRoot, left: np.ndarray) -> np.ndarray:
    """The noise z that leaves ``left`` after all that is taken back: the other way round."""
    decays, decay_shifts = (np.array(part) for part in zip(*noise_model.decays, strict=True))
    weights, weight_shifts = (np.array(part) for part in zip(*noise_model.weights, strict=True))
    buffers = np.zeros((len(decays), left.shape[1]), np.int64)
    drawn = np.empty_like(left)
    for t, row in enumerate(left):
        probe, kept = np.zeros((1, left.shape[1]), np.int64), buffers.copy()
        draws_plain.take_back(probe, kept, decays, decay_shifts, weights, weight_shifts, noise_model.guard_bits)
        drawn[t] = row - probe[0]
        again = drawn[t : t + 1].copy()
        draws_plain.take_back(again, buffers, decays, decay_shifts, weights, weight_shifts, noise_model.guard_bits)
        assert np.array_equal(again[0], row)
    return drawn


@pytest.mark.parametrize("grid_bits", [0, 3, 20])
@pytest.mark.parametrize("guard_bits", [0, 8, 20])
def test_a_unit_moves_the_noise_of_a_buffered_root_by_no_more_than_is_stated(grid_bits, guard_bits):
    """For any published totals: what z must have been with one unit more differs by the encoder's column and slack."""
    tuned = tune(200, Cost.zcdp(0.3))
    noise_model = BufferedRoot(200, tuned.cost, tuned.decays, tuned.weights, grid_bits, guard_bits, most=3)
    rng = np.random.default_rng(grid_bits)
    left = rng.integers(-(1 << 24), 1 << 24, (200, 40))
    for bin in (0, 57, 198):
        moved = left.copy()
        moved[bin] -= noise_model.most * noise_model.grid
        shift = drawn_noise(noise_model, moved) - drawn_noise(noise_model, left)
        theta, omega = 1 - noise_model.exponentials.decays, noise_model.exponentials.weights
        column = np.concatenate([np.zeros(bin), [1.0], [omega @ theta**k for k in range(199 - bin)]])
        ideal = -noise_model.most * noise_model.grid * column
        assert np.abs(shift - ideal[:, None]).max() <= float(noise_model.slack)
        assert (shift[: bin + 1] == ideal[: bin + 1, None]).all()
        assert (shift.astype(float) ** 2).sum(axis=0).max() <= float(noise_model.squared_sensitivity)


@pytest.mark.parametrize("grid_bits", [0, 1, 20])
@pytest.mark.parametrize("guard_bits", [0, 8])
@pytest.mark.parametrize("bins", [(0, 1), (0, 0, 1), (0, 1, 2), (0, 5, 9)])
def test_nor_does_a_unit_that_is_spread_over_bins(grid_bits, guard_bits, bins):
    """The page on the buffered root proves it; here 2,000 histories are tried."""
    tuned = tune(12, Cost.zcdp(0.3))
    noise_model = BufferedRoot(
        12,
        tuned.cost,
        tuned.decays,
        tuned.weights,
        grid_bits,
        guard_bits,
        most=len(bins),
        most_per_cell=max(map(bins.count, bins)),
    )
    left = np.random.default_rng(guard_bits).integers(-(1 << 24), 1 << 24, (12, 2000))
    moved = left.copy()
    for bin in bins:
        moved[bin] -= noise_model.grid
    shift = drawn_noise(noise_model, moved) - drawn_noise(noise_model, left)
    assert (shift.astype(float) ** 2).sum(axis=0).max() <= float(noise_model.squared_sensitivity)


@pytest.mark.parametrize(("most", "per_cell"), [(5, 1), (5, 2), (6, 2), (4, 3)])
def test_the_squares_of_a_buffered_root_are_those_of_the_worst_spread(most, per_cell):
    """Against all ways to spread counts over eight bins of two places, by dense algebra."""
    tuned = tune(8, Cost.zcdp(0.3), most)
    bounded = replace(tuned, most_per_cell=per_cell)
    encoder = buffered(bounded)[1]
    largest = 0.0
    for cells in combinations_with_replacement(range(16), most):
        if max(map(cells.count, cells)) <= per_cell:
            spread = np.bincount(cells, minlength=16).reshape(2, 8)
            largest = max(largest, float(((encoder @ spread.T) ** 2).sum()))
    stated = float(bounded.squared_sensitivity) / bounded.grid**2
    assert largest <= stated <= 1.06 * largest
    assert stated < float(tuned.squared_sensitivity) / tuned.grid**2
    assert stated >= most * float(replace(tuned, most=1).squared_sensitivity) / tuned.grid**2


@pytest.mark.false_failure(2e-8)
@pytest.mark.parametrize("noise_model", NOISE_MODELS, ids=name)
def test_predicted_and_simulated_errors_agree(noise_model, seed):
    """20,000 streams at once; sums of Laplace or Gaussian noise have an excess kurtosis of 3 at most."""
    key = seed.to_bytes(32, "little")
    noise = published(noise_model, np.zeros((N_BINS, 20_000), np.int64), key=key)[0] / noise_model.grid
    totals = np.arange(1, N_BINS + 1)
    predicted = noise_model.range_variances(np.zeros(N_BINS, np.int64), totals)
    assert_variance(noise.T, predicted, excess_kurtosis=3.0)
    first = np.arange(1, 60)
    ranges = noise[first + 14] - noise[first - 1]
    assert_variance(ranges.T, noise_model.range_variances(first, first + 15), excess_kurtosis=3.0)


def test_noise_of_a_node_is_the_same_in_any_order_and_never_shown():
    draws, again = NodeDraws(KEY, 5), NodeDraws(KEY, 5)
    noise = KaryTree.binary(8, PURE).node_noise
    far = draws.take(noise, 3, 9000, 9005)
    assert np.array_equal(again.take(noise, 3, 8990, 9005)[10:], far)
    assert not np.array_equal(again.take(noise, 2, 9000, 9005), far)
    assert KEY.hex() not in repr(draws)
    with pytest.raises(SettingError):
        NodeDraws(b"short", 1)
