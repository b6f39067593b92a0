"""The noise models of counts that run on: what is known of the error of every published total and range, and no more.

A noise model is pure data with closed forms. It travels in the published history, so that any reader can compute the
error of any range without knowing a count; :mod:`tacit.mechanisms.continual` draws noise by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tacit.counts.continual_noise.buffered import BufferedRoot, Exponentials
from tacit.counts.continual_noise.model import LONGEST, ContinualNoise, node_distribution
from tacit.counts.continual_noise.nested import KaryTree, NestedTree, SmoothTree
from tacit.counts.continual_noise.refined import Epochs, FusedTree, RefinedTree
from tacit.errors import FormatError
from tacit.privacy.cost import Cost

__all__ = [
    "CONTINUAL_NOISE",
    "LONGEST",
    "BufferedRoot",
    "ContinualNoise",
    "Epochs",
    "Exponentials",
    "FusedTree",
    "KaryTree",
    "NestedTree",
    "RefinedTree",
    "SmoothTree",
    "continual_noise_from_dict",
    "node_distribution",
]

CONTINUAL_NOISE: Final[Mapping[str, type[Any]]] = {
    noise_model.kind: noise_model
    for noise_model in (KaryTree, SmoothTree, RefinedTree, FusedTree, BufferedRoot, Epochs)
}


def continual_noise_from_dict(content: Mapping[str, Any]) -> ContinualNoise:
    """Read a noise model back from plain data.

    >>> noise_model = SmoothTree(5, Cost.pure(1.0), zeros=2, ones=2)
    >>> continual_noise_from_dict(noise_model.to_dict()) == noise_model
    True
    """
    try:
        fields = {name: _read(value) for name, value in content.items() if name not in ("kind", "cost")}
        noise_model: ContinualNoise = CONTINUAL_NOISE[content["kind"]](cost=Cost.from_dict(content["cost"]), **fields)
        return noise_model
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise FormatError(
            "the noise model of the counter is damaged or newer than this version. Restore the file."
        ) from None


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(part) for part in value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("noise model")
    return value
