"""A spend: the right to draw the noise of one release of one input."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from tacit.errors import SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.unit import Span, Unit
from tacit.randomness.source import Randomness, SeededRandomness

_SEAL: Final = object()


class NoiseSource(Protocol):
    """The source of a spend's noise: the same words every time, for one input and until it is finished."""

    @property
    def is_simulation(self) -> bool:
        """Whether whoever knows the seed knows every word."""

    @property
    def head(self) -> str:
        """The head of the ledger that was paid; empty for a simulation."""

    def draw(self, release: str, input_digest: bytes) -> Randomness:
        """Return the words from the first on, or a refusal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """The right to one release, for a price that the ledger has written down: an identifier and the release's noise.

    Only :meth:`Ledger.spend <tacit.privacy.ledger.Ledger.spend>` and :meth:`simulation` make one. It pays for one
    release of one input: drawing again, also after a crash, gives the same noise, and anything else is refused. The
    cost is for adding or removing one ``unit``. ``prior`` is what all other entries about the same events promise;
    ``days`` are the first and the last that it covers; ``is_forever`` says that it pays for a counter,
    ``spans_lines`` that fields of the source may span lines.

    >>> spend = Spend.simulation(Cost.pure(1.0), seed=7)
    >>> spend.is_simulation, spend.cost
    (True, Cost(epsilon=1.0, rho=0.0))
    >>> spend.draw("visits", b"counts").words(1) == spend.draw("visits", b"counts").words(1)
    array([ True])
    """

    identifier: str
    data_set: str
    release: str
    cost: Cost
    unit: Unit = field(default_factory=Unit)
    prior: Guarantee = field(default_factory=Guarantee)
    days: Span | None = None
    is_forever: bool = False
    spans_lines: bool = False
    what_remains: str = ""
    source: NoiseSource | None = field(repr=False, compare=False)
    seal: object = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.seal is not _SEAL:
            raise SettingError("a spend is made by a ledger, which writes the price down first. Call Ledger.spend.")

    @classmethod
    def simulation(cls, cost: Cost, *, seed: int) -> Spend:
        """Return a spend that nobody pays and that protects nobody: its noise follows from the seed."""
        return cls(
            identifier=f"simulation-{seed}",
            data_set="simulation",
            release="simulation",
            cost=cost,
            source=SimulatedNoise(seed),
            seal=_SEAL,
        )

    def draw(self, release: str, input_digest: bytes) -> Randomness:
        """Return the noise of a release, from its first word on: the same at every call.

        Refused for another release than was paid for (a simulation takes any), for another input than before (a
        digest of the exact counts; empty for a counter, whose input is yet to come), and when it is finished.
        """
        if self.source is None:
            raise SettingError("a dry run has paid nothing and draws no noise. Spend for real first.")
        return self.source.draw(release, input_digest)

    @property
    def ledger_heads(self) -> tuple[str, ...]:
        """The head of the ledger as it stands now, by which it is known to have paid; none for a simulation."""
        return (self.source.head,) if self.source is not None and self.source.head else ()

    @property
    def is_dry_run(self) -> bool:
        return self.source is None

    @property
    def is_simulation(self) -> bool:
        return self.source is not None and self.source.is_simulation

    @property
    def guarantee(self) -> Guarantee:
        """The promise of this release and all other entries about the same events together."""
        return self.prior + Guarantee.of_release(
            self.cost,
            self.unit,
            is_counter=self.is_forever,
            spans_lines=self.spans_lines,
            days=self.days,
            asked=self.prior.asked,
        )


class SimulatedNoise:
    """A simulation's source of noise: bound to its first input as a real spend is."""

    __slots__ = ("_drawn", "_is_finished", "seed")

    def __init__(self, seed: int) -> None:
        SeededRandomness(seed)  # refuses a seed that is none
        self.seed: Final = seed
        self._drawn: bytes | None = None
        self._is_finished = False

    @property
    def is_simulation(self) -> bool:
        return True

    @property
    def head(self) -> str:
        return ""

    def draw(self, release: str, input_digest: bytes) -> SeededRandomness:
        if self._is_finished:
            raise SettingError(
                f"release {release} is finished: its noise is never drawn again. Use what was written, or spend again."
            )
        if self._drawn not in (None, input_digest):
            raise SettingError(
                "this simulation was drawn for other counts. The same noise on two tables of counts would give their "
                "difference away. Make another with another seed."
            )
        self._drawn = input_digest
        return SeededRandomness(self.seed)

    def finish(self) -> None:
        """Refuse further draws, as when a ledger wipes the key."""
        self._is_finished = True


sealed: Final = partial(Spend, seal=_SEAL)
"""Make a spend as the ledger does, which has written its price down."""
