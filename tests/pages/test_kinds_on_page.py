"""A page of a release with kinds of events: what may be chosen, what each choice shows, and what is cut."""

from __future__ import annotations

import base64
import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from small_worlds import days_and_places, days_places_and_kinds, reported
from tacit.collection.tallying import estimate_tally
from tacit.counts.query import answer
from tacit.counts.tally import ExactTally
from tacit.domain import ALL, KindAxis
from tacit.mechanisms.registry import plan_for
from tacit.pages import make_page
from tacit.pages import selection as pages_selection
from tacit.pages.laboratory import laboratory
from tacit.pages.selection import select
from tacit.release import Release, Rules

DOMAIN = days_places_and_kinds(70, 3)
COUNTS = np.random.default_rng(5).poisson([3, 9, 1, 2, 6, 1, 1, 4, 0.5], DOMAIN.shape)


def released(private, **settings):
    plan = plan_for(DOMAIN, epsilon=4.0, mechanism="unary", private=private)
    return Release.of(plan, estimate_tally(reported(plan, COUNTS, 3), plan), refine="project", **settings)


@pytest.fixture(scope="module")
def release():
    return released(("place", "kind"))


@pytest.fixture(scope="module")
def document(release, read, tmp_path_factory):
    return read(make_page(release, tmp_path_factory.mktemp("page") / "page.html"))


def data_of(document):
    return json.loads(next(e for e in document.all("script") if e.attributes.get("id") == "data").raw())


def test_all_kinds_groups_and_single_kinds_may_be_chosen(release):
    found = select(release)
    assert [(view.level, view.name) for view in found.views] == [
        (ALL, ""),
        ("group", "danger"),
        ("group", "help"),
        ("kind", "fire"),
        ("kind", "flood"),
        ("kind", "fall"),
    ]
    assert [found.views[n].name for n in found.single_kinds] == ["flood", "fire", "fall"]


@pytest.mark.parametrize("private", [("place",), ("kind",), ("place", "kind"), ("time",)])
def test_every_number_of_a_view_is_the_answer_for_its_kinds(private):
    release = released(private)
    for view in select(release).views:
        kinds = view.name or None
        for place, name in enumerate(release.domain.place.cells):
            found = answer(release.unbiased, release.domain.box(places=name, kinds=kinds))
            whole = view.whole
            assert whole.values[0, place] == pytest.approx(found.value)
            assert (whole.lower[0, place], whole.upper[0, place]) == pytest.approx((found.lower, found.upper), abs=1.0)
            assert whole.is_exact == (found.standard_error == 0)
            month = answer(release.unbiased, release.domain.box("2018-02", "2018-02", places=name, kinds=kinds))
            assert view.series["month"].values[1, place] == pytest.approx(month.value)
        in_all = answer(release.unbiased, release.domain.box(kinds=kinds))
        assert view.total.values[0, 0] == pytest.approx(in_all.value)
        assert view.total.is_exact == (in_all.standard_error == 0)
        month = answer(release.unbiased, release.domain.box("2018-02", "2018-02", kinds=kinds))
        assert view.totals["month"].values[1, 0] == pytest.approx(month.value)
        assert view.totals["month"].is_exact == (month.standard_error == 0)


def test_without_kinds_there_is_one_view_and_nothing_to_choose(release, read, tmp_path):
    plain = release.coarsen(kind=ALL)
    assert [view.name for view in select(plain).views] == [""]
    document = read(make_page(plain, tmp_path / "page.html"))
    assert not [e for e in document.walk() if "kind-choice" in e.classes]
    assert "headline" not in data_of(document)["views"][0]


def test_the_page_offers_kinds_everywhere_and_draws_each_small(document):
    choices = [e for e in document.all("select") if "kind-choice" in e.classes]
    assert len(choices) == 4
    for choice in choices:
        assert [e.text for e in choice.all("option")] == ["All kinds", "danger", "help", "fire", "flood", "fall"]
        assert [e.attributes["label"] for e in choice.all("optgroup")] == ["Groups", "Kinds"]
    (section,) = (e for e in document.all("section") if e.attributes["id"] == "what")
    assert [e.text for e in section.all("button")] == ["flood", "fire", "fall"]
    assert "by place and kind" in document.all("title")[0].text
    assert "for one kind in a place's month" in document.text
    data = data_of(document)
    flood = data["views"][4]
    assert flood["name"] == "flood"
    assert flood["headline"][0]["name"] == "events of kind flood"
    assert data["views"][0]["headline"][0] == {
        "value": f"{COUNTS.sum():,}",
        "name": "events reported",
        "note": "1 January 2018 to 11 March 2018. An exact number: how many reports came in is public.",
    }
    assert "lower" not in data["views"][0]["totals"]["month"]  # exact numbers are embedded once


def test_tables_of_each_kind_are_offered_with_its_name(document, release):
    links = {e.attributes["download"]: e.attributes["href"] for e in document.all("a") if "download" in e.attributes}
    assert {"counts-in-all.csv", "counts-in-all-and-kind.csv", "counts-by-month-and-kind.csv"} <= links.keys()
    text = base64.b64decode(links["counts-in-all-and-kind.csv"].split(",")[1]).decode("utf-8-sig")
    rows = list(csv.DictReader(text.splitlines()))
    assert list(rows[0])[:3] == ["period", "place", "kind"]
    assert len(rows) == 9
    (row,) = (row for row in rows if (row["place"], row["kind"]) == ("place 1", "flood"))
    assert float(row["estimate"]) == pytest.approx(release.answer(places=["place 1"], kinds=["flood"]).value, abs=0.06)


def test_the_laboratory_compares_every_kind_with_its_truth(release):
    found = laboratory(select(release), ExactTally(COUNTS))
    grid = COUNTS.reshape(DOMAIN.grid).sum(axis=0)
    assert found["data"][0]["periods"][0] == grid.sum(axis=1).tolist()
    assert found["data"][1]["periods"][0] == grid[:, :2].sum(axis=1).tolist()
    assert found["data"][3]["periods"][0] == grid[:, 0].tolist()
    assert [item["what"] for item in found["coverage"]] == [
        "9 counts by place and month",
        "210 counts by place and day",
        "27 counts by place, kind and month",
        "630 counts by place, kind and day",
    ]


@pytest.mark.slow
def test_too_many_kinds_places_and_days_are_cut_and_the_page_says_so(release, read, tmp_path, monkeypatch):
    monkeypatch.setattr(pages_selection, "MOST_KINDS", 2)
    monkeypatch.setattr(pages_selection, "MOST_CELLS", 40)
    found = select(release)
    assert [view.name for view in found.views] == ["", "danger", "help", "fire", "flood"]
    assert found.kept.tolist() == [0, 1]  # 40 numbers are 5 views of 4 periods in 2 places
    assert list(found.all_kinds.series) == ["month"]
    assert found.left_out == ()
    text = read(make_page(release, tmp_path / "page.html")).text
    assert "To choose from are the 2 kinds with the largest counts, of 3." in text
    assert "Shown are the 2 places with the largest counts, of 3." in text
    monkeypatch.setattr(pages_selection, "MOST_CELLS", 300)
    text = read(make_page(release, tmp_path / "page.html")).text
    assert "Counts by day of so many places and kinds would make the page too long." in text


@pytest.mark.slow
def test_rules_hold_for_every_view(tmp_path):
    release = released(("place", "kind"), rules=Rules.parse(suppress=("count < 60",), keep_suppressed=True))
    for view in select(release).views:
        np.testing.assert_array_equal(view.whole.is_hidden[0], view.whole.values[0] < 60)
    page = make_page(release, tmp_path / "page.html")
    assert "NaN" not in page.read_text(encoding="utf-8").split('id="data"')[1].split("</script>")[0]


def test_kinds_without_groups_are_chosen_alone_and_one_period_has_no_charts(read, tmp_path):
    domain = replace(days_and_places(1, 2), kind=KindAxis.of(["a <b>", "c"]))
    plan = plan_for(domain, epsilon=4.0, mechanism="unary", private=("place", "kind"))
    release = Release.of(plan, estimate_tally(reported(plan, np.full(domain.shape, 30), 1), plan))
    assert [view.name for view in select(release).views] == ["", "a <b>", "c"]
    document = read(make_page(release, tmp_path / "page.html"))
    (section,) = (e for e in document.all("section") if e.attributes["id"] == "what")
    assert not [e for e in section.walk() if "chart" in e.classes]
    assert "a <b>" in section.text
