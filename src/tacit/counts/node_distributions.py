"""Distributions of whole-number noise on single counts: how it is drawn, its variance, how heavy its tails are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.reading import exact_fraction
from tacit.errors import FormatError
from tacit.randomness import Randomness
from tacit.randomness.gaussian import discrete_gaussian, gaussian_variance
from tacit.randomness.laplace import discrete_laplace, laplace_variance


class NodeDistribution(Protocol):
    """Noise around zero, symmetric, the same for every count it is added to."""

    @property
    def variance(self) -> float:
        """Its exact variance."""

    @property
    def excess_kurtosis(self) -> float:
        """The fourth moment over the squared variance, minus the normal distribution's 3."""

    def draw(self, count: int, *, randomness: Randomness) -> NDArray[np.int64]:
        """Draw so many, independently."""

    def scaled(self, budget: Fraction) -> NodeDistribution:
        """Return the same kind of noise for so many times the budget: of epsilon, or of rho."""

    def to_dict(self) -> dict[str, Any]:
        """Return the distribution as plain data."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """P(z) proportional to exp(-rate |z|), exactly.

    >>> distribution = DiscreteLaplace(Fraction(1, 2))
    >>> round(distribution.variance, 3), round(distribution.excess_kurtosis, 3)
    (7.835, 3.128)
    """

    rate: Fraction

    @property
    def variance(self) -> float:
        return laplace_variance(self.rate)

    @property
    def excess_kurtosis(self) -> float:
        # a difference of two geometric variables of variance v / 2, each of excess kurtosis 6 + 1 / (v / 2)
        return 3 + 1 / self.variance if self.variance else 0.0

    def draw(self, count: int, *, randomness: Randomness) -> NDArray[np.int64]:
        return discrete_laplace(count, self.rate, randomness=randomness)

    def scaled(self, budget: Fraction) -> DiscreteLaplace:
        return DiscreteLaplace(self.rate * budget)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "discrete laplace", "rate": str(self.rate)}


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """P(z) proportional to exp(-z**2 / (2 parameter)), exactly."""

    parameter: Fraction

    @property
    def variance(self) -> float:
        return gaussian_variance(self.parameter)

    @property
    def excess_kurtosis(self) -> float:
        """The excess kurtosis: near 0 from a parameter of 1 on, and not relied on below."""
        return 0.0

    def draw(self, count: int, *, randomness: Randomness) -> NDArray[np.int64]:
        return discrete_gaussian(count, self.parameter, randomness=randomness)

    def scaled(self, budget: Fraction) -> DiscreteGaussian:
        return DiscreteGaussian(self.parameter / budget)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "discrete gaussian", "parameter": str(self.parameter)}


def node_distribution_from_dict(content: Mapping[str, Any]) -> NodeDistribution:
    """Read a distribution back from plain data."""
    try:
        if content["kind"] == "discrete laplace":
            return DiscreteLaplace(_above_zero(content["rate"]))
        if content["kind"] == "discrete gaussian":
            return DiscreteGaussian(_above_zero(content["parameter"]))
        raise ValueError("kind")
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise FormatError(
            "a distribution of noise is damaged or newer than this version. Ask for the release again."
        ) from None


def _above_zero(text: object) -> Fraction:
    value = exact_fraction(text)
    if not value:
        raise ValueError("zero")
    return value
