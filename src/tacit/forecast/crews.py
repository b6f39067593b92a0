"""How many crews are enough: a quantile of what is expected, in whole crews."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_positive, check_share
from tacit.counts.count_law import CountLaw

DEFAULT_QUANTILE: Final = 0.9
_SLACK: Final = 1e-9


def crews_for(law: CountLaw, *, quantile: float = DEFAULT_QUANTILE, per_crew: float = 1.0) -> NDArray[np.int64]:
    """The least crews that are enough with probability ``quantile``, where one handles ``per_crew`` events a bin.

    Crews that may help each other need fewer: the crews for a sum are at most the sum of the crews, as a rule.

    >>> law = CountLaw(np.array([0.0, 4.0, 24.0]), np.array([0.0, 4.0, 24.0]))
    >>> crews_for(law, quantile=0.9, per_crew=4).tolist()
    [0, 2, 8]
    """
    check_share(quantile=quantile)
    check_positive(per_crew=per_crew)
    return np.ceil(law.quantiles(quantile) / per_crew - _SLACK).astype(np.int64)
