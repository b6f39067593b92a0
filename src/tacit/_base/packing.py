"""Arrays as short text, for the plain data inside our files."""

from __future__ import annotations

import base64
import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.reading import claim
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
