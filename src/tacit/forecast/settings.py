"""Settings of a forecaster, told and changed by name as scikit-learn does."""

from __future__ import annotations

import inspect
from typing import Any, Self

from tacit.errors import SettingError


class Settings:
    """Gives and takes the arguments of the constructor, which keeps each under its own name.

    They are checked when the forecaster learns, so that a search may set them one by one.

    >>> class Mean(Settings):
    ...     def __init__(self, *, years: int | None = None) -> None:
    ...         self.years = years
    >>> Mean(years=2).get_params(), Mean().set_params(years=3)
    ({'years': 2}, Mean(years=3))
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Other settings."""
        known = list(inspect.signature(type(self)).parameters)
        for name, value in params.items():
            if name not in known:
                raise SettingError(
                    f"a setting of {type(self).__name__} must be one of {', '.join(known) or 'none'}; got {name}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items() if value is not None)
        return f"{type(self).__name__}({told})"
