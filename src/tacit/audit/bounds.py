r"""Lower bounds on epsilon from what was seen, each with an exact error rate.

A mechanism of epsilon and delta gives any event S nearly the same probability under neighbouring inputs,

.. math:: P(S \mid x_0) \le e^\epsilon P(S \mid x_1) + \delta, \qquad\text{so}\qquad
          \epsilon \ge \ln\frac{P(S \mid x_0) - \delta}{P(S \mid x_1)}.

Probabilities are not known, only counts; each is replaced by its Clopper-Pearson limit on the safe side (Clopper1934),
which is beyond the truth with at most its error rate, however many trials there were.

Where delta is 0 there is a sharper way. A secret coin picks the input, and whoever sees the output guesses the coin or
abstains. Given the outputs, each guess is right with probability at most :math:`e^\epsilon / (1 + e^\epsilon)`,
independently of the others' or not (Steinke2023): right guesses are at most binomial, and one limit, not two, bounds
epsilon. Every trial counts for both inputs.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit._extras import require
from tacit._validate import check_share

FloatArray = NDArray[np.float64]

_OUTWARD: Final = 1e-10
"""Limits are moved outward by this part of themselves: more than the inverse of the beta function errs by."""


def lower_limit(hits: ArrayLike, trials: ArrayLike, *, error: float) -> FloatArray:
    """The probability that ``hits`` of ``trials`` leave as the least: above the truth with at most this ``error``.

    >>> round(float(lower_limit(60, 100, error=0.025)), 4), float(lower_limit(0, 100, error=0.025))
    (0.4972, 0.0)
    """
    check_share(error=error)
    hits, trials = np.asarray(hits, np.float64), np.asarray(trials, np.float64)
    inverse = require("scipy.special", extra="accounting").betaincinv
    limit = inverse(np.maximum(hits, 1e-300), trials - hits + 1, error)
    return np.asarray(np.where(hits > 0, limit * (1 - _OUTWARD), 0.0), np.float64)


def upper_limit(hits: ArrayLike, trials: ArrayLike, *, error: float) -> FloatArray:
    """The largest probability that ``hits`` of ``trials`` leave: below the truth with at most this ``error``.

    >>> round(float(upper_limit(0, 100, error=0.05)), 4)
    0.0295
    """
    return np.asarray(1 - lower_limit(np.asarray(trials) - np.asarray(hits), trials, error=error), np.float64)


def epsilon_of_guesses(n_correct: ArrayLike, n_guesses: ArrayLike, *, error: float) -> FloatArray:
    r"""What epsilon must at least be where so many guesses of fair secret coins were right; 0 at least.

    .. math:: \epsilon \ge \ln\frac{c}{1 - c}, \qquad c = \text{the lower limit of the share of right guesses}

    >>> round(float(epsilon_of_guesses(7500, 10_000, error=0.01)), 3), round(math.log(3), 3)
    (1.045, 1.099)
    """
    share = lower_limit(n_correct, n_guesses, error=error)
    return np.asarray(np.log(np.maximum(share, 0.5)) - np.log1p(-np.maximum(share, 0.5)), np.float64)


def epsilon_of_events(
    hits: int, trials: int, false_hits: int, false_trials: int, *, error: float, delta: float = 0.0
) -> float:
    r"""What epsilon must at least be where an event came so often under one input and under its neighbour; 0 at least.

    Half of the ``error`` goes to each limit.

    >>> round(epsilon_of_events(7500, 10_000, 2500, 10_000, error=0.01), 3)
    1.039
    >>> epsilon_of_events(7500, 10_000, 2500, 10_000, error=0.01, delta=0.9)
    0.0
    """
    low = float(lower_limit(hits, trials, error=error / 2)) - delta
    high = float(upper_limit(false_hits, false_trials, error=error / 2))
    return max(0.0, math.log(low / high)) if low > 0 else 0.0
