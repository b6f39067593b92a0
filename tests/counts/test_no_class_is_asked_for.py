"""After a mechanism everything is an Estimate: no room but those that define noise models asks for their classes."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tacit
import tacit.statespace
from tacit.counts.noise import Noise

ROOT = Path(tacit.__file__).parent
ROOMS_OF_NOISE = ("counts", "statespace")


def noise_models(kind: type = Noise) -> set[str]:
    """The names of all noise models, and of what they are made of by inheritance."""
    return {kind.__name__}.union(*(noise_models(below) for below in kind.__subclasses__()))


def asked_classes(code: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and names of classes that code asks a value for, by ``isinstance`` or by a pattern."""
    for node in ast.walk(code):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type"):
            parts: list[ast.AST] = list(node.args[1:])
        elif isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]  # type(noise) is TreeNoise
        elif isinstance(node, ast.MatchClass):
            parts = [node.cls]
        else:
            continue
        for part in parts:
            for name in ast.walk(part):
                if isinstance(name, ast.Name | ast.Attribute):
                    yield node.lineno, name.id if isinstance(name, ast.Name) else name.attr


def found_in(code: str) -> list[str]:
    return [name for _, name in asked_classes(ast.parse(code)) if name in noise_models()]


@pytest.mark.slow
def test_no_class_of_a_noise_model_is_asked_for_outside_the_rooms_that_define_them() -> None:
    for module in pkgutil.iter_modules(tacit.statespace.__path__, "tacit.statespace."):
        importlib.import_module(module.name)
    models = noise_models()
    assert {"TreeNoise", "OracleNoise"} < models
    assert len(models) > 7, "models must inherit from Noise to be known here"
    asked = [
        f"{path.relative_to(ROOT)}:{line} asks for {name}"
        for path in sorted(ROOT.rglob("*.py"))
        if path.relative_to(ROOT).parts[0] not in ROOMS_OF_NOISE
        for line, name in asked_classes(ast.parse(path.read_text(encoding="utf-8")))
        if name in models
    ]
    assert not asked, "give Noise a method instead"


def test_every_way_of_asking_is_found() -> None:
    assert found_in("isinstance(noise, OracleNoise | noise.TreeNoise)") == ["OracleNoise", "TreeNoise"]
    assert found_in("type(noise) is TreeNoise") == ["TreeNoise"]
    assert found_in("match noise:\n    case TreeNoise():\n        pass") == ["TreeNoise"]
    assert found_in("noise: TreeNoise = TreeNoise.from_dict(content)") == []
