"""Packages whose names are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package: ``homes`` gives the module of every public name.

    A name whose home is ``package.name`` is that submodule itself. Other names are refused as Python refuses them.

    >>> get, listed = lazy_names("tacit._base", {"whole": "tacit._base.rounding", "rounding": "tacit._base.rounding"})
    >>> listed(), get("whole")(1234.4), get("rounding").__name__
    (['rounding', 'whole'], '1,234', 'tacit._base.rounding')
    """

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(homes[name])
        value = home if homes[name] == f"{package}.{name}" else getattr(home, name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted(homes)

    return get, listed
