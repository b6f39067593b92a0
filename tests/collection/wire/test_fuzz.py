"""Damaged messages, new ones in every run, are refused with an error of ours or read as batches that can be counted."""

from __future__ import annotations

import hashlib
import struct
from collections import Counter

import numpy as np
import pytest

from small_worlds import days_and_places
from tacit.collection.wire import MessageFormat, encode_message, tally_message
from tacit.counts.provenance import Provenance
from tacit.errors import DamagedMessage, FormatError, PlanMismatch
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.randomness import SeededRandomness

N_MESSAGES = 200_000
N_AT_ONCE = 10_000
COUNTED_ONE_IN = 16
HEADER_BYTES = 72
N_DAYS, N_PLACES = 30, 9


def messages_of(plan, n_reports, seed):
    rng = np.random.default_rng(seed)
    cells, bins = rng.integers(0, N_PLACES, n_reports), rng.integers(0, N_DAYS, n_reports)
    reports = mechanism_of(plan).randomize(cells, randomness=SeededRandomness(seed))
    return encode_message(plan, bins, reports, Provenance(plan.fingerprint, is_simulation=True))


def sealed(message):
    """Let the checksum at the end agree, as that of a forger does."""
    return bytes(message[:-8]) + hashlib.sha256(message[:-8]).digest()[:8]


class Damage:
    """Ways to damage a message: anywhere, and where the reader looks; three in four with a forger's checksum."""

    def __init__(self, seed, messages):
        self.rng = np.random.default_rng(seed)
        self.messages = messages

    def draw(self):
        """Many damaged messages, each with the number of the one it was; drawn together because that is fast."""
        ways = (self.flip, self.flip_header, self.cut, self.splice, self.scramble_header, self.field, self.run)
        numbers = self.rng.integers(0, 1 << 62, (N_AT_ONCE, 4)).tolist()
        for which, *where in numbers:
            source = which // len(ways) % len(self.messages)
            damaged = ways[which % len(ways)](bytearray(self.messages[source]), *where)
            yield source, sealed(damaged) if where[2] >> 40 & 3 else damaged

    def flip(self, message, at, bit, more):
        message[at % len(message)] ^= 1 << bit % 8
        if more % 2:
            message[more // 2 % len(message)] ^= 1 << bit // 8 % 8
        return message

    def flip_header(self, message, at, bit, _):
        message[at % HEADER_BYTES] ^= 1 << bit % 8
        return message

    def cut(self, message, at, longer, _):
        return message + message[: at % 40] if longer % 2 else message[: at % len(message)]

    def splice(self, message, at, other, start):
        other = self.messages[other % len(self.messages)]
        return message[: at % len(message)] + other[start % len(other) :]

    def scramble_header(self, message, first, second, third):
        start = first % HEADER_BYTES
        message[start : start + 16] = struct.pack("<QQ", second, third)[: HEADER_BYTES - start]
        return message

    def field(self, message, which, value, small):
        at, form = ((8, "<H"), (10, "<H"), (12, "<I"), (56, "<Q"), (64, "<Q"))[which % 5]
        struct.pack_into(form, message, at, (small % 70 if small % 2 else value) % (1 << 8 * struct.calcsize(form)))
        return message

    def run(self, message, which, value, small):
        (n_bins,) = struct.unpack_from("<Q", message, 56)
        at = HEADER_BYTES + 8 * (which % (2 * n_bins or 1))
        if at + 8 <= len(message):
            struct.pack_into("<q", message, at, small % 40 - 2 if small % 4 else value)
        return message


@pytest.mark.false_failure(1e-9)
@pytest.mark.slow
def test_damaged_messages_are_refused_or_read(seed):
    plans = [plan_for(days_and_places(N_DAYS, N_PLACES), epsilon=1.5, mechanism=name) for name in MECHANISMS]
    sources = [(plan, MessageFormat.of(plan), n) for plan in plans for n in (0, 1, 2, 30, 100)]
    messages = [messages_of(plan, n, seed + n) for plan, _, n in sources]
    damage, outcomes = Damage(seed, messages), Counter()
    for _ in range(N_MESSAGES // N_AT_ONCE):
        for source, data in damage.draw():
            plan, reader, _ = sources[source]
            try:
                batch = reader.parse(data)
            except PlanMismatch:
                outcomes["foreign"] += 1
                continue
            except FormatError as refused:
                outcomes["damaged" if isinstance(refused, DamagedMessage) else "refused"] += 1
                continue
            outcomes["read"] += 1
            if outcomes["read"] % COUNTED_ONE_IN == 0:
                outcomes[counted(batch, plan)] += 1
    # the damage reaches all of the reader
    kinds = ("read", "refused", "damaged", "foreign", "counted")
    assert min(outcomes[kind] for kind in kinds) > N_MESSAGES // 500, outcomes


def counted(batch, plan):
    try:
        tally = tally_message(batch, plan)
    except FormatError:
        return "uncountable"
    assert tally.n_reports == batch.n_reports
    assert len(tally.reports) <= N_DAYS
    return "counted"


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_of_random_bytes_are_counted_or_refused_whole(name, seed):
    """What lies inside a sound message may be anything: a report that no device could send is refused."""
    rng = np.random.default_rng(seed)
    plan = plan_for(days_and_places(N_DAYS, N_PLACES), epsilon=1.5, mechanism=name)
    width, label = mechanism_of(plan).report_bytes, Provenance(plan.fingerprint)
    reader, kinds = MessageFormat.of(plan), set()
    for n_reports in (1, 1, 1, 1, 2, 50) * 40:
        rows = rng.integers(0, 256, (n_reports, width)).astype(np.uint8)
        kinds.add(counted(reader.parse(reader.encode(rng.integers(0, N_DAYS, n_reports), rows, label)), plan))
    assert kinds <= {"counted", "uncountable"}
