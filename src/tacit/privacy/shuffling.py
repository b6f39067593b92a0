r"""The gain of shuffling local reports: a statement of accounting, with its conditions.

A report on its own is worth its local epsilon. Among ``n`` reports whose senders and times a trusted shuffler has
removed it hides better. Two bounds are offered because they hold. For any randomizer the closed form of Feldman2021.
For randomized response over ``k`` cells the privacy blanket of Balle2019, computed numerically: each of the other
reports is a uniform draw with probability :math:`k/(e^\epsilon+k-1)` and the truth otherwise. Suppose all those that
tell the truth are known and taken away: the one report still hides among the uniform ones, whatever the others' values.

Not offered: the closed form of Feldman2023, whose general claim was withdrawn; and the variation-ratio bound of
Wang2024, which for randomized response looks at two cells only. For those it is exact if all others hold a third value,
but it falls below the truth if they share one of the two: for 80 reports over 17 cells at epsilon 4.394 and delta 1e-6
it gives 3.44 where the truth is 3.61 at least.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.extras import require
from tacit._base.rounding import epsilon_at_most
from tacit._base.validation import check_at_least
from tacit.errors import MissingExtra
from tacit.privacy.cost import check_delta
from tacit.privacy.epsilon import check_epsilon

_CONDITIONS: Final = (
    "a shuffler that you trust removes who sent a report and when, and mixes all of them before anyone looks",
    "the other senders randomize as agreed: those who do not are not to be counted among the reports",
    "a person sends one report; what the network or the shuffler sees is worth the local epsilon only",
)
_UNCERTAIN: Final = 1e-9  # what the floats of the bounds may have lost, relatively: it is added to what is stated
_TAIL: Final = 1e-7  # what the numerical bound leaves out and adds, relative to delta; half or twice changes no bound
_CLOSE: Final = 1e-4  # where the search for an epsilon stops, relatively: what is stated is so much too large at most
_RANGES: Final = 80  # of the number of uniform reports; twice as many lower a bound by 0.1 %, half raise it by 3 %
_MANY_REPORTS: Final = 10**5  # beyond, a quarter of the ranges suffices
_MOST_REPORTS: Final = 10**7  # more than these are taken as these: they hide no less


@dataclass(frozen=True, slots=True)
class Shuffled:
    """An epsilon for replacing one person's value that holds among shuffled reports, on conditions."""

    epsilon: float
    delta: float
    local_epsilon: float
    n_reports: int
    method: str

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions that must be true in the world; none of them is checked by Tacit."""
        return _CONDITIONS

    @property
    def sentence(self) -> str:
        """The statement, for a release."""
        alone = epsilon_at_most(self.local_epsilon)
        if self.epsilon >= self.local_epsilon:
            return f"Shuffling {self.n_reports:,} reports is not known to add to their epsilon {alone}."
        return (
            f"Among {self.n_reports:,} shuffled reports each is worth epsilon {epsilon_at_most(self.epsilon)} at delta "
            f"{self.delta:g} instead of {alone} ({self.method}). This holds only if a shuffler you trust removes who "
            "and when."
        )


def shuffled(epsilon: float, n_reports: int, *, delta: float, n_cells: int | None = None) -> Shuffled:
    """Return the best bound for reports of this local epsilon; with ``n_cells``, of randomized response.

    >>> bound = shuffled(2.2, 29_388, delta=1e-6)
    >>> round(bound.epsilon, 2), bound.method
    (0.36, 'Feldman2021')
    >>> shuffled(2.2, 80, delta=1e-6).sentence
    'Shuffling 80 reports is not known to add to their epsilon 2.2.'
    """
    _check(epsilon, n_reports, delta)
    bounds = {"local": epsilon}
    if (closed := closed_form(epsilon, n_reports, delta=delta)) is not None:
        bounds["Feldman2021"] = closed
    if n_cells is not None:
        with suppress(MissingExtra):
            bounds["privacy blanket"] = response_bound(epsilon, n_cells, n_reports, delta=delta)
    best = min(bounds, key=lambda name: bounds[name])
    return Shuffled(bounds[best], delta, epsilon, n_reports, best)


def closed_form(epsilon: float, n_reports: int, *, delta: float) -> float | None:
    r"""Return the bound for any randomizer, Feldman2021, theorem 3.1.

    .. math:: \ln\Bigl(1+\frac{e^\epsilon-1}{e^\epsilon+1}
              \Bigl(8\sqrt{\frac{e^\epsilon\ln(4/\delta)}n}+\frac{8e^\epsilon}n\Bigr)\Bigr)

    It holds for :math:`\epsilon\le\ln(n/(16\ln(2/\delta)))`; else there is none.
    """
    _check(epsilon, n_reports, delta)
    n, e = n_reports, math.exp(epsilon)
    if not e * 16 * math.log(2 / delta) * (1 + _UNCERTAIN) <= n:
        return None
    inner = 8 * math.sqrt(e * math.log(4 / delta) / n) + 8 * e / n
    return math.log1p((e - 1) / (e + 1) * inner) * (1 + _UNCERTAIN)


def response_bound(epsilon: float, n_cells: int, n_reports: int, *, delta: float) -> float:
    """Return the bound for randomized response over ``n_cells``: the least epsilon whose delta is small enough."""
    _check(epsilon, n_reports, delta)
    check_at_least(2, n_cells=n_cells)
    counts = _ResponseCounts(epsilon, n_cells, min(n_reports, _MOST_REPORTS), tail=_TAIL * delta)
    low, high = 0.0, epsilon
    if counts.delta(low) <= delta:
        return 0.0
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if counts.delta(middle) > delta else (low, middle)
    return min(epsilon, high * (1 + _UNCERTAIN))


class _ResponseCounts:
    r"""The numbers of the uniform reports, and the one, that fall into the two cells in question.

    Let :math:`\alpha = 1/(e^\epsilon+k-1)` and :math:`p=e^\epsilon`. Of :math:`M\sim B(n-1,k\alpha)` uniform reports
    :math:`C\sim B(M,2/k)` fall into the two cells, :math:`A\sim B(C,1/2)` of them into the first. The one report goes
    to the first cell with probability :math:`\alpha p`, to the second with :math:`\alpha`, and else to the others; or
    the other way round. Fewer uniform reports hide less, so that the least of a range of M may stand for all of it.
    ``tail`` is the probability that may be left out, and is added to every delta.
    """

    def __init__(self, epsilon: float, n_cells: int, n_reports: int, *, tail: float) -> None:
        self._tail = tail
        self._special: Any = require("scipy.special", extra="accounting")
        self.p = math.exp(epsilon)
        self._alpha = 1 / (self.p + n_cells - 1)
        pieces = [
            self._given(least, mass, n_cells) for least, mass in self._ranges(n_reports - 1, n_cells * self._alpha)
        ]
        self.c, self.with_one, self.without = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))

    def _ranges(self, n: int, share: float) -> list[tuple[int, float]]:
        """Return ranges of the number of uniform reports: the least of each, and its probability."""
        first, stop = _window(n, share, self._tail)
        n_ranges = _RANGES if n <= _MANY_REPORTS else _RANGES // 4
        edges = np.unique(np.linspace(first, stop, n_ranges + 1).astype(np.int64))
        mass = np.add.reduceat(self._binomial(np.arange(first, stop, dtype=np.float64), n, share), edges[:-1] - first)
        return list(zip(edges[:-1].tolist(), mass.tolist(), strict=True))

    def _given(self, n_uniform: int, mass: float, n_cells: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return, for each number c of reports in the two cells: the weight with the one among them, and without."""
        first, stop = _window(n_uniform, 2 / n_cells, self._tail)
        c = np.arange(max(1, first), stop + 1, dtype=np.float64)
        elsewhere = max(0.0, 1 - self._alpha - self._alpha * self.p)
        with_one = mass * 2 * self._alpha / c * self._binomial(c - 1, n_uniform, 2 / n_cells)
        return c, with_one, mass * elsewhere * self._binomial(c, n_uniform, 2 / n_cells)

    def _binomial(self, count: FloatArray, n: int, share: float) -> FloatArray:
        log, gammaln = self._special.xlogy, self._special.gammaln
        inside = np.clip(count, 0, n)
        ways = gammaln(n + 1) - gammaln(inside + 1) - gammaln(n - inside + 1)
        mass = np.exp(ways + log(inside, share) + self._special.xlog1py(n - inside, -share))
        return np.where((count >= 0) & (count <= n), mass, 0.0)

    def _at_least(self, least: FloatArray, n: FloatArray) -> FloatArray:
        """Return the chance that of n fair coins at least so many are heads."""
        inside = np.maximum(least, 1)
        tail: FloatArray = self._special.betainc(inside, n - inside + 1, 0.5)
        return np.where(least > 0, tail, 1.0)

    def delta(self, epsilon: float) -> float:
        r"""Return the sum of :math:`(P-e^{\epsilon'}Q)_+`, rounded up.

        Given M and c it is a binomial probability times a linear function of the first cell's count.
        """
        big, c, p = math.exp(epsilon), self.c, self.p
        slope = self.with_one * (p - 1) * (1 + big)
        level = self.with_one * c * (big * p - 1) + self.without * (big - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            least = np.where(slope > 0, np.ceil(level / slope), np.inf)
        some = least <= c
        least, c, slope, level = least[some], c[some], slope[some], level[some]
        mass = self._at_least(least, c)
        first_moment = c / 2 * self._at_least(least - 1, c - 1)
        gain = np.maximum(slope * first_moment - level * mass, 0.0)
        return float(gain.sum()) * (1 + 1e3 * _UNCERTAIN) + 4 * self._tail


def _window(n: int, share: float, tail: float) -> tuple[int, int]:
    """Return counts outside of which a binomial has at most twice this mass, by Bernstein's bound."""
    weight = -math.log(tail)
    margin = math.sqrt(2 * weight * n * share * (1 - share)) + weight
    return max(0, math.floor(n * share - margin)), min(n, math.ceil(n * share + margin)) + 1


def _check(epsilon: float, n_reports: int, delta: float) -> None:
    check_epsilon(epsilon)
    check_at_least(1, n_reports=n_reports)
    check_delta(delta)
