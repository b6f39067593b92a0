r"""A private choice of how many events of a person to count: the exponential mechanism over a public grid.

A bound b that is too small cuts many persons' events; one that is too large makes all noise larger. A good one leaves a
share q of the persons uncut. With :math:`N_b` persons of at most b events among N, the utility of b is

.. math:: u(b) = -\lvert N_b - q N \rvert, \qquad P(b) \propto \exp\Bigl(\frac{\epsilon\, u(b)}{2}\Bigr).

Proof: ``docs/proofs/bound-choice.md``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from tacit._base.validation import check_at_least, check_share
from tacit.errors import SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.epsilon import check_epsilon
from tacit.privacy.unit import Unit
from tacit.randomness.inversion import draw_choice
from tacit.randomness.source import Randomness


@dataclass(frozen=True, slots=True)
class BoundChoice:
    r"""Choose one bound of a public ``grid`` such that about a share ``quantile`` of all persons stay below it.

    Privacy:   epsilon for adding or removing one person in a window, whatever their events; exactly.
    Error:     a bound whose rank is off by t persons more than the best one's is chosen with a probability of at most
               :math:`n\, e^{-\epsilon t / 2}`, where n is the number of bounds in the grid.
    Cost:      one pass over the events, one word.
    Reference: McSherry2007; Smith2011.

    >>> choice = BoundChoice((1, 2, 5, 10), quantile=0.75, epsilon=1.0)
    >>> [float(one) for one in choice.utilities([60, 80, 96, 99], 100)]
    [-15.0, -5.0, -21.0, -24.0]
    """

    grid: tuple[int, ...]
    quantile: float
    epsilon: float
    window: str | None = None

    def __post_init__(self) -> None:
        check_share(quantile=self.quantile)
        check_epsilon(self.epsilon)
        check_at_least(1, **{f"grid[{number}]": bound for number, bound in enumerate(self.grid)})
        if not self.grid or list(self.grid) != sorted(set(self.grid)):
            raise SettingError(
                f"grid must hold one or more bounds, each larger than the one before; got grid={self.grid}. "
                "Write 1,2,5,10,20,50, say."
            )
        Unit.person(most=self.grid[-1], window=self.window)  # refuses what cannot be protected

    @property
    def cost(self) -> Cost:
        """The cost of the choice for each person."""
        return Cost.pure(self.epsilon)

    @property
    def unit(self) -> Unit:
        """The unit that is protected: a person, who is counted once, by the number of their events."""
        return Unit.person(most=1, window=self.window)

    @property
    def name(self) -> str:
        """The text by which the ledger knows the choice: all that decides it but the events."""
        content = json.dumps([self.grid, self.quantile, self.epsilon, self.window])
        return f"bound {hashlib.sha256(content.encode()).hexdigest()[:16]}"

    def utilities(self, at_most: Sequence[int], n_persons: int) -> tuple[Fraction, ...]:
        """Return the utility of each bound, from how many persons stay at or below it.

        One person changes it by at most 1.
        """
        asked = Fraction(self.quantile) * n_persons
        return tuple(-abs(int(rank) - asked) for rank in at_most)

    def exponents(self, at_most: Sequence[int], n_persons: int) -> tuple[Fraction, ...]:
        """Return x for each bound, whose probability is proportional to exp(-x)."""
        return tuple(-Fraction(self.epsilon) * utility / 2 for utility in self.utilities(at_most, n_persons))

    def choose(self, at_most: Sequence[int], n_persons: int, *, randomness: Randomness) -> int:
        """Draw a bound of the grid."""
        return self.grid[draw_choice(self.exponents(at_most, n_persons), randomness=randomness)]
