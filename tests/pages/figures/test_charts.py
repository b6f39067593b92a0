"""Charts are valid, complete in themselves, and marked when they show the truth."""

from __future__ import annotations

import json

import pytest
import vl_convert

from tacit.pages.figures import (
    LABORATORY,
    ON_PAGE,
    choices,
    choices_chart,
    counts_by,
    errors_by,
    places_chart,
    series_chart,
    short_names,
    small_chart,
    tile_map,
    tiles_chart,
    totals_by,
)


def drawn(chart) -> str:
    """The chart as SVG; Vega-Lite must accept it."""
    return vl_convert.vegalite_to_svg(chart.properties(width=400).to_dict())


@pytest.fixture(scope="module")
def monthly(release):
    return counts_by(release, "month")


@pytest.mark.slow
def test_a_series_draws_its_band(monthly):
    svg = drawn(series_chart(monthly, 0))
    assert "mark-area" in svg
    assert "NaN" not in svg


def test_exact_totals_have_no_band(release):
    svg = drawn(series_chart(totals_by(release, "month"), 0))
    assert "mark-area" not in svg


def test_places_are_drawn_largest_first(monthly):
    chart = places_chart(monthly, 5, short_names(monthly.places), most=3)
    rows = next(part["data"]["values"] for part in [chart.to_dict(), *chart.to_dict()["layer"]] if "data" in part)
    assert len(rows) == 3
    assert [row["estimate"] for row in rows] == sorted((row["estimate"] for row in rows), reverse=True)
    assert "NaN" not in drawn(chart)


def test_small_charts_and_tiles_have_no_setting_that_is_unknown(monthly, release):
    """Axes and scales are plain dictionaries, which only ``to_dict`` looks at."""
    tiles = tiles_chart(monthly, 5, tile_map(release.domain.place), short_names(monthly.places))
    for chart in (small_chart(totals_by(release, "month")), tiles):
        assert chart.to_dict()["layer"]


def test_error_against_epsilon_marks_the_release(release):
    assert "this release" in drawn(choices_chart(choices(release, [errors_by(release, "month")])))


@pytest.mark.slow
def test_every_chart_with_the_truth_carries_the_watermark_and_no_other_does(monthly):
    names = short_names(monthly.places)
    truth = [1] * len(monthly.periods)
    with_truth = [series_chart(monthly, 0, truth=truth), places_chart(monthly, 0, names, truth=truth)]
    without = [series_chart(monthly, 0), places_chart(monthly, 0, names)]
    assert all(LABORATORY in drawn(chart) for chart in with_truth)
    assert not any(LABORATORY in drawn(chart) or "truth" in chart.to_json() for chart in without)


def test_charts_for_a_page_leave_colours_to_its_style(monthly):
    text = json.dumps(series_chart(monthly, 0, palette=ON_PAGE).to_dict())
    assert "var(--accent)" in text
    assert "#" not in text.replace("$schema", "")
