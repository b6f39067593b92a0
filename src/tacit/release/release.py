"""A release: the only thing that leaves for the public. Numbers, intervals and the privacy statement, together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._validate import check_share
from tacit.domain import Domain
from tacit.errors import PlanMismatch, SettingError
from tacit.estimate import Answer, Estimate
from tacit.plan import Plan
from tacit.postprocess import clip, clip_and_rescale
from tacit.query import answer
from tacit.release.statement import PrivacyStatement
from tacit.rounding import epsilon_at_most

LARGEST_RELATIVE_ERROR = 1 / 3


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Counts per period and place, twice: ``unbiased`` with intervals, ``refined`` to look at.

    Ask it for any range with :meth:`answer`; write it with :meth:`write` and read it anywhere with
    ``Release.read``: the noise model travels inside, so that intervals are the same there.
    """

    plan: Plan
    unbiased: Estimate
    refined: Estimate
    statement: PrivacyStatement
    level: float
    created_at: str

    @classmethod
    def of(
        cls,
        plan: Plan,
        estimate: Estimate,
        *,
        by: str | None = None,
        place: str | None = None,
        level: float = 0.95,
        refine: Callable[[Estimate], Estimate] | None = None,
    ) -> Release:
        """Release an estimate, added up to ``by`` periods ("month", "year") and ``place`` level where given.

        Refined counts are clipped at zero, and rescaled to the public number of reports where there is one, unless
        ``refine`` says otherwise.
        """
        check_share(level=level)
        if estimate.provenance.plan_id != plan.fingerprint:
            raise PlanMismatch(
                "the estimate was made under another plan. Use the plan its reports were collected under."
            )
        unbiased = estimate.coarsen(time=by, place=place) if by or place else estimate
        refined = (refine or _usual_refinement(unbiased))(unbiased)
        statement = PrivacyStatement.of(
            plan, unbiased.provenance, unbiased_steps=unbiased.steps, refined_steps=refined.steps
        )
        return cls(plan, unbiased, refined, statement, level, datetime.now(UTC).isoformat("T", "seconds"))

    def __repr__(self) -> str:
        label = ", simulation" if self.is_simulation else ""
        n_times, n_places = self.domain.shape
        epsilon = epsilon_at_most(self.statement.total_epsilon)
        return f"Release({n_times} periods x {n_places} places, epsilon {epsilon}{label})"

    @property
    def domain(self) -> Domain:
        return self.unbiased.domain

    @property
    def is_simulation(self) -> bool:
        return self.unbiased.provenance.is_simulation

    def answer(
        self,
        *,
        first: str | None = None,
        last: str | None = None,
        places: list[str] | None = None,
        level: float | None = None,
    ) -> Answer:
        """Answer how many events there were from ``first`` to ``last`` (inclusive) in ``places``."""
        box = self.domain.box(first=first, last=last, places=places)
        return answer(self.unbiased, box, level=self.level if level is None else level)

    def coarsen(self, *, time: str | None = None, place: str | None = None) -> Release:
        """The same release in larger periods or places; refined anew from the sums."""
        if self.refined.steps != _usual_refinement(self.unbiased)(self.unbiased).steps:
            raise SettingError("only a release refined in the usual way can be added up. Release it anew.")
        return Release.of(self.plan, self.unbiased, by=time, place=place, level=self.level)

    def columns(self) -> dict[str, NDArray[Any]]:
        """The table, a row for every period and place, zeros included."""
        n_times, n_places = self.domain.shape
        lower, upper = self.unbiased.noise.intervals(self.unbiased.values, self.level)
        errors = self.unbiased.noise.standard_errors()
        columns: dict[str, NDArray[Any]] = {
            "period": np.repeat(np.array(self.domain.time.labels(), dtype=object), n_places),
            "place": np.tile(np.array(self.domain.place.cells, dtype=object), n_times),
            "unbiased": self.unbiased.values.ravel(),
            "standard_error": errors.ravel(),
            "lower": lower.ravel(),
            "upper": upper.ravel(),
            "refined": self.refined.values.ravel(),
            "reliable": self.reliable().ravel(),
        }
        if self.unbiased.totals is not None:
            columns["reports"] = np.broadcast_to(self.unbiased.totals, self.domain.shape).ravel()
        return columns

    def reliable(self) -> NDArray[np.bool_]:
        """Cells whose standard error is at most a third of their refined count: the others say little."""
        errors = self.unbiased.noise.standard_errors()
        return errors <= LARGEST_RELATIVE_ERROR * self.refined.values

    def write(self, path: str | Path) -> None:
        """Write the release as Parquet or CSV, by the path's ending."""
        from tacit.release import files

        files.write(self, Path(path))

    @classmethod
    def read(cls, path: str | Path) -> Release:
        """Read a release written by :meth:`write`."""
        from tacit.release import files

        return files.read(Path(path))


def _usual_refinement(estimate: Estimate) -> Callable[[Estimate], Estimate]:
    return clip if estimate.totals is None else clip_and_rescale
