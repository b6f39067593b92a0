"""A release: the only thing that leaves for the public. Numbers, intervals and the privacy statement, together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._validate import check_share
from tacit.domain import Domain
from tacit.errors import PlanMismatch, SettingError
from tacit.estimate import Answer, Estimate
from tacit.noise import Unstated
from tacit.plan import Plan
from tacit.postprocess.refinements import best_refinement, refinement_named
from tacit.query import answer
from tacit.release.rules import MISSING, NO_RULES, SHOWN, SUPPRESSED, Rules
from tacit.release.statement import PrivacyStatement
from tacit.release.versions import FIRST, Version
from tacit.rounding import epsilon_at_most

LARGEST_RELATIVE_ERROR = 1 / 3
ANOTHER_REFINEMENT = "another"
BLANKED = ("unbiased", "standard_error", "lower", "upper", "refined", "refined_lower", "refined_upper")
"""Columns in which a suppressed or missing cell has no number."""


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Counts per period and place, twice: ``unbiased`` with intervals, ``refined`` to look at.

    ``refinement`` names how the second was made; ``rules`` say what a table shows of them; ``version`` counts from 1.
    Ask it for any range with :meth:`answer`; write it with :meth:`write` and read it anywhere with
    ``Release.read``: the noise model travels inside, so that intervals are the same there.
    """

    plan: Plan
    unbiased: Estimate
    refined: Estimate
    statement: PrivacyStatement
    level: float
    created_at: str
    refinement: str = "clip"
    rules: Rules = NO_RULES
    version: Version = FIRST
    file_checksum: str = ""

    @classmethod
    def of(
        cls,
        plan: Plan,
        estimate: Estimate,
        *,
        by: str | None = None,
        place: str | None = None,
        level: float = 0.95,
        refine: str | Callable[[Estimate], Estimate] | None = None,
        rules: Rules | None = None,
        revises: Release | None = None,
    ) -> Release:
        """Release an estimate, added up to ``by`` periods ("month", "year") and ``place`` level where given.

        ``refine`` names a way to refine (:data:`tacit.postprocess.refinements.REFINEMENTS`) or is a step of its own;
        left out, it is the best that needs no tuning: smoothing where at least 60 periods have a public number of
        reports, else projection, or clipping where no number is public. ``revises`` is the release that this one
        replaces.
        """
        check_share(level=level)
        if estimate.provenance.plan_id != plan.fingerprint:
            raise PlanMismatch(
                "the estimate was made under another plan. Use the plan its reports were collected under."
            )
        unbiased, refined, name = _refined(estimate, by, place, refine)
        version = FIRST if revises is None else Version.after(revises, plan)
        statement = PrivacyStatement.of(
            plan,
            unbiased.provenance,
            unbiased_steps=unbiased.steps,
            refined_steps=refined.steps,
            version=version,
        )
        created_at = datetime.now(UTC).isoformat("T", "seconds")
        return cls(plan, unbiased, refined, statement, level, created_at, name, rules or NO_RULES, version)

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
        """The same release in larger periods or places.

        Counts that were smoothed are added up; those that were projected, clipped or cut are refined anew from sums.
        """
        if self.refinement == ANOTHER_REFINEMENT:
            raise SettingError("only a release refined by name can be added up. Release it anew.")
        if not refinement_named(self.refinement).adds_up:
            made = Release.of(
                self.plan,
                self.unbiased,
                by=time,
                place=place,
                level=self.level,
                refine=self.refinement,
                rules=self.rules,
            )
            return replace(made, statement=replace(made.statement, version=self.version), version=self.version)
        unbiased, refined = (estimate.coarsen(time=time, place=place) for estimate in (self.unbiased, self.refined))
        return replace(self, unbiased=unbiased, refined=refined, file_checksum="")

    def columns(self) -> dict[str, NDArray[Any]]:
        """The table, a row for every period and place, zeros included; what rules suppress is NaN."""
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
        if self.has_refined_intervals:
            limits = self.refined.noise.intervals(self.refined.values, self.level)
            columns["refined_lower"], columns["refined_upper"] = (limit.ravel() for limit in limits)
        if not self.rules.are_none:
            columns["status"] = self.statuses().ravel()
            is_blank = self.blank().ravel()
            for name in BLANKED:
                if name in columns:
                    columns[name] = np.where(is_blank, np.nan, columns[name])
        return columns

    @property
    def has_refined_intervals(self) -> bool:
        """Whether the refined counts carry a noise model of their own."""
        return self.refinement != "raw" and not isinstance(self.refined.noise, Unstated)

    def statuses(self) -> NDArray[np.object_]:
        """What the rules say of every cell: shown, greyed, suppressed or missing.

        A relative error is that of the refined count where it has one, else the unbiased count's error against it.
        """
        if self.rules.are_none:
            return np.full(self.domain.shape, SHOWN, object)
        noise = self.refined.noise if self.has_refined_intervals else self.unbiased.noise
        return self.rules.statuses(self.refined.values, noise.standard_errors(), self.domain.time)

    def blank(self) -> NDArray[np.bool_]:
        """Cells of which a table shows no number."""
        statuses = self.statuses()
        return np.isin(statuses.astype(str), (SUPPRESSED, MISSING))

    @property
    def checksum(self) -> str:
        """What the file's checksum is: the name by which a later version knows this release."""
        from tacit.release import files

        return self.file_checksum or files.checksum_of(self)

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


def _refined(
    estimate: Estimate, by: str | None, place: str | None, refine: str | Callable[[Estimate], Estimate] | None
) -> tuple[Estimate, Estimate, str]:
    """The estimate added up, the same refined, and the name of how."""
    unbiased = estimate.coarsen(time=by, place=place) if by or place else estimate
    if callable(refine):
        return unbiased, refine(unbiased), ANOTHER_REFINEMENT
    chosen = best_refinement(estimate) if refine is None else refinement_named(refine)
    if refine is None and not chosen.adds_up:
        chosen = best_refinement(unbiased)
    if not chosen.adds_up or unbiased is estimate or chosen.name == "raw":
        return unbiased, chosen.refine(unbiased), chosen.name
    return unbiased, chosen.refine(estimate).coarsen(time=by, place=place), chosen.name
