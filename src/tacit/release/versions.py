"""Versions: late and corrected data make a release anew, and the new one says which it replaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tacit._validate import check_at_least
from tacit.errors import PlanMismatch

if TYPE_CHECKING:
    from tacit.plan import Plan
    from tacit.release.release import Release


@dataclass(frozen=True, slots=True)
class Version:
    """The number of a release, from 1, and the checksum of the one it replaces; empty for the first."""

    number: int = 1
    revises: str = ""

    def __post_init__(self) -> None:
        check_at_least(1, version=self.number)

    @classmethod
    def after(cls, former: Release, plan: Plan) -> Version:
        """The version that replaces a release made under the same plan."""
        if former.plan.fingerprint != plan.fingerprint:
            raise PlanMismatch(
                "the former release was made under another plan, so this is no new version of it. Release it anew."
            )
        return cls(former.version.number + 1, former.checksum)

    def words(self, *, is_central: bool, prior_epsilon: float) -> str:
        """What a revision cost, in plain words."""
        what = (
            f"This is version {self.number}. It replaces version {self.number - 1}, whose checksum begins with "
            f"{self.revises[:12]}."
        )
        if not is_central and prior_epsilon:
            return (
                f"{what} Some of its events were randomized more than once; the figures above count all their reports."
            )
        if not is_central:
            return (
                f"{what} Reports that came late were added to those already counted. Every event still has the reports "
                "it had, so a revision costs events that were counted before nothing more."
            )
        if prior_epsilon:
            return f"{what} Counting again drew new noise and was paid for anew: the figures above count all versions."
        return (
            f"{what} Counting again drew new noise. The figures above are of this version alone: for events that were "
            "in the former version too, add what that one cost."
        )


FIRST: Final = Version()
