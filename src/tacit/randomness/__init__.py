"""Random words and the exact draws made of them."""

from tacit.randomness.source import KeyedRandomness, Randomness, SecureRandomness, SeededRandomness

__all__ = ["KeyedRandomness", "Randomness", "SecureRandomness", "SeededRandomness"]
