"""Fields of plain data from files, each of the type and range it must have.

Arrays in files: as short text in plain data, and in zip archives whose sizes are known before they are expanded.
Dataclasses in files: by the names and types of their fields.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_origin, get_type_hints

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from tacit._base.reading import LARGEST_NUMBER, check_regular, claim
from tacit.errors import FormatError


def pack_array(array: NDArray[Any], *, effort: int = 6) -> dict[str, Any]:
    """Compress an array of numbers into plain data: type, shape and text.

    ``effort`` is zlib's: 6 is its default, and 1 takes a third of the time for somewhat longer text.

    >>> unpack_array(pack_array(np.array([[1, 2], [3, 4]]))).tolist()
    [[1, 2], [3, 4]]
    """
    portable = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    packed = base64.b64encode(zlib.compress(portable.tobytes(), effort)).decode()
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


def checksum_of(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a JSON document with its keys sorted, without its own ``checksum``."""
    rest = {name: part for name, part in content.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def plain(value: Any) -> Any:
    """Return a dataclass as plain data and arrays, by the names of its fields; those it derives itself are left out."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.init}
    return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value


def from_plain(kind: Any, content: Any) -> Any:
    """Return a value of a type from what :func:`plain` made of it.

    A type is a dataclass, a tuple of any length of one type, an array, one of these or None, or what can be called.

    >>> from_plain(tuple[float, ...], [1, 2])
    (1.0, 2.0)
    """
    if is_dataclass(kind):
        hints, own = get_type_hints(kind), [field.name for field in fields(kind) if field.init]
        return kind(**{name: from_plain(hints[name], content[name]) for name in own})  # type: ignore[operator]
    origin, inner = get_origin(kind), get_args(kind)
    if NoneType in inner:
        return None if content is None else from_plain(inner[0], content)
    if origin is tuple:
        return tuple(from_plain(inner[0], part) for part in content)
    return np.asarray(content, *get_args(inner[1])) if origin is np.ndarray else kind(content)


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


def whole(content: Mapping[str, Any], name: str, *, least: int = 0, most: int | None = None) -> int:
    """Return a field that is a whole number within limits; True is none.

    >>> whole({"n": 3}, "n")
    3
    """
    value = content[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        raise damaged(name, f"a whole number of at least {least}" + ("" if most is None else f" and at most {most}"))
    return value


def number(content: Mapping[str, Any], name: str, *, least: float = -math.inf, most: float = math.inf) -> float:
    """Return a field that is a finite number within limits."""
    value = content[name]
    # written so that NaN fails too
    is_fit = isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most
    if not is_fit or not abs(value) <= LARGEST_NUMBER:
        raise damaged(name, "a finite number" + ("" if least == -math.inf else f" of at least {least:g}"))
    return float(value)


def text(content: Mapping[str, Any], name: str) -> str:
    """Return a field that is text."""
    if not isinstance(content[name], str):
        raise damaged(name, "text")
    return str(content[name])


def truth(content: Mapping[str, Any], name: str) -> bool:
    """Return a field that is true or false."""
    if not isinstance(content[name], bool):
        raise damaged(name, "true or false")
    return bool(content[name])


def texts(content: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a field that is a list of texts."""
    value = content[name]
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        raise damaged(name, "a list of texts")
    return tuple(value)


def shape_of(content: Mapping[str, Any], name: str = "shape") -> tuple[int, int]:
    """Return a field that is the shape of a domain: two whole numbers of at least 1."""
    value = content[name]
    if not isinstance(value, list) or len(value) != 2:
        raise damaged(name, "two whole numbers")
    first, second = (whole({name: part}, name, least=1) for part in value)
    return first, second


def sizes_of(content: Mapping[str, Any], name: str = "shape") -> tuple[int, int, int]:
    """Return a field that is the sizes of a domain: bins and places, and kinds where there are any."""
    value = content[name]
    if not isinstance(value, list) or len(value) not in (2, 3):
        raise damaged(name, "two or three whole numbers")
    first, second, third = (whole({name: part}, name, least=1) for part in (*value, 1)[:3])
    return first, second, third


def whole_numbers(
    content: Mapping[str, Any], name: str, *, shape: tuple[int, ...] | None = None, least: int = 0
) -> NDArray[np.int64]:
    """Return a packed array of whole numbers, of a shape if one is given."""
    array = unpack_array(content[name])
    if array.dtype.kind not in "iu" or (array.size and (array.min() < least or array.max() > np.iinfo(np.int64).max)):
        raise damaged(name, f"an array of whole numbers of at least {least}")
    return _shaped(array.astype(np.int64), name, shape)


def numbers(
    content: Mapping[str, Any],
    name: str,
    *,
    shape: tuple[int, ...] | None = None,
    least: float = -math.inf,
    finite: bool = True,
) -> NDArray[np.float64]:
    """Return a packed array of numbers, finite unless said otherwise, and of a shape if one is given."""
    array = unpack_array(content[name])
    if array.dtype.kind not in "iuf":
        raise damaged(name, "an array of numbers")
    array = array.astype(np.float64)
    if finite and not ((np.abs(array) <= LARGEST_NUMBER) & (array >= least)).all():  # NaN fails too
        raise damaged(name, "an array of finite numbers" + ("" if least == -math.inf else f" of at least {least:g}"))
    return _shaped(array, name, shape)


def packed(array: NDArray[Any] | None, *, is_short: bool = False) -> dict[str, Any] | None:
    """Return :func:`pack_array` of an array, None of None; ``is_short`` with half the digits where that loses none."""
    if array is not None and is_short and np.array_equal(short := array.astype(np.float32), array):
        return pack_array(short)
    return None if array is None else pack_array(array)


def unpacked(content: Mapping[str, Any], name: str, shape: tuple[int, ...] | None = None) -> NDArray[np.float64] | None:
    """Return a packed array of finite numbers, of a shape if one is given; None where there is none."""
    return None if content[name] is None else numbers(content, name, shape=shape)


def damaged(name: str, rule: str) -> FormatError:
    """Return the refusal of a field."""
    return FormatError(f"{name} must be {rule}; it is not. The file is damaged: ask for it again.")


def _shaped(array: NDArray[Any], name: str, shape: tuple[int, ...] | None) -> NDArray[Any]:
    if shape is not None and array.shape != shape:
        raise damaged(name, f"an array of shape {shape}")
    return array
