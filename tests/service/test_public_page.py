"""The public page of a survey in a real browser, from a real collector, and saved for later."""

from __future__ import annotations

import urllib.request
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from service_worlds import collector, message, survey_of
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.service.mixing import close_due
from tacit.service.publishing import Publisher
from tacit.service.shelf import Outlet
from tacit.service.store import Outcome
from tacit.service.tokens import Scope

PLACES = PlaceAxis.of(["north", "south", "west", "Besançon"])


def close(running, token):
    asked = urllib.request.Request(f"{running.url}/close", method="POST", headers={"Authorization": f"Bearer {token}"})
    urllib.request.urlopen(asked, timeout=60).read()


def add(store, survey, days, n):
    """So many reports of each of these days, as they would have come on that day."""
    for day in days:
        moment = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=day)
        places = np.arange(n) % 4
        found = store.add([survey.addition(message(survey, [day] * n, np.where(places == 2, 0, places)), moment)])
        assert found == [Outcome.COUNTED]


@pytest.mark.browser
@pytest.mark.slow
def test_the_page_is_found_from_the_form_goes_on_and_works_when_saved(chromium, tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_CLOSE_EVERY", "86400")  # periods close when the test says so
    survey = survey_of(Domain(TimeAxis("2026-01-01", "day"), PLACES), is_open=True, epsilon=4.0)
    with (
        collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, _),
        sync_playwright() as playwright,
    ):
        form = running.url.replace("/v1/surveys/", "/surveys/")
        admin = store.tokens.new(Scope.ADMIN)
        store.shelf.set_outlet(survey, Outlet("never", True))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page, problems, asked = context.new_page(), [], []
        page.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))

        page.goto(form)
        assert page.locator(".results").count() == 0
        page.goto(f"{form}/page")
        assert page.title() == "Nothing is published yet"
        problems.clear()  # the browser notes that this was a 404

        now = survey.now(datetime.now(UTC))
        add(store, survey, range(now - 12, now - 5), 200)
        add(store, survey, range(now - 4, now - 1), 100)
        close_due(store, survey, datetime.now(UTC) - timedelta(days=4), running.folder)
        Publisher(store, running.folder).publish_due(survey, at_once=True)  # another process, on the same store
        page.goto(form)
        page.click("text=See what was published")
        page.wait_for_selector("html[data-drawn=yes]", timeout=60_000)
        assert page.url == f"{form}/page"
        first = page.content()
        assert page.locator("svg").count() > 0
        asked.clear()
        page.evaluate("location.hash = 'places=Besan%C3%A7on'")
        page.locator(".asked").first.wait_for()
        page.reload()
        page.locator(".asked").first.wait_for()  # what is asked stands in the address
        assert [one for one in asked if not one.startswith(("data:", "blob:", form))] == []
        page.screenshot(path=tmp_path / "wide.png")
        saved = tmp_path / "saved.html"
        saved.write_bytes(urllib.request.urlopen(f"{form}/page", timeout=60).read())

        page.click("text=Report without telling")
        page.wait_for_selector("#form:not([hidden])")
        with page.expect_download() as download:
            page.goto(f"{form}/page")
            page.click("text=This release as a file")
        assert download.value.suggested_filename == "visits-1.parquet"

        context.set_offline(True)
        offline = context.new_page()
        offline.on("pageerror", lambda error: problems.append(str(error)))
        offline.goto(saved.as_uri())
        offline.wait_for_selector("html[data-drawn=yes]", timeout=60_000)
        context.set_offline(False)

        assert "1,400" in first
        assert "1,700" not in first
        close(running, admin)
        page.goto(f"{form}/page")
        page.wait_for_selector("html[data-drawn=yes]", timeout=60_000)
        assert "1,700" in page.content()
        assert store.shelf.newest(survey).number == 2
        page.goto(f"{running.url}/releases/1/page")  # what was published stays
        page.wait_for_selector("html[data-drawn=yes]", timeout=60_000)
        assert page.evaluate("document.querySelector('h1').textContent") in first

        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{form}/page")
        page.wait_for_selector("html[data-drawn=yes]", timeout=60_000)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.screenshot(path=tmp_path / "narrow.png")
        page.goto(form)
        page.wait_for_selector("#form:not([hidden])")
        assert not page.locator("#kind").is_visible()  # nothing to choose: this survey has no kinds
        page.screenshot(path=tmp_path / "form.png")
        assert problems == []
        browser.close()
