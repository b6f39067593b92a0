"""Reports on their way from a device to a collector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.collection.wire.message import Batch as Batch
    from tacit.collection.wire.message import MessageFormat as MessageFormat
    from tacit.collection.wire.message import encode_message as encode_message
    from tacit.collection.wire.message import parse_message as parse_message
    from tacit.collection.wire.message import tally_message as tally_message
    from tacit.collection.wire.randomizing_writer import RandomizingWriter as RandomizingWriter
    from tacit.collection.wire.reports import ReportFile as ReportFile
    from tacit.collection.wire.reports import ReportWriter as ReportWriter

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.collection.wire.message": "Batch MessageFormat encode_message parse_message tally_message",
        "tacit.collection.wire.randomizing_writer": "RandomizingWriter",
        "tacit.collection.wire.reports": "ReportFile ReportWriter",
    },
)
