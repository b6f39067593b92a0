"""Numbers for Prometheus in its text format: sums of the store, and of this process."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from tacit import __version__
from tacit.service.activity import BOUNDS, Histogram
from tacit.service.ingest import Ingest
from tacit.service.store import Store

Sample = tuple[Mapping[str, str], float]


class Family(NamedTuple):
    """Numbers of one name: its kind and meaning, and for each set of labels a number."""

    name: str
    kind: str
    what: str
    samples: Iterable[Sample]


def families(store: Store, ingest: Ingest, folder: Path) -> Iterator[Family]:
    """Yield all numbers; labels are names of surveys and reasons, never of a sender."""
    surveys, activity = store.surveys(), ingest.activity
    labels = [{"survey": one.id} for one in surveys]
    refusals = [
        ({"survey": one.id, "reason": reason}, n) for one in surveys for reason, n in ingest.refusals(one).items()
    ]
    disk = shutil.disk_usage(folder if folder.exists() else folder.parent)
    reports = [store.n_reports(one) for one in surveys]
    closed = [store.n_closed(one) for one in surveys]
    alarms = [len(store.alarms(one)) for one in surveys]
    alone: Mapping[str, str] = {}
    yield Family("tacit_info", "gauge", "The version that runs.", [({"version": __version__}, 1)])
    yield Family("tacit_reports_total", "counter", "Reports counted.", zip(labels, reports, strict=True))
    yield Family("tacit_refusals_total", "counter", "Messages refused, by reason.", refusals)
    yield Family("tacit_closed_periods", "gauge", "Closed periods.", zip(labels, closed, strict=True))
    yield Family("tacit_alarms", "gauge", "Alarms for poisoned reports.", zip(labels, alarms, strict=True))
    yield Family("tacit_messages_total", "counter", "Messages this process counted.", [(alone, activity.n_messages)])
    yield Family("tacit_failed_commits_total", "counter", "Commits that failed.", [(alone, activity.n_failed)])
    can_write = int(store.failures.of_writing is None)
    yield Family("tacit_store_can_write", "gauge", "1, or 0 after a write that failed.", [(alone, can_write)])
    yield Family("tacit_waiting_messages", "gauge", "Messages that wait for a commit.", [(alone, ingest.n_waiting)])
    yield Family("tacit_waiting_bytes", "gauge", "Bytes of messages in work.", [(alone, ingest.n_bytes)])
    yield Family("tacit_store_bytes", "gauge", "Size of the store.", [(alone, store.size())])
    yield Family("tacit_disk_free_bytes", "gauge", "Free space where closed periods are written.", [(alone, disk.free)])
    yield Family("tacit_disk_size_bytes", "gauge", "All space there.", [(alone, disk.total)])


def in_text(found: Iterable[Family], commits: Histogram) -> str:
    """Return the numbers as lines."""
    lines = []
    for one in found:
        lines += [f"# HELP {one.name} {one.what}", f"# TYPE {one.name} {one.kind}"]
        lines += [f"{one.name}{_labels(labels)} {_number(value)}" for labels, value in one.samples]
    name = "tacit_commit_seconds"
    lines += [f"# HELP {name} Seconds of a commit.", f"# TYPE {name} histogram"]
    bounds = [*(str(bound) for bound in BOUNDS), "+Inf"]
    for bound, n in zip(bounds, accumulate(commits.counts), strict=True):
        lines.append(f'{name}_bucket{{le="{bound}"}} {n}')
    lines += [f"{name}_sum {_number(commits.seconds)}", f"{name}_count {sum(commits.counts)}"]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    """Labels in braces. Names of surveys and reasons have small letters, digits and hyphens: nothing to escape."""
    inside = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
