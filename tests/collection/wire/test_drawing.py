"""Any block can be drawn alone, anywhere and again; other counts never meet the same words."""

from __future__ import annotations

import hashlib
import hmac
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.audit.testing import assert_frequencies
from tacit.collection.wire import cell_counts
from tacit.collection.wire.cell_counts import CellCounts, block_keys, blocks_of, draw_reports, drawing_key, secret_key
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.randomness import KeyedRandomness, SecureRandomness, SeededRandomness

N_PLACES = 5
DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-10"), PlaceAxis.of(list("abcde")))
PLAN = plan_for(DOMAIN, epsilon=2.0, mechanism="rappor")
KEY = bytes(range(32))
BLOCK = 8


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(cell_counts, "BLOCK_REPORTS", BLOCK)


def counts_of(n: int, seed: int = 0) -> CellCounts:
    rng = np.random.default_rng(seed)
    return CellCounts.of(N_PLACES, rng.integers(0, 10, n), rng.integers(0, N_PLACES, n))


def drawn(counts: CellCounts, numbers: range, *, mechanism=None, key: bytes = KEY) -> np.ndarray:
    return draw_reports(mechanism or mechanism_of(PLAN), block_keys(key, blocks_of(numbers)), counts, numbers)


@given(st.integers(0, 60), st.lists(st.integers(0, 60), max_size=6), st.randoms(use_true_random=False))
def test_any_partition_in_any_order_gives_the_same_reports(n, cuts, random):
    """What an engine needs: tasks are cut anywhere, run in any order, and some run twice."""
    counts = counts_of(n)
    edges = [0, *sorted(min(cut, n) for cut in cuts), n]
    tasks = [range(a, b) for a, b in itertools.pairwise(edges)]
    made = {task: drawn(counts, task) for task in random.sample(tasks, len(tasks)) + tasks[:2]}
    together = np.concatenate([made[task] for task in tasks])
    assert together.tolist() == drawn(counts, range(n)).tolist()


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_task_needs_the_counts_and_keys_of_its_blocks_only(name):
    counts, mechanism = counts_of(50), mechanism_of(plan_for(DOMAIN, epsilon=2.0, mechanism=name))
    numbers, first, stop = range(11, 29), BLOCK, 4 * BLOCK
    keys = block_keys(KEY, blocks_of(numbers))
    assert list(keys) == [1, 2, 3]
    alone = draw_reports(mechanism, keys, counts.between(first, stop), numbers, first=first)
    assert alone.tolist() == drawn(counts, range(50), mechanism=mechanism)[11:29].tolist()


def test_a_block_is_drawn_from_the_first_word_of_its_own_key_on():
    """The scheme as it stands in the docstring of cell_counts, written out again: a ledger may outlive this version."""
    counts, secret = counts_of(20), bytes(32)
    digest = hashlib.sha256(b"tacit cell counts 1")
    digest.update(np.array([N_PLACES, len(counts.cells), *counts.cells, *counts.counts], "<i8").tobytes())
    bound = b"tacit reports 1" + bytes.fromhex(PLAN.fingerprint) + digest.digest()
    key = hmac.digest(secret, bound, "sha256")
    assert drawing_key(secret, PLAN.fingerprint, counts.digest()) == key
    third = hmac.digest(key, b"tacit block 1" + (2).to_bytes(8, "little"), "sha256")
    assert block_keys(key, range(3))[2] == third
    _, private = counts.events(16, 20)
    alone = mechanism_of(PLAN).randomize(private, randomness=KeyedRandomness(third))
    assert drawn(counts, range(16, 20), key=key).tolist() == alone.tolist()


def test_other_counts_or_another_plan_have_another_key():
    one, other = counts_of(20), counts_of(20, seed=1)
    keys = {
        drawing_key(secret, plan_id, counts.digest())
        for secret in (bytes(32), KEY)
        for plan_id in (PLAN.fingerprint, "00" * 16)
        for counts in (one, other)
    }
    assert len(keys) == 8


def test_no_two_blocks_share_a_key():
    assert len(set(block_keys(KEY, range(1000)).values())) == 1000


def test_a_secret_follows_from_a_seed_and_from_nothing_else():
    assert secret_key(SeededRandomness(7)) == secret_key(SeededRandomness(7)) != secret_key(SeededRandomness(8))
    assert len(secret_key(SecureRandomness())) == 32
    assert secret_key(SecureRandomness()) != secret_key(SecureRandomness())


@pytest.mark.false_failure(1e-9)
def test_reports_have_the_distribution_of_the_channel(seed, monkeypatch):
    """Whole blocks and short last ones together: the events of one cell follow its row of the channel."""
    monkeypatch.setattr(cell_counts, "BLOCK_REPORTS", 1000)
    n = 30_100
    response = mechanism_of(plan_for(DOMAIN, epsilon=2.0, mechanism="response"))
    counts = CellCounts.of(N_PLACES, np.zeros(n, np.int64), np.full(n, 3))
    key = secret_key(SeededRandomness(seed))
    named = np.bincount(drawn(counts, range(n), mechanism=response, key=key)[:, 0], minlength=N_PLACES)
    assert_frequencies(named, response.channel()[3], false_failure=1e-9)


def test_no_report_is_drawn_of_no_event():
    assert drawn(CellCounts.none(N_PLACES), range(0)).shape == (0, 1)
