"""Fields of plain data from files, each of the type and range it must have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.limits import LARGEST_NUMBER
from tacit._base.packing import unpack_array
from tacit.errors import FormatError


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


def damaged(name: str, rule: str) -> FormatError:
    """The refusal of a field."""
    return FormatError(f"{name} must be {rule}; it is not. The file is damaged: ask for it again.")


def _shaped(array: NDArray[Any], name: str, shape: tuple[int, ...] | None) -> NDArray[Any]:
    if shape is not None and array.shape != shape:
        raise damaged(name, f"an array of shape {shape}")
    return array
