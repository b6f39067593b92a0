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

Where a delta or a rho is claimed, the whole trade-off between false and missed alarms is measured, with limits that
hold together at all thresholds of a score (:class:`TradeOff`), as in tight audits (Nasr2023, Mahloujifar2024).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from tacit._base.arrays import FloatArray
from tacit._base.extras import require
from tacit._base.validation import check_share

_ORDERS: Final = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0)
"""Orders alpha that are tried: low ones are surest where inputs are told apart seldom, high ones where often."""
_MOST_WITNESS: Final = (1.0, 2.0, 3.0, 5.0, math.inf)
"""Cuts of the witness: what is rare has wide limits, and a large weight for it costs more than it tells."""
_OUTWARD: Final = 1e-10
"""Limits are moved outward by this part of themselves: more than the inverse of the beta function errs by."""


def lower_limit(hits: ArrayLike, trials: ArrayLike, *, error: float) -> FloatArray:
    """Return the least probability that ``hits`` of ``trials`` leave: above the truth with at most this ``error``.

    >>> round(float(lower_limit(60, 100, error=0.025)), 4), float(lower_limit(0, 100, error=0.025))
    (0.4972, 0.0)
    """
    check_share(error=error)
    hits, trials = np.asarray(hits, np.float64), np.asarray(trials, np.float64)
    inverse = require("scipy.special", extra="accounting").betaincinv
    limit = inverse(np.maximum(hits, 1e-300), trials - hits + 1, error)
    return np.asarray(np.where(hits > 0, limit * (1 - _OUTWARD), 0.0), np.float64)


def upper_limit(hits: ArrayLike, trials: ArrayLike, *, error: float) -> FloatArray:
    """Return the largest probability that ``hits`` of ``trials`` leave: below the truth with at most this ``error``.

    >>> round(float(upper_limit(0, 100, error=0.05)), 4)
    0.0295
    """
    return np.asarray(1 - lower_limit(np.asarray(trials) - np.asarray(hits), trials, error=error), np.float64)


def epsilon_of_guesses(n_correct: ArrayLike, n_guesses: ArrayLike, *, error: float) -> FloatArray:
    r"""Return the lower bound of epsilon given so many right guesses of fair secret coins; 0 at least.

    .. math:: \epsilon \ge \ln\frac{c}{1 - c}, \qquad c = \text{the lower limit of the share of right guesses}

    >>> round(float(epsilon_of_guesses(7500, 10_000, error=0.01)), 3), round(math.log(3), 3)
    (1.045, 1.099)
    """
    share = lower_limit(n_correct, n_guesses, error=error)
    return np.asarray(np.log(np.maximum(share, 0.5)) - np.log1p(-np.maximum(share, 0.5)), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class TradeOff:
    r"""Limits of how often a score reaches each of its steps, under either input, that hold together.

    Scores are whole numbers from 0 on, ordered by held-out runs. Row 0 speaks for the first input and row 1 for the
    second: ``at_least[i, s]`` and ``at_most[i, s]`` enclose the probability of a score of s or more. All hold at once
    with probability 1 - error, whatever is done with them afterwards, if runs are independent. So every bound below may
    choose its threshold, its order alpha and its witness after looking, and both directions are tried.
    """

    at_least: FloatArray
    at_most: FloatArray
    log_ratios: FloatArray
    """Of each step, the second input against the first, as measured and made increasing: the witness of ``rho``."""

    @classmethod
    def of(cls, counts: ArrayLike, *, error: float) -> TradeOff:
        """Return the limits from how often each score came: two rows. The error is shared by all limits."""
        table = np.asarray(counts, np.float64)
        reached = table[:, ::-1].cumsum(axis=1)[:, ::-1]
        trials = reached[:, :1]
        each = error / (2 * table.size)
        low, high = lower_limit(reached, trials, error=each), upper_limit(reached, trials, error=each)
        low[:, 0] = high[:, 0] = 1.0  # every score reaches step 0
        return cls(low, high, _increasing_ratios(table[0], table[1]))

    def epsilon(self, *, delta: float = 0.0) -> float:
        r"""Return the lower bound of epsilon at this delta: the largest over all thresholds and both directions.

        >>> seen = TradeOff.of([[7500, 2500], [2500, 7500]], error=0.01)
        >>> 1.0 < seen.epsilon() < 1.0986, seen.epsilon(delta=0.9)
        (True, 0.0)
        """
        bound = 0.0
        for low, high, _ in self._sides():
            telling = low > delta  # the upper limit of any probability is above 0
            bound = max(bound, float(np.log((low[telling] - delta) / high[telling]).max(initial=0.0)))
        return bound

    def rho(self) -> float:
        r"""Return the lower bound of rho, of zCDP.

        Under rho-zCDP the Renyi divergence of every order is at most :math:`\alpha\rho`, and for every bounded f

        .. math:: D_\alpha(P \| Q) \ge \frac{\alpha}{\alpha - 1} \ln E_P e^{(\alpha-1) f} - \ln E_Q e^{\alpha f},

        with equality at :math:`f = \ln dP/dQ` (Birrell2021); at :math:`\alpha = 1` it is :math:`E_P f - \ln E_Q e^f`.
        f increases with the score, so each expectation is a sum of its steps times the probabilities to reach them: the
        first is bounded from below by lower limits, the second from above by upper ones.

        >>> rare = TradeOff.of([[9000, 900, 100], [100, 900, 9000]], error=0.01)
        >>> 2 < rare.rho() < math.log(90)
        True
        """
        divergences = [
            _renyi(low, high, np.clip(witness, -most, most), alpha) / alpha
            for low, high, witness in self._sides()
            for alpha in _ORDERS
            for most in _MOST_WITNESS
        ]
        return max(0.0, *divergences)

    def _sides(self) -> tuple[tuple[FloatArray, FloatArray, FloatArray], ...]:
        """Return lower limits of P, upper limits of Q and the logarithm of P over Q, all increasing with the score.

        Once for P the second input and Q the first, then for the reverse with the score turned round.
        """
        low, high = (np.append(1 - limit[:, 1:], np.ones((2, 1)), axis=1) for limit in (self.at_most, self.at_least))
        return (
            (self.at_least[1], self.at_most[0], self.log_ratios),
            (low[0, ::-1], high[1, ::-1], -self.log_ratios[::-1]),
        )


def _increasing_ratios(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the logarithms of the ratios of two rows of counts; neighbours are pooled until no ratio falls."""
    pools: list[tuple[float, float, int]] = []
    for pool in zip(first.tolist(), second.tolist(), [1] * len(first), strict=True):
        pools.append(pool)
        while len(pools) > 1 and _log_ratio(pools[-2]) >= _log_ratio(pools[-1]):
            above, below = pools.pop(), pools.pop()
            pools.append((below[0] + above[0], below[1] + above[1], below[2] + above[2]))
    return np.repeat([_log_ratio(pool) for pool in pools], [pool[2] for pool in pools])


def _log_ratio(pool: tuple[float, float, int]) -> float:
    return math.log((pool[1] + 0.5) / (pool[0] + 0.5))  # half a count more: finite where nothing was seen


def _renyi(low: FloatArray, high: FloatArray, witness: FloatArray, alpha: float) -> float:
    """Return a lower bound on the Renyi divergence of order alpha, from limits of the chances to reach each step."""
    if alpha == 1:
        first = witness[0] + float(np.diff(witness) @ low[1:])
    else:
        first = alpha / (alpha - 1) * math.log(_mean_exp((alpha - 1) * witness, low))
    return float(first - math.log(_mean_exp(alpha * witness, high)))


def _mean_exp(exponents: FloatArray, reached: FloatArray) -> float:
    steps = np.exp(exponents)
    return float(steps[0] + np.diff(steps) @ reached[1:])
