"""How much of a wide table fits on a sheet of paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SHEET: Final = 680.0
"""The width of A4 between margins of 15 mm, in CSS pixels."""
_NAMES: Final = 90.0
_PADDING: Final = 8.0
# widths of a character in the sizes of print in page.css, somewhat generous
_OF_A_HEAD, _OF_A_VALUE, _OF_A_LIMIT = 5.9, 5.3, 4.7


def column_width(head: str, values: Sequence[str], limits: Sequence[str]) -> float:
    """The width of a printed column: of its longest value or limit, or of the longest word of its head.

    >>> column_width("2018", ["12,473"], ["12,174", "12,775"])
    40.9
    """
    longest = (
        _OF_A_HEAD * max(map(len, head.split()), default=0),
        _OF_A_VALUE * max(map(len, values), default=0),
        _OF_A_LIMIT * max((len(limit) + 1 for limit in limits), default=0),
    )
    return _PADDING + max(longest)


def sheets(widths: Sequence[float]) -> list[tuple[int, int]]:
    """Part columns of these widths so that each part fits on a sheet beside the names: (first, stop) of each.

    Parts are about equally wide, so that no column is left over for a sheet of its own.

    >>> sheets([40.9] * 14), sheets([40.9] * 15)
    ([(0, 14)], [(0, 8), (8, 15)])
    """
    fewest = _parted(widths, _SHEET - _NAMES)
    # the narrowest sheets that need no more parts than the widest do
    evenly = (_parted(widths, room) for room in range(int(sum(widths) / len(fewest)), int(_SHEET - _NAMES)))
    return next((parts for parts in evenly if len(parts) == len(fewest)), fewest)


def _parted(widths: Sequence[float], room: float) -> list[tuple[int, int]]:
    parts: list[tuple[int, int]] = []
    first, used = 0, 0.0
    for number, width in enumerate(widths):
        if used + width > room and number > first:
            parts.append((first, number))
            first, used = number, 0.0
        used += width
    return [*parts, (first, len(widths))]
