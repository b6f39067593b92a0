"""Numbers that a module assumes say where they come from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tacit"
PLAIN = (0, 1, 2, -1, 0.5)


def has_number(value: ast.expr) -> bool:
    """Whether an expression holds a number that needs a reason."""
    return any(
        isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in PLAIN
        for node in ast.walk(value)
    )


def unexplained(text: str) -> Iterator[str]:
    """The names of constants of a module without a comment or docstring, their own or that of their block of lines."""
    lines, body = text.splitlines(), ast.parse(text).body
    is_explained, last = False, 0
    for here, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(here, ast.Assign | ast.AnnAssign) or here.value is None or here.end_lineno is None:
            is_explained = False
            continue
        own = "\n".join(lines[here.lineno - 1 : here.end_lineno])
        above = lines[here.lineno - 2].startswith("#") if here.lineno > 1 else False
        below = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        is_explained = "#" in own or above or below or (is_explained and here.lineno == last + 1)
        last = here.end_lineno
        if has_number(here.value) and not is_explained:
            target = here.targets[0] if isinstance(here, ast.Assign) else here.target
            yield ast.unparse(target)


@pytest.mark.parametrize("room", sorted({path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")}))
def test_every_number_of_a_module_says_where_it_comes_from(room):
    files = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[0] == room]
    found = {f"{path.relative_to(SOURCE)}: {name}" for path in files for name in unexplained(path.read_text("utf-8"))}
    assert found == set()


def test_a_number_without_a_reason_is_found():
    lines = (
        "A = 2",
        "B = 7",
        "",
        "# a week",
        "C = 7",
        "D = 30",
        "",
        "E = 365  # a year",
        "",
        "F = 9",
        '"""Digits."""',
        "",
        "G = 9",
    )
    assert list(unexplained("\n".join(lines))) == ["B", "G"]
