"""Every example in the README and the guides runs, and the output shown is the output given."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
DOCUMENTS = [ROOT / "README.md", *GUIDES]

RUN = ("python", "console")
SAVED = ("csv", "geojson")
SHOWN = ("sh", "toml")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the other words beside it, and its lines."""

    language: str
    words: tuple[str, ...]
    text: str


def blocks_of(text: str) -> Iterator[Block]:
    """The fenced blocks of a document, in order."""
    for found in re.finditer(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", text, re.MULTILINE | re.DOTALL):
        language, *words = found["info"].split() or [""]
        yield Block(language, tuple(words), found["text"])


def commands_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        yield command, shown


def lines_of(said: str) -> list[str]:
    """What a command said, without blank lines, spaces at the ends of lines, how long it took and its ledger's place.

    That commands tell of the ledger is tested in tests/cli/test_ledger_verify.py.
    """
    lines = (line.rstrip() for line in said.split("\n"))
    left_out = r".+: \d+\.\d s|Ledger: .+|New ledger made at .+"
    return [line for line in lines if line and not re.fullmatch(left_out, line)]


def is_noisy(words: list[str]) -> bool:
    """Whether what a command says differs with every randomization, or with the time of day."""
    return words[0] in ("query", "ledger", "release", "forecast", "backtest") or words[:2] in (
        ["counter", word] for word in ("add", "answer", "show")
    )


def without_noise(lines: list[str]) -> list[str]:
    """Lines with numbers hidden where noise is: in answers and tables of them, names of counters, times of entries.

    That a count contradicts the model, or is not reliable, is said where noise has it so, and left out.
    """
    by_chance = (" the model here: ", "That is not reliable: ")
    return [_hidden(line) for line in lines if not any(words in line for words in by_chance)]


def _hidden(line: str) -> str:
    line = re.sub(r"^\d{4}-\d\d-\d\d \d\d:\d\d", "#", re.sub(r"\b[0-9a-f]{32}(?=: )", "#", line))
    if "╇" in line or "┃" in line:  # the head of a table, set as wide as its numbers
        return re.sub(r" +", " ", re.sub(r"━+", "━", line))
    if re.match(r"[^│]+│ +(under )?-?[\d,.]+ │", line):  # a row of counts
        line = re.sub(r" +", " ", line)
    elif not re.search(
        r"events.*, give or take|% interval: |, exactly: |^Suppressed |a single place is suppressed|% of their spread",
        line,
    ):
        return line
    return re.sub(r"(under )?-?\d[\d,.]*", "#", line)


def shortened(said: list[str], shown: list[str]) -> list[str]:
    """Return what was said, with ``…`` for the lines that a document leaves out by ``…``."""
    lines: list[str] = []
    for place, line in enumerate(shown):
        if line == "…" and place + 1 < len(shown) and shown[place + 1] in said:
            lines, said = [*lines, "…"], said[said.index(shown[place + 1]) :]
        elif line == "…" and place + 1 == len(shown):
            lines, said = [*lines, "…"], []
        elif said:
            lines, said = [*lines, said[0]], said[1:]
    return lines + said


def save(block: Block) -> None:
    name, encoding = (*block.words, "utf-8")[:2]
    Path(name).write_text(block.text, encoding=encoding)


_SIMULATED: dict[tuple[str, ...], tuple[Any, bytes]] = {}


def ran_once(tacit, words: list[str]):
    """Run a command. Synthetic interventions are the same every time: what one document wrote is copied for others."""
    if words[:2] != ["simulate", "doubs"]:
        return tacit(*words)
    out = Path(words[words.index("--out") + 1])
    if tuple(words) not in _SIMULATED:
        _SIMULATED[tuple(words)] = tacit(*words), out.read_bytes()
    ran, content = _SIMULATED[tuple(words)]
    out.write_bytes(content)
    return ran


def check_console(block: Block, tacit) -> None:
    for command, shown in commands_of(block.text):
        program, *words = shlex.split(command)
        assert program == "tacit", command
        ran = ran_once(tacit, words)
        if "quiet" in block.words:  # a guide that leaves out what was shown elsewhere
            assert ran.code == 0, command
            assert not shown, command
            continue
        said, shown = lines_of(ran.out) + lines_of(ran.err), lines_of("\n".join(shown))
        if is_noisy(words):
            said, shown = without_noise(said), without_noise(shown)
        assert shortened(said, shown) == shown, command


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_every_example_runs_and_says_what_is_shown(document, tacit, request, monkeypatch):
    names: dict[str, object] = {"__name__": "example"}
    for block in blocks_of(document.read_text(encoding="utf-8")):
        if "postgres" in block.words:  # a guide that leaves out whose database it is
            server = request.getfixturevalue("postgres")
            server.run(
                "create database city; \\c city\n"
                "create table visits as select date '2025-04-03' as day, 'Ornans' as town;"
            )
            for name, value in server.environment().items():
                monkeypatch.setenv(name, value)
        if "cluster" in block.words:  # tests/engines/test_spark.py runs it where a cluster is
            continue
        assert block.language in (*RUN, *SAVED, *SHOWN), f"a block of {block.language or 'no language'} is not tested"
        if block.language == "python":
            exec(compile(block.text, document.name, "exec"), names)
        elif block.language == "console":
            check_console(block, tacit)
        elif block.language in SAVED:
            save(block)


def test_the_readmes_shell_examples_run_one_after_the_other(tacit, tmp_path):
    blocks = blocks_of(DOCUMENTS[0].read_text(encoding="utf-8"))
    script = "".join(block.text for block in blocks if block.language == "sh")
    answers = []
    for line in script.splitlines():
        program, *words = shlex.split(line)
        assert program == "tacit", line
        ran = ran_once(tacit, words)
        assert ran.code == 0, f"{line}: {ran.err}"
        answers += re.findall(r"\d+ events, give or take \d+", ran.out)
    assert len(answers) == 2
    for folder in ("interventions", "visits"):
        for page in ("page.html", "forecast.html", "statement.html"):
            assert "epsilon" in (tmp_path / folder / page).read_text(encoding="utf-8"), page


def test_the_command_is_on_the_path_of_a_shell():
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run(["sh", "-eu", "-c", "tacit --version"], env=environment, capture_output=True, text=True)
    assert re.fullmatch(r"tacit \d.*\n", ran.stdout), ran.stderr


def test_there_are_examples_of_each_kind():
    kinds = {block.language for document in DOCUMENTS for block in blocks_of(document.read_text(encoding="utf-8"))}
    assert kinds == {*RUN, *SAVED, *SHOWN}


def test_output_that_is_not_given_is_caught(tacit):
    block = Block("console", (), "$ tacit --version\ntacit 99.0\n")
    with pytest.raises(AssertionError):
        check_console(block, tacit)


def test_only_lines_shown_as_left_out_may_be_missing():
    said = ["one", "two", "three", "four"]
    for shown in (["one", "…", "four"], ["…", "three", "four"], ["one", "…"], said):
        assert shortened(said, shown) == shown
    for shown in (["one", "four"], ["one", "…", "three"], ["one", "…", "five"], ["two", "…"]):
        assert shortened(said, shown) != shown


def test_a_quiet_block_still_needs_commands_that_work(tacit):
    check_console(Block("console", ("quiet",), "$ tacit --version\n"), tacit)
    with pytest.raises(AssertionError):
        check_console(Block("console", ("quiet",), "$ tacit query nothing.csv\n"), tacit)


def test_numbers_are_hidden_only_where_noise_is():
    assert without_noise(["547 events, give or take 1,080"]) == ["# events, give or take #"]
    assert without_noise(["no events"]) != without_noise(["547 events"])
    assert without_noise(["North │  -12 │ 9 │ 0 to 7"]) == without_noise(["North │ 1,200 │ 10 │ 1,180 to 1,220"])
    assert without_noise(["North │ under 0.1 │ 0–1"]) == without_noise(["North │ 12.5 │ 9–15"])
    assert without_noise(["Place ┃  80%", "━━━╇━━"]) == without_noise(["Place ┃ 80%", "━━━━━━╇━━━━━"])
    assert without_noise(["Place ┃ 80%"]) != without_noise(["Place ┃ 95%"])
    assert without_noise(["Suppressed 137 of 2,652 counts"]) == without_noise(["Suppressed 9 of 2,652 counts"])
    for line in ("Published 2025-01-01 (1 period) in a.csv.", "smooth tree │ Laplace │ 12 │ 14", "epsilon 1 of 547"):
        assert without_noise([line]) == [line]
