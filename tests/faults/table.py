"""The table of planted faults: each a mistake that somebody could make, where it is planted, and what must find it.

The full names of functions stand here and nowhere else in the suite; a function that is renamed is renamed here.
``python tools/table_of_faults.py`` prints the table.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from faults import refuters as by
from faults.planting import ALONE, Fault
from tacit.counts.node_distributions import DiscreteGaussian, DiscreteLaplace
from tacit.mechanisms.central.tree import node_noise
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.privacy.guarantee import Guarantee
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN

Plant = Callable[[Any], Any]


def property_of(change: Callable[[Any, Any], Any]) -> Plant:
    """A property whose value is changed: ``change(self, right value)``."""
    return lambda right: property(lambda self: change(self, right.__get__(self)))


def result_of(change: Callable[[Any], Any]) -> Plant:
    """A function whose result is changed."""
    return lambda right: lambda *args, **settings: change(right(*args, **settings))


def nothing(right: Any) -> Any:
    """A function that does nothing."""
    return lambda *args, **settings: None


# ---- how local randomizers go wrong


def _true_bits(reports: np.ndarray, cells: np.ndarray, column: np.ndarray, *, sets_only: bool) -> np.ndarray:
    """Reports whose bit of a column is what it truly is, or is set where it is."""
    rows, lane = np.arange(len(cells)), np.uint8(1) << (column % 8).astype(np.uint8)
    is_true = column == cells
    kept = reports[rows, column // 8] | np.where(is_true, lane, 0).astype(np.uint8)
    reports[rows, column // 8] = kept if sets_only else np.where(is_true, kept, kept & ~lane)
    return reports


def _last_bit_as_it_is(right: Any) -> Any:
    def randomize(self, cells, *, randomness):
        reports = right(self, cells, randomness=randomness)
        return _true_bits(reports, cells, np.full(len(cells), self.n_cells - 1), sets_only=False)

    return randomize


def _true_bit_never_cleared(right: Any) -> Any:
    def randomize(self, cells, *, randomness):
        return _true_bits(right(self, cells, randomness=randomness), cells, np.asarray(cells), sets_only=True)

    return randomize


def _with(change: Callable[[Any], Any]) -> Plant:
    """A randomizer that randomizes as another one, and states what it stated."""
    return lambda right: lambda self, cells, *, randomness: right(change(self), cells, randomness=randomness)


def _truth_drawn_again(response: RandomizedResponse) -> RandomizedResponse:
    """Keeps with probability p, and then draws from all cells, the true one among them."""
    return RandomizedResponse(response.n_cells, int(response.p * COIN))


def _thirsty(right: Any) -> Any:
    def randomize(self, cells, *, randomness):
        reports = right(self, cells, randomness=randomness)
        if len(cells) and cells[0] == 0:
            randomness.words(1)
        return reports

    return randomize


def _longer_for_the_last_cell(right: Any) -> Any:
    def randomize(self, cells, *, randomness):
        reports = right(self, cells, randomness=randomness)
        is_last = len(cells) and np.all(np.asarray(cells) == self.n_cells - 1)
        return np.pad(reports, ((0, 0), (0, 1))) if is_last else reports

    return randomize


def _level_by_value(right: Any) -> Any:
    """Values of the upper half answer for the levels with the chances the other way round."""

    def randomize(self, cells, *, randomness):
        other = replace(self, chances=self.chances[::-1])
        upper = np.asarray(cells) >= self.n_cells // 2
        reports = right(self, cells, randomness=randomness) if not upper.all() else None
        if upper.any():
            turned = right(other, cells, randomness=randomness)
            reports = turned if reports is None else np.where(upper[:, None], turned, reports)
        return reports

    return randomize


def _as_it_is(from_last: int) -> Plant:
    """Reports of one level, counted from the last, name the true node: what the others add hides nothing."""

    def plant(right: Any) -> Any:
        def randomize(self, cells, *, randomness):
            reports = right(self, cells, randomness=randomness)
            level = max(len(self.oracles) - from_last, 1)
            oracle, rows = self.oracles[level - 1], np.flatnonzero(reports[:, 0] == level)
            nodes = self.hierarchy.nodes_of(np.asarray(cells)[rows], level)
            sure = SubsetSelection(oracle.n_cells, oracle.size, COIN - 1)
            reports[rows, 1 : 1 + oracle.report_bytes] = sure.randomize(nodes, randomness=randomness)
            return reports

        return randomize

    return plant


def _one_coin_for_all(right: Any) -> Any:
    def bernoulli_bits(n_bits, threshold, randomness):
        coins = right(n_bits, threshold, randomness)
        if n_bits:
            coins[:] = COIN - 1 if coins[0] & np.uint64(1) else 0
            coins[-1] &= np.uint64((COIN - 1) >> (-n_bits % 64))
        return coins

    return bernoulli_bits


def _at_most_the_threshold(right: Any) -> Any:
    return lambda words, threshold, heads: right(words, threshold + 1, heads)


def _digits_left_out(right: Any) -> Any:
    """Coins that five digits leave open are tails: a threshold cut off after the second round."""
    return lambda threshold: tuple((digits, 0 if i else rest) for i, (digits, rest) in enumerate(right(threshold)))


def _uneven(right: Any) -> Any:
    """Lanes modulo the limit: the smaller values are a little likelier."""

    def integers_below(limits, n_rows, randomness):
        words = randomness.words(n_rows * len(limits)) & np.uint64(0xFFFF)
        return (words.reshape(n_rows, -1) % np.array(limits, np.uint64)).astype(np.uint16)

    return integers_below


def _ties_are_heads(right: Any) -> Any:
    def coins(words, keep, randomness):
        return (words >> np.uint64(48)) <= np.uint64(keep >> 48)

    return coins


def _truth_remembered(right: Any) -> Any:
    def permanent_bits(self, cells, *, randomness):
        return right(replace(self, permanent=0), cells, randomness=randomness)

    return permanent_bits


def _drawn_again(right: Any) -> Any:
    def remembered(self, slot, randomness):
        self._rows.pop(slot, None)
        return right(self, slot, randomness)

    return remembered


def _hashed_anew(right: Any) -> Any:
    """A device that draws its hash function, and so its permanent values, for every report."""

    def reports_of(memos, cells, *, randomness):
        return memos[0].mechanism.randomize(np.array(cells), randomness=randomness)

    return reports_of


def _last_one_remembered(right: Any) -> Any:
    """A memo of one row, which is forgotten when another is drawn."""

    def remembered(self, slot, randomness):
        row = right(self, slot, randomness)
        self._rows = {slot: row}
        return row

    return remembered


def _remembered_late(right: Any) -> Any:
    """A memo that is saved after the report was made, so that a power cut draws its bits again."""

    def report(self, cell, *, randomness):
        save, type(self)._save = type(self)._save, lambda memo: None
        try:
            made = right(self, cell, randomness=randomness)
        finally:
            type(self)._save = save
        self._save()
        return made

    return report


# ---- how noise goes wrong


def _gaussian(factor: Fraction) -> Plant:
    return lambda right: (
        lambda self, count, *, randomness: right(
            DiscreteGaussian(self.parameter * factor), count, randomness=randomness
        )
    )


def _laplace(factor: Fraction) -> Plant:
    return lambda right: (
        lambda self, count, *, randomness: right(DiscreteLaplace(self.rate * factor), count, randomness=randomness)
    )


def _nodes(change: Callable[[Any, np.ndarray, np.ndarray], np.ndarray]) -> Plant:
    """Noisy nodes that are changed, given the tree, the exact nodes and the noisy ones."""

    def plant(right: Any) -> Any:
        def noisy_nodes(self, counts, plan, *, spend):
            noisy = right(self, counts, plan, spend=spend)
            return change(self, self.sum_nodes(counts.reveal()), noisy)

        return noisy_nodes

    return plant


def _level_without_noise(tree: Any, exact: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    here = tree.hierarchy.level_slice(1)
    noisy[here] = exact[here]
    return noisy


def _first_child_has_its_parents_noise(tree: Any, exact: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    above, below = tree.hierarchy.level_slice(1), tree.hierarchy.level_slice(2)
    noise = noisy - exact
    fan_out = (below.stop - below.start) // (above.stop - above.start)
    noisy[below.start : below.stop : fan_out] = exact[below.start : below.stop : fan_out] + noise[above]
    return noisy


def _root_left_in(tree: Any, exact: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    noisy[tree.hierarchy.level_slice(0)] = exact[tree.hierarchy.level_slice(0)]
    return noisy


def _noise_of_one_place(tree: Any, exact: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    return exact + (noisy - exact)[:, :1]


def _place_has_the_noise_of_its_first_kind(tables: Any, exact: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    edges, n_kinds = np.cumsum([0, *tables.level_sizes]), tables.sizes[2]
    noisy[edges[1] : edges[2]] = exact[edges[1] : edges[2]] + (noisy - exact)[edges[3] :: n_kinds]
    return noisy


def _place_is_not_paid_for(tables: Any, distributions: tuple[Any, ...]) -> tuple[Any, ...]:
    total, _, *others = distributions
    return (total, node_noise(tables.cost, tables.unit, Fraction(1), 1), *others)


def _every_level_pays_alone(tree: Any, distributions: tuple[Any, ...]) -> tuple[Any, ...]:
    whole = node_noise(tree.cost, tree.unit, Fraction(1), 1)
    return tuple(distribution and whole for distribution in distributions)


def _unit_of_one(tree: Any, distributions: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        distribution and distribution.scaled(Fraction(tree.unit.sensitivity)) for distribution in distributions
    )


def _levels_of_unit(**less: int) -> Callable[[Any, Any], tuple[Any, ...]]:
    """The noise of a unit whose bounds are less than they are."""

    def distributions(tree: Any, right: tuple[Any, ...]) -> tuple[Any, ...]:
        unit = replace(tree.unit, **{name: getattr(tree.unit, name) - by for name, by in less.items()})
        levels = zip(right, tree.shares, tree.hierarchy.widest, strict=True)
        return tuple(
            one and node_noise(tree.cost, unit, Fraction(share, sum(tree.shares)), width)
            for one, share, width in levels
        )

    return distributions


def _fresh_words(right: Any) -> Any:
    def draw(self, release, input_digest):
        right(self, release, input_digest)
        return SeededRandomness(int.from_bytes(os.urandom(7), "little"))

    return draw


def _repeated_chunk(right: Any) -> Any:
    def discrete_laplace(count, rate, *, randomness):
        return np.resize(right(min(count, 1 << 16), rate, randomness=randomness), count)

    return discrete_laplace


def _negative_zero_kept(right: Any) -> Any:
    def propose(self, out, kernels, randomness):
        rejected = right(self, out, kernels, randomness)
        rejected[out == 0] = False
        return rejected

    return propose


# ---- how counters, ledgers and files go wrong


def _one_section(right: Any) -> Any:
    return lambda self, noise, section, first, stop: right(self, noise, 0, first, stop)


def _places_alike(right: Any) -> Any:
    def take(self, noise, section, first, stop):
        drawn = right(self, noise, section, first, stop)
        return np.repeat(drawn[:, :1], drawn.shape[1], axis=1)

    return take


def _key_of_its_own(right: Any) -> Any:
    return lambda self, key, n_places: right(self, os.urandom(32), n_places)


def _setting(**changed: Any) -> Plant:
    """A function that is called with other settings."""
    return lambda right: lambda *args, **settings: right(*args, **(settings | changed))


def _first_prior_for_ever(right: Any) -> Any:
    first: list[Any] = []

    def sealed(**settings):
        first.append(settings["prior"])
        return right(**(settings | {"prior": first[0]}))

    return sealed


def _key_kept(right: Any) -> Any:
    """The release counts as written, and its key stays where it is."""

    def finish(self, spend):
        with self._file.transaction() as connection:
            connection.execute("UPDATE spend SET finished_at = 'now' WHERE identifier = ?", (spend.identifier,))

    return finish


def _any_input(right: Any) -> Any:
    return lambda self, release, input_digest: right(self, release, b"counts")


def _kind_in_the_open(right: Any) -> Any:
    def split(layout, times, columns):
        public, hidden = right(layout, times, columns)
        return public * layout.sizes[2] + columns % layout.sizes[2], hidden

    return split


def _unsorted(right: Any) -> Any:
    return lambda bins, reports: np.argsort(bins, kind="stable")


def _one_event_for_less(right: Any) -> Any:
    def of_one_event(question, unit, is_counter):
        pure, rho = right(question, unit, is_counter)
        return (pure / 2, rho / 2) if unit.is_of_a_person else (pure, rho)

    return of_one_event


def _promising_parts_alone(right: Any) -> Any:
    """A sum over the entries that promise something, as if the others were not there."""
    return lambda counted, question: right(
        {entry: times for entry, times in counted.items() if entry.of_question(question) is not None}, question
    )


def _one_more(right: Any) -> Any:
    return lambda self, bound, *others: right(self, replace(bound, most=bound.most + 1), *others)


def _one_more_in_a_cell(right: Any) -> Any:
    def one_more(self, bound, *others):
        right(self, replace(bound, most_per_cell=bound.cell_bound + 1), *others)

    return one_more


def _counted_once(right: Any) -> Any:
    def add_units(self, cells, units):
        self._counts[cells] += units

    return add_units


def _day_forgotten(right: Any) -> Any:
    return lambda self, persons, windows: right(self, persons, np.zeros_like(windows))


def _nothing_added(right: Any) -> Any:
    def advanced(self, position, *, forget=0):
        self._added.clear()
        return right(self, position, forget=forget)

    return advanced


def _as_they_come(right: Any) -> Any:
    def arrange(rows, out):
        out[:] = rows[np.lexsort((rows[:, 0], rows[:, 1]))]

    return arrange


FAULTS: tuple[Fault, ...] = (
    # oracles
    Fault(
        "RAPPOR leaves the last bit as it is",
        "tacit.mechanisms.local.unary.UnaryEncoding.randomize",
        _last_bit_as_it_is,
        by.audit_of_devices("unary"),
        "tests/mechanisms/local/test_unary.py",
    ),
    Fault(
        "RAPPOR never clears the true bit",
        "tacit.mechanisms.local.unary.UnaryEncoding.randomize",
        _true_bit_never_cleared,
        by.audit_of_devices("unary"),
        "tests/mechanisms/local/test_unary.py",
    ),
    Fault(
        "randomized response keeps with p and then draws the truth again",
        "tacit.mechanisms.local.randomized_response.RandomizedResponse.randomize",
        _with(_truth_drawn_again),
        by.audit_of_devices("response"),
        "tests/mechanisms/local/test_randomized_response.py",
    ),
    Fault(
        "randomized response keeps 1 % more often",
        "tacit.mechanisms.local.randomized_response.RandomizedResponse.randomize",
        _with(lambda one: RandomizedResponse(one.n_cells, one.keep + one.keep // 100)),
        by.driven_words_of("response"),
        "tests/mechanisms/contract/test_driven_words.py",
    ),
    Fault(
        "subset selection includes the truth 2^-64 more often",
        "tacit.mechanisms.local.subset.SubsetSelection.randomize",
        _with(lambda one: SubsetSelection(one.n_cells, one.size, one.include + 1)),
        by.driven_words_of("subset"),
        "tests/mechanisms/contract/test_driven_words.py",
    ),
    Fault(
        "Hadamard response always favours the truth",
        "tacit.mechanisms.local.hadamard.HadamardResponse.randomize",
        _with(lambda one: replace(one, keep=COIN - 1)),
        by.audit_of_devices("hadamard"),
        "tests/mechanisms/local/test_hadamard.py",
    ),
    Fault(
        "optimized unary encoding sets the other bits half as often",
        "tacit.mechanisms.local.unary.UnaryEncoding.randomize",
        _with(lambda one: replace(one, zeros=one.zeros // 2)),
        by.audit_of_devices("optimized unary"),
        "tests/mechanisms/local/test_unary.py",
    ),
    Fault(
        "Hadamard response states half of its epsilon",
        "tacit.mechanisms.local.hadamard.HadamardResponse.epsilon",
        property_of(lambda self, epsilon: epsilon / 2),
        by.contract_of("hadamard"),
        "tests/mechanisms/local/test_hadamard.py",
    ),
    Fault(
        "epsilon is rounded down",
        "tacit.mechanisms.local.randomized_response.log_of_ratio",
        result_of(lambda epsilon: math.nextafter(epsilon, 0)),
        by.exact_epsilon,
        "tests/mechanisms/contract/test_every_mechanism.py",
    ),
    Fault(
        "a threshold is rounded towards less noise",
        "tacit.mechanisms.local.hadamard.logistic_threshold",
        result_of(lambda threshold: threshold - 1),
        by.exact_epsilon,
        "tests/mechanisms/local/test_hadamard.py",
    ),
    Fault(
        "a hashed report's coin is heads where its first digits do not decide",
        "tacit.mechanisms.local.hashing._coins",
        _ties_are_heads,
        by.driven_words_of("binary hashing"),
        "tests/mechanisms/local/test_hashing.py",
    ),
    Fault(
        "the level of a hierarchical report depends on the value",
        "tacit.mechanisms.local.sampled_levels.SampledLevels.randomize",
        _level_by_value,
        by.driven_words_of("hierarchical"),
        "tests/mechanisms/local/test_hierarchical.py",
    ),
    Fault(
        "the leaves of a hierarchical histogram have no noise",
        "tacit.mechanisms.local.sampled_levels.SampledLevels.randomize",
        _as_it_is(0),
        by.audit_of_devices("hierarchical"),
        "tests/mechanisms/local/test_hierarchical.py",
    ),
    Fault(
        "the table of one private coordinate has no noise",
        "tacit.mechanisms.local.sampled_levels.SampledLevels.randomize",
        _as_it_is(1),  # the joint table is the last, that of the last coordinate alone the one before
        by.audit_of_tables,
        "tests/mechanisms/contract/test_driven_words.py",
    ),
    Fault(
        "a value draws more words than another",
        "tacit.mechanisms.local.hadamard.HadamardResponse.randomize",
        _thirsty,
        by.contract_of("hadamard"),
        "tests/mechanisms/contract/test_every_mechanism.py",
    ),
    Fault(
        "a report is longer for one value",
        "tacit.mechanisms.local.hadamard.HadamardResponse.randomize",
        _longer_for_the_last_cell,
        by.contract_of("hadamard"),
        "tests/mechanisms/contract/test_every_mechanism.py",
    ),
    # coins and integers
    Fault(
        "a coin is heads at its threshold too",
        "tacit.randomness.bernoulli._compare",
        _at_most_the_threshold,
        by.driven_words_of("unary"),
        "tests/randomness/test_bernoulli.py",
    ),
    Fault(
        "coins tossed by digits leave out the last digits",
        "tacit.randomness.bernoulli._rounds_of",
        _digits_left_out,
        by.reference_of("unary"),
        "tests/randomness/test_bernoulli.py",
    ),
    Fault(
        "one coin serves a whole batch",
        "tacit.mechanisms.local.randomized_response.bernoulli_bits",
        _one_coin_for_all,
        by.audit_of_devices("response"),
        "tests/mechanisms/contract/test_driven_words.py",
    ),
    Fault(
        "integers are uneven by one lane in 65,536",
        "tacit.mechanisms.local.randomized_response.integers_below",
        _uneven,
        by.driven_words_of("response"),
        "tests/mechanisms/contract/test_driven_words.py",
    ),
    # devices that remember
    Fault(
        "permanent bits are the truth",
        "tacit.mechanisms.local.memoized.LongitudinalRappor.permanent_bits",
        _truth_remembered,
        by.repeated,
        "tests/mechanisms/local/test_memoized.py",
    ),
    Fault(
        "a device draws its permanent bits for every report",
        "tacit.mechanisms.local.memo.DeviceMemo._remembered",
        _drawn_again,
        by.memo_survives,
        "tests/mechanisms/local/test_memoized.py",
    ),
    Fault(
        "a device hashes by another function in every report",
        "tacit.mechanisms.local.memo.DeviceMemo.reports_of",
        _hashed_anew,
        by.memo_of_hashing,
        "tests/mechanisms/local/test_repeated.py",
    ),
    Fault(
        "a memo forgets while another value is held",
        "tacit.mechanisms.local.memo.DeviceMemo._remembered",
        _last_one_remembered,
        by.memo_of_hashing,
        "tests/mechanisms/local/test_repeated.py",
    ),
    Fault(
        "both rounds of longitudinal hashing keep a value 2^-64 more often",
        "tacit.mechanisms.local.memoized_hashing.LongitudinalHashing.randomize",
        _with(lambda one: replace(one, permanent_keep=one.permanent_keep + 1, keep=one.keep + 1)),
        by.driven_words_of("longitudinal hashing"),
        "tests/mechanisms/contract/test_driven_words.py",
    ),
    Fault(
        "a device saves its permanent bits after the report",
        "tacit.mechanisms.local.memo.DeviceMemo.report",
        _remembered_late,
        by.memo_survives,
        ALONE,
    ),
    # sources of words
    Fault(
        "secure words have a key left in the code",
        "tacit.randomness.source.SecureRandomness._rekey",
        lambda right: _fixed_key,
        by.sources,
        "tests/randomness/test_source.py",
    ),
    Fault(
        "a keyed source forgets its position",
        "tacit.randomness.source.KeyedRandomness.__init__",
        lambda right: lambda self, key, position=0: right(self, key, 0),
        by.sources,
        "tests/randomness/test_source.py",
    ),
    Fault(
        "seeded words pass for secure ones",
        "tacit.randomness.source.SeededRandomness.is_simulation",
        property_of(lambda self, label: False),
        by.sources,
        "tests/randomness/test_source.py",
    ),
    # noise
    Fault(
        "Laplace noise is 10 % low",
        "tacit.counts.node_distributions.DiscreteLaplace.draw",
        _laplace(Fraction(10, 9)),
        by.flat,
        "tests/audit/test_nodes.py",
    ),
    Fault(
        "Laplace noise is never negative",
        "tacit.counts.node_distributions.DiscreteLaplace.draw",
        result_of(np.abs),
        by.flat,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "Laplace noise repeats after 65,536 values",
        "tacit.counts.node_distributions.discrete_laplace",
        _repeated_chunk,
        by.draws,
        ALONE,
    ),
    Fault(
        "Gaussian noise is 10 % low",
        "tacit.counts.node_distributions.DiscreteGaussian.draw",
        _gaussian(Fraction(81, 100)),
        by.flat_gaussian,
        "tests/audit/test_nodes.py",
    ),
    Fault(
        "Gaussian noise has half of its standard deviation",
        "tacit.counts.node_distributions.DiscreteGaussian.draw",
        _gaussian(Fraction(1, 4)),
        by.flat_gaussian,
        "tests/audit/test_nodes.py",
    ),
    Fault(
        "Gaussian noise has 2 % too little variance",
        "tacit.counts.node_distributions.DiscreteGaussian.draw",
        _gaussian(Fraction(98, 100)),
        by.draws,
        ALONE,
    ),
    Fault(
        "large Gaussian noise is zero twice as often",
        "tacit.randomness.gaussian._Blocked._propose",
        _negative_zero_kept,
        by.draws,
        "tests/randomness/test_gaussian.py",
    ),
    # trees
    Fault(
        "a level of a tree has no noise",
        "tacit.mechanisms.central.tree.NoisyTree.noisy_nodes",
        _nodes(_level_without_noise),
        by.tree,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "a first child has its parent's noise",
        "tacit.mechanisms.central.tree.NoisyTree.noisy_nodes",
        _nodes(_first_child_has_its_parents_noise),
        by.independent,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "all places of a release have the same noise",
        "tacit.mechanisms.central.tree.NoisyTree.noisy_nodes",
        _nodes(_noise_of_one_place),
        by.flat,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "a release is paid with less than it costs",
        "tacit.mechanisms.central.tree.check_release",
        nothing,
        by.price,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "anybody can make a spend",
        "tacit.privacy.spend.Spend.__post_init__",
        nothing,
        by.price,
        "tests/privacy/test_spending.py",
    ),
    Fault(
        "every level of a tree spends the whole epsilon",
        "tacit.mechanisms.central.tree.NoisyTree.distributions",
        property_of(_every_level_pays_alone),
        by.tree,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "a person's day is paid as one event",
        "tacit.mechanisms.central.tree.NoisyTree.distributions",
        property_of(_unit_of_one),
        by.tree_of_days,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "Laplace noise for one event of a person less than is counted",
        "tacit.mechanisms.central.tree.NoisyTree.distributions",
        property_of(_levels_of_unit(most=1)),
        by.tree_of_persons,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "Gaussian noise for one event of a person less than is counted",
        "tacit.mechanisms.central.tree.NoisyTree.distributions",
        property_of(_levels_of_unit(most=1)),
        by.gaussian_tree_of_persons,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "Gaussian noise for one event in a cell less than is counted",
        "tacit.mechanisms.central.tree.NoisyTree.distributions",
        property_of(_levels_of_unit(most_per_cell=1)),
        by.gaussian_tree_of_persons,
        "tests/mechanisms/central/test_tree.py",
    ),
    Fault(
        "a bound is chosen by a utility that one person changes by two",
        "tacit.mechanisms.central.bound_choice.BoundChoice.utilities",
        lambda right: lambda *given: tuple(2 * one for one in right(*given)),
        by.bound_choice,
        "tests/mechanisms/central/test_bound_choice.py",
    ),
    Fault(
        "an exact sum stays in a node that is not measured",
        "tacit.mechanisms.central.tree.NoisyTree.noisy_nodes",
        _nodes(_root_left_in),
        by.unmeasured,
        ALONE,
    ),
    Fault(
        "other noise is drawn when a release is asked for again",
        "tacit.privacy.spend.SimulatedNoise.draw",
        _fresh_words,
        by.independent,
        "tests/privacy/test_spending.py",
    ),
    # tables
    Fault(
        "the table of places has the noise of the joint table",
        "tacit.mechanisms.central.marginals.MarginalTables.noisy_nodes",
        _nodes(_place_has_the_noise_of_its_first_kind),
        by.independent,
        "tests/mechanisms/central/test_marginals.py",
    ),
    Fault(
        "the table of places has the noise of the whole budget",
        "tacit.mechanisms.central.marginals.MarginalTables.distributions",
        property_of(_place_is_not_paid_for),
        by.tables,
        "tests/mechanisms/central/test_marginals.py",
    ),
    # counters
    Fault(
        "a counter forgets that a count stands in several nodes",
        "tacit.counts.continual_noise.model.node_distribution",
        lambda right: lambda cost, *, sizes, most=1, **_: right(cost, sizes=sizes[:1], most=most),
        by.counter_events,
        "tests/counts/continual_noise/test_models.py",
    ),
    Fault(
        "a counter forgets that a person's day is several counts",
        "tacit.counts.continual_noise.model.node_distribution",
        lambda right: lambda cost, *, sizes, **_: right(cost, sizes=sizes),
        by.counter_days,
        "tests/counts/continual_noise/test_models.py",
    ),
    Fault(
        "a counter's Gaussian noise is 10 % low",
        "tacit.counts.node_distributions.discrete_gaussian",
        lambda right: (
            lambda count, variance, *, randomness: right(count, variance * Fraction(81, 100), randomness=randomness)
        ),
        by.counter_gaussian,
        "tests/audit/test_nodes.py",
    ),
    Fault(
        "a counter draws other noise after a restart",
        "tacit.mechanisms.continual.engines.NodeDraws.__init__",
        _key_of_its_own,
        by.restart,
        "tests/mechanisms/continual/test_engines.py",
    ),
    Fault(
        "two epochs of a counter have the same noise",
        "tacit.mechanisms.continual.engines.NodeDraws.take",
        _one_section,
        by.own_noise,
        "tests/mechanisms/continual/test_engines.py",
    ),
    Fault(
        "all places of a counter have the same noise",
        "tacit.mechanisms.continual.engines.NodeDraws.take",
        _places_alike,
        by.counter_events,
        "tests/mechanisms/continual/test_engines.py",
    ),
    # the ledger
    Fault(
        "a price is not written down before noise is drawn",
        "tacit.privacy.ledger.ledger.write_spend",
        nothing,
        by.paid_first,
        "tests/privacy/test_spending.py",
    ),
    Fault(
        "a spend forgets what was spent before",
        "tacit.privacy.ledger.ledger.sealed",
        _first_prior_for_ever,
        by.budget,
        "tests/privacy/test_spending.py",
    ),
    Fault(
        "a budget binds nobody",
        "tacit.privacy.ledger.ledger.check_admitted",
        nothing,
        by.budget,
        "tests/privacy/test_spending.py",
    ),
    Fault(
        "events are not known again",
        "tacit.privacy.ledger.past.touched",
        lambda right: lambda *settings, **more: [],
        by.randomized_once,
        "tests/privacy/test_ledger.py",
    ),
    Fault(
        "two runs hide each other's coordinates",
        "tacit.privacy.following._undo_each_other",
        nothing,
        by.randomized_once,
        "tests/privacy/test_ledger.py",
    ),
    Fault(
        "two runs of reports count other rows",
        "tacit.privacy.following.count_others",
        nothing,
        by.randomized_once,
        "tests/privacy/test_following.py",
    ),
    Fault(
        "the digest of what a run counts ignores kinds",
        "tacit.events.digest.of_kind",
        result_of(lambda _: "any"),
        by.counted_alike,
        "tests/collection/test_selections.py",
    ),
    Fault(
        "a person's day is promised after releases for events",
        "tacit.privacy.ledger.ledger.check_may_follow",
        nothing,
        by.units,
        "tests/privacy/test_spending.py",
    ),
    Fault(
        "a key is not wiped",
        "tacit.privacy.ledger.ledger.Ledger.finish",
        _key_kept,
        by.key,
        "tests/privacy/test_spending.py",
    ),
    Fault(
        "the same noise is drawn for other counts",
        "tacit.privacy.ledger.entries.LedgerNoise.draw",
        _any_input,
        by.key,
        "tests/privacy/test_spending.py",
    ),
    Fault(
        "an edited ledger is believed",
        "tacit.privacy.ledger.chain._digest",
        result_of(lambda digest: bytes(32)),
        by.chain,
        "tests/privacy/test_ledger_chain.py",
    ),
    Fault(
        "what is published carries no head",
        "tacit.counts.provenance.heads_to_dict",
        result_of(lambda content: {}),
        by.heads,
        "tests/privacy/test_ledger_heads.py",
    ),
    Fault(
        "a sum keeps the head of one part",
        "tacit.counts.provenance.Provenance.__add__",
        lambda right: lambda self, other: replace(right(self, other), ledger_heads=self.ledger_heads),
        by.heads,
        "tests/privacy/test_ledger_heads.py",
    ),
    Fault(
        "any ledger passes for the one that paid",
        "tacit.privacy.ledger.file.LedgerFile._missing",
        lambda right: lambda self, heads: [],
        by.heads,
        "tests/privacy/test_ledger_heads.py",
    ),
    Fault(
        "days of two time zones never add up",
        "tacit.privacy.ledger.touched.zones_of",
        result_of(lambda zones: set()),
        by.zones,
        "tests/privacy/test_spending.py",
    ),
    Fault(
        "a statement that is issued again forgets other entries",
        "tacit.privacy.ledger.ledger.others_than",
        lambda right: lambda connection, entry: Guarantee(),
        by.issued_again,
        "tests/end_to_end/test_promises_agree.py",
    ),
    Fault(
        "a statement is issued again for another data set",
        "tacit.privacy.ledger.ledger.entries_at",
        result_of(lambda shown: {entry: -number for entry, number in shown.items()}),
        by.issued_again,
        "tests/end_to_end/test_promises_agree.py",
    ),
    Fault(
        "presence is promised on days that reports show to be empty",
        "tacit.collection.randomizing._silent",
        lambda right: lambda plan, days, only: iter(()),
        by.silent,
        "tests/collection/test_randomizing.py",
    ),
    # what is promised after several entries
    Fault(
        "a release counts once where an event is replaced",
        "tacit.privacy.guarantee.Guarantee.of_release",
        result_of(lambda made: replace(made, replacement=made.presence)),
        by.promises,
        "tests/privacy/test_guarantee.py",
    ),
    Fault(
        "one event costs half of its part of a person's day",
        "tacit.privacy.questions._of_one_event",
        _one_event_for_less,
        by.promises,
        "tests/privacy/test_guarantee.py",
        ("tacit.privacy.questions.times",),
    ),
    Fault(
        "the negative weights of a counter are forgotten",
        "tacit.privacy.guarantee.times",
        lambda right: (
            lambda question, unit, *, is_counter, overlap: right(question, unit, is_counter=False, overlap=overlap)
        ),
        by.promises,
        "tests/privacy/test_guarantee.py",
    ),
    Fault(
        "a release of single events promises a person's day",
        "tacit.privacy.guarantee.Guarantee.of_release",
        result_of(lambda made: replace(made, person_day=made.person_day or made.presence)),
        by.promises,
        "tests/privacy/test_guarantee.py",
    ),
    Fault(
        "presence is promised after reports",
        "tacit.privacy.guarantee.Guarantee.of_reports",
        result_of(lambda made: replace(made, presence=made.replacement)),
        by.promises,
        "tests/privacy/test_guarantee.py",
    ),
    Fault(
        "entries that promise nothing are left out of a sum",
        "tacit.privacy.guarantee._sum",
        _promising_parts_alone,
        by.promises,
        "tests/privacy/test_guarantee.py",
    ),
    Fault(
        "a part of a person's window costs one price",
        "tacit.privacy.unit.Overlap",
        lambda right: lambda within, partly: right(within + partly, 0),
        by.window_prices,
        "tests/privacy/test_persons_in_small_worlds.py",
        ("tacit.privacy.unit.overlaps_of",),
    ),
    Fault(
        "the days of a longer window count once",
        "tacit.privacy.unit.Overlap",
        lambda right: lambda within, partly: right(min(within, 1), min(partly, 1)),
        by.window_prices,
        "tests/privacy/test_persons_in_small_worlds.py",
        ("tacit.privacy.unit.overlaps_of",),
    ),
    Fault(
        "releases of other days of a person's window are left out",
        "tacit.privacy.ledger.past.Past._bounds",
        result_of(lambda bounds: replace(bounds, asked=())),
        by.window_prices,
        "tests/privacy/test_following.py",
    ),
    # statements, releases and files
    Fault(
        "statements round down",
        "tacit._base.rounding.round_up",
        lambda right: lambda value, digits: math.floor(value * 10.0**digits) / 10.0**digits,
        by.rounding,
        "tests/release/test_release.py",
    ),
    Fault(
        "the cheapest day counts",
        "tacit.privacy.cost.Cost.parallel",
        lambda right: lambda cls, *costs: cls(min((c.epsilon for c in costs), default=0.0), 0.0),
        by.costs,
        "tests/privacy/test_cost.py",
    ),
    Fault(
        "two releases at one price count once",
        "tacit.privacy.cost.Cost.sum",
        lambda right: lambda cls, costs: right(cls, set(costs)),
        by.costs,
        "tests/privacy/test_cost.py",
    ),
    Fault(
        "rho is converted to 1 % too small an epsilon",
        "tacit.privacy.cost.epsilon_of_rho",
        result_of(lambda epsilon: 0.99 * epsilon),
        by.costs,
        "tests/privacy/test_cost.py",
    ),
    Fault(
        "a sum of tallies loses the label of a simulation",
        "tacit.counts.provenance.Provenance.__add__",
        result_of(lambda label: replace(label, is_simulation=False)),
        by.label,
        "tests/end_to_end/test_simulation_label.py",
    ),
    Fault(
        "a report file loses the label of a simulation",
        "tacit.counts.provenance.Provenance.to_dict",
        result_of(lambda content: content | {"is_simulation": False}),
        by.label,
        "tests/collection/wire/test_reports.py",
    ),
    Fault(
        "a private kind of event stands in the open",
        "tacit.domain.layout.Layout.split",
        _kind_in_the_open,
        by.public_part,
        "tests/collection/test_kinds_hidden.py",
    ),
    Fault(
        "a message tells the order of events",
        "tacit.collection.wire.message.sorting_order",
        _unsorted,
        by.order,
        "tests/collection/wire/test_message.py",
    ),
    Fault(
        "a report file tells the order of events",
        "tacit.collection.wire.spool.sorting_order",
        _unsorted,
        by.order,
        "tests/collection/wire/test_reports.py",
    ),
    Fault(
        "a file drawn from counts tells the order of cells",
        "tacit.collection.wire.randomizing_writer.sorting_order",
        _unsorted,
        by.order,
        "tests/collection/test_randomizing.py",
    ),
    Fault(
        "reports of other counts are drawn from the same words",
        "tacit.collection.randomizing.drawing_key",
        lambda right: lambda secret, plan_id, counts_digest: right(secret, plan_id, b""),
        by.other_words,
        "tests/collection/test_randomizing.py",
    ),
    Fault(
        "names are written as formulas",
        "tacit.release.exports.harmless",
        lambda right: lambda cell: cell,
        by.formulas,
        "tests/release/test_formulas.py",
    ),
    Fault(
        "files are not seen on the disk",
        "tacit._base.files._sync",
        nothing,
        by.durable,
        "tests/_base/test_durable_files.py",
    ),
    Fault(
        "folders are not seen on the disk",
        "tacit._base.files.sync_folder",
        nothing,
        by.durable,
        "tests/_base/test_durable_files.py",
    ),
    Fault(
        "a suppressed value stays in the file",
        "tacit.release.release.without_cells",
        lambda right: lambda estimate, cells: estimate,
        by.suppressed,
        "tests/release/test_rules.py",
    ),
    Fault(
        "the noise model remembers suppressed values",
        "tacit.counts.noise.oracle.evened",
        lambda right: lambda counts, cells: counts,
        by.suppressed,
        "tests/release/test_rules.py",
    ),
    # events
    Fault(
        "one event more than the bound is counted of a person",
        "tacit.events.contribution_bound.BoundedCount.__init__",
        _one_more,
        by.persons,
        "tests/events/test_bounding.py",
    ),
    Fault(
        "one event more than the bound is counted of a person in a cell",
        "tacit.events.contribution_bound.BoundedCount.__init__",
        _one_more_in_a_cell,
        by.persons,
        "tests/events/test_bounding.py",
    ),
    Fault(
        "a person's windows are bounded together",
        "tacit.events.contribution_bound.PersonHash.hashes",
        _day_forgotten,
        by.persons,
        "tests/events/test_bounding.py",
    ),
    Fault(
        "rows of a cell are bounded apart",
        "tacit._base.kernels.bounding_plain.arrange",
        _as_they_come,
        by.persons,
        "tests/events/test_bounding.py",
    ),
    Fault(
        "a counter forgets what it counted of a person",
        "tacit.mechanisms.continual.contributions.Contributions.before",
        lambda right: lambda self, groups: np.zeros(len(groups), np.int64),
        by.counter_of_persons,
        "tests/collection/test_person_counters.py",
    ),
    Fault(
        "a counter does not write down what it counted of a person",
        "tacit.mechanisms.continual.contributions.Contributions.advanced",
        _nothing_added,
        by.counter_of_persons,
        "tests/collection/test_person_counters.py",
    ),
    Fault(
        "rows of one cell are counted once in a batch",
        "tacit.events.counts.CountKeeper.add_units",
        _counted_once,
        by.rows,
        "tests/events/test_counts.py",
    ),
    Fault(
        "an event elsewhere sends no report",
        "tacit.domain.place.PlaceAxis.elsewhere",
        property_of(lambda self, cell: None),
        by.elsewhere,
        "tests/domain/test_place.py",
    ),
    # shuffling
    Fault(
        "the bound of shuffling is stated where it does not hold",
        "tacit.privacy.shuffling.closed_form",
        lambda right: lambda epsilon, n_reports, *, delta: right(epsilon, n_reports, delta=delta) or epsilon / 2,
        by.shuffling,
        "tests/privacy/test_shuffling.py",
    ),
    Fault(
        "all others are taken to send even draws",
        "tacit.privacy.shuffling._ResponseCounts._ranges",
        lambda right: lambda self, n, share: right(self, n, 1 - 1e-12),
        by.shuffling,
        "tests/privacy/test_shuffling.py",
    ),
)


def _fixed_key(self: Any) -> None:
    from tacit.randomness.source import _Keystream

    self._stream, self._pid, self._used_bytes = _Keystream(bytes(32)), os.getpid(), 0
