"""Findings come back as they were left, and a figure outside its tolerance is named."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import altair as alt
import numpy as np
import pytest
from experiments.findings import (
    Expected,
    Finding,
    Picture,
    Shade,
    Table,
    Verdict,
    outside,
    read_expected,
    read_findings,
    report,
    run,
    svg_of,
    write_findings,
)

FINDING = Finding(
    key="paper-table-2",
    source="paper, Table 2",
    title="Interventions a day",
    claim="Their number doubled in ten years.",
    verdict=Verdict.HOLDS,
    because="17,333 became 34,436.",
    seed="25",
    tables=(Table("By year", ("year", "total"), ((2006, 17_333), (2016, 34_436.5))),),
    pictures=(Picture("A line", "<svg></svg>"),),
)


def test_findings_come_back_as_they_were_left(tmp_path: Path) -> None:
    write_findings(tmp_path / "new", experiment="paper_table2", command="python -m x --reduced", findings=[FINDING])
    found = read_findings(tmp_path / "new")
    assert (found.experiment, found.command, found.findings) == ("paper_table2", "python -m x --reduced", (FINDING,))
    assert found.is_reduced


def test_numbers_of_numpy_are_left_as_numbers_and_nan_is_refused(tmp_path: Path) -> None:
    table = Table("", ("a", "b"), ((np.int64(3), np.float32(0.5)),))
    write_findings(tmp_path, experiment="e", command="c", findings=[replace(FINDING, tables=(table,))])
    assert read_findings(tmp_path).findings[0].tables[0].rows == ((3, 0.5),)
    table = Table("", ("a",), ((math.nan,),))
    with pytest.raises(ValueError, match="JSON"):
        write_findings(tmp_path, experiment="e", command="c", findings=[replace(FINDING, tables=(table,))])


def test_two_findings_of_one_key_and_rows_of_other_lengths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="key of its own"):
        write_findings(tmp_path, experiment="e", command="c", findings=[FINDING, FINDING])
    with pytest.raises(ValueError, match="2 cells"):
        Table("", ("a", "b"), ((1,),))


@pytest.mark.parametrize(
    ("measured", "is_met"),
    [(10.0, True), (11.59, True), (8.41, True), (11.61, False), (8.39, False), (math.nan, False), (math.inf, False)],
)
def test_a_figure_may_differ_by_both_tolerances_together(measured: float, is_met: bool) -> None:
    expected = (Expected("a", 10.0, absolute=0.6, relative=0.1),)
    assert outside({"a": measured}, expected) == ([] if is_met else ["a"])
    assert report({"a": measured}, expected) == (0 if is_met else 1)


def test_a_missing_figure_is_outside_and_expecting_nothing_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert report({"b": 1.0}, (Expected("a", 1.0, 1.0, 0.0),)) == 1
    assert "OUTSIDE  a: measured nan, expected 1 ± 1" in capsys.readouterr().out
    assert report({"a": 1.0}, ()) == 1


@pytest.mark.parametrize(("options", "value", "code"), [([], 2.0, 0), ([], 3.0, 1), (["--reduced"], 1.0, 0)])
def test_a_run_compares_its_size_with_what_is_expected_of_it(
    tmp_path: Path, options: list[str], value: float, code: int
) -> None:
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "params.toml").write_text("[run]\nseeds = [1]\n")
    header = "# two figures\nname,expected,absolute,relative\n"
    (folder / "expected.csv").write_text(f"{header}a,2,0.5,0\n")
    (folder / "expected-reduced.csv").write_text(f"{header}a,1,0.5,0\n")
    assert read_expected(folder / "expected.csv") == (Expected("a", 2.0, 0.5, 0.0),)

    def measure(params, *, reduced):
        assert params == {"run": {"seeds": [1]}}
        assert reduced == bool(options)
        return {"a": value}, [FINDING]

    assert run(measure, folder, [*options, "--out", str(tmp_path / "out")]) == code
    found = read_findings(tmp_path / "out")
    assert found.command == " ".join(["python -m experiments.small.run", *options])
    assert found.is_reduced == bool(options)
    assert (tmp_path / "out" / "figures.csv").read_text() == f"name,measured\na,{value}\n"


def test_a_chart_takes_the_colours_of_the_page() -> None:
    rows = alt.Data(values=[{"x": 1, "y": 2, "who": "Tacit"}])
    colour = alt.Color("who:N", scale=alt.Scale(domain=["Tacit"], range=[Shade.TACIT]))
    svg = svg_of(alt.Chart(rows).mark_point().encode(x="x:Q", y="y:Q", color=colour))
    assert svg.startswith("<svg ")
    assert "var(--accent)" in svg
    assert "#000" not in svg
