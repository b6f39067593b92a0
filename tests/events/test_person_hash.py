"""Persons are told apart by keyed hashes that depend on the person, the window and the key, and on nothing else."""

from __future__ import annotations

import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from tacit.events import Reason
from tacit.events.columns import read_users
from tacit.events.contribution_bound import PersonHash
from tacit.events.tables import runs

KEY = bytes(range(32))
USERS = st.lists(st.tuples(st.binary(max_size=70), st.integers(-800_000, 3_000_000)), max_size=20)


def hashes(users: list[bytes], days: list[int], key: bytes = KEY) -> list[tuple[int, int]]:
    column = pa.array(users, pa.large_binary())
    return [tuple(pair) for pair in PersonHash(key).hashes(column, np.array(days, np.int64)).tolist()]


def mac(user: bytes, day: int) -> tuple[int, ...]:
    """The last block of AES-CBC over the length, the window and the person, padded with zeros."""
    message = struct.pack("<Ii", len(user), day) + user
    message += bytes(-len(message) % 16)
    encryptor = Cipher(algorithms.AES(KEY), modes.CBC(bytes(16))).encryptor()
    return struct.unpack("<QQ", encryptor.update(message)[-16:])


@given(USERS)
def test_a_hash_is_the_mac_of_person_and_window(pairs: list[tuple[bytes, int]]) -> None:
    users, days = [user for user, _ in pairs], [day for _, day in pairs]
    assert hashes(users, days) == [mac(user, day) for user, day in pairs]


@given(USERS, st.integers(0, 20), st.integers(0, 20))
def test_a_row_is_hashed_alike_whatever_stands_around_it(pairs: list[tuple[bytes, int]], start: int, stop: int) -> None:
    column = pa.array([user for user, _ in pairs], pa.large_binary())
    days = np.array([day for _, day in pairs], np.int64)
    whole = PersonHash(KEY).hashes(column, days)
    part = PersonHash(KEY).hashes(column.slice(start, max(0, stop - start)), days[start:stop])
    np.testing.assert_array_equal(whole[start:stop], part)


def test_persons_windows_and_keys_are_told_apart() -> None:
    pairs = [(user, day) for user in (b"a", b"a\0", b"", b"b", b"a" * 8, b"a" * 9, b"a" * 25) for day in (0, 1, 17_532)]
    users, days = [user for user, _ in pairs], [day for _, day in pairs]
    found = hashes(users, days) + hashes(users, days, bytes(32))
    assert len(set(found)) == 2 * len(pairs)


def read(values: Any, kind: pa.DataType | None = None) -> list[Any]:
    column = values if isinstance(values, pa.Array) else pa.array(values, kind)
    users, reason = read_users(column)
    names = {0: None} | {one.code: one for one in Reason}
    return [names[int(code)] or user for user, code in zip(users.to_pylist(), reason, strict=True)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_text_counts_as_it_is_written_but_for_spaces_around_it(kind: pa.DataType) -> None:
    column = pa.array([" Ana ", "ana", "Ana", "7.0", " ", "", None]).cast(kind)
    assert read(column) == ["Ana", "ana", "Ana", "7.0", *[Reason.NO_USER] * 3]


@pytest.mark.parametrize("others", [[], [2.5], [float("nan")], [None], [1e300]])
def test_whole_numbers_are_one_user_however_they_are_stored(others: list[float | None]) -> None:
    assert read([7, None, -3]) == ["7", Reason.NO_USER, "-3"]
    assert read([7.0, *others], pa.float64())[0] == "7"
    assert read([7.0], pa.float32()) == ["7"]
    assert read([Decimal(7)]) == read([Decimal("7.00")]) == ["7"]
    assert read([7], pa.uint64()) == ["7"]


def test_numbers_that_may_stand_for_several_users_are_refused() -> None:
    values = [2.5, 2.0**53, float("inf"), float("nan"), None]
    assert read(values) == [*[Reason.UNREADABLE_USER] * 3, Reason.NO_USER, Reason.NO_USER]
    assert read([Decimal("2.50"), None]) == [Reason.UNREADABLE_USER, Reason.NO_USER]
    assert read([10**17, 10**17 + 1]) == ["100000000000000000", "100000000000000001"]


def test_bytes_and_empty_columns_are_users_too() -> None:
    assert read([b"\xff\x00", b"", None]) == [b"\xff\x00", Reason.NO_USER, Reason.NO_USER]
    assert read([b"ab"], pa.binary(2)) == [b"ab"]
    assert read([None, None], pa.null()) == [Reason.NO_USER] * 2
    assert read([], pa.string()) == read([], pa.float64()) == []


def test_a_number_from_a_database_is_one_user_among_text_and_among_numbers() -> None:
    mixed = [[pa.array(column) for column in zip(*run, strict=True)] for run in runs([[7.0], ["Ana"], [7], [8.5]])]
    assert [read(column) for (column,) in mixed] == [["7"], ["Ana"], ["7", Reason.UNREADABLE_USER]]
