"""Heads of ledgers as they stand in files: sorted, and left out where there are none, as before there were heads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_NAME: Final = "ledger_heads"
_FORM: Final = re.compile("[0-9a-f]{32}")  # as ledger.chain.head_of writes them


def heads_to_dict(heads: tuple[str, ...]) -> dict[str, Any]:
    """The part of a document that holds heads; empty without any, so that its checksum stays what it was."""
    return {_NAME: list(heads)} if heads else {}


def heads_from_dict(content: Mapping[str, Any]) -> tuple[str, ...]:
    """The heads in a document, or a TypeError for what are none."""
    heads = content.get(_NAME, [])
    if not isinstance(heads, list) or not all(isinstance(head, str) and _FORM.fullmatch(head) for head in heads):
        raise TypeError(_NAME)
    return tuple(sorted(set(heads)))
