"""Reports on their way from a device to a collector."""

from tacit.wire.message import Batch, MessageFormat, encode_message, parse_message
from tacit.wire.randomizing_writer import RandomizingWriter
from tacit.wire.reports import ReportFile, ReportWriter

__all__ = [
    "Batch",
    "MessageFormat",
    "RandomizingWriter",
    "ReportFile",
    "ReportWriter",
    "encode_message",
    "parse_message",
]
