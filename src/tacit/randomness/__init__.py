"""Random words and the exact draws made of them. The names are loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.randomness.gaussian import discrete_gaussian, gaussian_variance
    from tacit.randomness.laplace import discrete_laplace, laplace_variance
    from tacit.randomness.source import KeyedRandomness, Randomness, SecureRandomness, SeededRandomness

__all__ = [
    "KeyedRandomness",
    "Randomness",
    "SecureRandomness",
    "SeededRandomness",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian_variance",
    "laplace_variance",
]

# the first four are sources of words
_HOMES: Final = dict.fromkeys(__all__[:4], "tacit.randomness.source") | {
    "discrete_gaussian": "tacit.randomness.gaussian",
    "discrete_laplace": "tacit.randomness.laplace",
    "gaussian_variance": "tacit.randomness.gaussian",
    "laplace_variance": "tacit.randomness.laplace",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
