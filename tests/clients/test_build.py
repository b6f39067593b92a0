"""The built file is that of the sources, needs nothing else, and stays small."""

from __future__ import annotations

import fcntl
import gzip
import json
import re
import subprocess

import pytest

from browser_client import CLIENT, ROOT, SOURCES

LARGEST = 36_000
"""Bytes, 13,500 of them once compressed: what README.md of the client says, and a little more."""


@pytest.fixture(scope="module")
def npm(node):
    """Run a script of the client's package, whose compiler and bundler are brought where they are missing."""
    with (SOURCES / "package.json").open() as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # tests run side by side
        subprocess.run(["sh", str(ROOT / "tools" / "find_or_install_node.sh")], check=True, timeout=300)
    if not (SOURCES / "node_modules" / ".package-lock.json").exists():
        pytest.fail("the compiler of the browser client is missing. Run: make node")

    def run(*words):
        return subprocess.run(
            ["npm", "run", "--silent", *words], cwd=SOURCES, capture_output=True, text=True, timeout=300
        )

    return run


@pytest.mark.slow
def test_the_types_are_right(npm):
    checked = npm("check")
    assert (checked.returncode, checked.stdout) == (0, "")


@pytest.mark.slow
def test_a_fresh_build_is_the_file_that_ships(npm, tmp_path):
    built = npm("build", "--", f"--outfile={tmp_path / 'client.js'}")
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "client.js").read_bytes() == CLIENT.read_bytes(), "it differs; build it again with: make client"


def test_the_file_needs_nothing_else_and_asks_no_network():
    text = CLIENT.read_text(encoding="utf-8")
    assert (
        re.findall(r"\b(?:import|require)\s*\(|\bfrom\s*[\"']|\bfetch\b|XMLHttpRequest|WebSocket|sendBeacon", text)
        == []
    )
    assert re.findall(r"Math\.random|localStorage|document\.", text) == []


def test_the_file_is_as_small_as_is_said():
    content = CLIENT.read_bytes()
    assert len(content) < LARGEST
    assert len(gzip.compress(content, 9)) < 13_500


def test_nothing_is_needed_at_run_time_and_no_host_is_named():
    package = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in package
    locked = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert "resolved" not in locked
    assert all(part.get("dev") for name, part in json.loads(locked)["packages"].items() if name)
