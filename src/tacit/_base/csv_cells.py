"""Text in cells of CSV files: a spreadsheet must not take a name for a formula.

A text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return is written with an apostrophe before it,
and so is one that begins with apostrophes and then one of these; reading takes one away. Numbers stay as they are.
"""

from __future__ import annotations

import re
from typing import Any, Final

_FORMULA: Final = re.compile("'*[=+\\-@\t\r]")


def harmless(cell: Any) -> Any:
    """Return a cell as it is written: text that a spreadsheet would run has an apostrophe before it.

    >>> harmless("=1+1"), harmless(-1.5), harmless("'s-Hertogenbosch")
    ("'=1+1", -1.5, "'s-Hertogenbosch")
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def as_it_was(text: str) -> str:
    """Return a text as it was before :func:`harmless`.

    >>> as_it_was("'=1+1"), as_it_was("'s-Hertogenbosch"), as_it_was(harmless("'=1"))
    ('=1+1', "'s-Hertogenbosch", "'=1")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
