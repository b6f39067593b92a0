"""Noise models: what is known about the error of an estimate, for any question.

Variance belongs to the question, not to the cell: cells may be correlated, and a sum of cells can be known better
than each. A noise model therefore answers for *weights*, an array of the estimate's shape. Every
member can be written to plain data; :mod:`tacit.release.files` reads it back, so that a release can be asked
anything in another process. The names are loaded when they are first used: a device needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.counts.noise.factorization import FactorizationNoise as FactorizationNoise
    from tacit.counts.noise.joined import JoinedNoise as JoinedNoise
    from tacit.counts.noise.marginals import MarginalNoise as MarginalNoise
    from tacit.counts.noise.model import FusedTrees as FusedTrees
    from tacit.counts.noise.model import LinearMap as LinearMap
    from tacit.counts.noise.model import Noise as Noise
    from tacit.counts.noise.model import NoStatedNoise as NoStatedNoise
    from tacit.counts.noise.model import errors_of_questions as errors_of_questions
    from tacit.counts.noise.model import intervals_of_questions as intervals_of_questions
    from tacit.counts.noise.oracle import OracleNoise as OracleNoise
    from tacit.counts.noise.sampled import SampledNoise as SampledNoise
    from tacit.counts.noise.tree import TreeNoise as TreeNoise

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.counts.noise.factorization": "FactorizationNoise",
        "tacit.counts.noise.joined": "JoinedNoise",
        "tacit.counts.noise.marginals": "MarginalNoise",
        "tacit.counts.noise.model": (
            "FusedTrees LinearMap Noise NoStatedNoise errors_of_questions intervals_of_questions"
        ),
        "tacit.counts.noise.oracle": "OracleNoise",
        "tacit.counts.noise.sampled": "SampledNoise",
        "tacit.counts.noise.tree": "TreeNoise",
    },
)
