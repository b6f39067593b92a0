"""Questions: a box of time and places becomes weights, weights become an answer with its interval."""

from __future__ import annotations

import numpy as np

from tacit._validate import check_share
from tacit.domain import Box
from tacit.estimate import Answer, Estimate


def answer(estimate: Estimate, box: Box, *, level: float = 0.95) -> Answer:
    """Answer how many events fell into the box.

    A box that spans all that is private (every region of a public day, say) is answered by the public number of
    reports, which is exact.
    """
    check_share(level=level)
    known = estimate.known_total(box)
    if known is not None:
        value = float(known)
        return Answer(value, 0.0, value, value, level, box, estimate.provenance.is_simulation)
    weights = box.weights(estimate.domain)
    value = float(np.sum(weights * estimate.values))
    lower, upper = estimate.noise.interval(value, weights, level)
    return Answer(
        value=value,
        standard_error=estimate.noise.variance(weights) ** 0.5,
        lower=lower,
        upper=upper,
        level=level,
        box=box,
        is_simulation=estimate.provenance.is_simulation,
    )
