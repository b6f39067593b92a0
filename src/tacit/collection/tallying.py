"""From report files to a tally and on to an estimate: what a collector does. Messages count themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit.collection.wire import ReportFile
from tacit.collection.wire.spool import n_bins_allowed
from tacit.counts.estimate import Estimate
from tacit.counts.provenance import Provenance, check_plan
from tacit.counts.tally import Tally
from tacit.domain import ALL
from tacit.errors import FormatError, SettingError, TacitError
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan
from tacit.postprocess.likelihood import ReportHistogram, maximize_likelihood
from tacit.postprocess.refinements import FROM_REPORTS, Refinement

LARGEST_HISTOGRAM: Final = 1 << 29
"""Distinct reports times cells that a histogram may hold, a byte each: half a GiB. Larger ones are refused; doubled,
twice the memory."""


Looked = Callable[[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]], None]
"""Takes bins, run lengths and reports of a piece of a file while it is counted."""


def tally_reports(
    paths: Iterable[str | Path], plan: Plan, *, progress: Callable[[int, int], None] | None = None
) -> Tally:
    """Count the reports of all files; where one is damaged or does not fit, none counts. Reads every file once."""
    total = Tally.zero(plan.fingerprint, mechanism_of(plan).n_statistics)
    for tally in tallies_of(paths, plan, progress=progress):
        total += tally
    return total


def tallies_of(
    paths: Iterable[str | Path],
    plan: Plan,
    *,
    progress: Callable[[int, int], None] | None = None,
    look: Looked | None = None,
) -> Iterator[Tally]:
    """Yield the tally of each file, read and hashed once. ``look`` is shown the reports of a file as they are counted.

    All heads are checked before the first report is counted. That a file is damaged further on shows at its end, so
    nothing of any of them may be used before all have been counted.
    """
    mechanism = mechanism_of(plan)
    files = open_reports(paths, plan, mechanism.report_bytes)
    done, n_reports = 0, sum(file.n_reports for file in files)
    for file in files:
        n_bins = int(file.bins[-1]) + 1 if len(file.bins) else 0
        statistics = np.zeros((n_bins, mechanism.n_statistics), np.int64)
        reports = np.zeros(n_bins, np.int64)
        with called_damaged_first(file):
            for bins, run_lengths, rows in file.batches(check=True):
                statistics[bins] += mechanism.statistics(rows, run_lengths)
                reports[bins] += run_lengths
                if look is not None:
                    look(bins, run_lengths, rows)
                done += len(rows)
                if progress is not None:
                    progress(done, n_reports)
        yield Tally(file.provenance, statistics, reports)


def estimate_tally(tally: Tally, plan: Plan) -> Estimate:
    """Turn a tally into unbiased counts over the whole of the plan's domain."""
    return mechanism_of(plan).estimate(tally, plan, plan.bounded_domain(len(tally.reports)))


def histogram_reports(paths: Iterable[str | Path], plan: Plan) -> ReportHistogram:
    """Count how often each distinct report came in each public bin: what the exact likelihood needs.

    It is as large as the reports that differ, so this is for plans of few cells, or of few reports.
    """
    mechanism = mechanism_of(plan)
    if mechanism.n_statistics != mechanism.n_cells:
        raise SettingError(
            f"reports of {plan.mechanism} support no single cells. Refine by project or coherent instead."
        )
    files = open_reports(paths, plan, mechanism.report_bytes)
    provenance, n_bins = Provenance(plan.fingerprint), 0
    entries: list[tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]] = []
    for file in files:
        provenance += file.provenance
        n_bins = max(n_bins, int(file.bins[-1]) + 1 if len(file.bins) else 0)
        for bins, run_lengths, rows in file.batches(check=True):
            named, which = np.unique(_as_keys(rows), return_inverse=True)
            if len(named) * mechanism.n_cells > LARGEST_HISTOGRAM:
                raise SettingError(
                    f"more than {len(named):,} different reports of {mechanism.n_cells} cells are too many to keep. "
                    "Refine by project or smooth instead, which need the tally alone."
                )
            keys = np.repeat(bins, run_lengths) * len(named) + which.ravel()
            found, counts = np.unique(keys, return_counts=True)
            entries.append((found // len(named), named[found % len(named)], counts))
    return _merged(entries, n_bins, provenance, plan)


def likelihood_of(histogram: ReportHistogram, plan: Plan) -> Refinement:
    """Return the way from an estimate to the most likely counts, for estimates of these reports added up in any way.

    Coarser public periods, places or kinds are maximized again; coarser private ones are sums of the most likely cells.
    """

    def refine(estimate: Estimate) -> Estimate:
        fine = plan.bounded_domain(max(1, histogram.n_bins))
        levels = {"time": estimate.domain.time.step, "place": estimate.domain.place.level}
        if fine.kind is not None:
            levels["kind"] = ALL if estimate.domain.kind is None else estimate.domain.kind.level
        public, hidden = (
            {axis: level for axis, level in levels.items() if axis in axes} for axes in (plan.public, plan.private)
        )
        domain, grouping = fine.coarsen(public.get("time"), public.get("place"), public.get("kind"))
        layout = plan.layout(fine)
        groups, n_bins = layout.groups(grouping)[0], layout.coarsened(grouping).n_public
        if not plan.public:  # there is one bin, whatever number of rows the histogram has
            groups = np.zeros(max(1, histogram.n_bins), np.int64)
        coarse = histogram.coarsen(groups, n_bins)
        totals = plan.totals(coarse.reports, domain)
        blank = Estimate(domain, np.zeros(domain.shape), estimate.noise, totals, estimate.steps, estimate.provenance)
        if estimate.totals is None or not np.array_equal(totals.ravel(), estimate.totals.ravel()):
            raise SettingError("the report files must hold the same reports as the tally. Name all of them.")
        likely = maximize_likelihood(blank, coarse)
        return likely.coarsen(**hidden)

    return Refinement(FROM_REPORTS, "the most likely counts, given the reports themselves", refine)


def _merged(
    entries: list[tuple[NDArray[np.int64], NDArray[Any], NDArray[np.int64]]],
    n_bins: int,
    provenance: Provenance,
    plan: Plan,
) -> ReportHistogram:
    """Return one histogram of all batches; equal reports of one bin become one entry."""
    mechanism = mechanism_of(plan)
    width = mechanism.report_bytes
    keys = np.concatenate([named for _, named, _ in entries]) if entries else np.zeros(0, f"V{width}")
    distinct, which = np.unique(keys, return_inverse=True)
    rows = np.frombuffer(distinct.tobytes(), np.uint8).reshape(-1, width)
    supports = np.empty((len(rows), mechanism.n_cells), np.uint8)
    for first in range(0, len(rows), 1 << 16):
        part = rows[first : first + (1 << 16)]
        supports[first : first + len(part)] = mechanism.statistics(part, np.ones(len(part), np.int64))
    bins = np.concatenate([bins for bins, _, _ in entries]) if entries else np.zeros(0, np.int64)
    counts = np.concatenate([counts for _, _, counts in entries]) if entries else np.zeros(0, np.int64)
    order = np.argsort(bins, kind="stable")
    starts = np.searchsorted(bins[order], np.arange(n_bins + 1))
    histogram = ReportHistogram(
        provenance, math.exp(mechanism.epsilon), supports, starts, which.ravel()[order], counts[order]
    )
    return histogram.coarsen(np.arange(n_bins), n_bins) if len(entries) > 1 else histogram


def _as_keys(rows: NDArray[np.uint8]) -> NDArray[Any]:
    """Return packed reports as one comparable item each."""
    return np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel()


def open_reports(paths: Iterable[str | Path], plan: Plan, report_bytes: int) -> list[ReportFile]:
    """Read the heads of report files and refuse those that do not fit, or whose reports would count twice."""
    files = [ReportFile.open(path, check=False) for path in paths]
    for file in files:
        with called_damaged_first(file):
            _check_fits(file, plan, report_bytes)
    # files of other public bins hold other events, as the parts of one run do
    bins, n_files = np.unique(
        np.concatenate([np.empty(0, np.int64), *(file.bins for file in files)]), return_counts=True
    )
    shared = bins[n_files > 1]
    for file in files:
        if file.provenance.prior_epsilon and np.isin(file.bins, shared).any():
            raise SettingError(
                f"{file.path} holds reports of events that had been randomized before, and the other files may hold "
                "the same events. They would count twice. Tally it on its own."
            )
    if len({file.checksum for file in files}) < len(files):
        raise SettingError("two report files are copies of each other, and their reports would count twice. Name one.")
    return files


@contextmanager
def called_damaged_first(file: ReportFile) -> Iterator[None]:
    """Check the file if anything inside this block is refused: of a damaged file nothing else is said."""
    try:
        yield
    except TacitError:
        file.check()
        raise


def _check_fits(file: ReportFile, plan: Plan, report_bytes: int) -> None:
    check_plan(str(file.path), file.provenance.plan_id, plan.fingerprint)
    last = int(file.bins[-1]) if len(file.bins) else 0
    if file.report_bytes != report_bytes or last >= n_bins_allowed(plan):
        raise FormatError(f"{file.path} holds reports that do not fit its plan. Ask for it again; nothing was counted.")
