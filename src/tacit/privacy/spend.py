"""A spend: the right to draw the noise of one release, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from tacit.errors import SettingError
from tacit.privacy.cost import Cost
from tacit.randomness.source import Randomness, SeededRandomness
from tacit.rounding import epsilon_at_most

_SEAL: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What the ledger gives for a price that it has written down: an identifier and the randomness of the release.

    Only :meth:`Ledger.spend <tacit.privacy.ledger.Ledger.spend>` and :meth:`simulation` make one. The randomness goes
    on from draw to draw; a spend that is resumed after a crash starts it from the beginning, so that the same release
    of the same events draws the same noise. ``prior`` is what earlier releases of the same events cost, on the day
    that was spent most, local randomizations included; ``prior_local_epsilon`` is their part of it.

    >>> spend = Spend.simulation(Cost.pure(1.0), seed=7)
    >>> spend.is_simulation, spend.cost
    (True, Cost(epsilon=1.0, rho=0.0))
    """

    identifier: str
    data_set: str
    release: str
    cost: Cost
    prior: Cost = field(default_factory=Cost)
    prior_local_epsilon: float = 0.0
    what_remains: str = ""
    source: Randomness | None = field(repr=False)
    seal: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.seal is not _SEAL:
            raise SettingError("a spend is made by a ledger, which writes the price down first. Call Ledger.spend.")

    @classmethod
    def simulation(cls, cost: Cost, *, seed: int) -> Spend:
        """A spend that nobody pays and that protects nobody: its noise follows from the seed."""
        return cls(
            identifier=f"simulation-{seed}",
            data_set="simulation",
            release="simulation",
            cost=cost,
            source=SeededRandomness(seed),
            seal=_SEAL,
        )

    @property
    def randomness(self) -> Randomness:
        """Where all noise of this release comes from."""
        if self.source is None:
            raise SettingError("a dry run has paid nothing and draws no noise. Spend for real first.")
        return self.source

    @property
    def is_dry_run(self) -> bool:
        return self.source is None

    @property
    def is_simulation(self) -> bool:
        return self.source is not None and self.source.is_simulation

    @property
    def total(self) -> Cost:
        """This release and the earlier ones of the same events."""
        return self.prior + self.cost

    def sentences(self) -> list[str]:
        """What to say about earlier releases of the same events; nothing if there were none.

        Local reports hide what is private in an event, not that there was one: their epsilon is for replacing.
        Replacing is removing and adding, so that a central release counts twice in that sum.
        """
        said = []
        if self.prior != Cost():
            said.append(f"Earlier releases of the same events cost {self.prior}; with this one {self.total}.")
        if self.prior_local_epsilon:
            said.append(
                f"Of this, epsilon {epsilon_at_most(self.prior_local_epsilon)} went to reports randomized one by one. "
                "They hide what an event was, not that there was one: their epsilon is for replacing an event, for "
                "which every release with noise on the counts is to be taken twice."
            )
        return said


def sealed(
    *,
    identifier: str,
    data_set: str,
    release: str,
    cost: Cost,
    prior: Cost,
    prior_local_epsilon: float,
    what_remains: str,
    source: Randomness | None,
) -> Spend:
    """A spend as the ledger makes it."""
    return Spend(
        identifier=identifier,
        data_set=data_set,
        release=release,
        cost=cost,
        prior=prior,
        prior_local_epsilon=prior_local_epsilon,
        what_remains=what_remains,
        source=source,
        seal=_SEAL,
    )
