"""The simulated interventions as a file: CSV with the paper's columns, or Parquet that says what it is."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit._base.files import written_whole
from tacit.errors import SettingError
from tacit.events.datasets.doubs.rows import COLUMNS, Columns

Progress = Callable[[int, int], None]

LABEL: Final = "Synthetic: simulated interventions, not those of any real person or fire brigade."
METADATA_KEY: Final = b"tacit.synthetic"
_BATCH_ROWS: Final = 50_000


def check_path(path: Path) -> None:
    """Refuse a file we could not write, before there are rows to write."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise SettingError(f"path must end in .csv or .parquet; got path={path}. Give the file one of these endings.")
    if not path.parent.is_dir():
        raise SettingError(f"path must lie in a folder that exists; got path={path}. Make {path.parent} first.")


def write_rows(path: Path, columns: Columns, *, progress: Progress | None = None) -> None:
    """Write the rows to ``path``, as its suffix says; the file appears whole or not at all."""
    check_path(path)
    write = _write_csv if path.suffix.lower() == ".csv" else _write_parquet
    with written_whole(path) as file:
        write(file, columns, progress or _ignore)


def _write_csv(binary: BinaryIO, columns: Columns, progress: Progress) -> None:
    n_rows = len(columns["ID"])
    file = io.TextIOWrapper(binary, encoding="utf-8", newline="")
    file.write(",".join(COLUMNS) + "\n")
    for start in range(0, n_rows, _BATCH_ROWS):
        batch = {name: values[start : start + _BATCH_ROWS] for name, values in columns.items()}
        fields = (
            batch["ID"].tolist(),
            written_dates(batch["SDate"]),
            batch["Station"].tolist(),
            batch["Town"].tolist(),
            batch["Location"].tolist(),
        )
        # no name holds a comma or a quote; a location always holds a comma
        file.writelines(map('%s,%s,%s,%s,"%s"\n'.__mod__, zip(*fields, strict=True)))
        progress(start + len(batch["ID"]), n_rows)
    file.detach()  # all of it is written; closing is for whoever opened


def written_dates(times: NDArray[np.datetime64]) -> list[str]:
    """Dates as the paper writes them.

    >>> written_dates(np.array(["2008-08-08T08:08"], dtype="datetime64[s]"))
    ['2008/08/08 08:08']
    """
    joined = "\n".join(np.datetime_as_string(times, unit="m").tolist())
    return joined.replace("-", "/").replace("T", " ").split("\n")


def _write_parquet(binary: BinaryIO, columns: Columns, progress: Progress) -> None:
    pa = require("pyarrow", extra="events")
    parquet = require("pyarrow.parquet", extra="events")
    n_rows = len(columns["ID"])
    table: Any = pa.table({name: pa.array(columns[name]) for name in COLUMNS})
    table = table.replace_schema_metadata({METADATA_KEY: LABEL.encode()})
    parquet.write_table(table, binary)
    progress(n_rows, n_rows)


def _ignore(done: int, total: int) -> None:
    return None
