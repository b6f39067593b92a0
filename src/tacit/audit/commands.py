"""A mechanism that is a command: true values on its standard input, what it sends or publishes on its output."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit.errors import SettingError

_MOST_SAID: Final = 300
_FOR_A_SHELL: Final = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "<"})
_FIRST_PATIENCE: Final = 60.0
"""Seconds for the first batch, which is small."""


class Command:
    """Runs a command without a shell, once for every batch: a line in for each run, a line out for each.

    It has ``patience`` seconds for each batch; one that reads on after the end of its input would never leave.
    """

    def __init__(self, words: str, *, patience: float = 600.0) -> None:
        try:
            self._words: Final = shlex.split(words)
        except ValueError:
            raise SettingError("the command must have all its quotes closed. Write it as in a shell.") from None
        if not self._words:
            raise SettingError("the command must not be empty. Give the program and its options.")
        if any(word in _FOR_A_SHELL for word in self._words):
            inner = words.replace("'", "'\\''")
            raise SettingError(f"the command is run without a shell, which pipes need. Write: sh -c '{inner}'")
        self._patience: Final = patience
        self._has_answered = False

    def lines(self, given: Sequence[str]) -> list[str]:
        """What the command answers to these lines."""
        patience = self._patience if self._has_answered else min(self._patience, _FIRST_PATIENCE)
        try:
            ran = subprocess.run(
                self._words, input=("\n".join(given) + "\n").encode(), capture_output=True, timeout=patience
            )
        except OSError as problem:
            raise SettingError(f"the command cannot be run: {problem}. Check its name.") from None
        except subprocess.TimeoutExpired:
            raise SettingError(
                f"the command must answer {len(given):,} lines within {patience:g} seconds, and leave at the end of "
                "its input. It was stopped."
            ) from None
        if ran.returncode:
            said = (ran.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1][:_MOST_SAID]
            raise SettingError(f"the command left with code {ran.returncode}: {said}")
        # lines end at line feeds alone, whatever else a report may hold; bytes that are no text stay as they are
        answered = ran.stdout.decode("utf-8", errors="surrogateescape").removesuffix("\n").split("\n")
        answered = [line.removesuffix("\r") for line in answered] if ran.stdout else []
        if len(answered) != len(given):
            raise SettingError(
                f"the command must write a line for each line it reads; it read {len(given):,} and wrote "
                f"{len(answered):,}. Write one report a line, and nothing else."
            )
        self._has_answered = True
        return answered

    def randomize(self, values: NDArray[Any]) -> list[str]:
        """Reports of true values, a line each."""
        return self.lines([str(value) for value in values.tolist()])

    def hex_reports(self, values: NDArray[Any]) -> NDArray[np.uint8]:
        """Reports of true values, as packed bytes: each line is a report in hexadecimal digits."""
        answered = self.lines([str(value) for value in values.tolist()])
        try:
            rows = [bytes.fromhex(line) for line in answered]
        except ValueError:
            raise SettingError(
                "the command must write reports in hexadecimal digits, as the plan packs them."
            ) from None
        if len({len(row) for row in rows}) != 1:
            raise SettingError("the command must write reports of one length, as the plan packs them.")
        return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)

    def answers(self, tables: IntArray) -> FloatArray:
        """Published answers: a line of counts in, a line of numbers out, for each run."""
        answered = self.lines([" ".join(map(str, row)) for row in tables.tolist()])
        try:
            rows = [[float(part) for part in line.replace(",", " ").replace(";", " ").split()] for line in answered]
        except ValueError:
            raise SettingError("the command must write numbers, with blanks between them.") from None
        if len({len(row) for row in rows}) != 1 or not rows[0]:
            raise SettingError("the command must write as many numbers in every line, one at least.")
        return np.array(rows, np.float64)
