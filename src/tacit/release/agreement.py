"""Whether unbiased counts agree with the model behind refined ones: do their intervals overlap?"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.counts.estimate import Answer
from tacit.counts.query import answer
from tacit.domain import Box
from tacit.release.hiding import intervals
from tacit.release.release import Release

LEVEL: Final = 0.95
"""Of the intervals compared, whatever level is asked for."""
BY_CHANCE: Final = 1 - LEVEL
"""The part of counts in which chance alone keeps them apart, at most, if the model fits."""
CHANCE: Final = f"Chance alone does that in at most 1 of {round(1 / BY_CHANCE)} counts."


def contradiction(release: Release, box: Box) -> Answer | None:
    """The unbiased answer where its interval lies apart from that of the refined one; None where they overlap."""
    unbiased, refined = (answer(estimate, box, level=LEVEL) for estimate in (release.unbiased, release.refined))
    is_apart = unbiased.lower > refined.upper or refined.lower > unbiased.upper
    return unbiased if is_apart else None


def contradictions(release: Release) -> NDArray[np.bool_]:
    """Cells of a release whose two intervals lie apart; none where refined counts have no interval."""
    if not release.has_refined_intervals:
        return np.zeros(release.domain.shape, bool)
    (lower, upper), (least, most) = (intervals(estimate, LEVEL) for estimate in (release.unbiased, release.refined))
    return ((lower > most) | (least > upper)) & ~release.blank()
