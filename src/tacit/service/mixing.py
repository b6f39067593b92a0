"""Closing periods: when no more reports are taken for a period, its reports become one sorted file.

The steps are: close, which the store notes for ever; write all reports of the period, sorted, to a file that appears
whole; delete them from the store. Whoever is stopped between any two of them runs the same again: a closed period gets
no more reports, so the same file is written. After it nothing says which reports came together, or in which order.
Two processes may close the same period: whoever finds the reports gone, because the other was faster, writes nothing.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np

from tacit._base.files import make_folders
from tacit.collection.poisoning import tally_and_watch
from tacit.collection.wire import ReportWriter
from tacit.counts.provenance import Provenance
from tacit.errors import FormatError
from tacit.service.logs import log
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.watching import keep, share_of


def close_due(store: Store, survey: Survey, clock: datetime, folder: Path, *, until: str | None = None) -> list[Path]:
    """Close the periods for which no more reports are taken, and return the files of those that had any.

    With ``until``, a day, the periods up to its own close too, and reports for them that come later are refused.
    """
    n_through = 0 if until is None else survey.n_periods_through(until, clock)
    n_before, n_due = store.n_closed(survey), max(survey.taken(clock).start, n_through)
    store.close_periods(survey, n_due)
    files = mix(store, survey, folder)
    n_new = max(0, n_due - n_before)  # with those that had no report
    if files or n_new:
        log("closed", survey=survey.id, periods=n_new, files=len(files))
    return files


def mix(store: Store, survey: Survey, folder: Path) -> list[Path]:
    """Write the reports of every closed period that the store still holds to a file, and delete them there."""
    made = (_mixed(store, survey, period, folder) for period in store.unmixed(survey))
    return [path for path in made if path is not None]


def report_file(survey: Survey, period: int, folder: Path) -> Path:
    """Where the reports of a closed period are."""
    return folder / survey.id / f"{period:08d}.reports"


class _MixedElsewhere(Exception):
    """Another process has written the file of this period and deleted its reports."""


def _mixed(store: Store, survey: Survey, period: int, folder: Path) -> Path | None:
    path = report_file(survey, period, folder)
    make_folders(path.parent)
    label = Provenance.of_reports(survey.form.plan_id, survey.is_simulation, 0.0)
    n_reports = 0
    try:
        with ReportWriter(path, label, survey.form.report_bytes, is_private=True) as writer:
            for bin, reports in store.runs(survey, period):
                writer.add(np.full(len(reports), bin), reports)
                n_reports += len(reports)
            if not n_reports and store.is_mixed(survey, period):
                raise _MixedElsewhere
    except _MixedElsewhere:
        return None
    _check(store, survey, period, path)
    store.forget_runs(survey, period, n_reports)
    return path


def _check(store: Store, survey: Survey, period: int, path: Path) -> None:
    """Count the file again: what the store added up must be what its reports come to. Look for poisoned ones."""
    bins = survey.bins_of(period)
    share = share_of(*store.next_look(survey))
    recounted, alarms = tally_and_watch([path], survey.plan, false_alarm=share)
    keep(store, survey, alarms, "a period")
    kept = store.tally(survey)
    for one in (kept.reports, kept.statistics):
        again = recounted.reports if one is kept.reports else recounted.statistics
        stop = min(bins.stop, len(one))
        padded = np.zeros_like(one[bins.start : stop])
        found = again[bins.start : stop]
        padded[: len(found)] = found
        if not np.array_equal(padded, one[bins.start : stop]):
            raise FormatError(
                f"the reports of period {period} of survey {survey.id} do not add up to its tally: the store was "
                "changed or damaged. Restore a backup; nothing was deleted."
            )
