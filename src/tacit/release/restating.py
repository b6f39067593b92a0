"""A release with the statement that holds now: what was spent on the same events since it was made."""

from __future__ import annotations

from pathlib import Path

from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, default_ledger
from tacit.release.joining import JOINED
from tacit.release.release import Release


def stated_now(release: Release, ledger: Path | None) -> Release:
    """Return the release with the statement that holds now, where the ledger that paid for it is at hand.

    Whoever reads what others published has no ledger of it, and keeps the statement as it was made.
    """
    heads, path = release.unbiased.provenance.ledger_heads, ledger or default_ledger()
    # a release of a counter's history is stated by what makes it, under the counter's own name; a joined one by parts
    if not heads or not path.exists() or release.plan.mechanism in ("counter", JOINED):
        return release
    book = Ledger(path)
    if not any(book.holds([head]) for head in heads):
        return release
    made = restated(release, book)
    return release if made.statement == release.statement else made


def restated(release: Release, book: Ledger, data_set: str | None = None) -> Release:
    """Return the release with the statement that holds now, and the head of the ledger that says so beside its own.

    Reports may come from several ledgers. What others knew of their events when the reports were made still counts.
    """
    label = release.unbiased.provenance
    prior = book.others(release.plan.fingerprint, data_set, heads=label.ledger_heads)
    if not book.holds(label.ledger_heads):
        prior = Guarantee.parallel([label.prior, prior])
    return release.restated(prior, ledger_heads=tuple(sorted({*label.ledger_heads, *book.heads})))
