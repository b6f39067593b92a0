"""One report as JSON: what a device sends that packs no messages. It is counted as a message of one report is."""

from __future__ import annotations

import re
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
_KEYS: Final = SingleReport.__struct_fields__
_KEY: Final = re.compile(rf"`(?:\$\.)?({'|'.join(_KEYS)})`$")
"""Where the words of the decoder end with a key of ours. Nothing else of them is told: they may quote what was sent."""
_FORM: Final = "One report is a JSON object with id and report in hexadecimal, and what is public as text."


def addition_of(data: bytes, survey: Survey, clock: datetime) -> Addition:
    """Return what a report in JSON adds to a survey."""
    try:
        single = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise Refused(Reason.MALFORMED, f"{_fault_in(str(problem))} {_FORM}") from None
    id = _bytes_of(single.id, "id", ID_BYTES)
    report = _bytes_of(single.report, "report", survey.form.report_bytes)
    return survey.addition_of_one(id, survey.bin_of(single.time, single.place, single.kind), report, clock)


def _bytes_of(text: str, key: str, n_bytes: int) -> bytes:
    """Return the bytes of a key in hexadecimal; there must be so many."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        raise Refused(Reason.MALFORMED, f"{key} must be in hexadecimal.") from None
    if len(found) != n_bytes:
        raise Refused(Reason.MALFORMED, f"{key} must have {n_bytes} bytes, in hexadecimal {2 * n_bytes} digits.")
    return found


def _fault_in(words: str) -> str:
    """Return what is wrong with a report by the words of the decoder, with the key at fault and no value.

    >>> _fault_in("Expected `str`, got `int` - at `$.id`")
    'id must be text.'
    >>> _fault_in("Object missing required field `report`")
    'report is missing.'
    """
    key = _KEY.search(words)
    if words.startswith("Object contains unknown field"):
        return f"there is a key that is none of {', '.join(_KEYS)}."
    if key is not None:
        return f"{key[1]} {'is missing' if 'missing' in words else 'must be text'}."
    return "this is no JSON object." if words.startswith("Expected") else "this cannot be read as JSON."
