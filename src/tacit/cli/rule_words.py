"""What the command line says of a release's rules."""

from __future__ import annotations

import numpy as np

from tacit.cli import console
from tacit.counts.estimate import Estimate
from tacit.release import Release, Rules
from tacit.release.rules import SUPPRESSED


def say_rules(release: Release) -> None:
    """What is not in the table, whether the file holds it all the same, and what can be worked out."""
    if release.rules.suppress:
        _say_suppressed(release)
    if release.rules.missing:
        time = release.domain.time
        n_whole, n_partly = (int(release.rules.missing_bins(time, partly=partly).sum()) for partly in (False, True))
        found = [f"{console.counted(n_whole, 'period')} without any data"] if n_whole else []
        found += [f"{console.counted(n_partly, 'period')} without some of the days"] if n_partly else []
        console.say(f"Missing: {' and '.join(found)}.")


def warn_of_missing_reports(estimate: Estimate, rules: Rules) -> None:
    """Days that are said to have no data should have no reports."""
    totals, (n_times, _) = estimate.totals, estimate.domain.shape
    if not rules.missing or totals is None or totals.shape[0] != n_times:
        return
    n_reports = int(totals[rules.missing_bins(estimate.domain.time)].sum())
    if n_reports:
        console.warn(
            f"{console.counted(n_reports, 'report')} came in on days that are said to have no data (--missing). Their "
            "number is public, and longer periods count them. Leave out the days that have data."
        )


def _say_suppressed(release: Release) -> None:
    is_suppressed = release.statuses() == SUPPRESSED
    n_suppressed = int(is_suppressed.sum())
    if not n_suppressed:
        console.say("No count is suppressed.")
        return
    what = f"Suppressed {n_suppressed:,} of {console.counted(is_suppressed.size, 'count')}"
    if release.rules.keep_suppressed:
        console.warn(
            f"{what}: they are blank in the table, but the file still holds them (--keep-suppressed). Leave that out "
            "if whoever gets the file must not see them."
        )
        return
    console.say(f"{what}: they are not in the file, and sums that need them cannot be asked.")
    totals = release.unbiased.totals
    if totals is None or totals.shape == release.domain.shape:
        return
    n_alone = int(np.count_nonzero(is_suppressed.sum(axis=1 if totals.shape[0] > 1 else 0) == 1))
    if n_alone:
        one, of = ("place", "period") if totals.shape[0] > 1 else ("period", "place")
        console.warn(
            f"In {console.counted(n_alone, of)} a single {one} is suppressed: its count is what the others leave of "
            "the public number of reports."
        )
