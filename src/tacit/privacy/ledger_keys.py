"""The two files beside a ledger: the key of its chain, and the mark of what was checked last."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from tacit._files import write_new, write_note
from tacit.errors import FormatError
from tacit.privacy.ledger_chain import KEY_BYTES

_KEY_WORDS: Final = "tacit ledger key 1"
_CHECKED_WORDS: Final = "tacit ledger checked 1"
_LONGEST: Final = 1024  # more than either file has


class KeyFile:
    """The key of a ledger's chain, for its owner only. It never changes: back it up once, with the ledger."""

    def __init__(self, ledger: Path) -> None:
        self._ledger: Final = ledger
        self.path: Final = ledger.with_name(f"{ledger.name}.key")

    def read(self) -> bytes:
        """The key; without it nobody can tell whether an entry was changed."""
        lines = _lines(self.path, _KEY_WORDS)
        if lines is None:
            raise FormatError(
                f"the ledger {self._ledger} has no key beside it: {self.path.name} is missing or cannot be read, and "
                "without it nobody can tell whether an entry was changed. Put the key back from where the ledger came "
                "from, or restore both from one copy; nothing was spent."
            )
        with suppress(ValueError, IndexError):
            key = bytes.fromhex(lines[0])
            if len(key) == KEY_BYTES:
                return key
        raise FormatError(f"{self.path} is not the key of a ledger, or is damaged. Restore it; nothing was spent.")

    def made(self) -> bytes:
        """The key, made if there is none."""
        if not self.path.exists():
            write_new(self.path, f"{_KEY_WORDS}\n{os.urandom(KEY_BYTES).hex()}\n".encode(), is_private=True)
        return self.read()


class CheckedFile:
    """A note that saves checking every row: the head and a MAC of the ledger's bytes when it was written last.

    It also tells a ledger that was put back to an earlier day from one that was not. Without it all rows are checked.
    """

    def __init__(self, ledger: Path) -> None:
        self.path: Final = ledger.with_name(f"{ledger.name}.checked")

    def read(self) -> tuple[str, bytes]:
        """The head and the mark; empty if there is no note, or none that can be read."""
        with suppress(ValueError, IndexError):
            lines = _lines(self.path, _CHECKED_WORDS) or []
            return lines[0], bytes.fromhex(lines[1])
        return "", b""

    def write(self, head: str, mark: bytes) -> None:
        """Note what was checked. That the note is missing costs time only, so that no failure is told."""
        with suppress(OSError):
            write_note(self.path, f"{_CHECKED_WORDS}\n{head}\n{mark.hex()}\n".encode())

    @property
    def too_old(self) -> str:
        """What to say of a ledger that lacks what it had."""
        return (
            "is older than when it was used last: what was spent since is not in it. Put the newest copy in its place. "
            f"If there is none, the events that were spent on since must not be released again; then delete "
            f"{self.path.name}."
        )


def _lines(path: Path, words: str) -> list[str] | None:
    """The lines after the first, which says what the file is; nothing if it cannot be read."""
    with suppress(OSError, ValueError):
        with path.open("rb") as file:
            first, *lines = file.read(_LONGEST).decode("ascii").splitlines()
        return lines if first == words else []
    return None


def wipe(path: Path) -> None:
    """Overwrite a file with zeros, see that on the disk, and remove it."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        left = file.seek(0, os.SEEK_END)
        file.seek(0)
        while left:
            left -= file.write(bytes(min(left, 1 << 20)))  # a mebibyte at a time
        file.flush()
        os.fsync(file.fileno())
    with suppress(OSError):  # some systems remove no file that is open; it is all zeros
        path.unlink()
