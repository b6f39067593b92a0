"""What is claimed of a mechanism: a pure epsilon, an epsilon at a delta, or a rho of zCDP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit._base.validation import check_positive, check_share
from tacit.errors import SettingError


@dataclass(frozen=True, slots=True)
class Claim:
    """What the distributions of the output may differ by for two inputs that differ by one unit.

    ``value`` is an epsilon, at ``delta``, or a rho of zCDP (``measure`` says which).

    >>> Claim.of(epsilon=1.0), Claim.of(rho=0.5).measure
    (Claim(value=1.0, delta=0.0, measure='epsilon'), 'rho')
    """

    value: float
    delta: float = 0.0
    measure: str = "epsilon"

    @classmethod
    def of(cls, *, epsilon: float | None = None, delta: float = 0.0, rho: float | None = None) -> Claim:
        """The claim that settings name: epsilon, with a delta or without, or rho."""
        if (epsilon is None) == (rho is None) or (rho is not None and delta):
            raise SettingError("a claim must be an epsilon, with a delta or without, or a rho alone. Give one of them.")
        if rho is not None:
            check_positive(rho=rho)
            return cls(rho, measure="rho")
        assert epsilon is not None
        check_positive(epsilon=epsilon)
        check_share(open_ends=False, delta=delta)
        return cls(epsilon, delta)

    @property
    def settings(self) -> dict[str, Any]:
        """The same as settings of an audit."""
        return {"rho": self.value} if self.measure == "rho" else {"epsilon": self.value, "delta": self.delta}

    @property
    def is_pure(self) -> bool:
        return self.measure == "epsilon" and not self.delta

    def price(self, group: int) -> int:
        """How many times the claim a group of so many units may cost: k epsilon, or k**2 rho (Bun2016).

        At a delta a group costs more than either, and is not played.
        """
        if group > 1 and self.delta:
            raise SettingError("a group of units is audited for a pure epsilon or a rho only. Take one unit.")
        return group**2 if self.measure == "rho" else group

    @property
    def groups(self) -> tuple[int, ...]:
        """How many units to add at once: one, and as many as tell two inputs apart best.

        The error of a bound falls with what a group costs until guesses are nearly sure. Halving or doubling these
        numbers costs a third of the power at most.
        """
        if self.delta:
            return (1,)
        # x = k epsilon maximizes x sqrt(e^x) / (1 + e^x) at 2.4; k sqrt(2 rho) between 1 and 1.5 was best in simulation
        best = 2.4 / self.value if self.measure == "epsilon" else 1.25 / (2 * self.value) ** 0.5
        return tuple(dict.fromkeys([max(1, round(best)), 1]))
