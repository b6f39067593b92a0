r"""Audits of the noisy nodes that a tree is made of, where the best guess is known beforehand.

A unit adds m to every node on the way from its leaf to the root. Where node v has Laplace noise of rate :math:`r_v`,
its noisy sum :math:`y_v` is more likely with the unit than without by

.. math:: \sum_v r_v \bigl(|y_v - c_v| - |y_v - c_v - m|\bigr) \le m \sum_v r_v = \epsilon,

and that is all that the nodes say. It is attained as soon as every node lies beyond its count, so that the bound comes
near epsilon, while least squares blurs it. Leaves that share no noisy node are guessed from one release, a coin for
each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tacit.audit.answers import DEFAULT_COUNT, BuildMany
from tacit.audit.games import BoolArray, Contest, FloatArray, IntArray, Progress, play_game, tossed
from tacit.audit.verdicts import Audit
from tacit.randomness import Randomness, SecureRandomness

_STEPS: Final = 128
"""Into so many steps the likelihood is cut on either side: finer differences do not matter."""
_MOST_TRIED: Final = 256
_MOST_CELLS: Final = 1 << 23


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredNodes:
    """The noisy nodes of a mechanism of ours: a row of counts in, a row of nodes out, for each run.

    ``exactly`` gives the same without noise; ``rates`` are those of the Laplace noise of every node.
    """

    build: BuildMany
    exactly: Callable[[IntArray], IntArray]
    rates: FloatArray
    n_bins: int
    unit: int


def audit_nodes(
    nodes: MeasuredNodes,
    *,
    epsilon: float,
    n_runs: int | None = None,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound epsilon from below by what the noisy nodes say of a unit in each of several bins.

    A run is one coin; without ``n_runs`` there are a million, or fewer where nodes are many.
    """
    source = SecureRandomness() if randomness is None else randomness
    lots = separate_bins(nodes)
    if n_runs is None:
        n_runs = max(1_000, min(1_000_000, len(lots[0]) * (5 * _MOST_CELLS // nodes.rates.size)))
    return play_game(
        "noisy nodes",
        [_contest(nodes, bins, source) for bins in lots],
        epsilon=epsilon,
        n_runs=n_runs,
        confidence=confidence,
        randomness=source,
        progress=progress,
    )


def separate_bins(nodes: MeasuredNodes) -> list[list[int]]:
    """Lots of bins to guess at once: no two of a lot share a noisy node, and each is in nodes of the largest rate."""
    tried = np.unique(np.linspace(0, nodes.n_bins - 1, min(nodes.n_bins, _MOST_TRIED)).astype(np.int64))
    single = (tried[:, None] == np.arange(nodes.n_bins)).astype(np.int64)
    holds = nodes.exactly(single) * (nodes.rates > 0) > 0
    weights = holds @ nodes.rates
    good = np.flatnonzero(weights > 0.999 * weights.max())
    lots = []
    for order in (good, good[::-1], np.roll(good, good.size // 2)):
        taken, lot = np.zeros(nodes.rates.size, bool), []
        for row in order.tolist():
            if not (holds[row] & taken).any():
                taken |= holds[row]
                lot.append(int(tried[row]))
        lots.append(sorted(lot))
    return [list(lot) for lot in dict.fromkeys(map(tuple, lots))]


def _contest(nodes: MeasuredNodes, bins: list[int], source: Randomness) -> Contest:
    start = np.full((1, nodes.n_bins), DEFAULT_COUNT, np.int64)
    with_units = np.tile(start, (len(bins), 1))
    with_units[np.arange(len(bins)), bins] += nodes.unit
    center = nodes.exactly(start)
    gaps = nodes.exactly(with_units) - center
    ways = [np.flatnonzero((gap > 0) & (nodes.rates > 0)) for gap in gaps]

    def play(coins: BoolArray) -> FloatArray:
        n_here = -(-len(coins) // len(bins))
        units = np.concatenate([coins, tossed(n_here * len(bins) - len(coins), source)]).reshape(n_here, len(bins))
        tables = np.tile(start, (n_here, 1))
        tables[:, bins] += nodes.unit * units
        off = nodes.build(tables) - center
        terms = [
            (np.abs(off[:, way]) - np.abs(off[:, way] - gap[way])) @ nodes.rates[way]
            for way, gap in zip(ways, gaps, strict=True)
        ]
        return np.column_stack(terms).reshape(-1)[: len(coins)]

    runs_at_once = len(bins) * max(1, _MOST_CELLS // nodes.rates.size)
    most = float(max((nodes.rates[way] * gap[way]).sum() for way, gap in zip(ways, gaps, strict=True)))
    name = f"{nodes.unit} more in {len(bins)} of {nodes.n_bins:,} bins or not, each by itself"
    return Contest(name, play, [_Likelihood(most)], runs_at_once)


@dataclass(frozen=True, slots=True)
class _Likelihood:
    """How much more likely all nodes of a leaf are with the unit than without."""

    most: float
    name: str = "the likelihood of all nodes that hold a bin"

    def fit(self, observed: Any, coins: BoolArray) -> Callable[[Any], IntArray]:
        return lambda seen: np.rint(_STEPS * (1 + np.asarray(seen) / self.most)).astype(np.int64)
