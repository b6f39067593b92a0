"""The ledger: what was spent on which data set by which release, in one private file that lasts.

==============  =====================================================================================
``ledger.py``   :class:`Ledger`: to spend, to record, to declare, to ask
``entries.py``  its entries, and the noise and the reports that are drawn from their keys
``past.py``     what was done to the same events before, what all of it promises, what budgets admit
``file.py``     the SQLite file with the tables of each format, the key beside it, the note of what was checked
``chain.py``    the MAC over all rows, by which a changed or deleted row is noticed
==============  =====================================================================================
"""

from __future__ import annotations

import os
from pathlib import Path

from tacit.privacy.ledger.entries import Randomization, Remaining, SpendEntry
from tacit.privacy.ledger.ledger import Ledger
from tacit.privacy.spend import Spend

__all__ = ["Ledger", "Randomization", "Remaining", "Spend", "SpendEntry", "default_ledger"]


def default_ledger() -> Path:
    """Return where a ledger lies that nobody named: one per user, so that renaming a file does not renew its budget."""
    if named := os.environ.get("TACIT_LEDGER"):
        return Path(named)
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "tacit" / "ledger.sqlite"
