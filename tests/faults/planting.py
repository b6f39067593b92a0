"""Faults, and how one is planted for the time of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dotted import resolved, split

SURE = 1 - 1e-9
"""The confidence at which what has no fault is looked at: it is refuted once in 1e9 runs."""


ALONE = "this suite alone"
"""Stands for the tests of a fault that nothing else was seen to find."""


@dataclass(frozen=True)
class Setting:
    """What a refuter is given: a seed, an empty folder, and how sure it must be (as the audits, by default)."""

    seed: int
    folder: Path
    confidence: float = 0.99

    def surely(self) -> Setting:
        return replace(self, confidence=SURE)


@dataclass(frozen=True)
class Refuter:
    """What finds a fault: an audit that plays a game, or a check that needs no luck or next to none.

    ``find`` returns whether it found one. A check fails by an AssertionError; any other exception is a mistake of the
    suite and not a finding.
    """

    name: str
    find: Callable[[Setting], bool]


@dataclass(frozen=True)
class Fault:
    """A mistake that somebody could make in one function, and what must find it.

    ``where`` is the full name of the function; ``plant`` makes the wrong one of the right one. ``tests`` names tests of
    the ordinary suite that find it too. ``caches`` are those that keep what the function gave.
    """

    name: str
    where: str
    plant: Callable[[Any], Any]
    refuter: Refuter
    tests: str
    caches: tuple[str, ...] = ()


def checked(name: str, check: Callable[[Setting], None]) -> Refuter:
    """The refuter that a check makes."""

    def find(setting: Setting) -> bool:
        try:
            check(setting)
        except AssertionError:
            return True
        return False

    return Refuter(name, find)


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Put a fault into its place, and take it away again."""
    owner, attribute = split(fault.where)
    assert attribute is not None
    found = vars(owner)[attribute] if attribute in vars(owner) else getattr(owner, attribute)
    right = found.__func__ if isinstance(found, classmethod | staticmethod) else found
    wrong = fault.plant(right)
    wrong = type(found)(wrong) if isinstance(found, classmethod | staticmethod) else wrong
    with pytest.MonkeyPatch.context() as patch:
        _forget(fault)
        patch.setattr(owner, attribute, wrong)
        yield
    _forget(fault)


def _forget(fault: Fault) -> None:
    for name in fault.caches:
        resolved(name).cache_clear()
