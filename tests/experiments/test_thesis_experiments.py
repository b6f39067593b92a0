"""The reduced sizes of the experiments about the thesis come back, and a perturbed figure fails."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from experiments.findings import ROOT, Picture, Verdict, outside, read_expected, read_findings
from experiments.thesis_flat import figures as flat_figures
from experiments.thesis_structures import as_coded, charts, measuring, read_series
from experiments.thesis_trees import results as tree_results
from experiments.thesis_trees.agreement import read_printed

EXPERIMENTS = ("thesis_bounds", "thesis_flat", "thesis_sanity", "thesis_trees")
FIGURES = {
    "thesis_bounds": {"figure-19"},
    "thesis_flat": {"table-1", *(f"figure-{n}" for n in (8, 9, 10, 11, 12, 26, 27, 28, 29, 30))},
    "thesis_sanity": {"figure-6", "figure-7"},
    "thesis_trees": {"table-2", "table-3", *(f"figure-{n}" for n in (*range(13, 19), *range(20, 26), 31))},
}


def module_of(name: str) -> ModuleType:
    return importlib.import_module(f"experiments.{name}.run")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_its_reduced_size_comes_back(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    for module in (flat_figures, tree_results):  # drawing many takes longer than measuring; one is drawn below
        monkeypatch.setattr(module, "errors_picture", lambda caption, *_, **__: Picture(caption, "<svg></svg>"))
    assert module_of(name).main(["--reduced", "--out", str(tmp_path)]) == 0, capsys.readouterr().out
    findings = {finding.key.removeprefix("thesis-"): finding for finding in read_findings(tmp_path).findings}
    assert FIGURES[name] <= findings.keys()
    for key, finding in findings.items():
        assert finding.pictures or not key.startswith("figure")
        assert finding.verdict != Verdict.ILLUSTRATION
        assert all(picture.svg.startswith("<svg") for picture in finding.pictures)


def test_all_figures_of_the_thesis_but_the_illustrations_are_there() -> None:
    numbered = {key for keys in FIGURES.values() for key in keys if key.startswith("figure")}
    assert numbered == {f"figure-{number}" for number in range(6, 32)}  # 1 to 5 are drawings


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("file", ["expected.csv", "expected-reduced.csv"])
def test_another_figure_fails(name: str, file: str) -> None:
    expected = read_expected(ROOT / "experiments" / name / file)
    assert len(expected) >= 10
    measured = {one.name: one.expected for one in expected}
    assert outside(measured, expected) == []
    for one in (expected[0], expected[len(expected) // 2], expected[-1]):
        perturbed = measured | {
            one.name: one.expected + 1.01 * (one.absolute + one.relative * abs(one.expected)) + 1e-9
        }
        assert outside(perturbed, expected) == [one.name]


def test_a_changed_structure_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flat noise of a scale half as large again is outside every tolerance for a curator."""
    right = as_coded.central_flat
    monkeypatch.setattr(as_coded, "central_flat", lambda counts, epsilon, **rest: right(counts, epsilon / 1.5, **rest))
    case = measuring.Case(measuring.CENTRAL_FLAT, measuring.CODED, 32, 1.0)
    expected = [
        one for one in read_expected(ROOT / "experiments" / "thesis_flat" / "expected.csv") if case.name in one.name
    ]
    lengths = [int(one.name.rpartition("/")[2]) for one in expected]
    errors = measuring.root_mean_square_errors(case, lengths, measuring.Size(50, 50), read_series(), seed=14)
    measured = {one.name: error for one, error in zip(expected, errors, strict=True)}
    assert len(expected) >= 3
    assert outside(measured, expected) == [one.name for one in expected]


def test_the_printed_errors_are_read_with_the_epsilon_they_were_run_at() -> None:
    printed = read_printed()
    assert len(printed) == 144
    assert len({one.figure.name for one in printed}) == 144
    assert {one.case.structure for one in printed if one.is_rerun} == {"local hierarchy"}
    assert {(one.stated_epsilon, one.case.epsilon) for one in printed if one.is_rerun} == {(0.2, 0.3)}
    (one,) = (one for one in printed if one.figure.name == "long/2048/1/512/continual tree of degree 2")
    assert (one.figure.expected, one.length, one.case.degree, one.case.n_days) == (25.1, 512, 2, 2048)
    assert not replace(one.figure, relative=0.0).is_met(26.0)


def test_a_picture_names_what_it_shows() -> None:
    points = [charts.Point(x, 2 * x, method, line) for x in (1, 2) for method in charts.SHADES for line in ("a", "b")]
    picture = charts.errors_picture("what", {"N = 2": points}, charts.Axes("days"), labels={"Tacit": "Tacit, fused"})
    assert picture.caption == "what"
    for words in ("N = 2", "days", "as coded", "as claimed", "Tacit, fused", "the thesis' rule"):
        assert words in picture.svg
