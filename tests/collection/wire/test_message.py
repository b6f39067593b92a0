"""A message gives back what was put in, tells nothing more, and is refused whole when anything is wrong."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_worlds import days_and_places
from tacit.collection.tallying import tally_reports
from tacit.collection.wire import (
    MessageFormat,
    RandomizingWriter,
    ReportWriter,
    encode_message,
    parse_message,
    tally_message,
)
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import DamagedMessage, FormatError, PlanMismatch, SettingError
from tacit.mechanisms.local.memo import DeviceMemo
from tacit.mechanisms.planner.oracles import plan_for_devices
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.unit import Unit
from tacit.randomness import SecureRandomness, SeededRandomness

PLAN = plan_for(days_and_places(90, 17), epsilon=2.0)
HEADER = struct.Struct("<8sHHI16s16sdQQ")
ID = bytes(range(16))
LABEL = Provenance.of_reports(PLAN.fingerprint, True, 1.5)


def drawn(n_reports, plan=PLAN, seed=1):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, plan.n_private, n_reports)
    reports = mechanism_of(plan).randomize(cells, randomness=SeededRandomness(seed))
    return rng.integers(0, plan.n_public, n_reports), reports


def sealed(content):
    """A message whose checksum agrees, whoever made it."""
    return content + hashlib.sha256(content).digest()[:8]


def forged(message, **fields):
    names = ("magic", "version", "flags", "report_bytes", "plan", "id", "prior_epsilon", "n_bins", "n_reports")
    header = dict(zip(names, HEADER.unpack_from(message), strict=True)) | fields
    return sealed(HEADER.pack(*header.values()) + message[HEADER.size : -8])


@given(st.integers(0, 300), st.integers(0, 99), st.booleans(), st.floats(0, 100))
def test_what_is_put_in_comes_out(n_reports, seed, is_simulation, prior_epsilon):
    bins, reports = drawn(n_reports, seed=seed)
    label = Provenance.of_reports(PLAN.fingerprint, is_simulation, prior_epsilon)
    batch = parse_message(encode_message(PLAN, bins, reports, label), PLAN)
    assert batch.provenance == label
    assert batch.n_reports == n_reports
    found = zip(np.repeat(batch.bins, batch.run_lengths).tolist(), batch.reports.tolist(), strict=True)
    assert sorted(found) == sorted(zip(bins.tolist(), reports.tolist(), strict=True))


@given(st.integers(0, 99))
def test_any_order_of_the_reports_gives_the_same_bytes(seed):
    bins, reports = drawn(200, seed=seed)
    shuffled = np.random.default_rng(seed).permutation(200)
    message = encode_message(PLAN, bins, reports, LABEL, id=ID)
    assert encode_message(PLAN, bins[shuffled], reports[shuffled], LABEL, id=ID) == message


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_length_depends_on_the_plan_and_on_public_numbers_only(name):
    plan = plan_for(days_and_places(5, 9), epsilon=1.0, mechanism=name)
    mechanism = mechanism_of(plan)
    lengths = set()
    for cell, label in ((0, Provenance(plan.fingerprint)), (8, Provenance.of_reports(plan.fingerprint, True, 0.1))):
        reports = mechanism.randomize(np.full(7, cell), randomness=SeededRandomness(cell))
        lengths.add(len(encode_message(plan, np.array([0, 0, 0, 1, 1, 4, 4]), reports, label)))
    assert lengths == {HEADER.size + 3 * 16 + 7 * mechanism.report_bytes + 8}


def test_parsing_copies_nothing():
    message = bytearray(encode_message(PLAN, *drawn(1000), LABEL))
    batch = parse_message(message, PLAN)
    before = batch.reports[-1, -1]
    message[-9] ^= 0xFF  # the last byte before the checksum
    assert batch.reports[-1, -1] == before ^ 0xFF
    assert not any(
        view.flags.writeable or view.flags.owndata for view in (batch.bins, batch.run_lengths, batch.reports)
    )


def test_a_message_is_read_wherever_it_lies_in_a_larger_buffer():
    message = encode_message(PLAN, *drawn(50), LABEL)
    inside = memoryview(b"\x01" * 3 + message + b"\x02")[3:-1]
    assert tally_message(parse_message(inside, PLAN), PLAN) == tally_message(parse_message(message, PLAN), PLAN)


def test_messages_and_files_give_the_same_tally(tmp_path):
    bins, reports = drawn(5_000)
    with ReportWriter(tmp_path / "a.reports", LABEL, reports.shape[1]) as writer:
        writer.add(bins, reports)
    by_message = Tally.zero(PLAN.fingerprint, 17)
    for part in np.array_split(np.arange(5_000), 7):
        by_message += tally_message(parse_message(encode_message(PLAN, bins[part], reports[part], LABEL), PLAN), PLAN)
    assert by_message == tally_reports([tmp_path / "a.reports"], PLAN)
    assert by_message.provenance == LABEL


def test_no_report_at_all_is_a_message_too():
    batch = parse_message(encode_message(PLAN, *drawn(0), LABEL), PLAN)
    assert batch.n_reports == 0
    assert tally_message(batch, PLAN).n_reports == 0


MESSAGE = encode_message(PLAN, *drawn(40), LABEL)


@pytest.mark.parametrize("keep", range(0, len(MESSAGE), 11))
def test_a_truncated_message_is_refused(keep):
    with pytest.raises(FormatError, match=r"(?i)nothing was counted"):
        parse_message(MESSAGE[:keep], PLAN)


def test_no_flipped_bit_behind_the_version_is_missed():
    for at in range(10, len(MESSAGE)):
        for bit in range(8):
            changed = bytearray(MESSAGE)
            changed[at] ^= 1 << bit
            with pytest.raises(DamagedMessage, match="checksum"):
                parse_message(changed, PLAN)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (MESSAGE + b"\0", "checksum"),
        (MESSAGE + MESSAGE, "checksum"),
        (sealed(MESSAGE), "should have"),
        (b"", "not a message"),
        (b"TACITRPT" + MESSAGE[8:], "not a message"),
        (forged(MESSAGE, version=4), "version 4; this Tacit reads 3. Update the receiver"),
        (forged(MESSAGE, version=2), "version 2; this Tacit reads 3. Update the sender"),
        (forged(MESSAGE, version=2)[:-8], "Update the sender"),  # as senders of version 2 made it
        (forged(MESSAGE, flags=3), "label"),
        (forged(MESSAGE, flags=1 << 15), "label"),
        (forged(MESSAGE, prior_epsilon=float("nan")), "label"),
        (forged(MESSAGE, prior_epsilon=float("inf")), "label"),
        (forged(MESSAGE, prior_epsilon=-1.0), "label"),
        (forged(MESSAGE, report_bytes=0), "reports of 0 bytes"),
        (forged(MESSAGE, report_bytes=1), "reports of 1 bytes"),
        (forged(MESSAGE, n_reports=41), "should have"),
        (forged(MESSAGE, n_reports=2**64 - 1), "should have"),
        (forged(MESSAGE, n_bins=2**64 - 1), "should have"),
        # as many bytes, cut otherwise
        (forged(MESSAGE, n_bins=HEADER.unpack_from(MESSAGE)[7] - 3, n_reports=40 + 16), "bins"),
    ],
)
def test_a_forged_message_is_refused_with_the_reason(message, words):
    with pytest.raises(FormatError, match=words):
        parse_message(message, PLAN)


def with_runs(bins, lengths, n_reports=4):
    """A message of reports all zero, with these runs."""
    runs = np.array([*bins, *lengths], "<i8").tobytes()
    label = bytes.fromhex(PLAN.fingerprint)
    header = HEADER.pack(b"TACITMSG", 3, 0, 3, label, ID, 0.0, len(bins), n_reports)
    return sealed(header + runs + bytes(3 * n_reports))


def test_forged_runs_start_from_ones_that_are_read():
    assert parse_message(with_runs([0, 89], [1, 3]), PLAN).bins.tolist() == [0, 89]


@pytest.mark.parametrize(
    ("bins", "lengths"),
    [
        ([0, 90], [1, 3]),
        ([-1, 3], [1, 3]),
        ([3, 3], [1, 3]),
        ([4, 3], [1, 3]),
        ([0, 1], [4, 0]),
        ([0, 1], [5, -1]),
        ([0, 1], [1, 2]),
        ([], []),
        ([0, 1, 2], [2**63 - 1, 2**63 - 1, 6]),
    ],
)
def test_bins_outside_the_plan_or_at_odds_with_the_reports_are_refused(bins, lengths):
    with pytest.raises(FormatError, match="bins do not fit"):
        parse_message(with_runs(bins, lengths), PLAN)


def test_a_message_of_another_plan_is_refused():
    other = plan_for(days_and_places(90, 17), epsilon=2.1)
    with pytest.raises(PlanMismatch, match=PLAN.fingerprint):
        parse_message(MESSAGE, other)
    with pytest.raises(PlanMismatch):
        encode_message(other, *drawn(3), LABEL)
    with pytest.raises(PlanMismatch):
        tally_message(parse_message(MESSAGE, PLAN), other)


@pytest.mark.parametrize(
    ("bins", "reports"),
    [
        (np.array([90]), np.zeros((1, 3), np.uint8)),
        (np.array([-1]), np.zeros((1, 3), np.uint8)),
        (np.array([1]), np.zeros((1, 4), np.uint8)),
        (np.array([1]), np.zeros((1, 3), np.int64)),
        (np.array([1, 2]), np.zeros((1, 3), np.uint8)),
    ],
)
def test_reports_that_do_not_fit_the_plan_are_not_packed(bins, reports):
    with pytest.raises(SettingError):
        encode_message(PLAN, bins, reports, LABEL)


def test_on_an_axis_without_end_a_collector_says_how_far_it_believes():
    plan = plan_for(Domain(TimeAxis("2018-01-01", "day"), PlaceAxis.of(["a", "b"])), epsilon=1.0)
    report, label = np.zeros((1, 1), np.uint8), Provenance(plan.fingerprint)
    message = encode_message(plan, np.array([400]), report, label)
    assert MessageFormat.of(plan, n_public=401).parse(message).bins.tolist() == [400]
    with pytest.raises(FormatError, match="bins"):
        MessageFormat.of(plan, n_public=400).parse(message)
    with pytest.raises(SettingError):
        encode_message(plan, np.array([1 << 24]), report, label)


@pytest.mark.parametrize(
    "label",
    [
        Provenance(PLAN.fingerprint, prior=Guarantee.of_release(Cost.zcdp(0.5), Unit())),
        Provenance(PLAN.fingerprint, prior=Guarantee.of_reports(1.0, ("place",), spans_lines=True)),
        Provenance(PLAN.fingerprint, fields_span_lines=True),
    ],
    ids=["a delta", "a condition of earlier reports", "a condition"],
)
def test_a_label_that_a_message_cannot_hold_is_not_packed(label):
    with pytest.raises(SettingError, match="Send the report file"):
        encode_message(PLAN, *drawn(5), label)


def test_a_plan_is_verified_once_and_not_for_each_message(monkeypatch):
    form, message = MessageFormat.of(PLAN), encode_message(PLAN, *drawn(3), LABEL)

    def again(*_):
        raise AssertionError("verified again")

    monkeypatch.setattr("tacit.collection.wire.message.mechanism_of", again)
    monkeypatch.setattr(type(PLAN), "fingerprint", property(again))
    assert form.tally(form.parse(message)).n_reports == 3
    assert form.parse(form.encode(*drawn(2), LABEL)).n_reports == 2


def test_every_message_has_an_id_of_its_own_and_says_it_again():
    messages = [encode_message(PLAN, *drawn(3), LABEL) for _ in range(3)]
    assert len({parse_message(message, PLAN).id for message in messages}) == 3
    assert parse_message(encode_message(PLAN, *drawn(3), LABEL, id=ID), PLAN).id == ID
    with pytest.raises(SettingError, match="16 bytes"):
        encode_message(PLAN, *drawn(3), LABEL, id=b"short")


@pytest.mark.parametrize("name", [name for name, entry in MECHANISMS.items() if not entry.is_repeated])
def test_events_become_a_message_whose_label_nobody_writes(name):
    plan = plan_for(days_and_places(5, 9), epsilon=1.0, mechanism=name)
    form = MessageFormat.of(plan)
    days, places = np.array([4, 0, 4]), np.array([2, 8, 2])
    batch = form.parse(form.randomize(days, places, randomness=SeededRandomness(3)))
    reports = mechanism_of(plan).randomize(places, randomness=SeededRandomness(3))
    again = form.parse(form.encode(days, reports, Provenance(plan.fingerprint, is_simulation=True)))
    assert (batch.provenance, batch.reports.tolist()) == (again.provenance, again.reports.tolist())
    secure = form.parse(form.randomize(days, places, randomness=SecureRandomness()))
    assert secure.provenance == Provenance(plan.fingerprint)
    assert form.tally(secure).reports.tolist() == [1, 0, 0, 0, 2]


def test_no_report_file_is_written_for_devices_that_remember(tmp_path):
    plan, _ = plan_for_devices(days_and_places(5, 9), epsilon=1.0)
    assert plan.unit == "device"
    with pytest.raises(SettingError, match="Report from a DeviceMemo"):
        RandomizingWriter(tmp_path / "a.reports", plan, randomness=SecureRandomness())


@pytest.mark.parametrize("name", [name for name, entry in MECHANISMS.items() if entry.is_repeated])
def test_only_a_memo_randomizes_again_and_again(name, tmp_path):
    plan = plan_for(days_and_places(5, 9), epsilon=1.0, mechanism=name)
    form = MessageFormat.of(plan)
    day, place = np.array([1]), np.array([7])
    with pytest.raises(SettingError, match="what a device remembers"):
        form.randomize(day, place, randomness=SeededRandomness(1))
    other = mechanism_of(plan_for(days_and_places(5, 9), epsilon=1.5, mechanism=name))
    with pytest.raises(SettingError, match="of the plan's mechanism"):
        form.randomize(day, place, randomness=SeededRandomness(1), memo=DeviceMemo(other))
    memo = DeviceMemo(mechanism_of(plan))
    batch = form.parse(form.randomize(day, place, randomness=SeededRandomness(1), memo=memo))
    twin = DeviceMemo(mechanism_of(plan)).report(7, randomness=SeededRandomness(1))
    assert batch.reports.tolist() == [twin.tolist()]
