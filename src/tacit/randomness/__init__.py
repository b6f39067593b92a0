"""Random words and the exact draws made of them. The names are loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.randomness.gaussian import discrete_gaussian as discrete_gaussian
    from tacit.randomness.gaussian import gaussian_variance as gaussian_variance
    from tacit.randomness.laplace import discrete_laplace as discrete_laplace
    from tacit.randomness.laplace import laplace_variance as laplace_variance
    from tacit.randomness.source import KeyedRandomness as KeyedRandomness
    from tacit.randomness.source import Randomness as Randomness
    from tacit.randomness.source import SecureRandomness as SecureRandomness
    from tacit.randomness.source import SeededRandomness as SeededRandomness


# the first four are sources of words

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.randomness.gaussian": "discrete_gaussian gaussian_variance",
        "tacit.randomness.laplace": "discrete_laplace laplace_variance",
        "tacit.randomness.source": "KeyedRandomness Randomness SecureRandomness SeededRandomness",
    },
)
