"""Every script beside the package imports names that the package has."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted(path for room in ("benchmarks", "experiments", "tools") for path in (ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_taken_from_tacit_exist(script):
    for module, name in _imported(script):
        found = importlib.import_module(module)
        if not hasattr(found, name):
            importlib.import_module(f"{module}.{name}")


def test_an_import_of_a_name_that_is_gone_is_seen(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("def late():\n    from tacit.counts import no_such_name\n", encoding="utf-8")
    with pytest.raises(ModuleNotFoundError):
        test_names_taken_from_tacit_exist(script)


def _imported(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tacit":
            yield from ((node.module, alias.name) for alias in node.names)
