"""Sums of cells over any noise, whether it knows a fast way or answers question by question."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tacit.counts.noise import (
    LinearMap,
    NoStatedNoise,
    OracleNoise,
    errors_of_questions,
    intervals_of_questions,
)
from tacit.counts.oracle_distributions import SubsetDistribution, UnaryDistribution
from tacit.domain import Grouping, Layout
from tacit.errors import FormatError
from tacit.randomness.bernoulli import COIN
from tacit.release.files import noise_from_dict

IMAGE = Grouping.of_columns(np.array([0, 0, 1, 1]), np.array([1, 0, 1]), (2, 2))


@pytest.mark.parametrize("private", [("place",), ("time",)])
@pytest.mark.parametrize(
    "distribution",
    [lambda k: UnaryDistribution(k, COIN // 4 * 3, COIN // 4), lambda k: SubsetDistribution(k, 2, COIN // 8 * 7)],
)
def test_the_fast_way_equals_asking_one_question_after_the_other(distribution, private):
    n_public, n_cells = (4, 3) if private == ("place",) else (3, 4)
    base = OracleNoise(
        distribution(n_cells),
        np.arange(5, 5 + n_public),
        Layout(private, (4, 3, 1)),
        np.full((n_public, n_cells), 5 / n_cells),
    )
    np.testing.assert_allclose(base.sum_errors(IMAGE), errors_of_questions(base, IMAGE))
    values = np.array([[1.0, 6], [9, 4]])
    for fast, slow in zip(
        base.sum_intervals(values, IMAGE, 0.9), intervals_of_questions(base, values, IMAGE, 0.9), strict=True
    ):
        np.testing.assert_allclose(fast, slow)


def test_a_linear_image_of_a_linear_image_is_one_of_the_finest_cells():
    base = OracleNoise(
        UnaryDistribution(3, COIN // 4 * 3, COIN // 4), np.array([5, 6, 7, 8]), Layout(("place",), (4, 3, 1))
    )
    half = LinearMap(base, Grouping.of_columns(np.arange(4), np.array([0, 1, 1]), (4, 2)))
    nested = LinearMap(half, Grouping.of_columns(np.array([0, 0, 1, 1]), np.array([0, 0]), (2, 1)))
    flat = LinearMap(base, Grouping.of_columns(np.array([0, 0, 1, 1]), np.array([0, 0, 0]), (2, 1)))
    np.testing.assert_allclose(nested.standard_errors(), flat.standard_errors())
    again = noise_from_dict(json.loads(json.dumps(nested.to_dict())))
    np.testing.assert_array_equal(again.intervals(np.ones((2, 1)), 0.9), flat.intervals(np.ones((2, 1)), 0.9))


def test_a_linear_image_of_any_kind_is_read_back():
    grouping = LinearMap(
        NoStatedNoise("clipping is biased"), Grouping.of_columns(np.array([0, 0]), np.array([0]), (1, 1))
    )
    again = noise_from_dict(json.loads(json.dumps(grouping.to_dict())))
    assert isinstance(again, LinearMap)
    assert again.base == grouping.base


def test_noise_nested_without_end_is_refused():
    content = LinearMap(NoStatedNoise("x"), Grouping.of_columns(np.array([0]), np.array([0]), (1, 1))).to_dict()
    deep = dict(content)
    deep["base"] = deep
    with pytest.raises(FormatError):
        noise_from_dict(deep)
