"""How often the suite fails by bad luck: every test that draws a seed says so, and the sum is small."""

from __future__ import annotations

import pytest

from conftest import false_failure

ONE_IN_A_THOUSAND = 1e-3


def draws_a_seed(item: pytest.Item) -> bool:
    """Whether a test is given the seed of the run, by a fixture of its own or of others; variants give their own."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    return "seed" in getattr(item, "fixturenames", ()) and "seed" not in given


def test_every_test_that_draws_a_seed_says_how_often_it_fails_by_bad_luck(request):
    items = [item for item in request.session.items if draws_a_seed(item)]
    assert not [item.nodeid for item in items if item.get_closest_marker("false_failure") is None]


def test_all_tests_together_fail_by_bad_luck_in_one_of_a_thousand_runs(request):
    """By the union bound; pytest --luck --collect-only -q lists them."""
    assert sum(map(false_failure, request.session.items)) <= ONE_IN_A_THOUSAND


def test_no_test_says_that_it_fails_less_than_never(request):
    assert all(0 <= false_failure(item) < ONE_IN_A_THOUSAND for item in request.session.items)
