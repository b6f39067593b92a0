"""The whole contract of a local randomizer, as one check that a plug-in author can run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.audit.testing.randomizers import (
    Rebuild,
    check_channel,
    check_one_at_a_time,
    check_reports,
    check_supports,
    check_thresholds,
    check_words,
    is_oracle,
)
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle, LocalRandomizer
from tacit.plan import Plan
from tacit.randomness import SeededRandomness

LARGEST_LISTED: Final = 8
"""Cells up to which every report is listed and every distribution compared exactly."""
_MOST_REFUSED: Final = 1000  # damaged reports that are tried


def check_randomizer(
    randomizer: LocalRandomizer, *, seed: int, rebuild: Rebuild | None = None, false_failure: float = 1e-9
) -> None:
    """Check all that a local randomizer promises; an AssertionError says which promise is broken.

    Up to ``LARGEST_LISTED`` cells, unless the channel refuses to be listed, all is compared exactly: the channel with
    the stated epsilon, the effect of each threshold, the distribution with the supports of every report, the estimate
    with the truth, and reports that cannot be are refused. For any number of cells: reports of constant length, one
    distribution for one report and for many, words that do not depend on the value, statistics that add up, and cells
    that cannot be are refused. What is sampled fails by bad luck with probability ``false_failure`` at most. Check a
    small number of cells and a large one.

    >>> import math
    >>> from tacit.mechanisms.local.hadamard import HadamardResponse
    >>> for n_cells in (3, 1000):
    ...     check_randomizer(HadamardResponse.from_epsilon(epsilon=math.log(3), n_cells=n_cells), seed=1)

    A randomizer that states less epsilon than its reports cost is caught:

    >>> class Boastful(HadamardResponse):
    ...     @property
    ...     def epsilon(self) -> float:
    ...         return 0.5
    >>> check_randomizer(Boastful.from_epsilon(epsilon=1.0, n_cells=3), seed=1)
    Traceback (most recent call last):
    ...
    AssertionError: epsilon is stated as 0.5, but the channel gives 1.0
    """
    check_form(randomizer, seed=seed)
    check_words(randomizer, seed=seed)
    if _is_listed(randomizer):
        check_channel(randomizer)
        check_thresholds(randomizer, rebuild=rebuild)
        check_estimate(randomizer)
        check_refusals(randomizer)
        check_reports(randomizer, seed=seed, false_failure=false_failure / 2)
    if is_oracle(randomizer):
        assert 0 <= randomizer.distribution.q < randomizer.distribution.p <= 1, "the true cell must be the likelier one"
        if _is_listed(randomizer):
            check_distribution(randomizer)
        check_supports(randomizer, seed=seed + randomizer.n_cells, false_failure=false_failure / 2)


def check_form(randomizer: LocalRandomizer, *, seed: int) -> None:
    """Check that reports have one length whatever the value, that statistics add up, and that bad cells are refused."""
    k = randomizer.n_cells
    check_one_at_a_time(randomizer, (0, k // 2, k - 1), seed=seed)
    for n_reports in (0, 1, 70):
        reports = randomizer.randomize(np.arange(n_reports) % k, randomness=SeededRandomness(seed))
        assert reports.shape == (n_reports, randomizer.report_bytes)
        assert reports.dtype == np.uint8
    runs = np.array([3, 0, 60, 7])
    parts = np.split(reports, np.cumsum(runs)[:-1])
    statistics = randomizer.statistics(reports, runs)
    assert statistics.shape == (4, randomizer.n_statistics)
    assert statistics.dtype == np.int64
    for row, part in zip(statistics, parts, strict=True):
        assert np.array_equal(row, randomizer.statistics(part, np.array([len(part)]))[0]), "runs do not add up"
    for cells in (np.array([0, k]), np.array([-1]), np.array([0.0]), np.array([[0, 1]])):
        assert _is_refused(partial(randomizer.randomize, cells, randomness=SeededRandomness(seed)), SettingError), (
            "cells outside the domain are not refused"
        )


def check_distribution(randomizer: FrequencyOracle) -> None:
    """Check exactly that reports support cells as the distribution says: each cell, any sum of cells, and coins."""
    distribution, channel = randomizer.distribution, randomizer.channel()
    k = randomizer.n_cells
    assert distribution.n_cells == k, "the distribution has another number of cells"
    assert randomizer.n_statistics == k, "statistics must be one support for each cell"
    numbers, supports = _possible(randomizer, channel)
    for cell, row in enumerate(channel):
        chances = [row[number] for number in numbers]
        for other in range(k):
            chance = sum((c for c, s in zip(chances, supports, strict=True) if s[other]), start=Fraction(0))
            assert chance == (distribution.p if other == cell else distribution.q), (
                f"cell {other} is supported with another probability"
            )
    for weights in np.array([np.ones(k), np.eye(k)[0], np.arange(k) + 1, 1 - 2 * (np.arange(k) % 2)], np.float64):
        stated = distribution.variances(weights)
        scale = float(distribution.p - distribution.q) ** 2
        for cell, row in enumerate(channel):
            true = _variance([row[number] for number in numbers], supports @ weights.astype(np.int64))
            slack = 1e-9 * (float(true) + 1e-3 * float((weights**2).sum()))
            assert abs(stated[cell] * scale - float(true)) <= slack, "the distribution states another variance"
    for n_summed in range(1, k + 1):
        heads = supports[:, :n_summed].sum(axis=1)
        _check_coins(randomizer, channel, numbers, heads, n_summed)
        _check_sum_distributions(randomizer, channel, numbers, heads, n_summed)


def check_estimate(randomizer: LocalRandomizer) -> None:
    """Check that the estimate from one report, averaged over all reports a cell may send, is that cell exactly."""
    channel = randomizer.channel()
    numbers, supports = _possible(randomizer, channel)
    last = np.datetime64("2000-01-01") + len(numbers) - 1
    places = PlaceAxis.of([f"place {cell}" for cell in range(randomizer.n_cells)])
    domain = Domain(TimeAxis.between("2000-01-01", str(last)), places)
    thresholds = tuple(sorted(randomizer.thresholds().items()))
    plan = Plan(domain, "contract", randomizer.epsilon, thresholds)
    tally = Tally(Provenance(plan.fingerprint), supports, np.ones(len(numbers), np.int64))
    estimate = randomizer.estimate(tally, plan, domain)
    assert estimate.provenance == tally.provenance, "the estimate has lost its label"
    chances = np.array([[float(row[number]) for number in numbers] for row in channel])
    slack = 1e-12 * float(np.abs(estimate.values).max())
    assert np.allclose(chances @ estimate.values, np.eye(len(channel)), rtol=0, atol=slack), "the estimate is biased"


def check_refusals(randomizer: LocalRandomizer) -> None:
    """Check that reports which no cell can send are refused, alone and hidden behind good ones."""
    channel, width = randomizer.channel(), randomizer.report_bytes
    n_listed, largest = len(channel[0]), 256**width
    impossible = [number for number in range(n_listed) if not any(row[number] for row in channel)]
    beyond = {n_listed, largest - 1, *(1 << bit for bit in range(8 * width))}
    impossible += sorted(number for number in beyond if n_listed <= number < largest)
    impossible = impossible[:: 1 + len(impossible) // _MOST_REFUSED]
    good = randomizer.randomize(np.zeros(9, np.int64), randomness=SeededRandomness(0))
    for number in impossible:
        bad = _as_rows([number], width)
        for reports in (bad, np.concatenate((good, bad)), np.concatenate((bad, good))):
            assert _is_refused(partial(randomizer.statistics, reports, np.array([len(reports)])), FormatError), (
                "a report that no cell can send is counted"
            )


def _is_listed(randomizer: LocalRandomizer) -> bool:
    if randomizer.n_cells > LARGEST_LISTED:
        return False
    try:
        randomizer.channel()
    except SettingError:  # too large to list
        return False
    return True


def _possible(randomizer: LocalRandomizer, channel: list[list[Fraction]]) -> tuple[list[int], NDArray[np.int64]]:
    """The reports that can be, as numbers, and the cells that each supports."""
    numbers = [number for number in range(len(channel[0])) if channel[0][number]]
    reports = _as_rows(numbers, randomizer.report_bytes)
    return numbers, randomizer.statistics(reports, np.ones(len(numbers), np.int64))


def _as_rows(numbers: Sequence[int], width: int) -> NDArray[np.uint8]:
    flat = b"".join(number.to_bytes(width, "little") for number in numbers)
    return np.frombuffer(flat, np.uint8).reshape(-1, width)


def _variance(chances: list[Fraction], values: NDArray[np.int64]) -> Fraction:
    pairs = list(zip(chances, values.tolist(), strict=True))
    mean = sum((chance * value for chance, value in pairs), start=Fraction(0))
    return sum((chance * value**2 for chance, value in pairs), start=Fraction(0)) - mean**2


def _check_sum_distributions(
    randomizer: FrequencyOracle,
    channel: list[list[Fraction]],
    numbers: list[int],
    heads: NDArray[np.int64],
    n_summed: int,
) -> None:
    """Where it is stated how many of the first cells a report supports, compare the two distributions."""
    distributions = randomizer.distribution.sum_distributions(n_summed)
    if distributions is None:
        return
    for cell, row in enumerate(channel):
        stated = distributions.inside if cell < n_summed else distributions.outside
        expected = np.zeros(n_summed + 1)
        expected[stated.first : stated.first + len(stated.mass)] = stated.mass
        found = np.bincount(heads, weights=[float(row[number]) for number in numbers], minlength=n_summed + 1)
        assert np.allclose(found, expected, rtol=0, atol=1e-12), (
            f"a report supports another number of {n_summed} cells than the distribution says"
        )


def _check_coins(
    randomizer: FrequencyOracle,
    channel: list[list[Fraction]],
    numbers: list[int],
    heads: NDArray[np.int64],
    n_summed: int,
) -> None:
    """Where a sum of the first cells is stated to be a number of coin flips, compare the two distributions."""
    coins = randomizer.distribution.coins(n_summed)
    if coins is None:
        return
    for cell, row in enumerate(channel):
        expected = [Fraction(1)]
        for flip in range(coins.flips):
            chance = coins.inside if flip == 0 and cell < n_summed else coins.outside
            tails = [*(mass * (1 - chance) for mass in expected), Fraction(0)]
            heads_too = [Fraction(0), *(mass * chance for mass in expected)]
            expected = [a + b for a, b in zip(tails, heads_too, strict=True)]
        found = [Fraction(0)] * (max(len(expected), int(heads.max()) + 1))
        for number, h in zip(numbers, heads.tolist(), strict=True):
            found[h] += row[number]
        assert found == expected + [Fraction(0)] * (len(found) - len(expected)), (
            f"a sum of {n_summed} cells is not the coin flips that the distribution says"
        )


def _is_refused(action: Callable[[], object], kind: type[Exception]) -> bool:
    try:
        action()
    except kind:
        return True
    return False
