"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the file and move it into place, so that an interruption leaves the old one."""
    unfinished = path.with_name(path.name + ".part")
    try:
        unfinished.write_bytes(content)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
