"""Rows sorted on disk: any number of them, in memory that does not grow, and told to nobody who finds the files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from tacit._base.reading import MOST_CELLS
from tacit.plan import Plan

FARTHEST_BIN: Final = 1 << 24
"""Bins of a time axis without end that are believed: a forged bin must not fill the memory. They are 1,900 years of
hours; each costs 8 bytes for every cell of a tally."""


def n_bins_allowed(plan: Plan) -> int:
    """Return the number of bins that a report may stand in: 0 up to this number, not included."""
    if plan.n_public is not None:
        return plan.n_public
    return min(FARTHEST_BIN, max(1, MOST_CELLS // plan.n_private))


def report_keys(reports: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return reports as little-endian numbers in columns of 8 bytes each, the least significant first."""
    n_bytes = reports.shape[1]
    padded = np.zeros((len(reports), -(-n_bytes // 8) * 8), np.uint8)
    padded[:, :n_bytes] = reports
    return padded.view("<u8").astype(np.uint64, copy=False)


def sorting_order(bins: NDArray[np.int64], reports: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return the order by bin, then by the report as a little-endian number.

    >>> sorting_order(np.array([1, 0, 0]), np.array([[0, 0], [0, 2], [9, 1]], np.uint8)).tolist()
    [2, 1, 0]
    """
    return np.lexsort((*report_keys(reports).T, bins))


def are_runs(bins: NDArray[np.int64], run_lengths: NDArray[np.int64], n_reports: int) -> bool:
    """Return whether bins ascend from 0 on and the lengths of their runs, none empty, add up to all reports.

    >>> are_runs(np.array([3, 8]), np.array([1, 4]), 5), are_runs(np.array([8, 3]), np.array([1, 4]), 5)
    (True, False)
    """
    if not len(bins):
        return n_reports == 0
    if bins[0] < 0 or not (bins[1:] > bins[:-1]).all():
        return False
    # no length beyond the whole, so that a forged sum cannot come round to the right number
    if run_lengths.min() < 1 or run_lengths.max() > n_reports or len(bins) > n_reports:
        return False
    return int(run_lengths.sum()) == n_reports


ROWS_IN_MEMORY: Final = 1 << 22
"""Rows that are sorted in memory: 12 bytes a row make 50 MB, and sorting them takes three times that. Halved, periods
of two to four million reports go through enciphered files, which takes longer; doubled, twice the memory."""
_BINS_PER_FILE: Final = 64  # days of two months: a back catalogue of 13 years makes 75 files, not thousands
_CIPHER_BLOCK: Final = 16  # bytes of a block of AES


class Spool:
    """Takes rows (bin, report) in any order and gives their reports back sorted by bin, then by the report as a number.

    Rows are parted by bin while they arrive. A part too large for memory is parted again: by single bins, then by
    the report's bytes from the most significant one on. Rows lie in a folder ``tacit-...`` in the order they came in,
    which may tell what the reports hide. They are therefore enciphered with a key that exists in memory only: what a
    killed process leaves behind can be read by nobody. A context manager: the folder is gone when it is left.
    """

    def __init__(self, beside: Path, report_bytes: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tacit-", dir=beside)
        self._first = Path(self._folder.name) / "bins"
        self._report_bytes = report_bytes
        self._row = np.dtype([("bin", "<i8"), ("report", "u1", (report_bytes,))])
        self._parts: set[int] = set()
        self._key = os.urandom(32)
        self._numbers: dict[str, int] = {}

    def __enter__(self) -> Spool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def add(self, bins: NDArray[np.int64], reports: NDArray[np.uint8]) -> None:
        """Take rows."""
        rows = np.empty(len(bins), self._row)
        rows["bin"], rows["report"] = bins, reports
        self._parts |= self._part(rows, bins // _BINS_PER_FILE, self._first)

    def sorted_reports(self) -> Iterator[NDArray[np.uint8]]:
        """Give all reports in order, piece by piece; the files are used up."""
        for part in sorted(self._parts):
            for rows in self._sorted(_named(self._first, part), depth=0):
                yield rows["report"]

    def _sorted(self, path: Path, depth: int) -> Iterator[NDArray[Any]]:
        n_rows = path.stat().st_size // self._row.itemsize
        if n_rows <= ROWS_IN_MEMORY:
            for rows in self._pieces(path):
                yield rows[sorting_order(rows["bin"], rows["report"])]
            path.unlink()
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
        cipher = self._cipher(path, 0)
        with path.open("rb") as file:
            while content := file.read(ROWS_IN_MEMORY * self._row.itemsize):
                yield np.frombuffer(cipher.update(content), self._row)

    def _part(self, rows: NDArray[Any], keys: NDArray[np.int64], path: Path) -> set[int]:
        order = np.argsort(keys, kind="stable")
        found, starts = np.unique(keys[order], return_index=True)
        for key, part in zip(found.tolist(), np.split(rows[order], starts[1:]), strict=True):
            # opened again each time: there may be more parts than a process may hold open
            with _named(path, key).open("ab") as file:
                file.write(self._cipher(_named(path, key), file.tell()).update(part.tobytes()))
        return set(found.tolist())

    def _cipher(self, path: Path, position: int) -> CipherContext:
        """Return AES-256-CTR from a byte of a file on; each file of the spool has a stream of its own."""
        number = self._numbers.setdefault(path.name, len(self._numbers))
        counter = number.to_bytes(8, "big") + (position // _CIPHER_BLOCK).to_bytes(8, "big")
        cipher = Cipher(algorithms.AES(self._key), modes.CTR(counter)).encryptor()
        cipher.update(bytes(position % _CIPHER_BLOCK))
        return cipher


def _named(path: Path, part: int) -> Path:
    return path.with_name(f"{path.name}-{part}")
