"""The experiment on refinement: its targets stand in what is expected, and its verdicts can fail."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "experiments" / "refinement"
LIMITS = {"0.80": [0.77, 0.83], "0.95": [0.93, 0.97], "years_may_exceed": 0.05}


@pytest.fixture(scope="module")
def experiment() -> ModuleType:
    spec = importlib.util.spec_from_file_location("refinement", FOLDER / "run.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_its_reduced_size_comes_back(experiment: ModuleType, tmp_path: Path) -> None:
    assert experiment.main(["--reduced", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "findings.json").is_file()
    assert len((tmp_path / "refinement.csv").read_text().splitlines()) == 6


def test_every_target_is_met_by_what_is_expected(experiment: ModuleType) -> None:
    expected = experiment.read_expected(FOLDER / "expected.csv")
    assert len(expected) == 30
    for epsilon, target in experiment.TARGETS.items():
        assert np.all(np.array(expected[epsilon, experiment.SMOOTHED]) <= target)


@pytest.mark.parametrize(("factor", "n_missed"), [(1.0, 0), (1.05, 0), (1.2, 1), (0.8, 1), (float("nan"), 1)])
def test_a_figure_far_from_what_is_expected_is_counted(
    experiment: ModuleType, capsys: pytest.CaptureFixture[str], factor: float, n_missed: int
) -> None:
    expected = experiment.read_expected(FOLDER / "expected.csv")
    lines = [experiment.Line(epsilon, method, shares) for (epsilon, method), shares in expected.items()]
    assert experiment.show(lines, expected, 0.1) == 0
    year, month, day = lines[4].shares
    lines[4] = dataclasses.replace(lines[4], shares=(year, month * factor, day))
    assert experiment.show(lines, expected, 0.1) == n_missed
    printed = capsys.readouterr().out
    assert ("OUTSIDE" in printed or "MISSED" in printed) == bool(n_missed)


def test_coverage_outside_its_limits_is_counted(experiment: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    right = np.broadcast_to(np.array([[0.80, 0.81], [0.95, 0.96]]), (3, 2, 2))
    assert experiment.show_coverage({0.4: right}, LIMITS) == 0
    wrong = right.copy()
    wrong[2, 0, 0], wrong[1, 1, 0], wrong[0, 0, 0] = 0.76, 0.975, 0.84
    assert experiment.show_coverage({0.4: wrong}, LIMITS) == 2  # years may exceed a little
    assert capsys.readouterr().out.count("!") == 2
