"""Releases as they stand later: joined with those of neighbouring periods, and with the statement that holds now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from tacit.counts.estimate import Estimate
from tacit.counts.noise import JoinedNoise
from tacit.counts.provenance import Provenance
from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.plan import Plan
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, default_ledger
from tacit.privacy.unit import window_of
from tacit.release.release import Release
from tacit.release.rules import NO_RULES

JOINED: Final = "joined"
"""The mechanism of a plan that joins others; nothing can be counted under it."""
_DIGITS: Final = 16  # of a fingerprint that name a part: 64 bits, as many as an integer of a plan has
_SAME: Final = ("epsilon", "rho", "delta", "protected_unit", "neighbors")


def join(releases: Sequence[Release]) -> Release:
    """Return a curator's releases of neighbouring periods as one release of the whole time.

    Every event lies in one part, so the whole costs an event what a part costs. A person is bounded in windows of time:
    parts must not share one. Costs nothing and draws nothing; the refined counts are made again.
    """
    parts = sorted(releases, key=lambda one: one.domain.time.days)
    if not parts:
        raise SettingError("releases must be named to be joined; got none.")
    if len(parts) == 1:
        return parts[0]
    for before, after in pairwise(parts):
        _check_neighbours(before, after)
    plan = _plan(parts)
    label = Provenance(
        plan.fingerprint,
        is_simulation=any(one.is_simulation for one in parts),
        prior=Guarantee.parallel([one.unbiased.provenance.prior for one in parts]),
        ledger_heads=tuple(sorted({head for one in parts for head in one.unbiased.provenance.ledger_heads})),
        fields_span_lines=any(one.unbiased.provenance.fields_span_lines for one in parts),
    )
    steps = dict.fromkeys(step for one in parts for step in one.unbiased.steps)
    estimate = Estimate(
        domain=plan.domain,
        values=np.concatenate([one.unbiased.values for one in parts]),
        noise=JoinedNoise.of(one.unbiased.noise for one in parts),
        totals=None,
        steps=tuple(steps),
        provenance=label,
    )
    missing = tuple(days for one in parts for days in one.rules.missing)
    return Release.of(plan, estimate, level=parts[-1].level, rules=replace(NO_RULES, missing=missing))


def _plan(parts: Sequence[Release]) -> Plan:
    """Return the plan of the whole: as the last part's, with the names of all parts for integers."""
    names: list[int] = []
    for one in parts:
        joined = one.plan.mechanism == JOINED
        names += (
            [number for _, number in sorted(one.plan.thresholds)]
            if joined
            else [int(one.plan.fingerprint[:_DIGITS], 16)]
        )
    first, last = parts[0], parts[-1]
    n_bins = sum(one.domain.shape[0] for one in parts)
    time = replace(first.domain.time, n_bins=n_bins, covered_until=last.domain.time.covered_until)
    domain = Domain(time, last.domain.place, last.domain.kind)
    width = len(str(len(names)))
    integers = tuple((f"part {number:0{width}d}", name) for number, name in enumerate(names, 1))
    return replace(last.plan, domain=domain, mechanism=JOINED, thresholds=integers)


def _check_neighbours(before: Release, after: Release) -> None:
    """Refuse releases that are not of one kind, or not of neighbouring periods."""
    for one in (before, after):
        if not one.plan.is_central or one.plan.mechanism == "counter":
            raise SettingError(
                "only releases of a curator's counts can be joined. Reports of one plan are tallied together, and a "
                "counter goes on by itself."
            )
        if one.has_gaps:
            raise SettingError("counts are suppressed in a release, and gone. Join the releases they were made from.")
        if one.domain != one.plan.domain:
            raise SettingError("releases that were added up cannot be joined. Join those of the plan's own periods.")
    unlike = [name for name in _SAME if getattr(before.plan, name) != getattr(after.plan, name)]
    if unlike or before.level != after.level:
        raise SettingError(
            f"releases must agree to be joined; they differ in {', '.join(unlike) or 'the level of intervals'}."
        )
    own, other = before.domain, after.domain
    if (own.place, own.kind, own.time.step, own.time.zone) != (
        other.place,
        other.kind,
        other.time.step,
        other.time.zone,
    ):
        raise SettingError("releases must have the same places, kinds, periods and time zone to be joined.")
    is_next = other.time.covered_from is None and own.time.covered_until is None
    ends = own.time.with_end(own.shape[0] + 1).starts()[-1]
    if not is_next or ends != other.time.starts()[0]:
        raise SettingError(
            f"releases must be of neighbouring periods to be joined; one ends on {own.time.days[1]}, the next begins "
            f"on {other.time.days[0]}."
        )
    unit = after.plan.protected_unit
    if unit.is_of_a_person and window_of(own.time.days[1], unit.window) == window_of(other.time.days[0], unit.window):
        what = "all days" if unit.window is None else f"each {unit.window}"
        raise SettingError(
            f"a person is protected in {what}, and both releases have days of one such time: for a person their costs "
            "add up. Publish them apart, or end a release with the window."
        )


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
