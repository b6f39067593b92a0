"""Tallies: sums of reports (public), and exact counts (never public)."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.fields import read_array, read_members, whole
from tacit._base.files import write_whole
from tacit._base.reading import MOST_REPORTS, parse_json, reading
from tacit.counts.provenance import Provenance
from tacit.errors import FormatError, Remedy, SettingError

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """The reports of a collector: one row of statistics for every public bin, and how many reports it had.

    Adding is associative and commutative and has a zero; tallies of different plans refuse. Public bins are counted
    from the start of the plan's public axis, so the shorter of two tallies is padded with empty bins.
    """

    provenance: Provenance
    statistics: NDArray[np.int64]
    reports: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.statistics.ndim != 2 or self.reports.shape != self.statistics.shape[:1]:
            raise SettingError("a tally needs one row of statistics and one number of reports for each public bin.")
        # so few that no sum of two tallies leaves 64 bits
        if self.reports.sum(dtype=np.float64) > MOST_REPORTS:
            raise SettingError(f"a tally must hold at most {MOST_REPORTS:,} reports. Count fewer files together.")
        for array in (self.statistics, self.reports):
            array.flags.writeable = False

    @classmethod
    def zero(cls, plan_id: str, n_statistics: int) -> Tally:
        """Return the tally of no reports."""
        return cls(Provenance(plan_id), np.zeros((0, n_statistics), np.int64), np.zeros(0, np.int64))

    @property
    def n_reports(self) -> int:
        return int(self.reports.sum())

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        provenance = self.provenance + other.provenance
        n_bins = max(len(self.reports), len(other.reports))
        return Tally(
            provenance,
            _padded(self.statistics, n_bins) + _padded(other.statistics, n_bins),
            _padded(self.reports, n_bins) + _padded(other.reports, n_bins),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (
            self.provenance == other.provenance
            and np.array_equal(self.statistics, other.statistics)
            and np.array_equal(self.reports, other.reports)
        )

    def __repr__(self) -> str:
        label = ", simulation" if self.provenance.is_simulation else ""
        plan = self.provenance.plan_id
        return f"Tally({self.n_reports} reports in {len(self.reports)} bins of plan {plan}{label})"

    def write(self, path: str | Path) -> None:
        """Write the tally to a file of its own."""
        header = {"format": FORMAT, "kind": "tally"} | self.provenance.to_dict()
        header |= {"checksum": _checksum(header, self.statistics, self.reports)}
        content = io.BytesIO()
        np.savez_compressed(
            content, header=np.array(json.dumps(header)), statistics=self.statistics, reports=self.reports
        )
        write_whole(Path(path), content.getvalue())

    @classmethod
    def read(cls, path: str | Path) -> Tally:
        """Read a tally written by :meth:`write`; one that no reports can have made is refused."""
        remedy = Remedy.MAKE_TALLY
        with reading(path, "a tally", remedy):
            parts = read_members(Path(path))
            header = parse_json(str(read_array(parts["header.npy"])))
            if header["kind"] != "tally":
                raise ValueError("kind")
            if whole(header, "format") != FORMAT:
                raise FormatError(f"the tally is not of format {FORMAT}. Install a newer Tacit, or make it again.")
            arrays = [_whole_numbers(read_array(parts[f"{name}.npy"])) for name in ("statistics", "reports")]
            # tallies of earlier versions have no checksum
            if "checksum" in header and header["checksum"] != _checksum(header, *arrays):
                raise FormatError("the tally was changed or damaged: its checksum does not agree.", remedy=remedy)
            tally = cls(Provenance.from_dict(header), *arrays)
            if (tally.statistics > tally.reports[:, None]).any():
                raise FormatError("the tally supports a cell by more reports than there are.", remedy=remedy)
        return tally


class ExactTally:
    """True counts over a domain, for a central mechanism or the laboratory only.

    It has no file form and shows no value: what leaves must pass through a mechanism.
    """

    __slots__ = ("_counts",)

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self._counts = np.array(counts, dtype=np.int64)
        self._counts.flags.writeable = False

    def __repr__(self) -> str:
        return f"ExactTally({' x '.join(map(str, self._counts.shape))} cells, values withheld)"

    def __reduce__(self) -> str:
        raise SettingError("exact counts have no file form. Release them through a mechanism.")

    def reveal(self) -> NDArray[np.int64]:
        """Return the true counts, for whoever may see them: a central mechanism, or the laboratory."""
        return self._counts


def _padded(rows: NDArray[np.int64], n_bins: int) -> NDArray[np.int64]:
    if len(rows) == n_bins:
        return rows
    out = np.zeros((n_bins, *rows.shape[1:]), np.int64)
    out[: len(rows)] = rows
    return out


def _whole_numbers(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return counts from a file: whole numbers from 0 to what a tally may hold."""
    if array.dtype.kind not in "iu" or (array.size and not 0 <= int(array.min()) <= int(array.max()) <= MOST_REPORTS):
        raise FormatError("the tally holds numbers that are no counts.", remedy=Remedy.MAKE_TALLY)
    return array.astype(np.int64)


def _checksum(header: Mapping[str, Any], statistics: NDArray[np.int64], reports: NDArray[np.int64]) -> str:
    """Return SHA-256 over the header without its checksum, the shape of the statistics, and both arrays."""
    content = {name: part for name, part in header.items() if name != "checksum"}
    digest = hashlib.sha256(json.dumps([content, list(statistics.shape)], sort_keys=True).encode())
    for array in (statistics, reports):
        digest.update(np.ascontiguousarray(array, "<i8").tobytes())
    return digest.hexdigest()
