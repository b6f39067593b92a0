"""From the text of a place column to cells, by distinct names."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.domain import PlaceAxis
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
        self._cells: dict[str, int] = {}

    def cells(self, column: Any) -> NDArray[np.int32]:
        """The cell of every row of an Arrow column, or a negative number as :meth:`PlaceAxis.match` gives."""
        codes, names = codes_of(column)
        known = self._cells
        new = [name for name in names if name not in known]
        found = dict(zip(new, self._axis.match(new).tolist(), strict=True))
        of_name = np.fromiter((known[name] if name in known else found[name] for name in names), np.int32, len(names))
        if len(known) < _NAMES_KEPT:
            known.update(found)
        return of_name[codes]
