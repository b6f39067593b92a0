"""Arrays in files: as short text in plain data, and in zip archives whose sizes are known before they are expanded."""

from __future__ import annotations

import base64
import io
import math
import zipfile
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tacit._base.reading import check_regular, claim
from tacit.errors import FormatError


def pack_array(array: NDArray[Any]) -> dict[str, Any]:
    """Compress an array of numbers into plain data: type, shape and text.

    >>> unpack_array(pack_array(np.array([[1, 2], [3, 4]]))).tolist()
    [[1, 2], [3, 4]]
    """
    portable = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    packed = base64.b64encode(zlib.compress(portable.tobytes(), 6)).decode()
    return {"type": portable.dtype.str, "shape": list(array.shape), "zlib": packed}


def unpack_array(content: Any) -> NDArray[Any]:
    """Read an array back; one that does not fit its own description is refused."""
    try:
        kind, shape = np.dtype(content["type"]), tuple(content["shape"])
        if kind.kind not in "iufb" or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError("type")
        n_bytes = math.prod(shape) * kind.itemsize
        claim(n_bytes)
        expander = zlib.decompressobj()
        raw = expander.decompress(base64.b64decode(content["zlib"], validate=True), n_bytes + 1)
        return np.frombuffer(raw, kind).reshape(shape).astype(kind.newbyteorder("="))
    except (KeyError, TypeError, ValueError, OverflowError, zlib.error):
        raise FormatError("an array in the file is damaged. Ask for the file again.") from None


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
