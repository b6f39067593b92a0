"""The built browser client, for tests that ask it: where it is, and its refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "src" / "tacit" / "collection" / "browser_client.mjs"
SOURCES = ROOT / "clients" / "js"


class Refused(Exception):
    """The client refused, by an error of its own."""


def answer_of(reply: dict[str, Any]) -> Any:
    """What the client answered; a refusal is raised, and any other failure fails the test."""
    if "error" not in reply:
        return reply["answer"]
    assert reply["isOurs"], f"the client failed otherwise than on purpose: {reply['error']}"
    raise Refused(reply["error"])
