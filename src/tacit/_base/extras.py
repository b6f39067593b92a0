"""Import an optional part, or say which command installs it."""

from __future__ import annotations

import importlib
from typing import Any

from tacit.errors import MissingExtra


def require(module: str, *, extra: str) -> Any:
    """Return ``module``, or raise with the command that installs it.

    >>> require("json", extra="events").dumps([1])
    '[1]'
    >>> require("no_such_module", extra="events")
    Traceback (most recent call last):
    ...
    tacit.errors.MissingExtra: this needs no_such_module, which is not installed. Run: pip install 'tacit[events]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.split(".")[0] != module.split(".")[0]:
            raise
        raise MissingExtra(f"this needs {module}, which is not installed. Run: pip install 'tacit[{extra}]'") from None
