"""Local hashing is exactly as private as it says, exactly unbiased, and its variances are those of its family."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit._base import galois
from tacit.audit.testing import assert_frequencies, check_channel, check_one_at_a_time, check_reports
from tacit.counts.oracle_distributions import HashingDistribution, distribution_from_dict
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.hashing import LocalHashing, mean_variance
from tacit.plan import Plan
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "hash.json").read_text(encoding="utf-8"))
SPECIFICATION = (Path(__file__).parents[3] / "docs" / "hash.md").read_text(encoding="utf-8")

QUARTER = COIN // 4
HASHINGS = [
    LocalHashing.from_epsilon(epsilon=0.01, n_cells=3),
    LocalHashing.from_epsilon(epsilon=1.0, n_cells=5),
    LocalHashing.from_epsilon(epsilon=10.0, n_cells=2, binary=True),
    LocalHashing(n_cells=2, bits=3, keep=QUARTER),
    LocalHashing(n_cells=8, bits=3, keep=3 * QUARTER),
    LocalHashing(n_cells=11, bits=2, keep=QUARTER),
]
EPSILONS = (0.01, 0.1, 0.5, 1.0, 1.69, 2.2, 4.39, 5.89, 8.0, 10.0)


def plan_of(hashing: LocalHashing, n_days: int) -> Plan:
    last = np.datetime64("2018-01-01") + n_days - 1
    places = PlaceAxis.of([f"place {i}" for i in range(hashing.n_cells)])
    domain = Domain(TimeAxis.between("2018-01-01", str(last)), places)
    return Plan(domain, "hashing", hashing.epsilon, tuple(sorted(hashing.thresholds().items())))


def values_of(hashing: LocalHashing) -> NDArray[np.uint32]:
    """The hash value of every cell (column) under every function (row)."""
    size = 1 << hashing.degree
    functions, cells = np.meshgrid(np.arange(size), np.arange(hashing.n_cells), indexing="ij")
    return hashing.hashed(functions.ravel(), cells.ravel()).reshape(size, hashing.n_cells)


def listed(hashing: LocalHashing, true_cell: int) -> Iterator[tuple[Fraction, list[bool]]]:
    """The probability of every report of a cell, and what the report supports."""
    values, size = values_of(hashing), 1 << hashing.degree
    for number, chance in enumerate(hashing.channel()[true_cell]):
        a, z = number % size, number >> hashing.degree
        yield chance, (values[a] == z).tolist()


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_with_an_offset_the_family_is_pairwise_independent(degree):
    """All functions T(a v + b): any two cells take any two values equally often."""
    size = 1 << degree
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(size), np.arange(size)))
    for bits in range(1, degree + 1):
        values = [
            (galois.multiply(a, np.full(a.size, v), degree) ^ b).astype(int) >> (degree - bits) for v in range(size)
        ]
        for v, w in product(range(size), repeat=2):
            if v != w:
                pairs = np.bincount(values[v] << bits | values[w], minlength=1 << 2 * bits)
                assert set(pairs.tolist()) == {size * size >> 2 * bits}


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 6])
def test_any_two_cells_share_their_value_under_one_function_in_g(degree):
    size = 1 << degree
    for bits in range(1, degree + 1):
        values = values_of(LocalHashing(max(2, size), bits, QUARTER))
        for v in range(size):
            shared = (values == values[:, [v]]).sum(axis=0)
            assert all(n == (size if w == v else size >> bits) for w, n in enumerate(shared.tolist()))


@pytest.mark.parametrize("hashing", HASHINGS)
def test_the_channel_adds_up_and_gives_the_stated_epsilon_exactly(hashing):
    check_channel(hashing)


@pytest.mark.parametrize("hashing", HASHINGS)
def test_a_report_supports_the_truth_with_p_and_every_other_cell_with_q(hashing):
    for u in range(hashing.n_cells):
        chances = [Fraction(0)] * hashing.n_cells
        for chance, supports in listed(hashing, u):
            chances = [c + chance * s for c, s in zip(chances, supports, strict=True)]
        assert chances == [hashing.p if v == u else hashing.q for v in range(hashing.n_cells)]
    assert hashing.q == Fraction(1, hashing.n_values)


@pytest.mark.parametrize("hashing", HASHINGS)
def test_moving_the_threshold_by_one_changes_epsilon(hashing):
    for step in (-1, 1):
        moved = LocalHashing(hashing.n_cells, hashing.bits, hashing.keep + step)
        assert moved.channel() != hashing.channel()
        # more truth is less privacy
        assert (moved.p > hashing.p) == (step > 0)


@pytest.mark.parametrize("n_cells", [2, 3, 17, 100, 1000, 10_000])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("binary", [True, False])
def test_the_realized_epsilon_equals_the_one_asked_for_and_never_exceeds_it(n_cells, epsilon, binary):
    hashing = LocalHashing.from_epsilon(epsilon=epsilon, n_cells=n_cells, binary=binary)
    assert epsilon * (1 - 1e-9) <= hashing.epsilon <= epsilon
    assert not binary or hashing.n_values == 2


@given(st.floats(0.01, 10), st.integers(2, 20_000))
def test_any_epsilon_is_met_with_a_hash_of_least_mean_variance(epsilon, n_cells):
    hashing = LocalHashing.from_epsilon(epsilon=epsilon, n_cells=n_cells)
    assert epsilon * (1 - 1e-9) <= hashing.epsilon <= epsilon
    chosen = mean_variance(epsilon, hashing.n_values, n_cells)
    assert chosen <= min(
        mean_variance(epsilon, g, n_cells) for g in (2 * hashing.n_values, max(2, hashing.n_values // 2))
    )
    p, q = float(hashing.p), float(hashing.q)
    assert q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / n_cells == pytest.approx(chosen, rel=1e-6)


def test_a_power_of_two_costs_what_is_stated():
    def cost(epsilon: float, n_cells: int) -> float:
        best = mean_variance(epsilon, np.arange(2, int(2 * math.exp(epsilon)) + 8), n_cells).min()
        hashing = LocalHashing.from_epsilon(epsilon=epsilon, n_cells=n_cells)
        return mean_variance(epsilon, hashing.n_values, n_cells) / best

    costs = {e / 100: cost(e / 100, 1_000_000) for e in range(10, 801)}
    assert max(costs, key=costs.__getitem__) == pytest.approx(0.55)
    assert 1.0715 < max(costs.values()) < 1.072
    assert 1.04 < max(ratio for epsilon, ratio in costs.items() if epsilon >= 1) < 1.043


@pytest.mark.false_failure(3e-9)
@pytest.mark.parametrize("hashing", HASHINGS)
def test_reports_have_the_channels_distribution(hashing, seed):
    check_reports(hashing, seed=seed, false_failure=1e-9)


@pytest.mark.false_failure(3e-9)
def test_reports_of_a_wrong_epsilon_are_caught(seed):
    right, wrong = (LocalHashing.from_epsilon(epsilon=e, n_cells=2, binary=True) for e in (1.0, 1.1))
    reports = wrong.randomize(np.ones(100_000, int), randomness=SeededRandomness(seed))
    with pytest.raises(AssertionError, match="probability"):
        assert_frequencies(np.bincount(reports[:, 0], minlength=4), right.channel()[1], false_failure=1e-9)


def test_a_coin_that_its_first_digits_leave_open_is_settled_exactly():
    """Words whose highest 16 bits are those of keep: the coin is the next word against keep's other 48 bits."""

    class Scripted:
        is_simulation = True

        def __init__(self, words: list[int]) -> None:
            self.left = words

        def words(self, count: int) -> NDArray[np.uint64]:
            drawn, self.left = self.left[:count], self.left[count:]
            return np.array(drawn, np.uint64)

        def fill(self, out: NDArray[np.uint64]) -> None:
            out[:] = self.words(out.size)

    hashing = LocalHashing(n_cells=4, bits=1, keep=(7 << 48) + 5)
    word = 7 << 48 | 0b100 | 0b01  # the drawn value is 1; under a = 1 the value of cell 0 is 0
    for second, number in ((5 << 16) - 1, 0b001), (5 << 16, 0b101):
        reports = hashing.randomize(np.array([0]), randomness=Scripted([word, second]))
        assert reports.tolist() == [[number]]
    for first, number in (word - (1 << 48), 0b001), (word + (1 << 48), 0b101):
        assert hashing.randomize(np.array([0]), randomness=Scripted([first])).tolist() == [[number]]


@pytest.mark.parametrize("n_cells", [2, 8, 9, 17, 64, 65, 1024, 1 << 20])
def test_every_report_has_the_same_length_whatever_the_value(n_cells):
    hashing = LocalHashing.from_epsilon(epsilon=2.0, n_cells=n_cells)
    check_one_at_a_time(hashing, range(0, n_cells, max(1, n_cells // 5)), seed=1)
    assert hashing.report_bytes == -(-(hashing.degree + hashing.bits) // 8)


@pytest.mark.false_failure(3e-9)
@pytest.mark.parametrize("n_cells", [2, 17, 100])
def test_one_at_a_time_and_millions_share_one_distribution(n_cells, seed):
    hashing = LocalHashing.from_epsilon(epsilon=1.5, n_cells=n_cells)
    cell, n_single, n_many = n_cells - 1, 2_000, 300_000
    source = SeededRandomness(seed)
    single = np.concatenate([hashing.randomize(np.array([cell]), randomness=source) for _ in range(n_single)])
    many = hashing.randomize(np.full(n_many, cell), randomness=SeededRandomness(seed + 1))
    for rows in (single, many):
        counts = hashing.statistics(rows, np.array([len(rows)]))[0]
        for j, count in enumerate(counts.tolist()):
            chance = hashing.p if j == cell else hashing.q
            assert_frequencies([count, len(rows) - count], [chance, 1 - chance], false_failure=1e-11)


@pytest.mark.parametrize("hashing", [LocalHashing(3, 1, QUARTER), LocalHashing(3, 2, 3 * QUARTER)])
def test_the_estimate_is_unbiased_with_the_stated_variance_by_listing_all_outcomes(hashing):
    """Three events in three cells: every outcome of the three reports, with its exact probability."""
    truth, weights = [0, 0, 2], [1, 2, -1]
    outcomes: dict[tuple[int, ...], Fraction] = {(0, 0, 0): Fraction(1)}
    for cell in truth:
        wider: dict[tuple[int, ...], Fraction] = {}
        for supported, chance in outcomes.items():
            for one, supports in listed(hashing, cell):
                key = tuple(c + s for c, s in zip(supported, supports, strict=True))
                wider[key] = wider.get(key, Fraction(0)) + chance * one
        outcomes = wider
    p, q = hashing.p, hashing.q

    def question(supported: tuple[int, ...]) -> Fraction:
        return sum((w * (c - 3 * q) / (p - q) for w, c in zip(weights, supported, strict=True)), start=Fraction(0))

    mean = sum(question(key) * chance for key, chance in outcomes.items())
    variance = sum((question(key) - mean) ** 2 * chance for key, chance in outcomes.items())
    assert mean == sum(w * truth.count(j) for j, w in enumerate(weights))
    per_report = hashing.distribution.variances(np.array(weights, float))
    assert sum(per_report[u] for u in truth) == pytest.approx(float(variance), rel=1e-12)


@pytest.mark.parametrize("hashing", [*HASHINGS, LocalHashing(7, 1, QUARTER), LocalHashing(13, 3, QUARTER)])
@pytest.mark.parametrize("question", ["one", "all", "some", "mixed"])
def test_the_distribution_gives_the_variance_of_the_listed_reports(hashing, question):
    k = hashing.n_cells
    weights = {
        "one": [1] + [0] * (k - 1),
        "all": [1] * k,
        "some": [v % 2 for v in range(k)],
        "mixed": [(v * v) % 7 - 3 for v in range(k)],
    }[question]
    by_distribution = hashing.distribution.variances(np.array(weights, float))
    for u in range(k):
        sums = [
            (chance, sum(w for w, s in zip(weights, supports, strict=True) if s))
            for chance, supports in listed(hashing, u)
        ]
        mean = sum(chance * total for chance, total in sums)
        variance = sum(chance * (total - mean) ** 2 for chance, total in sums) / (hashing.p - hashing.q) ** 2
        assert by_distribution[u] == pytest.approx(float(variance), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(("n_cells", "bits"), [(40, 1), (64, 2), (50, 4), (20, 6), (33, 7)])
def test_the_distribution_gives_the_variance_of_the_family_in_blocks_too(n_cells, bits, monkeypatch):
    monkeypatch.setattr("tacit.counts.oracle_distributions._NUMBERS_AT_ONCE", 1 << 7)
    hashing = LocalHashing(n_cells, bits, QUARTER)
    weights = np.random.default_rng(n_cells).normal(size=n_cells)
    values, kept = values_of(hashing).astype(int), hashing.keep / COIN
    sums = np.array([np.bincount(row, weights, minlength=1 << bits) for row in values])
    at_truth = np.take_along_axis(sums, values, axis=1)
    square = (kept * at_truth**2).mean(axis=0) + (1 - kept) * (sums**2).mean()
    mean = (kept * at_truth).mean(axis=0) + (1 - kept) * sums.mean()
    by_distribution = hashing.distribution.variances(weights)
    np.testing.assert_allclose(by_distribution, (square - mean**2) / float(hashing.p - hashing.q) ** 2, rtol=1e-10)


def test_the_variance_of_a_cell_is_the_textbook_one():
    hashing = LocalHashing.from_epsilon(epsilon=1.0, n_cells=100)
    p, q = float(hashing.p), float(hashing.q)
    variances = hashing.distribution.variances(np.eye(100)[7])
    others = np.delete(variances, 7)
    np.testing.assert_allclose(others, q * (1 - q) / (p - q) ** 2, rtol=1e-12)
    assert variances[7] == pytest.approx(p * (1 - p) / (p - q) ** 2, rel=1e-12)


def test_supports_of_three_cells_are_not_independent():
    """Why the distribution is computed from the family: treating cells as independent would understate this sum."""
    hashing = LocalHashing(n_cells=16, bits=2, keep=QUARTER)
    p, q = float(hashing.p), float(hashing.q)
    independent = (15 * q * (1 - q) + p * (1 - p)) / (p - q) ** 2
    assert abs(hashing.distribution.variances(np.ones(16))[0] / independent - 1) > 0.05


@pytest.mark.false_failure(3e-9)
def test_large_simulations_meet_the_truth(seed):
    """z-scores of 4,000 cells and of 400 sums, whose mean square is 1 within 8 standard errors (below 1e-9)."""
    rng = np.random.default_rng(seed)
    n_days, k = 400, 10
    hashing = LocalHashing.from_epsilon(epsilon=2.0, n_cells=k)
    plan = plan_of(hashing, n_days)
    counts = rng.poisson(40, (n_days, k))
    cells = np.repeat(np.tile(np.arange(k), n_days), counts.ravel())
    per_day = counts.sum(axis=1)
    statistics = hashing.statistics(hashing.randomize(cells, randomness=SeededRandomness(seed)), per_day)
    estimate = hashing.estimate(Tally(Provenance(plan.fingerprint), statistics, per_day), plan, plan.domain)
    errors = estimate.values - counts
    z = errors / estimate.noise.standard_errors()
    # cells of a day are correlated: count days, not cells
    assert abs((z**2).mean() - 1) < 8 * math.sqrt(2 / n_days)
    weights = np.array([1.0, 1, 1, 0, 0, -2, 0, 0, 1, 3])
    exact = counts @ hashing.distribution.variances(weights)
    z = errors @ weights / np.sqrt(exact)
    assert abs((z**2).mean() - 1) < 8 * math.sqrt(2 / n_days)
    assert abs(z.mean()) < 7 / math.sqrt(n_days)


@pytest.mark.parametrize("n_cells", [5, 17, 64])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_runs_long_and_short_are_tallied_alike(n_cells, epsilon):
    """A long run is transformed, a short one listed; cut into pieces it gives the same sums."""
    hashing = LocalHashing.from_epsilon(epsilon=epsilon, n_cells=n_cells)
    cells = np.random.default_rng(1).integers(0, n_cells, 20_000)
    reports = hashing.randomize(cells, randomness=SeededRandomness(2))
    whole = hashing.statistics(reports, np.array([20_000]))
    parts = hashing.statistics(reports, np.array([0, 1, 2, 3, 994, 9_000, 10_000, 0]))
    pieces = hashing.statistics(reports, np.ones(20_000, np.int64))
    assert parts.sum(axis=0).tolist() == whole[0].tolist() == pieces.sum(axis=0).tolist()
    assert parts[0].tolist() == parts[7].tolist() == [0] * n_cells
    assert parts[3].tolist() == pieces[3:6].sum(axis=0).tolist()


def test_reports_with_bits_beyond_their_last_are_refused_whole():
    hashing = LocalHashing(n_cells=17, bits=1, keep=QUARTER)  # six bits
    reports = hashing.randomize(np.zeros(10, int), randomness=SeededRandomness(1))
    reports[[3, 7], 0] |= 0x40
    with pytest.raises(FormatError, match=r"2 of 10 reports .* position 3"):
        hashing.statistics(reports, np.array([10]))
    with pytest.raises(FormatError, match="1 bytes"):
        hashing.statistics(np.zeros((3, 2), np.uint8), np.array([3]))


@given(st.integers(2, 300), st.integers(1, 9), st.data())
def test_any_bytes_are_tallied_or_refused(n_cells, bits, data):
    hashing = LocalHashing(n_cells, bits, QUARTER)
    content = data.draw(st.binary(max_size=60))
    n = len(content) // hashing.report_bytes
    reports = np.frombuffer(content[: n * hashing.report_bytes], np.uint8).reshape(n, hashing.report_bytes)
    try:
        counts = hashing.statistics(reports, np.array([n]))
    except FormatError:
        return
    assert 0 <= counts.min() <= counts.max() <= n


@pytest.mark.parametrize("bad", [{"keep": 0}, {"keep": COIN}, {"bits": 0}, {"bits": 25}, {"n_cells": (1 << 24) + 1}])
def test_settings_without_noise_without_signal_or_without_a_field_are_refused(bad):
    settings = {"n_cells": 3, "bits": 2, "keep": QUARTER} | bad
    with pytest.raises(SettingError):
        LocalHashing(**settings)
    with pytest.raises(SettingError):
        HashingDistribution(**settings)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 33.0, 1e-20])
def test_an_epsilon_that_protects_nothing_or_measures_nothing_is_refused(epsilon):
    with pytest.raises(SettingError, match="epsilon"):
        LocalHashing.from_epsilon(epsilon=epsilon, n_cells=17)


@pytest.mark.parametrize("cells", [np.array([0, 3]), np.array([-1]), np.array([0.5]), np.array([[0, 1]])])
def test_cells_outside_the_domain_are_refused_without_naming_them(cells):
    with pytest.raises(SettingError, match="cells must"):
        LocalHashing(3, 1, QUARTER).randomize(cells, randomness=SeededRandomness(1))


def test_a_channel_too_large_to_list_says_so():
    with pytest.raises(SettingError, match="Ask for epsilon"):
        LocalHashing.from_epsilon(epsilon=1.0, n_cells=1000).channel()


def test_the_distribution_survives_plain_data():
    distribution = HashingDistribution(17, 2, QUARTER + 1)
    assert distribution_from_dict(json.loads(json.dumps(distribution.to_dict()))) == distribution
    with pytest.raises(FormatError):
        distribution_from_dict(distribution.to_dict() | {"bits": 60})


def test_the_polynomials_are_the_shared_ones():
    shared = {int(m): int(p, 16) for m, p in VECTORS["polynomials"].items()}
    assert shared == dict(enumerate(galois.POLYNOMIALS, 1))


@pytest.mark.parametrize("vector", VECTORS["products"], ids=lambda v: f"{v['a']}*{v['b']}")
def test_shared_products_come_back(vector):
    assert galois.multiply(np.array([vector["a"]]), np.array([vector["b"]]), vector["m"]).tolist() == [
        vector["product"]
    ]


@pytest.mark.parametrize("vector", VECTORS["reports"], ids=lambda v: f"{v['n_cells']}-{v['bits']}-{v['cell']}")
def test_shared_reports_come_back(vector):
    hashing = LocalHashing(vector["n_cells"], vector["bits"], QUARTER)
    a, z = np.array([vector["a"]]), vector["z"]
    assert hashing.degree == vector["m"]
    assert hashing.hashed(a, np.array([vector["cell"]])).tolist() == [z]
    report = np.frombuffer(bytes.fromhex(vector["report"]), np.uint8)[None]
    assert int.from_bytes(report.tobytes(), "little") == vector["a"] + (z << vector["m"])
    supported = np.flatnonzero(hashing.statistics(report, np.array([1]))[0])
    assert supported.size == vector["n_supported"]
    assert supported[:8].tolist() == vector["first_supported"]
    assert vector["cell"] in supported


def rows_below(heading: str) -> list[list[str]]:
    """The cells of the table in a section of the specification, without its two lines of headings."""
    section = SPECIFICATION.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_specification_lists_the_polynomials():
    cells = [cell for row in rows_below("Polynomials") for cell in row]
    assert {int(m): int(p, 16) for m, p in zip(cells[::2], cells[1::2], strict=True)} == dict(
        enumerate(galois.POLYNOMIALS, 1)
    )


@pytest.mark.parametrize("row", rows_below("Worked examples"), ids=lambda row: row[7])
def test_the_worked_examples_of_the_specification_are_right(row):
    n_cells, bits, degree, a, cell, whole, z = map(int, row[:7])
    hashing = LocalHashing(n_cells, bits, QUARTER)
    assert hashing.degree == degree
    assert galois.multiply(np.array([a]), np.array([cell]), degree).tolist() == [whole]
    assert whole >> (degree - bits) == z
    assert row[7] == (a + (z << degree)).to_bytes(hashing.report_bytes, "little").hex()
    report = np.frombuffer(bytes.fromhex(row[7]), np.uint8)[None]
    assert np.count_nonzero(hashing.statistics(report, np.array([1]))) == int(row[8])
