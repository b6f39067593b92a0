"""Contract checks for local randomizers: of the channel, of what is sampled from it, and of the words it draws.

Statistical assertions state how often they fail by bad luck.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_share
from tacit.counts.exact_intervals import binomial_tails
from tacit.errors import SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle, LocalRandomizer
from tacit.privacy.epsilon import log_of_ratio
from tacit.randomness import Randomness, SeededRandomness


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
_MOST_CELLS_COMPARED = 32


def is_oracle(randomizer: LocalRandomizer) -> TypeGuard[FrequencyOracle]:
    """Whether a randomizer supports cells by a distribution; a tree of oracles does not."""
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
    """The largest ratio of the probabilities of one report under two cells."""
    columns: list[tuple[Fraction, ...]] = [column for column in zip(*channel, strict=True) if max(column)]
    assert all(min(column) for column in columns), "a report is possible for some cells and impossible for others"
    return max(max(column) / min(column) for column in columns)


def _as_numbers(reports: NDArray[np.uint8]) -> NDArray[np.int64]:
    weights = 256 ** np.arange(reports.shape[1], dtype=np.int64)
    return reports.astype(np.int64) @ weights
