"""Processes that are killed at a chosen step: what is on the disk then is all that the next one finds."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

import pytest

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that can be forked")
quiet = pytest.mark.filterwarnings("ignore::DeprecationWarning")

_SYSTEM = ("posix", "_io", "fcntl", "sqlite3", "_sqlite3")
"""Modules in C that reach the disk, and the modules of their files and connections."""
_READING = (
    *("stat", "lstat", "fstat", "fspath", "listdir", "scandir", "getpid", "getcwd", "urandom", "read", "readline"),
    *("seek", "tell", "fileno", "readable", "writable", "seekable", "fetchone", "fetchall", "serialize"),
)
"""Their functions and methods that leave the disk as it is."""


def killed_at(event: int, work: Callable[[], object]) -> bool:
    """Run in a process of its own, which kills itself before the n-th call that may change the disk; whether it did.

    A kill loses nothing that was handed to the system. What is found afterwards differs only with the number of such
    calls that were made, so that to try each of them is to try every point.
    """
    child = os.fork()
    if child == 0:
        n_calls = 0

        def watch(frame: FrameType, kind: str, called: object) -> None:
            nonlocal n_calls
            if kind == "c_call" and _module(called) in _SYSTEM and getattr(called, "__name__", "") not in _READING:
                n_calls += 1
                if n_calls == event:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(watch)
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _module(called: object) -> str | None:
    """Return the module of a function, or of the class of the object whose method it is."""
    own = getattr(called, "__module__", None)
    return own if isinstance(own, str) else type(getattr(called, "__self__", None)).__module__
