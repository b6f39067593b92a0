"""The experiment on audits: every fault is refuted, nothing of ours is, and its figures can fail."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import pytest
from experiments.audits import run as experiment
from experiments.audits.ours import most_refutations, reports_needed
from experiments.findings import Verdict, outside, read_expected, read_findings

from tacit.audit import Audit

FOLDER = Path(experiment.__file__).parent
PARAMS = tomllib.loads((FOLDER / "params.toml").read_text(encoding="utf-8"))


def test_its_reduced_size_comes_back(tmp_path: Path) -> None:
    assert experiment.main(["--reduced", "--out", str(tmp_path)]) == 0
    verdicts = {finding.key: finding.verdict for finding in read_findings(tmp_path).findings}
    assert verdicts["audit-faults"] is Verdict.FAILS  # the claims of what is broken
    assert verdicts["audit-bounds"] is verdicts["audit-refutations"] is Verdict.HOLDS


def test_what_is_kept_meets_what_was_promised() -> None:
    expected = {one.name: one.expected for one in read_expected(FOLDER / "expected.csv")}
    settings = PARAMS["run"]
    assert expected["faults/refuted"] == 10
    assert max(n for name, n in expected.items() if name.startswith("refutations/")) <= most_refutations(settings)
    near = [ratio for name, ratio in expected.items() if name.startswith("bound/") and not name.endswith("/0.405")]
    assert len(near) == 40
    assert min(near) >= 0.97


@pytest.mark.parametrize("factor", [0.9, 1.1, math.nan])
def test_a_perturbed_bound_fails(factor: float) -> None:
    expected = read_expected(FOLDER / "expected.csv")
    right = {one.name: one.expected for one in expected}
    assert outside(right, expected) == []
    assert outside(right | {"bound/unary/2.2": factor * right["bound/unary/2.2"]}, expected) != []


def test_the_number_of_reports_needed_follows_the_error_of_a_logit() -> None:
    """Twice as near needs four times as many."""
    audit = Audit("a", 1.0, 0.0, 0.9, 0.99, 1000, 500, 365)
    half = Audit("a", 0.5, 0.0, 0.9, 0.99, 1000, 500, 365)
    assert reports_needed(half, surely=0.9) == pytest.approx(4 * reports_needed(audit, surely=0.9))
