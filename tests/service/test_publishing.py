"""Releases of a survey: what is published when, by both stores, and that it never changes."""

from __future__ import annotations

import base64
import hashlib
import html
import logging
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from urllib.parse import urljoin

import numpy as np
import pytest
from starlette.testclient import TestClient

from service_worlds import NOON, TODAY, message, survey_of
from tacit.collection.wire import MessageFormat, ReportFile
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.mechanisms.registry import plan_for
from tacit.randomness import SecureRandomness
from tacit.release import Release, SigningKey
from tacit.service.app import Collector, make_app
from tacit.service.mixing import close_due
from tacit.service.openapi import document
from tacit.service.publishing import Publisher, due
from tacit.service.settings import Settings
from tacit.service.shelf import Outlet
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.tokens import Scope

SURVEY = survey_of(late=1)
RELEASES = "/v1/surveys/visits/releases"


def counted(store, survey=SURVEY, days=(TODAY - 1, TODAY), moment=NOON):
    """Count ten reports of each of these days."""
    store.add_survey(survey)
    assert store.add([survey.addition(message(survey, [day] * 10), moment) for day in days])


def closed(store, folder, survey=SURVEY, moment=NOON + timedelta(days=2)):
    close_due(store, survey, moment, folder)


@pytest.mark.parametrize(
    ("step", "every", "n_closed", "before", "expected"),
    [
        ("day", "month", 29, 0, 0),
        ("day", "month", 30, 0, 30),  # November has 30 days
        ("day", "month", 45, 0, 30),
        ("day", "month", 45, 30, 30),
        ("day", "month", 70, 0, 61),
        ("day", "week", 9, 0, 8),  # the first of November 2026 is a Sunday
        ("day", "day", 9, 3, 9),
        ("day", "period", 9, 3, 9),
        ("day", "never", 99, 3, 3),
        ("day", "year", 61, 0, 61),
        ("month", "week", 2, 1, 2),
        ("hour", "day", 49, 0, 48),
    ],
)
def test_a_release_is_due_when_a_month_is_over(step, every, n_closed, before, expected):
    survey = survey_of(Domain(TimeAxis("2026-11-01", step), PlaceAxis.of(["a", "b"])))
    assert due(survey, every, n_closed, before) == expected


def test_the_end_of_a_survey_is_an_end_and_a_private_time_has_one(tmp_path):
    places = PlaceAxis.of(["a", "b"])
    days = survey_of(Domain(TimeAxis.between("2026-11-01", "2026-11-05"), places))
    assert (due(days, "month", 4, 0), due(days, "month", 5, 0)) == (0, 5)
    plan = plan_for(days.plan.domain, epsilon=2.0, private=("time", "place"))
    hidden = Survey("visits", MessageFormat.of(plan))
    assert due(hidden, "month", 1, 0) == 1


def test_what_is_published_is_a_version_that_goes_on(store, tmp_path):
    counted(store)
    publisher = Publisher(store, tmp_path)
    assert publisher.publish_due(SURVEY, at_once=True) is None
    closed(store, tmp_path)
    assert publisher.publish_due(SURVEY) is None  # November is not over
    first = publisher.publish_due(SURVEY, at_once=True)
    assert (first.number, first.n_periods) == (1, TODAY + 1)
    assert publisher.publish_due(SURVEY, at_once=True) is None  # nothing new
    content = publisher.content(SURVEY, first)
    assert hashlib.sha256(content).digest() == first.file
    (tmp_path / "a.parquet").write_bytes(content)
    made = Release.read(tmp_path / "a.parquet")
    assert (made.checksum, made.version.number, made.domain.time.n_bins) == (first.checksum, 1, TODAY + 1)
    assert made.unbiased.totals.sum() == 20
    counted(store, days=(TODAY + 2,), moment=NOON + timedelta(days=2))
    closed(store, tmp_path, moment=datetime(2026, 12, 3, tzinfo=UTC))
    second = publisher.publish_due(SURVEY)
    assert (second.number, second.n_periods) == (2, 30)
    (tmp_path / "b.parquet").write_bytes(publisher.content(SURVEY, second))
    made = Release.read(tmp_path / "b.parquet")
    assert (made.version.number, made.version.revises, made.version.costs_nothing_more) == (2, first.checksum, True)
    assert made.domain.time.days == ("2026-11-01", "2026-11-30")
    assert publisher.content(SURVEY, first) == content
    assert store.shelf.all(SURVEY) == [second, first]


def test_periods_without_reports_are_not_published(store, tmp_path):
    store.add_survey(SURVEY)
    closed(store, tmp_path)
    assert Publisher(store, tmp_path).publish_due(SURVEY, at_once=True) is None


def test_two_processes_publish_one_release(database, tmp_path):
    """Two stores on one database and one folder: both see that it is due, and one row holds."""
    stores = [Store(database), Store(database)]
    counted(stores[0])
    closed(stores[0], tmp_path)
    together = threading.Barrier(2)

    def publish(one):
        together.wait()
        return Publisher(one, tmp_path).publish_due(SURVEY, at_once=True)

    with ThreadPoolExecutor(2) as pool:
        made = [one for one in pool.map(publish, stores) if one is not None]
    (newest,) = stores[0].shelf.all(SURVEY)
    assert made == [newest]
    assert Publisher(stores[1], tmp_path).content(SURVEY, newest)
    files = sorted(path.name for path in (tmp_path / "visits" / "releases").iterdir())
    assert files == sorted([f"{newest.file.hex()}.parquet", f"{newest.page.hex()}.html"])
    for one in stores:
        one.close()


def test_stopped_before_its_row_a_release_is_made_again(store, tmp_path, monkeypatch):
    counted(store)
    closed(store, tmp_path)
    publisher = Publisher(store, tmp_path)
    with monkeypatch.context() as stopped:
        stopped.setattr(store.shelf, "add", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publisher.publish_due(SURVEY, at_once=True)
    assert store.shelf.all(SURVEY) == []
    made = publisher.publish_due(SURVEY, at_once=True)
    assert publisher.page(SURVEY, made)


def test_files_that_nobody_published_go_after_a_day(store, tmp_path, monkeypatch):
    """A process that was killed between its files and its row, and one that is just about to write the row."""
    counted(store)
    closed(store, tmp_path)
    publisher, folder = Publisher(store, tmp_path), tmp_path / "visits" / "releases"
    assert publisher.sweep(SURVEY) == 0
    with monkeypatch.context() as stopped:
        stopped.setattr(store.shelf, "add", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publisher.publish_due(SURVEY, at_once=True)
    orphans = [*folder.iterdir(), folder / ".x.parquet.0f.part"]
    orphans[-1].write_bytes(b"half")
    (folder / "notes.txt").write_text("of the operator")
    made = publisher.publish_due(SURVEY, at_once=True)  # the same bytes, or others
    kept = {folder / f"{made.file.hex()}.parquet", folder / f"{made.page.hex()}.html", folder / "notes.txt"}
    assert publisher.sweep(SURVEY) == 0  # they are young
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    assert publisher.sweep(SURVEY) == len(set(orphans) - kept) >= 1
    assert set(folder.iterdir()) == kept


def test_a_page_has_the_title_the_noun_and_the_language_of_its_survey(store, tmp_path):
    counted(store)
    closed(store, tmp_path)
    words = Outlet("never", True, title="Voyages à Besançon", noun="voyage/voyages", language="fr")
    store.shelf.set_outlet(SURVEY, words)
    assert store.shelf.outlet(SURVEY) == words
    publisher = Publisher(store, tmp_path)
    page = publisher.page(SURVEY, publisher.publish_due(SURVEY, at_once=True)).decode()
    assert '<html lang="fr"' in page
    assert "<title>Voyages à Besançon</title>" in html.unescape(page)
    assert "voyages" in page
    assert ">Répondre sans rien révéler</a>" in page
    for wrong in ({"language": "xx"}, {"noun": "trips"}, {"title": "t" * 301}):
        with pytest.raises(SettingError, match=next(iter(wrong))):
            Outlet(**wrong)


def test_a_survey_that_hides_the_time_is_one_period_which_is_published_at_its_end(store, tmp_path):
    days = TimeAxis.between("2026-11-16", "2026-11-18")
    plan = plan_for(Domain(days, PlaceAxis.of(["a", "b"])), epsilon=2.0, private=("time", "place"))
    survey = Survey("visits", MessageFormat.of(plan), late=0)
    store.add_survey(survey)
    message = survey.form.randomize(np.array([0, 1, 2, 2]), np.array([0, 1, 1, 0]), randomness=SecureRandomness())
    store.add([survey.addition(message, NOON)])
    world = Collector(store, tmp_path, clock=lambda: moment[0])
    moment = [datetime(2026, 11, 18, 23, tzinfo=UTC)]
    with TestClient(make_app(world)) as client:
        admin = {"Authorization": f"Bearer {store.tokens.new(Scope.ADMIN)}"}
        close = "/v1/surveys/visits/close"
        assert client.post(close, headers=admin).json() == {"n_closed": 0, "release": None, "alarms": []}
        (shown,) = client.get("/v1/operator", headers=admin).json()["surveys"]
        assert (shown["open_periods"], shown["last_closed"]) == (["all"], None)
        assert client.post(f"{close}?until=2026-11-16", headers=admin).status_code == 400
        moment[0] = datetime(2026, 11, 19, 1, tzinfo=UTC)
        assert client.post(close, headers=admin).json() == {"n_closed": 1, "release": 1, "alarms": []}
        (shown,) = client.get("/v1/operator", headers=admin).json()["surveys"]
        assert (shown["open_periods"], shown["last_closed"]) == ([], "all")
        reader = {"Authorization": f"Bearer {store.tokens.new(Scope.READ, 'visits')}"}
        (listed,) = client.get(RELEASES, headers=reader).json()["releases"]
        assert (listed["first"], listed["last"], listed["n_periods"]) == ("2026-11-16", "2026-11-18", 1)
        assert client.get(listed["page"], headers=reader).status_code == 200
    path = tmp_path / "visits" / "00000000.reports"
    assert ReportFile.open(path).n_reports == 4
    (tmp_path / "r.parquet").write_bytes(Publisher(store, tmp_path).content(survey, store.shelf.newest(survey)))
    assert Release.read(tmp_path / "r.parquet").domain.time.n_bins == 3


def test_how_a_survey_is_published_can_be_changed_later(store):
    store.add_survey(SURVEY)
    assert store.shelf.outlet(SURVEY) == Outlet("month", False)
    for outlet in (Outlet("week", True), Outlet("never", False)):
        store.shelf.set_outlet(SURVEY, outlet)
        assert store.shelf.outlet(SURVEY) == outlet
    with pytest.raises(SettingError, match="release_every"):
        Outlet("fortnight")


@pytest.fixture
def world(tmp_path):
    """A collector with a key, whose survey has one release that needs the token to read."""
    store = Store(f"sqlite:///{tmp_path / 'collector.sqlite'}")
    key = SigningKey.create(tmp_path / "collector.key")
    counted(store)
    settings = Settings(signing_key=tmp_path / "collector.key")
    clock = [NOON + timedelta(days=2)]
    made = Collector(store, tmp_path / "collected", settings=settings, clock=lambda: clock[0])
    with TestClient(make_app(made), raise_server_exceptions=False) as client:
        client.collector, client.key = made, key
        client.admin = {"Authorization": f"Bearer {store.tokens.new(Scope.ADMIN)}"}
        client.reader = {"Authorization": f"Bearer {store.tokens.new(Scope.READ, 'visits')}"}
        client.clock = clock
        yield client
    store.close()


def test_closing_by_the_operator_publishes_and_who_may_see_it(world, tmp_path):
    page = "/surveys/visits/page"
    assert world.post("/v1/surveys/visits/close", headers=world.admin).json() == {
        **{"n_closed": 17, "release": 1, "alarms": []}
    }
    assert world.post("/v1/surveys/visits/close", headers=world.admin).json() == {
        **{"n_closed": 17, "release": None, "alarms": []}
    }
    addresses = (RELEASES, f"{RELEASES}/1", f"{RELEASES}/1/page", page)
    assert [world.get(one).status_code for one in addresses] == [401] * 4
    assert b"/surveys/visits/page" not in world.get("/surveys/visits").content
    assert [world.get(one, headers=world.reader).status_code for one in addresses] == [200] * 4
    world.collector.store.shelf.set_outlet(SURVEY, Outlet("month", True))
    assert [world.get(one).status_code for one in addresses] == [200] * 4
    assert b'<a href="visits/page">' in world.get("/surveys/visits").content
    (listed,) = world.get(RELEASES).json()["releases"]
    assert (listed["first"], listed["last"], listed["signed_by"]) == ("2026-11-01", "2026-11-17", world.key.public)
    content = world.get(listed["release"]).content
    assert (hashlib.sha256(content).hexdigest(), len(content)) == (listed["sha256"], listed["n_bytes"])
    (tmp_path / "r.parquet").write_bytes(content)
    key = world.get("/v1/key").json()["key"]
    assert Release.read(tmp_path / "r.parquet", signed_by=key).checksum == listed["checksum"]


def test_what_was_signed_goes_on_signed_or_not_at_all(world, tmp_path):
    world.post("/v1/surveys/visits/close", headers=world.admin)
    store = world.collector.store
    with pytest.raises(SettingError, match=r"visits are signed, with the key .* and no signing_key is set"):
        Collector(store, tmp_path / "collected")
    counted(store, days=(TODAY + 2,), moment=NOON + timedelta(days=2))
    closed(store, tmp_path / "collected", moment=NOON + timedelta(days=6))
    unsigned = Publisher(store, tmp_path / "collected")  # another process, without the key
    with pytest.raises(SettingError, match="signed"):
        unsigned.publish_due(SURVEY, at_once=True)
    assert len(store.shelf.all(SURVEY)) == 1
    another = SigningKey.create(tmp_path / "another.key")
    made = Publisher(store, tmp_path / "collected", another).publish_due(SURVEY, at_once=True)
    assert made.signed_by == another.public


def test_closing_by_hand_is_logged_and_answers_with_the_alarms(world, caplog):
    world.collector.store.add_alarms(SURVEY, ["In a message: all reports are one and the same"])
    with caplog.at_level(logging.INFO, "tacit.service"):
        answer = world.post("/v1/surveys/visits/close", headers=world.admin).json()
    assert answer["alarms"] == ["In a message: all reports are one and the same"]
    logged = [(one.msg, one.tacit_fields) for one in caplog.records if one.name == "tacit.service"]
    assert ("closed", {"survey": "visits", "periods": TODAY + 1, "files": 2}) in logged  # empty ones too
    assert ("published", {"survey": "visits", "release": 1, "periods": TODAY + 1}) in logged


def test_a_page_and_a_file_are_sent_once(world):
    world.post("/v1/surveys/visits/close", headers=world.admin)
    world.collector.store.shelf.set_outlet(SURVEY, Outlet("month", True))
    for address in ("/surveys/visits/page", f"{RELEASES}/1", f"{RELEASES}/1/page"):
        first = world.get(address)
        again = world.get(address, headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    assert "immutable" in world.get(f"{RELEASES}/1").headers["cache-control"]
    assert "no-cache" in world.get("/surveys/visits/page").headers["cache-control"]
    page = world.get("/surveys/visits/page")
    policy = page.headers["content-security-policy"]
    assert policy.endswith("; frame-ancestors 'none'")
    assert policy.removesuffix("; frame-ancestors 'none'") in html.unescape(page.text)
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy


def test_a_file_that_was_changed_is_not_served(world, tmp_path):
    world.post("/v1/surveys/visits/close", headers=world.admin)
    (path,) = (tmp_path / "collected" / "visits" / "releases").glob("*.parquet")
    path.write_bytes(path.read_bytes() + b"!")
    answer = world.get(f"{RELEASES}/1", headers=world.reader)
    assert (answer.status_code, "not what was published" in answer.json()["detail"]) == (500, True)
    path.unlink()
    assert world.get(f"{RELEASES}/1", headers=world.reader).status_code == 500


def test_all_links_of_all_pages_hold_behind_a_proxy_that_adds_to_the_address(world):
    world.post("/v1/surveys/visits/close", headers=world.admin)
    world.collector.store.shelf.set_outlet(SURVEY, Outlet("month", True))
    before, found = "http://testserver/counts", set()
    for address in ("/surveys/visits", "/operator", "/surveys/visits/page", "/surveys/visits/1"):
        text = world.get(address).text
        for link in re.findall(r'<(?:a|link|script)[^>]* (?:href|src)="([^"#:]+)"', text):
            leads_to = urljoin(f"{before}{address}", html.unescape(link))
            assert leads_to.startswith(f"{before}/"), (address, link)
            assert world.get(leads_to.removeprefix(before)).status_code == 200, (address, link)
            found.add(leads_to.removeprefix(before))
    assert {"/surveys/visits/1.parquet", "/surveys/visits/page", "/surveys/visits", "/form/form.js"} <= found
    moved = world.get(f"{RELEASES}/1/page", follow_redirects=False)
    assert moved.status_code == 308
    assert urljoin(f"{before}{RELEASES}/1/page", moved.headers["location"]) == f"{before}/surveys/visits/1"
    assert world.get("/surveys/visits/1.parquet").content == world.get(f"{RELEASES}/1").content


def test_a_person_opens_a_page_that_is_not_public_with_a_form(world):
    """The token goes into no address, and the cookie opens no more than the token does."""
    world.post("/v1/surveys/visits/close", headers=world.admin)
    page, person = "/surveys/visits/page", {"Accept": "text/html,*/*;q=0.8"}
    assert world.get(page).headers["content-type"] == "application/problem+json"
    for address in (page, "/surveys/visits/1"):
        asked = world.get(address, headers=person)
        assert (asked.status_code, asked.headers["content-type"]) == (401, "text/html; charset=utf-8")
        assert '<form method="post" action="page">' in asked.text
        assert "no-store" in asked.headers["cache-control"]
    token = world.reader["Authorization"].removeprefix("Bearer ")
    wrong = world.post(page, data={"token": "x" * 43}, headers=person)
    assert (wrong.status_code, "does not open" in wrong.text, "set-cookie" in wrong.headers) == (403, True, False)
    assert "x" * 43 not in wrong.text
    assert world.post(page, data={}, headers=person).status_code == 401
    let_in = world.post(page, data={"token": token}, headers=person, follow_redirects=False)
    assert (let_in.status_code, let_in.headers["location"]) == (303, "page")
    cookie = let_in.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=lax", "Secure"} <= set(cookie.split("; "))
    assert "Path" not in cookie
    kept = {"Cookie": f"tacit-read={token}"}
    opens = (page, "/surveys/visits/1", "/surveys/visits/1.parquet")
    assert [world.get(one, headers=kept).status_code for one in opens] == [200] * 3
    assert token not in world.get(page, headers=kept).text
    assert world.get("/v1/surveys/visits/counts", headers=kept).status_code == 401
    assert world.post("/v1/surveys/visits/reports", headers=kept).status_code == 401
    store = world.collector.store
    (name,) = [one.name for one in store.tokens.listed() if one.scope is Scope.READ]
    store.tokens.revoke(name)
    world.collector.access._allowed.clear()  # a second later
    assert world.get(page, headers=kept | person).status_code == 403


@pytest.mark.parametrize("number", ["0", "2", "-1", "x", "1.0", "9" * 9, "9" * 30, "9" * 5000, "%D9%A1"])
def test_numbers_that_name_nothing_are_not_found(world, number):
    for address in (f"{RELEASES}/{number}", f"{RELEASES}/{number}/page", f"/v1/surveys/visits/reports/{number}"):
        assert world.get(address, headers=world.reader).status_code == 404


def test_before_the_first_release_a_person_is_told_so(world):
    answer = world.get("/surveys/visits/page", headers=world.reader)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "Nothing is published yet" in answer.text


def test_a_person_is_asked_for_the_token_in_the_language_of_the_survey(world):
    person = {"Accept": "text/html,*/*;q=0.8"}
    world.collector.store.shelf.set_outlet(SURVEY, Outlet(language="fr"))
    asked = world.get("/surveys/visits/page", headers=person)
    assert (asked.status_code, '<html lang="fr">' in asked.text) == (401, True)
    assert "Les pages de cette enquête ne sont pas publiques." in asked.text
    style = re.search("<style>(.*)</style>", asked.text)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in asked.headers["content-security-policy"]
    wrong = world.post("/surveys/visits/page", data={"token": "x" * 43}, headers=person)
    assert "Ce jeton n’ouvre pas les pages de cette enquête" in wrong.text
    assert "token" not in re.sub("<[^>]*>|<style>.*</style>", "", wrong.text)
    assert "Rien n’est encore publié" in world.get("/surveys/visits/page", headers=world.reader).text


def test_a_collector_without_a_key_has_none_to_show(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with TestClient(make_app(Collector(store, tmp_path))) as client:
        assert client.get("/v1/key").status_code == 404
    store.close()


def test_the_collector_publishes_by_itself_when_a_month_is_over(world):
    world.portal.call(world.collector.tend_once)
    assert world.get(RELEASES, headers=world.reader).json()["releases"] == []
    world.clock[0] = datetime(2026, 12, 2, 1, tzinfo=UTC)
    world.portal.call(world.collector.tend_once)
    (listed,) = world.get(RELEASES, headers=world.reader).json()["releases"]
    assert (listed["number"], listed["last"], listed["n_periods"]) == (1, "2026-11-30", 30)


def test_a_release_that_cannot_be_made_keeps_nothing_from_closing(world, monkeypatch):
    monkeypatch.setattr(world.collector.publisher, "publish_due", lambda *_: 1 / 0)
    world.portal.call(world.collector.tend_once)
    assert world.collector.store.n_closed(SURVEY) == TODAY + 1


def test_all_addresses_are_described(world):
    described = document()["paths"]
    for route in world.collector.outlets.routes():
        assert route.path in described
