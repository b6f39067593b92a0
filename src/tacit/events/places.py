"""From the text of a place column to cells, by distinct names."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import PlaceAxis
from tacit.domain.names import fold_name
from tacit.events.arrays import codes_of
from tacit.events.badrows import Reason

MISSING: Final = -3
REASON_OF_CELL: Final = {
    -1: Reason.UNKNOWN_PLACE,
    -2: Reason.OUTSIDE_PLACE,
    MISSING: Reason.NO_PLACE,
    -4: Reason.AMBIGUOUS_PLACE,
}
# A file may hold a million names that mean nothing: only so many are remembered.
_NAMES_KEPT: Final = 1 << 16


class PlaceMatcher:
    """Matches names to the cells of an axis, each distinct name once. Safe to share between threads."""

    def __init__(self, axis: PlaceAxis) -> None:
        self._axis = axis
        self._known: dict[str, tuple[int, int]] = {}

    def cells(self, column: Any) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
        """The cell of every row of an Arrow column, or a negative number as :meth:`PlaceAxis.match` gives.

        And a word for the name itself, by which two towns of one region are told apart; 0 where there is none.
        """
        codes, names = codes_of(column)
        known = self._known
        new = [name for name in names if name not in known]
        cells = self._axis.match(new).tolist()
        found = {name: (cell, _word(name)) for name, cell in zip(new, cells, strict=True)}
        of_name = [known[name] if name in known else found[name] for name in names]
        if len(known) < _NAMES_KEPT:
            known.update(found)
        cell_of, word_of = zip(*of_name, strict=True) if of_name else ((), ())
        return np.array(cell_of, np.int32)[codes], np.array(word_of, np.uint64)[codes]


def _word(name: str) -> int:
    folded = fold_name(name)
    return int.from_bytes(hashlib.blake2b(folded.encode(), digest_size=8).digest(), "big") if folded else 0
