"""What is odd about a table of counts although every row can be counted: rows that repeat, periods without a row.

A table of (date, place, count) should have one row for each date and place. Where it has two, their counts add up,
for they may be parts of a whole (men and women, morning and afternoon); but they may also be a day pasted twice. A
period without a row counts as 0; but it may also have been lost. Neither is an error, so both are said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import TimeAxis
from tacit.events.badrows import FIRST_ROWS_KEPT
from tacit.events.interpret import EventBatch

# 32 MiB of keys and row numbers: ten years of days in 500 places
_MAX_ROWS: Final = 1 << 21
_LABELS_SHOWN: Final = 3
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class TableNotes:
    """How many rows repeat the date and place of an earlier row, and how many periods have no row at all.

    ``n_compared`` rows were compared; the row numbers are those of the first repetitions, the periods the first empty
    ones of the ``n_periods`` on the time axis.

    >>> print(TableNotes(400, 1, (17,), 365, 2, ("2018-03-04", "2018-03-05")))
    1 row repeats the date and place of an earlier one, and was added to it (row 17)
    2 of 365 periods have no row, and count as 0 (2018-03-04, 2018-03-05)
    """

    n_compared: int
    n_repeated: int
    repeated_rows: tuple[int, ...]
    n_periods: int
    n_empty: int
    empty_periods: tuple[str, ...]

    def lines(self) -> list[str]:
        """One line for each oddity, none if there is none."""
        lines = []
        if self.n_repeated:
            rows = _listed([str(row) for row in self.repeated_rows], self.n_repeated)
            what, noun = ("row repeats", "row") if self.n_repeated == 1 else ("rows repeat", "rows")
            was = "was" if self.n_repeated == 1 else "were"
            lines.append(
                f"{self.n_repeated} {what} the date and place of an earlier one, and {was} added to it ({noun} {rows})"
            )
        if self.n_compared == _MAX_ROWS:
            lines.append(f"only the first {_MAX_ROWS:,} rows were searched for repetitions")
        if self.n_empty:
            labels = _listed(list(self.empty_periods[:_LABELS_SHOWN]), self.n_empty)
            have, noun = (
                ("has", "period") if self.n_periods == 1 else ("have" if self.n_empty > 1 else "has", "periods")
            )
            count = "counts" if self.n_empty == 1 else "count"
            lines.append(f"{self.n_empty} of {self.n_periods} {noun} {have} no row, and {count} as 0 ({labels})")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines()) or "one row for each date and place, no period without a row"


class TableWatcher:
    """Looks at the batches of a table of counts as they pass, in memory that does not grow without end."""

    def __init__(self) -> None:
        self._keys: list[NDArray[np.uint64]] = []
        self._rows: list[NDArray[np.int64]] = []
        self._n_compared = 0
        self._bins: set[int] = set()

    def add(self, batch: EventBatch) -> None:
        """Note the dates, places and periods of a batch."""
        self._bins.update(np.unique(batch.time_bin).tolist())
        if batch.place_word is None or self._n_compared == _MAX_ROWS:
            return
        # rows that were placed by coordinates have no name to compare
        chosen = np.flatnonzero(batch.place_word)[: _MAX_ROWS - self._n_compared]
        second = batch.seconds[chosen].astype("datetime64[s]").astype(np.int64).view(np.uint64)
        self._keys.append((batch.place_word[chosen] ^ second) * _MULTIPLIER ^ second)
        self._rows.append(batch.row[chosen])
        self._n_compared += len(chosen)

    def notes(self, axis: TimeAxis) -> TableNotes:
        """What was noted, over the periods of an axis with an end."""
        repeated = self._repeated()
        n_periods = axis.n_bins or 0
        is_empty = np.ones(n_periods, np.bool_)
        is_empty[np.fromiter(self._bins, np.int64, len(self._bins))] = False
        empty = np.flatnonzero(is_empty)
        return TableNotes(
            n_compared=self._n_compared,
            n_repeated=len(repeated),
            repeated_rows=tuple(repeated[:FIRST_ROWS_KEPT].tolist()),
            n_periods=n_periods,
            n_empty=len(empty),
            empty_periods=tuple(axis.label(int(bin)) for bin in empty[:FIRST_ROWS_KEPT]),
        )

    def _repeated(self) -> NDArray[np.int64]:
        if not self._keys:
            return np.empty(0, np.int64)
        keys, rows = np.concatenate(self._keys), np.concatenate(self._rows)
        _, first = np.unique(keys, return_index=True)
        is_repeated = np.ones(len(keys), np.bool_)
        is_repeated[first] = False
        return rows[is_repeated]


def _listed(shown: list[str], count: int) -> str:
    return ", ".join(shown) + (", …" if count > len(shown) else "")
