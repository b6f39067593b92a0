"""Day first or month first? Decided by the whole of a public table, never by a guess; events are not read this way.

``13/02/2018`` can only be day first and ``02/13/2018`` only month first. The first such row of a table settles how all
the others are read; if there is none the table is refused, and if there are both kinds too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AmbiguousDate
from tacit.events.date_format import DateForm, DateOrder, parse_date_format
from tacit.events.dates import ReadDates

_REMEDY: Final = (
    "Say which it is with date_format (on the command line --date-format day-first, or --date-format month-first)."
)


@dataclass(frozen=True, slots=True)
class Proof:
    """A row whose date can be read in one order only."""

    order: DateOrder
    row: int


def find_proofs(dates: ReadDates, row: NDArray[np.int64]) -> list[Proof]:
    """The first row that proves each order, earliest first."""
    marks = ((DateOrder.DAY_FIRST, dates.proves_day_first), (DateOrder.MONTH_FIRST, dates.proves_month_first))
    proofs = [Proof(order, int(row[np.argmax(mark)])) for order, mark in marks if mark.any()]
    return sorted(proofs, key=lambda proof: proof.row)


class OrderKeeper:
    """The form in which dates are read, which may be settled while reading."""

    def __init__(self, date_format: str | None, source: str) -> None:
        self.form = DateForm() if date_format is None else parse_date_format(date_format)
        self._is_given = date_format is not None
        self._source = source
        self._proof: Proof | None = None

    def note(self, proofs: list[Proof]) -> None:
        """Take what a table proves: it settles the order, or contradicts what was settled."""
        if self._is_given:
            return
        for proof in proofs:
            if self._proof is None:
                self._proof = proof
                self.form = replace(self.form, order=proof.order)
            elif proof.order is not self._proof.order:
                raise AmbiguousDate(
                    f"{self._source}: the date in row {self._proof.row} can only be {self._proof.order}, the one in "
                    f"row {proof.row} only {proof.order}. Write all dates alike, or give date_format to set the others "
                    "aside."
                )

    def refuse_undecided(self, row: int) -> None:
        """Raise because no row proves anything."""
        raise AmbiguousDate(
            f"{self._source}: no date tells whether they are day first or month first (the first in question is in row "
            f"{row}). {_REMEDY}"
        )
