"""Packages whose names and submodules are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package: ``homes`` gives the module of every public name.

    A name without a home may be a submodule of the package, which is then loaded; a submodule that ``homes`` gives
    under its own name is listed, too. Other names are refused as Python refuses them.

    >>> get, listed = lazy_names("tacit._base", {"whole": "tacit._base.rounding"})
    >>> listed(), get("whole")(1234.4), get("rounding").__name__
    (['whole'], '1,234', 'tacit._base.rounding')
    """

    def get(name: str) -> Any:
        itself = f"{package}.{name}"
        home = homes.get(name, itself)
        if home == itself and (name.startswith("_") or find_spec(itself) is None):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home)
        value = module if home == itself else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        return sorted(homes)

    return get, listed
