"""The paper's bound on epsilon, enumerated."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from experiments.findings import Verdict, read_findings
from experiments.paper_appendix_a import run as experiment
from experiments.paper_appendix_a.bounds import (
    as_printed,
    claimed_bound,
    largest_ratio,
    mean_estimate,
    probability,
    tight_bound,
)


def test_its_reduced_size_comes_back(tmp_path: Path) -> None:
    assert experiment.main(["--reduced", "--out", str(tmp_path)]) == 0
    assert {finding.verdict for finding in read_findings(tmp_path).findings} == {Verdict.HOLDS}


@pytest.mark.parametrize("f", [Fraction(1, 10), Fraction(1, 2), Fraction(1)])
def test_probabilities_of_all_reports_add_up_to_one_either_way(f: Fraction) -> None:
    """The swapped exponents are a distribution too: that of a randomizer which flips a bit with probability 1 - f/2."""
    for distribution in (probability, as_printed):
        assert sum(distribution(report, (1, 0, 0), f) for report in product((0, 1), repeat=3)) == 1
    assert probability((1, 0, 0), (1, 0, 0), f) >= as_printed((1, 0, 0), (1, 0, 0), f)


@pytest.mark.parametrize(("n_bits", "n_ones"), [(2, 1), (4, 2), (5, 4)])
def test_the_largest_ratio_is_the_tight_bound_and_never_above_the_claimed(n_bits: int, n_ones: int) -> None:
    f = Fraction(3, 10)
    ratio = largest_ratio(n_bits, n_ones, f)
    assert ratio == tight_bound(n_bits, n_ones, f) <= claimed_bound(n_ones, f)


def test_a_single_one_needs_only_two_bits() -> None:
    f = Fraction(1, 5)
    assert experiment.largest_ratio_of_one(6, f) == largest_ratio(6, 1, f)


def test_the_estimate_of_the_coin_is_unbiased() -> None:
    assert [mean_estimate(4, n_yes) for n_yes in range(5)] == [Fraction(n_yes, 4) for n_yes in range(5)]
