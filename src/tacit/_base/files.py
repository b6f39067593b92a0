"""Files that appear whole or not at all, and that a power failure does not take back.

In CSV files a spreadsheet must not take a name for a formula. A text that begins with ``=``, ``+``, ``-``, ``@``, a tab
or a carriage return is written with an apostrophe before it, and so is one that begins with apostrophes and then one of
these; reading takes one away. Numbers stay as they are.
"""

from __future__ import annotations

import csv
import errno
import io
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from tacit.errors import SettingError

_FOR_ALL: Final = 0o666  # less what the user's umask takes away
_FOR_ITS_OWNER: Final = 0o600  # read and write, for nobody else
_ENDING: Final = ".part"
_NAME_BYTES: Final = 8  # 64 random bits: nobody can lay a file or a link in the way


def write_whole(path: Path, content: bytes, *, is_private: bool = False) -> None:
    """Write or replace a file. On return it is on the disk under its name; an interruption leaves the old one."""
    with written_whole(path, is_private=is_private) as file:
        file.write(content)


@contextmanager
def written_whole(path: Path, *, is_private: bool = False) -> Iterator[BinaryIO]:
    """Give a file to write. If the block ends well, it takes the name ``path`` and is on the disk under it."""
    with _unfinished(path, is_private=is_private) as (file, unfinished):
        yield file
        _sync(file)
        file.close()
        os.replace(unfinished, path)
        sync_folder(path.parent)


def write_note(path: Path, content: bytes) -> None:
    """Write or replace a private file that saves time and may be lost: a power failure may leave anything there."""
    with _unfinished(path, is_private=True) as (file, unfinished):
        file.write(content)
        file.close()
        os.replace(unfinished, path)


def write_new(path: Path, content: bytes, *, is_private: bool = False) -> bool:
    """Write a file unless the name is taken, and return whether it was free; two processes may try at once."""
    with _unfinished(path, is_private=is_private) as (file, unfinished):
        file.write(content)
        _sync(file)
        file.close()
        is_new = _named(unfinished, path, content, is_private=is_private)
        sync_folder(path.parent)
        return is_new


def sync_folder(folder: Path) -> None:
    """See on the disk which files a folder has, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):  # not on this system
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)


def make_folders(folder: Path) -> None:
    """Make a private folder and those it lies in, and see them on the disk."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for one in missing:
        sync_folder(one.parent)


def check_writable(path: Path) -> None:
    """Refuse a path at which no file can be made, before anything is done that cannot be undone."""
    if not path.parent.is_dir():
        raise SettingError(f"the folder {path.parent} does not exist. Make it first, or choose another.")
    if path.exists() and not path.is_file():
        raise SettingError(f"{path} is not a file and cannot be written. Choose another name.")
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError:
        raise SettingError(f"nothing can be written in {path.parent}. Check its permissions and the disk.") from None


@contextmanager
def _unfinished(path: Path, *, is_private: bool) -> Iterator[tuple[BinaryIO, Path]]:
    """Open a new file beside ``path`` under a name that nobody can predict; it is gone at the end."""
    _sweep(path)
    mode = _FOR_ITS_OWNER if is_private else _FOR_ALL
    while True:
        unfinished = path.with_name(f".{path.name}.{os.urandom(_NAME_BYTES).hex()}{_ENDING}")
        descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        if _hold(descriptor) and unfinished.exists():
            break
        os.close(descriptor)  # it was swept between its making and its lock
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file, unfinished
    finally:
        unfinished.unlink(missing_ok=True)


def _sweep(path: Path) -> None:
    """Remove what processes that were killed left of this file; one that is being written is locked."""
    for left in path.parent.iterdir():
        if left.name.startswith(f".{path.name}.") and left.name.endswith(_ENDING):
            with suppress(OSError):
                descriptor = os.open(left, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                try:
                    if _hold(descriptor):
                        left.unlink()
                finally:
                    os.close(descriptor)


@contextmanager
def alone(path: Path, *, busy: Exception | None = None) -> Iterator[None]:
    """Hold a lock on a file that is there: whoever else asks for it waits, or is told that it is ``busy``."""
    try:
        import fcntl
    except ImportError:  # a system without such locks: its owner must run one process at a time
        yield
        return
    with path.open("r+b") as file:
        if busy is None:
            fcntl.flock(file, fcntl.LOCK_EX)
        elif not _hold(file.fileno()):
            raise busy
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def _hold(descriptor: int) -> bool:
    """Lock an open file until it is closed, or return False if somebody else has."""
    try:
        import fcntl
    except ImportError:  # a system without such locks, on which an open file cannot be removed
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without such locks
        return True
    return True


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _named(unfinished: Path, path: Path, content: bytes, *, is_private: bool) -> bool:
    with suppress(FileExistsError):
        try:
            os.link(unfinished, path)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):  # a file system without links
            _copied(path, content, is_private=is_private)
        return True
    return False


def _copied(path: Path, content: bytes, *, is_private: bool) -> None:
    """Write under the name itself. A crash in between leaves a file that is cut short, which readers refuse."""
    mode = _FOR_ITS_OWNER if is_private else _FOR_ALL
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb") as file:
        file.write(content)
        _sync(file)


_FORMULA: Final = re.compile("'*[=+\\-@\t\r]")


def harmless(cell: Any) -> Any:
    """Return a cell as it is written: text that a spreadsheet would run has an apostrophe before it.

    >>> harmless("=1+1"), harmless(-1.5), harmless("'s-Hertogenbosch")
    ("'=1+1", -1.5, "'s-Hertogenbosch")
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def csv_bytes(columns: Mapping[str, Iterable[Any]]) -> bytes:
    """Return a table as CSV with harmless cells and nothing else, so that every program reads it.

    >>> csv_bytes({"place": ["=1", "Dole"], "count": [2, 3]})
    b"place,count\\n'=1,2\\nDole,3\\n"
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(map(harmless, columns))
    writer.writerows(zip(*(map(harmless, column) for column in columns.values()), strict=True))
    return out.getvalue().encode()


def as_it_was(text: str) -> str:
    """Return a text as it was before :func:`harmless`.

    >>> as_it_was("'=1+1"), as_it_was("'s-Hertogenbosch"), as_it_was(harmless("'=1"))
    ('=1+1', "'s-Hertogenbosch", "'=1")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
