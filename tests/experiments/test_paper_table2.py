"""The paper's Tables 1 and 2 and Figures 1, 3 and 4, and their illustrations."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from experiments.findings import ROOT, Verdict, outside, read_expected, read_findings
from experiments.paper_table2 import run as experiment


def test_its_reduced_size_comes_back(tmp_path: Path) -> None:
    assert experiment.main(["--reduced", "--out", str(tmp_path)]) == 0
    findings = {finding.key: finding for finding in read_findings(tmp_path).findings}
    assert list(findings) == [f"paper-{key}" for key in ("table-1", "table-2", "figure-1", "figure-3", "figure-4")]
    assert findings["paper-table-2"].verdict == Verdict.HOLDS
    assert len(findings["paper-table-2"].tables[0].rows) == 13
    assert "Montbéliard" in findings["paper-figure-4"].pictures[0].svg


def test_another_figure_fails() -> None:
    expected = read_expected(Path(experiment.__file__).with_name("expected.csv"))
    measured = {one.name: one.expected for one in expected}
    assert outside(measured, expected) == []
    measured["table2/2013/mean"] *= 1.001
    assert outside(measured, expected) == ["table2/2013/mean"]


def test_the_illustrations_are_what_the_tool_draws() -> None:
    specification = spec_from_file_location("pictures_of_the_paper", ROOT / "tools" / "pictures_of_the_paper.py")
    assert specification
    assert specification.loader
    tool = module_from_spec(specification)
    specification.loader.exec_module(tool)
    for name, draw in tool.PICTURES.items():
        kept = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
        assert kept == draw(), "run: python tools/pictures_of_the_paper.py"
