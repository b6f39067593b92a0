"""The kinds of noise that a release may carry, by the name each has in a file. The set is closed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tacit.counts.noise import (
    FactorizationNoise,
    LinearMap,
    MarginalNoise,
    Noise,
    NoStatedNoise,
    OracleNoise,
    SampledTreeNoise,
    TreeNoise,
)
from tacit.errors import FormatError


def noise_from_dict(content: Mapping[str, Any], shape: tuple[int, int] | None = None) -> Noise:
    """Read a noise model back from plain data; one that is not of this shape, where one is given, is refused."""
    try:
        noise = _READERS[content["kind"]](content)
        if shape is not None and getattr(noise, "shape", shape) != shape:
            raise ValueError("shape")
        return noise
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError):
        raise FormatError("the noise model is damaged or newer than this version. Ask for the release again.") from None


def _image_from_dict(content: Mapping[str, Any]) -> Noise:
    return LinearMap.from_dict(content, noise_from_dict)


def _filtered_from_dict(content: Mapping[str, Any]) -> Noise:
    from tacit.statespace.filtered_noise import FilteredNoise  # as the next two: loaded for smoothed releases only

    return FilteredNoise.from_dict(content)


def _fused_states_from_dict(content: Mapping[str, Any]) -> Noise:
    from tacit.statespace.smoothed_noise import FusedNoise

    return FusedNoise.from_dict(content)


def _states_from_dict(content: Mapping[str, Any]) -> Noise:
    from tacit.statespace.smoothed_noise import SmoothedNoise

    return SmoothedNoise.from_dict(content)


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Noise]]] = {
    "factorization": FactorizationNoise.from_dict,
    "filtered": _filtered_from_dict,
    "fused states": _fused_states_from_dict,
    "oracle": OracleNoise.from_dict,
    "linear image": _image_from_dict,
    "marginals": MarginalNoise.from_dict,
    "sampled tree": SampledTreeNoise.from_dict,
    "state space": _states_from_dict,
    "tree": TreeNoise.from_dict,
    "unstated": NoStatedNoise.from_dict,
}
