"""A page is sound HTML, complete in itself, and says what it must."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
import re
from dataclasses import replace
from importlib import resources
from itertools import pairwise

import numpy as np
import pytest

from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.pages import make_page, make_statement_page, sections, tables
from tacit.pages.figures import LABORATORY, counts_by, counts_in_all
from tacit.pages.selection import select

LABELLED = ("aria-label", "aria-labelledby")


@pytest.fixture(scope="module")
def document(page, read):
    return read(page)


def data_of(document):
    return json.loads(next(e for e in document.all("script") if e.attributes.get("id") == "data").raw())


def check_structure(document):
    ids = [e.attributes["id"] for e in document.walk() if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    named = {
        name
        for e in document.walk()
        for key in ("aria-labelledby", "aria-describedby", "for")
        for name in e.attributes.get(key, "").split()
    }
    assert named <= set(ids)
    assert document.all("html")[0].attributes["lang"] == "en"
    levels = [int(e.tag[1]) for e in document.all("h1", "h2", "h3", "h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for element in document.all("figure", "section", "nav", "svg", "img"):
        assert any(key in element.attributes for key in LABELLED), element
    for element in document.all("select", "input"):
        assert any(
            label.attributes.get("for") == element.attributes["id"] or element in label.walk()
            for label in document.all("label")
        )
    for table in document.all("table"):
        assert all(cell.attributes.get("scope") in ("row", "col") for cell in table.all("th"))


def check_offline(document):
    for element in document.walk():
        for name in ("src", "href", "action", "data", "poster", "srcset", "xlink:href"):
            assert re.match(r"#|data:|$", element.attributes.get(name, "")), (element.tag, element.attributes[name])
    style = " ".join(e.raw() for e in document.all("style"))
    assert "@import" not in style
    assert all(address.startswith('"data:') for address in re.findall(r"url\(([^#)][^)]*)\)", style))
    policy = next(e for e in document.all("meta") if e.attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy.attributes["content"].startswith("default-src 'none'; script-src ")


@pytest.mark.slow
def test_the_page_is_sound_and_labelled(document):
    check_structure(document)


def test_the_page_loads_nothing_from_anywhere(document):
    check_offline(document)


def test_only_the_page_s_own_scripts_may_run(document):
    content = next(e for e in document.all("meta") if e.attributes.get("http-equiv")).attributes["content"]
    assert "'unsafe-inline'" not in content.split("script-src")[1].split(";")[0]
    scripts = [e.raw() for e in document.all("script") if "type" not in e.attributes]
    assert len(scripts) == 8
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in content


def test_the_statement_stands_in_the_page_word_for_word(document, release):
    text = document.text
    for heading, sentence in release.statement.paragraphs():
        assert heading in text
        assert " ".join(sentence.split()) in text


def test_the_headline_gives_reports_regions_odds_and_the_busiest_region(document, release, true_counts):
    text = document.text
    assert f"{true_counts.sum():,} events reported" in text
    assert "17 regions" in text
    assert "9.00 to 1 is the most odds can change" in text
    answer = release.answer(places=["CA du Grand Besançon"])
    assert f"between {answer.lower:,.0f} and {answer.upper:,.0f} (95% interval)" in text


def test_a_largest_count_that_says_little_is_given_as_an_interval(make_release, read, tmp_path):
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-03"), PlaceAxis.of(["north", "south", "west"]))
    document = read(make_page(make_release(domain, reports=1, epsilon=0.5), tmp_path / "page.html"))
    (headline,) = (e for e in document.all("section") if e.attributes["id"] == "headline")
    assert "0–3 in" in headline.text
    assert "too uncertain for one number, and to tell which place is the busiest" in headline.text


def test_the_busiest_is_not_named_where_other_intervals_overlap_its_own(make_release, read, tmp_path):
    domain = Domain(TimeAxis.between("2018-01-01", "2018-03-31"), PlaceAxis.of(["north", "south", "west"]))
    document = read(make_page(make_release(domain, epsilon=6.0), tmp_path / "page.html", noun="trip/trips"))
    (headline,) = (e for e in document.all("section") if e.attributes["id"] == "headline")
    counts = counts_in_all(make_release(domain, epsilon=6.0))
    top = int(np.argmax(counts.values[0]))
    rivals = int((counts.upper[0] >= counts.lower[0, top]).sum()) - 1
    assert ("another may be the busiest" in headline.text) == (rivals > 0)
    assert "trips reported" in headline.text
    assert "Trips per place" in document.text


@pytest.mark.parametrize("noun", ["trip", "trip/", "/trips", "a/b/c"])
def test_a_noun_needs_two_words(make_release, tmp_path, noun):
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-03"), PlaceAxis.of(["north", "south"]))
    with pytest.raises(SettingError, match="such as trip/trips"):
        make_page(make_release(domain), tmp_path / "page.html", noun=noun)


def test_the_map_has_a_button_for_every_region_and_greys_the_unreliable(document, release):
    tiles = [e for e in document.all("button") if "tile" in e.classes]
    assert len(tiles) == 17
    yearly = counts_by(release, "year")
    last_whole_year = 2  # 2016 is counted in part, 2018 in full, 2019 in part
    assert yearly.is_partial == (True, False, False, True)
    greyed = {int(e.attributes["data-place"]) for e in tiles if "unsure" in e.classes}
    assert greyed == set(np.flatnonzero(~yearly.reliable[last_whole_year]).tolist())
    assert greyed
    assert "too uncertain for one number" in document.text


def test_the_reader_may_choose_years_regions_and_steps(document):
    selects = {e.attributes["id"]: [o.text.strip() for o in e.all("option")] for e in document.all("select")}
    assert selects["period"][0] == "15 October 2016 to 12 January 2019"
    assert selects["period"][2:4] == ["2017", "2018"]
    assert len(selects["place"]) == 17
    assert selects["step"] == ["year", "month"]


def test_the_table_holds_every_interval_of_every_year(document, release):
    table = next(e for e in document.all("div") if "matrix" in e.classes)
    counts = counts_by(release, "year")
    for bin in range(4):
        for cell in range(17):
            assert f"{counts.lower[bin, cell]:,.0f}–{counts.upper[bin, cell]:,.0f}" in table.text


def test_tables_can_be_saved_and_hold_the_statement(document, release):
    links = {e.attributes["download"]: e.attributes["href"] for e in document.all("a") if "download" in e.attributes}
    tables = ["counts-in-all.csv", "counts-by-year.csv", "counts-by-month.csv"]
    assert list(links) == [*tables, "estimates-by-day.csv"]
    text = base64.b64decode(links["counts-by-year.csv"].split(",")[1]).decode("utf-8-sig")
    rows = list(csv.DictReader(text.splitlines()))
    assert {(row["epsilon"], row["level"], row["basis"]) for row in rows} == {("2.1973", "0.95", release.basis)}
    counts = counts_by(release, "year")
    assert len(rows) == counts.values.size
    assert float(rows[20]["estimate"]) == pytest.approx(counts.values.ravel()[20], abs=0.051)
    assert (rows[20]["low"], rows[20]["high"]) == (
        f"{counts.lower.ravel()[20]:.0f}",
        f"{counts.upper.ravel()[20]:.0f}",
    )


def test_error_against_epsilon_highlights_this_release(document):
    chosen = [row for row in document.all("tr") if "chosen" in row.classes]
    assert len(chosen) == 1
    assert "2.1973" in chosen[0].text
    assert "36.0%" in chosen[0].text
    section = next(e for e in document.all("section") if e.attributes.get("id") == "how-sure")
    assert all(words in section.text for words in ("0.4", "366 to 1", "5.9", "±"))


def test_without_the_laboratory_there_is_no_truth(document, page):
    assert data_of(document)["laboratory"] is None
    text = document.text
    assert "LABORATORY" not in text
    assert not [e for e in document.walk() if "lab" in e.classes]
    assert "truth" not in json.dumps(data_of(document)["specs"])


@pytest.mark.slow
def test_the_laboratory_is_marked_everywhere(laboratory_page, read, true_counts):
    document = read(laboratory_page)
    check_structure(document)
    check_offline(document)
    assert document.all("title")[0].text.startswith(LABORATORY)
    section = next(e for e in document.all("section") if e.attributes.get("id") == "laboratory")
    assert section.text.count(LABORATORY) >= 2
    assert "lab" in section.classes
    assert [e for e in document.walk() if "stamp" in e.classes and LABORATORY in e.text]  # on every printed sheet
    data = data_of(document)
    assert data["laboratory"][0]["periods"][0] == true_counts.sum(axis=0).tolist()
    assert all(
        LABORATORY in json.dumps(spec, ensure_ascii=False) for name, spec in data["specs"].items() if "true" in name
    )


def test_truth_of_another_shape_is_refused_before_anything_is_written(release, tmp_path):
    with pytest.raises(SettingError, match="the release's shape"):
        make_page(release, tmp_path / "page.html", truth=ExactTally(np.zeros((3, 17), np.int64)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_simulation_says_so_before_anything_else_and_claims_nothing(simulation, tmp_path, read):
    for path in (make_page(simulation, tmp_path / "a.html"), make_statement_page(simulation, tmp_path / "b.html")):
        document = read(path)
        banner = next(e for e in document.all("header")[0].walk() if "banner" in e.classes)
        assert "protects nobody" in banner.text
        assert "SIMULATION" in next(e for e in document.walk() if "stamp" in e.classes).text
    text = read(tmp_path / "a.html").text
    assert "is the most odds can change" not in text
    assert "is the protection of a simulation" in text


@pytest.mark.slow
def test_synthetic_data_are_labelled(release, tmp_path, read):
    document = read(make_page(release, tmp_path / "page.html", synthetic="Made up <by> us."))
    banner = next(e for e in document.all("header")[0].walk() if "banner" in e.classes)
    assert "Synthetic data" in banner.text
    assert "Made up <by> us." in banner.text
    assert "Synthetic data" in next(e for e in document.walk() if "stamp" in e.classes).text
    links = [e.attributes["href"] for e in document.all("a") if "download" in e.attributes]
    for link in (link for link in links if link.startswith("data:")):
        table = base64.b64decode(link.split(",")[1]).decode("utf-8-sig")
        assert {row["label"] for row in csv.DictReader(table.splitlines())} == {"Synthetic data: Made up <by> us."}
    (asked,) = (e for e in document.all("script") if e.attributes.get("id") == "answers")
    assert json.loads(asked.raw())["columns"]["label"] == "Synthetic data: Made up <by> us."


@pytest.mark.slow
def test_events_randomized_before_count_in_the_odds(release, tmp_path, read):
    provenance = Provenance.of_reports(release.plan.fingerprint, release.is_simulation, 1.0)
    again = type(release).of(release.plan, replace(release.unbiased, provenance=provenance))
    document = read(make_page(again, tmp_path / "page.html"))
    assert "24.5 to 1" in next(row for row in document.all("tr") if "chosen" in row.classes).text


def test_the_statement_has_a_page_of_its_own(release, tmp_path, read):
    document = read(make_statement_page(release, tmp_path / "statement.html", title="Interventions"))
    check_structure(document)
    check_offline(document)
    assert not document.all("script")
    text = document.text
    assert all(" ".join(sentence.split()) in text for _, sentence in release.statement.paragraphs())
    assert release.plan.fingerprint in text


@pytest.mark.slow
def test_a_second_randomization_is_told_of_all_reports_together(release, tmp_path, read):
    provenance = Provenance.of_reports(release.plan.fingerprint, release.is_simulation, 1.0)
    again = type(release).of(release.plan, replace(release.unbiased, provenance=provenance))
    text = read(make_page(again, tmp_path / "page.html")).text
    assert "What all that was made of one event tells about its place, at epsilon 3.1973" in text
    assert "all that was made of one event can make it at most so many times likelier" in text
    assert "What one report tells" not in text
    assert "a report can make it" not in text


def months_of(*places):
    return Domain(TimeAxis.between("2017-01", "2018-12", step="month"), PlaceAxis.of(places))


@pytest.mark.parametrize(("epsilon", "odds"), [(2.2, "9.03"), (3.0, "20.1"), (4.8, "122"), (5.9, "366")])
@pytest.mark.slow
def test_no_bound_is_stated_below_itself(make_release, tmp_path, read, epsilon, odds):
    made = make_release(months_of("a", "b", "c"), epsilon=epsilon)
    belief = made.statement.largest_belief
    for make in (make_page, make_statement_page):
        text = read(make(made, tmp_path / "page.html")).text
        stated = {float(found) for found in re.findall(r"([\d.]+)%", text) if abs(float(found) / 100 - belief) < 2e-3}
        assert stated
        assert min(stated) >= 100 * belief
        assert re.search(rf"(?<![\d.]){odds}(?![\d.])", text)
    document = read(make_page(made, tmp_path / "page.html"))
    for row in [row for row in document.all("tr") if " to 1" in row.text]:
        chosen, stated_odds = (float(cell.text.split()[0].replace(",", "")) for cell in row.all("th", "td")[:2])
        assert stated_odds >= math.exp(chosen) * (1 - 1e-9)


def how_sure(document):
    return next(e for e in document.all("section") if e.attributes.get("id") == "how-sure")


def test_errors_that_differ_between_places_are_not_averaged(make_release, tmp_path, read):
    made = make_release(months_of("open", "closed"), private=("time",), reports=[4000, 0])
    section = how_sure(read(make_page(made, tmp_path / "page.html")))
    answer = made.answer(first="2018-01", last="2018-01", places=["open"])
    largest = math.ceil(answer.standard_error)
    assert f"0 to {largest} for a place's month" in section.text
    assert "depending on the place and the period" in section.text
    assert f"±{largest}" in next(row for row in section.all("tr") if "chosen" in row.classes).text


@pytest.mark.slow
def test_errors_of_days_are_those_of_all_days_and_not_only_of_the_last(make_release, tmp_path, read):
    domain = Domain(TimeAxis.between("2014-01-01", "2018-12-31"), PlaceAxis.of([f"p{i}" for i in range(30)]))
    made = make_release(domain, reports=np.r_[np.full(900, 4000), np.full(926, 10)])
    largest = math.ceil(counts_by(made, "day").standard_errors.max())
    assert f"to {largest} for a place's day" in how_sure(read(make_page(made, tmp_path / "page.html"))).text


def test_errors_that_do_not_differ_are_one_number(make_release, tmp_path, read):
    domain = Domain(TimeAxis.between("2017", "2018", step="year"), PlaceAxis.of(["a", "b"]))
    section = how_sure(read(make_page(make_release(domain), tmp_path / "page.html")))
    assert re.search(r"of the truth: [\d.]+ for a place's year\.", section.text)


def test_an_empty_release_states_no_error_and_draws_none(make_release, tmp_path, read):
    document = read(make_page(make_release(months_of("a", "b"), reports=0), tmp_path / "page.html"))
    check_structure(document)
    assert "choices" not in data_of(document)["specs"]


@pytest.mark.parametrize("mechanism", ["tuned unary", "response", "subset", "hadamard", "hashing"])
def test_other_epsilons_are_those_of_the_mechanism_in_use(make_release, tmp_path, read, mechanism):
    document = read(make_page(make_release(months_of("a", "b", "c"), mechanism=mechanism), tmp_path / "page.html"))
    rows = [row for row in how_sure(document).all("tr") if " to 1" in row.text]
    assert all("±" in row.text for row in rows)
    assert "RAPPOR" not in how_sure(document).text


def test_reports_of_a_tree_are_compared_with_rappor_by_name(make_release, tmp_path, read):
    made = make_release(months_of("a", "b", "c", "d"), mechanism="hierarchical")
    document = read(make_page(made, tmp_path / "page.html"))
    check_structure(document)
    rows = [row for row in how_sure(document).all("tr") if " to 1" in row.text]
    assert [row for row in rows if "this release" in row.text and "RAPPOR" not in row.text]
    assert [row for row in rows if row.text.startswith("2 RAPPOR")]
    assert all(("RAPPOR" in row.text) != ("chosen" in row.classes) and "±" in row.text for row in rows)
    assert "Line: RAPPOR" in how_sure(document).text


def test_rappor_is_not_compared_with_itself(document):
    assert "RAPPOR" not in how_sure(document).text


@pytest.mark.parametrize(("level", "words"), [(0.999, "99.9%"), (0.9999, "99.99%"), (0.9545, "95.45%")])
def test_a_level_is_told_as_it_is(make_release, tmp_path, read, level, words):
    document = read(make_page(make_release(months_of("a", "b"), level=level), tmp_path / "page.html"))
    assert data_of(document)["level"] == words
    assert f"With {words} intervals" in document.text
    assert f"({words} interval)" in document.text
    assert "100%" not in document.text


def test_zero_has_no_sign(release):
    found = select(release)
    view = found.all_kinds
    tiny = np.full_like(view.maps.values, -0.04)
    maps = replace(view.maps, values=tiny, lower=tiny, upper=-tiny)
    found = replace(found, views=(replace(view, maps=maps, series={"year": maps}),))
    link = next(table["href"] for table in tables.tables(found, None) if "year" in table["file"])
    saved = base64.b64decode(link.split(",")[1]).decode()
    embedded = [sections.series(maps), sections.maps(found, None)["periods"], tables.matrix(found)]
    for written in (saved, json.dumps(embedded, ensure_ascii=False)):
        assert not re.search(r"[-−]0(\.0*)?(?![\d.])", written)


NASTY = [
    "</script><script>window.hacked=1</script>",
    '"><img src=x onerror=window.hacked=1>',
    "<!--<script>",
    "{{ 7 * 7 }} & 'quoted'",
    "=HYPERLINK(1)",
]


def test_names_cannot_break_out_of_the_page(make_release, tmp_path, read):
    domain = Domain(TimeAxis.between("2018-01", "2018-12", step="month"), PlaceAxis.of(NASTY))
    title = "<script>window.hacked=1</script>"
    document = read(make_page(make_release(domain), tmp_path / "page.html", title=title))
    check_structure(document)
    assert len(document.all("script")) == 10
    assert not document.all("img")
    assert data_of(document)["places"] == NASTY
    assert document.all("h1")[0].text == title
    assert [e.raw() for e in document.all("option") if e.parent.attributes["id"] == "place"] == NASTY
    link = next(e for e in document.all("a") if e.attributes.get("download") == "counts-by-month.csv")
    assert "\n2018-01,'=HYPERLINK(1)," in base64.b64decode(link.attributes["href"].split(",")[1]).decode()


RELEASES = {
    "one month": (("2018-01", "2018-01", "month"), 3, ("place",)),
    "one month in secret": (("2018-01", "2018-01", "month"), 3, ("time", "place")),
    "two years": (("2017", "2018", "year"), 3, ("place",)),
    "two secret years": (("2017", "2018", "year"), 3, ("time",)),
    "weeks": (("2017-01-02", "2018-12-30", "week"), 3, ("place",)),
    "secret weeks": (("2017-01-02", "2018-12-30", "week"), 3, ("time",)),
    "hours": (("2018-01-01", "2018-01-03", "hour"), 3, ("place",)),
    "secret hours": (("2018-01-01", "2018-01-03", "hour"), 3, ("time", "place")),
    "six hours": (("2017-06-01", "2018-02-28", "6 hours"), 2, ("place",)),
    "days of many places": (("2018-01-01", "2018-02-28", "day"), 70, ("place",)),
    "secret days": (("2018-01-01", "2018-02-28", "day"), 4, ("time",)),
}


@pytest.mark.parametrize(("times", "n_places", "private"), RELEASES.values(), ids=list(RELEASES))
def test_any_release_becomes_a_sound_page(make_release, tmp_path, read, times, n_places, private):
    first, last, step = times
    axis = TimeAxis.between(first, last, step=step)
    domain = Domain(axis, PlaceAxis.of([f"place {i}" for i in range(n_places)]))
    document = read(make_page(make_release(domain, private=private), tmp_path / "page.html"))
    check_structure(document)
    check_offline(document)


@pytest.mark.slow
def test_a_release_of_many_places_stays_small_and_says_what_it_leaves_out(make_release, tmp_path, read):
    domain = Domain(TimeAxis.between("2006-01-01", "2018-12-31"), PlaceAxis.of([f"town {i}" for i in range(700)]))
    path = make_page(make_release(domain), tmp_path / "page.html")
    assert path.stat().st_size < 4.2e6
    document = read(path)
    check_structure(document)
    assert "the 600 places with the largest counts, of 700" in document.text


@pytest.mark.slow
def test_polygons_take_the_place_of_tiles(release, tmp_path, read):
    def square(n):
        x, y = n % 5, n // 5
        return [[[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1], [x, y]]]

    features = [
        {"type": "Feature", "properties": {"nom": name}, "geometry": {"type": "Polygon", "coordinates": square(n)}}
        for n, name in enumerate(release.domain.place.cells[:16])
    ]
    places = tmp_path / "places.geojson"
    places.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    document = read(make_page(release, tmp_path / "page.html", polygons=places))
    check_structure(document)
    outlines = [e for e in document.all("path") if "outline" in e.classes]
    assert len(outlines) == 16
    assert all(e.attributes["tabindex"] == "0" and e.attributes["role"] == "button" for e in outlines)
    assert not [e for e in document.all("button") if "tile" in e.classes]
    assert "1 region without a place on the map" in document.text


def test_scripts_say_sentences_that_a_page_in_another_language_can_carry():
    """A sentence that is not written out in a script is not found, and stays English."""
    folder = resources.files("tacit.pages") / "templates"
    scripts = [path for path in folder.iterdir() if path.name.endswith(".js")]
    assert len(scripts) > 5
    for path in scripts:
        called = re.findall(r"\bsay(?:Many)?\((.)", path.read_text(encoding="utf-8"))
        assert set(called) <= {'"'}, path.name


@pytest.mark.parametrize(
    ("first", "last", "step"),
    [
        ("2006-01-01", "2018-12-31", "year"),  # thirteen of them
        ("2017-01-01", "2018-12-31", "month"),  # two years are no line
        ("2018-01-01", "2018-05-14", "day"),  # four whole months, and a part of one
        ("2018-01-01", "2018-05-31", "month"),
    ],
)
def test_a_page_opens_on_the_coarsest_step_with_a_handful_of_periods(make_release, first, last, step):
    domain = Domain(TimeAxis.between(first, last), PlaceAxis.of(["north", "south"]))
    selection = select(make_release(domain, epsilon=6.0))
    assert selection.first_series == step
    unreadable = select(make_release(domain, reports=1, epsilon=0.1))
    assert unreadable.first_series == next(iter(unreadable.all_kinds.series))  # where nothing can be read, the coarsest
