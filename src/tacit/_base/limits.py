"""How much a file may ask for: checked before anything is allocated or computed for it.

Each limit is far above what counts of a country need, and far below what stops a desktop computer. They are stated in
``docs/guides/file-formats.md``.
"""

from __future__ import annotations

from typing import Final

MOST_CELLS: Final = 1 << 26
"""Periods times places: 67 million, 512 MiB as 64-bit numbers. Every hour of 13 years in 571 towns has 65 million."""

LARGEST_DOCUMENT: Final = 1 << 27
"""Bytes of one JSON or TOML document, 128 MiB: a release of 80,716 cells, smoothed, has 4 MiB."""

LARGEST_EXPANDED: Final = 1 << 30
"""Bytes of all compressed parts of one file together, once expanded, 1 GiB: twice the counts of MOST_CELLS cells."""

MOST_REPORTS: Final = 1 << 53
"""Reports or counts added up: the largest number up to which every whole number is a 64-bit float."""

LARGEST_NUMBER: Final = 1e60
"""Size of a float: fourth powers of it are still floats. The variance of MOST_REPORTS counts is below 1e32."""

MOST_DIGITS: Final = 400
"""Digits of the numerator and of the denominator of a fraction: the smallest float has 324 in its denominator."""
