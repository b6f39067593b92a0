"""Sums of many releases: known figures, exact small cases, and no method below the truth."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import MissingExtra, SettingError
from tacit.privacy import accounting
from tacit.privacy.accounting import (
    Releases,
    advanced_composition,
    compose,
    gaussian_epsilon,
    loss_distribution_epsilon,
    optimal_composition,
    renyi_epsilon,
    subsampled,
)
from tacit.privacy.cost import Cost


def test_a_hundred_releases_at_a_tenth():
    """k = 100, epsilon 0.1, delta 1e-6: the figures of the literature."""
    many = [Cost.pure(0.1)] * 100
    assert round(compose(many, delta=0).epsilon, 2) == 10
    assert round(advanced_composition(0.1, 100, 1e-6), 2) == 6.31
    assert round(Cost.sum(Cost.zcdp(0.005) for _ in many).epsilon_at(1e-6), 2) == 5.22
    assert round(renyi_epsilon(0.1, 100, 1e-6), 2) == 4.98
    assert round(optimal_composition(0.1, 100, 1e-6), 2) == 4.80
    # Laplace noise on a fine grid is that on a line
    fine = Releases("discrete laplace", 0.1, times=100, sensitivity=1000)
    assert round(loss_distribution_epsilon([fine], 1e-6), 2) == 4.69


def test_for_a_dozen_releases_the_plain_sum_is_as_good_as_any():
    found = compose([Cost.pure(0.1)] * 12, delta=1e-6)
    assert 1.196 <= found.epsilon <= 1.2 + 1e-9
    assert min(found.others.values()) > 1.19


def worst_delta(epsilons: list[float], epsilon: float) -> float:
    """The exact delta of pure releases in the worst case: each tells the truth with probability e/(1+e)."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        p = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
        q = math.prod(1 / (1 + math.exp(s * e)) for s, e in zip(signs, epsilons, strict=True))
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


@settings(max_examples=30)
@given(st.lists(st.floats(0.05, 1.5), min_size=1, max_size=6), st.floats(1e-8, 0.05))
def test_no_sum_is_below_what_a_worst_case_needs(epsilons, delta):
    found = compose([Cost.pure(e) for e in epsilons], delta=delta)
    for epsilon in (found.epsilon, *found.others.values()):
        assert worst_delta(epsilons, epsilon) <= delta * (1 + 1e-6)


@settings(max_examples=40)
@given(st.floats(0.05, 1.5), st.integers(1, 8), st.floats(1e-6, 0.05))
def test_the_optimal_sum_is_the_least_of_its_kind(epsilon, times, delta):
    found = optimal_composition(epsilon, times, delta)
    assert worst_delta([epsilon] * times, found) <= delta * (1 + 1e-9)
    if found > 2 * epsilon:
        assert worst_delta([epsilon] * times, found - 2 * epsilon) > delta


def test_gaussian_noise_is_known_better_by_its_distribution_than_by_zcdp():
    found = compose([Releases("discrete gaussian", 100.0, times=100)], delta=1e-6)
    assert found.method == "privacy loss distribution"
    # one hundred releases of variance 100 are one of variance 1
    assert found.epsilon == pytest.approx(gaussian_epsilon(1.0, 1e-6), abs=2e-3)
    assert found.epsilon < found.others["zCDP"] < 5.23


def test_a_mix_of_kinds_is_summed_by_what_holds_for_all():
    found = compose([Cost.pure(1.0), Cost.zcdp(0.05)], delta=1e-6)
    assert found.method in ("sequential and zCDP", "zCDP")
    assert "privacy loss distribution" not in found.others
    assert found.epsilon == min(found.epsilon, *found.others.values())
    both = compose([Releases("pure", 1.0), Releases("discrete gaussian", 100.0)], delta=1e-6)
    assert both.method == "privacy loss distribution"


def test_without_the_extra_the_sums_that_need_none_remain(monkeypatch):
    def missing(module, *, extra):
        raise MissingExtra(f"this needs {module}")

    monkeypatch.setattr(accounting, "require", missing)
    found = compose([Cost.pure(0.1)] * 100, delta=1e-6)
    assert (round(found.epsilon, 2), found.method) == (4.80, "optimal")
    with pytest.raises(MissingExtra):
        renyi_epsilon(0.1, 100, 1e-6)


def test_a_sample_costs_less_and_the_library_agrees():
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for epsilon, share in ((1.0, 0.1), (2.0, 0.01)):
        theirs = pld.from_laplace_mechanism(1 / epsilon, sampling_prob=share).get_epsilon_for_delta(1e-12)
        assert subsampled(epsilon, share) == pytest.approx(theirs, abs=1e-4)
    assert subsampled(1.0, 1.0) == pytest.approx(1.0)
    assert subsampled(1.0, 0.0) == 0


def test_gaussian_noise_without_delta_has_no_epsilon():
    with pytest.raises(SettingError, match="no epsilon without a delta"):
        compose([Cost.zcdp(0.1)], delta=0)
    with pytest.raises(SettingError, match="says nothing of the noise"):
        loss_distribution_epsilon([Releases("zcdp", 0.1)], 1e-6)


@pytest.mark.parametrize(
    "settings",
    [("magic", 1.0), ("pure", 0.0), ("pure", math.nan), ("zcdp", -1.0), ("discrete gaussian", 0.0), ("pure", 1.0, 0)],
)
def test_releases_that_make_no_sense_are_refused(settings):
    with pytest.raises(SettingError):
        Releases(*settings)
