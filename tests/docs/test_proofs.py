"""Every mechanism has a page that proves its privacy, and every function that the pages speak of exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dotted import resolved
from tacit.counts.continual_noise import CONTINUAL_NOISE
from tacit.mechanisms.central.table import CENTRAL_MECHANISMS
from tacit.mechanisms.registry import MECHANISMS

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"
OTHERS = (
    "coins",
    "even integers",
    "discrete Laplace noise",
    "discrete Gaussian noise",
    "memo",
    "composition",
    "contribution bound",
    "bound choice",
    "shuffling",
)
"""What is no entry of a table of mechanisms and yet carries a guarantee."""


def rows() -> dict[str, tuple[str, list[str]]]:
    """The page and the functions of every entry."""
    text = (PROOFS / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| ([^|]+) \| \[[^\]]+\]\(([^)]+)\) \| ([^|]+) \|$", text, re.MULTILINE)
    return {entry: (page, re.findall(r"`([^`]+)`", functions)) for entry, page, functions in found}


PAGES = sorted({PROOFS / page for page, _ in rows().values()})
SETTINGS = {"keep", "ones", "zeros", "include", "chances", "permanent", "most", "most_per_cell", "user-day", "person"}
"""Words of a plan that pages name beside their letters."""


def test_every_entry_of_every_registry_has_a_proof_and_the_reverse():
    assert rows().keys() == {*MECHANISMS, *CENTRAL_MECHANISMS, *CONTINUAL_NOISE, *OTHERS}


@pytest.mark.parametrize("entry", rows())
def test_every_function_that_a_proof_speaks_of_exists(entry):
    page, functions = rows()[entry]
    assert (PROOFS / page).exists()
    assert functions
    for name in functions:
        assert resolved(name) is not None


def test_a_function_that_was_renamed_is_noticed():
    with pytest.raises(AttributeError):
        resolved("tacit.mechanisms.local.unary.UnaryEncoding.randomise")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_states_its_theorem_and_neighbours_and_ends_its_proof(path):
    text = path.read_text(encoding="utf-8")
    headings = re.findall(r"^## (\w+)", text, re.MULTILINE)
    assert headings[:3] == ["Theorem", "Neighbours", "Proof"]
    assert "∎" in text


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_full_names_stand_in_the_table_alone(path):
    assert not re.search(r"`tacit\.", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_names_is_a_function_of_its_row_or_a_part_of_one(path):
    listed = [name for page, functions in rows().values() if page == path.name for name in functions]
    named = set(re.findall(r"`([\w.-]+)(?:\([a-z]*\))?`", path.read_text(encoding="utf-8"))) - SETTINGS
    for name in named:
        is_listed = any(function == name or function.endswith("." + name) for function in listed)
        assert is_listed or any(hasattr(resolved(function), name) for function in listed), name


def test_every_page_stands_in_the_table():
    assert set(PROOFS.glob("*.md")) - {PROOFS / "README.md"} == set(PAGES)
