"""The guide to the thesis shows what the tool draws, and the page of verdicts those that are kept in git."""

from __future__ import annotations

import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
from experiments.findings import ROOT, Verdict, read_expected

GUIDE = (ROOT / "docs" / "guides" / "thesis-range-counting.md").read_text(encoding="utf-8")
VERDICTS = (ROOT / "experiments" / "verdicts.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    specification = spec_from_file_location("pictures_of_the_thesis", ROOT / "tools" / "pictures_of_the_thesis.py")
    assert specification
    assert specification.loader
    module = module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


def test_the_illustrations_are_what_the_tool_draws(tool: ModuleType) -> None:
    drawn = tool.pictures()
    assert len(drawn) == 3
    for name, svg in drawn.items():
        kept = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
        assert kept == svg, "run: python tools/pictures_of_the_thesis.py"
        assert f"../images/{name}" in GUIDE
    assert all(f">{words}<" in drawn["thesis-range.svg"] for words in ("2–3", "4–7", "8–15", "16–19", "20–21", "22"))
    assert drawn["thesis-device.svg"].count(">10%<") == 7


def rows() -> dict[tuple[str, str], str]:
    """The verdicts of the page by source and claim; figures that share a row count one by one."""
    found = re.findall(r"^\| ([^|]+) \| ([^|]+) \| \*\*([^|]+)\*\* \| [^|]+ \|$", VERDICTS, re.MULTILINE)
    holding = VERDICTS.partition("| claim that holds |\n|---|---|\n")[2].partition("\n\n")[0]
    found += [(*row, "holds") for row in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", holding, re.MULTILINE)]
    shared = [(re.fullmatch(r"Figures (\d+) and (\d+)", source), source, *rest) for source, *rest in found]
    return {
        (one, claim): verdict
        for pair, source, claim, verdict in shared
        for one in ([f"Figure {number}" for number in pair.groups()] if pair else [source])
    }


def test_the_verdicts_of_the_page_are_those_kept_in_git(tool: ModuleType) -> None:
    kept = [
        list(Verdict)[int(one.expected)].value
        for name in tool.EXPERIMENTS
        for one in read_expected(ROOT / "experiments" / name / "expected.csv")
        if one.name.startswith("verdict/")
    ]
    assert sorted(kept) == sorted(rows().values()), "run: python tools/pictures_of_the_thesis.py --verdicts"
    for number in range(6, 32):
        assert any(source == f"Figure {number}" for source, _ in rows())


def test_a_verdict_is_written_into_its_row(tool: ModuleType) -> None:
    finding = {
        "key": "thesis-figure-9",
        "source": "thesis, Figure 9",
        "claim": "C.",
        "verdict": "holds",
        "because": "B.",
    }
    other = finding | {"key": "thesis-figure-10", "source": "thesis, Figure 10"}
    table = finding | {"key": "thesis-table-1", "source": "thesis, Table 1"}
    claim = finding | {"key": "thesis-claim-x", "source": "thesis, section 1"}
    assert sorted([claim, other, finding, table], key=lambda one: tool.order(one["key"])) == [
        table,
        finding,
        other,
        claim,
    ]
    assert "| Figure 9 | C. |\n" in tool.with_verdicts(VERDICTS, [finding])
    failing = finding | {"verdict": "fails"}
    assert "| Figure 9 | C. | **fails** | B. |\n" in tool.with_verdicts(VERDICTS, [failing])
    longer = other | {"verdict": "fails", "because": "It is 0.5 as coded. B."}
    assert "| Figures 10 and 9 | C. | **fails** | It is 0.5 as coded. |\n" in tool.with_verdicts(
        VERDICTS, [longer, failing]
    )
