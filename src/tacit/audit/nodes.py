r"""Audits of the noisy nodes that a mechanism of ours is made of, where the best score is known beforehand.

A unit moves node v by :math:`g_v`: by m, for a unit of m counts, in every node on the way from its leaf to the root,
and by the encoder's coefficients in a factorization. With noise :math:`z_v` of their own, nodes are more likely with
the unit than without by

.. math:: \sum_v r_v \bigl(|z_v| - |z_v - g_v|\bigr) \le \sum_v r_v |g_v| = \epsilon
          \qquad\text{or}\qquad \sum_v \frac{g_v}{\sigma_v^2}\Bigl(z_v - \frac{g_v}{2}\Bigr), \quad
          \sum_v \frac{g_v^2}{2 \sigma_v^2} = \rho

for Laplace noise of rates r and for Gaussian noise of variances :math:`\sigma^2`, and that is all that the nodes say.
So the bound comes near the claim, while least squares blurs it. Leaves that share no noisy node are guessed from one
release, a coin for each. A group of k units may cost :math:`k \epsilon` or :math:`k^2 \rho` (:class:`Contest`), and is
told apart more easily than one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit.audit.answers import DEFAULT_COUNT, BuildMany
from tacit.audit.claims import Audit, Claim
from tacit.audit.games import Contest, Progress, play_game, tossed
from tacit.randomness import Randomness, SecureRandomness

_STEPS: Final = 128
"""Into so many steps the score is cut on either side: finer differences do not matter."""
_MOST_ERRORS: Final = 8.0
"""Gaussian scores are told apart up to so many standard errors from their middle: beyond, less than 1e-15 is left."""
_MOST_TRIED: Final = 256  # bins at which a unit is tried
_MOST_CELLS: Final = 1 << 23  # 64 MiB of counts
_MOST_COINS: Final = 1_000_000  # that are guessed
_MOST_TABLES: Final = (5 * _MOST_CELLS, 15 * _MOST_CELLS)
"""Nodes that are drawn in all, of Laplace and of Gaussian noise: a few seconds' worth."""
_ENOUGH: Final = (50_000, 300_000)
"""Coins that refute noise a tenth too small at 99 %, Laplace and Gaussian; with half as many one audit in ten fails."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredNodes:
    """The noisy nodes of a mechanism of ours: a row of counts in, a row of nodes out, for each run.

    ``exactly`` gives the same without noise. ``precisions`` are the rates of Laplace noise, or one over the variance of
    Gaussian noise, of every node; 0 where a node is not measured. ``claim`` is what all nodes may tell of one unit.
    ``levels`` are those of a tree, root first; none where nodes have no levels.
    """

    build: BuildMany
    exactly: Callable[[IntArray], NDArray[Any]]
    precisions: FloatArray
    n_bins: int
    unit: int
    claim: Claim
    levels: IntArray | None = None

    def beneath(self) -> MeasuredNodes | None:
        """The same without the topmost measured level, whose part of the claim is left out; none if there is one only.

        Each level has noise of its own, so what the others tell of a unit costs their part of the claim.
        """
        measured = np.empty(0) if self.levels is None else np.unique(self.levels[self.precisions > 0])
        if measured.size < 2:
            return None
        kept = np.where(self.levels == measured[0], 0.0, self.precisions)
        gaps = self.exactly(np.eye(1, self.n_bins, dtype=np.int64))
        share = float(replace(self, precisions=kept).telling(gaps)[0] / self.telling(gaps)[0])
        return replace(self, precisions=kept, claim=replace(self.claim, value=share * self.claim.value))

    @property
    def is_gaussian(self) -> bool:
        return self.claim.measure == "rho"

    def telling(self, gaps: NDArray[Any]) -> FloatArray:
        """What nodes that move by these gaps (rows) may tell: an epsilon, or a rho."""
        sizes = gaps**2 / 2 if self.is_gaussian else np.abs(gaps)
        return np.asarray(sizes @ self.precisions, np.float64)


def audit_nodes(
    nodes: MeasuredNodes,
    *,
    n_runs: int | None = None,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound the claim from below by what the noisy nodes say of a unit, or a group of them, in each of several bins.

    A run is one coin; without ``n_runs`` there are a million, or fewer where nodes are many.

    Formal guarantee: refutes a true pure epsilon with probability 1 - ``confidence`` at most, whatever the noise. For a
    rho that needs noise which is independent from place to place, as the mechanism states; whether it is, the audit
    of dependent noise looks into.
    """
    source = SecureRandomness() if randomness is None else randomness
    said: tuple[str, ...] = ()
    lots, all_of_it = separate_bins(nodes), nodes.claim.value
    while n_runs is None and _n_coins(nodes, lots) < _ENOUGH[nodes.is_gaussian] and (rest := nodes.beneath()):
        nodes, lots = rest, separate_bins(rest)
        said = (f"of {nodes.claim.measure} {all_of_it:.4g}, the part of the lower levels is looked at",)
    n_runs = _n_coins(nodes, lots) if n_runs is None else n_runs
    return play_game(
        "noisy nodes",
        [_contest(nodes, bins, group, source) for bins in lots for group in nodes.claim.groups],
        **nodes.claim.settings,
        n_runs=n_runs,
        confidence=confidence,
        randomness=source,
        progress=progress,
        found=said,
    )


def _n_coins(nodes: MeasuredNodes, lots: list[list[int]]) -> int:
    n_tables = _MOST_TABLES[nodes.is_gaussian] // nodes.precisions.size
    return max(1_000, min(_MOST_COINS, len(lots[0]) * n_tables))


def separate_bins(nodes: MeasuredNodes) -> list[list[int]]:
    """Lots of bins of which no two share a noisy node, and each is in nodes that tell most."""
    tried = np.unique(np.linspace(0, nodes.n_bins - 1, min(nodes.n_bins, _MOST_TRIED)).astype(np.int64))
    gaps = nodes.exactly((tried[:, None] == np.arange(nodes.n_bins)).astype(np.int64)) * (nodes.precisions > 0)
    telling = nodes.telling(gaps)
    good = np.flatnonzero(telling > 0.999 * telling.max())
    lots = []
    for order in (good, good[::-1], np.roll(good, good.size // 2)):
        taken, lot = np.zeros(nodes.precisions.size, bool), []
        for row in order.tolist():
            if not ((gaps[row] != 0) & taken).any():
                taken |= gaps[row] != 0
                lot.append(int(tried[row]))
        lots.append(sorted(lot))
    return [list(lot) for lot in dict.fromkeys(map(tuple, lots))]


def _contest(nodes: MeasuredNodes, bins: list[int], group: int, source: Randomness) -> Contest:
    start = np.full((1, nodes.n_bins), DEFAULT_COUNT, np.int64)
    added = group * nodes.unit
    with_units = np.tile(start, (len(bins), 1))
    with_units[np.arange(len(bins)), bins] += added
    center = nodes.exactly(start)
    gaps = nodes.exactly(with_units) - center
    ways = [np.flatnonzero((gap != 0) & (nodes.precisions > 0)) for gap in gaps]
    most = nodes.telling(gaps).max()

    def score(off: FloatArray, gap: NDArray[Any], precision: FloatArray) -> FloatArray:
        if nodes.is_gaussian:  # in standard errors of itself
            return np.asarray((off - gap / 2) @ (gap * precision) / np.sqrt(2 * most), np.float64)
        return np.asarray((np.abs(off) - np.abs(off - gap)) @ precision, np.float64)

    def play(coins: BoolArray) -> FloatArray:
        n_here = -(-len(coins) // len(bins))
        units = np.concatenate([coins, tossed(n_here * len(bins) - len(coins), source)]).reshape(n_here, len(bins))
        tables = np.tile(start, (n_here, 1))
        tables[:, bins] += added * units
        off = nodes.build(tables) - center
        scores = [score(off[:, way], gap[way], nodes.precisions[way]) for way, gap in zip(ways, gaps, strict=True)]
        return np.column_stack(scores).reshape(-1)[: len(coins)]

    runs_at_once = len(bins) * max(1, _MOST_CELLS // nodes.precisions.size)
    name = f"{added:,} more in {len(bins)} of {nodes.n_bins:,} bins or not, each by itself"
    width = _MOST_ERRORS if nodes.is_gaussian else float(most)
    return Contest(name, play, [_Score(width)], runs_at_once, group)


@dataclass(frozen=True, slots=True)
class _Score:
    """How much more likely all nodes of a leaf are with the unit than without, in steps up to ``width``."""

    width: float
    name: str = "the likelihood of all nodes that hold a bin"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        def reduce(seen: Any) -> IntArray:
            return np.rint(_STEPS * (1 + np.clip(np.asarray(seen) / self.width, -1, 1))).astype(np.int64)

        return reduce
