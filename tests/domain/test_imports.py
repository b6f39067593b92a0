from __future__ import annotations

import ast
import sys
from pathlib import Path

import tacit.domain


def imported(source: str) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def test_the_domain_needs_numpy_and_the_standard_library_alone():
    files = list(Path(tacit.domain.__file__).parent.glob("*.py"))
    names = {name for file in files for name in imported(file.read_text(encoding="utf-8"))}
    ours = {name for name in names if name.split(".")[0] == "tacit"}
    assert {name.split(".")[0] for name in names - ours} <= {"numpy"} | set(sys.stdlib_module_names)
    assert {name for name in ours if not name.startswith("tacit.domain.")} <= {
        "tacit.errors",
        "tacit._base.arrays",
        "tacit._base.fields",
        "tacit._base.files",
        "tacit._base.reading",
        "tacit._base.validation",
    }
