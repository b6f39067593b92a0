"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tacit.errors import SettingError


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the file and move it into place, so that an interruption leaves the old one."""
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


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
