"""Reports on their way from a device to a collector."""

from tacit.collection.wire.message import Batch, MessageFormat, encode_message, parse_message, tally_message
from tacit.collection.wire.randomizing_writer import RandomizingWriter
from tacit.collection.wire.reports import ReportFile, ReportWriter

__all__ = [
    "Batch",
    "MessageFormat",
    "RandomizingWriter",
    "ReportFile",
    "ReportWriter",
    "encode_message",
    "parse_message",
    "tally_message",
]
