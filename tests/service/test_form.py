"""The form in a real browser: what is chosen never leaves, and what is counted covers the truth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from pages.leftovers import EVERYTHING, english_parts
from service_worlds import collector, survey_of
from tacit.collection.tallying import estimate_tally
from tacit.collection.wire import MessageFormat
from tacit.counts.query import answer
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import plan_for
from tacit.service.shelf import Outlet
from tacit.service.survey import Survey

NAMES = ("north", "south", "west", "Besançon")
TIME = TimeAxis("2026-01-01", "day")


@pytest.fixture(scope="module")
def browser(chromium) -> Iterator[Browser]:
    """One for all tests; each has a page of its own, which knows nothing of the others."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@contextmanager
def shown(browser: Browser, url: str, width: int = 1100) -> Iterator[tuple[Page, list[str], list[bytes]]]:
    """The form, what the browser complained about, and all bodies that it sent."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    assert page.context.storage_state() == {"cookies": [], "origins": []}
    problems: list[str] = []
    sent: list[bytes] = []
    page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda asked: sent.append(asked.url.encode() + b" " + (asked.post_data_buffer or b"")))
    page.goto(url)
    page.wait_for_selector("#form:not([hidden]), #status:not([hidden])")
    yield page, problems, sent
    page.close()


def form_of(running) -> str:
    return running.url.replace("/v1/surveys/", "/surveys/")


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.false_failure(1e-8)
def test_a_thousand_reports_through_the_form_are_counted_and_nothing_true_leaves(browser, tmp_path, seed):
    """The interval is of 1 - 1e-8, so that it misses the truth about once in a hundred million runs.

    At an epsilon of 2 it reaches 5.7 standard deviations of 15 (0 of 1,000 events) to 21 (700 of them) to either side:
    counts of another place of the three lie 10 standard deviations outside and more.
    """
    survey = survey_of(Domain(TIME, PlaceAxis.of(NAMES)), is_open=True, late=2)
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, _):
        with shown(browser, form_of(running)) as (page, problems, sent):
            counted = page.evaluate(
                """async () => {
                    const { readPlan } = await import("/form/client.mjs");
                    const { report, send } = await import("/form/form.js");
                    const plan = readPlan(await (await fetch(`/v1/surveys/visits/plan`)).text());
                    const said = {};
                    for (let i = 0; i < 1000; i++) {
                        localStorage.removeItem("tacit visits period"); // a thousand devices in turn
                        report(plan, { time: new Date(), place: i < 700 ? "Besançon" : "west" });
                        if (i % 20 === 19) { const words = await send(); said[words] = (said[words] ?? 0) + 1; }
                    }
                    return said;
                }"""
            )
            assert counted == {"Counted. Thank you.": 50}
            assert problems == []
            told = b" ".join(sent)
            assert not any(word.encode() in told for word in (*NAMES, "Besan%C3%A7on"))
            bodies = [one.partition(b" ")[2] for one in sent if b"TACITMSG" in one]
            assert len(bodies) == 1000
            assert {len(body) for body in bodies} == {72 + 16 + survey.form.report_bytes + 8}
            assert "Besançon" not in page.evaluate("JSON.stringify(localStorage)")
        tally = store.tally(survey)
    assert tally.n_reports == 1000
    estimate = estimate_tally(tally, survey.plan)
    today = survey.now(datetime.now(UTC))
    for place, n in (("Besançon", 700), ("west", 300), ("north", 0)):
        found = answer(estimate, estimate.domain.box(places=[place]), level=1 - 1e-8)
        assert found.lower <= n <= found.upper
    assert np.flatnonzero(tally.reports).tolist() in ([today], [today - 1, today])


@pytest.mark.browser
@pytest.mark.slow
def test_a_person_chooses_sends_and_sees_what_else_it_could_have_meant(browser, tmp_path):
    kinds = KindAxis.of(["fire", "aid"])
    survey = survey_of(Domain(TIME, PlaceAxis.of([f"town {n}" for n in range(17)]), kinds), is_open=True)
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, _):
        with shown(browser, form_of(running), width=390) as (page, problems, sent):
            page.click("#send")
            assert page.locator("#place:invalid").count() == 1  # nothing is chosen beforehand, and nothing was sent
            page.select_option("#place", "town 3")
            page.select_option("#kind", "aid")
            page.click("button")
            page.locator("#status", has_text="Counted").wait_for()
            assert page.locator("#meanings li").count() == 13
            shares = [
                float(text.rstrip("%")) for text in page.locator("#meanings li span:last-child").all_inner_texts()
            ]
            assert shares == sorted(shares, reverse=True)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            assert b"town" not in b" ".join(sent)
            assert problems == []
            page.screenshot(path=tmp_path / "phone.png", full_page=True)
            page.reload()
            page.locator("#status", has_text="already").wait_for()  # said before anything is chosen
            assert page.locator("#send").is_disabled()
        assert store.tally(survey).n_reports == 1


@pytest.mark.browser
@pytest.mark.slow
def test_without_a_connection_the_report_waits_and_is_sent_later(browser, tmp_path):
    survey = survey_of(Domain(TIME, PlaceAxis.of(NAMES)), is_open=True)
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, _):
        with shown(browser, form_of(running)) as (page, _, _sent):
            page.context.set_offline(True)
            page.select_option("#place", "west")
            page.click("button")
            page.locator("#status", has_text="No connection").wait_for()
            assert store.tally(survey).n_reports == 0
            page.context.set_offline(False)
            page.reload()
            page.locator("#status", has_text="Counted").wait_for()
        assert store.tally(survey).n_reports == 1


@pytest.mark.browser
@pytest.mark.slow
def test_nothing_is_spent_without_a_valid_token_or_for_a_period_that_is_not_taken(browser, tmp_path):
    survey = survey_of(Domain(TIME, PlaceAxis.of(NAMES)))
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, token):
        with shown(browser, form_of(running)) as (page, _, sent):
            for link, words in (("#token=wrong", "not valid"), ("", "needs the link")):
                page.evaluate("sessionStorage.clear()")
                page.goto("about:blank")
                page.goto(form_of(running) + link)
                page.locator("#status", has_text=words).wait_for()
                assert page.locator("#send").is_disabled()
                assert page.evaluate("localStorage.getItem('tacit visits period')") is None
            page.goto(f"{form_of(running)}#token={token}")  # the same page: another link in the same tab
            page.wait_for_selector("#status[hidden] + #form:not([hidden])", state="attached")
            page.select_option("#place", "west")
            page.route("**/reports", lambda route: route.fulfill(status=403, body="{}"))
            page.click("#send")
            page.locator("#status", has_text="waits on this device").wait_for()
            assert not any(b"/reports " in one for one in sent[:-1])
            page.unroute("**/reports")
            page.reload()
            page.locator("#status", has_text="Counted").wait_for()
            assert store.tally(survey).n_reports == 1
            page.evaluate("localStorage.removeItem('tacit visits period')")
            page.reload()
            page.wait_for_selector("#status[hidden] + #form:not([hidden])", state="attached")
            store.close_periods(survey, survey.now(datetime.now(UTC)) + 1)
            page.select_option("#place", "west")
            page.click("#send")
            page.locator("#status", has_text="no reports for this period now. Nothing was randomized").wait_for()
            assert page.evaluate("localStorage.getItem('tacit visits period')") is None
        assert store.tally(survey).n_reports == 1


@pytest.mark.browser
@pytest.mark.slow
def test_what_was_garbled_on_the_device_stops_nothing_and_no_other_answer_takes_the_report(browser, tmp_path):
    survey = survey_of(Domain(TIME, PlaceAxis.of(NAMES)), is_open=True)
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, _):
        with shown(browser, form_of(running)) as (page, _, _sent):
            # e^2 / (e^2 + 3) is 71.124 %: a bound is rounded up
            assert "at most 71.2% sure" in page.locator("#agreement").inner_text()
            for garbled in ("[", '{"a": 1}', '["no digits"]'):
                page.evaluate("text => localStorage.setItem('tacit visits waiting', text)", garbled)
                page.reload()
                page.locator("#status", has_text="was damaged, and is lost.").wait_for()
            page.evaluate("localStorage.setItem('tacit visits waiting', '[')")
            page.route("**/reports", lambda route: route.fulfill(status=404, body="<html>"))
            page.select_option("#place", "west")
            page.click("#send")
            page.locator("#status", has_text="is lost. Something else").wait_for()
            page.unroute("**/reports")
            page.route("**/reports", lambda route: route.fulfill(status=200, body="<html>"))
            page.reload()
            page.locator("#status", has_text="Something else than the collector").wait_for()
            page.unroute("**/reports")
            page.reload()
            page.locator("#status", has_text="Counted").wait_for()
        assert store.tally(survey).n_reports == 1


FRENCH = Outlet("month", True, title="Sorties <du> week-end", noun="sortie/sorties", language="fr")
TOWNS = Domain(TIME, PlaceAxis.of(NAMES, level="town"), KindAxis.of(["feu", "secours"]))


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_form_says_what_is_asked_and_in_the_language_of_its_survey(browser, tmp_path, width):
    """The browser is set to English: nothing is guessed from the machine."""
    survey = survey_of(TOWNS, is_open=True)
    with (
        collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, _),
        shown(browser, form_of(running), width=width) as (page, problems, _sent),
    ):
        assert page.locator("h1").inner_text() == "Visits"
        assert page.locator("label:visible").all_inner_texts()[0].startswith("Town")
        assert "at most once per day" in page.locator("form").inner_text()
        assert page.locator(".asked").count() == 0
        page.screenshot(path=tmp_path / f"english-{width}.png", full_page=True)
        store.shelf.set_outlet(survey, Outlet(title="Trips", noun="trip/trips"))
        page.reload()
        page.wait_for_selector("#form:not([hidden])")
        assert page.title() == "Trips – Report without telling"
        assert page.locator(".asked").inner_text() == "What is reported here: one trip."
        store.shelf.set_outlet(survey, FRENCH)
        page.reload()
        page.wait_for_selector("#form:not([hidden])")
        assert page.locator("html").get_attribute("lang") == "fr"
        assert page.locator("h1").inner_text() == "Sorties <du> week-end"
        assert page.locator(".asked").inner_text() == "Ce qui est signalé ici\u00a0: sortie."
        assert page.locator("label:visible").all_inner_texts()[0].startswith("Commune")
        assert page.locator("#place option").first.inner_text() == "Choisir…"
        assert "Non caché\u00a0: période actuelle et type." in page.locator("#agreement").inner_text()
        said = [page.evaluate(EVERYTHING)]
        page.screenshot(path=tmp_path / f"french-{width}.png", full_page=True)
        page.select_option("#place", "west")
        page.select_option("#kind", "feu")
        page.click("#send")
        page.locator("#status", has_text="Votre rapport est compté.").wait_for()
        assert "," in page.locator("#meanings li span:last-child").first.inner_text()
        said.append(page.evaluate(EVERYTHING))
        page.screenshot(path=tmp_path / f"french-sent-{width}.png", full_page=True)
        page.reload()
        page.locator("#status", has_text="Cet appareil a déjà répondu").wait_for()
        said.append(page.evaluate(EVERYTHING))
        page.goto(f"{form_of(running)}/page")
        assert page.title() == "Rien n’est encore publié"
        assert problems == ["Failed to load resource: the server responded with a status of 404 (Not Found)"]
        assert [
            part for part in english_parts() if any(re.search(rf"\b{re.escape(part)}", text) for text in said)
        ] == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
@pytest.mark.slow
def test_a_form_that_would_take_nothing_says_so_when_it_opens_and_takes_the_token_out_of_sight(browser, tmp_path):
    survey = survey_of(Domain(TIME, PlaceAxis.of(NAMES)))
    with (
        collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, token),
        shown(browser, f"{form_of(running)}#token={token}") as (page, problems, sent),
    ):
        page.wait_for_selector("#status[hidden] + #form:not([hidden])", state="attached")
        assert page.url == form_of(running)
        assert page.evaluate("history.length") == 2  # about:blank and this page
        page.reload()  # the tab has it still
        page.wait_for_selector("#status[hidden] + #form:not([hidden])", state="attached")
        assert page.locator("#send").is_enabled()
        store.close_periods(survey, survey.now(datetime.now(UTC)) + 1)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.locator("#status", has_text="takes no reports for this period now.").wait_for()
        assert page.locator("#send").is_disabled()
        page.reload()
        page.locator("#status", has_text="takes no reports for this period now.").wait_for()
        assert page.locator("#send").is_disabled()
        assert token.encode() not in b" ".join(sent)
        assert problems == []


@pytest.mark.browser
@pytest.mark.slow
def test_a_form_that_reaches_nobody_takes_a_report_unless_its_own_note_forbids_it(browser, tmp_path):
    survey = survey_of(Domain(TIME, PlaceAxis.of(NAMES)), is_open=True)
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, _):
        with shown(browser, form_of(running)) as (page, _, _sent):
            for address in ("**/intake", "**/reports"):
                page.route(address, lambda route: route.abort())
            page.reload()
            page.select_option("#place", "west")
            page.click("#send")
            page.locator("#status", has_text="No connection. The report waits").wait_for()
            page.reload()
            page.locator("#status", has_text="waits on this device").wait_for()
            page.locator("#status", has_text="This device has reported for this period already.").wait_for()
            assert page.locator("#send").is_disabled()
            for address in ("**/intake", "**/reports"):
                page.unroute(address)
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            page.locator("#status", has_text="Counted").wait_for()
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            page.locator("#status", has_text=re.compile("^This device has reported")).wait_for()
        assert store.tally(survey).n_reports == 1


@pytest.mark.browser
@pytest.mark.slow
def test_where_there_is_no_place_to_choose_none_is_named(browser, tmp_path):
    domain = Domain(TIME, PlaceAxis.everything(), KindAxis.of(["fire", "aid"]))
    survey = Survey("visits", MessageFormat.of(plan_for(domain, epsilon=2.0, private=("kind",))), is_open=True)
    with (
        collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, _store, _),
        shown(browser, form_of(running)) as (page, _, _sent),
    ):
        assert page.locator("label:visible").count() == 1
        assert page.locator("#agreement").inner_text().endswith("Not hidden: current period.")
