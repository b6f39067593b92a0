"""The paper's forecasts at a reduced size, and what its leaks are worth."""

from __future__ import annotations

from pathlib import Path

from experiments.findings import Verdict, outside, read_expected, read_findings
from experiments.paper_table4 import run as experiment

from tacit.publication.laboratory import LITERAL, PLAIN, RATIO, TACIT

FOLDER = Path(experiment.__file__).parent


def test_its_reduced_size_comes_back(tmp_path: Path) -> None:
    assert experiment.main(["--reduced", "--out", str(tmp_path)]) == 0
    findings = {finding.key: finding for finding in read_findings(tmp_path).findings}
    assert list(findings) == [
        "paper-table-4",
        "paper-abstract",
        "paper-filter",
        "paper-baseline",
        "paper-figure-7",
        "paper-figure-8",
        "paper-figure-9",
    ]
    assert findings["paper-filter"].verdict == Verdict.FAILS
    assert all(findings[f"paper-figure-{number}"].pictures for number in (7, 8, 9))


def test_what_is_expected_says_what_the_guide_says() -> None:
    """At every f: divided is worse than no filter, the ratio is better, and Tacit better still."""
    expected = {one.name: one.expected for one in read_expected(FOLDER / "expected.csv")}
    for f in ("0.2", "0.6", "0.8"):
        literal, plain, ratio, tacit = (expected[f"{way}/{f}/mae"] for way in (LITERAL, PLAIN, RATIO, TACIT))
        assert literal > plain > ratio > tacit
    assert expected["weekday mean of 2017/mae"] < expected["raw counts/mae"]


def test_another_figure_fails() -> None:
    expected = read_expected(FOLDER / "expected.csv")
    measured = {one.name: one.expected for one in expected}
    assert outside(measured, expected) == []
    measured["ratio/0.6/mae"] *= 1.1
    assert outside(measured, expected) == ["ratio/0.6/mae"]


def test_the_printed_table_is_read_whole() -> None:
    printed = experiment.read_printed()
    assert list(printed) == ["baseline", "original", "0.2", "0.4", "0.6", "0.8"]
    assert printed["0.8"][PLAIN] == (7.8542, 8.4985)
    assert printed["0.8"][RATIO] == (1.9403, 2.7002)
