"""One report as JSON: what a device sends that packs no messages. It is counted as a message of one report is."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from tacit.collection.wire.message import ID_BYTES
from tacit.service.refusals import Reason, Refused
from tacit.service.survey import Addition, Survey


class SingleReport(msgspec.Struct, forbid_unknown_fields=True):
    """A report: its id, what is public about it, and the report's bytes, both in hexadecimal."""

    id: str
    report: str
    time: str | None = None
    place: str | None = None
    kind: str | None = None


_DECODER: Final = msgspec.json.Decoder(SingleReport)


def addition_of(data: bytes, survey: Survey, clock: datetime) -> Addition:
    """Return what a report in JSON adds to a survey."""
    try:
        single = _DECODER.decode(data)
        id, report = bytes.fromhex(single.id), bytes.fromhex(single.report)
    except (msgspec.MsgspecError, ValueError):
        raise Refused(
            Reason.MALFORMED, "one report is a JSON object with id and report in hexadecimal, and what is public."
        ) from None
    if len(id) != ID_BYTES or len(report) != survey.form.report_bytes:
        raise Refused(
            Reason.MALFORMED,
            f"the id must have {ID_BYTES} bytes, and a report of this plan {survey.form.report_bytes}.",
        )
    return survey.addition_of_one(id, survey.bin_of(single.time, single.place, single.kind), report, clock)
