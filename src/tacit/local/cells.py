"""True cells, checked before they are randomized; rows of bits, checked before they are counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import FormatError, SettingError


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


def check_padding(reports: NDArray[np.uint8], n_cells: int) -> None:
    """Refuse rows of one bit a cell in which a bit beyond the last cell is set.

    >>> check_padding(np.array([[0b011], [0b100]], np.uint8), 2)
    Traceback (most recent call last):
    ...
    tacit.errors.FormatError: 1 of 2 reports set bits beyond the plan's 2 cells; none was counted. Ask for them anew.
    """
    spare = -n_cells % 8
    if not spare or not len(reports):
        return
    n_wrong = int(np.count_nonzero(reports[:, -1] >> np.uint8(8 - spare)))
    if n_wrong:
        raise FormatError(
            f"{n_wrong} of {len(reports)} reports set bits beyond the plan's {n_cells} cells; none was counted. "
            "Ask for them anew."
        )
