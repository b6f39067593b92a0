"""What is installed is bounded: every dependency has an upper bound, and demo and tests use versions that are noted."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = {name: list(map(Requirement, some)) for name, some in PROJECT["project"]["optional-dependencies"].items()}
BASE = list(map(Requirement, PROJECT["project"]["dependencies"]))
BUILD = list(map(Requirement, PROJECT["build-system"]["requires"]))

EVERY = [*BASE, *BUILD, *(one for some in EXTRAS.values() for one in some)]
PINNED = sorted((ROOT / "requirements").glob("constraints-*.txt"))


@pytest.fixture
def environment(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    import environment

    yield environment
    del sys.modules["environment"]


@pytest.mark.parametrize("requirement", [one for one in EVERY if one.name != "tacit"], ids=str)
def test_every_dependency_has_an_upper_bound(requirement):
    assert any(part.operator in ("<", "==") for part in requirement.specifier), requirement


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_noted_versions_are_names_and_versions_alone_and_fit_the_ranges(path):
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[a-z0-9.-]+==[A-Za-z0-9.+!]+", line) for line in lines)
    versions = {name: Version(version) for name, version in (line.split("==") for line in lines)}
    for requirement in (*BASE, *(one for name, some in EXTRAS.items() if name != "bench" for one in some)):
        if requirement.name != "tacit":
            assert versions[requirement.name] in requirement.specifier, requirement


def test_noted_versions_are_used_on_the_python_they_were_noted_for_and_no_other(environment):
    (path, *_) = PINNED
    version = tuple(map(int, path.stem.removeprefix("constraints-").split(".")))
    for extra in ("desk", "test"):
        assert environment.constraint_options(extra, version) == ["--constraint", str(path)]
    assert environment.constraint_options("bench", version) == []
    assert environment.constraint_options("test", (2, 7)) == []
