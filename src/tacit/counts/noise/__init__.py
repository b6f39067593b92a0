"""Noise models: what is known about the error of an estimate, for any question.

Variance belongs to the question, not to the cell: cells may be correlated, and a sum of cells can be known better
than each. A noise model therefore answers for *weights*, an array of the estimate's shape. Every
member can be written to plain data; :mod:`tacit.release.noise_kinds` reads it back, so that a release can be asked
anything in another process.
"""

from __future__ import annotations

from tacit.counts.noise.factorization import FactorizationNoise
from tacit.counts.noise.linear_map import LinearMap, errors_of_questions, intervals_of_questions
from tacit.counts.noise.marginals import MarginalNoise
from tacit.counts.noise.model import FusedTrees, Noise, NoStatedNoise
from tacit.counts.noise.oracle import OracleNoise
from tacit.counts.noise.sampled_tree import SampledTreeNoise
from tacit.counts.noise.tree import TreeNoise

__all__ = [
    "FactorizationNoise",
    "FusedTrees",
    "LinearMap",
    "MarginalNoise",
    "NoStatedNoise",
    "Noise",
    "OracleNoise",
    "SampledTreeNoise",
    "TreeNoise",
    "errors_of_questions",
    "intervals_of_questions",
]
