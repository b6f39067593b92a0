"""Checks that Tacit runs on itself and that plug-in authors can run on their own work.

Start with :func:`check_randomizer`, which runs all that concerns a local randomizer: its channel, what is sampled from
it, and the words it draws. Statistical assertions state how often they fail by bad luck.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Final, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_share
from tacit.counts.exact_intervals import binomial_tails
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle, LocalRandomizer
from tacit.plan import Plan
from tacit.privacy.epsilon import log_of_ratio
from tacit.randomness import Randomness, SeededRandomness

__all__ = [
    "ListedWords",
    "RecordedWords",
    "assert_frequencies",
    "check_channel",
    "check_distribution",
    "check_estimate",
    "check_form",
    "check_one_at_a_time",
    "check_randomizer",
    "check_refusals",
    "check_reports",
    "check_supports",
    "check_thresholds",
    "check_words",
]

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
            # for rounding: the true one is a fraction, the stated one a float
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
    slack = 1e-12 * float(np.abs(estimate.values).max())  # rounding of sums of as large terms
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
    """Return the reports that can be, as numbers, and the cells that each supports."""
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
    """Compare the two distributions where it is stated how many of the first cells a report supports."""
    distributions = randomizer.distribution.sum_distributions(n_summed)
    if distributions is None:
        return
    for cell, row in enumerate(channel):
        stated = distributions.inside if cell < n_summed else distributions.outside
        expected = np.zeros(n_summed + 1)
        expected[stated.first : stated.first + len(stated.mass)] = stated.mass
        found = np.bincount(heads, weights=[float(row[number]) for number in numbers], minlength=n_summed + 1)
        # rounding of chances, which are 1 together
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
    """Compare the two distributions where a sum of the first cells is stated to be a number of coin flips."""
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


class RecordedWords:
    """Passes words on from another source and remembers them.

    >>> from tacit.randomness import SeededRandomness
    >>> source = RecordedWords(SeededRandomness(7))
    >>> source.words(2).tolist() == source.drawn
    True
    """

    def __init__(self, source: Randomness) -> None:
        self._source = source
        self.drawn: list[int] = []

    @property
    def is_simulation(self) -> bool:
        return True  # whoever has the record knows every word

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, np.uint64)
        self.fill(out)
        return out

    def fill(self, out: NDArray[np.uint64]) -> None:
        self._source.fill(out)
        self.drawn.extend(out.ravel().tolist())


class ListedWords:
    """Gives the words of a list in their order, and fails when they are used up.

    >>> ListedWords([5, 6, 7]).words(2).tolist()
    [5, 6]
    """

    def __init__(self, words: Sequence[int]) -> None:
        self._words = np.array(words, np.uint64)
        self._n_used = 0

    @property
    def is_simulation(self) -> bool:
        return True

    @property
    def n_left(self) -> int:
        return self._words.size - self._n_used

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, np.uint64)
        self.fill(out)
        return out

    def fill(self, out: NDArray[np.uint64]) -> None:
        assert out.size <= self.n_left, f"{out.size} words are asked for, and {self.n_left} are left"
        out.reshape(-1)[:] = self._words[self._n_used : self._n_used + out.size]
        self._n_used += out.size


def assert_frequencies(
    counts: Sequence[int] | NDArray[np.integer],
    probabilities: Sequence[float | Fraction] | NDArray[np.float64],
    *,
    false_failure: float,
) -> None:
    """Assert that outcomes were drawn with these probabilities.

    Each outcome's count is compared with its exact binomial tails at ``false_failure``, shared among all outcomes and
    both sides, so that right draws fail with at most that probability, whatever the number of outcomes.

    >>> assert_frequencies([505, 495], [0.5, 0.5], false_failure=1e-9)
    >>> assert_frequencies([700, 300], [0.5, 0.5], false_failure=1e-9)
    Traceback (most recent call last):
    ...
    AssertionError: outcome 0 came 700 times in 1000, expected 500.0: probability 8.8e-38 below 2.5e-10
    """
    check_share(false_failure=false_failure)
    counts = np.asarray(counts)
    n, share = int(counts.sum()), false_failure / (2 * len(counts))
    for outcome, (count, chance) in enumerate(zip(counts.tolist(), probabilities, strict=True)):
        if not 0 < chance < 1:
            assert count == n * chance, f"outcome {outcome} came {count} times in {n}, expected {n * chance}"
            continue
        rarest = min(binomial_tails(count, n, float(chance)))
        assert rarest >= share, (
            f"outcome {outcome} came {count} times in {n}, expected {n * float(chance):.1f}: "
            f"probability {rarest:.2g} below {share:.2g}"
        )


Rebuild = Callable[[Mapping[str, int]], LocalRandomizer]
_MOST_CELLS_COMPARED = 32  # spread over all cells


def is_oracle(randomizer: LocalRandomizer) -> TypeGuard[FrequencyOracle]:
    """Return whether a randomizer supports cells by a distribution; a tree of oracles does not."""
    return hasattr(type(randomizer), "distribution")


def check_channel(randomizer: LocalRandomizer) -> None:
    """Check on the listed channel that every row adds up to 1 and that epsilon is exact: not above, not below."""
    channel = randomizer.channel()
    assert len(channel) == randomizer.n_cells
    assert all(sum(row, start=Fraction(0)) == 1 for row in channel), "a row of the channel does not add up to 1"
    largest = log_of_ratio(_largest_ratio(channel))
    assert largest == randomizer.epsilon, f"epsilon is stated as {randomizer.epsilon}, but the channel gives {largest}"


def check_thresholds(randomizer: LocalRandomizer, *, rebuild: Rebuild | None = None) -> None:
    """Check that thresholds are all there is to agree on, and that moving one by one changes the privacy or is refused.

    In a tree of oracles, whose privacy is that of the least private one, moving a threshold changes the channel.
    ``rebuild`` makes the randomizer of other thresholds; a dataclass whose fields have their names needs none.
    """
    rebuild = rebuild or _replacing(randomizer)
    thresholds = randomizer.thresholds()
    assert all(type(t) is int and 0 <= t <= 1 << 64 for t in thresholds.values()), "a threshold is not in 0 .. 2**64"
    assert rebuild(thresholds) == randomizer, "the thresholds do not give the same randomizer back"
    channel = randomizer.channel()
    ratio = _largest_ratio(channel)
    for name, threshold in thresholds.items():
        for moved in (threshold - 1, threshold + 1):
            try:
                other = rebuild({**thresholds, name: moved}).channel()
            except SettingError:  # refused, or too large to list
                continue
            is_moved = _largest_ratio(other) != ratio if is_oracle(randomizer) else other != channel
            assert is_moved, f"moving threshold {name} by one changes no privacy"


def check_reports(
    randomizer: LocalRandomizer, *, seed: int, n_reports: int = 20_000, false_failure: float = 1e-9
) -> None:
    """Check that sampled reports have the channel's distribution and a length that does not depend on the value."""
    channel = randomizer.channel()
    for cell, row in enumerate(channel):
        cells = np.full(n_reports, cell)
        reports = randomizer.randomize(cells, randomness=SeededRandomness(seed + cell))
        assert reports.shape == (n_reports, randomizer.report_bytes)
        assert reports.dtype == np.uint8
        drawn = np.bincount(_as_numbers(reports), minlength=len(row))
        assert_frequencies(drawn, row, false_failure=false_failure / len(channel))


def check_supports(
    randomizer: FrequencyOracle,
    *,
    seed: int,
    n_reports: int = 20_000,
    n_single: int = 200,
    false_failure: float = 1e-9,
) -> None:
    """Check that sampled reports, drawn together and one by one, support cells as often as the distribution says.

    It needs no list of all reports, so it serves any number of cells; of very many, some are compared.
    """
    last = randomizer.n_cells - 1
    for cell in sorted({0, last // 2, last}):
        many = randomizer.randomize(np.full(n_reports, cell), randomness=SeededRandomness(seed + cell))
        source = SeededRandomness(seed + cell + 1)
        single = [randomizer.randomize(np.array([cell]), randomness=source) for _ in range(n_single)]
        for reports in (many, np.concatenate(single)):
            counts = randomizer.statistics(reports, np.array([len(reports)]))[0]
            compared = sorted({cell, *range(0, last + 1, last // _MOST_CELLS_COMPARED + 1)})
            for other in compared:
                chance = randomizer.distribution.p if other == cell else randomizer.distribution.q
                assert_frequencies(
                    [counts[other], len(reports) - counts[other]],
                    [chance, 1 - chance],
                    false_failure=false_failure / (6 * len(compared)),
                )


def check_one_at_a_time(randomizer: LocalRandomizer, cells: Sequence[int], *, seed: int) -> None:
    """Check that a device sending one value and a station sending many produce reports of the same form."""
    for cell in cells:
        alone = randomizer.randomize(np.array([cell]), randomness=SeededRandomness(seed))
        assert alone.dtype == np.uint8
        assert alone.shape == (1, randomizer.report_bytes), "the length of a report depends on the value"


def check_words(randomizer: LocalRandomizer, *, seed: int, n_reports: int = 300) -> None:
    """Check that how many words are drawn depends on the words, never on the values, and that they decide all."""
    n_drawn = set()
    for cell in (0, randomizer.n_cells // 2, randomizer.n_cells - 1):
        source = RecordedWords(SeededRandomness(seed))
        first = randomizer.randomize(np.full(n_reports, cell), randomness=source)
        again = randomizer.randomize(np.full(n_reports, cell), randomness=SeededRandomness(seed))
        assert np.array_equal(first, again), "the same words give other reports"
        n_drawn.add(len(source.drawn))
    assert len(n_drawn) == 1, "the number of words drawn depends on the value"


def _replacing(randomizer: LocalRandomizer) -> Rebuild:
    return lambda thresholds: cast(LocalRandomizer, replace(cast(Any, randomizer), **thresholds))


def _largest_ratio(channel: list[list[Fraction]]) -> Fraction:
    """Return the largest ratio of the probabilities of one report under two cells."""
    columns: list[tuple[Fraction, ...]] = [column for column in zip(*channel, strict=True) if max(column)]
    assert all(min(column) for column in columns), "a report is possible for some cells and impossible for others"
    return max(max(column) / min(column) for column in columns)


def _as_numbers(reports: NDArray[np.uint8]) -> NDArray[np.int64]:
    weights = 256 ** np.arange(reports.shape[1], dtype=np.int64)
    return reports.astype(np.int64) @ weights
