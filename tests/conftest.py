"""Shared by all tests: a seed that differs on every run, as the suite must pass on any; the command line; a browser."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SEED = int(os.environ.get("TACIT_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))

settings.register_profile("tacit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tacit")


def pytest_report_header() -> str:
    return f"statistical tests: repeat this run with TACIT_TEST_SEED={SEED}"


@pytest.fixture
def seed() -> int:
    """A seed for simulated randomness; fails no more often than a test's stated false-failure probability."""
    return SEED


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


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser; a machine without one cannot say that pages work."""
    named = os.environ.get("TACIT_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None or not Path(found).exists():
        pytest.fail(
            "pages are tested in Chromium, and none was found. Run: apt-get install chromium, "
            "or set TACIT_CHROMIUM to its path."
        )
    return Path(found)
