"""Random words and the exact draws made of them."""

from tacit.randomness.source import Randomness, SecureRandomness, SeededRandomness

__all__ = ["Randomness", "SecureRandomness", "SeededRandomness"]
