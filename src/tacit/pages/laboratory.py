"""The laboratory's part of a page: true counts beside private ones. It never belongs to a publication."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit._base.languages import figures, gettext
from tacit.counts.tally import ExactTally
from tacit.errors import SettingError
from tacit.pages.figures import LABORATORY, ON_PAGE, places_chart, series_chart, short_names, truth_by
from tacit.pages.sections import without_rows
from tacit.pages.selection import Selection, View
from tacit.pages.words import level_noun, number, period, rounded_percent, step_name


def densities(counts: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return each period's shares by place (equation 9 of the paper). A period with no count has density 0 everywhere.

    >>> densities(np.array([[3, 1], [0, 0]])).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    as_floats = np.asarray(counts, np.float64)
    sums = as_floats.sum(axis=1, keepdims=True)
    shares = np.zeros_like(as_floats)
    np.divide(as_floats, sums, out=shares, where=sums != 0)
    return shares


def error_rates(truth: ExactTally, estimated: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean absolute difference of the densities in each period (equation 10).

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
    """Return true counts for every period on the map and every series, how often intervals held, and error rates."""
    maps = selection.all_kinds.maps
    steps = [*([maps.step] if maps is not None else []), *selection.all_kinds.series]
    by_step = {step: truth_by(selection.release, truth, step) for step in (None, *steps)}
    true = [{step: _of_view(selection, view, counts) for step, counts in by_step.items()} for view in selection.views]
    coverage = [_coverage(selection, [0], true, step) for step in selection.all_kinds.series]
    if singles := selection.single_kinds:
        coverage += [_coverage(selection, singles, true, step) for step in selection.all_kinds.series]
    return {
        "mark": gettext(LABORATORY),
        "coverage": coverage,
        "rates": _rates(selection, true[0]),
        "data": [
            {
                "periods": [*of_view[None].tolist(), *([] if maps is None else of_view[maps.step].tolist())],
                "series": {step: of_view[step].T.tolist() for step in selection.all_kinds.series},
            }
            for of_view in true
        ],
        "specs": _specs(selection),
    }


def _of_view(selection: Selection, view: View, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return true counts of the places shown and of the kinds of a view."""
    domain = selection.release.domain
    by_kind = counts.reshape(len(counts), domain.place.n_cells, domain.n_kinds)[:, selection.kept]
    if view.name and domain.kind is not None:
        by_kind = by_kind[:, :, domain.kind.coarsen(view.level)[1] == view.number]
    return np.asarray(by_kind.sum(axis=2))


def _coverage(
    selection: Selection,
    views: Sequence[int],
    true: Sequence[Mapping[str | None, NDArray[np.int64]]],
    step: str,
) -> dict[str, str]:
    """Return the words for how often the intervals of some views hold the truth."""
    held = []
    for number_of_view in views:
        counts, truth = selection.views[number_of_view].series[step], true[number_of_view][step]
        held.append(((counts.lower <= truth) & (truth <= counts.upper))[~counts.is_hidden])
    all_held = np.concatenate(held)
    share = rounded_percent(float(all_held.mean())) if all_held.size else "–"
    n, place = number(all_held.size), level_noun(selection.release.domain.place.level)
    if views == [0]:
        what = gettext("%(n)s counts by %(place)s and %(step)s", n=n, place=place, step=step_name(step))
    else:
        kind = level_noun(selection.views[views[0]].level)
        what = gettext(
            "%(n)s counts by %(place)s, %(kind)s and %(step)s", n=n, place=place, kind=kind, step=step_name(step)
        )
    return {"what": what, "share": share}


def _rates(selection: Selection, true: Mapping[str | None, NDArray[np.int64]]) -> list[dict[str, str]]:
    maps = selection.all_kinds.maps
    if maps is None or len(selection.kept) < selection.release.domain.place.n_cells or maps.is_hidden.any():
        return []
    counts = true[maps.step]
    rates = error_rates(ExactTally(counts), np.maximum(maps.values, 0.0))
    return [
        {"period": period(label), "rate": figures(f"{rate:.4f}")}
        for label, rate in zip(maps.periods, rates, strict=True)
    ]


def _specs(selection: Selection) -> dict[str, Any]:
    view, names = selection.all_kinds, short_names(selection.places.cells)
    no_truth = [0] * len(names)
    charts: dict[str, Any] = {"true-places": places_chart(view.whole, 0, names, truth=no_truth, palette=ON_PAGE)}
    first = selection.first_series
    if first is not None:
        of_places = [one.series[first] for one in selection.views]
        drawn = next((counts for counts in of_places if not counts.is_exact), of_places[0])
        charts["true-series"] = series_chart(drawn.last(1), 0, truth=[0], palette=ON_PAGE)
    return {name: without_rows(chart) for name, chart in charts.items()}
