"""A release: the only thing that leaves for the public. Numbers, intervals and the privacy statement, together."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.languages import message
from tacit._base.reading import read_document
from tacit._base.rounding import epsilon_at_most, four_digits, whole_limits
from tacit._base.validation import check_share
from tacit.counts.estimate import Answer, Estimate
from tacit.counts.provenance import check_plan
from tacit.counts.query import answer
from tacit.domain import Box, Domain
from tacit.domain.step import When
from tacit.errors import NotShown, Remedy, SettingError
from tacit.plan import Plan
from tacit.privacy.guarantee import Guarantee
from tacit.release.rules import MISSING, NO_RULES, SHOWN, SUPPRESSED, Rules, intervals, without_cells
from tacit.release.statement import FILTERING, PrivacyStatement
from tacit.release.versions import FIRST, Version

if TYPE_CHECKING:
    from tacit.postprocess.refinements import Refinement
    from tacit.release.signing import SigningKey

ANOTHER_REFINEMENT = "another"
BLANKED = ("unbiased", "standard_error", "lower", "upper", "refined", "refined_lower", "refined_upper")
"""Columns in which a suppressed or missing cell has no number."""
PUBLISHED: Final = "release.parquet"
"""The name of the release in the folder of a publication."""
AGREED: Final = "publication.toml"
"""The name of what a publication goes on with, beside its release."""


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """Counts per period and place, twice: ``unbiased`` with intervals, ``refined`` to look at.

    Where events have kinds, counts are per period, place and kind.

    ``refinement`` names how the second was made; ``rules`` say what is shown of them, and what they suppress is gone:
    NaN in both; ``version`` counts from 1; ``signed_by`` is the public key of a file whose signature holds.

    Ask it for any range with :meth:`answer`; write it with :meth:`write` and read it anywhere with ``Release.read``:
    the noise model travels inside, so that intervals are the same there.
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
    signed_by: str = ""

    @classmethod
    def of(
        cls,
        plan: Plan,
        estimate: Estimate,
        *,
        by: str | None = None,
        place: str | None = None,
        kind: str | None = None,
        level: float = 0.95,
        refine: str | Refinement | Callable[[Estimate], Estimate] | None = None,
        rules: Rules | None = None,
        revises: Release | None = None,
    ) -> Release:
        """Release an estimate, added up to ``by`` periods ("month", "year"), ``place`` and ``kind`` levels where given.

        The ``kind`` "all" adds up all kinds of events: the release then has none.

        ``refine`` names a way to refine (:data:`tacit.postprocess.refinements.REFINEMENTS`) or is a step of its own;
        left out, it is the best that needs no tuning: smoothing where at least 60 periods have a public number of
        reports, else projection; where no number is public, days that add up to longer periods, none negative.
        ``revises`` is the release that this one replaces.
        """
        check_share(level=level)
        check_plan("the estimate", estimate.provenance.plan_id, plan.fingerprint)
        rules = rules or NO_RULES
        levels = {axis: level for axis, level in (("time", by), ("place", place), ("kind", kind)) if level}
        unbiased, refined, name = _refined(estimate, levels, refine, rules)
        rules.check_within(unbiased.domain.time)
        version = FIRST if revises is None else Version.after(revises, plan, estimate)
        statement = PrivacyStatement.of(
            plan,
            unbiased.provenance,
            unbiased_steps=unbiased.steps,
            refined_steps=refined.steps,
            version=version,
            rules=rules,
        )
        created_at = datetime.now(UTC).isoformat("T", "seconds")
        made = cls(plan, unbiased, refined, statement, level, created_at, name, rules, version)
        return made._without_suppressed() if rules.remove else made

    def __repr__(self) -> str:
        label = ", simulation" if self.is_simulation else ""
        axes = zip(self.domain.grid, ("periods", "places", "kinds"), strict=False)
        size = " x ".join(f"{n} {name}" for n, name in axes)
        return f"Release({size}, epsilon {epsilon_at_most(self.statement.total_epsilon)}{label})"

    @property
    def domain(self) -> Domain:
        return self.unbiased.domain

    @property
    def is_simulation(self) -> bool:
        return self.unbiased.provenance.is_simulation

    def answer(
        self,
        *,
        first: When | None = None,
        last: When | None = None,
        places: list[str] | None = None,
        kinds: list[str] | None = None,
        level: float | None = None,
        measured: bool = False,
    ) -> Answer:
        """Answer how many events of these ``kinds`` there were from ``first`` to ``last`` (inclusive) in ``places``.

        From the :attr:`recommended` counts, or from the ``measured`` ones, which no model has touched. The release's
        rules hold for answers as for cells: what they suppress, and periods without data, are not answered.
        """
        return self.answer_box(
            self.domain.box(first=first, last=last, places=places, kinds=kinds), level=level, measured=measured
        )

    def answer_box(self, box: Box, *, level: float | None = None, measured: bool = False) -> Answer:
        """Answer how many events there were in a box of cells, as :meth:`answer` does."""
        self.check_shown(box)
        asked = self.unbiased if measured else self.recommended
        return answer(asked, box, level=self.level if level is None else level)

    def check_data(self, box: Box) -> None:
        """Refuse a question about periods of which none has data."""
        if self.rules.missing_bins(self.domain.time)[box.time].all():
            raise NotShown("there are no data for the time asked for, which is not zero. Ask for another time.")

    def check_shown(self, box: Box) -> None:
        """Refuse a question whose answer the release does not show."""
        self.check_data(box)
        is_public = self.unbiased.known_total(box) is not None and not self.totals_are_counts
        if is_public or not self.rules.suppress:
            return
        weights = box.weights(self.domain)
        n_gone = int(np.isnan(self.unbiased.values[weights > 0]).sum())
        if n_gone:
            n_asked = int(np.count_nonzero(weights))
            raise NotShown(
                "the count asked for is suppressed."
                if n_asked == 1
                else f"{n_gone:,} of the {n_asked:,} counts asked for {'is' if n_gone == 1 else 'are'} suppressed, and "
                "gone from this release. Ask for others, or for the release in longer periods."
            )
        if self.rules.remove:
            return
        error = float(np.sqrt(self.recommended.noise.variance(weights)))
        count = float((weights * self.recommended.values).sum())
        if self.rules.suppresses(np.array(count), np.array(error)):
            raise NotShown("the count asked for is suppressed. Ask for a longer time, or for more places.")

    def coarsen(self, *, time: str | None = None, place: str | None = None, kind: str | None = None) -> Release:
        """Return the same release in larger periods or places, or by groups of kinds; "all" kinds leave none.

        Counts that were smoothed are added up; those that were projected, clipped or cut are refined again from sums.
        What is suppressed is missing from sums, which are then suppressed too.
        """
        own = (self.domain.time.step, self.domain.place.level, self.domain.kind and self.domain.kind.level)
        if all(level in (None, known) for level, known in zip((time, place, kind), own, strict=True)):
            return self
        from tacit.postprocess.refinements import FROM_REPORTS, refinement_named

        if self.refinement == ANOTHER_REFINEMENT:
            raise SettingError("only a release refined by name can be added up. Release it again.")
        if self.refinement == FROM_REPORTS:
            raise SettingError(
                "the most likely counts of longer periods or larger places need the reports themselves.",
                remedy=Remedy.RELEASE_FROM_REPORTS,
            )
        if not refinement_named(self.refinement).adds_up:
            if self.has_gaps:
                raise SettingError(
                    f"counts are suppressed in this release, so it cannot be refined again by {self.refinement} in "
                    "longer periods or larger places.",
                    remedy=Remedy.RELEASE_COARSER,
                )
            return self.again(by=time, place=place, kind=kind, refine=self.refinement)
        unbiased, refined = (
            estimate.coarsen(time=time, place=place, kind=kind) for estimate in (self.unbiased, self.refined)
        )
        made = replace(self, unbiased=unbiased, refined=refined, file_checksum="", signed_by="")
        return made._without_suppressed() if self.rules.remove else made

    def again(
        self,
        *,
        by: str | None = None,
        place: str | None = None,
        kind: str | None = None,
        level: float | None = None,
        refine: str | None = None,
        rules: Rules | None = None,
    ) -> Release:
        """Return the same counts released otherwise, at no cost: added up, refined or shown in another way.

        What is left out is as :meth:`of` has it, but for the level and the rules, which stay. Its version stays too.
        """
        if self.has_gaps:
            raise SettingError(
                "counts are suppressed in this release, and gone. Take the one it was made from, if there is one.",
                remedy=Remedy.KEEP_SUPPRESSED,
            )
        made = Release.of(
            self.plan,
            self.unbiased,
            by=by,
            place=place,
            kind=kind,
            level=self.level if level is None else level,
            refine=refine,
            rules=self.rules if rules is None else rules,
        )
        return replace(made, statement=replace(made.statement, version=self.version), version=self.version)

    def restated(self, prior: Guarantee, *, ledger_heads: tuple[str, ...]) -> Release:
        """Return the same numbers with the statement that holds when other entries about the events promise ``prior``.

        ``ledger_heads`` are those of the ledger that says so: an older one is refused to whoever shows it the release.
        """
        provenance = replace(self.unbiased.provenance, prior=prior, ledger_heads=ledger_heads)
        statement = PrivacyStatement.of(
            self.plan,
            provenance,
            unbiased_steps=self.unbiased.steps,
            refined_steps=self.refined.steps,
            version=self.version,
            rules=self.rules,
        )
        unbiased, refined = (replace(one, provenance=provenance) for one in (self.unbiased, self.refined))
        return replace(self, unbiased=unbiased, refined=refined, statement=statement, file_checksum="", signed_by="")

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the table, a row for every period, place and kind, zeros included; what rules suppress is NaN.

        Limits are rounded to whole numbers, as counts are, and errors to four digits; the noise models are not.
        """
        lower, upper = map(whole_limits, intervals(self.unbiased, self.level))
        errors = four_digits(self.unbiased.noise.standard_errors())
        columns: dict[str, NDArray[Any]] = {
            **labels(self.domain),
            "unbiased": self.unbiased.values.ravel(),
            "standard_error": errors.ravel(),
            "lower": lower.ravel(),
            "upper": upper.ravel(),
            "refined": self.refined.values.ravel(),
            "reliable": self.reliable().ravel(),
        }
        if self.unbiased.cell_totals is not None:
            columns["reports"] = self.unbiased.cell_totals.ravel()
        if self.has_refined_intervals:
            limits = map(whole_limits, intervals(self.refined, self.level))
            columns["refined_lower"], columns["refined_upper"] = (limit.ravel() for limit in limits)
        if not self.rules.are_none:
            columns["status"] = self.statuses().ravel()
            is_blank = self.blank().ravel()
            for name in (*BLANKED, *(("reports",) if self.totals_are_counts else ())):
                if name in columns:
                    columns[name] = np.where(is_blank, np.nan, columns[name])
        if self.rules.missing:
            columns["days_missing"] = np.repeat(self.rules.days_missing(self.domain.time), self.domain.n_columns)
        return columns

    @property
    def has_refined_intervals(self) -> bool:
        """Whether the refined counts carry a noise model of their own."""
        return self.refinement != "raw" and self.refined.noise.is_stated

    @property
    def has_gaps(self) -> bool:
        """Whether counts were removed because they are suppressed."""
        return bool(np.isnan(self.unbiased.values).any())

    @property
    def recommended(self) -> Estimate:
        """The counts to show first: the refined ones where they carry an interval, else the unbiased.

        Pages draw them, rules judge them, and ``reliable`` speaks of them.
        """
        return self.refined if self.has_refined_intervals else self.unbiased

    @property
    def basis(self) -> str:
        """What the recommended counts are: "measured" in each cell alone, or "smoothed" or "filtered" by a model."""
        if not self.has_refined_intervals:
            return message("measured")
        is_filtered = any(step.startswith(FILTERING) for step in self.refined.steps)
        return message("filtered") if is_filtered else message("smoothed")

    @property
    def totals_are_counts(self) -> bool:
        """Whether every cell has a public number of reports of its own, which is its count."""
        return self.unbiased.totals is not None and self.unbiased.totals.shape == self.domain.grid

    def _without_suppressed(self) -> Release:
        """Return the release without the counts that its rules suppress; periods without data stay."""
        is_suppressed = self.statuses() == SUPPRESSED
        return replace(
            self,
            unbiased=without_cells(self.unbiased, is_suppressed),
            refined=without_cells(self.refined, is_suppressed),
        )

    def statuses(self) -> NDArray[np.object_]:
        """Return the status of every cell's recommended count: shown, greyed, suppressed or missing."""
        if self.rules.are_none:
            return np.full(self.domain.shape, SHOWN, object)
        shown = self.recommended
        return self.rules.statuses(shown.values, shown.noise.standard_errors(), self.domain.time)

    def blank(self) -> NDArray[np.bool_]:
        """Return cells of which a table shows no number."""
        statuses = self.statuses()
        return np.isin(statuses.astype(str), (SUPPRESSED, MISSING))

    @property
    def checksum(self) -> str:
        """The file's checksum: the name by which a later version knows this release."""
        from tacit.release import files

        return self.file_checksum or files.checksum_of(self)

    def reliable(self) -> NDArray[np.bool_]:
        """Return cells whose recommended count is reliable: shown, and of a standard error of at most a third of it.

        Rules that name another relative error set that limit (:meth:`Rules.reliable`).
        """
        shown = self.recommended
        return self.rules.reliable(shown.values, shown.noise.standard_errors(), self.statuses())

    def is_reliable(self, found: Answer) -> bool:
        """Return whether an answer is reliable, by the same rule as a cell."""
        value, error = np.array(found.value), np.array(found.standard_error)
        return bool(self.rules.reliable(value, error, self.rules.judged(value, error)))

    def write(
        self,
        path: str | Path,
        *,
        wide: bool = False,
        calendar: bool = False,
        holidays: Mapping[str, str] | None = None,
        sign_with: SigningKey | str | Path | None = None,
    ) -> None:
        """Write the release, by the path's ending: .parquet is read back by Tacit; .csv and .xlsx are for others.

        These have a row for every period and place, or with ``wide`` a column for every place. A wide table may have
        columns of the ``calendar`` and the names of ``holidays`` by ISO date
        (:func:`tacit.forecast.holidays.public_holidays`). ``sign_with`` is a private key or its file: the Parquet file
        then carries a signature (:mod:`tacit.release.signing`).
        """
        from tacit.release import exports

        exports.write(self, Path(path), wide=wide, calendar=calendar, holidays=holidays, sign_with=sign_with)

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the columns of the CSV file: the :attr:`recommended` counts with their intervals, for people."""
        from tacit.release import exports

        return exports.tidy_table(self)

    @classmethod
    def read(cls, path: str | Path, *, signed_by: str | Path | None = None) -> Release:
        """Read a release that :meth:`write` wrote as Parquet, or that of a publication by its folder.

        A signature that does not hold is refused, and so is a release that is not ``signed_by`` this public key, where
        one is named: 64 hexadecimal digits, or the file with them.
        """
        from tacit.release import files

        return files.read(Path(path), signed_by=signed_by)


def labels(domain: Domain) -> dict[str, NDArray[np.object_]]:
    """Return the period, the place and, where there are kinds, the kind of every cell, in the table's order."""
    names = {"period": domain.time.labels(), "place": domain.place.cells}
    if domain.kind is not None:
        names["kind"] = domain.kind.cells
    axes = np.meshgrid(*(np.array(cells, dtype=object) for cells in names.values()), indexing="ij")
    return {name: axis.ravel() for name, axis in zip(names, axes, strict=True)}


def _refined(
    estimate: Estimate,
    levels: Mapping[str, str],
    refine: str | Refinement | Callable[[Estimate], Estimate] | None,
    rules: Rules,
) -> tuple[Estimate, Estimate, str]:
    """Return the estimate added up, the same refined, and the name of how."""
    from tacit.postprocess.refinements import Refinement, best_refinement, refined_and_added_up, refinement_named

    unbiased = estimate.coarsen(**levels) if levels else estimate
    if callable(refine):
        return unbiased, refine(unbiased), ANOTHER_REFINEMENT
    if isinstance(refine, Refinement):
        chosen = refine
    else:
        chosen = best_refinement(estimate) if refine is None else refinement_named(refine)
    if refine is None and not chosen.adds_up:
        chosen = best_refinement(unbiased)
    if rules.missing:
        chosen = chosen.given_missing(rules.missing_bins)
    return unbiased, refined_and_added_up(chosen, estimate, unbiased, levels), chosen.name


LEVEL: Final = 0.95
"""Of the intervals compared, whatever level is asked for."""
BY_CHANCE: Final = 1 - LEVEL
"""The part of counts in which chance alone keeps them apart, at most, if the model fits."""
CHANCE: Final = f"Chance alone does that in at most 1 of {round(1 / BY_CHANCE)} counts."


def contradiction(release: Release, box: Box) -> Answer | None:
    """Return the unbiased answer where its interval lies apart from the refined one's; None where they overlap."""
    unbiased, refined = (answer(estimate, box, level=LEVEL) for estimate in (release.unbiased, release.refined))
    is_apart = unbiased.lower > refined.upper or refined.lower > unbiased.upper
    return unbiased if is_apart else None


def contradictions(release: Release) -> NDArray[np.bool_]:
    """Return cells of a release whose two intervals lie apart; none where refined counts have no interval."""
    if not release.has_refined_intervals:
        return np.zeros(release.domain.shape, bool)
    (lower, upper), (least, most) = (intervals(estimate, LEVEL) for estimate in (release.unbiased, release.refined))
    return ((lower > most) | (least > upper)) & ~release.blank()


def noun_beside(path: Path) -> tuple[str, str]:
    """Return what one and many of the events are called in the publication that a release lies in, else "events"."""
    folder, usual = path if path.is_dir() else path.parent, ("event", "events")
    if not (folder / AGREED).is_file() or (path.is_file() and path.name != PUBLISHED):
        return usual
    try:
        said = tomllib.loads(read_document(folder / AGREED).decode()).get("noun", "")
    except ValueError:  # a word less is no reason to refuse an answer
        return usual
    one, _, many = (part.strip() for part in str(said).partition("/"))
    return (one, many) if one and many else usual
