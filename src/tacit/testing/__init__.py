"""Checks that Tacit runs on itself and that plug-in authors can run on their own work."""

from tacit.testing.frequencies import assert_frequencies
from tacit.testing.randomizers import check_channel, check_one_at_a_time, check_reports

__all__ = ["assert_frequencies", "check_channel", "check_one_at_a_time", "check_reports"]
