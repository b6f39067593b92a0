"""What a collector answers at each of its addresses, with a real store behind it."""

from __future__ import annotations

import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from service_worlds import DAYS, NOON, TODAY, World, message, survey_of
from tacit import central_plan_for
from tacit.counts.tally import Tally
from tacit.domain import Domain, TimeAxis
from tacit.plan import Plan
from tacit.release import Release
from tacit.service.app import MESSAGE_TYPE, make_app
from tacit.service.openapi import document
from tacit.service.refusals import STATUS, Reason
from tacit.service.settings import Settings
from tacit.service.store import Store
from tacit.service.tokens import Scope

SURVEY = survey_of(late=1)
REPORTS = "/v1/surveys/visits/reports"


def refused(answer, reason):
    """Check that an answer is a problem document of this reason."""
    content = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (content["type"], content["status"]) == (f"urn:tacit:problem:{reason.value}", answer.status_code)
    assert answer.status_code == STATUS[reason]
    assert content["title"]
    assert content["detail"]
    return content["detail"]


def test_the_plan_is_public_and_is_the_plan(world):
    answer = world.client.get("/v1/surveys/visits/plan")
    assert Plan.from_dict(answer.json()).fingerprint == SURVEY.form.plan_id


def test_a_message_is_counted_and_sent_again_it_is_seen(world):
    data = message(SURVEY, [TODAY] * 5)
    assert world.send(data).json() == {"outcome": "counted", "n_reports": 5}
    assert world.send(data).json() == {"outcome": "seen", "n_reports": 5}
    assert world.store.tally(SURVEY).n_reports == 5


def single(**changed):
    content = {"id": secrets.token_hex(16), "report": "000100", "time": "2026-11-17T08:15:30+00:00"} | changed
    return json.dumps({name: value for name, value in content.items() if value is not None})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"id": 7_654_321}, "id must be text."),
        ({"report": ["7654321"]}, "report must be text."),
        ({"place": 7_654_321}, "place must be text."),
        ({"time": {}}, "time must be text."),
        ({"id": ...}, "id is missing."),
        ({"report": ...}, "report is missing."),
        ({"place_7654321": "x"}, "there is a key that is none of id, report, time, place, kind."),
        ({"id": "7654321z" * 4}, "id must be in hexadecimal."),
        ({"report": "7654321z"}, "report must be in hexadecimal."),
        ({"id": "7654321f"}, "id must have 16 bytes, in hexadecimal 32 digits."),
        ({"report": "7654321f"}, f"report must have {SURVEY.form.report_bytes} bytes"),
        (None, "this is no JSON object."),
        ("{7654321", "this cannot be read as JSON."),
    ],
)
def test_of_a_report_in_json_the_key_at_fault_is_named_and_no_value(world, changed, said):
    right = {"id": secrets.token_hex(16), "report": "00" * SURVEY.form.report_bytes, "time": "2026-11-17"}
    if isinstance(changed, dict):
        changed = {key: value for key, value in (right | changed).items() if value is not ...}
    body = changed if isinstance(changed, str) else json.dumps(changed)
    detail = refused(world.send(body, "application/json"), Reason.MALFORMED)
    assert detail.startswith(said)
    assert "7654321" not in detail


@pytest.mark.false_failure(0)
def test_one_report_in_json_is_the_same_as_a_message_of_one(world, seed):
    report = SURVEY.form.mechanism.randomize(np.array([4]), randomness=_seeded(seed))[0].tobytes().hex()
    body = single(report=report)
    assert world.send(body, "application/json").json() == {"outcome": "counted", "n_reports": 1}
    assert world.send(body, "application/json").json()["outcome"] == "seen"
    tally = world.store.tally(SURVEY)
    rows = np.frombuffer(bytes.fromhex(report), np.uint8)[None]
    assert tally.statistics[TODAY].tolist() == SURVEY.form.mechanism.statistics(rows, np.array([1]))[0].tolist()


def _seeded(seed):
    from tacit.randomness import SeededRandomness

    return SeededRandomness(seed)


@pytest.mark.parametrize(
    ("body", "kind", "reason"),
    [
        (b"", MESSAGE_TYPE, Reason.MALFORMED),
        (b"TACITMSG", MESSAGE_TYPE, Reason.MALFORMED),
        (message(SURVEY, [TODAY])[:-9] + bytes(9), MESSAGE_TYPE, Reason.DAMAGED),
        (message(SURVEY, [TODAY])[:-1], MESSAGE_TYPE, Reason.DAMAGED),
        (message(SURVEY, [TODAY]), "text/plain", Reason.MEDIA_TYPE),
        (message(SURVEY, [TODAY]), "", Reason.MEDIA_TYPE),
        (message(survey_of(epsilon=3.0), [TODAY]), MESSAGE_TYPE, Reason.OTHER_PLAN),
        (message(SURVEY, [TODAY + 1]), MESSAGE_TYPE, Reason.EARLY),
        (message(SURVEY, [TODAY - 2]), MESSAGE_TYPE, Reason.LATE),
        (message(SURVEY, []), MESSAGE_TYPE, Reason.EMPTY),
        ("", "application/json", Reason.MALFORMED),
        ("[]", "application/json", Reason.MALFORMED),
        (single(id="00"), "application/json", Reason.MALFORMED),
        (single(id="zz" * 16), "application/json", Reason.MALFORMED),
        (single(report="00"), "application/json", Reason.MALFORMED),
        (single(report="ffffff"), "application/json", Reason.MALFORMED),
        (single(time=None), "application/json", Reason.MALFORMED),
        (single(place="place 3"), "application/json", Reason.MALFORMED),
        (single(time="2026-11-19"), "application/json", Reason.EARLY),
        (single(place_of_birth="x"), "application/json", Reason.MALFORMED),
    ],
    ids=lambda given: given.value if isinstance(given, Reason) else "" if given == "" else "sent",
)
def test_what_cannot_be_counted_is_refused_with_its_reason_and_counted_as_refused(world, body, kind, reason):
    refused(world.send(body, kind), reason)
    world.collector.ingest.flush()
    assert world.store.refusals(SURVEY) == {reason.value: 1}
    assert world.store.tally(SURVEY).n_reports == 0


def test_a_refusal_repeats_nothing_that_was_sent(world):
    for field in ("id", "report", "time", "kind"):
        assert "s3cret" not in world.send(single(**{field: "s3cret"}), "application/json").text


@pytest.mark.parametrize(
    ("token", "reason"), [(None, Reason.NO_TOKEN), ("wrong", Reason.NO_RIGHT), (Scope.READ, Reason.NO_RIGHT)]
)
def test_sending_needs_a_token_to_write(world, token, reason):
    given = world.tokens.get(token, token)
    headers = {} if given is None else {"Authorization": f"Bearer {given}"}
    answer = world.client.post(REPORTS, content=message(SURVEY, [TODAY]), headers=headers)
    refused(answer, reason)
    assert ("www-authenticate" in answer.headers) == (token is None)


def test_a_token_that_was_taken_back_is_refused_a_second_later(world, monkeypatch):
    assert world.send(message(SURVEY, [TODAY])).status_code == 200
    world.store.tokens.revoke("of-write")
    world.collector.access._allowed.clear()
    refused(world.send(message(SURVEY, [TODAY])), Reason.NO_RIGHT)


def test_an_open_survey_needs_none(tmp_path):
    survey = survey_of(is_open=True)
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    made = World(store, tmp_path, survey)
    with made.client:
        answer = made.client.post(REPORTS, content=message(survey, [TODAY]), headers={"Content-Type": MESSAGE_TYPE})
    assert answer.status_code == 200
    store.close()


def test_limits_on_size_and_rate(tmp_path, monkeypatch):
    """One message in ten seconds is the slowest rate that can be set."""
    now = [100.0]
    monkeypatch.setattr("tacit.service.access.time", SimpleNamespace(monotonic=lambda: now[0]))
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    made = World(store, tmp_path, SURVEY, settings=Settings(most_bytes=1024, per_second=0.1))
    with made.client:
        assert made.send(message(SURVEY, [TODAY])).status_code == 200
        now[0] += 2
        answer = made.send(message(SURVEY, [TODAY]))
        refused(answer, Reason.TOO_MANY)
        assert answer.headers["retry-after"] == "8"
        now[0] += 8
        refused(made.send(bytes(1025)), Reason.TOO_LARGE)
        now[0] += 10
        assert made.send(message(SURVEY, [TODAY])).status_code == 200
        made.collector.ingest.flush()
        assert store.refusals(SURVEY) == {"too-large": 1, "too-many": 1}
    store.close()


def filled(world, n=4000):
    """Count events of two days, all at place 3 on the first, and close both."""
    world.send(message(SURVEY, [TODAY - 1] * n))
    world.send(message(SURVEY, [TODAY] * n, np.arange(n) % 17))
    refused(world.get("counts"), Reason.NOT_SHOWN)
    world.clock.now = NOON + timedelta(days=2)
    answer = world.client.post("/v1/surveys/visits/close", headers=world.headers(Scope.ADMIN))
    assert answer.json() == {"n_closed": TODAY + 1, "release": 1, "alarms": world.store.alarms(SURVEY)}


def test_counts_answers_releases_and_tallies_of_closed_periods_agree(world, tmp_path):
    filled(world)
    (tmp_path / "got.parquet").write_bytes(world.get("release").content)
    release = Release.read(tmp_path / "got.parquet")
    (tmp_path / "got.tally").write_bytes(world.get("tally").content)
    assert Tally.read(tmp_path / "got.tally") == world.store.tally(SURVEY)
    found = release.answer(first="2026-11-16", last="2026-11-16", places=["place 3"])
    answer = world.get("answer?first=2026-11-16&last=2026-11-16&place=place%203").json()
    assert (answer["value"], answer["lower"], answer["upper"]) == (found.value, found.lower, found.upper)
    columns = world.get("counts?by=month").json()["columns"]
    assert len(columns["place"]) == 17
    assert world.get("reports/15").content[:8] == b"TACITRPT"
    refused(world.get("reports/3"), Reason.UNKNOWN)


@pytest.mark.parametrize(
    "what", ["counts?by=fortnight", "answer?first=soon", "answer?place=nowhere", "answer?kind=x", "counts?place=x"]
)
def test_a_question_that_cannot_be_answered_says_why(world, what):
    filled(world, 100)
    name = what.partition("?")[2].partition("=")[0]
    assert refused(world.get(what), Reason.QUESTION).startswith(f"{name} must ")


@pytest.mark.parametrize("what", ["counts", "answer", "release", "tally", "reports/1", "state"])
def test_reading_needs_a_token_to_read(world, what):
    refused(world.client.get(f"/v1/surveys/visits/{what}"), Reason.NO_TOKEN)
    refused(world.get(what, Scope.WRITE), Reason.NO_RIGHT)


def test_the_operator_sees_sums_and_nothing_of_a_device(world):
    world.send(message(SURVEY, [TODAY] * 3))
    refused(world.send(b"x"), Reason.MALFORMED)
    world.collector.ingest.flush()
    state = world.get("state", Scope.ADMIN).json()
    assert state == {
        "survey": "visits",
        "plan": SURVEY.form.plan_id,
        "n_reports": 3,
        "n_closed": 0,
        "refusals": {"malformed": 1},
        "alarms": [],
    }
    metrics = world.client.get("/metrics", headers=world.headers(Scope.ADMIN)).text
    assert 'tacit_reports_total{survey="visits"} 3' in metrics
    assert 'tacit_refusals_total{survey="visits",reason="malformed"} 1' in metrics


def test_what_is_not_there_is_a_problem_document_too(world):
    refused(world.client.get("/v1/surveys/none/plan"), Reason.UNKNOWN)
    refused(world.client.get("/nothing"), Reason.UNKNOWN)
    answer = world.client.delete("/v1/surveys/visits/plan")
    refused(answer, Reason.METHOD)
    assert "GET" in answer.headers["allow"]


def test_a_fault_of_ours_tells_nothing_and_counts_nothing(world, monkeypatch):
    monkeypatch.setattr(Store, "n_reports", lambda *_: 1 / 0)
    detail = refused(world.get("state", Scope.ADMIN), Reason.FAULT)
    assert "division" not in detail


def test_health_asks_the_store(world, monkeypatch):
    assert world.client.get("/health").json() == {"status": "ok"}
    world.store.close()
    monkeypatch.setattr(world.store._reader, "begin", _fails)
    refused(world.client.get("/health"), Reason.STORE)


def _fails():
    import sqlalchemy as sa

    raise sa.exc.OperationalError("SELECT", {}, OSError("gone"))


def test_every_address_is_described_and_every_description_is_served(world):
    described = {
        (path, method) for path, item in document()["paths"].items() for method in item if method != "parameters"
    }
    served = {
        (route.path.replace(":int", ""), method.lower())
        for route in make_app(world.collector).routes
        for method in route.methods - {"HEAD"}
    }
    assert described == served
    assert world.client.get("/openapi.json").json() == json.loads(json.dumps(document()))


def test_every_reason_has_a_status_and_a_title():
    from tacit.service import refusals

    assert set(STATUS) == set(refusals.TITLES) == set(Reason)


def test_days_are_those_of_the_plan():
    assert DAYS.time.label(TODAY) == NOON.date().isoformat()


def test_a_plan_that_cannot_be_collected_under_is_no_message_and_speaks_no_python(world):
    curator = central_plan_for(Domain(TimeAxis.between("2026-11-01", "2026-11-30"), DAYS.place), epsilon=1.0)
    edited = json.loads(SURVEY.plan.to_json()) | {"fingerprint": "0" * 32}
    for plan in ({}, {"no": "plan"}, json.loads(curator.to_json()), edited):
        body = json.dumps({"name": "another", "plan": plan})
        answer = world.client.post("/v1/surveys", content=body, headers=world.headers(Scope.ADMIN))
        detail = refused(answer, Reason.PLAN)
        assert "Send" in detail
        assert "plan_for" not in detail


@pytest.mark.parametrize(
    ("address", "given", "words"),
    [
        ("state", Scope.WRITE, "an administrator's token"),
        ("counts", Scope.WRITE, "a token to read counts"),
        ("reports", Scope.READ, "a token to send reports"),
    ],
)
def test_whoever_has_the_wrong_token_is_told_which_one_is_needed(world, address, given, words):
    method = "POST" if address == "reports" else "GET"
    for headers, reason in (({}, Reason.NO_TOKEN), (world.headers(given), Reason.NO_RIGHT)):
        answer = world.client.request(method, f"/v1/surveys/visits/{address}", headers=headers)
        assert refused(answer, reason).startswith(f"this needs {words}.")


@pytest.mark.parametrize(
    "day",
    [
        *("18/11/2026", "soon", "", "2026-11-31", "2026-W46", "2026-W46-2", "20261102", "2026-11", "2026-11-02%20"),
        *("2026-11-17T01:00", "2026-11-17T01:00Z", "2026-11-03%2001:00", "٢٠٢٦-11-02"),
    ],
)
def test_closing_until_what_is_no_day_is_told_in_these_words(world, day):
    answer = world.client.post(f"/v1/surveys/visits/close?until={day}", headers=world.headers(Scope.ADMIN))
    assert refused(answer, Reason.QUESTION) == "until must be a day in the form 2026-11-17."
    assert world.store.n_closed(SURVEY) == 0


def test_problem_documents_are_made_in_one_file():
    from tacit.service import refusals

    folder = Path(refusals.__file__).parent
    speak = [path.name for path in folder.rglob("*.py") if "urn:tacit:problem" in path.read_text("utf-8")]
    assert speak == ["refusals.py"]


def test_every_reason_stands_in_the_guides_table():
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "collecting.md").read_text("utf-8")
    table = [line.split("|")[1] for line in guide.splitlines() if line.startswith("| `")]
    assert {reason.value for reason in Reason} <= {word for cell in table for word in cell.split("`")}


def test_no_refusal_is_lost_while_others_are_written_down(world):
    """Thousands are noted while another thread writes them down again and again."""
    ingest, n = world.collector.ingest, 4_000
    with ThreadPoolExecutor(2) as pool:
        noted = pool.submit(lambda: [ingest.refused(SURVEY, Reason.LATE) for _ in range(n)])
        while not noted.done():
            ingest.flush()
    ingest.flush()
    assert world.store.refusals(SURVEY) == {"late": n}
