"""NumPy arrays in zip archives: their sizes are known before memory is asked for, and nothing in them is run."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tacit._base.reading import check_regular, claim

_MOST_MEMBERS: Final = 100_000
"""Members of an archive: a model of boosted trees has some dozens."""


def read_members(path: Path) -> dict[str, bytes]:
    """Return the members of an archive by name; a name that stands twice, or more than a file may hold, is refused."""
    check_regular(path)
    with zipfile.ZipFile(path) as archive:
        found = archive.infolist()
        if len(found) > _MOST_MEMBERS or len({member.filename for member in found}) < len(found):
            raise ValueError("members")
        claim(sum(member.file_size for member in found))
        return {member.filename: archive.read(member) for member in found}


def read_array(content: bytes) -> NDArray[Any]:
    """Return the array of an ``.npy`` file whose header says exactly what it holds; objects are refused."""
    file = io.BytesIO(content)
    version = npy.read_magic(file)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, is_by_columns, kind = readers[version](file)
    n_bytes = math.prod(shape) * kind.itemsize
    if kind.hasobject or kind.fields or n_bytes != len(content) - file.tell():
        raise ValueError("array")
    flat = np.frombuffer(content, kind, offset=file.tell()) if n_bytes else np.zeros(0, kind)
    array = flat.reshape(shape, order="F" if is_by_columns else "C")
    return array.astype(kind.newbyteorder("="))
