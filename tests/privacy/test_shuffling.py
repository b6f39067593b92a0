"""Shuffling is stated only where a bound holds, and the numerical bound is checked against every small case."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import gammaln

from tacit.errors import MissingExtra, SettingError
from tacit.privacy import shuffling
from tacit.privacy.shuffling import closed_form, response_bound, shuffled

MONTH, YEAR = 2449, 29388


@pytest.mark.parametrize(
    ("epsilon", "figures"), [(2.197, (0.955, 0.172, 0.045)), (4.394, (3.94, 1.07, 0.26)), (5.889, (5.89, 3.89, 0.65))]
)
@pytest.mark.slow
def test_the_figures_for_seventeen_regions(epsilon, figures):
    """A day, a month and a year of interventions; delta 1e-6."""
    for n_reports, figure in zip((80, MONTH, YEAR), figures, strict=True):
        assert response_bound(epsilon, 17, n_reports, delta=1e-6) == pytest.approx(figure, abs=0.0051)


def test_the_figures_of_the_closed_form_and_its_condition():
    assert closed_form(2.197, 80, delta=1e-6) is None
    assert closed_form(2.197, MONTH, delta=1e-6) == pytest.approx(0.93, abs=0.005)
    assert closed_form(2.197, YEAR, delta=1e-6) == pytest.approx(0.36, abs=0.005)
    n_least = math.ceil(16 * math.log(2 / 1e-6) * math.exp(2.0))
    assert closed_form(2.0, n_least + 1, delta=1e-6) is not None
    assert closed_form(2.0, n_least - 1, delta=1e-6) is None


def outcome_distribution(values: tuple[int, ...], n_cells: int, epsilon: float) -> Counter[tuple[int, ...]]:
    """The exact distribution of the counts that a shuffler lets out."""
    distribution: Counter[tuple[int, ...]] = Counter({(0,) * n_cells: 1.0})
    for value in values:
        after: Counter[tuple[int, ...]] = Counter()
        for counts, mass in distribution.items():
            for said in range(n_cells):
                share = (math.exp(epsilon) if said == value else 1) / (math.exp(epsilon) + n_cells - 1)
                after[tuple(c + (i == said) for i, c in enumerate(counts))] += mass * share
        distribution = after
    return distribution


def exact_delta(others: tuple[int, ...], n_cells: int, local: float, epsilon: float) -> float:
    """The most that the two values of one more report can differ by, both ways."""
    first, second = (outcome_distribution((value, *others), n_cells, local) for value in (0, 1))
    return max(
        sum(max(0.0, a[counts] - math.exp(epsilon) * b[counts]) for counts in a | b)
        for a, b in ((first, second), (second, first))
    )


@pytest.mark.parametrize(("n_cells", "n_reports"), [(2, 6), (3, 5), (4, 4)])
@pytest.mark.parametrize("local", [0.5, 1.5, 3.0])
@pytest.mark.parametrize("delta", [0.2, 0.02, 1e-3])
def test_the_numerical_bound_holds_for_all_values_the_others_can_have(n_cells, n_reports, local, delta):
    bound = response_bound(local, n_cells, n_reports, delta=delta)
    for others in itertools.combinations_with_replacement(range(n_cells), n_reports - 1):
        assert exact_delta(others, n_cells, local, bound) <= delta * (1 + 1e-9)


def exact_epsilon(n_reports: int, n_cells: int, local: float, delta: float, *, others_share_the_first: bool) -> float:
    """The least epsilon for the counts of two cells, if the others all hold the first cell, or all a third."""
    p, q = math.exp(local) / (math.exp(local) + n_cells - 1), 1 / (math.exp(local) + n_cells - 1)
    of_others = (p if others_share_the_first else q, q)
    i, j = np.meshgrid(np.arange(n_reports), np.arange(n_reports), indexing="ij")
    rest = n_reports - 1 - i - j
    log_distribution = (
        gammaln(n_reports)
        - gammaln(i + 1)
        - gammaln(j + 1)
        - gammaln(np.maximum(rest, 0) + 1)
        + i * math.log(of_others[0])
        + j * math.log(of_others[1])
        + np.maximum(rest, 0) * math.log(1 - sum(of_others))
    )
    others = np.where(rest >= 0, np.exp(log_distribution), 0.0)

    def with_one(first: float, second: float):
        distribution = np.zeros((n_reports + 1, n_reports + 1))
        distribution[1:, :-1] += first * others
        distribution[:-1, 1:] += second * others
        distribution[:-1, :-1] += (1 - first - second) * others
        return distribution

    distributions = with_one(p, q), with_one(q, p)

    def excess(epsilon: float) -> float:
        return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in (distributions, distributions[::-1]))

    return brentq(lambda epsilon: excess(epsilon) - delta, 0, local)


@pytest.mark.parametrize("others_share_the_first", [True, False])
@pytest.mark.parametrize("local", [2.197, 4.394])
@pytest.mark.parametrize("n_reports", [80, 300])
def test_the_numerical_bound_holds_at_real_sizes_and_is_close(local, n_reports, others_share_the_first):
    exact = exact_epsilon(n_reports, 17, local, 1e-6, others_share_the_first=others_share_the_first)
    bound = response_bound(local, 17, n_reports, delta=1e-6)
    assert exact <= bound
    if not others_share_the_first:
        assert bound < 1.15 * exact


def test_two_cells_alone_are_no_bound():
    """Why the variation-ratio bound is not offered: others who share the first cell hide less than it says."""
    third = exact_epsilon(80, 17, 4.394, 1e-6, others_share_the_first=False)
    assert third == pytest.approx(3.44, abs=0.005)
    assert exact_epsilon(80, 17, 4.394, 1e-6, others_share_the_first=True) == pytest.approx(3.61, abs=0.005)


@settings(max_examples=20)
@given(st.floats(0.1, 4), st.integers(2, 40), st.integers(1, 800), st.floats(1e-9, 0.01))
@pytest.mark.slow
def test_more_reports_hide_better_and_never_worse_than_none(local, n_cells, n_reports, delta):
    small = response_bound(local, n_cells, n_reports, delta=delta)
    assert response_bound(local, n_cells, 2 * n_reports, delta=delta) <= small * 1.01 + 1e-9
    assert small <= local
    closed = closed_form(local, n_reports, delta=delta)
    assert closed is None or small <= closed


def test_the_statement_names_its_conditions():
    bound = shuffled(2.2, MONTH, delta=1e-6, n_cells=17)
    assert bound.method == "privacy blanket"
    assert "holds only if a shuffler you trust removes who and when" in bound.sentence
    assert any("who sent a report and when" in condition for condition in bound.conditions)


def test_where_no_bound_holds_the_local_epsilon_stays():
    bound = shuffled(2.2, 80, delta=1e-6)
    assert (bound.epsilon, bound.method) == (2.2, "local")
    assert "not known to add" in bound.sentence


def test_without_the_extra_the_closed_form_remains(monkeypatch):
    def missing(module, *, extra):
        raise MissingExtra(f"this needs {module}")

    monkeypatch.setattr(shuffling, "require", missing)
    assert shuffled(2.2, YEAR, delta=1e-6, n_cells=17).method == "Feldman2021"


@pytest.mark.parametrize(
    "given_",
    [(0, 100, 1e-6, 17), (math.nan, 100, 1e-6, 17), (1.0, 0, 1e-6, 17), (1.0, 100, 0, 17), (1.0, 100, 1e-6, 1)],
)
def test_settings_that_make_no_sense_are_refused(given_):
    epsilon, n_reports, delta, n_cells = given_
    with pytest.raises(SettingError):
        shuffled(epsilon, n_reports, delta=delta, n_cells=n_cells)
