"""The paper's Figures 5 and 6 at a reduced size."""

from __future__ import annotations

from pathlib import Path

from experiments.findings import Verdict, read_findings
from experiments.paper_figures5_6 import run as experiment


def test_its_reduced_size_comes_back(tmp_path: Path) -> None:
    assert experiment.main(["--reduced", "--out", str(tmp_path)]) == 0
    errors, counts, clipping = read_findings(tmp_path).findings
    assert (errors.key, counts.key) == ("paper-figure-5", "paper-figure-6")
    assert counts.verdict == Verdict.LARGER_EPSILON
    assert clipping.verdict == Verdict.HOLDS
    for finding in (errors, counts):
        assert finding.pictures[0].svg.startswith("<svg ")
        assert "var(--published)" in finding.pictures[0].svg
    assert [len(table.rows) for table in (*errors.tables, *counts.tables, *clipping.tables)] == [3, 9, 3]
