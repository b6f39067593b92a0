"""A mechanism that is a command: true values on its standard input, what it sends or publishes on its output."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.audit.games import FloatArray, IntArray
from tacit.errors import SettingError

_MOST_SAID: Final = 300


class Command:
    """Runs a command without a shell, once for every batch: a line in for each run, a line out for each."""

    def __init__(self, words: str) -> None:
        try:
            self._words: Final = shlex.split(words)
        except ValueError:
            raise SettingError("the command must have all its quotes closed. Write it as in a shell.") from None
        if not self._words:
            raise SettingError("the command must not be empty. Give the program and its options.")
        self._width: int | None = None
        self._is_bits = False

    def lines(self, given: Sequence[str]) -> list[str]:
        """What the command answers to these lines."""
        try:
            ran = subprocess.run(
                self._words, input="\n".join(given) + "\n", capture_output=True, text=True, encoding="utf-8"
            )
        except (OSError, UnicodeDecodeError) as problem:
            raise SettingError(f"the command cannot be run: {problem}. Check its name.") from None
        if ran.returncode:
            said = (ran.stderr.strip().splitlines() or ["it said nothing"])[-1][:_MOST_SAID]
            raise SettingError(f"the command left with code {ran.returncode}: {said}")
        answered = ran.stdout.splitlines()
        if len(answered) != len(given):
            raise SettingError(
                f"the command must write a line for each line it reads; it read {len(given):,} and wrote "
                f"{len(answered):,}. Write one report a line, and nothing else."
            )
        return answered

    def randomize(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reports of true values, as a table of words: the number of fields of each, then the fields."""
        answered = self.lines([str(value) for value in values.tolist()])
        if self._width is None:
            self._is_bits = len(answered[0]) > 1 and all(set(line) <= {"0", "1"} for line in answered)
            self._width = max(len(self._parts(line)) for line in answered)
        rows = [self._parts(line) for line in answered]
        blank = [""] * self._width
        return np.array([[str(len(row)), *(row + blank)[: self._width]] for row in rows])

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

    def _parts(self, line: str) -> list[str]:
        return list(line) if self._is_bits else line.replace(",", " ").replace(";", " ").split()
