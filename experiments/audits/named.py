"""The mechanisms with faults by name, as the command line takes them:

tacit audit --function experiments.audits.named:thesis_oracle --epsilon 0.405 --values 17
tacit audit --function experiments.audits.named:thesis_counter_scale --epsilon 1 --counts 16
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable

import numpy as np
from experiments.audits.broken import FloatLaplace, PerBitUnary, Rappor, SeedLeftIn, ThesisCounter, ThesisOracle
from numpy.typing import NDArray

_SEED = secrets.randbits(64)
_F = 2 / (1 + math.exp(1.1))

Answers = NDArray[np.float64]

thesis_oracle = ThesisOracle(0.405, 17, _SEED)
rappor_last_bit = Rappor(_F, 17, _SEED, fault="last bit as it is")
rappor_true_bit = Rappor(_F, 17, _SEED, fault="never clears the true bit")
per_bit_unary = PerBitUnary(2.2, 17, _SEED)
seed_left_in = SeedLeftIn(1.0)


def _one(many: Callable[[NDArray[np.int64]], Answers]) -> Callable[[NDArray[np.int64]], Answers]:
    """A function of many rows of counts as one of a single row."""
    return lambda counts: many(counts[None, :])[0]


thesis_counter_scale = _one(ThesisCounter(1.0, 4, _SEED, fault="scale"))
thesis_counter_dependent = _one(ThesisCounter(1.0, 4, _SEED, fault="dependent"))
thesis_counter_redrawn = ThesisCounter(1.0, 4, _SEED, fault="redrawn").structure
float_laplace = _one(FloatLaplace(1.0, _SEED))
