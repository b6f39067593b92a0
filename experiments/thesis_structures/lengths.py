"""The lengths of ranges in the thesis' Tables 1 to 3: as printed, and as really measured by its published results."""

from __future__ import annotations

from typing import Final

SIZES: Final = (32, 128, 256, 512, 1024, 2048)
EPSILONS: Final = (2.0, 1.4, 1.2, 1.0, 0.8, 0.6, 0.4, 0.2)
DEGREES: Final = (2, 3, 4)

TABLE_1_PRINTED: Final = {
    32: (2, 4, 8, 12, 16, 20, 24),
    128: (20, 40, 50, 60, 70, 80, 90),
    512: (40, 60, 80, 100, 140, 200, 220),
    1024: (200, 300, 400, 500, 600, 800, 900),
    2048: (600, 800, 1000, 1250, 1500, 1700, 1800),
}
TABLE_1_MEASURED: Final = TABLE_1_PRINTED | {
    256: (40, 60, 80, 100, 140, 200, 220),
    512: (100, 150, 200, 250, 300, 400, 450),
}
"""The row printed for 512 days holds the lengths that 256 days were asked; their own row is missing."""

WHOLE: Final = "only possible on whole range"
TABLE_2_PRINTED: Final[dict[int, dict[int, int | str]]] = {
    2: {256: WHOLE, 512: 324, 1024: 400, 2048: 484},
    3: {256: 216, 512: 216, 1024: 294, 2048: 294},
    4: {256: 128, 512: 200, 1024: 200, 2048: 288},
}
TABLE_2_MEASURED: Final = {
    2: {256: 44, 512: 400, 1024: 450, 2048: 512},
    3: {256: 230, 512: 300, 1024: 500, 2048: 800},
    4: {256: 200, 512: 300, 1024: 300, 2048: 350},
}
"""Lengths from which on a hierarchy should beat flat counts, by degree."""

TABLE_3: Final = {32: 6, 128: 9, 256: 24, 512: 35, 1024: 44, 2048: 64}
"""Lengths for which flat counts should beat a hierarchy; measured as printed."""
