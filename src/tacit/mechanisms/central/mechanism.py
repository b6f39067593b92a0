"""What every mechanism of a trusted curator promises."""

from __future__ import annotations

import hashlib
from typing import Final, Protocol

import numpy as np

from tacit.counts.estimate import Estimate
from tacit.counts.tally import ExactTally
from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Spend

LARGEST_TOTAL: Final = 1 << 53
"""What all counts of a release may add up to: floats, in which trees are fitted, are exact up to there."""


class CentralMechanism(Protocol):
    """Exact counts in, noisy counts out, once for every spend.

    Formal guarantee: for two inputs that differ by one unit (an event, or all events of one person on one day), the
    distributions of the output differ by at most ``cost``. Nothing is drawn before the ledger has written the cost
    down, and all noise comes from the spend: the same spend gives the same noise, for the same plan and counts only.
    """

    @property
    def cost(self) -> Cost:
        """What a release costs each unit."""

    def measure(self, counts: ExactTally, plan: Plan, *, spend: Spend) -> Estimate:
        """Return the counts of a plan's domain with noise."""


def check_release(mechanism: CentralMechanism, counts: ExactTally, plan: Plan, spend: Spend) -> None:
    """Refuse, before any noise is drawn, a spend of another size or unit, or counts that the plan cannot publish."""
    if spend.cost != mechanism.cost:
        raise SettingError(
            f"the ledger was asked for {spend.cost}, but this mechanism costs {mechanism.cost}. "
            "Spend exactly the mechanism's cost."
        )
    if not spend.is_simulation and spend.unit != plan.protected_unit:
        raise SettingError(
            f"the ledger was asked for the unit {spend.unit}, but the plan protects the {plan.protected_unit}. "
            "Spend with the plan's unit."
        )
    check_counts(counts, plan.domain)


def check_counts(counts: ExactTally, domain: Domain) -> None:
    """Refuse counts that cannot be published over a domain; to be asked before they are paid for too."""
    shape = counts.reveal().shape
    if shape != domain.shape:
        raise SettingError(f"counts must have the domain's shape {domain.shape}; got shape={shape}.")
    if (counts.reveal() < 0).any():
        raise SettingError("counts must not be negative. Count events, or correct the table of counts.")
    high, low = counts.reveal() >> 32, counts.reveal() & 0xFFFF_FFFF  # their sums do not overflow
    if (int(high.sum()) << 32) + int(low.sum()) > LARGEST_TOTAL:
        raise SettingError(
            f"all counts together must be at most 2**53 = {LARGEST_TOTAL:,}, up to which whole numbers are exact; "
            "these are more. Count in larger pieces, or correct the table of counts."
        )


def input_digest_of(counts: ExactTally) -> bytes:
    """What a spend knows exact counts by: the same for the same counts on every platform. Keep it from the public."""
    cells = counts.reveal()
    return hashlib.sha256(repr(cells.shape).encode() + cells.astype(np.dtype("<i8"), order="C").tobytes()).digest()
