"""Closed forms against explicit matrices."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_matrices import factors, sums
from tacit.counts.continual_noise import (
    CONTINUAL_NOISE,
    BufferedRoot,
    Epochs,
    FusedTree,
    KaryTree,
    NestedTree,
    RefinedTree,
    SmoothTree,
    continual_noise_from_dict,
)
from tacit.errors import FormatError, SettingError
from tacit.privacy.cost import Cost

PURE = Cost.pure(0.7)
NOISE_MODELS = [
    KaryTree.binary(37, PURE),
    KaryTree.binary(1, PURE),
    KaryTree(50, PURE, 1, (3, 4)),
    KaryTree(9, Cost.zcdp(0.3), 2, ()),
    SmoothTree(34, PURE, zeros=3, ones=4),
    SmoothTree(30, PURE, zeros=3, ones=4),
    SmoothTree(20, PURE, zeros=2, ones=5),
    SmoothTree(7, Cost.zcdp(0.2), zeros=1, ones=7),
    SmoothTree(14, PURE, zeros=4, ones=2),
    RefinedTree(37, PURE, (3, 4)),
    RefinedTree(33, PURE, (2, 2, 2)),
    RefinedTree(5, Cost.zcdp(0.1), ()),
    FusedTree(30, PURE, (3, 4)),
    FusedTree(17, PURE, (2, 2, 2)),
    Epochs(3, PURE, ((), (2,), (2, 3))),
    BufferedRoot(
        40,
        Cost.zcdp(0.25),
        decays=((2000, 18), (9000, 17), (40000, 17)),
        weights=((9000, 18), (20000, 18), (50000, 18)),
    ),
]
NAMES = [f"{noise_model.kind} {number}" for number, noise_model in enumerate(NOISE_MODELS)]


def scale_of(noise_model):
    return noise_model.variance if isinstance(noise_model, BufferedRoot) else noise_model.node_noise.variance


def noise_variances(noise_model, encoder):
    """The variance of every node: epochs have their own noise each."""
    if isinstance(noise_model, Epochs):
        return np.concatenate([np.full(len(factors(tree)[1]), tree.node_noise.variance) for tree in noise_model.trees])
    return np.full(len(encoder), scale_of(noise_model))


@pytest.mark.parametrize("noise_model", NOISE_MODELS, ids=NAMES)
def test_decoder_times_encoder_gives_all_sums(noise_model):
    decoder, encoder = factors(noise_model)
    assert np.allclose(decoder @ encoder, sums(noise_model.horizon), atol=1e-9)


@pytest.mark.parametrize("noise_model", [noise_model for noise_model in NOISE_MODELS if noise_model.is_causal], ids=str)
def test_causal_totals_use_only_nodes_that_are_complete(noise_model):
    decoder, encoder = factors(noise_model)
    last_bin = [np.flatnonzero(row).max(initial=0) for row in encoder]
    if isinstance(noise_model, BufferedRoot):
        last_bin = range(noise_model.horizon)
    complete_by = np.array(last_bin)
    for t, row in enumerate(decoder):
        assert complete_by[np.abs(row) > 1e-9].max(initial=-1) <= t


def test_noise_drawn_ahead_is_not_causal_and_says_so():
    noise_model = FusedTree(27, PURE, (3, 3))
    decoder, encoder = factors(noise_model)
    first_bin = np.array([np.flatnonzero(row).min() for row in encoder])
    assert (first_bin[np.abs(decoder[0]) > 1e-9] > 0).any()
    assert not noise_model.is_causal
    assert "does not react" in FusedTree.__doc__


@pytest.mark.parametrize(
    "noise_model", [noise_model for noise_model in NOISE_MODELS if not isinstance(noise_model, BufferedRoot)], ids=str
)
def test_the_noise_of_every_tree_is_scaled_to_its_columns(noise_model):
    _, encoder = factors(noise_model)
    blocks = [(noise_model, encoder)]
    if isinstance(noise_model, Epochs):
        blocks = [(tree, factors(tree)[1]) for tree in noise_model.trees]
    for tree, block in blocks:
        most = max(np.abs(block).sum(axis=0))
        assert most <= tree.levels
        noise = tree.node_noise
        if tree.cost.rho:
            worst = (tree.most * block) ** 2
            assert worst.sum(axis=0).max() / (2 * float(noise.parameter)) <= tree.cost.rho * (1 + 1e-12)
        else:
            assert tree.most * most * float(noise.rate) <= tree.cost.epsilon * (1 + 1e-12)


@pytest.mark.parametrize(
    "noise_model",
    [
        KaryTree(20, Cost.zcdp(0.3), 6, (3, 4), most_per_cell=2),
        SmoothTree(19, Cost.zcdp(0.1), 6, zeros=3, ones=3, most_per_cell=2),
        RefinedTree(16, Cost.zcdp(0.1), (4,), 6, most_per_cell=2),
        FusedTree(16, Cost.zcdp(0.1), (4,), 6, most_per_cell=2),
        Epochs(3, Cost.zcdp(0.1), ((), (2,), (2, 3)), 6, most_per_cell=2),
        replace(NOISE_MODELS[-1], most=6, most_per_cell=2),
    ],
    ids=lambda one: one.kind,
)
def test_a_bound_on_cells_makes_noise_less_and_stands_in_files(noise_model):
    loose = replace(noise_model, most_per_cell=0)
    ends = np.zeros(1, np.int64), np.array([noise_model.horizon])
    assert noise_model.range_variances(*ends)[0] < loose.range_variances(*ends)[0]
    assert continual_noise_from_dict(noise_model.to_dict()) == noise_model
    assert noise_model.to_dict() == loose.to_dict() | {"most_per_cell": 2}


@pytest.mark.parametrize(("zeros", "ones"), [(1, 4), (2, 5), (3, 3), (4, 2)])
def test_nodes_of_a_smooth_tree_hold_no_more_bins_than_stated(zeros, ones):
    """Every label is listed: the bins below each prefix that ends in a zero, by the number of the zero."""
    tree = SmoothTree(math.comb(zeros + ones, zeros) - 1, PURE, zeros=zeros, ones=ones)
    labels = ["".join(label) for label in itertools.product("01", repeat=zeros + ones) if label.count("0") == zeros]
    below = Counter(label[: place + 1] for label in labels for place, digit in enumerate(label) if digit == "0")
    widest = [max(n for prefix, n in below.items() if prefix.count("0") == zero) for zero in range(zeros, 0, -1)]
    assert list(tree.sizes) == widest


def test_full_trees_waste_nothing():
    for tree in (KaryTree.binary(64, PURE), SmoothTree(34, PURE, zeros=3, ones=4), KaryTree(60, PURE, 1, (3, 4))):
        assert max(factors(tree)[1].sum(axis=0)) == tree.levels


@pytest.mark.parametrize("noise_model", NOISE_MODELS, ids=NAMES)
def test_the_variance_of_every_range_is_that_of_the_matrices(noise_model):
    decoder, encoder = factors(noise_model)
    rows = np.concatenate([np.zeros((1, decoder.shape[1])), decoder])
    pairs = np.array(list(itertools.combinations(range(noise_model.horizon + 1), 2)))
    exact = ((rows[pairs[:, 1]] - rows[pairs[:, 0]]) ** 2) @ noise_variances(noise_model, encoder)
    assert np.allclose(noise_model.range_variances(pairs[:, 0], pairs[:, 1]), exact, rtol=1e-9)
    assert noise_model.range_variances(np.array([1]), np.array([1])).tolist() == pytest.approx([0], abs=1e-9)


@pytest.mark.parametrize("noise_model", NOISE_MODELS, ids=NAMES)
def test_the_variance_of_any_question_is_that_of_the_matrices(noise_model):
    decoder, encoder = factors(noise_model)
    for n_bins in {1, noise_model.horizon // 2 + 1, noise_model.horizon}:
        weights = np.random.default_rng(n_bins).normal(size=(n_bins, 3))
        padded = np.concatenate([weights, np.zeros((1, 3))])
        on_totals = padded[:-1] - padded[1:]
        exact = noise_variances(noise_model, encoder) @ (decoder[:n_bins].T @ on_totals) ** 2
        assert np.allclose((noise_model.loads(weights) ** 2).sum(axis=0), exact, rtol=1e-9)


@pytest.mark.parametrize("noise_model", NOISE_MODELS, ids=NAMES)
def test_noise_models_travel_as_plain_data(noise_model):
    assert continual_noise_from_dict(json.loads(json.dumps(noise_model.to_dict()))) == noise_model


def test_a_damaged_noise_model_is_refused():
    content = NOISE_MODELS[0].to_dict()
    for broken in ({**content, "horizon": 2.5}, {**content, "kind": "x"}, {"kind": content["kind"]}, {}):
        with pytest.raises(FormatError):
            continual_noise_from_dict(broken)


def test_ranges_that_run_backward_or_beyond_are_refused():
    for first, stop in ((3, 2), (-1, 2), (0, 38)):
        with pytest.raises(SettingError):
            NOISE_MODELS[0].range_variances(np.array([first]), np.array([stop]))


def test_spans_and_ends_of_nested_trees_are_those_of_a_stack():
    for tree in (noise_model for noise_model in NOISE_MODELS if isinstance(noise_model, NestedTree)):
        totals = np.arange(1, tree.horizon + 1)
        stack: list[tuple[int, int]] = []
        stands_until = {}
        for total, span in zip(totals.tolist(), tree.spans(totals).tolist(), strict=True):
            while stack and stack[-1][0] > total - span:
                stands_until[stack.pop()[0]] = total
            assert (stack[-1][0] if stack else 0) == total - span
            stack.append((total, span))
        for total, end in zip(totals.tolist(), tree.ends(totals).tolist(), strict=True):
            assert stands_until.get(total, tree.horizon + 1) == min(end, tree.horizon + 1)


def test_the_slack_of_a_buffered_root_is_in_its_noise():
    noise_model = NOISE_MODELS[-1]
    _, encoder = factors(noise_model)
    ideal = (encoder[:, 0] ** 2).sum() * noise_model.grid**2 / (2 * noise_model.cost.rho)
    assert 1 < float(noise_model.node_noise.parameter) / ideal < 1.001


@pytest.mark.parametrize("noise_model", CONTINUAL_NOISE.values(), ids=CONTINUAL_NOISE)
def test_every_noise_model_promises_privacy_error_cost_and_names_its_reference(noise_model):
    promises = re.findall(r"^\s*(Privacy|Error|Cost|Reference):\s+\S", noise_model.__doc__, re.MULTILINE)
    assert promises == ["Privacy", "Error", "Cost", "Reference"]


@pytest.mark.parametrize("zeros", range(1, 6))
@pytest.mark.parametrize("ones", range(1, 7))
def test_labels_of_any_zeros_and_ones_make_a_factorization(zeros, ones):
    tree = SmoothTree(math.comb(zeros + ones, zeros) - 1, PURE, zeros=zeros, ones=ones)
    decoder, encoder = factors(tree)
    assert np.array_equal(decoder @ encoder, sums(tree.horizon))
    assert encoder.sum(axis=0).max() <= zeros
    assert np.array_equal(decoder, np.tril(decoder))
    starts = np.zeros(tree.horizon, np.int64)
    assert np.array_equal(tree.node_counts(starts, np.arange(1, tree.horizon + 1)), decoder.sum(axis=1))


@given(st.lists(st.integers(2, 6), max_size=4), st.integers(1, 150))
def test_trees_of_any_fan_outs_make_a_factorization(fan_outs, horizon):
    tree = KaryTree(horizon, PURE, 1, tuple(fan_outs))
    decoder, encoder = factors(tree)
    assert np.array_equal(decoder @ encoder, sums(horizon))
    assert encoder.sum(axis=0).max() <= tree.levels


def test_noise_beyond_64_bits_is_refused_before_it_is_drawn():
    for kind in (RefinedTree, FusedTree):
        with pytest.raises(SettingError, match="64-bit"):
            kind(100, Cost.pure(1e-6), (16, 16, 16), 1000)


@pytest.mark.parametrize(
    "changed",
    [
        {"decays": ((9000, 17), (2000, 18), (40000, 17))},
        {"weights": ((9000, 18), (20000, 18))},
        {"weights": ((9000, 15), (20000, 18), (50000, 18))},
        {"weights": ((65535, 16), (65535, 16), (65535, 16))},
        {"decays": ((0, 18), (9000, 17), (40000, 17))},
        {"decays": (), "weights": ()},
        {"guard_bits": 21},
        {"grid_bits": -1},
        {"cost": PURE},
    ],
)
def test_exponentials_that_are_not_in_order_or_grow_are_refused(changed):
    with pytest.raises(SettingError):
        replace(NOISE_MODELS[-1], **changed)


def test_labels_too_few_or_too_long_are_refused():
    for zeros, ones in ((2, 3), (0, 5), (2, 10_000)):
        with pytest.raises(SettingError):
            SmoothTree(10, PURE, zeros=zeros, ones=ones)
