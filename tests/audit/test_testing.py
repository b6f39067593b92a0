"""The contract checks pass what keeps the contract, and catch each promise that is broken."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from tacit.audit.testing import ListedWords, RecordedWords, check_randomizer
from tacit.counts.oracle_distributions import HadamardDistribution
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.randomness import SeededRandomness


def made(kind, n_cells=3, epsilon=1.0):
    return kind(n_cells, HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=n_cells).keep)


class Boastful(HadamardResponse):
    @property
    def epsilon(self):
        return 0.9


class Wasteful(HadamardResponse):
    @property
    def epsilon(self):
        return 1.1


class Partial(HadamardResponse):
    def channel(self):
        return [[chance / 2 for chance in row] for row in super().channel()]


class Revealing(HadamardResponse):
    """Its last report is sent for one cell only."""

    def channel(self):
        rows = [[*row, Fraction(0)] for row in super().channel()]
        rows[0] = [chance / 2 for chance in rows[0][:-1]] + [Fraction(1, 2)]
        return rows


class Longer(HadamardResponse):
    """Reports of the last cell have a byte more."""

    def randomize(self, cells, *, randomness):
        reports = super().randomize(cells, randomness=randomness)
        return np.pad(reports, ((0, 0), (0, 1))) if np.all(cells == self.n_cells - 1) and cells.size else reports


class Thirsty(HadamardResponse):
    """It draws more words for some cells."""

    def randomize(self, cells, *, randomness):
        reports = super().randomize(cells, randomness=randomness)
        if cells.size and cells[0] == 0:
            randomness.words(1)
        return reports


class Noiseless(HadamardResponse):
    """It sends a report of the true cell's row whenever it can."""

    def randomize(self, cells, *, randomness):
        return HadamardResponse(self.n_cells, 2**64 - 1).randomize(cells, randomness=randomness)


class Sloppy(HadamardResponse):
    """It counts the first of a run twice."""

    def statistics(self, reports, run_lengths):
        statistics = super().statistics(reports, run_lengths)
        if len(reports):
            statistics[0] += super().statistics(reports[:1], np.array([1]))[0]
        return statistics


class Credulous(HadamardResponse):
    """It counts reports that name no column."""

    def statistics(self, reports, run_lengths):
        return super().statistics(reports & np.uint8((1 << self.n_bits) - 1), run_lengths)


class Biased(HadamardResponse):
    def estimate(self, tally, plan, domain):
        return HadamardResponse(self.n_cells, self.keep - (1 << 60)).estimate(tally, plan, domain)


@dataclass(frozen=True)
class Unmoved(HadamardResponse):
    """It carries a threshold that decides nothing."""

    idle: int = 5

    def thresholds(self):
        return {"keep": self.keep, "idle": self.idle}


class WrongVariance(HadamardResponse):
    @property
    def distribution(self):
        class Distribution(HadamardDistribution):
            def variances(self, weights):
                return 1.01 * HadamardDistribution.variances(self, weights)

        return Distribution(self.n_cells, self.keep)


class Indiscreet(HadamardResponse):
    """It takes any cell."""

    def randomize(self, cells, *, randomness):
        return super().randomize(np.clip(np.asarray(cells).ravel().astype(int), 0, 2), randomness=randomness)


@pytest.mark.false_failure(1e-9)
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (Boastful, "epsilon is stated"),
        (Wasteful, "epsilon is stated"),
        (Partial, "does not add up to 1"),
        (Revealing, "impossible for others"),
        (Longer, "length of a report"),
        (Thirsty, "number of words drawn"),
        (Noiseless, "probability"),
        (Sloppy, "runs do not add up"),
        (Credulous, "no cell can send"),
        (Biased, "biased"),
        (Unmoved, "threshold idle"),
        (WrongVariance, "variance"),
        (Indiscreet, "not refused"),
    ],
)
def test_a_broken_promise_is_caught(kind, words, seed):
    with pytest.raises(AssertionError, match=words):
        check_randomizer(made(kind), seed=seed)


@pytest.mark.false_failure(1e-9)
@pytest.mark.parametrize("n_cells", [2, 7, 40])
def test_what_keeps_the_contract_passes(n_cells, seed):
    """False failure below 1e-9."""
    check_randomizer(made(HadamardResponse, n_cells), seed=seed)


@pytest.mark.false_failure(1e-9)
def test_a_wrong_distribution_of_many_cells_is_caught_by_sampling(seed):
    class Skewed(UnaryEncoding):
        def randomize(self, cells, *, randomness):
            return UnaryEncoding.symmetric(epsilon=1.4, n_cells=self.n_cells).randomize(cells, randomness=randomness)

    right = UnaryEncoding.symmetric(epsilon=1.0, n_cells=100)
    with pytest.raises(AssertionError, match="probability"):
        check_randomizer(Skewed(100, right.ones, right.zeros), seed=seed)


def test_recorded_words_give_the_same_reports_when_listed():
    source, cells = RecordedWords(SeededRandomness(1)), np.arange(9) % 3
    encoding = UnaryEncoding.symmetric(epsilon=1.0, n_cells=3)
    reports = encoding.randomize(cells, randomness=source)
    listed = ListedWords(source.drawn)
    assert np.array_equal(encoding.randomize(cells, randomness=listed), reports)
    assert listed.n_left == 0
    with pytest.raises(AssertionError, match="are left"):
        listed.words(1)
