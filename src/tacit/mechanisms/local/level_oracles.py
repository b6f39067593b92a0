"""The oracles that the levels of a tree may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from tacit.errors import SettingError
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.randomizer import FrequencyOracle
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.local.unary import UnaryEncoding

LevelOracle = Callable[[float, int], FrequencyOracle]
"""Makes a level's oracle of an epsilon and a number of nodes."""

MOST_NAMED: Final = 128
"""Up to so many nodes subsets are named, a bit for each node."""
_TOLERANCE: Final = 1.03


def subset_oracle(epsilon: float, n_cells: int) -> FrequencyOracle:
    """The oracle of least variance; its reports have a bit for each node."""
    return SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=n_cells)


def short_oracle(epsilon: float, n_cells: int) -> FrequencyOracle:
    """The oracle of least variance for a small level; for a large one, the shortest report that errs 3 % more at most.

    >>> short_oracle(1.0, 128).report_bytes, short_oracle(1.0, 2048).report_bytes
    (16, 2)
    """
    subset = subset_oracle(epsilon, n_cells)
    if n_cells <= MOST_NAMED:
        return subset
    made: list[FrequencyOracle] = [
        subset,
        LocalHashing.from_epsilon(epsilon=epsilon, n_cells=n_cells),
        HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells),
    ]
    least = min(map(_variance, made))
    good = [one for one in made if _variance(one) <= _TOLERANCE * least]
    return min(good, key=lambda one: (one.report_bytes, _variance(one)))


def oracle_from_thresholds(thresholds: Mapping[str, int], n_cells: int) -> FrequencyOracle:
    """Make the oracle that has thresholds of these names.

    >>> oracle_from_thresholds({"keep": 1 << 62}, 5)
    HadamardResponse(n_cells=5, keep=4611686018427387904)
    """
    make = _KINDS.get(frozenset(thresholds))
    if make is None:
        raise SettingError("the thresholds of a level must be those of a known oracle. Install a newer Tacit.")
    return make(n_cells=n_cells, **thresholds)


def _variance(oracle: FrequencyOracle) -> float:
    """The variance that a report adds to the count of a node, on average over the nodes."""
    p, q = float(oracle.distribution.p), float(oracle.distribution.q)
    return q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / oracle.n_cells


_KINDS: Final[Mapping[frozenset[str], Callable[..., FrequencyOracle]]] = {
    frozenset(("include", "size")): SubsetSelection,
    frozenset(("ones", "zeros")): UnaryEncoding,
    frozenset(("bits", "keep")): LocalHashing,
    frozenset(("keep",)): HadamardResponse,
}
