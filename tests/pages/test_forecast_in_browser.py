"""A forecast's page in a browser without a network: it draws, answers to mouse and keys, and fits a telephone."""

from __future__ import annotations

import numpy as np
import pytest

from pages.forecasts import HOLIDAYS, doubs_release, forecast_of, release_with_kinds
from small_worlds import simulated_estimate
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.forecast.backtest import backtest
from tacit.forecast.baselines import SeasonalNaive, WeekdayMean
from tacit.forecast.past import series_of
from tacit.pages.forecast_page import make_backtest_page, make_forecast_page
from tacit.release import Release

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def release():
    return doubs_release()


@pytest.fixture(scope="module")
def page(release, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "forecast.html"
    return make_forecast_page(forecast_of(release, 7), release, path, holidays=HOLIDAYS, per_crew=1.0)


@pytest.fixture
def open_page(tabs):
    """Open pages, each with a list of all it said and asked for."""

    def open_page(path, **settings):
        opened = tabs.open(path, **settings)
        opened.page.wait_for_selector("html[data-drawn=yes]", timeout=60_000)
        return opened.page, opened.said

    return open_page


def test_the_page_draws_in_silence_and_asks_nobody(open_page, page):
    opened, said = open_page(page)
    for name in ("fan", "places"):
        assert opened.locator(f"#chart-{name} svg path").count() > 3
    assert said == []


def test_choosing_a_day_changes_map_chart_and_words(open_page, page, release):
    opened, said = open_page(page)
    made = forecast_of(release, 7)
    tile = opened.locator("[data-place='0']")
    assert tile.locator(".count").inner_text() == f"{made.counts.means[0, 0]:,.0f}"
    opened.locator("#period").select_option(label="The next 7 days")
    assert tile.locator(".count").inner_text() == f"{made.sums.means[0]:,.0f}"
    tile.hover()
    low, high = (limit[0] for limit in made.sums.intervals(0.8))
    assert f"4 times in 5 between {low:,.0f} and {high:,.0f}; 19 times in 20" in opened.locator("#tip").inner_text()
    opened.keyboard.press("Escape")
    assert not opened.locator("#tip").is_visible()
    assert said == []


def test_choosing_a_tile_with_the_keyboard_shows_its_fan(open_page, page):
    opened, said = open_page(page)
    before = opened.locator("#chart-fan svg").inner_html()
    opened.locator("[data-place='3']").focus()
    opened.keyboard.press("Enter")
    assert opened.locator("#place").input_value() == "4"
    assert "CC de Montbenoit" in opened.locator("#fan-title").inner_text()
    opened.wait_for_function("before => document.querySelector('#chart-fan svg').innerHTML !== before", arg=before)
    slider = opened.locator("#read-fan")
    slider.focus()
    opened.keyboard.press("End")
    assert slider.get_attribute("aria-valuetext").startswith("Monday 7 January 2019: about")
    assert said == []


def test_crews_follow_what_the_reader_chooses(open_page, page, release):
    opened, said = open_page(page)
    made = forecast_of(release, 7)
    opened.locator("#quantile").select_option("0.99")
    opened.locator("#per-crew").fill("4")
    first = opened.locator("[data-crews='0'] td").first.inner_text()
    assert int(first) == -(-int(made.counts.quantiles(0.99)[0, 0]) // 4)
    together = opened.locator("#crews-shared td").first.inner_text()
    assert int(together) == -(-int(made.totals.quantiles(0.99)[0]) // 4)
    assert "99 times in 100" in opened.locator("#crews-caption").inner_text()
    opened.locator("#per-crew").fill("0")
    assert opened.locator("#per-crew").get_attribute("aria-invalid") == "true"
    assert opened.locator("[data-crews='0'] td").first.inner_text() == first
    assert said == []


def test_choosing_a_kind_changes_the_whole_page(open_page, tmp_path):
    release = release_with_kinds()
    made = forecast_of(release, 7)
    opened, said = open_page(make_forecast_page(made, release, tmp_path / "page.html", per_crew=2), width=390)
    parts = {name: part for _, name, part in made.by_kinds()}
    before = opened.locator("#chart-fan svg").inner_html()

    def shows(name):
        part = parts[name]
        value = opened.locator("#headline-figures b").first.inner_text()
        assert float(value) == pytest.approx(part.totals.means[0], abs=0.5)
        tile = opened.locator("[data-place='1'] .count").inner_text()
        assert float(tile) == pytest.approx(part.counts.means[0, 1], abs=0.5)
        crews = opened.locator("[data-crews='1'] td").first.inner_text()
        assert int(crews) == -(-int(part.counts.quantiles(0.9)[0, 1]) // 2)
        together = opened.locator("#crews-shared td").last.inner_text()
        assert int(together) == -(-int(part.totals.quantiles(0.9)[-1]) // 2)
        low, high = (limit[6] for limit in part.totals.intervals(0.8))
        assert opened.locator("#matrix tr.total small").last.inner_text() == f"{low:.0f}–{high:.0f}"
        words = {name or "all kinds"}
        assert {one.inner_text() for one in opened.locator(".kind-name").all()} == words
        assert {one.input_value() for one in opened.locator(".kind-choice").all()} == {str(list(parts).index(name))}

    shows("")
    opened.locator("#kind-on-map").select_option(label="danger")
    shows("danger")
    opened.wait_for_function("before => document.querySelector('#chart-fan svg').innerHTML !== before", arg=before)
    pick = opened.locator(".pick-kind", has_text="fall")
    pick.click()
    shows("fall")
    assert pick.get_attribute("aria-pressed") == "true"
    assert "place 0, fall, " in opened.locator("[data-place='0']").get_attribute("aria-label")
    pick.click()
    shows("")
    assert opened.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert said == []


@pytest.mark.parametrize(("width", "scheme"), [(320, "light"), (2200, "dark")])
def test_nothing_is_wider_than_the_screen(open_page, page, width, scheme):
    opened, said = open_page(page, width=width, color_scheme=scheme)
    assert opened.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert said == []


def test_names_of_places_cannot_run_anything(open_page, make_release, tmp_path):
    names = ["</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "plain"]
    release = make_release(Domain(TimeAxis.between("2018-01-01", "2018-02-28"), PlaceAxis.of(names)))
    path = make_forecast_page(forecast_of(release, 20), release, tmp_path / "page.html", title="<svg onload=hacked=1>")
    opened, said = open_page(path)
    for place in range(3):
        opened.locator(f"[data-place='{place}']").click()
    assert opened.evaluate("window.hacked") is None
    assert said == []


def test_hours_and_years_draw_too(open_page, make_release, tmp_path):
    for first, last, step, horizon in (("2018-01-01", "2018-01-28", "hour", 24), ("2009", "2018", "year", 2)):
        domain = Domain(TimeAxis.between(first, last, step=step), PlaceAxis.of(["north", "south"]))
        release = make_release(domain)
        path = make_forecast_page(forecast_of(release, horizon), release, tmp_path / f"{step}.html")
        opened, said = open_page(path, width=375)
        assert opened.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert said == []


def test_a_backtest_s_page_draws_in_silence(open_page, release, tmp_path):
    board = backtest([WeekdayMean(), SeasonalNaive()], series_of(release), origins=4, horizon=7, every=8)
    opened, said = open_page(make_backtest_page(board, release, tmp_path / "page.html"), width=375)
    for name in ("models", "leads"):
        assert opened.locator(f"#chart-{name} svg path").count() > 1
    assert opened.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert said == []


def test_every_chart_is_drawn_without_compiling_text(open_page, page, release, tmp_path):
    tested = backtest([WeekdayMean()], series_of(release), origins=2, horizon=7, every=8)
    for path in (page, make_backtest_page(tested, release, tmp_path / "backtest.html")):
        opened, said = open_page(path)
        assert "unsafe-eval" not in opened.content()
        charts = opened.locator("[id^=chart-]").all()
        assert charts
        assert all(chart.locator("svg path").count() > 0 for chart in charts)
        assert said == []


def test_a_long_name_does_not_widen_the_table_of_crews(open_page, tmp_path):
    names = ["Hauptbahnhofsvorplatz" * 5, "Pier"]
    domain = Domain(TimeAxis.between("2018-09-03", "2018-12-31"), PlaceAxis.of(names))
    release = Release.of(*simulated_estimate(np.full(domain.shape, 9), domain=domain))
    opened, _ = open_page(make_forecast_page(forecast_of(release, 7), release, tmp_path / "page.html", per_crew=1.0))
    width = opened.locator("[data-crews='0'] th").bounding_box()["width"]
    assert width <= 400  # in one line the name takes 840
