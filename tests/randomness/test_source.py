"""Words are fresh for every thread, process and copy; a seed repeats them and says so."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.errors import SettingError
from tacit.randomness import KeyedRandomness, Randomness, SecureRandomness, SeededRandomness, source

KEY = bytes(range(32))


def distinct(words: list[NDArray[np.uint64]]) -> bool:
    """A repeat among so few 64-bit words has probability below 1e-12."""
    together = np.concatenate(words)
    return len(np.unique(together)) == len(together)


@pytest.mark.parametrize("make", [SecureRandomness, lambda: SeededRandomness(1), lambda: KeyedRandomness(KEY, 7)])
def test_sources_keep_the_protocol(make):
    made = make()
    assert isinstance(made, Randomness)
    assert made.words(0).shape == (0,)
    assert distinct([made.words(1000), made.words(1000)])


def test_only_the_seeded_source_is_a_simulation():
    assert SeededRandomness(0).is_simulation
    assert not SecureRandomness().is_simulation
    assert not KeyedRandomness(KEY).is_simulation


def test_a_seed_gives_the_same_words_however_they_are_asked_for():
    whole = SeededRandomness(5).words(1000)
    parts = SeededRandomness(5)
    np.testing.assert_array_equal(whole, np.concatenate([parts.words(1), parts.words(599), parts.words(400)]))


def test_a_seed_gives_the_same_words_forever():
    assert SeededRandomness(3).words(2).tolist() == [16406016007441771960, 4372761980407462034]


def test_different_seeds_and_sources_share_no_word():
    assert distinct([SeededRandomness(1).words(500), SeededRandomness(2).words(500), SecureRandomness().words(500)])


def test_threads_sharing_a_source_share_no_word():
    shared, drawn = SecureRandomness(), []
    threads = [threading.Thread(target=lambda: drawn.extend(shared.words(257) for _ in range(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert distinct(drawn)


def _child(source_, pipe):
    pipe.send(source_.words(100))
    pipe.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking does not exist here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_children_share_no_word_with_their_parent_or_each_other():
    shared = SecureRandomness()
    shared.words(10)
    context = multiprocessing.get_context("fork")
    drawn = [shared.words(100)]
    for _ in range(3):
        ours, theirs = context.Pipe()
        child = context.Process(target=_child, args=(shared, theirs))
        child.start()
        drawn.append(ours.recv())
        child.join()
    drawn.append(shared.words(100))
    assert distinct(drawn)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking does not exist here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_while_the_lock_is_held_does_not_hang():
    shared = SecureRandomness()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with shared._lock:
        child = context.Process(target=_child, args=(shared, theirs))
        child.start()
    assert ours.poll(20)
    child.join()


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_a_copy_of_a_secure_source_does_not_repeat_its_words(copied):
    original = SecureRandomness()
    assert distinct([copied(original).words(100), original.words(100)])


def test_the_key_is_changed_after_its_share_of_bytes(monkeypatch):
    monkeypatch.setattr(source, "REKEY_AFTER_BYTES", 64)
    secure = SecureRandomness()
    first = secure._stream
    assert distinct([secure.words(20)])
    assert secure._stream is not first
    assert secure._used_bytes <= 64


@pytest.mark.parametrize(
    "out", [np.empty(3, np.int64), np.empty((4, 4), np.uint64)[:, 0], np.frombuffer(bytes(16), np.uint64)]
)
def test_a_buffer_that_cannot_be_filled_is_refused(out):
    with pytest.raises(SettingError, match="uint64"):
        SeededRandomness(0).fill(out)


@pytest.mark.parametrize("seed", [-1, 1.5, True, None])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(SettingError, match="seed"):
        SeededRandomness(seed)


@given(parts=st.lists(st.integers(0, 200), max_size=8), position=st.integers(0, 1000))
def test_a_key_gives_the_same_words_however_they_are_asked_for(parts, position):
    whole = KeyedRandomness(KEY).words(position + sum(parts))[position:]
    drawn, at = [], position
    one = KeyedRandomness(KEY, position)
    for part in parts:
        drawn.append(one.words(part))
        np.testing.assert_array_equal(drawn[-1], KeyedRandomness(KEY, position=at).words(part))
        at += part
        assert one.position == at
    assert whole.tolist() == [word for part in drawn for word in part.tolist()]


def test_a_key_gives_the_words_of_its_cipher_forever():
    # the third and fourth word of AES-256 in counter mode over a zero message
    assert KeyedRandomness(KEY, 2).words(2).tolist() == [16546147286388202992, 4410926500381718182]


def test_positions_beyond_a_block_of_the_source_and_at_the_end_are_right():
    far = source.KEYED_WORDS - 300_000
    whole = KeyedRandomness(KEY, far).words(300_000)
    assert KeyedRandomness(KEY, far + 262_145).words(5).tolist() == whole[262_145:262_150].tolist()
    assert KeyedRandomness(KEY, source.KEYED_WORDS - 1).words(1).tolist() == whole[-1:].tolist()


def test_a_key_has_an_end_and_a_refused_call_uses_no_word():
    last = KeyedRandomness(KEY, source.KEYED_WORDS - 2)
    with pytest.raises(SettingError, match="new key"):
        last.words(3)
    assert last.position == source.KEYED_WORDS - 2
    assert last.words(2).shape == (2,)
    with pytest.raises(SettingError, match="new key"):
        KeyedRandomness(KEY, source.KEYED_WORDS + 1)


def test_different_keys_share_no_word():
    assert distinct([KeyedRandomness(KEY).words(500), KeyedRandomness(KEY[::-1]).words(500)])


def test_neither_a_representation_nor_an_error_shows_a_key():
    assert repr(KeyedRandomness(KEY, 5)) == "KeyedRandomness(<key>, position=5)"
    with pytest.raises(SettingError) as refusal:
        KeyedRandomness(b"secret")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_keyed_source_is_not_copied(copied):
    with pytest.raises(SettingError, match="would repeat"):
        copied(KeyedRandomness(KEY))


def test_threads_sharing_a_key_share_no_word_and_use_all_of_them():
    shared, drawn = KeyedRandomness(KEY), []
    threads = [threading.Thread(target=lambda: drawn.extend(shared.words(257) for _ in range(50))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.position == 8 * 50 * 257
    assert sorted(np.concatenate(drawn).tolist()) == sorted(KeyedRandomness(KEY).words(shared.position).tolist())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forking does not exist here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_continues_a_key_at_its_position_even_if_the_lock_was_held():
    shared = KeyedRandomness(KEY)
    shared.words(11)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with shared._lock:
        shared._stream.write(memoryview(bytearray(24)))  # a call that the fork interrupts
        child = context.Process(target=_child, args=(shared, theirs))
        child.start()
    assert ours.poll(20)
    assert ours.recv().tolist() == KeyedRandomness(KEY, 11).words(100).tolist()
    child.join()


@pytest.mark.parametrize("position", [-1, 0.5, None])
def test_a_position_is_a_whole_number(position):
    with pytest.raises(SettingError, match="position"):
        KeyedRandomness(KEY, position)


@pytest.mark.parametrize("key", [b"", bytes(31), bytes(33), "0" * 32, bytearray(32)])
def test_a_key_is_32_bytes(key):
    with pytest.raises(SettingError, match="32 bytes"):
        KeyedRandomness(key)
