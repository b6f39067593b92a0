"""Reports that the browser client draws by itself, with the browser's generator, follow the exact channel."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tacit.mechanisms.registry import MECHANISMS

N_REPORTS = 20_000
FALSE_FAILURE = 1e-9


def hexed(thresholds):
    return {name: hex(threshold) for name, threshold in thresholds.items()}


def assert_channel(counts, chances, n_bytes):
    """Assert that each report came as often as its chance says, by exact binomial tails; impossible ones never."""
    found = np.zeros(len(chances), np.int64)
    for report, count in counts.items():
        found[int.from_bytes(bytes.fromhex(report), "little")] += count
    assert found.sum() == N_REPORTS
    assert {len(report) for report in counts} == {2 * n_bytes}
    is_possible = np.array([chance > 0 for chance in chances])
    assert not found[~is_possible].any()
    seen, shares = found[is_possible], np.array([float(chance) for chance in chances if chance])
    tails = np.minimum(stats.binom.cdf(seen, N_REPORTS, shares), stats.binom.sf(seen - 1, N_REPORTS, shares))
    assert tails.min() >= FALSE_FAILURE / (2 * len(shares)), (seen[tails.argmin()], N_REPORTS * shares[tails.argmin()])


@pytest.mark.slow
@pytest.mark.false_failure(2 * FALSE_FAILURE)
@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_are_drawn_with_the_exact_channel(ask, name):
    """One at a time of the first value, and many at once of the last."""
    mechanism = MECHANISMS[name].from_epsilon(1.0, 5)
    asked = {"name": name, "thresholds": hexed(mechanism.thresholds()), "n_cells": 5, "count": N_REPORTS}
    for cell, at_once in ((0, 1), (4, 700)):
        counts = ask("drawn", **asked, cell=cell, at_once=at_once)
        assert_channel(counts, mechanism.channel()[cell], mechanism.report_bytes)


@pytest.mark.false_failure(FALSE_FAILURE)
def test_the_channel_of_another_epsilon_is_told_apart(ask_node):
    """Epsilon 1.2 instead of 1: the true cell is named 979 times more often, 14 standard deviations."""
    claimed, used = (MECHANISMS["response"].from_epsilon(epsilon, 5) for epsilon in (1.0, 1.2))
    asked = {"name": "response", "thresholds": hexed(used.thresholds()), "n_cells": 5}
    counts = ask_node("drawn", **asked, count=N_REPORTS, cell=0, at_once=700)
    with pytest.raises(AssertionError):
        assert_channel(counts, claimed.channel()[0], claimed.report_bytes)
