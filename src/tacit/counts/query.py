"""Questions: a box of time, places and kinds becomes weights, weights become an answer with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit._base.validation import check_share
from tacit.counts.estimate import Answer, Estimate
from tacit.domain import Box, Domain, NamedAxis
from tacit.errors import SettingError


@dataclass(frozen=True, slots=True, eq=False)
class RangeAnswers:
    """Many answers at once, in the order they were asked."""

    values: FloatArray
    standard_errors: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    is_simulation: bool = False


def answer(estimate: Estimate, box: Box, *, level: float = 0.95) -> Answer:
    """Answer how many events fell into the box.

    A box that spans all that is private (every region of a public day, say) is answered by the public number of
    reports, which is exact.
    """
    check_share(level=level)
    known = estimate.known_total(box)
    if known is not None:
        value = float(known)
        return Answer(value, 0.0, value, value, level, box, estimate.provenance.is_simulation)
    weights = box.weights(estimate.domain)
    # counts that a release suppresses are NaN, and must not spoil questions about others
    value = float(np.sum(weights * np.where(weights != 0, estimate.values, 0.0)))
    lower, upper = estimate.noise.interval(value, weights, level)
    return Answer(
        value=value,
        standard_error=estimate.noise.variance(weights) ** 0.5,
        lower=lower,
        upper=upper,
        level=level,
        box=box,
        is_simulation=estimate.provenance.is_simulation,
    )


def answer_ranges(
    estimate: Estimate,
    first: NDArray[np.integer],
    stop: NDArray[np.integer],
    *,
    place: int | str = 0,
    kind: int | str | None = None,
    level: float = 0.95,
) -> RangeAnswers:
    """Answer many ranges of time bins of one place, each from ``first`` up to but not including ``stop``.

    ``kind`` is a kind of event or a group of them; left out, all kinds are added up. A curator's counts over time take
    O(1) a range for the value and O(height of the tree) for its interval where one column of counts is asked for:
    millions in a second or two. Other estimates, and sums of columns, are asked one range after another.
    """
    check_share(level=level)
    n_times = estimate.domain.shape[0]
    first, stop = np.asarray(first), np.asarray(stop)
    if first.shape != stop.shape or first.ndim != 1 or not ((first >= 0) & (first < stop) & (stop <= n_times)).all():
        raise SettingError(
            f"ranges must satisfy 0 <= first < stop <= {n_times}, in two lists of one length. "
            "Reversed and empty ranges have no answer."
        )
    columns = _columns(estimate.domain, place, kind)
    is_simulation = estimate.provenance.is_simulation
    sums = np.concatenate([[0.0], np.cumsum(estimate.values[:, list(columns)].sum(axis=1))])
    values = sums[stop] - sums[first]
    limits = None
    if estimate.totals is None and len(columns) == 1:
        limits = estimate.noise.range_limits(values, first, stop, level)
    if limits is not None:
        return RangeAnswers(values, *limits, level, is_simulation)
    asked = [
        answer(estimate, Box(range(a, b), columns), level=level)
        for a, b in zip(first.tolist(), stop.tolist(), strict=True)
    ]
    parts = np.array([(one.value, one.standard_error, one.lower, one.upper) for one in asked]).reshape(-1, 4)
    values, errors, lower, upper = parts.T
    return RangeAnswers(values, errors, lower, upper, level, is_simulation)


def _columns(domain: Domain, place: int | str, kind: int | str | None) -> tuple[int, ...]:
    """Return the columns of a place and a kind, each by number or by name."""
    if kind is not None and domain.kind is None:
        raise SettingError("kind must be left out: these counts have no kinds.")
    kinds = None if kind is None or domain.kind is None else _name(domain.kind, kind)
    return domain.box(places=_name(domain.place, place), kinds=kinds).columns


def _name(axis: NamedAxis, cell: int | str) -> str:
    if isinstance(cell, str):
        return cell
    if not 0 <= cell < axis.n_cells:
        raise SettingError(f"{axis.word} must be a number below {axis.n_cells}, or a name; got {axis.word}={cell}.")
    return axis.cells[cell]
