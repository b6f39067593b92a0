"""The choice of an oracle is the one of least mean variance, computed from the thresholds that are used."""

from __future__ import annotations

import math
import re
import sys
from decimal import Decimal
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import SettingError
from tacit.mechanisms import registry as mechanisms
from tacit.mechanisms.planner import TIE, Candidate, choose, compare_oracles, oracles
from tacit.mechanisms.registry import MECHANISMS as ALL_MECHANISMS

MECHANISMS = {name: entry for name, entry in ALL_MECHANISMS.items() if not (entry.is_repeated or entry.is_sampled)}

ROOT = Path(__file__).parents[3]

# the variance times the number of reports, mean over the cells, worked out on its own
MEAN_VARIANCES = """
   k    f  unary  optimized-unary  tuned-unary  response  subset  hadamard
  17  0.9  24.75   24.56           24.56        69.4      21.66   25.44
  17  0.8  6.00    5.82            5.82         11.75     5.05    6.70
  17  0.6  1.312   1.161           1.155        1.234     .927    2.04
  17  0.5  .750    .621            .613         .485      .447    1.50
  17  0.2  .1406   .1094           .0840        .0260     .0260   .992
  17  0.1  .0586   .0700           .0310        .00535    .00535  .952
  64  0.9  24.75   24.52           24.52        262       23.73   25.5
  64  0.5  .750    .578            .578         1.23      .530    1.55
  64  0.1  .0586   .0268           .0198        .00596    .00596  .996
 256  0.9  24.75   24.51           24.51        1050      24.31   25.5
 256  0.5  .750    .566            .566         4.2       .554    1.56
 256  0.1  .0586   .0150           .0142        .0075     .0075   1.007
1024  0.9  24.75   24.50           24.50        4199      24.45   25.5
1024  0.5  .750    .5635           .5635        16        .560    1.56
1024  0.1  .0586   .0121           .0120        .0134     .0102   1.010
4096  0.9  24.75   24.50           24.50        1.7e4     24.49   25.5
4096  0.5  .750    .5627           .5627        64        .562    1.56
4096  0.1  .0586   .0114           .0114        .037      .0109   1.011
"""
HEADINGS, *ROWS = (line.split() for line in MEAN_VARIANCES.strip().splitlines())


def epsilon_of(f: float) -> float:
    return 2 * math.log((1 - f / 2) / (f / 2))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} cells, f {row[1]}")
def test_mean_variances_are_those_worked_out_on_their_own(row):
    n_cells, f, *expected = row
    made = {one.name.replace(" ", "-"): one for one in compare_oracles(int(n_cells), epsilon_of(float(f)))}
    for name, text in zip(HEADINGS[2:], expected, strict=True):
        last_digit = 10.0 ** int(Decimal(text).as_tuple().exponent)
        assert made[name].mean_variance == pytest.approx(float(text), abs=last_digit), name


@pytest.mark.parametrize(("epsilon", "least"), [(0.40, 1.1), (1.69, 1.4), (2.20, 1.6), (4.39, 5.0), (5.89, 10.0)])
def test_for_the_papers_17_regions_rappor_errs_that_many_times_more(epsilon, least):
    choice = choose(17, epsilon)
    (rappor,) = (one for one in choice.others if one.name == "unary")
    assert rappor.mean_variance / choice.candidate.mean_variance >= least
    assert choice.candidate.gain_over_rappor == pytest.approx(rappor.mean_variance / choice.candidate.mean_variance)
    assert rappor.gain_over_rappor == pytest.approx(1)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("n_cells", [2, 17, 100])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_variances_are_those_that_the_distribution_gives_a_cell(name, n_cells, epsilon):
    one = Candidate(name, MECHANISMS[name].from_epsilon(epsilon, n_cells), n_reports=50)
    by_distribution = one.randomizer.distribution.variances(np.eye(n_cells)[0])
    shares = np.full(n_cells, 0.7 / (n_cells - 1))
    shares[0] = 0.3
    assert one.variance(0.3) == pytest.approx(50 * float(shares @ by_distribution), rel=1e-9)
    assert one.mean_variance == pytest.approx(50 * float(by_distribution.mean()), rel=1e-9)
    assert one.largest_cell_variance == pytest.approx(50 * float(by_distribution[0]), rel=1e-6)


@given(st.integers(2, 5_000), st.floats(0.02, 9))
def test_every_mechanism_is_ranked_once_and_none_after_a_better_one(n_cells, epsilon):
    ranked = compare_oracles(n_cells, epsilon)
    assert sorted(one.name for one in ranked) == sorted(MECHANISMS)
    for one, next_one in pairwise(ranked):
        assert one.mean_variance <= next_one.mean_variance * (1 + TIE)
        assert one.mean_variance <= next_one.mean_variance or one.report_bytes <= next_one.report_bytes


@given(st.integers(2, 5_000), st.floats(0.02, 9))
def test_nothing_errs_less_than_the_choice_beyond_a_tie(n_cells, epsilon):
    choice = choose(n_cells, epsilon)
    least = min(one.mean_variance for one in (choice.candidate, *choice.others))
    assert choice.candidate.mean_variance <= least * (1 + TIE)
    for one in choice.others:
        is_tied = one.mean_variance <= least * (1 + TIE)
        assert not is_tied or one.report_bytes >= choice.candidate.report_bytes


def test_of_equals_the_shortest_report_is_taken_and_the_reason_says_so():
    choice = choose(17, 5.89)
    by_name = {one.name: one for one in (choice.candidate, *choice.others)}
    assert by_name["response"].mean_variance == pytest.approx(by_name["subset"].mean_variance, rel=TIE)
    assert choice.candidate.name == "response"
    assert "errs as little as subset (within 0.1%) and has the shorter report, 1 byte" in choice.reason


def test_the_reason_is_a_sentence_with_the_figures_beside_it():
    assert choose(17, 2.2, n_reports=1000).reason == (
        "For 17 cells at epsilon 2.2, subset has the least mean variance over the cells, with reports of 3 bytes; "
        "RAPPOR's variance is 1.68 times as large. "
        "The variance of a count from 1,000 reports is 445.4 on average and 1196 for a cell that holds everything."
    )


def test_where_only_rappor_is_known_the_reason_names_it(monkeypatch):
    monkeypatch.setattr(mechanisms, "MECHANISMS", {"unary": MECHANISMS["unary"]})
    choice = choose(17, 1.0)
    assert choice.others == ()
    assert "it is RAPPOR itself" in choice.reason


def test_several_equals_are_listed(monkeypatch):
    monkeypatch.setattr(mechanisms, "TIE", 10.0)
    monkeypatch.setattr(oracles, "TIE", 10.0)
    assert "as little as subset, tuned unary, optimized unary and unary (within 1000.0%)" in choose(17, 1.0).reason


@pytest.mark.parametrize(
    ("n_cells", "epsilon", "n_reports"), [(1, 1.0, 1), (17, 0.0, 1), (17, math.nan, 1), (17, 1.0, 0)]
)
def test_settings_out_of_range_are_refused(n_cells, epsilon, n_reports):
    with pytest.raises(SettingError):
        choose(n_cells, epsilon, n_reports=n_reports)


def test_longer_reports_than_allowed_are_left_out():
    allowed = compare_oracles(10_000, 2.0, most_bytes=8)
    assert {one.name for one in allowed} == {one.name for one in compare_oracles(10_000, 2.0) if one.report_bytes <= 8}
    assert {"response", "hadamard"} <= {one.name for one in allowed}
    assert "subset" not in {one.name for one in allowed}
    with pytest.raises(SettingError, match="most_bytes must leave a mechanism"):
        choose(10_000, 2.0, most_bytes=1)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_is_between_0_and_1(share):
    with pytest.raises(SettingError, match="share"):
        choose(17, 1.0).candidate.variance(share)


def test_the_parameters_are_those_a_plan_would_carry():
    best = choose(17, 2.2).candidate
    assert best.parameters == best.randomizer.thresholds()
    assert best.parameters["size"] == 2


def tool() -> ModuleType:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    specification = spec_from_file_location("picture_of_choices", ROOT / "tools" / "picture_of_choices.py")
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


def test_the_tables_of_the_guide_are_what_the_code_gives():
    guide = (ROOT / "docs" / "guides" / "which-randomizer.md").read_text(encoding="utf-8")
    made = tool().with_tables(guide)
    assert made == guide, "run: python tools/picture_of_choices.py"
    assert made.count("| 5 |") == 2


def test_a_table_that_is_not_what_the_code_gives_is_caught():
    guide = (ROOT / "docs" / "guides" / "which-randomizer.md").read_text(encoding="utf-8")
    wrong = guide.replace("subset ×1.14", "subset ×1.41", 1)
    assert wrong != guide
    assert tool().with_tables(wrong) == guide


def test_the_guide_lists_every_mechanism():
    guide = (ROOT / "docs" / "guides" / "which-randomizer.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z ]+)` \|", guide, re.MULTILINE)
    assert sorted(listed) == sorted(MECHANISMS)
