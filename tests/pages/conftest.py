"""Pages of small releases, read back as structure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from pages.tabs import Tabs, tabs_of
from small_worlds import simulated_estimate
from tacit.collection.tallying import estimate_tally
from tacit.counts.estimate import Estimate
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.pages import make_page
from tacit.release import Release

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass(eq=False)
class Element:
    """An element with what it holds, in order."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None
    content: list[Element | str] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<{self.tag} {self.attributes}>"

    def walk(self) -> Iterator[Element]:
        yield self
        for part in self.content:
            if isinstance(part, Element):
                yield from part.walk()

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.walk() if element.tag in tags]

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    @property
    def text(self) -> str:
        """What is written in it, scripts and styles left out, spaces as one."""
        return " ".join(self.raw(but=("script", "style")).split())

    def raw(self, but: tuple[str, ...] = ()) -> str:
        parts = (
            part if isinstance(part, str) else part.raw(but)
            for part in self.content
            if getattr(part, "tag", "") not in but
        )
        return "".join(parts)


class Reader(HTMLParser):
    """Reads HTML into elements; an element closed out of order fails the test."""

    def __init__(self) -> None:
        super().__init__()
        self.root = self.at = Element("document", {}, None)

    def handle_starttag(self, tag, attributes):
        assert len(dict(attributes)) == len(attributes), f"<{tag}> has an attribute twice"
        element = Element(tag, {name: value or "" for name, value in attributes}, self.at)
        self.at.content.append(element)
        if tag not in VOID and tag not in ("path", "rect", "line"):
            self.at = element

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        assert self.at.tag == tag, f"</{tag}> closes <{self.at.tag}>"
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.content.append(data)


def read_page(path: Path) -> Element:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert reader.at is reader.root, f"<{reader.at.tag}> is never closed"
    return reader.root


@pytest.fixture(scope="module")
def tabs(chromium) -> Iterator[Tabs]:
    """A browser without a network."""
    with tabs_of(chromium) as tabs:
        yield tabs


@pytest.fixture(scope="session")
def read():
    return read_page


@pytest.fixture(scope="session")
def true_counts() -> np.ndarray:
    days, regions = np.arange(820)[:, None], np.arange(17)[None, :]
    return (12 // (1 + regions) + (days + regions) % 5 // 4).astype(np.int64)


@pytest.fixture(scope="session")
def truth(true_counts) -> ExactTally:
    return ExactTally(true_counts)


@pytest.fixture(scope="session")
def release(true_counts) -> Release:
    """A release that was drawn with a known seed but is not labelled so, as one with secret coins would look."""
    plan, estimate = simulated_estimate(true_counts, domain=doubs_domain())
    return Release.of(plan, _unlabelled(estimate))


@pytest.fixture(scope="session")
def simulation(true_counts) -> Release:
    return Release.of(*simulated_estimate(true_counts, domain=doubs_domain()))


def doubs_domain() -> Domain:
    axis = TimeAxis.between("2016-10-15", "2019-01-12", zone="Europe/Paris")
    return Domain(axis, PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))


def _unlabelled(estimate: Estimate) -> Estimate:
    return replace(estimate, provenance=replace(estimate.provenance, is_simulation=False))


@pytest.fixture(scope="session")
def make_release():
    """Make a release over any domain, with about as many reports everywhere.

    Where days are public they are projected: smoothing takes most of the time, and the pages of ``release`` have it.
    """

    def make(
        domain: Domain,
        *,
        private: tuple[str, ...] = ("place",),
        reports: object = 60,
        epsilon: float = 2.0,
        mechanism: str = "unary",
        level: float = 0.95,
    ) -> Release:
        plan = plan_for(domain, epsilon=epsilon, private=private, mechanism=mechanism)
        mechanism = mechanism_of(plan)
        reports = np.broadcast_to(np.asarray(reports, np.int64), plan.n_public)
        share = 0.3 + 0.4 * np.arange(mechanism.n_statistics) / mechanism.n_statistics
        statistics = np.rint(reports[:, None] * share).astype(np.int64)
        tally = Tally(Provenance(plan.fingerprint), statistics, reports)
        refine = "project" if private == ("place",) else None
        return Release.of(plan, estimate_tally(tally, plan), level=level, refine=refine)

    return make


@pytest.fixture(scope="session")
def page(release, tmp_path_factory) -> Path:
    return make_page(release, tmp_path_factory.mktemp("page") / "release.html")


@pytest.fixture(scope="session")
def laboratory_page(release, truth, tmp_path_factory) -> Path:
    return make_page(release, tmp_path_factory.mktemp("page") / "laboratory.html", truth=truth)
