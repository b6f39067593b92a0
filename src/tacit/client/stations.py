"""A station's report file on its way: as messages whose ids follow from the file, so that nothing counts twice.

Each message is of one period. If the collector closes a period meanwhile, its messages are refused and no others.

The file lies in the outbox as ``.reports`` until all of its messages are queued, and as ``.queued`` until all of them
are counted or refused. Beside it ``.left`` has the ids of its messages and the heads of the ledger under which it was
made, so that a file that was damaged meanwhile holds nothing up. If all were counted both go, and the heads are noted
in ``counted``, so that the same call later knows that nothing is left to do. If some were refused they move to
``refused``, until these are counted too. As long as the file is whole, a waiting message that was damaged on the disk
is made from it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.files import sync_folder, write_whole
from tacit.client.outbox import Outbox, Sent
from tacit.collection.wire import MessageFormat, ReportFile
from tacit.collection.wire.message import ID_BYTES
from tacit.counts.provenance import check_plan
from tacit.errors import FormatError
from tacit.plan import Plan

REPORTS_AT_ONCE: Final = 200_000
"""Reports of one message: a few hundred kilobytes. Ten times as many would be over the usual limits of proxies."""


def messages_of(path: str | Path, plan: Plan) -> Iterator[tuple[bytes, bytes]]:
    """Give the ids and the messages of a report file, the same each time; a damaged file gives none."""
    form, file = MessageFormat.of(plan), ReportFile.open(path)
    check_plan(str(path), file.provenance.plan_id, form.plan_id)
    number = 0
    for bins, run_lengths, reports in file.batches():
        of_reports = np.repeat(bins, run_lengths)
        for part in _parts(of_reports, plan):
            id = hashlib.sha256(file.checksum + number.to_bytes(8, "big")).digest()[:ID_BYTES]
            yield id, form.encode(of_reports[part], reports[part], file.provenance, id=id)
            number += 1


def _parts(bins: NDArray[np.int64], plan: Plan) -> Iterator[slice]:
    """The reports of each message, given the public bins of sorted reports: of one period, and not too many."""
    periods = bins // plan.public_per_period if "time" not in plan.private else np.zeros_like(bins)
    starts = [0, *(np.flatnonzero(np.diff(periods)) + 1).tolist(), len(bins)]
    for start, end in pairwise(starts):
        for first in range(start, end, REPORTS_AT_ONCE):
            yield slice(first, min(first + REPORTS_AT_ONCE, end))


def queue_reports(path: str | Path, plan: Plan, outbox: Outbox) -> list[str]:
    """Put the messages of a report file into an outbox, and return their ids in hexadecimal digits."""
    ids = []
    for id, message in messages_of(path, plan):
        outbox.put(message, id)
        ids.append(id.hex())
    return ids


@dataclass(frozen=True, slots=True)
class Delivered:
    """What became of the messages of a report file, over all calls."""

    sent: Sent
    n_messages: int = 0
    n_refused: int = 0


@dataclass(frozen=True, slots=True)
class _Left:
    """Which messages of a report file are not known to be counted, noted in a file beside it."""

    path: Path

    @property
    def reports(self) -> Path:
        """The report file, if it is still there."""
        return self.path.with_suffix(".reports")

    @property
    def heads(self) -> list[str]:
        """The heads of the ledger under which the report file was made."""
        return self._words("head")

    @property
    def ids(self) -> list[str]:
        return self._words("message")

    def _words(self, kind: str) -> list[str]:
        lines = (line.split() for line in _lines(self.path))
        return [words[1] for words in lines if len(words) == 2 and words[0] == kind]

    def write(self, heads: Iterable[str], ids: Iterable[str]) -> None:
        lines = [*(f"head {head}\n" for head in heads), *(f"message {id}\n" for id in ids)]
        write_whole(self.path, "".join(lines).encode(), is_private=True)


class Shipment:
    """The report file of one survey in an outbox's folder, from when it is written until all of it is counted."""

    def __init__(self, folder: Path, plan: Plan, outbox: Outbox) -> None:
        self._plan, self._outbox = plan, outbox
        self.reports: Final = folder / f"{plan.fingerprint}.reports"
        self._queued, self._counted = folder / f"{plan.fingerprint}.queued", folder / f"{plan.fingerprint}.counted"
        self._left: Final = _Left(folder / f"{plan.fingerprint}.left")

    @property
    def is_under_way(self) -> bool:
        """Whether messages of an earlier call may still have to be sent."""
        return self._left.path.exists() or len(self._outbox) > 0

    def queue(self) -> None:
        """Turn the report file into messages that wait; on return they are on the disk."""
        try:
            ids = queue_reports(self.reports, self._plan, self._outbox)
        except FormatError:
            damaged = self._outbox.refused / f"{self.reports.name}.damaged"
            self.reports.replace(damaged)
            raise FormatError(
                f"the reports of an earlier run were damaged on this disk before they were sent, and are lost: their "
                f"events are randomized and recorded, and not counted. The file is {damaged} now. Run the same again "
                "to go on with other events."
            ) from None
        self._left.write(ReportFile.open(self.reports, check=False).provenance.ledger_heads, ids)
        self.reports.rename(self._queued)
        sync_folder(self._queued.parent)

    def deliver(self, progress: Callable[[int, int], None] | None = None) -> Delivered:
        """Send what waits. If nothing waits afterwards, note what was counted, and delete the file or keep it apart."""
        sent = self._outbox.send(progress=progress, rebuild=self._rebuilt)
        self._settle_kept(sent.counted)
        if sent.n_waiting or not self._left.path.exists():
            return Delivered(sent, sent.n_counted + sum(sent.refused.values()), sum(sent.refused.values()))
        heads, ids = self._left.heads, self._left.ids
        refused = [*filter(self._outbox.has_refused, ids)]
        if refused:
            kept = _Left(self._outbox.refused / f"{self._plan.fingerprint}-{ids[0]}.left")
            kept.write(heads, refused)
            if self._queued.exists():
                self._queued.replace(kept.reports)
            sync_folder(kept.reports.parent)
        else:
            self._note_counted(heads)
            self._queued.unlink(missing_ok=True)
        self._left.path.unlink()
        return Delivered(sent, len(ids), len(refused))

    def n_refused(self, head: str) -> int:
        """Return how many messages were refused, and not counted since, of those made when the ledger had this head."""
        return sum(len(kept.ids) for kept in self._kept() if head in kept.heads)

    def queue_missing(self) -> None:
        """Queue messages again that were refused and are nowhere any more: a stop hid whether they were counted."""
        for kept in self._kept():
            for id in kept.ids:
                if not self._outbox.has(id) and (message := self._rebuilt(id)) is not None:
                    self._outbox.put(message, bytes.fromhex(id))

    def _kept(self) -> list[_Left]:
        return [_Left(path) for path in sorted(self._outbox.refused.glob(f"{self._plan.fingerprint}-*.left"))]

    def _settle_kept(self, counted: frozenset[str]) -> None:
        """Note which messages that were refused earlier have been counted now."""
        for kept in self._kept():
            heads, ids = kept.heads, kept.ids
            left = [id for id in ids if id not in counted]
            if not left:
                self._note_counted(heads)
                kept.reports.unlink(missing_ok=True)
                kept.path.unlink()
            elif len(left) < len(ids):
                kept.write(heads, left)

    def _rebuilt(self, id: str) -> bytes | None:
        """Return the message of this id from the report file it was made of; None if no whole file has it."""
        for path in (self._queued, *(kept.reports for kept in self._kept())):
            with suppress(FormatError):
                for found, message in messages_of(path, self._plan):
                    if found.hex() == id:
                        return message
        return None

    def _note_counted(self, heads: Iterable[str]) -> None:
        noted = sorted({*self._heads(), *heads})
        write_whole(self._counted, "".join(f"{head}\n" for head in noted).encode(), is_private=True)

    def has_counted(self, head: str) -> bool:
        """Return whether all reports were counted that were made when the ledger had this head."""
        return head in self._heads()

    def _heads(self) -> list[str]:
        return _lines(self._counted) if self._counted.exists() else []


def _lines(path: Path) -> list[str]:
    """The lines of a note; damaged ones match nothing, and hold nothing up."""
    return path.read_text("utf-8", errors="replace").splitlines()
