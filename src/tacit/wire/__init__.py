"""Reports on their way from a device to a collector."""

from tacit.wire.reports import ReportFile, ReportWriter

__all__ = ["ReportFile", "ReportWriter"]
