"""Root mean square errors of structures over random ranges, every figure with random numbers of its own.

The random numbers of a case come from its name, so that a reduced run gives the same figures as the full one.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Final

import numpy as np

from experiments.findings import Finding, Verdict
from experiments.thesis_structures import as_claimed, as_coded, by_tacit
from experiments.thesis_structures.oracles import epsilon_of_keeping
from experiments.thesis_structures.series import Series
from experiments.thesis_structures.structures import Floats, Integers, Structures

CODED, CLAIMED, TACIT = METHODS = ("as coded", "as claimed", "Tacit")
CENTRAL_FLAT, TREE, LOCAL_FLAT, HIERARCHY = "central flat", "continual tree", "local flat", "local hierarchy"
DESIGNED: Final = "planner's tree"

_MODULES: Final = {CODED: as_coded, CLAIMED: as_claimed, TACIT: by_tacit}
_FUNCTIONS: Final = {
    CENTRAL_FLAT: "central_flat",
    TREE: "continual_tree",
    LOCAL_FLAT: "local_flat",
    HIERARCHY: "local_hierarchy",
    DESIGNED: "designed_tree",
}


@dataclass(frozen=True)
class Size:
    """How many structures are made, and how many ranges each is asked."""

    n_structures: int
    n_ranges: int


@dataclass(frozen=True)
class Case:
    """Structures of one kind: which, by whom, over how many days, at which claimed epsilon, of which degree."""

    structure: str
    method: str
    n_days: int
    epsilon: float
    degree: int | None = None

    @property
    def name(self) -> str:
        kind = self.structure if self.degree is None else f"{self.structure} of degree {self.degree}"
        return f"{kind}/{self.method}/{self.n_days}/{self.epsilon:g}"

    @property
    def is_local(self) -> bool:
        return self.structure in (LOCAL_FLAT, HIERARCHY)

    def generator(self, seed: int, use: str) -> np.random.Generator:
        return np.random.default_rng([seed, zlib.crc32(f"{self.name}/{use}".encode())])

    def made(self, counts: Integers, n_structures: int, seed: int) -> Structures:
        """The structures themselves."""
        make: Callable[..., Structures] = getattr(_MODULES[self.method], _FUNCTIONS[self.structure])
        degree = () if self.degree is None else (self.degree,)
        generator = self.generator(seed, "noise")
        return make(counts, self.epsilon, *degree, n_structures=n_structures, generator=generator)


def drawn_ranges(n_days: int, length: int, size: Size, generator: np.random.Generator) -> tuple[Integers, Integers]:
    """Where ranges begin and end, a row for each structure; as in the thesis, the last day is never asked for."""
    first = generator.integers(0, n_days - length, size=(size.n_structures, size.n_ranges))
    return first, first + length


def root_mean_square_errors(case: Case, lengths: Sequence[int], size: Size, series: Series, seed: int) -> list[float]:
    """One figure for each length; the same structures are asked all of them."""
    counts = series.first(case.n_days)
    made = case.made(counts, size.n_structures, seed)
    sums = np.concatenate([[0], np.cumsum(counts)])
    errors = []
    for length in lengths:
        first, stop = drawn_ranges(len(counts), length, size, case.generator(seed, f"ranges of {length}"))
        error = made.answers(first, stop) - (sums[stop] - sums[first])
        errors.append(float(np.sqrt(np.mean(error**2))))
    return errors


Errors = dict[Case, dict[int, float]]


def measured_errors(
    asked: Mapping[Case, Sequence[int]], sizes: Callable[[Case], Size], series: Series, seed: int, *, workers: int
) -> Errors:
    """The errors of all cases by length; the dearest are begun first."""
    cases = sorted(asked, key=lambda case: (case.method != TACIT, not case.is_local, -case.n_days, case.name))
    measure = partial(_measured, series=series, seed=seed)
    work = [(case, tuple(asked[case]), sizes(case)) for case in cases]
    if workers == 1:
        return dict(map(measure, work))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return dict(pool.map(measure, work))


def _measured(work: tuple[Case, tuple[int, ...], Size], *, series: Series, seed: int) -> tuple[Case, dict[int, float]]:
    case, lengths, size = work
    return case, dict(zip(lengths, root_mean_square_errors(case, lengths, size, series, seed), strict=True))


def all_workers() -> int:
    return os.cpu_count() or 1


def r_squared(x: Sequence[float], y: Sequence[float], degree: int = 1) -> float:
    """How much of the variance of y a polynomial of this degree in x explains."""
    values = np.asarray(y, float)
    left = values - fitted(x, y, degree)(np.asarray(x, float))
    return float(1 - np.sum(left**2) / np.sum((values - values.mean()) ** 2))


def fitted(x: Sequence[float], y: Sequence[float], degree: int = 1) -> Callable[[Floats], Floats]:
    """The polynomial of least squares."""
    polynomial = np.polynomial.Polynomial.fit(np.asarray(x, float), np.asarray(y, float), degree)
    return lambda where: np.asarray(polynomial(where))


def exponent(x: Iterable[float], y: Iterable[float]) -> float:
    """The power of x that y grows with: the slope of their logarithms."""
    return float(np.polyfit(np.log(list(x)), np.log(list(y)), 1)[0])


def verdict_of(*, coded: bool, claimed: bool) -> Verdict:
    """A claim holds if it does where epsilon is what is claimed; if it does only as coded, it was bought."""
    if claimed:
        return Verdict.HOLDS
    return Verdict.LARGER_EPSILON if coded else Verdict.FAILS


def true_epsilon(case: Case) -> float:
    """What the structures of a case really give."""
    if case.method != CODED or case.structure == CENTRAL_FLAT:
        return case.epsilon
    if case.structure == TREE:
        return math.inf
    n_values = case.degree or case.n_days  # the smallest level of a hierarchy tells most
    return epsilon_of_keeping(as_coded.keeping(case.epsilon, n_values), n_values)


def sizes_of(params: Mapping[str, int]) -> Callable[[Case], Size]:
    """How many structures and ranges a case gets: the thesis', but for the package's dearest."""

    def size(case: Case) -> Size:
        if case.structure == CENTRAL_FLAT:
            return Size(params["central_flat_structures"], params["central_flat_ranges"])
        if case.is_local and case.method == TACIT and case.n_days >= params["dear_from"]:
            return Size(params["dear_structures"], params["ranges"])
        return Size(params["structures"], params["ranges"])

    return size


def label_of_coded(kinds: Mapping[str, Sequence[int | None]], epsilons: Sequence[float], n_days: int) -> str:
    """What its legend must say: the epsilons that structures of these degrees really give."""
    words = {kind: _given(kind, degrees, epsilons, n_days) for kind, degrees in kinds.items()}
    if len(words) == 1:
        return f"{CODED} (true ε: {''.join(words.values())})"
    return f"{CODED} (true ε: {'; '.join(f'{kind} {given}' for kind, given in words.items())})"


def _given(kind: str, degrees: Sequence[int | None], epsilons: Sequence[float], n_days: int) -> str:
    """The true epsilons of each claimed one, from the least to the largest of the degrees."""
    true = [
        sorted(true_epsilon(Case(kind, CODED, n_days, epsilon, degree)) for degree in degrees) for epsilon in epsilons
    ]
    if math.isinf(true[-1][-1]):
        return "infinite"
    if [one[-1] for one in true] == list(epsilons):
        return "as claimed"
    words = ["–".join(dict.fromkeys((f"{one[0]:.2f}", f"{one[-1]:.2f}"))) for one in true]
    return f"{', '.join(words)} at {', '.join(f'{one:g}' for one in epsilons)}"


def words_of(epsilon: float) -> str:
    return "infinite" if math.isinf(epsilon) else f"{epsilon:.2f}"


def verdicts_of(findings: Iterable[Finding]) -> dict[str, float]:
    """Verdicts as figures, so that they are kept in git and compared: their place in the list of all."""
    return {f"verdict/{finding.key}": float(list(Verdict).index(finding.verdict)) for finding in findings}
