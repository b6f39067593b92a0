"""The table of what may depend on exact data names code and tests that there are."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

ROOT = Path(__file__).parents[2]
DECISION = ROOT / "docs/decisions/2026-11-16-what-may-depend-on-exact-data.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in DECISION.read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and "| where |" not in line
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0][:40] for row in ROWS])
def test_what_is_named_exists(row):
    what, where, _, _, held_by = row
    names = re.findall(r"`(tacit\.[\w.]+)`", where)
    assert names, what
    for name in names:
        resolve_name(name)
    tests = ROOT / "tests"
    for name in re.findall(r"`([\w/.]+)`", held_by):
        if name.endswith(".py"):
            assert list(tests.rglob(Path(name).name)), name
        else:
            assert any(f"def {name}(" in path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py")), name
