"""The page of all findings: sound, safe, complete in itself, and it works in a browser, light and dark."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import altair as alt
import pytest
from experiments.findings import Finding, Findings, Picture, Shade, Table, Verdict, svg_of
from experiments.reproduction_page import Outcome, make_page
from playwright.sync_api import sync_playwright

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def finding(key: str, source: str, verdict: Verdict, **more) -> Finding:
    said = {"title": f"Title of {key}", "claim": "A <claim> & more.", "because": "It is 3 % of 4.", "seed": "data 25"}
    return Finding(key=key, source=source, verdict=verdict, **said | more)


def chart() -> str:
    rows = alt.Data(values=[{"x": x, "y": x * x} for x in range(4)])
    return svg_of(alt.Chart(rows).mark_line(color=Shade.TACIT, clip=True).encode(x="x:Q", y="y:Q"))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = Table("A table", ("who", "rate", "events"), (("as published", 0.0123456, 382_046), ("Tacit", 0.5, 7)))
    long = Table("A long one", ("n",), tuple((n,) for n in range(40)))
    pictures = (Picture("A curve", chart()), Picture("Another", chart()))
    paper = Findings(
        "paper_x",
        "python -m experiments.paper_x.run",
        (
            finding("paper-figure-12", "paper, Figure 12", Verdict.FAILS, pictures=pictures),
            finding("paper-figure-6", "paper, Figure 6", Verdict.HOLDS, tables=(table, long)),
            finding("paper-table-3", "paper, Table 3", Verdict.LARGER_EPSILON),
        ),
    )
    audits = Findings(
        "audits", "python -m experiments.audits.run", (finding("audit-a", "audits", Verdict.ILLUSTRATION),)
    )
    outcomes = (Outcome("paper_x", 0, 61.4), Outcome("audits", 1, 2.0))
    return make_page(tmp_path_factory.mktemp("page") / "reproduction.html", [audits, paper], outcomes)


def test_findings_stand_by_seed_and_number_and_each_says_how_it_was_made(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'<article id="([^"]+)"', text) == [
        "paper-table-3",
        "paper-figure-6",
        "paper-figure-12",
        "audit-a",
    ]
    assert text.count("<code>python -m experiments.paper_x.run</code>") == 4
    assert "A &lt;claim&gt; &amp; more." in text
    assert "audits: outside their tolerances" in text
    assert "0.01235" in text
    assert "<td>382,046</td>" in text


def test_every_name_on_the_page_is_given_once(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)


def test_the_page_loads_nothing_and_runs_only_its_own_script(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!#|data:)', text)
    assert "default-src 'none'; script-src 'sha256-" in unescape(text)
    assert "unsafe-eval" not in text


@pytest.mark.parametrize(
    "svg",
    [
        "<svg><script>1</script></svg>",
        '<svg onload="x()"></svg>',
        '<svg><image href="https://example.org/a.png"/></svg>',
        '<svg><use href="https://example.org/a.svg#b"/></svg>',
    ],
)
def test_a_picture_that_runs_or_loads_is_refused(tmp_path: Path, svg: str) -> None:
    bad = finding("a", "paper, Figure 1", Verdict.HOLDS, pictures=(Picture("p", svg),))
    with pytest.raises(ValueError, match="must not run scripts or load anything"):
        make_page(tmp_path / "page.html", [Findings("x", "c", (bad,))])


@pytest.mark.browser
def test_it_works_in_a_browser_in_light_and_dark_and_on_a_telephone(page: Path, chromium: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        papers = set()
        for scheme, width in (("light", 1280), ("dark", 1280), ("dark", 360)):
            context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
            opened, said, asked = context.new_page(), [], []
            opened.on("console", lambda message, said=said: said.append(message.text))
            opened.on("pageerror", lambda error, said=said: said.append(str(error)))
            opened.on("request", lambda request, asked=asked: asked.append(request.url))
            opened.goto(page.as_uri())
            opened.wait_for_selector("html[data-ready=yes]")
            assert opened.locator("article:visible").count() == 4
            opened.get_by_label("fails", exact=True).check()
            assert [one.get_attribute("id") for one in opened.locator("article:visible").all()] == ["paper-figure-12"]
            assert opened.locator("nav li:visible").count() == 1
            assert opened.locator("#paper-figure-12 svg").first.bounding_box()["width"] > 100
            opened.evaluate("location.hash = '#paper-figure-6'")
            opened.wait_for_selector("#paper-figure-6:visible")
            assert opened.locator("article:visible").count() == 4
            is_wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            assert not opened.evaluate(is_wide)
            papers.add(opened.evaluate("getComputedStyle(document.querySelector('article svg > rect')).fill"))
            assert said == []
            assert asked == [page.as_uri()]
            context.close()
        assert len(papers) == 2  # charts take the colours of the page
        browser.close()
