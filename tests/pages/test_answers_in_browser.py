"""A page answers any question as the release does, in a browser without a network."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest

from small_worlds import days_and_places, days_places_and_kinds, reported, simulated_estimate
from tacit._base.rounding import whole_limits
from tacit.collection.tallying import estimate_tally
from tacit.counts.tally import ExactTally
from tacit.domain import Box, Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.errors import NotShown
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.registry import plan_for
from tacit.pages import make_page
from tacit.pages.answers import answers
from tacit.pages.figures import counts_in_all
from tacit.pages.selection import select
from tacit.privacy.ledger import Spend
from tacit.release import Release, Rules
from tacit.release.exports import privacy_of
from tacit.release.joining import join

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COUNTS = np.random.default_rng(1).poisson(np.array([24, 12, 6, 6, 3, 1]), (130, 6))
FEW = np.random.default_rng(2).poisson(np.array([2, 1, 1, 0.5, 0.2, 0.1]), (130, 6))


def of_reports(mechanism="unary", counts=COUNTS, *, domain=None, private=("place",), epsilon=2.0, **settings):
    plan = plan_for(domain or days_and_places(*counts.shape), epsilon=epsilon, mechanism=mechanism, private=private)
    return Release.of(plan, estimate_tally(reported(plan, counts, 3), plan), **settings)


def of_a_curator(mechanism="tree", *, domain=None, counts=COUNTS, epsilon=1.0, **settings):
    plan = central_plan_for(domain or days_and_places(*counts.shape), epsilon=epsilon, mechanism=mechanism)
    made = central_mechanism_of(plan)
    return Release.of(
        plan, made.measure(ExactTally(counts), plan, spend=Spend.simulation(made.cost, seed=3)), **settings
    )


def with_kinds(n_days=80):
    return days_places_and_kinds(n_days, 4), np.random.default_rng(4).poisson(6, (n_days, 12))


def of_kinds(private, **settings):
    domain, counts = with_kinds()
    return of_reports(counts=counts, domain=domain, private=private, **settings)


def of_towns(mechanism):
    places = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"), level="town")
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-20"), places)
    counts = np.random.default_rng(5).poisson(0.4, domain.shape)
    return of_reports(mechanism, counts, domain=domain, place="region", refine="project")


def of_two_months():
    spans = (("2018-01-01", "2018-01-31", 31), ("2018-02-01", "2018-02-28", 28))
    domains = [Domain(TimeAxis.between(first, last), PlaceAxis.of(["n", "s", "w"])) for first, last, _ in spans]
    return join([of_a_curator(domain=one, counts=COUNTS[: n[2], :3]) for one, n in zip(domains, spans, strict=True)])


KEPT = Rules.parse(suppress=("relative error > 0.4",), missing=("2018-03",), keep_suppressed=True)
MADE = {
    "unary": lambda: of_reports(refine="project"),
    "unary, few": lambda: of_reports(counts=FEW, refine="project"),
    "response": lambda: of_reports("response", refine="project"),
    "subset": lambda: of_reports("subset", refine="project"),
    "subset, few": lambda: of_reports("subset", FEW, refine="project"),
    "hadamard": lambda: of_reports("hadamard", refine="project"),
    "hashing": lambda: of_reports("hashing", refine="project"),
    "longitudinal": lambda: of_reports("longitudinal", refine="project"),
    "hierarchical": lambda: of_reports("hierarchical", refine="project"),
    "hierarchical, few": lambda: of_reports("hierarchical", FEW, refine="project", epsilon=5.0),
    "hierarchical, by week": lambda: of_reports("hierarchical", private=("time",), by="week", refine="raw"),
    "hierarchical time": lambda: of_reports("hierarchical", private=("time",), refine="raw"),
    "towns of subsets": lambda: of_towns("subset"),
    "hidden time": lambda: of_kinds(("time",)),
    "smoothed": lambda: Release.of(*simulated_estimate(COUNTS, epsilon=2.0)),
    "smoothed, few": lambda: Release.of(*simulated_estimate(FEW, epsilon=3.0)),
    "smoothed, by month": lambda: Release.of(*simulated_estimate(COUNTS, epsilon=2.0), by="month", refine="smooth"),
    "smoothed kinds": lambda: of_kinds(("place", "kind")),
    "smoothed strata": lambda: of_kinds(("place",)),
    "filtered": lambda: of_reports(refine="filter"),
    "filtered strata": lambda: of_kinds(("place",), refine="filter"),
    "filtered tree": lambda: of_a_curator(refine="filter"),
    "smoothed, suppressed": lambda: of_reports(rules=KEPT),
    "tree": of_a_curator,
    "smoothed tree": lambda: of_a_curator(refine="smooth"),
    "smoothed tree, few": lambda: of_a_curator(counts=FEW, epsilon=3.0, refine="smooth"),
    "smoothed tree, missing": lambda: of_a_curator(
        "calendar tree", refine="smooth", rules=Rules.parse(missing=("2018-03",))
    ),
    "smoothed tree, by month": lambda: of_a_curator(by="month", refine="smooth"),
    "smoothed tree of kinds": lambda: of_a_curator(domain=with_kinds()[0], counts=with_kinds()[1], refine="smooth"),
    "grainy tree": lambda: of_a_curator(epsilon=8.0),
    "flat": lambda: of_a_curator("flat"),
    "calendar tree": lambda: of_a_curator("calendar tree"),
    "tree, suppressed": lambda: of_a_curator(rules=KEPT),
    "tree, removed": lambda: of_a_curator(
        epsilon=4.0, rules=Rules.parse(suppress=("count < 4",), missing=("2018-03",))
    ),
    "tables": lambda: of_a_curator("tables", domain=with_kinds()[0], counts=with_kinds()[1]),
    "joined": of_two_months,
    "joined, by month": lambda: of_two_months().coarsen(time="month"),
}


@pytest.fixture(scope="module")
def open_page(tabs):
    """Open pages, each with a list of all it said and asked for."""

    def open_page(path, **settings):
        opened = tabs.open(path, **settings)
        opened.page.wait_for_selector("html[data-drawn=yes][data-answers=yes]", timeout=60_000)
        return opened.page, opened.said

    return open_page


def boxes_of(release, n=72):
    """Boxes of all sizes, six of each of twelve shapes: single cells, single places, single days, and the whole."""
    draw = np.random.default_rng(6)
    n_times, n_places, n_kinds = release.domain.sizes
    for i in range(n):
        first, last = sorted(draw.integers(0, n_times, 2).tolist())
        last = (last, first, last, min(first + 6, n_times - 1))[i % 4]
        places, kinds = (
            np.sort(draw.choice(size, draw.integers(1, size + 1), replace=False)).tolist()
            for size in (n_places, n_kinds)
        )
        yield {"first": first, "last": last, "places": places[:1] if i % 3 == 0 else places, "kinds": kinds}


def box_of(release, asked):
    n_kinds = release.domain.n_kinds
    columns = tuple(place * n_kinds + kind for place in asked["places"] for kind in asked["kinds"])
    return Box(range(asked["first"], asked["last"] + 1), columns)


@pytest.fixture(scope="module")
def answering(tmp_path_factory):
    release = MADE["smoothed"]()
    return release, make_page(release, tmp_path_factory.mktemp("answers") / "page.html")


@pytest.fixture(scope="module")
def opened_once(open_page, answering):
    return open_page(answering[1], beside=True)


def expected_of(release, asked, which):
    """The release's own answer, or the words of its refusal."""
    try:
        return release.answer_box(box_of(release, asked), measured=which == "measured")
    except NotShown as refused:
        return str(refused).lower()


@pytest.mark.parametrize("name", MADE)
def test_the_page_answers_as_the_release_does(name, opened_once):
    release, (opened, said) = MADE[name](), opened_once
    asked, embedded = list(boxes_of(release)), answers(release)
    names = [one["name"] for one in embedded["numbers"]]
    of_model = "filtered" if name.startswith("filtered") else "smoothed"
    assert names == ([of_model, "measured"] if release.has_refined_intervals else ["measured"])
    script = """([embedded, asked]) => window.tacit.openAnswers(embedded)
        .then((opened) => embedded.numbers.map((_, number) => asked.map((one) => opened.answer({ ...one, number }))))"""
    for which, found in zip(names, opened.evaluate(script, [embedded, asked]), strict=True):
        n_refused = 0
        for one, answer in zip(asked, found, strict=True):
            expected = expected_of(release, one, which)
            if isinstance(expected, str):
                n_refused += 1
                assert answer["refused"].lower().split(".")[0] in expected
                continue
            assert answer["value"] == pytest.approx(expected.value, rel=1e-9, abs=1e-9)
            assert answer["error"] == pytest.approx(expected.standard_error, rel=1e-6, abs=1e-6)
            assert answer["isReliable"] == release.is_reliable(expected)
            assert answer["lower"] == pytest.approx(expected.lower, rel=1e-9, abs=1e-6)
            assert answer["upper"] == pytest.approx(expected.upper, rel=1e-9, abs=1e-6)
        assert n_refused < len(asked)
        assert (n_refused > 0) == bool(release.rules.suppress or release.rules.missing)
    assert said == []


def shown(opened):
    return opened.locator(".answer").inner_text()


def test_the_address_holds_the_question(open_page, answering):
    release, page = answering
    address = "#from=2018-02&to=2018-03-04&places=place+1&places=place+3"
    opened, _ = open_page(page, address=address)
    found = release.answer(first="2018-02", last="2018-03-04", places=["place 1", "place 3"])
    assert f"{round(found.value):,}" in shown(opened)
    assert f"Between {round(found.lower):,} and {round(found.upper):,} (95% interval); smoothed numbers" in shown(
        opened
    )
    assert opened.locator("#ask-from").input_value() == "2018-02-01"
    opened.locator("[name=ask-numbers][value='1']").check()
    measured = release.answer(first="2018-02", last="2018-03-04", places=["place 1", "place 3"], measured=True)
    assert f"{round(measured.lower):,} and {round(measured.upper):,}" in shown(opened)
    assert "numbers=measured" in opened.url
    opened.locator("nav a", has_text="Where").click()  # the address of a section asks nothing
    opened.locator("#ask-smoothed").check()
    assert f"{round(found.lower):,} and {round(found.upper):,}" in shown(opened)
    assert "from=2018-02" in opened.url


def test_the_switch_shows_measured_numbers_on_map_charts_and_table(open_page, answering):
    release, page = answering
    opened, said = open_page(page)
    tile = opened.locator("[data-place='4'] .count")
    cell = opened.locator(".matrix.scroll tbody tr").nth(4).locator("td").first
    shown_first = counts_in_all(release)
    measured = counts_in_all(replace(release, refined=release.unbiased, refinement="raw"))
    opened.locator("#period").select_option("0")
    reading = opened.locator(".reading[data-chart=series] output")
    opened.locator("#place").select_option("4")
    before = reading.inner_text()
    for counts, name in ((shown_first, "smoothed"), (measured, "measured"), (shown_first, "smoothed")):
        opened.locator(f"#ask-{name}").check()
        assert tile.inner_text() == f"{counts.values[0, 4]:,.0f}"
        assert cell.inner_text().split()[0].rstrip("*") == f"{counts.values[0, 4]:,.0f}"
        words = "document.querySelector('.reading[data-chart=series] output').innerText"
        opened.wait_for_function(f"([before, same]) => ({words} === before) === same", arg=[before, name == "smoothed"])
    assert said == []


def test_typing_and_the_keyboard_ask(open_page, answering):
    release, page = answering
    opened, _ = open_page(page)
    assert "An exact number, which is public" in shown(opened)
    opened.locator("#ask-to").fill("2018-01-31")
    opened.locator("#ask-places").focus()
    opened.keyboard.type("Place 2")
    opened.keyboard.press("Enter")
    found = release.answer(last="2018-01-31", places=["place 2"])
    assert f"{round(found.lower):,} and {round(found.upper):,}" in shown(opened)
    assert "to=2018-01-31" in opened.url
    assert "places=place+2" in opened.url
    opened.locator("#ask-places-chosen button").press("Enter")
    assert "An exact number" in shown(opened)
    asked = opened.locator("#ask-places")
    for typed, is_unknown in (("nowhere", "true"), ("place", "true"), ("ce 2", "false"), ("", "false")):
        asked.fill(typed)
        asked.press("Enter")
        assert asked.get_attribute("aria-invalid") == is_unknown, typed
    assert "places=place+2" in opened.url


def test_the_map_asks_for_one_place_or_several(open_page, answering):
    release, page = answering
    opened, _ = open_page(page)
    opened.locator("[data-place='1']").click()
    assert f"{round(release.answer(places=['place 1']).value):,}" in shown(opened)
    opened.locator("#ask-several").check()
    opened.locator("[data-place='2']").press("Enter")
    assert f"{round(release.answer(places=['place 1', 'place 2']).value):,}" in shown(opened)
    assert opened.locator(".tile.asked").count() == 2


def drag(opened, name, start, end):
    """Drag over a chart from one part of its width to another."""
    opened.locator(f"#chart-{name}").scroll_into_view_if_needed()
    frame = opened.locator(f"#chart-{name}").bounding_box()
    opened.mouse.move(frame["x"] + start * frame["width"], frame["y"] + 60)
    opened.mouse.down()
    opened.mouse.move(frame["x"] + end * frame["width"], frame["y"] + 60, steps=4)
    opened.mouse.up()
    return opened.locator("#ask-from").input_value(), opened.locator("#ask-to").input_value()


def test_dragging_over_a_chart_asks_for_its_time_and_keeps_the_places_chosen(open_page, answering):
    release, page = answering
    opened, _ = open_page(page)
    first, last = drag(opened, "series", 0.4, 0.7)
    assert "2018-01-01" < first < last < "2018-05-10"
    found = release.answer(first=first, last=last, places=["place 0"])  # whose chart it is: nothing was chosen
    assert f"{round(found.lower):,} and {round(found.upper):,}" in shown(opened)
    opened.locator("#ask-several").check()
    opened.locator("[data-place='2']").press("Enter")
    for name, start, end in (("totals", 0.2, 0.8), ("series", 0.3, 0.8)):
        dragged = drag(opened, name, start, end)
        found = release.answer(first=dragged[0], last=dragged[1], places=["place 0", "place 2"])
        assert f"{round(found.lower):,} and {round(found.upper):,}" in shown(opened)
        assert "place 0 and place 2" in shown(opened)


def test_estimates_of_all_days_are_downloaded_from_the_page(open_page, tmp_path):
    release = of_reports(domain=days_and_places(130, 120), counts=np.ones((130, 120), np.int64), refine="project")
    opened, said = open_page(make_page(release, tmp_path / "page.html"))
    with opened.expect_download() as download:
        opened.locator("#download-finest").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        lines = file.read().splitlines()
    rows = list(csv.DictReader(lines))
    assert {row["basis"] for row in rows} == {"measured"}
    assert {(row["unit"], float(row["epsilon"])) for row in rows} == {tuple(privacy_of(release).values())}
    assert [row["place"] for row in rows[:120]] == list(release.domain.place.cells)
    found = np.array([float(row["estimate"]) for row in rows]).reshape(130, 120)
    assert np.abs(found - release.unbiased.values).max() <= 0.05 + 1e-9
    limits = map(whole_limits, release.unbiased.noise.intervals(release.unbiased.values, release.level))
    for name, expected in zip(("low", "high"), limits, strict=True):
        assert np.array_equal(np.array([float(row[name]) for row in rows]).reshape(130, 120), expected)
    assert said == []


def test_groups_of_places_and_kinds_are_asked_for_by_name(open_page, tmp_path):
    places = Gazetteer.from_text("town,region\nA,north\nB,north\nC,south\nD,south\nE,south\n")
    domain = Domain(
        TimeAxis.between("2018-01-01", "2018-03-31"),
        PlaceAxis.from_gazetteer(places, level="town"),
        days_places_and_kinds(1, 1).kind,
    )
    counts = np.random.default_rng(7).poisson(9, domain.shape)
    release = of_a_curator("tables", domain=domain, counts=counts)
    opened, said = open_page(make_page(release, tmp_path / "page.html"), address="#places=south&kinds=danger")
    found = release.answer(places=["south"], kinds=["danger"])
    assert f"{round(found.lower):,} and {round(found.upper):,}" in shown(opened)
    assert "south, danger" in shown(opened)
    assert opened.locator(".tile.asked").count() == 3
    opened.locator("#ask-places").fill("a")
    opened.keyboard.press("Enter")
    both = release.answer(places=["A", "south"], kinds=["danger"])
    assert f"{round(both.lower):,} and {round(both.upper):,}" in shown(opened)
    assert "places=south&places=A&kinds=danger" in opened.url
    assert said == []


def many_places(n=40):
    rows = "".join(f"station {i},{45 + i % 7 / 100},{6 + i / 100}\n" for i in range(n))
    places = PlaceAxis.from_gazetteer(Gazetteer.from_text(f"station,lat,lon\n{rows}"), level="station")
    domain = Domain(TimeAxis.between("2018-01-01", "2018-02-28"), places)
    return of_a_curator(domain=domain, counts=np.random.default_rng(8).poisson(np.arange(n) % 13, domain.shape))


def test_many_places_stand_in_a_list_beside_a_map_of_points(open_page, tmp_path):
    release = many_places()
    opened, said = open_page(make_page(release, tmp_path / "page.html"))
    opened.locator("#period").select_option("0")
    whole = counts_in_all(release)
    rows = opened.locator("#ranked li")
    order = np.argsort(-whole.values[0], kind="stable")
    assert [row.split("\n")[1] for row in rows.all_inner_texts()] == [whole.places[n] for n in order]
    first, last = (opened.locator(f"#ranked [data-row='{n}'] .rank").inner_text() for n in (order[0], order[-1]))
    n_like = np.count_nonzero(whole.upper[0] >= whole.lower[0, order[0]])
    assert first == (f"1–{n_like}" if n_like > 1 else "1")
    assert last.endswith(str(len(order)))
    opened.locator("#ranked-find").fill("station 7")
    assert opened.locator("#ranked li:visible").count() == 1
    opened.locator("#ranked li:visible button").click()
    found = release.answer(places=["station 7"])
    assert f"{round(found.lower):,} and {round(found.upper):,}" in shown(opened)
    assert opened.locator("path.outline.asked").get_attribute("data-place") == "7"
    assert opened.locator("svg.points path.outline").count() == 40
    opened.locator("svg.points [data-place='3']").press("Enter")
    assert opened.locator("#ranked button[aria-pressed=true]").get_attribute("data-row") == "3"
    assert said == []


def test_a_finger_drags_over_a_chart(open_page, answering):
    release, page = answering
    opened, said = open_page(page, width=390, has_touch=True, is_mobile=True)
    opened.locator("#chart-series").scroll_into_view_if_needed()
    frame = opened.locator("#chart-series").bounding_box()
    finger = opened.context.new_cdp_session(opened)
    for kind, at in (("Start", 0.4), *(("Move", x) for x in (0.45, 0.5, 0.6, 0.7)), ("End", None)):
        touched = [] if at is None else [{"x": frame["x"] + at * frame["width"], "y": frame["y"] + 60}]
        finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": touched})
    first, last = opened.locator("#ask-from").input_value(), opened.locator("#ask-to").input_value()
    assert "2018-01-01" < first < last < "2018-05-10"
    found = release.answer(first=first, last=last, places=["place 0"])
    assert f"{round(found.lower):,} and {round(found.upper):,}" in shown(opened)
    assert said == []


def test_a_page_without_a_script_for_its_noise_says_so(tmp_path):
    release = of_kinds(("place", "kind"), mechanism="sampled tables", refine="project")
    assert answers(release) is None
    text = make_page(release, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "tacit query" in text
    assert 'id="answers"' not in text


def test_the_switch_shows_measured_kinds(open_page, tmp_path):
    release = of_kinds(("place", "kind"))
    opened, said = open_page(make_page(release, tmp_path / "page.html"))
    smoothed, measured = (
        [view.total.shown[0, 0] for view in selection.views]
        for selection in (
            select(release),
            select(replace(release, refined=release.unbiased, refinement="raw"), like=select(release)),
        )
    )
    picked = opened.locator(".pick-kind").first
    number = int(picked.get_attribute("data-view"))
    caption = opened.locator(f"#kind-title-{number} b")
    picked.click()
    for name, totals in (("measured", measured), ("smoothed", smoothed)):
        opened.locator(f"#ask-{name}").check()
        assert caption.inner_text() == f"{totals[number]:,.0f}"
        assert f"{totals[number]:,.0f}" in opened.locator("#headline-figures").inner_text()
    assert said == []


def test_the_switch_hides_the_same_counts(open_page, tmp_path):
    release = MADE["smoothed, suppressed"]()
    opened, said = open_page(make_page(release, tmp_path / "page.html"))
    hidden = "[...document.querySelectorAll('.matrix.scroll td')].map((cell) => cell.innerText.split('\\n')[0])"
    smoothed = opened.evaluate(hidden)
    opened.locator("#ask-measured").check()
    measured = opened.evaluate(hidden)
    assert [word for word in smoothed if word == "suppressed"]
    assert smoothed != measured
    for one, other in zip(smoothed, measured, strict=True):
        assert (one == "suppressed") == (other == "suppressed")
        assert (one == "no data") == (other == "no data")
    assert said == []
