"""Forecasts from private counts against those from raw ones, at a small size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from experiments.findings import Verdict, read_expected, read_findings
from experiments.forecast import run as experiment
from experiments.worlds import doubs_world

FOLDER = Path(experiment.__file__).parent


def test_its_reduced_size_comes_back(tmp_path: Path) -> None:
    assert experiment.main(["--reduced", "--out", str(tmp_path)]) == 0
    findings = read_findings(tmp_path).findings
    assert [finding.key for finding in findings] == ["forecast-as-raw", "forecast-paper", "forecast-intervals"]
    assert findings[1].verdict == Verdict.HOLDS


def test_what_is_expected_reaches_the_targets_with_populations_and_down_to_1_69_without() -> None:
    expected = {one.name: one.expected for one in read_expected(FOLDER / "expected.csv")}
    raw = expected["total x share, raw/mae"]
    assert raw <= 0.94 * expected["paper's XGBoost, raw/mae"]
    for f, most in (("0.2", 1.005), ("0.4", 1.01), ("0.6", 1.02), ("0.8", 1.04), ("0.9", 1.07)):
        assert expected[f"f={f}/with populations/mae"] <= most * raw
        if f in ("0.2", "0.4", "0.6"):
            assert expected[f"f={f}/total x share/mae"] <= most * raw


def test_a_private_trial_holds_no_true_count_but_the_public_totals() -> None:
    world = doubs_world(25).since("2018-06-01").first_places(6)
    series = experiment.Trial(world, "2018-12-01").private(0.8, 1)
    np.testing.assert_allclose(series.values.sum(axis=1), world.counts.sum(axis=1))
    assert (np.abs(series.values - world.counts) > 1e-6).mean() > 0.9
