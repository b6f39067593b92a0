"""A file of reports: a versioned header, the public bins, then fixed-width packed reports.

The order of events in a source file may give their places away (a file sorted by town, say), so a report file is
written sorted by public bin and then by report: nothing of the order of the input is left. Reports that come in any
order are spooled to disk by bin, enciphered, so memory does not grow with their number.

Layout, all integers little-endian::

    8 bytes    magic "TACITRPT"
    4 bytes    length of the header in bytes
    n bytes    header, JSON: format, plan, is_simulation, prior_epsilon, report_bytes, n_bins, n_reports
    n_bins     8-byte numbers of the public bins, ascending
    n_bins     8-byte numbers of reports in each
    payload    n_reports x report_bytes
    32 bytes   SHA-256 of all that precedes it

A report file written from true cells: the label of the randomness cannot be left out.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.fields import whole
from tacit._base.files import written_whole
from tacit._base.reading import check_regular, parse_json, reading
from tacit.collection.wire.spool import Spool, are_runs
from tacit.counts.provenance import Provenance
from tacit.errors import FormatError, Remedy, SettingError

FORMAT: Final = 1
_MAGIC: Final = b"TACITRPT"
_UNFINISHED: Final = b"TACIT..."  # in its place while a file is one of several that appear together
_READ_REPORTS: Final = 1 << 22  # read at once: 12 MiB of 3 bytes each; doubled, twice the memory
_LARGEST_HEADER: Final = 1 << 16  # bytes: a header has some hundreds; a longer one is damage or an attack on memory


class ReportWriter:
    """Collects reports in any order and writes them sorted; nothing appears at ``path`` before all is well.

    Use as a context manager; leaving it by an exception leaves no file behind. A private file is for its owner alone.
    """

    def __init__(
        self, path: str | Path, provenance: Provenance, report_bytes: int, *, is_private: bool = False
    ) -> None:
        self._path, self._is_private = Path(path), is_private
        self._provenance = provenance
        self._report_bytes = report_bytes
        self._spool = Spool(self._path.parent, report_bytes)
        self._run_lengths: dict[int, int] = {}

    def add(self, bins: NDArray[np.int64], reports: NDArray[np.uint8]) -> None:
        """Take reports and the public bins they belong to."""
        if reports.shape != (len(bins), self._report_bytes):
            raise SettingError(f"reports must be rows of {self._report_bytes} bytes, one for each bin.")
        if not len(bins):
            return
        for number, count in zip(*(found.tolist() for found in np.unique(bins, return_counts=True)), strict=True):
            self._run_lengths[number] = self._run_lengths.get(number, 0) + count
        self._spool.add(bins, reports)

    def __enter__(self) -> ReportWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._spool:
            if kind is None:
                runs = np.array(sorted(self._run_lengths.items()), np.int64).reshape(-1, 2)
                write_sorted(
                    self._path,
                    self._provenance,
                    self._report_bytes,
                    runs[:, 0],
                    runs[:, 1],
                    self._spool.sorted_reports(),
                    is_private=self._is_private,
                )


def write_sorted(
    path: Path,
    provenance: Provenance,
    report_bytes: int,
    bins: NDArray[np.int64],
    run_lengths: NDArray[np.int64],
    pieces: Iterable[NDArray[np.uint8]],
    *,
    overwrite: bool = True,
    is_finished: bool = True,
    is_private: bool = False,
) -> bytes:
    """Write a report file of reports that come sorted, and return its checksum. On return it is on the disk, whole.

    Without ``overwrite`` a file that is there already is left alone, and refused unless it is the very same. A file
    that is not finished is refused by every reader until :func:`finish` was called.
    """
    header = {
        "format": FORMAT,
        "report_bytes": report_bytes,
        "n_bins": len(bins),
        "n_reports": int(run_lengths.sum()),
    } | provenance.to_dict()
    packed = json.dumps(header, sort_keys=True).encode()
    runs = bins.astype("<i8").tobytes() + run_lengths.astype("<i8").tobytes()
    head = _MAGIC + struct.pack("<I", len(packed)) + packed + runs
    digest = hashlib.sha256()
    with written_whole(path, is_private=is_private) as file:
        # from its first byte on: who writes it may be killed at any time
        file.write(head if is_finished else _UNFINISHED + head[len(_UNFINISHED) :])
        digest.update(head)
        for part in (piece.tobytes() for piece in pieces):
            file.write(part)
            digest.update(part)
        file.write(digest.digest())
        if not overwrite and path.exists() and checksum_of(path) != digest.digest():
            raise SettingError(f"{path} exists already and holds something else.", remedy=Remedy.OVERWRITE)
    return digest.digest()


def finish(path: Path) -> None:
    """Let a file be read that was written unfinished. On return this is on the disk."""
    with path.open("r+b") as file:
        file.write(_MAGIC)
        file.flush()
        os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report file that was opened: found whole, or to be checked while its reports are read."""

    path: Path
    provenance: Provenance
    report_bytes: int
    bins: NDArray[np.int64]
    run_lengths: NDArray[np.int64]
    payload_at: int
    checksum: bytes

    @property
    def n_reports(self) -> int:
        return int(self.run_lengths.sum())

    @classmethod
    def open(cls, path: str | Path, *, check: bool = True) -> ReportFile:
        """Open a report file; a damaged or foreign one is refused.

        Without ``check`` only its head is read here, and ``batches(check=True)`` must find the rest whole.
        """
        path = Path(path)
        with reading(path, "a report file", "Ask for it again.", missing=Remedy.MAKE_REPORTS):
            check_regular(path)
            with path.open("rb") as file:
                opened = cls._parsed(path, file)
        if check:
            opened.check()
        return opened

    @classmethod
    def _parsed(cls, path: Path, file: BinaryIO) -> ReportFile:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("magic")
        (length,) = struct.unpack("<I", file.read(4))
        if length > _LARGEST_HEADER:
            raise ValueError("header")
        header = parse_json(file.read(length))
        if header["format"] != FORMAT:
            raise FormatError(
                f"{path} has format {header['format']}; this version reads {FORMAT}. Install a newer Tacit."
            )
        n_bins, n_reports, report_bytes = (whole(header, name) for name in ("n_bins", "n_reports", "report_bytes"))
        payload_at = file.tell() + 16 * n_bins
        size = path.stat().st_size
        expected = payload_at + n_reports * report_bytes + 32
        if size != expected:
            raise FormatError(
                f"{path} has {size} bytes and should have {expected}: it was cut short or added to. Ask for it again."
            )
        bins = np.fromfile(file, "<i8", n_bins).astype(np.int64)
        lengths = np.fromfile(file, "<i8", n_bins).astype(np.int64)
        if not are_runs(bins, lengths, n_reports):
            raise ValueError("bins")
        file.seek(expected - 32)
        checksum = file.read()
        return cls(path, Provenance.from_dict(header), report_bytes, bins, lengths, payload_at, checksum)

    def check(self) -> None:
        """Refuse the file if its content does not agree with its checksum; reads all of it."""
        digest = hashlib.sha256()
        with self.path.open("rb") as file:
            left = self.payload_at + self.n_reports * self.report_bytes
            while left:
                part = file.read(min(left, 1 << 20))
                if not part:
                    break  # cut short since it was opened
                digest.update(part)
                left -= len(part)
        self._compare(digest.digest())

    def batches(
        self, *, check: bool = False
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]]:
        """Give (bins, run lengths, reports) in pieces of a few million reports; a bin may span two pieces.

        With ``check`` a damaged file is refused after the last piece, so use nothing of it before the end.
        """
        start, ends = 0, np.cumsum(self.run_lengths)
        digest = hashlib.sha256()
        with self.path.open("rb") as file:
            digest.update(file.read(self.payload_at))
            while start < self.n_reports:
                bins, run_lengths = self._runs(start, ends)
                n_reports = int(run_lengths.sum())
                flat = np.fromfile(file, np.uint8, n_reports * self.report_bytes)
                if check:
                    digest.update(flat.data)
                yield bins, run_lengths, flat.reshape(-1, self.report_bytes)
                start += n_reports
        if check:
            self._compare(digest.digest())

    def starts(self) -> range:
        """The number of the first report of each piece that :meth:`batches` gives."""
        return range(0, self.n_reports, _READ_REPORTS)

    def piece(self, start: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
        """The piece of :meth:`batches` that begins with this report, alone; nothing is checked."""
        bins, run_lengths = self._runs(start, np.cumsum(self.run_lengths))
        with self.path.open("rb") as file:
            file.seek(self.payload_at + start * self.report_bytes)
            flat = np.fromfile(file, np.uint8, int(run_lengths.sum()) * self.report_bytes)
        return bins, run_lengths, flat.reshape(-1, self.report_bytes)

    def _runs(self, start: int, ends: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The bins of the piece that begins with this report, and how many reports it has of each."""
        stop = min(start + _READ_REPORTS, self.n_reports)
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        edges = np.clip(np.concatenate(([start], ends[first : last + 1])), start, stop)
        return self.bins[first : last + 1], np.diff(edges)

    def _compare(self, digest: bytes) -> None:
        if digest != self.checksum:
            raise FormatError(f"{self.path} is damaged: its checksum does not agree. Ask for it again.")


def checksum_of(path: Path) -> bytes | None:
    """Return the checksum of a report file; None of anything else."""
    try:
        return ReportFile.open(path).checksum
    except FormatError:
        return None
