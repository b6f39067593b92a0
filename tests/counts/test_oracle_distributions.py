"""Distributions of reports, each compared with its randomizer by listing every report with its exact probability."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.counts.oracle_distributions import (
    ORACLE_DISTRIBUTIONS,
    ResponseDistribution,
    SubsetDistribution,
    SupportDistribution,
    distribution_from_dict,
)
from tacit.errors import FormatError
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.randomness.bernoulli import COIN

Listed = list[list[tuple[Fraction, tuple[int, ...]]]]

EXAMPLES: list[LocalRandomizer] = [
    UnaryEncoding.symmetric(epsilon=1.0, n_cells=4),
    UnaryEncoding(n_cells=3, ones=COIN // 2, zeros=COIN // 9),
    RandomizedResponse.from_epsilon(epsilon=0.3, n_cells=2),
    RandomizedResponse.from_epsilon(epsilon=2.0, n_cells=7),
    SubsetSelection.from_epsilon(epsilon=1.0, n_cells=2),
    SubsetSelection.of_size(2, epsilon=1.0, n_cells=3),
    SubsetSelection.of_size(3, epsilon=0.3, n_cells=7),
    HadamardResponse.from_epsilon(epsilon=1.0, n_cells=2),
    HadamardResponse.from_epsilon(epsilon=2.0, n_cells=6),
    LocalHashing.from_epsilon(epsilon=1.0, n_cells=5),
    LocalHashing.from_epsilon(epsilon=1.0, n_cells=4, binary=True),
    LongitudinalRappor.from_epsilons(epsilon_infinity=2.0, epsilon_1=1.0, n_cells=3),
    LongitudinalRappor.from_parameters(f=0.2, q=0.75, p=0.5, n_cells=3),
    LongitudinalRappor.from_epsilons(epsilon_infinity=2.0, epsilon_1=1.0, n_cells=3, optimized=True),
    LongitudinalHashing.from_epsilons(epsilon_infinity=2.0, epsilon_1=1.0, n_cells=5),
]
by_name = pytest.mark.parametrize("randomizer", EXAMPLES, ids=lambda r: f"{type(r).__name__}-{r.n_cells}")


def listed(randomizer: LocalRandomizer) -> Listed:
    """For each true cell, the possible reports: the probability of each and the cells it supports."""
    channel = randomizer.channel()
    numbers = [number for number, column in enumerate(zip(*channel, strict=True)) if any(column)]
    flat = b"".join(number.to_bytes(randomizer.report_bytes, "little") for number in numbers)
    reports = np.frombuffer(flat, np.uint8).reshape(-1, randomizer.report_bytes)
    supports = [tuple(row) for row in randomizer.statistics(reports, np.ones(len(reports), np.int64)).tolist()]
    return [[(row[number], s) for number, s in zip(numbers, supports, strict=True)] for row in channel]


def mean_and_variance(
    outcomes: list[tuple[Fraction, tuple[int, ...]]], weights: list[int]
) -> tuple[Fraction, Fraction]:
    values = [(chance, sum(w * s for w, s in zip(weights, supported, strict=True))) for chance, supported in outcomes]
    mean = sum((chance * value for chance, value in values), start=Fraction(0))
    return mean, sum((chance * value**2 for chance, value in values), start=Fraction(0)) - mean**2


def test_every_distribution_has_an_example():
    assert {randomizer.distribution.kind for randomizer in EXAMPLES} == ORACLE_DISTRIBUTIONS.keys()


@by_name
def test_cells_are_supported_with_probability_p_and_q_exactly(randomizer):
    distribution = randomizer.distribution
    for cell, outcomes in enumerate(listed(randomizer)):
        for other in range(distribution.n_cells):
            one = [int(j == other) for j in range(distribution.n_cells)]
            assert mean_and_variance(outcomes, one)[0] == (distribution.p if other == cell else distribution.q)
        assert all(set(supported) <= {0, 1} for _, supported in outcomes)


@by_name
@settings(max_examples=15)
@given(data=st.data())
def test_the_variance_of_any_question_is_that_of_the_listed_reports(randomizer, data):
    distribution = randomizer.distribution
    weights = data.draw(st.lists(st.integers(-100, 100), min_size=distribution.n_cells, max_size=distribution.n_cells))
    stated = distribution.variances(np.array(weights, np.float64))
    squared = Fraction(distribution.p - distribution.q) ** 2
    true = [mean_and_variance(outcomes, weights)[1] / squared for outcomes in listed(randomizer)]
    rounding = 1e-12 * float(sum(abs(w) for w in weights) ** 2 / squared)
    np.testing.assert_allclose(stated, [float(v) for v in true], rtol=1e-9, atol=rounding)
    if not distribution.needs_counts:
        assert len(set(true)) == 1


@by_name
def test_a_sum_said_to_be_coin_flips_has_their_distribution_exactly(randomizer):
    distribution = randomizer.distribution
    for n_summed in range(1, distribution.n_cells + 1):
        coins = distribution.coins(n_summed)
        if coins is None:
            continue
        for cell, outcomes in enumerate(listed(randomizer)):
            is_inside = cell >= distribution.n_cells - n_summed  # the last cells are summed
            chances = [coins.inside if is_inside else coins.outside] + [coins.outside] * (coins.flips - 1)
            expected = {0: Fraction(1)}
            for chance in chances:
                heads = {n + 1: mass * chance for n, mass in expected.items()}
                tails = {n: mass * (1 - chance) for n, mass in expected.items()}
                expected = {n: heads.get(n, Fraction(0)) + tails.get(n, Fraction(0)) for n in heads | tails}
            found: dict[int, Fraction] = {}
            for chance, supported in outcomes:
                n = sum(supported[-n_summed:])
                found[n] = found.get(n, Fraction(0)) + chance
            assert found == expected


@by_name
def test_the_listing_notices_a_threshold_that_is_off_by_one(randomizer):
    """The comparisons above have power: no other distribution of the kind has these probabilities."""
    distribution = randomizer.distribution
    name = next(n for n in ("ones", "keep", "include") if n in distribution.to_dict())
    fields = {n: int(v, 16) if isinstance(v, str) else v for n, v in distribution.to_dict().items() if n != "kind"}
    moved = ORACLE_DISTRIBUTIONS[distribution.kind](**(fields | {name: fields[name] - 1}))
    assert (moved.p, moved.q) != (distribution.p, distribution.q)


@by_name
def test_a_distribution_comes_back_from_plain_data(randomizer):
    assert distribution_from_dict(randomizer.distribution.to_dict()) == randomizer.distribution


@pytest.mark.parametrize("damage", [{"kind": "unheard of"}, {"n_cells": None}, {"extra": 1}])
def test_a_damaged_distribution_is_refused(damage):
    with pytest.raises(FormatError):
        distribution_from_dict(ResponseDistribution(3, COIN // 2).to_dict() | damage)


@pytest.mark.parametrize(
    "distribution", [ResponseDistribution(1000, COIN // 1000), SubsetDistribution(1000, 300, COIN // 2)]
)
def test_what_all_weights_share_adds_no_noise(distribution: SupportDistribution):
    """Every report of these names the same number of cells, so their estimates add up to the number of reports."""
    weights = np.random.default_rng(1).normal(size=1000)
    np.testing.assert_allclose(distribution.variances(weights + 1e6), distribution.variances(weights), rtol=1e-8)
    assert distribution.variances(np.ones(1000)).max() <= 1e-9 * distribution.variances(weights).min()
