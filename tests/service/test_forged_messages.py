"""Bytes that come as a message are counted or refused with a reason, and take no more memory than they need."""

from __future__ import annotations

import hashlib
import json
import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service_worlds import NOON, TODAY, message, survey_of
from tacit.errors import TacitError
from tacit.service.refusals import Reason, reason_of
from tacit.service.single import addition_of

SURVEY = survey_of(late=1)
GOOD = message(SURVEY, [TODAY - 1] * 3 + [TODAY] * 4)
HEADER = 72
"""Bytes before the bins."""
NUMBERS = {"report_bytes": (12, "<I"), "prior": (48, "<d"), "n_bins": (56, "<Q"), "n_reports": (64, "<Q")}
"""Where each number of the header stands."""
MOST_MEMORY = 1 << 20
"""Bytes that reading a small message may take, with the first use of what is kept. A forged size would ask for more."""


def sealed(data: bytes | bytearray) -> bytes:
    """Put the checksum of a forger behind changed bytes: it always agrees."""
    return bytes(data[:-8]) + hashlib.sha256(data[:-8]).digest()[:8]


def read(data: bytes) -> Reason | None:
    """Return why bytes are refused, or None. Anything but a refusal fails; so does more memory than they need."""
    tracemalloc.start()
    try:
        SURVEY.addition(data, NOON)
        return None
    except TacitError as problem:
        return reason_of(problem)
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < MOST_MEMORY + 20 * len(data)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_message_are_refused(data):
    assert read(data) is Reason.MALFORMED
    assert read(GOOD[:8] + data) in (Reason.MALFORMED, Reason.DAMAGED)
    assert read(sealed(GOOD[:10] + data + bytes(80))) in (Reason.MALFORMED, Reason.OTHER_PLAN)


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_message_with_changed_bytes_is_refused_and_one_of_a_forger_counted_or_refused(changes):
    data = bytearray(GOOD)
    for at, value in changes:
        data[at] = value
    assert read(bytes(data)) in ((None,) if data == GOOD else (Reason.DAMAGED, Reason.MALFORMED))
    assert read(sealed(data)) is not Reason.FAULT


@given(st.integers(0, len(GOOD)), st.integers(0, len(GOOD)), st.binary(max_size=40))
def test_a_message_with_a_piece_cut_out_or_put_in_is_counted_or_refused(first, last, piece):
    data = GOOD[: min(first, last)] + piece + GOOD[max(first, last) :]
    assert read(data) in ((None,) if data == GOOD else (Reason.DAMAGED, Reason.MALFORMED))
    assert read(sealed(data)) is not Reason.FAULT


@pytest.mark.parametrize("name", NUMBERS)
@given(st.data())
def test_a_forged_number_is_refused_before_anything_is_expanded(name, data):
    at, form = NUMBERS[name]
    values = st.floats() if form == "<d" else st.integers(0, 2 ** (8 * struct.calcsize(form)) - 1)
    forged = bytearray(GOOD)
    struct.pack_into(form, forged, at, data.draw(values))
    assert read(sealed(forged)) in (None, Reason.MALFORMED, Reason.LABEL)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_a_forged_bin_or_run_asks_for_no_memory(bin, length):
    """75 bytes that speak of a day in a million years must not make a tally of a million years."""
    forged = bytearray(message(SURVEY, [TODAY]))
    struct.pack_into("<qq", forged, HEADER, bin, length)
    assert read(sealed(forged)) in (None, Reason.MALFORMED, Reason.EARLY, Reason.LATE)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = {
    "id": st.just("00" * 16) | st.text(max_size=40),
    "report": st.just("000100") | st.text("0123456789abcdef", max_size=8),
    "time": st.datetimes().map(lambda moment: moment.isoformat()) | st.text(max_size=30),
    "place": st.text(max_size=10),
    "kind": st.text(max_size=10),
}


@given(st.fixed_dictionaries({}, optional={name: values | JSON for name, values in FIELDS.items()}) | JSON)
def test_a_report_in_json_is_counted_or_refused(content):
    reason = None
    try:
        addition_of(json.dumps(content).encode(), SURVEY, NOON)
    except TacitError as problem:
        reason = reason_of(problem)
    assert reason in (None, Reason.MALFORMED, Reason.EARLY, Reason.LATE)


@given(st.binary(max_size=100))
def test_bytes_that_are_no_json_are_refused(data):
    with pytest.raises(TacitError) as refused:
        addition_of(b"{" + data, SURVEY, NOON)
    assert reason_of(refused.value) is Reason.MALFORMED


def test_a_message_and_its_report_in_json_add_the_same():
    whole = SURVEY.addition(message(SURVEY, [TODAY]), NOON)
    content = {"id": whole.message_id.hex(), "report": whole.reports.tobytes().hex(), "time": NOON.isoformat()}
    single = addition_of(json.dumps(content).encode(), SURVEY, NOON)
    assert single.message_id == whole.message_id
    assert single.periods == whole.periods
    for name in ("bins", "run_lengths", "statistics", "reports"):
        assert np.array_equal(getattr(single, name), getattr(whole, name))
