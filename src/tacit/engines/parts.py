"""A folder of report files that tasks write, each of whole public bins: no report passes through the driver.

The folder must lie where all machines find it under the same path. Tasks write into a folder beside it, under names
and with a head that no reader takes. When all are there, the driver gives each its head and the folder its name: it
appears as a whole or not at all. A task that runs twice writes the same bytes to the same name.
"""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyspark.sql import SparkSession

from tacit._base.files import check_writable, sync_folder
from tacit.collection.wire.cell_counts import CellCounts
from tacit.collection.wire.randomizing_writer import Progress
from tacit.collection.wire.reports import ReportFile, checksum_of, finish, write_sorted
from tacit.counts.provenance import Provenance
from tacit.engines.drawing import Drawing, Order, orders_of, waves
from tacit.engines.session import speaking
from tacit.errors import DataError, Remedy, SettingError
from tacit.mechanisms.local.randomizer import LocalRandomizer

SUFFIX: Final = ".reports"
_WAVE_ORDERS: Final = 256  # orders of a job, a quarter of a billion reports; their counts are held here at a time

Numbered = tuple[int, list[Order]]


@dataclass(frozen=True, slots=True)
class Parts:
    """Writes reports as files of a folder, one for every million of them; a public bin is in one file.

    A bin of more than a million reports is sorted by tasks and put together here.
    """

    session: SparkSession

    def check(self, path: Path) -> None:
        """Refuse a path at which no folder of reports can be made, or something else lies."""
        check_writable(path / "x" if path.is_dir() else path)
        if path.is_file():
            raise SettingError(f"{path} is a file; the parts of a run are put into a folder. Choose another name.")
        if path.is_dir() and any(one.suffix != SUFFIX for one in path.iterdir()):
            raise SettingError(f"{path} holds something else than report files. Choose another name.")
        check_writable(path.parent / "x")

    def write(
        self,
        path: Path,
        mechanism: LocalRandomizer,
        counts: CellCounts,
        *,
        key: bytes,
        provenance: Provenance,
        overwrite: bool = True,
        progress: Progress | None = None,
    ) -> None:
        """Draw a report for every event counted, and write them. On return the folder is on the disk, whole.

        Without ``overwrite`` a folder that is there already is refused unless it is the very same.
        """
        path = path.absolute()
        _sweep(path)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=_ENDING, dir=path.parent))
        try:
            written, done = dict[str, bytes](), 0
            for n_reports, some in self._written(unfinished, mechanism, counts, key, provenance):
                written |= some
                done += n_reports
                if progress is not None:
                    progress(done, counts.n_events)
            if done != counts.n_events:
                raise DataError("Spark wrote fewer reports than were asked for. Run the same again.")
            _commit(unfinished, path, written, overwrite=overwrite)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _written(
        self, folder: Path, mechanism: LocalRandomizer, counts: CellCounts, key: bytes, provenance: Provenance
    ) -> Iterator[tuple[int, dict[str, bytes]]]:
        """Write all parts unfinished; yield how many reports some of them have, and their checksums by name."""
        drawing = Drawing(self.session, mechanism)
        label = partial(write_sorted, provenance=provenance, report_bytes=mechanism.report_bytes, is_finished=False)
        if not counts.n_events:
            nothing = np.empty(0, np.int64)
            yield 0, {_name(0): label(folder / _name(0), bins=nothing, run_lengths=nothing, pieces=())}
        for is_large, some in groupby(enumerate(orders_of(counts, key)), key=_is_large):
            if not is_large:
                for wave in waves(iter(some), _WAVE_ORDERS):
                    yield self._wave(folder, mechanism, provenance, wave)
                continue
            for number, orders in some:
                n_reports = sum(len(order.reports) for order in orders)
                bins, lengths = orders[0].bins, np.array([n_reports])
                written = label(folder / _name(number), bins=bins, run_lengths=lengths, pieces=drawing.bin(orders))
                yield n_reports, {_name(number): written}

    def _wave(
        self, folder: Path, mechanism: LocalRandomizer, provenance: Provenance, wave: list[Numbered]
    ) -> tuple[int, dict[str, bytes]]:
        asked = [(number, pickle.dumps(orders[0])) for number, orders in wave]
        task = partial(write_part, folder=folder, mechanism=mechanism, provenance=provenance)
        with speaking(self.session, "the counts"):
            rows: Any = self.session.sparkContext.parallelize(asked, len(asked)).map(task).collect()
        return sum(n_reports for _, n_reports, _ in rows), {name: checksum for name, _, checksum in rows}


def write_part(
    asked: tuple[int, bytes], *, folder: Path, mechanism: LocalRandomizer, provenance: Provenance
) -> tuple[str, int, bytes]:
    """Write the reports of an order of whole bins, unfinished; runs on the executors."""
    number, packed = asked
    order: Order = pickle.loads(packed)
    checksum = write_sorted(
        folder / _name(number),
        provenance,
        mechanism.report_bytes,
        order.bins,
        order.run_lengths,
        [order.draw(mechanism)],
        is_finished=False,
    )
    return _name(number), len(order.reports), checksum


_ENDING: Final = ".unfinished"


def _commit(unfinished: Path, path: Path, written: dict[str, bytes], *, overwrite: bool) -> None:
    """Give the folder its name after every part can be read; what else tasks left in it is removed."""
    for one in unfinished.iterdir():
        if one.name not in written:
            one.unlink()
    final = {name: f"{name.removesuffix(SUFFIX)}-of-{len(written):06}{SUFFIX}" for name in written}
    if path.is_dir() and not overwrite:
        if {one.name: checksum_of(one) for one in path.iterdir()} == {
            final[name]: one for name, one in written.items()
        }:
            return
        raise SettingError(f"{path} exists already and holds something else.", remedy=Remedy.OVERWRITE)
    for name, checksum in written.items():
        finish(unfinished / name)
        if ReportFile.open(unfinished / name, check=False).checksum != checksum:
            raise DataError(
                f"{path}: what the executors wrote is not found here. Name a folder that all machines share."
            )
        os.replace(unfinished / name, unfinished / final[name])  # by which a reader knows that all are there
    unfinished.chmod(0o777 & ~_umask())
    sync_folder(unfinished)
    if path.is_dir():
        older = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=_ENDING, dir=path.parent))
        os.replace(path, older / path.name)
        os.replace(unfinished, path)
        shutil.rmtree(older)
    else:
        os.replace(unfinished, path)
    sync_folder(path.parent)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sweep(path: Path) -> None:
    """Remove what a run that was killed left beside the folder."""
    for left in path.parent.glob(f".{path.name}.*{_ENDING}"):
        shutil.rmtree(left, ignore_errors=True)


def _name(number: int) -> str:
    return f"{number:06}{SUFFIX}"


def _is_large(numbered: Numbered) -> bool:
    return len(numbered[1]) > 1
