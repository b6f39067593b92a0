"""What every mechanism of a trusted curator promises."""

from __future__ import annotations

import hashlib
from typing import Protocol

import numpy as np

from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.estimate import Estimate
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Spend
from tacit.tally import ExactTally


class CentralMechanism(Protocol):
    """Exact counts in, noisy counts out, once for every spend.

    Formal guarantee: for two inputs that differ by one unit (an event, or all events of one person on one day), the
    laws of the output differ by at most ``cost``. Nothing is drawn before the ledger has written the cost down, and
    all noise comes from the spend: the same spend gives the same noise, for the same plan and counts only.
    """

    @property
    def cost(self) -> Cost:
        """What a release costs each unit."""

    def release(self, counts: ExactTally, plan: Plan, *, spend: Spend) -> Estimate:
        """Publish the counts of a plan's domain with noise."""


def check_release(mechanism: CentralMechanism, counts: ExactTally, domain: Domain, spend: Spend) -> None:
    """Refuse, before any noise is drawn, a spend of another size or counts of another domain."""
    if spend.cost != mechanism.cost:
        raise SettingError(
            f"the ledger was asked for {spend.cost}, but this mechanism costs {mechanism.cost}. "
            "Spend exactly the mechanism's cost."
        )
    shape = counts.reveal().shape
    if shape != domain.shape:
        raise SettingError(f"counts must have the domain's shape {domain.shape}; got shape={shape}.")
    if (counts.reveal() < 0).any():
        raise SettingError("counts must not be negative. Count events, or correct the table of counts.")


def input_digest_of(counts: ExactTally) -> bytes:
    """What a spend knows exact counts by: the same for the same counts on every platform. Keep it from the public."""
    cells = counts.reveal()
    return hashlib.sha256(repr(cells.shape).encode() + cells.astype(np.dtype("<i8"), order="C").tobytes()).digest()
