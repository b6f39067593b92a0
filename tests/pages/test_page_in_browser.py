"""A page works in a browser without a network: it draws, answers to mouse and keys, and fits a telephone."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from pages.tabs import Opened
from small_worlds import days_places_and_kinds, reported, simulated_estimate
from tacit.collection.tallying import estimate_tally
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import plan_for
from tacit.pages import make_page, make_statement_page
from tacit.pages.figures import LABORATORY, counts_by
from tacit.release import Release, Rules

pytestmark = pytest.mark.browser


@pytest.fixture
def open_page(tabs):
    def open_page(path: Path, *, wait: bool = True, **settings) -> Opened:
        opened = tabs.open(path, **settings)
        if wait:
            opened.page.wait_for_selector("html[data-drawn=yes]", timeout=30_000)
        return opened

    return open_page


CHARTS = """Object.fromEntries([...document.querySelectorAll('[id^=chart-]')].map(
    (box) => [box.id, box.querySelectorAll('svg .mark-group, svg path').length]))"""


LINES = """cells => cells.map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return new Set([...range.getClientRects()].map((line) => line.top)).size;
})"""


def is_too_wide(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def tip(page: Page) -> str:
    return page.locator("#tip").inner_text() if page.locator("#tip").is_visible() else ""


def test_the_page_draws_every_chart_in_silence_and_asks_nobody(open_page, page):
    opened = open_page(page)
    for name in ("places", "series", "totals", "recent", "choices"):
        marks = opened.page.locator(f"#chart-{name} svg path").count()
        assert marks > 3, name
    assert opened.console == []
    assert opened.requests == [page.as_uri()]


def test_the_tab_key_reaches_every_tile_and_shows_its_interval(open_page, page, release):
    opened = open_page(page)
    counts = counts_by(release, "year")
    opened.page.locator("#period").select_option(label="2018")
    opened.page.locator("#period").focus()
    seen = {}
    for _ in range(17):
        opened.page.keyboard.press("Tab")
        place = opened.page.evaluate("Number(document.activeElement.dataset.place)")
        seen[place] = tip(opened.page)
        assert opened.page.evaluate("document.activeElement.getAttribute('aria-label')") == seen[place]
        outline = opened.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
    assert set(seen) == set(range(17))
    for place, sentence in seen.items():
        lower, upper = counts.lower[2, place], counts.upper[2, place]
        assert f"between {lower:,.0f} and {upper:,.0f} (95% interval)" in sentence
        assert ("too uncertain for one number" in sentence) == (not counts.reliable[2, place])
    opened.page.keyboard.press("Escape")
    assert tip(opened.page) == ""


def test_pointing_at_a_tile_shows_its_interval(open_page, page):
    opened = open_page(page)
    opened.page.locator("[data-place='0']").hover()
    assert re.search(
        r"^CA du Grand Besançon, 15 October 2016 to 12 January 2019: about [\d,]+ events, between", tip(opened.page)
    )
    opened.page.mouse.move(2, 2)
    assert tip(opened.page) == ""


def test_choosing_a_year_changes_map_chart_and_legend(open_page, page, release):
    opened = open_page(page)
    before = opened.page.locator("#chart-places svg").inner_html()
    opened.page.locator("#period").select_option(label="2017")
    counts = counts_by(release, "year")
    tile = opened.page.locator("[data-place='0']")
    assert tile.locator(".count").inner_text() == f"{counts.values[1, 0]:,.0f}"
    assert "2017" in opened.page.locator("#map-title").inner_text()
    opened.page.wait_for_function(
        "before => document.querySelector('#chart-places svg').innerHTML !== before", arg=before
    )
    assert "too uncertain" in opened.page.locator("#legend").inner_text()
    assert opened.console == []


def test_choosing_a_tile_with_the_keyboard_shows_its_course(open_page, page):
    opened = open_page(page)
    opened.page.locator("[data-place='3']").focus()
    opened.page.keyboard.press("Enter")
    assert opened.page.locator("#place").input_value() == "3"
    assert "CC de Montbenoit by month" in opened.page.locator("#series-title").inner_text()
    assert opened.page.locator("[data-place='3']").get_attribute("aria-pressed") == "true"


def test_single_values_can_be_read_with_a_slider(open_page, page, release):
    opened = open_page(page)
    slider = opened.page.locator("#read-series")
    slider.focus()
    opened.page.keyboard.press("Home")
    opened.page.keyboard.press("ArrowRight")
    counts = counts_by(release, "month")
    said = slider.get_attribute("aria-valuetext")
    assert said.startswith("November 2016: about")
    assert f"between {counts.lower[1, 0]:,.0f} and {counts.upper[1, 0]:,.0f}" in said
    assert opened.page.locator("output[for=read-series]").inner_text() == said


def test_pointing_at_a_series_reads_the_nearest_period(open_page, page):
    opened = open_page(page)
    chart = opened.page.locator("#chart-series svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] - 12, box["y"] + 60)
    assert "12 January 2019" in opened.page.locator("output[for=read-series]").inner_text()
    opened.page.mouse.move(box["x"] + 60, box["y"] + 60)
    assert "2016" in opened.page.locator("output[for=read-series]").inner_text()
    assert opened.console == []


@pytest.mark.parametrize("width", [320, 768, 1280, 2200])
@pytest.mark.parametrize("which", ["page", "laboratory_page"])
def test_nothing_is_wider_than_the_screen(open_page, request, which, width):
    opened = open_page(request.getfixturevalue(which), width=width)
    assert not is_too_wide(opened.page)
    chart = opened.page.locator("#chart-series svg").bounding_box()
    assert chart["width"] <= width


def test_the_skip_link_is_first_and_leads_to_the_content(open_page, page):
    opened = open_page(page)
    opened.page.keyboard.press("Tab")
    assert opened.page.evaluate("document.activeElement.textContent") == "Skip to the content"
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate("document.activeElement.id") == "main"


def test_tables_can_be_saved(open_page, page):
    opened = open_page(page)
    with opened.page.expect_download() as saved:
        opened.page.locator("a[download='counts-by-year.csv']").click()
    assert "period,place,estimate" in Path(saved.value.path()).read_text(encoding="utf-8-sig")


def test_charts_follow_a_dark_screen_and_print(open_page, page):
    opened = open_page(page, color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    line = "getComputedStyle(document.querySelector('#chart-totals .mark-line path')).stroke"
    dark = opened.page.evaluate(f"[{paper}, {line}]")
    opened.page.emulate_media(media="print", color_scheme="dark")
    printed = opened.page.evaluate(f"[{paper}, {line}]")
    assert printed[0] == "rgb(255, 255, 255)"
    assert dark[0] != printed[0]
    assert dark[1] != printed[1]


@pytest.mark.parametrize("n_years", [13, 31])
def test_a_table_of_many_years_is_no_wider_than_a_sheet(open_page, make_release, tmp_path, n_years):
    places = PlaceAxis.of(["Communauté d'agglomération de l'Ouest", "South"])
    domain = Domain(TimeAxis.between("1990", str(1989 + n_years), step="year"), places)
    path = make_page(make_release(domain, reports=1_500_000), tmp_path / "page.html")
    opened = open_page(path, width=680)  # A4 between margins of 15 mm
    opened.page.emulate_media(media="print")
    assert not is_too_wide(opened.page)
    printed = opened.page.locator("#numbers table:visible")
    heads = [head for table in printed.all() for head in table.locator("thead th").all_inner_texts()]
    assert [head for head in heads if head.isdecimal()] == [str(1990 + year) for year in range(n_years)]
    opened.page.emulate_media(media="screen")
    assert opened.page.locator("#numbers table:visible").count() == 1


def test_a_period_without_any_data_has_words_and_no_scale(open_page, tmp_path):
    counts = np.full((730, 3), 20)
    plan, estimate = simulated_estimate(counts)
    release = Release.of(plan, estimate, rules=Rules.parse(missing=("2019",)))
    opened = open_page(make_page(release, tmp_path / "page.html"))
    drawn = opened.page.locator("#chart-places svg")
    opened_on = opened.page.locator("#period option:checked").inner_text()
    assert opened_on == "2018 to 2019 (365 days without data)"  # the whole time, as the question above
    assert "no data" not in drawn.text_content()
    opened.page.locator("#period").select_option(label="2019")
    opened.page.wait_for_function("document.querySelector('#chart-places svg').textContent.includes('no data')")
    texts = drawn.locator("text").all_text_contents()
    assert sorted(filter(None, texts)) == ["no data"] * 3 + ["place 0", "place 1", "place 2"]
    assert opened.page.locator("#legend li").all_inner_texts() == ["no data"]
    assert [said for said in opened.console if "Infinite extent" not in said] == []


def test_shades_are_told_apart_without_colour(open_page, page):
    opened = open_page(page)
    shades = opened.page.evaluate(
        "[0, 1, 2, 3, 4, 5].map(i => getComputedStyle(document.documentElement).getPropertyValue(`--shade-${i}`))"
    )
    grey = [sum(w * int(s[i : i + 2], 16) for w, i in ((0.299, 1), (0.587, 3), (0.114, 5))) for s in shades]
    assert all(lighter - darker >= 10 for lighter, darker in pairwise(grey))
    unsure = opened.page.locator(".tile.unsure").first
    assert "repeating-linear-gradient" in unsure.evaluate("e => getComputedStyle(e).backgroundImage")
    assert unsure.evaluate("e => getComputedStyle(e).borderStyle") == "dashed"


def test_the_laboratory_draws_its_watermark_in_every_figure(open_page, laboratory_page):
    opened = open_page(laboratory_page)
    for name in ("true-places", "true-series"):
        assert LABORATORY in opened.page.locator(f"#chart-{name} svg").text_content()
    assert "true count" in opened.page.locator("output[for=read-true-series]").inner_text()
    opened.page.locator("#period").select_option(label="2017")
    assert opened.page.locator("#true-rows tr").count() == 17
    assert opened.console == []
    assert opened.requests == [laboratory_page.as_uri()]
    opened.page.emulate_media(media="print")
    assert opened.page.locator(".stamp").is_visible()


def test_the_laboratorys_banner_is_a_box_like_others(open_page, release, truth, tmp_path):
    path = make_page(release, tmp_path / "page.html", truth=truth, synthetic="Nobody's data.")
    opened = open_page(path, width=1000)
    looks = opened.page.locator("header .banner").evaluate_all(
        """boxes => boxes.map((box) => [
            getComputedStyle(box).marginTop, getComputedStyle(box).padding, getComputedStyle(box, "::before").content,
        ])"""
    )
    assert len(looks) == 2
    assert looks[0] == looks[1]
    assert looks[1][2] == "none"  # the watermark of a few lines would be cut
    watermark = opened.page.locator("#laboratory").evaluate("e => getComputedStyle(e, '::before').backgroundImage")
    assert "svg" in watermark


def test_intervals_beside_the_truth_stay_on_one_line(open_page, laboratory_page):
    opened = open_page(laboratory_page, width=400)
    assert max(opened.page.locator("#true-rows td").evaluate_all(LINES)) == 1


def test_the_line_of_a_row_stays_with_the_name_that_stays_in_view(open_page, page):
    opened = open_page(page, width=1000)
    looks = opened.page.locator(".matrix tbody tr + tr th").evaluate_all(
        """cells => cells.map((e) => [
            getComputedStyle(e).position, getComputedStyle(e).borderTopWidth, getComputedStyle(e).borderCollapse,
        ].join(" "))"""
    )
    # collapsed lines are the table's, and a line below is covered by the next name
    assert set(looks) == {"sticky 1px separate"}


def test_names_of_places_cannot_run_anything(open_page, make_release, tmp_path):
    names = ["</script><script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "plain"]
    domain = Domain(TimeAxis.between("2017-01", "2018-12", step="month"), PlaceAxis.of(names))
    path = make_page(make_release(domain), tmp_path / "page.html", title="<svg onload=window.hacked=1>")
    opened = open_page(path)
    for place in range(3):
        opened.page.locator(f"[data-place='{place}']").hover()
        opened.page.locator(f"[data-place='{place}']").click()
    assert opened.page.evaluate("window.hacked") is None
    assert opened.console == []
    assert opened.requests == [path.as_uri()]


def test_outlines_answer_to_the_keyboard_like_tiles(open_page, release, tmp_path):
    features = [
        {
            "type": "Feature",
            "properties": {"nom": name},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[n, 0], [n + 1, 0], [n + 1, 9], [n, 9], [n, 0]]],
            },
        }
        for n, name in enumerate(release.domain.place.cells)
    ]
    places = tmp_path / "places.geojson"
    places.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    opened = open_page(make_page(release, tmp_path / "page.html", polygons=places))
    opened.page.locator("#period").focus()
    opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("Tab")
    assert tip(opened.page).startswith("CA Pays de Montbéliard Agglomération, 15 October 2016 to 12")
    opened.page.keyboard.press("Enter")
    assert opened.page.locator("#place").input_value() == "1"
    assert opened.console == []


@pytest.mark.parametrize("times", [("2018-01", "2018-01", "month"), ("2018-01-01", "2018-01-03", "hour")])
def test_short_releases_draw_in_silence(open_page, make_release, tmp_path, times):
    first, last, step = times
    domain = Domain(TimeAxis.between(first, last, step=step), PlaceAxis.of(["north", "south", "west"]))
    opened = open_page(make_page(make_release(domain), tmp_path / "page.html"), width=320)
    assert opened.console == []
    assert not is_too_wide(opened.page)


def test_the_statement_s_page_needs_no_script(open_page, release, tmp_path):
    path = make_statement_page(release, tmp_path / "statement.html")
    opened = open_page(path, width=320, wait=False, java_script_enabled=False)
    assert opened.page.locator("dl.statement dt").count() == len(release.statement.paragraphs())
    assert opened.console == []
    assert opened.requests == [path.as_uri()]


@pytest.mark.parametrize("which", ["page", "laboratory_page"])
def test_every_chart_is_drawn_without_compiling_text(open_page, which, request):
    opened = open_page(request.getfixturevalue(which))
    assert "unsafe-eval" not in opened.page.content()
    drawn = opened.page.evaluate(CHARTS)
    assert drawn
    assert all(n_marks > 0 for n_marks in drawn.values()), drawn
    assert opened.console == []


@pytest.fixture(scope="module")
def page_with_kinds(tmp_path_factory):
    domain = days_places_and_kinds(70, 3)
    counts = np.random.default_rng(5).poisson([3, 90, 1, 2, 60, 1, 1, 40, 0.5], domain.shape)
    plan = plan_for(domain, epsilon=4.0, mechanism="unary", private=("place", "kind"))
    release = Release.of(plan, estimate_tally(reported(plan, counts, 3), plan), refine="raw")
    path = tmp_path_factory.mktemp("page") / "kinds.html"
    return make_page(release, path, truth=ExactTally(counts)), release


def test_choosing_a_kind_changes_headline_map_charts_and_table(open_page, page_with_kinds):
    path, release = page_with_kinds
    opened = open_page(path)
    page = opened.page
    before = {name: page.locator(name).inner_text() for name in ("#headline-figures", ".tiles", ".matrix tbody")}
    line = "document.querySelector('#chart-{} svg .mark-line path').getAttribute('d')"
    drawn = {name: page.evaluate(line.format(name)) for name in ("series", "totals")}
    page.locator("#kind-on-map").select_option(label="flood")
    page.wait_for_function(f"{line.format('totals')} !== {json.dumps(drawn['totals'])}")
    found = release.answer(kinds=["flood"])
    headline = page.locator("#headline-figures").inner_text()
    assert f"{round(found.value):,} events of kind flood" in " ".join(headline.split())
    assert f"between {found.lower:,.0f} and {found.upper:,.0f} (95% interval)".lower() in headline.lower()
    for name, text in before.items():
        assert page.locator(name).inner_text() != text, name
    assert page.evaluate(line.format("series")) != drawn["series"]
    cell = release.answer(places=["place 1"], kinds=["flood"])
    row = page.locator(".matrix tbody tr").nth(1).inner_text()
    assert f"{round(cell.value):,}" in row
    assert f"{cell.lower:,.0f}–{cell.upper:,.0f}" in row
    assert {choice.input_value() for choice in page.locator(".kind-choice").all()} == {"4"}
    assert set(page.locator(".kind-name").all_inner_texts()) == {"flood"}
    page.locator("[data-place='1']").hover()
    assert re.search(r"^place 1, flood, [^:]+: about", tip(page))
    assert "true" in page.locator("#read-true-series + output, output[for=read-true-series]").first.inner_text()
    page.locator("#kind-in-short").select_option("0")
    assert page.locator("#headline-figures").inner_text() == before["#headline-figures"]
    assert page.locator(".matrix tbody").first.inner_text() == before[".matrix tbody"]
    assert opened.console == []
    assert opened.requests == [path.as_uri()]


def test_small_charts_of_kinds_share_their_scale_and_lead_to_their_kind(open_page, page_with_kinds):
    opened = open_page(page_with_kinds[0])
    page = opened.page
    names = page.locator(".pick-kind").all_inner_texts()
    assert names == ["flood", "fire", "fall"]
    ticks = """[...document.querySelectorAll('#what .chart')].map(
        (chart) => [...chart.querySelectorAll('text')].map((label) => label.textContent).join())"""
    for step in ("month", "day"):
        page.locator("#step-of-kinds").select_option(step)
        page.wait_for_timeout(200)
        labels = page.evaluate(ticks)
        assert len(set(labels)) == 1
        assert page.locator("#step").input_value() == step
    fire = page.locator(".pick-kind").nth(1)
    fire.focus()
    page.keyboard.press("Enter")
    assert fire.get_attribute("aria-pressed") == "true"
    assert set(page.locator(".kind-name").all_inner_texts()) == {"fire"}
    page.keyboard.press("Enter")
    assert set(page.locator(".kind-name").all_inner_texts()) == {"all kinds"}
    assert opened.console == []


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_a_page_with_kinds_fits_every_screen(open_page, page_with_kinds, width):
    opened = open_page(page_with_kinds[0], width=width)
    opened.page.locator("#kind-in-time").select_option(label="danger")
    assert not is_too_wide(opened.page)
    boxes = [chart.bounding_box() for chart in opened.page.locator("#what .chart svg").all()]
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)


def test_a_page_on_which_every_count_is_suppressed_is_drawn_all_the_same(open_page, tmp_path):
    domain = days_places_and_kinds(70, 3)
    plan = plan_for(domain, epsilon=4.0, mechanism="unary", private=("place", "kind"))
    estimate = estimate_tally(reported(plan, np.full(domain.shape, 3), 3), plan)
    rules = Rules.parse(suppress=("count < 1000000",))
    release = Release.of(plan, estimate, refine="raw", rules=rules)
    opened = open_page(make_page(release, tmp_path / "page.html"))
    opened.page.locator("#kind-on-map").select_option(label="flood")
    assert "suppressed" in opened.page.locator(".tiles").inner_text()
    assert not [said for said in opened.console if not said.startswith("WARN Infinite extent")]  # of no number at all


def test_a_page_without_places_is_drawn_and_asked_by_dragging(open_page, make_release, tmp_path):
    domain = Domain(TimeAxis.between("2018-01-01", "2018-03-11", zone="Europe/Paris"), PlaceAxis.everything())
    release = make_release(domain, private=("time",), reports=3000)
    opened = open_page(make_page(release, tmp_path / "page.html"))
    opened.page.wait_for_selector("html[data-answers=yes]")
    assert opened.console == []
    assert "alls" not in opened.page.inner_text("body")
    opened.page.locator("#chart-totals").scroll_into_view_if_needed()
    box = opened.page.locator("#chart-totals").bounding_box()
    opened.page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + 80)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 80, steps=4)
    opened.page.mouse.up()
    asked = opened.page.locator("#answer-note").inner_text()
    assert re.match(r"events: \d+ (January|February) 2018 to \d+ (February|March) 2018\.", asked)
    assert opened.console == []
