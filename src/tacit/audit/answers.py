"""Audits of what a curator publishes: any function from counts to noisy answers, run on neighbouring counts.

Noise that is drawn again at every question averages out, and so do one-time reports sent again.
Neighbours differ by one unit in one bin. The answers of a run are looked at one by one and all together: as a weighted
sum, and by the likelihood of Laplace noise, which is the best there is where every answer has noise of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.validation import check_at_least
from tacit.audit.claims import Audit, Claim
from tacit.audit.games import Contest, Progress, View, play_game, tossed
from tacit.audit.views import Telling, as_numbers, finite, views_of_answers
from tacit.errors import SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle
from tacit.randomness import Randomness, SecureRandomness
from tacit.randomness.bernoulli import integers_below

_REPORTS_AT_ONCE: Final = 1 << 18  # bounds memory; the size changes the time alone


def averaged(ask: Callable[[], ArrayLike], times: int) -> FloatArray:
    """Return the mean of as many answers to one and the same question (or list of questions).

    >>> answers = iter([3.0, 5.0, 4.0])
    >>> averaged(lambda: next(answers), 3).tolist()
    [4.0]
    """
    check_at_least(1, times=times)
    total = np.atleast_1d(np.asarray(ask(), np.float64)).copy()
    for _ in range(times - 1):
        total += np.asarray(ask(), np.float64)
    return total / times


def is_redrawn(ask: Callable[[], ArrayLike]) -> bool:
    """Return whether the same question asked twice has two answers."""
    return not np.array_equal(np.asarray(ask()), np.asarray(ask()), equal_nan=True)


def share_identified(randomizer: FrequencyOracle, *, n_reports: int, n_devices: int, randomness: Randomness) -> float:
    """Return the share of devices found out by ``n_reports`` fresh one-time reports of each about the same cell.

    Devices hold cells at random; the cell that most of a device's reports support is guessed, one of them at random
    where several are equal.

    >>> from tacit.mechanisms.local.unary import UnaryEncoding
    >>> from tacit.randomness import SeededRandomness
    >>> sue = UnaryEncoding.rappor(f=0.5, n_cells=17)
    >>> found = share_identified(sue, n_reports=30, n_devices=200, randomness=SeededRandomness(1))
    >>> found > 0.97
    True
    """
    check_at_least(1, n_reports=n_reports, n_devices=n_devices)
    n_at_once = max(1, _REPORTS_AT_ONCE // n_reports)
    n_found = 0
    for first in range(0, n_devices, n_at_once):
        n_here = min(n_at_once, n_devices - first)
        cells = integers_below((randomizer.n_cells,), n_here, randomness)[:, 0].astype(np.int64)
        reports = randomizer.randomize(np.repeat(cells, n_reports), randomness=randomness)
        supports = randomizer.statistics(reports, np.full(n_here, n_reports))
        lots = randomness.words(supports.size).reshape(supports.shape) / 2.0**65
        n_found += int(np.count_nonzero(np.argmax(supports + lots, axis=1) == cells))
    return n_found / n_devices


Build = Callable[[IntArray], Any]
"""Takes true counts, publishes: gives the answers, or a function without arguments that can be asked for them."""
BuildMany = Callable[[IntArray], FloatArray]
"""Takes a table with a row of true counts for each run; gives a row of answers for each."""

DEFAULT_RUNS: Final = 20_000  # four times as many halve the distance of a bound
DEFAULT_COUNT: Final = 20
"""The count of every bin before a unit is added: more than a few, so that answers cut off at 0 do not hide it."""
_CELLS_AT_ONCE: Final = 1 << 23  # 64 MiB of counts


def audit_answers(
    build: Build,
    *,
    epsilon: float | None = None,
    counts: int | ArrayLike,
    unit: int = 1,
    delta: float = 0.0,
    rho: float | None = None,
    times: int = 1,
    n_runs: int = DEFAULT_RUNS,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Bound the epsilon of published answers from below, or their ``rho`` where that is claimed.

    ``counts`` are true counts to start from, or the number of bins; ``unit`` is what one protected unit adds to a bin
    at most. With ``times`` above 1, ``build`` gives a function, which is asked as often, and the mean is looked at.

    A table of counts without noise is told apart at once:

    >>> from tacit.randomness import SeededRandomness
    >>> audit = audit_answers(lambda counts: counts, epsilon=1.0, counts=4, n_runs=2_000,
    ...                       randomness=SeededRandomness(1))
    >>> str(audit.verdict)
    'refuted'
    """
    check_at_least(1, times=times)
    return audit_many(
        many_of(build, times),
        epsilon=epsilon,
        counts=counts,
        unit=unit,
        delta=delta,
        rho=rho,
        n_runs=n_runs,
        confidence=confidence,
        randomness=randomness,
        progress=progress,
        name="published answers" if times == 1 else f"the mean of {times:,} equal questions",
        is_specific=times > 1,
    )


def audit_many(
    build: BuildMany,
    *,
    epsilon: float | None = None,
    counts: int | ArrayLike,
    unit: int = 1,
    delta: float = 0.0,
    rho: float | None = None,
    n_runs: int = DEFAULT_RUNS,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
    name: str = "published answers",
    is_specific: bool = False,
    views: Sequence[View] = (),
) -> Audit:
    """Audit a function that makes many runs at once, as :func:`audit_answers` does one that makes a run a call."""
    views = views or views_of_answers()
    groups = Claim.of(epsilon=epsilon, delta=delta, rho=rho).groups
    return play_game(
        name,
        neighbors(build, start_of(counts), unit, views, groups=groups),
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        n_runs=n_runs,
        confidence=confidence,
        randomness=randomness,
        progress=progress,
        is_specific=is_specific,
    )


def audit_repeats(
    build: Build,
    *,
    epsilon: float | None = None,
    counts: int | ArrayLike,
    unit: int = 1,
    delta: float = 0.0,
    rho: float | None = None,
    times: int = 256,
    n_runs: int = 1_000,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Ask the same question twice; where the answers differ, ask it ``times`` times and look at the mean.

    ``build`` must give a function that can be asked again.
    """
    ask = build(start_of(counts))
    if not callable(ask):
        raise SettingError("build must give a function to ask, so that the same question can be asked twice.")
    if not is_redrawn(ask):
        said = ("the same question asked twice has the same answer",)
        claim = Claim.of(epsilon=epsilon, delta=delta, rho=rho)
        name = "the same question twice"
        return Audit(name, claim.value, delta, 0.0, confidence, 2, 0, 0, said, True, claim.measure)
    return audit_answers(
        build,
        epsilon=epsilon,
        counts=counts,
        unit=unit,
        delta=delta,
        rho=rho,
        times=times,
        n_runs=n_runs,
        confidence=confidence,
        randomness=randomness,
        progress=progress,
    )


def audit_reconstruction(
    build: BuildMany,
    *,
    epsilon: float,
    n_bins: int,
    unit: int = 1,
    n_builds: int = 400,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Get all counts back from one table of answers: every bin holds one unit or none, and all are guessed at once.

    A linear estimate of the bins is learned by least squares. As many bins as a table has are guessed from it, so that
    few tables are many guesses; under epsilon no more than e^epsilon/(1 + e^epsilon) of them are right.
    """
    check_at_least(1, n_bins=n_bins)
    check_at_least(8, n_builds=n_builds)
    source = SecureRandomness() if randomness is None else randomness
    n_learned = n_builds // 2
    bits = tossed(n_learned * n_bins, source).reshape(n_learned, n_bins)
    answers = finite(as_numbers(build(unit * bits.astype(np.int64))))
    inputs = np.column_stack([answers, np.ones(n_learned)])
    scale = float((answers**2).mean()) + np.finfo(float).tiny
    # keeps columns that say the same from a singular system: far below what any answer explains
    ridge = 1e-8 * scale * n_learned * np.eye(inputs.shape[1])
    weights = np.linalg.solve(inputs.T @ inputs + ridge, inputs.T @ bits)

    def play(coins: BoolArray) -> FloatArray:
        n_here = -(-len(coins) // n_bins)
        rest = tossed(n_here * n_bins - len(coins), source)
        table = np.concatenate([coins, rest]).reshape(n_here, n_bins)
        found = np.column_stack([finite(as_numbers(build(unit * table.astype(np.int64)))), np.ones(n_here)]) @ weights
        return np.asarray(found, np.float64).reshape(-1)[: len(coins)]

    return play_game(
        "reconstruction",
        [Contest(f"one unit or none in each of {n_bins} bins", play, [Telling(0)])],
        epsilon=epsilon,
        n_runs=max(200, (n_builds - n_learned) * n_bins),
        confidence=confidence,
        randomness=source,
        progress=progress,
        is_specific=True,
    )


def neighbors(
    build: BuildMany,
    start: IntArray,
    unit: int,
    views: Sequence[View],
    bins: Sequence[int] = (),
    groups: Sequence[int] = (1,),
) -> list[Contest]:
    """Return contests of a unit more or not, in the bins named, else in the middle one, the last and the first.

    With ``groups``, so many units at once, too.
    """
    check_at_least(1, unit=unit)

    def player(bin: int, added: int) -> Callable[[BoolArray], FloatArray]:
        def play(coins: BoolArray) -> FloatArray:
            tables = np.tile(start, (len(coins), 1))
            tables[:, bin] += added * coins
            return as_numbers(build(tables))

        return play

    bins = bins or list(dict.fromkeys([start.size // 2, start.size - 1, 0]))
    n_at_once = max(1, _CELLS_AT_ONCE // start.size)
    return [
        Contest(f"{group * unit} more in bin {bin} or not", player(bin, group * unit), views, n_at_once, group)
        for group in groups
        for bin in bins
    ]


def many_of(build: Build, times: int = 1) -> BuildMany:
    """Return a function of one table of counts as one of many."""

    def run(counts: IntArray) -> FloatArray:
        answers = build(counts)
        if not callable(answers):
            if times > 1:
                raise SettingError("build must give a function to ask, so that the same question can be asked twice.")
            return np.atleast_1d(np.asarray(answers, np.float64)).reshape(-1)
        return averaged(answers, times).reshape(-1)

    def build_many(tables: IntArray) -> FloatArray:
        rows = [run(table.copy()) for table in tables]
        if len({row.size for row in rows}) != 1:
            raise SettingError("every run must give the same number of answers. Give arrays of one length.")
        return np.array(rows)

    return build_many


def start_of(counts: int | ArrayLike) -> IntArray:
    """Return true counts to start from."""
    start = np.full(counts, DEFAULT_COUNT) if isinstance(counts, int) else np.asarray(counts)
    if start.ndim != 1 or not start.size or start.dtype.kind not in "iu":
        raise SettingError("counts must be a row of whole numbers, or the number of bins.")
    return start.astype(np.int64)
