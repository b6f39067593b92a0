"""The ways to refine a release, by name: what its column ``refined`` holds.

>>> sorted(REFINEMENTS)
['clip', 'coherent', 'filter', 'likelihood', 'norm-cut', 'project', 'raw', 'shrink', 'smooth']
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.languages import message
from tacit.counts.estimate import Estimate
from tacit.domain import TimeAxis
from tacit.errors import SettingError
from tacit.postprocess.clipping import clip, clip_and_rescale, norm_cut, project
from tacit.postprocess.coherence import add_up
from tacit.postprocess.normal_likelihood import maximize_normal_likelihood
from tacit.postprocess.shrinkage import shrink

ENOUGH_PERIODS: Final = 60
"""From so many periods on there is enough to learn how much counts vary from one to the next."""


FROM_REPORTS: Final = "likelihood of reports"
"""The name of the likelihood that was found from the reports themselves, which a release does not hold."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """A named way to refine. What ``adds_up`` is refined once and added up; the others are refined again from sums.

    One that ``needs_cells`` is made for the plan's own private cells, of public bins that were added up before. One
    that lets periods tell of one another has ``refine_without``, which is told for which of them there are no data.
    """

    name: str
    words: str
    refine: Callable[[Estimate], Estimate]
    adds_up: bool = False
    needs_cells: bool = False
    refine_without: Callable[[Estimate, NDArray[np.bool_]], Estimate] | None = None

    def given_missing(self, missing: Callable[[TimeAxis], NDArray[np.bool_]]) -> Refinement:
        """Return the same, knowing for which periods of an axis there are no data."""
        refine = self.refine_without
        if refine is None:
            return self
        return replace(self, refine=lambda estimate: refine(estimate, missing(estimate.domain.time)))


def refined_and_added_up(
    chosen: Refinement, estimate: Estimate, unbiased: Estimate, levels: Mapping[str, str]
) -> Estimate:
    """Refine an estimate that is released by coarser ``levels`` of its axes: ``unbiased`` is its sum over them."""
    if unbiased is estimate or chosen.name == "raw":
        return chosen.refine(unbiased)
    if chosen.adds_up:
        return chosen.refine(estimate).coarsen(**levels)
    reports = estimate.noise.of_reports()
    if not chosen.needs_cells or reports is None:
        return chosen.refine(unbiased)
    hidden = reports.layout.private
    public = estimate.coarsen(**{axis: level for axis, level in levels.items() if axis not in hidden})
    return chosen.refine(public).coarsen(**{axis: level for axis, level in levels.items() if axis in hidden})


def refinement_named(name: str) -> Refinement:
    """Find a refinement by its name."""
    if name not in REFINEMENTS:
        raise SettingError(f"refine must be one of {', '.join(REFINEMENTS)}; got refine={name}.")
    return REFINEMENTS[name]


def best_refinement(estimate: Estimate) -> Refinement:
    """Return the best refinement that needs no tuning.

    Smoothing where there are periods enough and their numbers of reports are public; else projection onto what counts
    can be; where no number is public, counts that are not negative and still add up.
    """
    totals, (n_times, _) = estimate.totals, estimate.domain.shape
    if totals is None:
        return REFINEMENTS["coherent"]
    can_be_smoothed = totals.shape[0] == n_times >= ENOUGH_PERIODS
    return REFINEMENTS["smooth" if can_be_smoothed else "project"]


def _clipped(estimate: Estimate) -> Estimate:
    return clip(estimate) if estimate.totals is None else clip_and_rescale(estimate)


def _shrunk(estimate: Estimate) -> Estimate:
    shrunk = shrink(estimate)
    return clip(shrunk) if estimate.totals is None else project(shrunk)


def _check_independent(estimate: Estimate) -> None:
    if estimate.noise.is_continual:
        raise SettingError(
            "smoothing takes the noise of every period for its own, and that of a counter is correlated from one to "
            f"the next: its intervals would be wrong. Refine by one of {', '.join(OF_A_COUNTER)}."
        )


def _filtered(estimate: Estimate, missing: NDArray[np.bool_] | None = None) -> Estimate:
    _check_independent(estimate)
    from tacit.postprocess.smoothing import filtered  # as the next

    if missing is not None and missing.any():  # nothing is known of these periods, not that nothing happened
        estimate = replace(estimate, values=np.where(missing[:, None], np.nan, estimate.values))
    return filtered(estimate)


def _smoothed(estimate: Estimate, missing: NDArray[np.bool_] | None = None) -> Estimate:
    _check_independent(estimate)
    from tacit.postprocess.smoothing import smooth  # costs a moment to load, which few releases need

    return smooth(estimate, missing=missing)


REFINEMENTS: Final[Mapping[str, Refinement]] = {
    entry.name: entry
    for entry in (
        Refinement("raw", "as estimated, without bias", lambda estimate: estimate, adds_up=True),
        Refinement("clip", "negative counts to zero, rescaled to the public total (the paper's way)", _clipped),
        Refinement(
            "norm-cut",
            "negative counts and the smallest ones to zero, until the public total is not exceeded",
            norm_cut,
        ),
        Refinement("project", "the nearest counts that can be", project),
        Refinement("coherent", "not negative, and days add up to months and years", add_up, adds_up=True),
        Refinement("likelihood", "the most likely counts", maximize_normal_likelihood, needs_cells=True),
        Refinement("shrink", "the levels of a tree drawn to even counts, as far as noise explains them", _shrunk, True),
        Refinement(
            message("smooth"),
            "periods borrow strength from one another; with intervals",
            _smoothed,
            adds_up=True,
            refine_without=_smoothed,
        ),
        Refinement(
            message("filter"),
            "as smooth, but each period as it stood at its end, without what came later; with intervals",
            _filtered,
            adds_up=True,
            refine_without=_filtered,
        ),
    )
}
OF_A_CURATOR: Final = ("raw", "clip", "coherent", "likelihood", "shrink", "smooth", "filter")
"""Those that need no public number of reports, which a curator's counts have not; likelihood is for tables."""
OF_A_COUNTER: Final = ("raw", "clip", "coherent")
"""Those of them that take no noise for independent from one period to the next, which a counter's is not."""
