"""Pages of events that are counted in all: there is nothing to rank, to list or to map, and no page speaks of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from pages.forecasts import forecast_of
from small_worlds import KINDS, reported
from tacit.collection.tallying import estimate_tally
from tacit.counts.tally import ExactTally
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.registry import plan_for
from tacit.pages import make_page, make_statement_page
from tacit.pages.forecast_page import make_forecast_page
from tacit.privacy.ledger import Spend
from tacit.release import Release

SECTIONS = {"where", "ranked", "period", "place", "ask-places", "map-title", "places-title", "chart-series"}
"""What a page has of places: a map, a list, and what chooses among them."""
SAID = re.compile(
    r"\balls\b|\b(an?|one|per|every|each|chosen|1) all\b|busiest|\bplaces?\b|région|\blieux?\b", re.IGNORECASE
)


@pytest.fixture(scope="module")
def releases():
    """Ten weeks by day, without places: of a curator, of devices that hide the day, and with kinds."""
    time = TimeAxis.between("2018-01-01", "2018-03-11", zone="Europe/Paris")
    plain = Domain(time, PlaceAxis.everything())
    counts = np.random.default_rng(3).poisson(40, plain.shape)
    curator = central_plan_for(plain, epsilon=1.0)
    made = central_mechanism_of(curator)
    devices = plan_for(plain, epsilon=4.0, private=("time",), mechanism="unary")
    kinds = Domain(time, PlaceAxis.everything(), KindAxis.from_gazetteer(KINDS))
    of_kinds = plan_for(kinds, epsilon=4.0, private=("kind",), mechanism="unary")
    many = np.random.default_rng(4).poisson(20, kinds.shape)
    return {
        "curator": Release.of(
            curator, made.measure(ExactTally(counts), curator, spend=Spend.simulation(made.cost, seed=1))
        ),
        "devices": Release.of(devices, estimate_tally(reported(devices, counts, 2), devices)),
        "kinds": Release.of(of_kinds, estimate_tally(reported(of_kinds, many, 3), of_kinds), refine="project"),
    }


def words(page):
    """What a reader sees of a page, its statement left out: that is the same for all."""
    sections = [one for one in page.all("section", "header", "nav") if one.attributes.get("id") != "privacy"]
    return [text for one in sections for text in [one.text, *(x.attributes.get("aria-label", "") for x in one.walk())]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "language"), [("curator", "en"), ("devices", "fr"), ("kinds", "en"), ("kinds", "fr")]
)
def test_a_page_speaks_of_the_total_alone(releases, read, tmp_path, which, language):
    page = read(make_page(releases[which], tmp_path / "page.html", language=language))
    assert not SECTIONS & {element.attributes.get("id") for element in page.walk()}
    assert [text[max(m.start() - 30, 0) : m.end() + 30] for text in words(page) for m in SAID.finditer(text)] == []
    assert "chart-totals" in {element.attributes.get("id") for element in page.walk()}


@pytest.mark.slow
@pytest.mark.parametrize(("which", "language"), [("curator", "fr"), ("kinds", "en")])
def test_a_forecast_and_a_statement_speak_of_the_total_alone(releases, read, tmp_path, which, language):
    release = releases[which]
    ahead = forecast_of(release, 7)
    page = read(make_forecast_page(ahead, release, tmp_path / "f.html", per_crew=9.0, language=language))
    assert not SECTIONS & {element.attributes.get("id") for element in page.walk()}
    assert [text[max(m.start() - 30, 0) : m.end() + 30] for text in words(page) for m in SAID.finditer(text)] == []
    statement = read(make_statement_page(release, tmp_path / "s.html", language=language)).text
    assert "alls" not in statement
    assert "1 all" not in statement
