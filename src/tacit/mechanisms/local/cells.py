"""True cells, checked before they are randomized."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import SettingError


def checked_cells(cells: NDArray[np.integer], n_cells: int) -> NDArray[np.int32]:
    """Refuse what is not a row of whole numbers below ``n_cells``, without naming any.

    >>> checked_cells(np.array([0, 3, 1, -1]), 3)
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: cells must lie between 0 and 2; 2 of 4 do not. Set aside events outside the domain first.
    """
    cells = np.asarray(cells)
    if cells.ndim != 1 or not np.issubdtype(cells.dtype, np.integer):
        raise SettingError("cells must be a one-dimensional array of whole numbers. Use plan.split to get them.")
    unsigned = cells.view(f"u{cells.dtype.itemsize}")  # a negative cell reads as a huge one
    if cells.size and unsigned.max() >= n_cells:
        raise SettingError(
            f"cells must lie between 0 and {n_cells - 1}; {np.count_nonzero(unsigned >= n_cells)} of {cells.size} "
            "do not. Set aside events outside the domain first."
        )
    return np.ascontiguousarray(cells, np.int32)
