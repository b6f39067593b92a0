"""Backups: the rows of a store in a file of SQLite, whatever database it is, with the files of closed periods.

The rows are those of one moment. Files are copied after it: a period whose rows are gone has its file by then, and one
whose rows are in the backup writes the same file again. Nothing tells in which order rows came, for tables of the copy
are sorted by their random numbers.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from tacit import __version__
from tacit._base.files import make_folders, sync_folder, write_whole
from tacit._base.reading import parse_json, reading
from tacit.errors import FormatError, SettingError
from tacit.service.schema import METADATA, SURVEY
from tacit.service.store import Store

_STORE, _FILES, _LIST = "store.sqlite", "collected", "backup.json"
_FORMAT: Final = 1
_FIRST: Final = datetime(2026, 1, 1, tzinfo=UTC)  # of the seconds of restores; no version before could restore
_ROWS_AT_ONCE: Final = 100  # a row holds the reports of one message in one bin, 16 MiB at most and mostly far less


@dataclass(frozen=True, slots=True)
class Copied:
    """How much a backup holds."""

    n_rows: int
    n_files: int


def make_backup(store: Store, folder: Path, to: Path) -> Copied:
    """Copy a store and its folder to a new folder, which appears whole or not at all. The store may be in use."""
    if to.exists():
        raise SettingError(f"{to} exists already. Choose another name for the backup.")
    make_folders(to.parent)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{to.name}.", suffix=".part", dir=to.parent))
    try:
        with closing(Store(f"sqlite:///{unfinished / _STORE}")) as copy, store.snapshot() as rows:
            n_rows = _copy_rows(rows, copy)
        (unfinished / _FILES).mkdir(mode=0o700)
        for path in _files_in(folder):
            _copy(folder / path, unfinished / _FILES / path)
        digests = {str(path): _digest(unfinished / path) for path in _files_in(unfinished)}
        content = {"format": _FORMAT, "version": __version__, "n_rows": n_rows, "files": digests}
        write_whole(unfinished / _LIST, json.dumps(content, indent=1).encode(), is_private=True)
        os.rename(unfinished, to)
        sync_folder(to.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Copied(n_rows, len(digests) - 1)


def restore_backup(backup: Path, store: Store, folder: Path) -> Copied:
    """Copy a backup into an empty store and its folder. All of it is checked first; stopped, the same goes on."""
    content = _checked(backup)
    if store.n_rows():
        raise SettingError("the store is not empty. Restore into one that is: a new file, or a new database.")
    files = [Path(path).relative_to(_FILES) for path in content["files"] if path != _STORE]
    for path in files:
        if (folder / path).exists() and _digest(folder / path) != content["files"][str(Path(_FILES, path))]:
            raise SettingError(f"{folder / path} is there and is another file. Restore into an empty folder.")
    make_folders(folder)
    for path in files:
        _copy(backup / _FILES / path, folder / path)
    with tempfile.TemporaryDirectory() as scratch:
        # opened from a copy: a store of an earlier version is brought up to date when it is opened
        shutil.copyfile(backup / _STORE, Path(scratch) / _STORE)
        with closing(Store(f"sqlite:///{Path(scratch) / _STORE}")) as kept, kept.snapshot() as rows:
            n_rows = _copy_rows(rows, store, restored_at=_seconds())
    return Copied(n_rows, len(files))


def _seconds() -> int:
    """Return the seconds since 2026, before which nothing was restored."""
    return max(1, int((datetime.now(UTC) - _FIRST).total_seconds()))


def _checked(backup: Path) -> dict[str, Any]:
    """The list of a backup whose files are all there as they were written."""
    with reading(backup / _LIST, "a backup", "Name a folder that was made as a backup."):
        content = parse_json((backup / _LIST).read_bytes())
        if content["format"] != _FORMAT:
            raise FormatError("the backup was made by a newer version of Tacit. Install that version.")
        names = list(content["files"])
        if _STORE not in names or not all(name == _STORE or _is_inside(name) for name in names):
            raise FormatError("its list names other files than a backup has. Use another backup.")
    for name, digest in content["files"].items():
        if not (backup / name).is_file() or _digest(backup / name) != digest:
            raise FormatError(f"{backup / name} is missing or was changed. Use another backup.")
    return content


def _is_inside(name: str) -> bool:
    parts = Path(name).parts
    return parts[0] == _FILES and len(parts) > 1 and ".." not in parts


def _copy_rows(rows: sa.Connection, to: Store, *, restored_at: int | None = None) -> int:
    """Copy all rows that a transaction sees, in one transaction; returns how many there are.

    Surveys that are restored number their looks for poisoned reports again, with shares of false alarms of their own.
    """
    n_rows = 0
    with to.writing() as connection:
        for table in METADATA.sorted_tables:
            found = rows.execution_options(yield_per=_ROWS_AT_ONCE).execute(sa.select(table))
            for part in found.mappings().partitions():
                connection.execute(sa.insert(table), [dict(row) for row in part])
                n_rows += len(part)
        if restored_at is not None:
            # where the clock went back, the second after the last restore
            later = sa.case((SURVEY.c.restored_at < restored_at, restored_at), else_=SURVEY.c.restored_at + 1)
            connection.execute(sa.update(SURVEY).values(restored_at=later, n_looks=0))
    return n_rows


def _files_in(folder: Path) -> list[Path]:
    """The finished files below a folder."""
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if not path.name.startswith("."))


def _copy(source: Path, target: Path) -> None:
    make_folders(target.parent)
    write_whole(target, source.read_bytes(), is_private=True)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
