"""A message: one report or millions on their way from a device or a station to a collector.

A header of fixed size says under which plan the reports were made; public bins and fixed-width packed reports follow.
What a message shows beyond its reports is the plan, the label *simulation*, what the same events had cost before, and
how many reports stand in which public bin. Its length depends on the plan and on these numbers only; it holds no time
of sending and nothing that names the sender; its reports are sorted, so nothing of their order is left. Its id is drawn
at random for every message, and sent again with the same message only: by it a collector counts a message once. Heads
of a ledger are not in it: a device has none. A label of which it cannot say all is refused.

Layout, all integers little-endian::

    8 bytes    magic "TACITMSG"
    2 bytes    version
    2 bytes    flags: bit 0 for a simulation; the other bits are zero
    4 bytes    bytes of a report
    16 bytes   fingerprint of the plan
    16 bytes   id of the message
    8 bytes    epsilon that the same events had cost before, a 64-bit float
    8 bytes    number of public bins that hold reports
    8 bytes    number of reports
    n_bins     8-byte numbers of these bins, ascending
    n_bins     8-byte numbers of reports in each
    payload    n_reports x bytes of a report, sorted by bin and then as little-endian numbers
    8 bytes    the first of the SHA-256 of all bytes before: it finds damage, and stops no forger
"""

from __future__ import annotations

import hashlib
import secrets
import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit.collection.wire.spool import are_runs, n_bins_allowed, sorting_order
from tacit.counts.provenance import MOST_EPSILON, Provenance, check_plan
from tacit.counts.tally import Tally
from tacit.errors import DamagedMessage, FormatError, SettingError
from tacit.mechanisms.local.memo import DeviceMemo
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan
from tacit.privacy.device import remembers
from tacit.randomness import Randomness

VERSION: Final = 3
"""The third form: an id came with 2, a checksum with 3. Messages of other versions are refused."""
ID_BYTES: Final = 16
"""Bytes of a message's id: so many that no two are drawn alike, whoever draws how many."""
_MAGIC: Final = b"TACITMSG"
_HEADER: Final = struct.Struct("<8sHHI16s16sdQQ")
_SIMULATION: Final = 1
_CHECKSUM_BYTES: Final = 8
"""Bytes of the checksum: damage is missed once in 2**64 damaged messages. With 4 it would be once in 4 billion."""
_AGAIN: Final = "Nothing was counted; send the bytes as they were made."


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The content of a message, as views of its bytes: reports in runs, one run for each public bin."""

    id: bytes
    provenance: Provenance
    bins: NDArray[np.int64]
    run_lengths: NDArray[np.int64]
    reports: NDArray[np.uint8]

    @property
    def n_reports(self) -> int:
        return len(self.reports)


@dataclass(frozen=True, slots=True)
class MessageFormat:
    """The form of messages of one plan. Whoever makes or reads many keeps one of these: the plan is verified once.

    ``n_public`` is the number of public bins believed. A collector of an axis without end gives its own, so that no
    forged message makes it keep bins that are far in the future.
    """

    plan: Plan
    plan_id: str
    mechanism: LocalRandomizer
    n_public: int

    @classmethod
    def of(cls, plan: Plan, *, n_public: int | None = None) -> MessageFormat:
        allowed = n_bins_allowed(plan)
        believed = allowed if n_public is None else min(n_public, allowed)
        return cls(plan, plan.fingerprint, mechanism_of(plan), believed)

    @property
    def report_bytes(self) -> int:
        return self.mechanism.report_bytes

    def randomize(
        self,
        time_bins: NDArray[np.int64],
        columns: NDArray[np.integer],
        *,
        randomness: Randomness,
        memo: DeviceMemo | None = None,
    ) -> bytes:
        """Randomize events, given as cells of the plan's domain, and pack their reports with the label they have.

        What it does not promise: it keeps no ledger and forgets the events at once. Calling it again for the same
        events draws further reports of them. Where the mechanism remembers, reports come from the device's ``memo``.
        """
        bins, cells = self.plan.split(np.asarray(time_bins, np.int64), columns)
        if not remembers(dict(self.plan.thresholds)):
            reports = self.mechanism.randomize(cells, randomness=randomness)
        elif memo is not None and memo.mechanism == self.mechanism:
            reports = np.array([memo.report(cell, randomness=randomness) for cell in cells.tolist()], np.uint8)
        else:
            raise SettingError(
                "reports of this plan come from what a device remembers; drawn again each time, they would give its "
                "value away. Give memo=DeviceMemo.read(...), of the plan's mechanism."
            )
        label = Provenance.of_reports(self.plan_id, randomness.is_simulation, 0.0)
        return self.encode(bins, reports.reshape(len(bins), self.report_bytes), label)

    def encode(
        self, bins: NDArray[np.int64], reports: NDArray[np.uint8], provenance: Provenance, *, id: bytes | None = None
    ) -> bytes:
        """Pack reports, given in any order with the public bin of each. The ``id`` is drawn where none is given."""
        id = secrets.token_bytes(ID_BYTES) if id is None else id
        if len(id) != ID_BYTES:
            raise SettingError(f"id must have {ID_BYTES} bytes; got {len(id)}. Leave it out, and it is drawn.")
        bins, reports = np.asarray(bins, np.int64), np.asarray(reports)
        if bins.ndim != 1 or reports.dtype != np.uint8 or reports.shape != (len(bins), self.report_bytes):
            raise SettingError(
                f"reports must be rows of {self.report_bytes} bytes (uint8), one for each bin. "
                "Use what the plan's mechanism gave."
            )
        if len(bins) and not 0 <= bins.min() <= bins.max() < self.n_public:
            raise SettingError(f"bins must lie between 0 and {self.n_public - 1}. Use plan.split to get them.")
        check_plan("the label", provenance.plan_id, self.plan_id)
        prior = provenance.prior.replacement
        if provenance.fields_span_lines or provenance.prior.spans_lines or (prior is not None and prior.rho):
            raise SettingError(
                "a message can say only which epsilon the same events had cost before, neither a delta nor that "
                "fields of their source may span lines. Send the report file."
            )
        found, run_lengths = np.unique(bins, return_counts=True)
        header = _HEADER.pack(
            _MAGIC,
            VERSION,
            _SIMULATION if provenance.is_simulation else 0,
            self.report_bytes,
            bytes.fromhex(self.plan_id),
            id,
            provenance.prior_epsilon,
            len(found),
            len(bins),
        )
        payload = reports[sorting_order(bins, reports)]
        content = b"".join(
            (header, found.astype("<i8").tobytes(), run_lengths.astype("<i8").tobytes(), payload.tobytes())
        )
        return content + _checksum(content)

    def parse(self, data: bytes | bytearray | memoryview) -> Batch:
        """Read a message without copying it; one that is not whole, or not of this plan, is refused.

        One that was damaged on its way raises :class:`tacit.errors.DamagedMessage`, whatever was hit but its beginning.
        """
        data = memoryview(data).cast("B")
        if len(data) < _HEADER.size + _CHECKSUM_BYTES or bytes(data[:8]) != _MAGIC:
            raise FormatError(f"these {len(data)} bytes are not a message of reports. {_AGAIN}")
        _, version, flags, report_bytes, plan_id, id, prior_epsilon, n_bins, n_reports = _HEADER.unpack_from(data)
        if version != VERSION:
            older = "sender" if version < VERSION else "receiver"
            raise FormatError(f"the message has version {version}; this Tacit reads {VERSION}. Update the {older}.")
        if _checksum(data[:-_CHECKSUM_BYTES]) != data[-_CHECKSUM_BYTES:]:
            raise DamagedMessage(
                "the message's checksum does not agree: it was changed or cut short on its way. Nothing was counted; "
                "send it again."
            )
        check_plan("the message", plan_id.hex(), self.plan_id)
        if flags & ~_SIMULATION or not 0 <= prior_epsilon <= MOST_EPSILON:  # written so that NaN fails too
            raise FormatError(f"the message's label is damaged. {_AGAIN}")
        if report_bytes != self.report_bytes:
            raise FormatError(
                f"the message holds reports of {report_bytes} bytes; its plan has {self.report_bytes}. {_AGAIN}"
            )
        expected = _HEADER.size + 16 * n_bins + n_reports * report_bytes + _CHECKSUM_BYTES
        if len(data) != expected:
            raise FormatError(f"the message has {len(data)} bytes; by its numbers it should have {expected}. {_AGAIN}")
        runs = np.frombuffer(data, "<i8", 2 * n_bins, _HEADER.size).astype(np.int64, copy=False)
        bins, run_lengths = runs[:n_bins], runs[n_bins:]
        if not are_runs(bins, run_lengths, n_reports) or (n_bins and bins[-1] >= self.n_public):
            raise FormatError(f"the message's bins do not fit its plan or its number of reports. {_AGAIN}")
        flat = np.frombuffer(data, np.uint8, n_reports * report_bytes, _HEADER.size + 16 * n_bins)
        reports = flat.reshape(n_reports, report_bytes)
        for view in (bins, run_lengths, reports):
            view.flags.writeable = False
        return Batch(id, Provenance.of_reports(self.plan_id, bool(flags), prior_epsilon), bins, run_lengths, reports)

    def tally(self, batch: Batch) -> Tally:
        """Count the reports of a message; if one is none that a device of the plan could send, none counts."""
        check_plan("the message", batch.provenance.plan_id, self.plan_id)
        n_bins = int(batch.bins[-1]) + 1 if batch.n_reports else 0
        statistics = np.zeros((n_bins, self.mechanism.n_statistics), np.int64)
        reports = np.zeros(n_bins, np.int64)
        statistics[batch.bins] = self.mechanism.statistics(batch.reports, batch.run_lengths)
        reports[batch.bins] = batch.run_lengths
        return Tally(batch.provenance, statistics, reports)


def is_whole(data: bytes) -> bool:
    """Return whether these bytes are a message as it was made, of whatever plan: its checksum agrees."""
    is_message = len(data) >= _HEADER.size + _CHECKSUM_BYTES and data.startswith(_MAGIC)
    return is_message and _checksum(data[:-_CHECKSUM_BYTES]) == data[-_CHECKSUM_BYTES:]


def _checksum(content: bytes | memoryview) -> bytes:
    return hashlib.sha256(content).digest()[:_CHECKSUM_BYTES]


def encode_message(
    plan: Plan,
    bins: NDArray[np.int64],
    reports: NDArray[np.uint8],
    provenance: Provenance,
    *,
    id: bytes | None = None,
) -> bytes:
    """Pack reports made under a plan, given in any order with the public bin of each.

    >>> from tacit.domain import Domain, PlaceAxis, TimeAxis
    >>> from tacit.mechanisms.registry import plan_for
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["north", "south", "west"]))
    >>> plan = plan_for(domain, epsilon=2.0)
    >>> message = encode_message(plan, np.array([5, 5]), np.array([[6], [1]], np.uint8), Provenance(plan.fingerprint))
    >>> batch = parse_message(message, plan)
    >>> batch.bins.tolist(), batch.run_lengths.tolist(), batch.reports.tolist()
    ([5], [2], [[1], [6]])
    """
    return MessageFormat.of(plan).encode(bins, reports, provenance, id=id)


def parse_message(data: bytes | bytearray | memoryview, plan: Plan) -> Batch:
    """Read a message without copying it; whoever reads many asks ``MessageFormat.of(plan)`` once."""
    return MessageFormat.of(plan).parse(data)


def tally_message(batch: Batch, plan: Plan) -> Tally:
    """Count the reports of one message; whoever counts many asks ``MessageFormat.of(plan)`` once."""
    return MessageFormat.of(plan).tally(batch)
