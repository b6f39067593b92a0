"""The paper's Table 3 comes back, and the comparison can fail."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import pytest
from experiments.findings import Verdict, outside, read_expected, read_findings, report
from experiments.paper_table3 import run as experiment
from experiments.worlds import doubs_world

from statistical import Recorded, assert_as_recorded
from tacit.postprocess import clip_and_rescale
from tacit.publication.laboratory import epsilon_of
from tacit.randomness import SeededRandomness

FOLDER = Path(experiment.__file__).parent
WHOLE = read_expected(FOLDER / "expected.csv")


def test_its_reduced_size_comes_back(tmp_path: Path) -> None:
    assert experiment.main(["--reduced", "--out", str(tmp_path)]) == 0
    findings = read_findings(tmp_path).findings
    assert [finding.key for finding in findings] == [
        "paper-table-3",
        "paper-table-3-size",
        "paper-table-3-years",
        "paper-table-3-days",
    ]
    assert all(finding.verdict == Verdict.LARGER_EPSILON for finding in findings[2:])


def one_randomization(f: float, seed: int) -> dict[str, float]:
    """The mean error of years, months and days in one randomization of all years."""
    world = doubs_world(25)
    estimate = world.published(f, SeededRandomness(seed))
    periods = ("year", "month", "day")
    return {period: float(world.rates_of_each(estimate, period, clip_and_rescale).mean()) for period in periods}


ONE_RANDOMIZATION: dict[float, Recorded] = {
    0.1: {"year": (0.001208, 7.4e-05), "month": (0.004129, 7.2e-05), "day": (0.01803, 5.6e-05)},
    0.5: {"year": (0.004246, 0.00025), "month": (0.01302, 0.00023), "day": (0.04274, 0.00014)},
    0.9: {"year": (0.01939, 0.00099), "month": (0.04346, 0.00068), "day": (0.07604, 0.00022)},
}


@pytest.mark.false_failure(2e-6)
@pytest.mark.parametrize("f", ONE_RANDOMIZATION)
def test_one_randomization_of_all_years_is_near_the_printed_means(f: float, seed: int) -> None:
    """Ten randomizations must meet the tolerances; the mean of the recorded ones is within two of them."""
    recorded = ONE_RANDOMIZATION[f]
    assert_as_recorded(partial(one_randomization, f), recorded, seed)
    for line in experiment.read_printed():
        if line.f == f:
            assert abs(recorded[line.period][0] - line.figures[0]) <= 2 * line.tolerance


@pytest.mark.parametrize("name", ["as published/5.89/month/mean", "as published/0.40/year/mean", "Tacit/2.20/day/mean"])
@pytest.mark.parametrize("factor", [1.4, 0.6, math.nan])
def test_another_figure_fails(name: str, factor: float) -> None:
    measured = {one.name: one.expected for one in WHOLE}
    assert report(measured, WHOLE) == 0
    measured[name] *= factor
    assert outside(measured, WHOLE) == [name]
    assert report(measured, WHOLE) == 1


def test_what_is_expected_as_published_is_what_the_paper_prints() -> None:
    expected = {one.name: one for one in WHOLE}
    for line in experiment.read_printed():
        mean, std, *_ = line.figures
        name = f"as published/{line.epsilon:.2f}/{line.period}"
        assert (expected[f"{name}/mean"].expected, expected[f"{name}/std"].expected) == (mean, std)
        assert expected[f"{name}/mean"].absolute == pytest.approx(line.tolerance, abs=1e-6)
        assert expected[f"{name}/mean"].relative == 0


def test_the_printed_figures_cover_every_year_month_and_day() -> None:
    lines = experiment.read_printed()
    assert [(line.period, line.n_periods) for line in lines] == [("year", 13), ("month", 156), ("day", 4748)] * 3
    for line in lines:
        assert round(epsilon_of(line.f), 2) == line.epsilon
