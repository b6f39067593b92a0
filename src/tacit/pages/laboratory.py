"""The laboratory's part of a page: true counts beside private ones. It never belongs to a publication."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.counts.tally import ExactTally
from tacit.errors import SettingError
from tacit.pages.figures import LABORATORY, ON_PAGE, places_chart, series_chart, short_names, truth_by
from tacit.pages.figures.counts import Counts
from tacit.pages.sections import without_rows
from tacit.pages.selection import Selection
from tacit.pages.words import number, period, rounded_percent


def densities(counts: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Each period's shares by place (equation 9 of the paper). A period with no count has density 0 everywhere.

    >>> densities(np.array([[3, 1], [0, 0]])).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    as_floats = np.asarray(counts, np.float64)
    sums = as_floats.sum(axis=1, keepdims=True)
    shares = np.zeros_like(as_floats)
    np.divide(as_floats, sums, out=shares, where=sums != 0)
    return shares


def error_rates(truth: ExactTally, estimated: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean absolute difference of the densities in each period (equation 10).

    Defined for every period: without events and without estimates both densities are 0, and so is the error.

    >>> error_rates(ExactTally(np.array([[3, 1], [0, 0]])), np.array([[2.0, 2.0], [0.0, 0.0]])).tolist()
    [0.25, 0.0]
    """
    actual = truth.reveal()
    if actual.shape != np.shape(estimated):
        raise SettingError(f"estimates must have the truth's shape {actual.shape}; got shape={np.shape(estimated)}.")
    error: NDArray[np.float64] = np.abs(densities(actual) - densities(estimated)).mean(axis=1)
    return error


def laboratory(selection: Selection, truth: ExactTally) -> dict[str, Any]:
    """True counts for every period on the map and every series, how often intervals held, and error rates."""
    release = selection.release
    whole = truth_by(release, truth, None)
    by_map = [whole[0]]
    if selection.maps is not None:
        by_map += list(truth_by(release, truth, selection.maps.step))
    by_step = {step: truth_by(release, truth, step) for step in selection.series}
    return {
        "mark": LABORATORY,
        "coverage": [
            _coverage(counts, by_step[step][:, selection.kept], release.domain.place.level)
            for step, counts in selection.series.items()
        ],
        "rates": _rates(selection, truth),
        "data": {
            "periods": [row[selection.kept].tolist() for row in by_map],
            "series": {step: counts.T[selection.kept].tolist() for step, counts in by_step.items()},
        },
        "specs": _specs(selection),
    }


def _coverage(counts: Counts, truth: NDArray[np.int64], level: str) -> dict[str, str]:
    held = ((counts.lower <= truth) & (truth <= counts.upper))[~counts.is_hidden]
    share = rounded_percent(float(held.mean())) if held.size else "–"
    return {"what": f"{number(held.size)} counts by {level} and {counts.step}", "share": share}


def _rates(selection: Selection, truth: ExactTally) -> list[dict[str, str]]:
    maps, release = selection.maps, selection.release
    if maps is None or len(selection.kept) < release.domain.place.n_cells or maps.is_hidden.any():
        return []
    counts = truth_by(release, truth, maps.step)
    rates = error_rates(ExactTally(counts), np.maximum(maps.values, 0.0))
    return [{"period": period(label), "rate": f"{rate:.4f}"} for label, rate in zip(maps.periods, rates, strict=True)]


def _specs(selection: Selection) -> dict[str, Any]:
    names = short_names(selection.whole.places)
    no_truth = [0] * len(names)
    charts: dict[str, Any] = {"true-places": places_chart(selection.whole, 0, names, truth=no_truth, palette=ON_PAGE)}
    first = selection.first_series
    if first is not None:
        charts["true-series"] = series_chart(selection.series[first].last(1), 0, truth=[0], palette=ON_PAGE)
    return {name: without_rows(chart) for name, chart in charts.items()}
