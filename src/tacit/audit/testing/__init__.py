"""Checks that Tacit runs on itself and that plug-in authors can run on their own work.

Start with :func:`check_randomizer`, which runs all that concerns a local randomizer.
"""

from tacit.audit.testing.contract import (
    check_distribution,
    check_estimate,
    check_form,
    check_randomizer,
    check_refusals,
)
from tacit.audit.testing.randomizers import (
    ListedWords,
    RecordedWords,
    assert_frequencies,
    check_channel,
    check_one_at_a_time,
    check_reports,
    check_supports,
    check_thresholds,
    check_words,
)

__all__ = [
    "ListedWords",
    "RecordedWords",
    "assert_frequencies",
    "check_channel",
    "check_distribution",
    "check_estimate",
    "check_form",
    "check_one_at_a_time",
    "check_randomizer",
    "check_refusals",
    "check_reports",
    "check_supports",
    "check_thresholds",
    "check_words",
]
