"""What a page's scripts need to answer any question about a release: numbers, noise models and rules as plain data."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np

from tacit._base.fields import pack_array
from tacit._base.rounding import whole_limits
from tacit.counts.estimate import Estimate
from tacit.domain import KindAxis, PlaceAxis
from tacit.pages.words import level_noun, period, plural
from tacit.release import Release
from tacit.release.rules import LARGEST_RELATIVE_ERROR

# characters of one number and its noise in a page: twice as many make pages of most releases of a few hundred places by
# day answer, and take as long again to open
_LONGEST: Final = 6_000_000
_OF_A_DAY: Final = 86_400  # seconds


def answers(release: Release) -> dict[str, Any] | None:
    """Return the recommended numbers, then the measured ones if they differ; None where no script can answer."""
    estimates = {release.basis: release.recommended}
    if release.has_refined_intervals:
        estimates["measured"] = release.unbiased
    numbers = [part for name, one in estimates.items() if (part := _numbers(name, one, release.level)) is not None]
    if not numbers or (numbers[0]["name"] != release.basis and release.rules.suppress):
        return None  # what is suppressed is judged by the recommended numbers
    domain, rules, totals = release.domain, release.rules, release.unbiased.totals
    limit, starts = rules.largest_relative_error, _starts(release)
    return {
        "numbers": numbers,
        "level": release.level,
        "starts": starts,
        "labels": [period(label) for label in domain.time.labels()],
        "is_by_day": domain.time.step == "day",
        "words": {
            "places": "" if domain.place.is_all else plural(level_noun(domain.place.level)),
            "kinds": "" if domain.kind is None else plural(level_noun(domain.kind.level)),
        },
        "sizes": list(domain.sizes),
        "places": list(domain.place.cells),
        "kinds": None if domain.kind is None else list(domain.kind.cells),
        "groups": {"places": _groups(domain.place), "kinds": _groups(domain.kind)},
        "totals": None if totals is None else pack_array(totals.astype(np.float64)),
        "totals_are_counts": release.totals_are_counts,
        "missing": np.flatnonzero(rules.missing_bins(domain.time)).tolist(),
        "suppress": [[rule.measure, rule.limit] for rule in rules.suppress],
        "grey": [[rule.measure, rule.limit] for rule in rules.grey],
        "remove": rules.remove,
        "can_be_listed": rules.remove or not rules.suppress,
        "largest_relative_error": LARGEST_RELATIVE_ERROR if limit is None else limit,
    }


def _numbers(name: str, estimate: Estimate, level: float) -> dict[str, Any] | None:
    """Return the values and noise model of an estimate; None where no script knows it, or it is too long."""
    noise = estimate.noise.browser_model(level)
    if noise is None:
        return None
    found = {"name": name, "values": pack_array(estimate.values), "noise": noise}
    return found if len(json.dumps(found)) <= _LONGEST else None


def with_limits(asked: dict[str, Any], release: Release) -> dict[str, Any]:
    """Return the same with how far the limits of every number are from it, for a table that a reader makes of them.

    Without them where that would be too long for a page: whole numbers, many of them alike, are short.
    """
    numbers = []
    for one in asked["numbers"]:
        estimate = release.recommended if one["name"] == release.basis else release.unbiased
        values = np.nan_to_num(estimate.values)
        limits = map(whole_limits, estimate.noise.intervals(values, release.level))
        below, above = (pack_array((limit - np.floor(values)).astype(np.float32)) for limit in limits)
        numbers.append(one | {"below": below, "above": above})
    return asked | {"numbers": numbers} if len(json.dumps(numbers)) <= _LONGEST else asked


def _groups(axis: PlaceAxis | KindAxis | None) -> list[dict[str, Any]]:
    """Return the groups of places or kinds that may be asked for by a name that no single one has, the finest first."""
    if axis is None:
        return []
    found: dict[str, dict[str, Any]] = {}
    for level in reversed(axis.groups):
        coarser, groups = axis.coarsen(level)
        for number, name in enumerate(coarser.cells):
            if name not in axis.cells:
                cells = np.flatnonzero(groups == number).tolist()
                found.setdefault(name, {"name": name, "level": level, "cells": cells})
    return list(found.values())


def _starts(release: Release) -> list[str]:
    """Return when each period begins, to the day where all begin at midnight."""
    starts = release.domain.time.starts()
    is_days = not (starts.astype(np.int64) % _OF_A_DAY).any()
    return [str(start) for start in starts.astype("datetime64[D]" if is_days else "datetime64[m]")]
