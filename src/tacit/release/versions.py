"""Versions: late and corrected data make a release again, and the new one says which it replaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tacit._base.languages import gettext, ngettext
from tacit._base.rounding import whole
from tacit._base.validation import check_at_least
from tacit.domain import ALL
from tacit.errors import PlanMismatch, Remedy, SettingError

if TYPE_CHECKING:
    from tacit.counts.estimate import Estimate
    from tacit.plan import Plan
    from tacit.release.release import Release


@dataclass(frozen=True, slots=True)
class Version:
    """The number of a release, from 1, and the checksum of the one it replaces; empty for the first.

    ``n_fewer`` counts the public numbers of reports that are smaller than they were: reports that were taken out.
    ``n_other`` counts those that are the same, but of reports that say something else: reports that were replaced.
    ``replaced_in`` is the last version before this one in which that happened, 0 if there is none.
    """

    number: int = 1
    revises: str = ""
    n_fewer: int = 0
    n_other: int = 0
    replaced_in: int = 0

    def __post_init__(self) -> None:
        check_at_least(1, version=self.number)

    @classmethod
    def after(cls, former: Release, plan: Plan, estimate: Estimate) -> Version:
        """Return the version that replaces a release made under the same plan by one of this estimate."""
        check_replaceable(former, plan, is_simulation=estimate.provenance.is_simulation)
        was = former.version
        replaced_in = was.number if was.n_other else was.replaced_in
        return cls(was.number + 1, former.checksum, *_compared(former, estimate), replaced_in)

    @property
    def costs_nothing_more(self) -> bool:
        """Whether reports were at most added or taken out, in this version and in all before it."""
        return not self.n_other and not self.replaced_in

    def to_dict(self) -> dict[str, Any]:
        found = {"n_fewer": self.n_fewer, "n_other": self.n_other, "replaced_in": self.replaced_in}
        return {"number": self.number, "revises": self.revises} | {name: n for name, n in found.items() if n}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Version:
        return cls(**content)

    def words(self, *, is_central: bool, is_alone: bool) -> str:
        """Return what a revision cost, in plain words."""
        parts = [
            gettext(
                "This is version %(number)s. It replaces version %(former)s, whose checksum begins with %(checksum)s.",
                number=self.number,
                former=self.number - 1,
                checksum=self.revises[:12],
            )
        ]
        if self.n_fewer:
            parts.append(
                ngettext(
                    "%(n)s public number of reports is smaller than in that one: reports were taken out, and whoever "
                    "has both versions can tell how many.",
                    "%(n)s public numbers of reports are smaller than in that one: reports were taken out, and whoever "
                    "has both versions can tell how many.",
                    self.n_fewer,
                    n=whole(self.n_fewer),
                )
            )
        return " ".join([*parts, self._cost(is_central=is_central, is_alone=is_alone)])

    def _cost(self, *, is_central: bool, is_alone: bool) -> str:
        if self.n_other:
            return ngettext(
                "%(n)s public number of reports is the same as in that one, but of other reports: reports were "
                "replaced. If these are new reports about the same events, both versions together cost them the sum of "
                "both epsilons, which is not among the figures above.",
                "%(n)s public numbers of reports are the same as in that one, but of other reports: reports were "
                "replaced. If these are new reports about the same events, both versions together cost them the sum of "
                "both epsilons, which is not among the figures above.",
                self.n_other,
                n=whole(self.n_other),
            )
        if self.replaced_in:
            return gettext(
                "In version %(number)s reports were replaced. If those were new reports about the same events, all "
                "versions together cost them the sum of the epsilons, which is not among the figures above.",
                number=self.replaced_in,
            )
        if not is_central and not is_alone:
            return gettext(
                "Some of its events were randomized more than once; the figures above count all their reports."
            )
        if not is_central and self.n_fewer:
            return gettext(
                "No event was reported again, so a revision costs events that were counted before nothing more."
            )
        if not is_central:
            return gettext(
                "It counts the same reports, and those that came late. Every event still has the reports it had, so a "
                "revision costs events that were counted before nothing more."
            )
        if not is_alone:
            return gettext(
                "Counting again drew new noise and was paid for again: the figures above count all versions."
            )
        return gettext(
            "Counting again drew new noise. The figures above are of this version alone: for events that were in the "
            "former version too, add what that one cost."
        )


FIRST: Final = Version()
_SLACK: Final = 1e-6  # relative: what rounding in floats may leave; counts that differ at all differ by more


def check_replaceable(former: Release, plan: Plan, *, is_simulation: bool) -> None:
    """Refuse to replace a release of another plan, or a simulation by what is none, or the other way round."""
    if former.plan.fingerprint != plan.fingerprint:
        raise PlanMismatch(
            "the former release was made under another plan, so this is no new version of it. Release it again."
        )
    if former.is_simulation != is_simulation:
        was, now = ("a simulation", "is not") if former.is_simulation else ("not a simulation", "is one")
        raise SettingError(
            f"the former release was {was}, and this {now}: one cannot replace the other.",
            remedy=Remedy.LEAVE_OUT_REVISES,
        )


def _compared(former: Release, estimate: Estimate) -> tuple[int, int]:
    """Return the numbers of public bins of the former release with fewer reports now, and with as many other ones."""
    axes, before = former.domain, former.unbiased
    kind = None if estimate.domain.kind is None else (ALL if axes.kind is None else axes.kind.level)
    try:
        now = estimate.coarsen(time=axes.time.step, place=axes.place.level, kind=kind)
    except SettingError:  # in longer periods than the former: nothing to compare with
        return 0, 0
    if before.totals is None or now.totals is None:
        return 0, 0
    shape = tuple(np.maximum(before.domain.grid, now.domain.grid).tolist())
    private = tuple(axis for axis, size in enumerate(before.totals.shape) if size == 1)
    reports, values = np.zeros((2, *shape), np.int64), np.zeros((2, *shape))
    for number, one in enumerate((before, now)):
        part = tuple(map(slice, one.domain.grid))
        reports[number][part] = one.totals
        values[number][part] = np.nan_to_num(one.values).reshape(one.domain.grid)
    is_other = np.abs(values[1] - values[0]) > _SLACK * (1 + reports[0])
    is_other &= (reports[0] == reports[1]) & (values[0] != 0)  # what was suppressed cannot be compared
    has_fewer = (reports[1] < reports[0]).any(axis=private)
    return int(np.count_nonzero(has_fewer)), int(np.count_nonzero(is_other.any(axis=private)))
