"""Noise models: what is known about the error of an estimate, for any question.

Variance belongs to the question, not to the cell: cells may be correlated, and a sum of cells can be known better
than each. A noise model therefore answers for *weights*, an array of the estimate's shape. The set is closed and
every member can be written to plain data and read back, so that a release can be asked anything in another process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tacit.errors import FormatError
from tacit.noise.factorization import FactorizationNoise
from tacit.noise.filtered import FilteredNoise
from tacit.noise.fused_states import FusedStateNoise
from tacit.noise.image import LinearImage, errors_of_questions, intervals_of_questions
from tacit.noise.model import FloatArray, Grouping, IntArray, Noise, Orientation
from tacit.noise.oracle import OracleNoise
from tacit.noise.sampled_tree import SampledTreeNoise
from tacit.noise.state_space import StateSpaceNoise
from tacit.noise.tree import TreeNoise
from tacit.noise.unstated import Unstated

__all__ = [
    "FactorizationNoise",
    "FilteredNoise",
    "FloatArray",
    "FusedStateNoise",
    "Grouping",
    "IntArray",
    "LinearImage",
    "Noise",
    "OracleNoise",
    "Orientation",
    "SampledTreeNoise",
    "StateSpaceNoise",
    "TreeNoise",
    "Unstated",
    "errors_of_questions",
    "intervals_of_questions",
    "noise_from_dict",
]


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
    return LinearImage.from_dict(content, noise_from_dict)


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], Noise]]] = {
    "factorization": FactorizationNoise.from_dict,
    "filtered": FilteredNoise.from_dict,
    "fused states": FusedStateNoise.from_dict,
    "oracle": OracleNoise.from_dict,
    "linear image": _image_from_dict,
    "sampled tree": SampledTreeNoise.from_dict,
    "state space": StateSpaceNoise.from_dict,
    "tree": TreeNoise.from_dict,
    "unstated": Unstated.from_dict,
}
