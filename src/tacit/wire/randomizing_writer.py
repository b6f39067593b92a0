"""A report file written from true cells: the label of the randomness cannot be left out."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms import mechanism_of
from tacit.plan import Plan
from tacit.provenance import Provenance
from tacit.randomness import Randomness
from tacit.wire.reports import ReportWriter


class RandomizingWriter:
    """Randomizes events under a plan and writes their reports, sorted and labelled.

    Use as a context manager; leaving it by an exception leaves no file behind. Real events belong in a ledger first:
    :func:`tacit.randomizing.randomize_events` does both.
    """

    def __init__(
        self,
        path: str | Path,
        plan: Plan,
        *,
        randomness: Randomness,
        prior_epsilon: float = 0.0,
        ledger_heads: tuple[str, ...] = (),
    ) -> None:
        self._plan = plan
        self._mechanism = mechanism_of(plan)
        self._randomness = randomness
        label = Provenance(plan.fingerprint, randomness.is_simulation, prior_epsilon, ledger_heads)
        self._writer = ReportWriter(path, label, self._mechanism.report_bytes)

    def add(self, time_bins: NDArray[np.int64], places: NDArray[np.integer]) -> None:
        """Randomize events, given as cells of the plan's domain."""
        public, private = self._plan.split(np.asarray(time_bins, np.int64), places)
        self._writer.add(public, self._mechanism.randomize(private, randomness=self._randomness))

    def __enter__(self) -> RandomizingWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.__exit__(kind, error, trace)
