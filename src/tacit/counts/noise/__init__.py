"""Noise models: what is known about the error of an estimate, for any question.

Variance belongs to the question, not to the cell: cells may be correlated, and a sum of cells can be known better
than each. A noise model therefore answers for *weights*, an array of the estimate's shape. Every
member can be written to plain data; :mod:`tacit.release.files` reads it back, so that a release can be asked
anything in another process. The names are loaded when they are first used: a device needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.counts.noise.factorization import FactorizationNoise
    from tacit.counts.noise.joined import JoinedNoise
    from tacit.counts.noise.marginals import MarginalNoise
    from tacit.counts.noise.model import (
        FusedTrees,
        LinearMap,
        Noise,
        NoStatedNoise,
        errors_of_questions,
        intervals_of_questions,
    )
    from tacit.counts.noise.oracle import OracleNoise
    from tacit.counts.noise.sampled import SampledNoise
    from tacit.counts.noise.tree import TreeNoise

__all__ = [
    "FactorizationNoise",
    "FusedTrees",
    "JoinedNoise",
    "LinearMap",
    "MarginalNoise",
    "NoStatedNoise",
    "Noise",
    "OracleNoise",
    "SampledNoise",
    "TreeNoise",
    "errors_of_questions",
    "intervals_of_questions",
]

_HOMES: Final = {
    "FactorizationNoise": "tacit.counts.noise.factorization",
    "FusedTrees": "tacit.counts.noise.model",
    "JoinedNoise": "tacit.counts.noise.joined",
    "LinearMap": "tacit.counts.noise.model",
    "MarginalNoise": "tacit.counts.noise.marginals",
    "NoStatedNoise": "tacit.counts.noise.model",
    "Noise": "tacit.counts.noise.model",
    "OracleNoise": "tacit.counts.noise.oracle",
    "SampledNoise": "tacit.counts.noise.sampled",
    "TreeNoise": "tacit.counts.noise.tree",
    "errors_of_questions": "tacit.counts.noise.model",
    "intervals_of_questions": "tacit.counts.noise.model",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
