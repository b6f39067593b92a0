"""From report files and messages to a tally: what a collector does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from tacit.errors import FormatError, PlanMismatch, SettingError
from tacit.estimate import Estimate
from tacit.mechanisms import mechanism_of
from tacit.plan import Plan
from tacit.provenance import Provenance
from tacit.tally import Tally
from tacit.wire import Batch, ReportFile
from tacit.wire.runs import n_bins_allowed


def tally_reports(
    paths: Iterable[str | Path], plan: Plan, *, progress: Callable[[int, int], None] | None = None
) -> Tally:
    """Count the reports of all files. Every file is checked before the first report is counted."""
    mechanism = mechanism_of(plan)
    files = [ReportFile.open(path) for path in paths]
    total = Tally.zero(plan.fingerprint, mechanism.n_statistics)
    for file in files:
        _check_fits(file, plan, mechanism.report_bytes)
    if len(files) > 1 and any(file.provenance.prior_epsilon for file in files):
        raise SettingError(
            "a report file holds events that had been randomized before, and the other files may hold the same events. "
            "They would count twice. Tally it on its own."
        )
    if len({file.checksum for file in files}) < len(files):
        raise SettingError("two report files are copies of each other, and their reports would count twice. Name one.")
    done, n_reports = 0, sum(file.n_reports for file in files)
    for file in files:
        n_bins = int(file.bins[-1]) + 1 if len(file.bins) else 0
        statistics = np.zeros((n_bins, mechanism.n_statistics), np.int64)
        reports = np.zeros(n_bins, np.int64)
        for bins, run_lengths, rows in file.batches():
            statistics[bins] += mechanism.statistics(rows, run_lengths)
            reports[bins] += run_lengths
            done += len(rows)
            if progress is not None:
                progress(done, n_reports)
        total += Tally(file.provenance, statistics, reports)
    return total


def tally_message(batch: Batch, plan: Plan) -> Tally:
    """Count the reports of one message. Reports that no device of the plan could send are refused, and none counts."""
    _check_plan("the message", batch.provenance, plan)
    mechanism = mechanism_of(plan)
    n_bins = int(batch.bins[-1]) + 1 if batch.n_reports else 0
    statistics = np.zeros((n_bins, mechanism.n_statistics), np.int64)
    reports = np.zeros(n_bins, np.int64)
    statistics[batch.bins] = mechanism.statistics(batch.reports, batch.run_lengths)
    reports[batch.bins] = batch.run_lengths
    return Tally(batch.provenance, statistics, reports)


def estimate_tally(tally: Tally, plan: Plan) -> Estimate:
    """Turn a tally into unbiased counts over the whole of the plan's domain."""
    return mechanism_of(plan).estimate(tally, plan, plan.bounded_domain(len(tally.reports)))


def _check_fits(file: ReportFile, plan: Plan, report_bytes: int) -> None:
    _check_plan(str(file.path), file.provenance, plan)
    last = int(file.bins[-1]) if len(file.bins) else 0
    if file.report_bytes != report_bytes or last >= n_bins_allowed(plan):
        raise FormatError(f"{file.path} holds reports that do not fit its plan. Ask for it anew; nothing was counted.")


def _check_plan(what: str, provenance: Provenance, plan: Plan) -> None:
    if provenance.plan_id != plan.fingerprint:
        raise PlanMismatch(
            f"{what} was made under plan {provenance.plan_id}, not {plan.fingerprint}. "
            "Use the plan the reports were made under."
        )
