"""A file of reports: a versioned header, the public bins, then fixed-width packed reports.

The order of events in a source file may give their places away (a file sorted by town, say), so a report file is
written sorted by public bin and then by report: nothing of the order of the input is left. Reports are spooled to disk
by bin while they arrive, so memory does not grow with their number.

Layout, all integers little-endian::

    8 bytes    magic "TACITRPT"
    4 bytes    length of the header in bytes
    n bytes    header, JSON: format, plan, is_simulation, prior_epsilon, report_bytes, n_bins, n_reports
    n_bins     8-byte numbers of the public bins, ascending
    n_bins     8-byte numbers of reports in each
    payload    n_reports x report_bytes
    32 bytes   SHA-256 of all that precedes it
"""

from __future__ import annotations

import hashlib
import json
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from tacit._files import written_whole
from tacit.errors import FormatError, SettingError
from tacit.provenance import Provenance
from tacit.wire.runs import are_runs
from tacit.wire.spool import Spool

FORMAT: Final = 1
_MAGIC: Final = b"TACITRPT"
_READ_REPORTS: Final = 1 << 22
_LARGEST_HEADER: Final = 1 << 16


class ReportWriter:
    """Collects reports in any order and writes them sorted; nothing appears at ``path`` before all is well.

    Use as a context manager; leaving it by an exception leaves no file behind.
    """

    def __init__(self, path: str | Path, provenance: Provenance, report_bytes: int) -> None:
        self._path = Path(path)
        self._provenance = provenance
        self._report_bytes = report_bytes
        self._folder = tempfile.TemporaryDirectory(prefix="tacit-", dir=self._path.parent)
        self._spool = Spool(Path(self._folder.name), report_bytes)

    def add(self, bins: NDArray[np.int64], reports: NDArray[np.uint8]) -> None:
        """Take reports and the public bins they belong to."""
        if reports.shape != (len(bins), self._report_bytes):
            raise SettingError(f"reports must be rows of {self._report_bytes} bytes, one for each bin.")
        if len(bins):
            self._spool.add(bins, reports)

    def __enter__(self) -> ReportWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            self._folder.cleanup()

    def _finish(self) -> None:
        sorted_path = Path(self._folder.name) / "sorted"
        n_reports: dict[int, int] = {}
        with sorted_path.open("wb") as payload:
            for rows in self._spool.sorted_pieces():
                found, counts = np.unique(rows["bin"], return_counts=True)
                for number, count in zip(found.tolist(), counts.tolist(), strict=True):
                    n_reports[number] = n_reports.get(number, 0) + count
                np.ascontiguousarray(rows["report"]).tofile(payload)
        self._write(np.array(list(n_reports), np.int64), np.array(list(n_reports.values()), np.int64), sorted_path)

    def _write(self, bins: NDArray[np.int64], lengths: NDArray[np.int64], payload: Path) -> None:
        header = {
            "format": FORMAT,
            "report_bytes": self._report_bytes,
            "n_bins": len(bins),
            "n_reports": int(lengths.sum()),
        } | self._provenance.to_dict()
        packed = json.dumps(header, sort_keys=True).encode()
        digest = hashlib.sha256()
        with written_whole(self._path) as file:
            for part in (
                _MAGIC,
                struct.pack("<I", len(packed)),
                packed,
                bins.astype("<i8").tobytes(),
                lengths.astype("<i8").tobytes(),
            ):
                file.write(part)
                digest.update(part)
            with payload.open("rb") as source:
                while part := source.read(1 << 20):
                    file.write(part)
                    digest.update(part)
            file.write(digest.digest())


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A report file that was opened and found whole."""

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
    def open(cls, path: str | Path) -> ReportFile:
        """Open a report file; a damaged or foreign one is refused before anything is counted."""
        path = Path(path)
        try:
            with path.open("rb") as file:
                return cls._parsed(path, file)
        except FileNotFoundError:
            raise FormatError(f"there is no report file at {path}. Make one with: tacit randomize") from None
        except (struct.error, KeyError, ValueError, TypeError, OverflowError, RecursionError, OSError):
            raise FormatError(f"{path} is not a report file, or its header is damaged. Ask for it anew.") from None

    @classmethod
    def _parsed(cls, path: Path, file: BinaryIO) -> ReportFile:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("magic")
        (length,) = struct.unpack("<I", file.read(4))
        if length > _LARGEST_HEADER:
            raise ValueError("header")
        header = json.loads(file.read(length))
        if header["format"] != FORMAT:
            raise FormatError(
                f"{path} has format {header['format']}; this version reads {FORMAT}. Install a newer Tacit."
            )
        n_bins, n_reports, report_bytes = (int(header[k]) for k in ("n_bins", "n_reports", "report_bytes"))
        if min(n_bins, n_reports, report_bytes) < 0:
            raise ValueError("sizes")
        payload_at = file.tell() + 16 * n_bins
        size = path.stat().st_size
        expected = payload_at + n_reports * report_bytes + 32
        if size != expected:
            raise FormatError(
                f"{path} has {size} bytes and should have {expected}: it was cut short or added to. Ask for it anew."
            )
        bins = np.fromfile(file, "<i8", n_bins).astype(np.int64)
        lengths = np.fromfile(file, "<i8", n_bins).astype(np.int64)
        if not are_runs(bins, lengths, n_reports):
            raise ValueError("bins")
        checksum = _checked_digest(path, expected)
        return cls(path, Provenance.from_dict(header), report_bytes, bins, lengths, payload_at, checksum)

    def batches(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]]:
        """Give (bins, run lengths, reports) in pieces of a few million reports; a bin may span two pieces."""
        start, ends = 0, np.cumsum(self.run_lengths)
        with self.path.open("rb") as file:
            file.seek(self.payload_at)
            while start < self.n_reports:
                stop = min(start + _READ_REPORTS, self.n_reports)
                first = int(np.searchsorted(ends, start, side="right"))
                last = int(np.searchsorted(ends, stop - 1, side="right"))
                edges = np.clip(np.concatenate(([start], ends[first : last + 1])), start, stop)
                flat = np.fromfile(file, np.uint8, (stop - start) * self.report_bytes)
                yield self.bins[first : last + 1], np.diff(edges), flat.reshape(-1, self.report_bytes)
                start = stop


def _checked_digest(path: Path, size: int) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        left = size - 32
        while left:
            part = file.read(min(left, 1 << 20))
            digest.update(part)
            left -= len(part)
        if file.read() != digest.digest():
            raise FormatError(f"{path} is damaged: its checksum does not agree. Ask for it anew.")
    return digest.digest()
