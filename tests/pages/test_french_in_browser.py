"""French pages in Chromium: no English sentence of the catalog is left, and scripts speak French too."""

from __future__ import annotations

import re

import pytest

from pages.forecasts import HOLIDAYS, doubs_release, forecast_of, release_with_kinds
from pages.leftovers import EVERYTHING, english_parts
from tacit.pages import make_page, make_statement_page
from tacit.pages.forecast_page import make_forecast_page

pytestmark = pytest.mark.browser


@pytest.fixture
def opened(tabs):
    """Open a file in a browser that is set to English, as nothing may be guessed from the machine."""

    def opened(path):
        page = tabs.open(path, locale="en-US").page
        if 'id="data"' in path.read_text(encoding="utf-8"):
            page.wait_for_function("document.documentElement.dataset.drawn === 'yes'")
        return page

    return opened


@pytest.mark.parametrize("kind", ["release", "kinds", "forecast", "statement"])
def test_no_english_sentence_is_left_on_a_french_page(release, opened, tmp_path, kind):
    path, french = tmp_path / "page.html", {"language": "fr"}
    if kind == "release":
        make_page(release, path, **french)
    elif kind == "kinds":
        make_page(release_with_kinds(), path, **french)
    elif kind == "forecast":
        made = doubs_release()
        make_forecast_page(forecast_of(made, 7), made, path, holidays=HOLIDAYS, **french)
    else:
        make_statement_page(release, path, **french)
    page = opened(path)
    assert page.locator("html").get_attribute("lang") == "fr"
    if kind in ("release", "kinds"):
        page.wait_for_function("document.documentElement.dataset.answers === 'yes'")
        page.locator("#ask-places").fill(release.domain.place.cells[0] if kind == "release" else "north")
    text = page.evaluate(EVERYTHING)
    assert len(text) > 1000
    assert [part for part in english_parts() if re.search(rf"\b{re.escape(part)}", text)] == []
    assert re.search(r"intervalle à 95\u00a0%|19 fois sur 20|epsilon \d,\d", text)


def test_scripts_speak_french_too(release, opened, tmp_path):
    page = opened(make_page(release, tmp_path / "page.html", language="fr"))
    suppressed = "%(n)s of the %(asked)s counts asked for is suppressed, and gone from this release."
    said = "([one, n]) => window.tacit.sayMany(one, '', n, { n, asked: 9 })"
    assert [page.evaluate(said, [suppressed, n]) for n in (0, 1, 2)] == [
        "0 des 9 comptages demandés est masqué et absent de cette publication.",
        "1 des 9 comptages demandés est masqué et absent de cette publication.",
        "2 des 9 comptages demandés sont masqués et absents de cette publication.",
    ]
    assert page.evaluate("window.tacit.number(-1234567)") == "−1\u202f234\u202f567"
    axes = page.locator("#chart-recent text, #chart-series text").all_text_contents()
    assert {"avril", "juillet", "octobre"} & set(axes)
    assert any(re.fullmatch(r"\d+ (nov|déc|janv)\.", text) for text in axes)


def test_english_pages_say_their_sentences_as_they_stand(release, opened, tmp_path):
    page = opened(make_page(release, tmp_path / "page.html"))
    said = "(n) => window.tacit.sayMany('%(n)s day', '%(n)s days', n, { n })"
    assert [page.evaluate(said, n) for n in (0, 1, 2)] == ["0 days", "1 day", "2 days"]
    assert page.locator("#messages").count() == 0
