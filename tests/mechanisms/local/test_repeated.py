"""Devices that report for years: what one report, n reports, one value for ever and changing values tell, listed."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driven_words import DrivenLaw, DrivenWords, Field
from small_worlds import days_and_places
from statistical import assert_share
from tacit.audit.testing import assert_frequencies, check_channel
from tacit.counts.oracle_distributions import HashingDistribution, mean_variance
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.memo import DeviceMemo, FleetMemo, RepeatedRandomizer
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.privacy.epsilon import log_of_ratio
from tacit.randomness import SecureRandomness, SeededRandomness
from tacit.randomness.bernoulli import COIN

rappor_of = LongitudinalRappor.from_epsilons
hashing_of = LongitudinalHashing.from_epsilons
SMALL: list[RepeatedRandomizer] = [
    rappor_of(epsilon_infinity=3.0, epsilon_1=0.7, n_cells=2),
    rappor_of(epsilon_infinity=3.0, epsilon_1=0.7, n_cells=2, optimized=True),
    rappor_of(epsilon_infinity=1.0, epsilon_1=1.0, n_cells=3, optimized=True),
    rappor_of(epsilon_infinity=2.0, epsilon_1=1.0, n_cells=3, hashes=3, n_bits=4, optimized=True),
    LongitudinalRappor(2, COIN // 5, COIN // 2, COIN // 10, kept=COIN // 3),
    hashing_of(epsilon_infinity=2.0, epsilon_1=1.0, n_cells=2, bits=1),
    hashing_of(epsilon_infinity=3.0, epsilon_1=0.5, n_cells=4, bits=1),
    hashing_of(epsilon_infinity=3.0, epsilon_1=2.0, n_cells=3, bits=2),
    hashing_of(epsilon_infinity=1.0, epsilon_1=1.0, n_cells=2, bits=1),
]
by_kind = pytest.mark.parametrize("mechanism", SMALL, ids=lambda m: f"{type(m).__name__}-{m.n_cells}-{m.epsilon_1:.2g}")


def reported(mechanism: RepeatedRandomizer) -> list[dict[int, Fraction]]:
    """P(report | permanent row), by the numbers of both."""
    if isinstance(mechanism, LongitudinalHashing):
        size, g, kept = mechanism.n_functions, mechanism.n_values, Fraction(mechanism.keep, COIN)
        return [
            {row % size + size * z: (1 - kept) / g + (kept if z == row // size else 0) for z in range(g)}
            for row in range(size * g)
        ]
    assert isinstance(mechanism, LongitudinalRappor)
    one, zero = Fraction(mechanism.ones, COIN), Fraction(mechanism.zeros, COIN)
    n_bits = mechanism.n_statistics
    rows = []
    for row in range(1 << n_bits):
        chances = [one if row >> j & 1 else zero for j in range(n_bits)]
        rows.append(
            {
                y: math.prod((c if y >> j & 1 else 1 - c for j, c in enumerate(chances)), start=Fraction(1))
                for y in range(1 << n_bits)
            }
        )
    return rows


def largest_ratio(rows: Sequence[Sequence[Fraction]]) -> Fraction:
    return max(max(column) / min(column) for column in zip(*rows, strict=True) if max(column))


@by_kind
def test_one_report_and_all_reports_of_one_value_tell_exactly_what_is_stated(mechanism):
    check_channel(mechanism)
    assert mechanism.epsilon == mechanism.epsilon_1 == mechanism.epsilon_after(1)
    permanent, once = mechanism.permanent_channel(), reported(mechanism)
    assert all(sum(row) == 1 for row in permanent)
    assert log_of_ratio(largest_ratio(permanent)) == mechanism.epsilon_infinity
    first = [
        [
            sum((chance * once[b].get(y, Fraction(0)) for b, chance in enumerate(row)), start=Fraction(0))
            for y in range(len(row))
        ]
        for row in permanent
    ]
    assert first == mechanism.channel()


@pytest.mark.parametrize("n_reports", [2, 3])
@by_kind
def test_n_reports_of_one_value_tell_exactly_epsilon_after(mechanism, n_reports):
    once = reported(mechanism)
    if len(once) ** n_reports > 4000:
        pytest.skip("4,096 sequences of 16 rows take long, and two reports tell as much about the formula")
    rows = [
        [
            sum(
                (c * math.prod(once[b].get(y, Fraction(0)) for y in ys) for b, c in enumerate(row) if c),
                start=Fraction(0),
            )
            for ys in product(range(len(row)), repeat=n_reports)
        ]
        for row in mechanism.permanent_channel()
    ]
    assert log_of_ratio(largest_ratio(rows)) == mechanism.epsilon_after(n_reports)


@by_kind
def test_more_reports_tell_more_but_never_more_than_epsilon_infinity(mechanism):
    told = [mechanism.epsilon_after(n) for n in (1, 2, 5, 20, 2000, 10**9)]
    assert told == sorted(told)
    assert told[-1] == mechanism.epsilon_infinity
    assert told[-2] == pytest.approx(mechanism.epsilon_infinity, rel=1e-6)


# ---- values that change

CHANGING: list[RepeatedRandomizer] = [
    rappor_of(epsilon_infinity=1.0, epsilon_1=0.8, n_cells=2),
    rappor_of(epsilon_infinity=1.0, epsilon_1=0.8, n_cells=2, optimized=True),
    hashing_of(epsilon_infinity=1.0, epsilon_1=0.8, n_cells=3, bits=1),
]


def chances_of(mechanism: RepeatedRandomizer, function: int, held: Sequence[int]) -> dict[tuple[int, ...], Fraction]:
    """P(reports | the slots held one after the other), for a device with this function, over all permanent rows."""
    once, size = reported(mechanism), mechanism.n_functions
    channel = mechanism.permanent_channel()
    slot_of = {}
    for cell in range(mechanism.n_cells):
        (slot,) = mechanism.slots(np.array([function]), np.array([cell])).tolist()
        slot_of[slot] = {b: c * size for b, c in enumerate(channel[cell]) if c and (size == 1 or b % size == function)}
    found: dict[tuple[int, ...], Fraction] = {}
    different = sorted(set(held))
    for rows in product(*(slot_of[slot].items() for slot in different)):
        chance = math.prod((c for _, c in rows), start=Fraction(1))
        row_of = {slot: b for slot, (b, _) in zip(different, rows, strict=True)}
        for ys in product(*(once[row_of[slot]].items() for slot in held)):
            key = tuple(y for y, _ in ys)
            found[key] = found.get(key, Fraction(0)) + chance * math.prod(c for _, c in ys)
    assert sum(found.values()) == 1
    return found


def pattern(held: Sequence[int]) -> tuple[int, ...]:
    return tuple(held.index(slot) for slot in held)


def ratios(mechanism: RepeatedRandomizer, n_reports: int, function: int = 1) -> list[tuple[bool, int, float]]:
    """For all pairs of sequences of slots: whether both change at the same times, into how many, and the log-ratio."""
    sequences = list(product(range(mechanism.n_slots), repeat=n_reports))
    chances = {held: chances_of(mechanism, function, held) for held in sequences}
    return [
        (
            pattern(one) == pattern(other),
            len(set(one)),
            log_of_ratio(max(chances[one][ys] / chances[other][ys] for ys in chances[one])),
        )
        for one, other in product(sequences, repeat=2)
    ]


@pytest.mark.parametrize("mechanism", CHANGING, ids=lambda m: f"{type(m).__name__}-{m.n_cells}")
def test_changing_values_tell_at_most_epsilon_of_values_of_which_they_are(mechanism):
    function = 0 if mechanism.n_functions == 1 else 1  # a function that tells cells apart
    found = ratios(mechanism, 3, function)
    for is_same, n_different, told in found:
        if is_same:
            assert told <= mechanism.epsilon_of_values(n_different)
    assert (
        max(told for is_same, _, told in found if is_same) > mechanism.epsilon_infinity
    )  # two values tell more than one


@pytest.mark.parametrize("mechanism", CHANGING, ids=lambda m: f"{type(m).__name__}-{m.n_cells}")
def test_when_a_value_changed_is_not_hidden(mechanism):
    """Sequences that change at different times are told apart the better the more reports there are, without bound."""
    function = 0 if mechanism.n_functions == 1 else 1

    def told(n_reports: int) -> float:
        kept, changing = [0] * n_reports, [t % 2 for t in range(n_reports)]
        chances = [chances_of(mechanism, function, held) for held in (changing, kept)]
        return max(float(chances[0][ys] / chances[1][ys]) for ys in chances[0])

    assert told(2) < told(4)
    if isinstance(mechanism, LongitudinalHashing):
        assert told(10) > math.exp(mechanism.epsilon_of_values())


def test_the_bound_for_changing_values_is_reached_without_fresh_noise():
    for mechanism in (
        hashing_of(epsilon_infinity=1.0, epsilon_1=1.0, n_cells=2, bits=1),
        LongitudinalRappor.from_parameters(f=0.5, q=1, p=0, n_cells=2),
    ):
        function = 0 if mechanism.n_functions == 1 else 1
        one, other = (chances_of(mechanism, function, held) for held in ((0, 1), (1, 0)))
        reached = log_of_ratio(max(one[ys] / other[ys] for ys in one if one[ys]))
        assert reached == pytest.approx(mechanism.epsilon_of_values(), rel=1e-12)


def test_what_values_tell_together_is_that_of_the_slots_there_are():
    rappor, hashing = (of(epsilon_infinity=2.0, epsilon_1=1.0, n_cells=17) for of in (rappor_of, hashing_of))
    assert [rappor.epsilon_of_values(n) for n in (1, 2, 17, 18, None)] == [2.0, 4.0, 34.0, 34.0, 34.0]
    assert [hashing.epsilon_of_values(n) for n in (1, 2, 17, None)] == [2.0, 4.0, 8.0, 8.0]
    assert hashing_of(epsilon_infinity=2.0, epsilon_1=1.0, n_cells=3, bits=4).epsilon_of_values() == 6.0


# ---- thresholds


@given(st.floats(0.01, 10), st.floats(0.01, 1), st.integers(2, 1000), st.sampled_from([None, 1, 5]))
def test_realized_epsilons_equal_the_ones_asked_for_and_never_exceed_them(infinity, part, n_cells, bits):
    once = max(0.01, infinity * part)
    for made in (
        hashing_of(epsilon_infinity=infinity, epsilon_1=once, n_cells=n_cells, bits=bits),
        rappor_of(epsilon_infinity=infinity, epsilon_1=once, n_cells=n_cells, optimized=True),
    ):
        assert infinity * (1 - 1e-9) <= made.epsilon_infinity <= infinity
        assert once * (1 - 1e-9) <= made.epsilon_1 <= once


@pytest.mark.parametrize("name", ["permanent", "kept", "ones", "zeros", "permanent_keep", "keep"])
def test_moving_one_threshold_by_one_moves_what_is_told(name):
    for mechanism in (SMALL[1], SMALL[4], SMALL[6]):
        thresholds = mechanism.thresholds()
        if name in thresholds:
            more, less = (
                type(mechanism).from_thresholds(thresholds | {name: thresholds[name] + by}, mechanism.n_cells)
                for by in (1, -1)
            )
            told = [largest_ratio(one.channel()) for one in (less, mechanism, more)]
            is_noise = name in ("permanent", "zeros")
            assert told == sorted(told, reverse=is_noise)
            assert len(set(told)) == 3


@pytest.mark.parametrize(("infinity", "once", "k"), [(4.0, 1.0, 17), (2.0, 2.0, 5), (0.5, 0.1, 1000)])
def test_one_report_errs_as_the_one_time_mechanism_of_epsilon_1(infinity, once, k):
    """That of L-OSUE as optimized unary encoding, that of LOLOHA as local hashing."""
    osue, loloha = (
        rappor_of(epsilon_infinity=infinity, epsilon_1=once, n_cells=k, optimized=True),
        hashing_of(epsilon_infinity=infinity, epsilon_1=once, n_cells=k, bits=2),
    )
    expected = mean_variance(UnaryEncoding.optimized(epsilon=once, n_cells=k).distribution)
    assert mean_variance(osue.distribution) == pytest.approx(expected, rel=1e-9)
    assert loloha.distribution.kept == pytest.approx(math.expm1(once) / (math.expm1(once) + 4), rel=1e-12)


def test_symmetric_coins_have_one_form():
    given_twice = LongitudinalRappor(5, COIN // 8, COIN, 0, kept=COIN - COIN // 8)
    assert given_twice == LongitudinalRappor(5, COIN // 8, COIN, 0)
    assert "kept" not in given_twice.thresholds()
    assert "kept" not in given_twice.distribution.to_dict()


def test_a_hash_without_fresh_noise_is_local_hashing():
    hashing = hashing_of(epsilon_infinity=1.5, epsilon_1=1.5, n_cells=9, bits=2)
    assert hashing.keep == COIN
    assert hashing.distribution.to_dict().keys() == {"kind", "n_cells", "bits", "keep", "permanent_keep"}
    assert hashing.distribution.kept == LocalHashing(9, 2, hashing.permanent_keep).distribution.kept
    assert "permanent_keep" not in HashingDistribution(9, 2, COIN // 2).to_dict()


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_cells": 1},
        {"bits": 0},
        {"bits": 25},
        {"permanent_keep": 0},
        {"permanent_keep": COIN},
        {"keep": 0},
        {"keep": COIN + 1},
    ],
)
def test_hashes_without_noise_or_signal_are_refused(wrong):
    with pytest.raises(SettingError):
        LongitudinalHashing(**({"n_cells": 5, "bits": 2, "permanent_keep": COIN // 2, "keep": COIN // 2} | wrong))


@pytest.mark.parametrize("kept", [0, COIN // 5, COIN + 1])
def test_permanent_coins_that_say_nothing_are_refused(kept):
    with pytest.raises(SettingError):
        LongitudinalRappor(3, COIN // 5, COIN // 2, COIN // 4, kept=kept)


@pytest.mark.parametrize("pair", [(1.0, 2.0), (1.0, 0.0), (math.inf, 1.0), (50.0, 1.0), (math.nan, 1.0)])
def test_epsilons_that_cannot_be_are_refused(pair):
    with pytest.raises(SettingError):
        hashing_of(epsilon_infinity=pair[0], epsilon_1=pair[1], n_cells=3)


# ---- draws


@pytest.mark.slow
def test_permanent_values_are_drawn_with_the_probabilities_of_their_channel():
    hashing = hashing_of(epsilon_infinity=1.3, epsilon_1=0.6, n_cells=4, bits=2)

    def row(source: DrivenWords) -> int:
        functions = hashing.functions(1, randomness=source)
        (drawn,) = hashing.permanent_rows(functions, hashing.slots(functions, np.array([3])), randomness=source)
        return int.from_bytes(drawn.tobytes(), "little")

    layout = {0: (Field(0, 2, is_listed=True),), 1: (Field(0, 2, is_listed=True),)}
    assert DrivenLaw(row, layout).probabilities() == dict(enumerate(hashing.permanent_channel()[3]))


@pytest.mark.slow
def test_asymmetric_permanent_bits_are_drawn_with_the_probabilities_of_their_channel():
    optimized = rappor_of(epsilon_infinity=1.3, epsilon_1=0.6, n_cells=2, optimized=True)

    def bits(source: DrivenWords) -> int:
        (row,) = optimized.permanent_bits(np.array([1]), randomness=source)
        return int(row[0])

    assert DrivenLaw(bits, {}).probabilities() == dict(enumerate(optimized.permanent_channel()[1]))


@pytest.mark.false_failure(1e-9)
def test_permanent_bits_of_a_bloom_filter_have_their_channel(seed):
    """40,000 rows; fails by bad luck once in 1e9. Twice the chance of a true one would be seen."""
    bloom = rappor_of(epsilon_infinity=2.0, epsilon_1=1.0, n_cells=3, hashes=3, n_bits=4, optimized=True)
    rows = bloom.permanent_bits(np.full(40_000, 1), randomness=SeededRandomness(seed))
    drawn = np.bincount(rows[:, 0], minlength=16)
    assert_frequencies(drawn, bloom.permanent_channel()[1], false_failure=1e-9)
    with pytest.raises(AssertionError):
        assert_frequencies(drawn, bloom.permanent_channel()[0], false_failure=1e-9)


# ---- memos

HASHING = hashing_of(epsilon_infinity=2.0, epsilon_1=2.0, n_cells=40, bits=4)  # no fresh noise: reports are the rows


@pytest.mark.slow
def test_a_device_draws_its_function_once_and_a_value_for_each_hash_value(tmp_path):
    path, source = tmp_path / "memo.json", SecureRandomness()
    first = DeviceMemo.create(HASHING, path).report(3, randomness=source)
    function = int.from_bytes(first.tobytes(), "little") % HASHING.n_functions
    sent = {}
    for cell in [*range(40), *range(40)]:
        report = DeviceMemo.read(HASHING, path).report(cell, randomness=source)
        assert int.from_bytes(report.tobytes(), "little") % HASHING.n_functions == function
        slot = int(HASHING.slots(np.array([function]), np.array([cell]))[0])
        assert sent.setdefault(slot, report.tobytes()) == report.tobytes()
    assert len(DeviceMemo.read(HASHING, path)._rows) == len(sent) <= 16
    running = DeviceMemo.read(HASHING, path)  # without a restart between reports
    for cell in [*range(40), *range(40)]:
        slot = int(HASHING.slots(np.array([function]), np.array([cell]))[0])
        assert running.report(cell, randomness=source).tobytes() == sent[slot]
    if os.name == "posix":
        assert path.stat().st_mode & 0o077 == 0


def test_a_function_that_did_not_reach_the_disk_is_never_sent(tmp_path, monkeypatch):
    memo = DeviceMemo.create(HASHING, tmp_path / "memo.json")

    def interrupted(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            memo.report(4, randomness=SeededRandomness(1))
    assert memo._function is None
    assert memo._rows == {}
    sent = memo.report(4, randomness=SeededRandomness(2))
    again = DeviceMemo.read(HASHING, tmp_path / "memo.json")
    assert (again.report(4, randomness=SeededRandomness(3)) == sent).all()


def test_a_memo_without_functions_is_written_as_it_always_was(tmp_path):
    rappor, path = rappor_of(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17), tmp_path / "memo.json"
    DeviceMemo.create(rappor, path).report(3, randomness=SeededRandomness(1))
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["format"] == 1
    assert list(content) == ["format", "kind", "notice", "mechanism", "is_simulation", "permanent"]
    optimized = rappor_of(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17, optimized=True)
    with pytest.raises(FormatError, match="another mechanism"):
        DeviceMemo.read(optimized, path)


def test_memos_of_hashing_that_are_damaged_are_refused(tmp_path):
    path = tmp_path / "memo.json"
    DeviceMemo.create(HASHING, path).report(3, randomness=SeededRandomness(1))
    good = json.loads(path.read_text(encoding="utf-8"))
    assert good["format"] == 2
    ((slot, row),) = good["permanent"].items()
    for wrong in (
        good | {"format": 1},
        good | {"format": 3},
        good | {"function": None},
        good | {"function": good["function"] ^ 1},
        good | {"function": 64},
        good | {"function": "1"},
        {name: value for name, value in good.items() if name != "function"},
        good | {"permanent": {"16": row}},
        good | {"permanent": {slot: row + "00"}},
        good | {"permanent": {slot: "ffff"}},
    ):
        path.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(FormatError):
            DeviceMemo.read(HASHING, path)
    path.write_text(json.dumps(good), encoding="utf-8")
    DeviceMemo.read(HASHING, path)


@pytest.mark.false_failure(1e-9)
def test_more_hash_values_than_cells_are_remembered_and_read_back(tmp_path, seed):
    """Three cells and sixteen hash values: the slots in use are any of the sixteen.

    Under two of its 16 functions all slots of a device are among the first three: on 20 devices once in 1e18.
    """
    many = LongitudinalHashing.from_epsilons(epsilon_infinity=9.0, epsilon_1=4.0, n_cells=3, bits=4)
    source, used = SeededRandomness(seed), set()
    for number in range(20):
        memo = DeviceMemo.create(many, tmp_path / f"{number}.json")
        for cell in range(3):
            memo.report(cell, randomness=source)
        again = DeviceMemo.read(many, tmp_path / f"{number}.json")
        assert again._rows.keys() == memo._rows.keys()
        used |= again._rows.keys()
    assert max(used) >= many.n_slots == 3
    n = 3000
    fleet = FleetMemo(many)
    reports = fleet.randomize(np.arange(n), np.arange(n) % 3, randomness=source)
    numbers = fleet._rows.astype(np.int64) @ (1 << 8 * np.arange(fleet._rows.shape[1]))
    assert reports.shape == fleet._rows.shape
    # a permanent value is mostly the hash value of its slot: with epsilon 9, all but one in 500
    kept = many.permanent_keep / COIN
    named = kept + (1 - kept) / many.n_values
    hits = int((numbers >> many.degree == fleet._keys % many.slot_limit).sum())
    assert_share(hits, n, at_least=named, at_most=named, false_failure=9e-10)


@pytest.mark.false_failure(1e-11)
def test_a_fleet_keeps_functions_and_values_of_each_device(seed):
    """Of 64 functions, 2,000 devices leave one out once in 7e11 (the union bound)."""
    fleet, source = FleetMemo(HASHING), SeededRandomness(seed)
    devices, cells = np.array([7, 2, 7, 9]), np.array([1, 1, 2, 30])
    first = fleet.randomize(devices, cells, randomness=source)
    again = fleet.randomize(devices[::-1], cells[::-1], randomness=source)
    np.testing.assert_array_equal(first, again[::-1])
    functions = HASHING.n_functions
    numbers = [int.from_bytes(row.tobytes(), "little") % functions for row in first]
    assert numbers[0] == numbers[2]
    later = fleet.randomize(np.arange(2000), np.zeros(2000, int), randomness=source)
    assert len(np.unique(later[:, 0] % functions)) == functions


@pytest.mark.slow
@pytest.mark.false_failure(1e-9)
def test_what_averaging_reveals_of_many_devices_has_the_permanent_distribution(seed):
    """20,000 devices report 61 times each; the most frequent value is the permanent one, almost surely.

    A report names it with chance 7/8, so that the other is named more often with probability below 1e-12.
    """
    hashing = LongitudinalHashing(3, 1, 4 * (COIN // 5), 3 * (COIN // 4))
    fleet, source, n = FleetMemo(hashing), SeededRandomness(seed), 20_000
    ones, functions = np.zeros(n, int), np.zeros(n, int)
    for _ in range(61):
        numbers = fleet.randomize(np.arange(n), np.full(n, 2), randomness=source)[:, 0]
        ones += numbers >> 2
        functions = numbers & 3
    drawn = np.bincount(functions + 4 * (ones > 30), minlength=8)
    assert_frequencies(drawn, hashing.permanent_channel()[2], false_failure=1e-9)
    with pytest.raises(AssertionError):
        assert_frequencies(drawn, hashing.channel()[2], false_failure=1e-9)


# ---- estimates


@pytest.mark.parametrize("mechanism", [SMALL[1], SMALL[6]], ids=["optimized", "hashing"])
def test_the_mean_over_bins_errs_by_the_permanent_part_and_a_part_that_averages_out(mechanism):
    """Two reports of one device about one value, all outcomes with their exact probabilities."""
    distribution, k = mechanism.distribution, mechanism.n_cells
    permanent, once = mechanism.permanent_channel(), reported(mechanism)
    size = len(permanent[0])
    rows = np.array([list(y.to_bytes(mechanism.report_bytes, "little")) for y in range(size)], np.uint8)
    supports = mechanism.statistics(rows, np.ones(size, np.int64)).tolist()
    total = Fraction(0)
    for cell, asked in product(range(k), repeat=2):
        moments = [Fraction(0), Fraction(0)]
        for b, chance in enumerate(permanent[cell]):
            for (y, c), (z, d) in product(once[b].items(), repeat=2):
                value = (Fraction(supports[y][asked] + supports[z][asked], 2) - distribution.q) / (
                    distribution.p - distribution.q
                )
                for power in (0, 1):
                    moments[power] += chance * c * d * value ** (power + 1)
        assert moments[0] == (cell == asked)
        total += (moments[1] - moments[0] ** 2) / k
    lasting, first = (mean_variance(one) for one in (mechanism.permanent_distribution, distribution))
    assert float(total / k) == pytest.approx(lasting + (first - lasting) / 2, rel=1e-9)


@pytest.mark.slow
@pytest.mark.false_failure(1e-7)
@pytest.mark.parametrize("name", ["optimized longitudinal", "longitudinal hashing", "binary longitudinal hashing"])
def test_intervals_of_devices_that_remember_hold_the_truth_as_often_as_stated(name, seed):
    """4,000 cells of 400 days, each day of its own devices: intervals of 90 % and z-scores, once in 1e7 by bad luck."""
    rng = np.random.default_rng(seed)
    n_days, k = 400, 10
    domain = days_and_places(n_days, k)
    plan = plan_for(domain, epsilon=2.0, mechanism=name)
    mechanism = mechanism_of(plan)
    counts = rng.poisson(40, (n_days, k))
    cells = np.repeat(np.tile(np.arange(k), n_days), counts.ravel())
    per_day = counts.sum(axis=1)
    reports = FleetMemo(mechanism).randomize(np.arange(cells.size), cells, randomness=SeededRandomness(seed))
    tally = Tally(Provenance(plan.fingerprint), mechanism.statistics(reports, per_day), per_day)
    estimate = mechanism.estimate(tally, plan, domain)
    z = (estimate.values - counts) / estimate.noise.standard_errors()
    assert abs((z**2).mean() - 1) < 7 * math.sqrt(2 / z.size)
    assert abs(z.mean()) < 7 / math.sqrt(z.size)
    held = 0
    for day in range(n_days):
        weights = np.zeros((n_days, k))
        weights[day, day % k] = 1.0
        low, high = estimate.noise.interval(float(estimate.values[day, day % k]), weights, 0.9)
        held += low <= counts[day, day % k] <= high
    assert held / n_days > 0.9 - 6 * math.sqrt(0.09 / n_days)  # intervals may hold more often: they are exact for coins
