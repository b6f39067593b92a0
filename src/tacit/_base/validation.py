"""Checks on settings. Every comparison is written so that NaN fails it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from tacit.errors import SettingError


def kind_of(value: object) -> str:
    """Return what kind of thing a value is, for messages.

    >>> kind_of(5), kind_of("1"), kind_of(None)
    ('an int', 'a text', 'None')
    """
    if value is None:
        return "None"
    name = "text" if isinstance(value, str) else type(value).__name__
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def shown(value: object) -> str:
    """Return a value for messages; a text that may look like a number is called one.

    >>> shown(0.5), shown("1")
    ('0.5', "'1', a text")
    """
    return f"{value!r}, {kind_of(value)}" if isinstance(value, str) else str(value)


def check_positive(**settings: float) -> None:
    """Refuse anything but finite numbers above zero.

    >>> check_positive(epsilon=float("nan"))
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: epsilon must be a finite number above 0; got epsilon=nan.
    """
    for name, value in settings.items():
        if not (_is_number(value) and value > 0 and math.isfinite(value)):
            raise SettingError(f"{name} must be a finite number above 0; got {name}={shown(value)}.")


def check_at_least(least: int, **settings: int) -> None:
    """Refuse anything but whole numbers of at least ``least``."""
    for name, value in settings.items():
        if not (_is_whole(value) and value >= least):
            raise SettingError(f"{name} must be a whole number of at least {least}; got {name}={shown(value)}.")


def check_share(*, open_ends: bool = True, **settings: float) -> None:
    """Refuse anything outside 0..1 (the ends themselves too, when ``open_ends``)."""
    for name, value in settings.items():
        inside = _is_number(value) and ((0 < value < 1) if open_ends else (0 <= value <= 1))
        if not inside:
            rule = "strictly between 0 and 1" if open_ends else "between 0 and 1"
            raise SettingError(f"{name} must be {rule}; got {name}={shown(value)}.")


def confidence_of(level: float) -> float:
    """Return the level of an interval as a share of one, be it given so or in percent.

    >>> confidence_of(95), confidence_of(0.95)
    (0.95, 0.95)
    """
    if _is_number(level) and _LEAST_PERCENT <= level < 100:
        return level / 100
    if not (_is_number(level) and 0 < level < 1):
        raise SettingError(
            f"level must be a share between 0 and 1, or a percentage from {_LEAST_PERCENT} to below 100; "
            f"got level={shown(level)}. Give 0.95 or 95, say."
        )
    return level


_LEAST_PERCENT: Final = 10
"""A choice: 1.5 or 2 is a slip rather than a percentage. At 50, forecasts could not be asked for narrow intervals."""


def check_one_of(choices: Sequence[str], **settings: str) -> None:
    """Refuse a word that is not among the choices."""
    for name, value in settings.items():
        if value not in choices:
            raise SettingError(f"{name} must be one of {', '.join(choices)}; got {name}={value}.")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
