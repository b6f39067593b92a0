"""The situation: what is to be counted, whom one trusts, what may be spent, and how much there is to count."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Final

from tacit._base.validation import check_at_least, check_one_of, check_positive
from tacit.errors import SettingError
from tacit.mechanisms.planner.questions import Question
from tacit.privacy.cost import check_delta, check_rho
from tacit.privacy.epsilon import check_epsilon
from tacit.privacy.unit import Unit
from tacit.privacy.zcdp import largest_rho

NOBODY: Final = "nobody"
CURATOR: Final = "curator"
_PRIVATE: Final = (("place",), ("time",), ("time", "place"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Counts of ``n_bins`` periods in each of ``n_places`` places, of about ``n_events`` events in all.

    Whoever trusts ``nobody`` has devices randomize, and says what their reports hide (``private``); a trusted
    ``curator`` hides time and place alike and may spend ``rho``, or epsilon with a ``delta``, on Gaussian noise.
    Events are taken to be spread evenly: what each bin really holds is not known beforehand and changes errors little.
    """

    n_bins: int
    n_places: int = 1
    n_events: float
    trust: str = NOBODY
    private: tuple[str, ...] = ("time",)
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    unit: Unit = field(default_factory=Unit)

    def __post_init__(self) -> None:
        check_at_least(1, n_bins=self.n_bins, n_places=self.n_places)
        check_positive(n_events=self.n_events)
        check_one_of((NOBODY, CURATOR), trust=self.trust)
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        if self.trust == NOBODY:
            self._check_local()
        else:
            self._check_budget()

    def _check_local(self) -> None:
        if self.epsilon is None or self.rho is not None or self.delta is not None:
            raise SettingError(
                "devices spend epsilon alone; delta and rho belong to a trusted curator. Give epsilon only."
            )
        if self.unit != Unit():
            raise SettingError(
                f"devices hide single events; got unit={self.unit}. Only a curator can bound a person's."
            )
        if self.private not in _PRIVATE:
            raise SettingError(
                f"private must be ('place',), ('time',) or ('time', 'place'); got private={self.private}."
            )

    def _check_budget(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise SettingError("a curator spends either epsilon or rho. Give one of them.")
        if self.rho is not None:
            check_rho(self.rho)
        if self.delta is not None:
            check_delta(self.delta)

    @property
    def is_central(self) -> bool:
        return self.trust == CURATOR

    @property
    def gaussian_rho(self) -> float | None:
        """What Gaussian noise may cost, if it is allowed at all: rho itself, or what fits epsilon and delta."""
        if self.rho is not None or self.epsilon is None or self.delta is None:
            return self.rho
        return largest_rho(self.epsilon, self.delta)

    @property
    def n_hidden(self) -> int:
        """How many values a report may stand for."""
        sizes = {"time": self.n_bins, "place": self.n_places}
        return math.prod(sizes[axis] for axis in self.private)

    @property
    def reports_together(self) -> float:
        """How many reports are estimated together: those of a public bin, of a public place, or all."""
        return self.n_events * self.n_hidden / (self.n_bins * self.n_places)

    def expected(self, question: Question) -> float:
        """The true answer to expect, on average over the questions of a kind."""
        return self.n_events / (self.n_bins * self.n_places) * question.mean_length(self.n_bins)

    def with_epsilon(self, epsilon: float) -> Situation:
        return replace(self, epsilon=epsilon)

    def with_events(self, n_events: float) -> Situation:
        return replace(self, n_events=n_events)
