"""A mechanism that is a Python function of somebody else's, found by its name."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from numpy.typing import NDArray

from tacit.errors import SettingError, TacitError

_MOST_SAID: Final = 300


def plug_in_named(name: str) -> Any:
    """The object that ``package.module:name`` names, looked for in this folder too.

    >>> plug_in_named("math:exp")(0.0)
    1.0
    >>> plug_in_named("math:no_such_thing")
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: function must name something in the module math; got no_such_thing. Check the spelling.
    """
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise SettingError(f"function must be written as package.module:name; got function={name}.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
    except (Exception, SystemExit) as problem:  # somebody else's code runs
        raise SettingError(f"the module {module} cannot be loaded: {_said(problem)}") from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise SettingError(
                f"function must name something in the module {module}; got {attribute}. Check the spelling."
            )
        found = getattr(found, part)
    return found


def is_local_randomizer(found: Any) -> bool:
    """Whether an object is a whole mechanism for devices, with an epsilon of its own."""
    return all(hasattr(found, name) for name in ("randomize", "epsilon", "n_cells", "report_bytes", "statistics"))


def guarded(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The same function, whose failures are sentences."""
    if not callable(function):
        raise SettingError(f"{name} must be a function. Name one that takes values and gives reports.")

    def call(*given: Any) -> Any:
        try:
            return function(*given)
        except TacitError:
            raise
        except (Exception, SystemExit) as problem:  # somebody else's code runs, and its exit is no verdict of ours
            raise SettingError(f"{name} failed: {_said(problem)}") from None

    return call


def one_by_one(function: Callable[[Any], Any]) -> Callable[[NDArray[Any]], list[Any]]:
    """A function of one value as one of many."""
    return lambda values: [function(value) for value in values.tolist()]


def _said(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"[:_MOST_SAID]
