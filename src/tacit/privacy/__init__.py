"""Units, budgets and what has been spent; what many releases come to, and what shuffling adds.

The names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.privacy.accounting import Releases, compose
    from tacit.privacy.cost import Budget, Cost
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.shuffling import shuffled
    from tacit.privacy.unit import Unit

__all__ = ["Budget", "Cost", "Ledger", "Releases", "Unit", "compose", "shuffled"]

_HOMES: Final = {
    "Budget": "tacit.privacy.cost",
    "Cost": "tacit.privacy.cost",
    "Ledger": "tacit.privacy.ledger",
    "Releases": "tacit.privacy.accounting",
    "Unit": "tacit.privacy.unit",
    "compose": "tacit.privacy.accounting",
    "shuffled": "tacit.privacy.shuffling",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
