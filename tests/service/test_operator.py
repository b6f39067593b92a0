"""What the operator sees: the page in a real browser, the numbers behind it, and those for Prometheus."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx2
import numpy as np
import pytest
from playwright.sync_api import Browser, sync_playwright

from service_worlds import NOON, TODAY, collector, message, survey_of
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.service.activity import BOUNDS, LEAST_SHOWN, N_HOURS, Activity
from tacit.service.app import MESSAGE_TYPE
from tacit.service.refusals import Reason
from tacit.service.tokens import Scope

SURVEY = survey_of(late=1)
SAMPLE = re.compile(r'(?P<name>[a-z_]+)(?:\{(?P<labels>[a-z]+="[^"\\\n]*"(?:,[a-z]+="[^"\\\n]*")*)\})? (?P<value>\S+)')


def parsed(text: str) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    """The kinds and numbers of a text in Prometheus' format; a line that is none of it fails."""
    kinds: dict[str, str] = {}
    numbers: dict[str, dict[str, float]] = {}
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name not in kinds
            kinds[name] = kind
            continue
        found = SAMPLE.fullmatch(line)
        assert found is not None, line
        family = re.sub(r"_(bucket|sum|count)$", "", found["name"])
        assert (family if kinds.get(family) == "histogram" else found["name"]) in kinds, line
        of_name = numbers.setdefault(found["name"], {})
        assert (found["labels"] or "") not in of_name
        of_name[found["labels"] or ""] = float(found["value"])
    return kinds, numbers


def test_numbers_for_prometheus_are_complete_and_in_its_format(world):
    for _ in range(3):
        world.send(message(SURVEY, [TODAY] * 4))
    world.send(b"x")
    text = world.client.get("/metrics", headers=world.headers(Scope.ADMIN)).text
    kinds, numbers = parsed(text)
    assert kinds["tacit_reports_total"] == "counter"
    assert numbers["tacit_reports_total"] == {'survey="visits"': 12}
    assert numbers["tacit_refusals_total"] == {'survey="visits",reason="malformed"': 1}
    assert numbers["tacit_messages_total"] == {"": 3}
    assert numbers["tacit_closed_periods"] == {'survey="visits"': 0}
    assert numbers["tacit_waiting_messages"] == numbers["tacit_failed_commits_total"] == {"": 0}
    assert 0 < numbers["tacit_disk_free_bytes"][""] <= numbers["tacit_disk_size_bytes"][""]
    assert numbers["tacit_store_bytes"][""] > 0
    assert kinds["tacit_commit_seconds"] == "histogram"
    buckets = numbers["tacit_commit_seconds_bucket"]
    limits = [float(label.split('"')[1].replace("+Inf", "inf")) for label in buckets]
    assert limits == [*BOUNDS, math.inf]
    assert list(buckets.values()) == sorted(buckets.values())
    assert buckets['le="+Inf"'] == numbers["tacit_commit_seconds_count"][""] == 3
    assert numbers["tacit_commit_seconds_sum"][""] > 0


def test_a_line_that_is_not_of_the_format_is_found():
    for text in ("tacit_x 1\n", "# TYPE a gauge\na{b=c} 1\n", "# TYPE a gauge\na 1\na 1\n", "# TYPE a gauge\na one\n"):
        with pytest.raises((AssertionError, ValueError)):
            parsed(text)


def test_small_sums_of_an_hour_are_not_shown_and_old_hours_are_forgotten():
    now = NOON
    activity = Activity(lambda: now)
    activity.counted("visits", LEAST_SHOWN - 1)
    activity.counted("other", LEAST_SHOWN)
    assert activity.hours("visits") == [0] * (N_HOURS - 1) + [None]
    assert activity.hours("other")[-1] == LEAST_SHOWN
    now = NOON - timedelta(hours=3)  # a clock that jumps back
    activity.counted("visits", 1)
    now = NOON + timedelta(hours=1)
    assert activity.hours("visits")[-2:] == [LEAST_SHOWN, 0]
    now = NOON + timedelta(hours=N_HOURS)
    assert activity.hours("visits") == [0] * N_HOURS
    assert activity.hours("never") == [0] * N_HOURS


def test_refusals_are_told_once_when_their_hour_is_over():
    now = NOON
    activity = Activity(lambda: now)
    for _ in range(3):
        activity.refused("visits", Reason.LATE)
    assert list(activity.finished_refusals()) == []
    now = NOON + timedelta(hours=1)
    assert list(activity.finished_refusals()) == [("visits", Reason.LATE, 3)]
    activity.refused("visits", Reason.EARLY)
    assert list(activity.finished_refusals(is_end=True)) == [("visits", Reason.EARLY, 1)]
    assert list(activity.finished_refusals(is_end=True)) == []


def test_a_commit_that_fails_is_counted_and_fails(world):
    activity = Activity()
    with pytest.raises(ZeroDivisionError):
        activity.timed(lambda _: 1 // 0, [])
    assert (activity.n_failed, sum(activity.commits.counts)) == (1, 0)


def test_the_overview_has_sums_periods_and_names_of_tokens_and_needs_the_administrator(world):
    world.send(message(SURVEY, [TODAY] * 20))
    world.send(b"x")
    found = world.client.get("/v1/operator", headers=world.headers(Scope.ADMIN)).json()
    (survey,) = found["surveys"]
    assert (survey["n_reports"], survey["hours"][-1], survey["refusals"]) == (20, 20, {"malformed": 1})
    assert survey["open_periods"] == ["2026-11-16", "2026-11-17"]
    assert survey["last_closed"] is None
    assert {one["name"] for one in found["tokens"]} == {"of-write", "of-read", "of-admin"}
    assert set(found["titles"]) == {reason.value for reason in Reason}
    text = str(found)
    assert not any(token in text for token in world.tokens.values())
    for scope in (Scope.READ, Scope.WRITE):
        assert world.client.get("/v1/operator", headers=world.headers(scope)).status_code == 403
    assert world.client.get("/v1/operator").status_code == 401


def test_periods_have_names():
    assert SURVEY.label(-1) is None
    assert SURVEY.label(TODAY) == "2026-11-17"


def test_the_administrator_closes_periods_before_their_time_and_later_reports_are_refused(world):
    world.send(message(SURVEY, [TODAY] * 3))
    close = "/v1/surveys/visits/close?until="
    for wrong in ("2026-11-18", "2026-10-31", "soon"):
        assert world.client.post(close + wrong, headers=world.headers(Scope.ADMIN)).status_code == 400
    assert world.store.n_closed(SURVEY) == 0
    answer = world.client.post(f"{close}2026-11-17", headers=world.headers(Scope.ADMIN))
    assert answer.json()["n_closed"] == TODAY + 1
    assert world.send(message(SURVEY, [TODAY])).status_code == 409
    assert world.get("tally").status_code == 200
    overview = world.client.get("/v1/operator", headers=world.headers(Scope.ADMIN)).json()["surveys"][0]
    assert (overview["last_closed"], overview["open_periods"]) == ("2026-11-17", [])
    assert overview["releases"] == [{"number": 1, "until": "2026-11-17", "is_signed": False}]


def test_a_part_that_is_not_of_the_page_is_not_there(world):
    page = world.client.get("/operator")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for part in ("operator.js", "operator.css"):
        assert world.client.get(f"/operator/{part}").status_code == 200
    assert world.client.get("/operator/operator.py").status_code == 404


@pytest.fixture(scope="module")
def browser(chromium) -> Iterator[Browser]:
    """One for both widths; each test has a page of its own, which knows nothing of the other."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_shows_the_sums_and_keeps_the_token_in_memory_alone(browser, tmp_path, width):
    survey = survey_of(Domain(TimeAxis("2026-11-01", "day"), PlaceAxis.of([f"place {n}" for n in range(17)])))
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, token):
        admin = store.tokens.new(Scope.ADMIN, name="of-the-operator")
        store.add_alarms(survey, ["In a message: 12 of 12 reports support <b>place 3</b>."])
        headers = {"Authorization": f"Bearer {token}", "Content-Type": MESSAGE_TYPE}
        today = survey.now(datetime.now(UTC))
        for content in (message(survey, [today] * 2500, np.arange(2500) % 17), b"x"):
            httpx2.post(f"{running.url}/reports", content=content, headers=headers)
        day = survey.plan.domain.time.label(today)
        httpx2.post(
            f"{running.url}/close?until={day}", headers={"Authorization": f"Bearer {admin}"}, timeout=120
        ).raise_for_status()
        base = running.url.partition("/v1/")[0]
        page = browser.new_page(viewport={"width": width, "height": 900})
        problems, asked = [], []
        page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{base}/operator")
        page.fill("#token", admin)
        page.click("button")
        page.wait_for_selector("#found:not([hidden])")
        words = page.inner_text("main")
        for shown in (
            "visits",
            "2,500",
            "Not a message of this survey",
            "<b>place 3</b>",
            "SQLite",
            "Free disk",
            "Release 1",
        ):
            assert shown in words
        assert admin not in page.content()
        assert page.locator("svg rect").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate("localStorage.length + sessionStorage.length + document.cookie.length") == 0
        page.screenshot(path=tmp_path / f"operator-{width}.png", full_page=True)
        assert problems == []
        page.reload()
        page.wait_for_selector("#entry:not([hidden])")  # the token is gone
        page.fill("#token", "of nobody")
        page.click("button")
        page.locator("#status", has_text="not accepted").wait_for()
        assert page.locator("#found").is_hidden()
        page.goto("about:blank")
        page.goto(f"{base}/operator#token={admin}")
        page.wait_for_selector("#found:not([hidden])")
        assert page.url == f"{base}/operator"
        assert all(url.startswith((base, "about:")) and admin not in url for url in asked)
        page.close()
