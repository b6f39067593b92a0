"""Packages whose names and submodules are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy_names(
    package: str, homes: Mapping[str, str], rooms: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package: ``homes`` gives the public names of modules.

    A name without a home may be a submodule of the package, which is then loaded; those of ``rooms`` are listed, too.
    Other names are refused as Python refuses them.

    >>> get, listed, names = lazy_names("tacit._base", {"tacit._base.rounding": "percent whole"})
    >>> listed(), names, get("whole")(1234.4), get("rounding").__name__
    (['percent', 'whole'], ['percent', 'whole'], '1,234', 'tacit._base.rounding')
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        itself = f"{package}.{name}"
        home = home_of.get(name, itself)
        if home == itself and (name.startswith("_") or find_spec(itself) is None):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home)
        value = module if home == itself else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted([*home_of, *rooms.split()])

    return get, listed, sorted(home_of)
