"""A station's report file as messages whose ids follow from the file: sending it again counts nothing twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from tacit.client.outbox import Outbox
from tacit.collection.wire import MessageFormat, ReportFile
from tacit.collection.wire.message import ID_BYTES
from tacit.counts.provenance import check_plan
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
        for first in range(0, len(reports), REPORTS_AT_ONCE):
            part = slice(first, first + REPORTS_AT_ONCE)
            id = hashlib.sha256(file.checksum + number.to_bytes(8, "big")).digest()[:ID_BYTES]
            yield id, form.encode(of_reports[part], reports[part], file.provenance, id=id)
            number += 1


def queue_reports(path: str | Path, plan: Plan, outbox: Outbox) -> int:
    """Put the messages of a report file into an outbox, and return how many there are."""
    n_messages = 0
    for id, message in messages_of(path, plan):
        outbox.put(message, id)
        n_messages += 1
    return n_messages
