"""What a dotted name stands for: tables that bind to functions name them so, and a rename is noticed."""

from __future__ import annotations

import importlib
from typing import Any


def resolved(name: str) -> Any:
    """The module, class, function or attribute of this full name."""
    owner, attribute = split(name)
    return owner if attribute is None else getattr(owner, attribute)


def split(name: str) -> tuple[Any, str | None]:
    """The module or class that a full name is an attribute of, and the attribute; a module has none."""
    parts = name.split(".")
    for n_parts in range(len(parts), 0, -1):
        try:
            owner: Any = importlib.import_module(".".join(parts[:n_parts]))
        except ModuleNotFoundError:
            continue
        if n_parts == len(parts):
            return owner, None
        for part in parts[n_parts:-1]:
            owner = getattr(owner, part)
        getattr(owner, parts[-1])  # fails where there is none
        return owner, parts[-1]
    raise AttributeError(name)
