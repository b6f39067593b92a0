"""Errors say what to do as data, and each front has words for it."""

from __future__ import annotations

import ast
import pickle
import re
from pathlib import Path

import pytest

import tacit
from tacit.cli.app import COMMANDS
from tacit.cli.console import REMEDIES, in_shell
from tacit.errors import BudgetExhausted, FormatError, MissingExtra, Remedy, SettingError, TacitError

SOURCES = Path(tacit.__file__).parent
FRONT = SOURCES / "cli"
NAMES = {"data_set": "the data", "other": "copy", "meaning": "town"}
KEY_LABELS = {"tacit ledger key 1", "tacit ledger checked 1", "tacit ledger chain 1"}
"""Labels of what is derived from the ledger's key: no words for people."""
SHELL = re.compile(rf"\btacit ({'|'.join(COMMANDS)})\b|(?<![\w(-])--[a-z]")


def strings_of(path: Path) -> list[str]:
    """Every text in a module, but for docstrings and other texts that stand alone."""
    tree = ast.parse(path.read_text())
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone]
    return [str(node.value, "utf-8", "replace") if isinstance(node.value, bytes) else str(node.value) for node in texts]


@pytest.mark.slow
def test_no_module_outside_the_command_line_names_a_command_or_an_option() -> None:
    found = {
        f"{path.relative_to(SOURCES)}: {text}"
        for path in SOURCES.rglob("*.py")
        if FRONT not in path.parents
        for text in strings_of(path)
        if SHELL.search(text) and text not in KEY_LABELS
    }
    assert not found


@pytest.mark.parametrize("text", ["Make one with: tacit plan", "Leave out --revises.", "(--from) or --again"])
def test_the_words_of_the_shell_are_recognized(text: str) -> None:
    assert SHELL.search(text)


@pytest.mark.parametrize("remedy", Remedy)
def test_every_remedy_has_words_in_each_front(remedy: Remedy) -> None:
    problem = SettingError("nothing works.", remedy=remedy, **NAMES)
    for said in (str(problem), in_shell(problem)):
        assert said.startswith("nothing works. ")
        assert "{" not in said.replace("{'town': 'COLUMN'}", "")
    assert not SHELL.search(str(problem))


def test_the_shell_has_words_for_no_other_remedies() -> None:
    assert set(REMEDIES) == set(Remedy)


def test_names_are_quoted_for_the_shell() -> None:
    problem = BudgetExhausted("all is spent.", remedy=Remedy.ALLOW_MORE, data_set="the data")
    assert "--budget 'the data' " in in_shell(problem)


def test_an_error_keeps_its_remedy_under_another_name_and_through_a_pickle() -> None:
    problem = SettingError("two columns.", remedy=Remedy.NAME_PLACES_COLUMN, meaning="town")
    other = problem.about("places.csv: two columns.", FormatError)
    assert isinstance(other, FormatError)
    assert str(other) == f"places.csv: {problem}"
    assert str(pickle.loads(pickle.dumps(other))) == str(other)


@pytest.mark.parametrize("kind", [TacitError, MissingExtra])
def test_an_error_without_a_remedy_is_its_problem(kind: type[TacitError]) -> None:
    assert str(kind("no. Do that.")) == in_shell(kind("no. Do that.")) == "no. Do that."


def test_the_shell_names_options_and_leaves_plain_words_alone() -> None:
    options = {"level": "--confidence", "date_format": "--date-format", "first": "--from", "nowhere": "PLACE"}
    said = {
        "level must be below 1; got level=2. Lower the level.": "--confidence must be below 1; got --confidence 2. "
        "Lower the level.",
        "visits.csv: nothing says it. Give date_format: day-first.": "visits.csv: nothing says it. "
        "Give --date-format: day-first.",
        "the first must be a level; my_date_format stays.": "the first must be a level; my_date_format stays.",
        "level must be given; got level=None, first=None. Give for example level=2, or first or None.": "--confidence "
        "must be given; got no --confidence, no --from. Give for example --confidence 2, or first or None.",
        "nowhere must be known; got nowhere=paris.": "PLACE must be known; got paris.",
        "a table is written as .csv; got path=a.txt.": "a table is written as .csv; got a.txt.",
        "path must end in .csv; got path=a.txt.": "the file must end in .csv; got a.txt.",
        "the path must end; a path=1 stays.": "the path must end; a path=1 stays.",
    }
    for problem, words in said.items():
        assert in_shell(SettingError(problem), options) == words
