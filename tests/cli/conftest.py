"""Run the command line as a user does, in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def tacit(monkeypatch, capsys, tmp_path) -> Callable[..., Ran]:
    """Call the ``tacit`` command in an empty folder with a ledger of its own."""
    from tacit.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("TACIT_DEBUG", raising=False)

    def run(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["tacit", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        code = left.value.code
        assert "Traceback" not in captured.err + captured.out
        return Ran(code if isinstance(code, int) else int(code is not None), captured.out, captured.err)

    return run
