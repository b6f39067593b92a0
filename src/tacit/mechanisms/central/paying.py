"""How a curator pays for a plan's counts: everything that could be refused later is refused first."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from tacit.counts.tally import ExactTally
from tacit.errors import DataError
from tacit.mechanisms.central.mechanism import check_counts, input_digest_of
from tacit.mechanisms.central.table import central_mechanism_of
from tacit.plan import Plan
from tacit.privacy.budget import Budget
from tacit.privacy.ledger import Ledger, Spend, SpendEntry


def pay(
    ledger: Ledger,
    plan: Plan,
    counts: ExactTally,
    days: Mapping[str, bytes],
    *,
    data_set: str,
    budget: Budget | None = None,
    spans_lines: bool = False,
) -> tuple[Spend, bool]:
    """The right to draw the noise of a plan's counts, and whether it is that of a run that was interrupted."""
    check_counts(counts, plan.domain)
    release, cost, digest = plan.fingerprint, central_mechanism_of(plan).cost, input_digest_of(counts)
    if _is_unfinished(ledger, data_set, release):
        # what is unfinished may be a release of other events: this one is then paid again
        with suppress(DataError):
            taken = ledger.resume(data_set=data_set, release=release, cost=cost, days=days, input_digest=digest)
            return taken, True
    bought = ledger.spend(
        data_set=data_set,
        release=release,
        cost=cost,
        days=days,
        budget=budget,
        unit=plan.protected_unit,
        input_digest=digest,
        spans_lines=spans_lines,
    )
    return bought, False


def price(
    ledger: Ledger,
    plan: Plan,
    days: Mapping[str, bytes],
    *,
    data_set: str,
    budget: Budget | None = None,
    spans_lines: bool = False,
) -> Spend:
    """What :func:`pay` would cost and leave: a dry run that writes nothing and draws nothing."""
    return ledger.spend(
        data_set=data_set,
        release=plan.fingerprint,
        cost=central_mechanism_of(plan).cost,
        days=days,
        budget=budget,
        unit=plan.protected_unit,
        spans_lines=spans_lines,
        dry_run=True,
    )


def _is_unfinished(ledger: Ledger, data_set: str, release: str) -> bool:
    return any(
        isinstance(entry, SpendEntry)
        and not entry.is_finished
        and (entry.data_set, entry.release) == (data_set, release)
        for entry in ledger.history()
    )
