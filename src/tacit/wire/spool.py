"""Rows sorted on disk: any number of them, in memory that does not grow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.wire.runs import sorting_order

_BINS_PER_FILE: Final = 64
_ROWS_IN_MEMORY: Final = 1 << 22


class Spool:
    """Takes rows (bin, report) in any order and gives them back sorted by bin, then by the report as a number.

    Rows are parted by bin while they arrive. A part too large for memory is parted again: by single bins, then by
    the report's bytes from the most significant one on.
    """

    def __init__(self, folder: Path, report_bytes: int) -> None:
        self._folder = folder
        self._report_bytes = report_bytes
        self._row = np.dtype([("bin", "<i8"), ("report", "u1", (report_bytes,))])
        self._parts: set[int] = set()

    def add(self, bins: NDArray[np.int64], reports: NDArray[np.uint8]) -> None:
        """Take rows."""
        rows = np.empty(len(bins), self._row)
        rows["bin"], rows["report"] = bins, reports
        self._parts |= self._part(rows, bins // _BINS_PER_FILE, self._folder / "bins")

    def sorted_pieces(self) -> Iterator[NDArray[Any]]:
        """Give all rows in order, piece by piece; the files are used up."""
        for part in sorted(self._parts):
            yield from self._sorted(_named(self._folder / "bins", part), depth=0)

    def _sorted(self, path: Path, depth: int) -> Iterator[NDArray[Any]]:
        n_rows = path.stat().st_size // self._row.itemsize
        if n_rows <= _ROWS_IN_MEMORY:
            rows = np.fromfile(path, self._row)
            path.unlink()
            yield rows[sorting_order(rows["bin"], rows["report"])]
            return
        if depth > self._report_bytes:  # all rows are equal: there is nothing to sort
            yield from self._pieces(path)
            path.unlink()
            return
        parts: set[int] = set()
        for rows in self._pieces(path):
            key = rows["bin"] if depth == 0 else rows["report"][:, -depth].astype(np.int64)
            parts |= self._part(rows, key, path)
        path.unlink()
        for part in sorted(parts):
            yield from self._sorted(_named(path, part), depth + 1)

    def _pieces(self, path: Path) -> Iterator[NDArray[Any]]:
        with path.open("rb") as file:
            while len(rows := np.fromfile(file, self._row, _ROWS_IN_MEMORY)):
                yield rows

    def _part(self, rows: NDArray[Any], keys: NDArray[np.int64], path: Path) -> set[int]:
        order = np.argsort(keys, kind="stable")
        found, starts = np.unique(keys[order], return_index=True)
        for key, part in zip(found.tolist(), np.split(rows[order], starts[1:]), strict=True):
            # opened anew each time: there may be more parts than a process may hold open
            with _named(path, key).open("ab") as file:
                part.tofile(file)
        return set(found.tolist())


def _named(path: Path, part: int) -> Path:
    return path.with_name(f"{path.name}-{part}")
