"""Units, budgets and what has been spent; what many releases come to, and what shuffling adds.

The names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.privacy.accounting import Releases as Releases
    from tacit.privacy.accounting import compose as compose
    from tacit.privacy.cost import Budget as Budget
    from tacit.privacy.cost import Cost as Cost
    from tacit.privacy.ledger import Ledger as Ledger
    from tacit.privacy.shuffling import shuffled as shuffled
    from tacit.privacy.unit import Unit as Unit

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.privacy.accounting": "Releases compose",
        "tacit.privacy.cost": "Budget Cost",
        "tacit.privacy.ledger": "Ledger",
        "tacit.privacy.shuffling": "shuffled",
        "tacit.privacy.unit": "Unit",
    },
)
