"""Random words and the exact draws made of them."""

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
