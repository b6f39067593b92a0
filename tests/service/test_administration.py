"""Surveys and tokens that the administrator makes while the server runs."""

from __future__ import annotations

import json

import pytest

from service_worlds import TODAY, message, survey_of
from tacit.service.app import MESSAGE_TYPE
from tacit.service.refusals import Reason
from tacit.service.shelf import Outlet
from tacit.service.tokens import Scope

SURVEY = survey_of(late=1)


def post(world, where, content, scope=Scope.ADMIN):
    return world.client.post(where, content=json.dumps(content), headers=world.headers(scope))


def reason_of(answer):
    return answer.json()["type"].rpartition(":")[2]


def test_a_survey_is_made_while_the_server_runs_and_takes_reports_at_once(world):
    asked = {"name": "calls", "plan": json.loads(SURVEY.plan.to_json()), "late": 2}
    answer = post(world, "/v1/surveys", asked).json()
    assert (answer["survey"], answer["is_new"], set(answer["tokens"])) == ("calls", True, {"write", "read"})
    headers = {"Authorization": f"Bearer {answer['tokens']['write']}", "Content-Type": MESSAGE_TYPE}
    sent = world.client.post("/v1/surveys/calls/reports", content=message(SURVEY, [TODAY]), headers=headers)
    assert sent.json() == {"outcome": "counted", "n_reports": 1}
    again = post(world, "/v1/surveys", asked).json()
    assert again == {"survey": "calls", "is_new": False, "changes": [], "tokens": {}}
    changed = post(world, "/v1/surveys", asked | {"late": 3}).json()
    assert (changed["is_new"], changed["changes"]) == (False, ["late is 3 now, and was 2."])
    assert world.store.survey("calls").late == 3
    del asked["late"]
    assert post(world, "/v1/surveys", asked).json()["changes"] == []
    other = json.loads(survey_of(epsilon=3.0).plan.to_json())
    refused = post(world, "/v1/surveys", asked | {"plan": other, "late": 9})
    assert (reason_of(refused), "whose plan is" in refused.json()["detail"]) == (Reason.QUESTION.value, True)
    assert world.store.survey("calls").late == 3
    listed = world.client.get("/v1/surveys", headers=world.headers(Scope.ADMIN)).json()["surveys"]
    assert [one["survey"] for one in listed] == ["calls", "visits"]


def test_how_a_survey_is_published_is_set_over_http_as_in_a_file(world):
    asked = {"name": "calls", "plan": json.loads(SURVEY.plan.to_json()), "open": True}
    shown = {"release_every": "week", "public": True, "title": "Appels", "noun": "appel/appels", "language": "fr"}
    assert post(world, "/v1/surveys", asked | shown).json()["is_new"]
    calls = world.store.survey("calls")
    assert world.store.shelf.outlet(calls) == Outlet("week", True, "Appels", "appel/appels", "fr")
    post(world, "/v1/surveys", asked | {"public": False, "title": "Calls"})
    assert world.store.shelf.outlet(calls) == Outlet("week", False, "Calls", "appel/appels", "fr")
    for wrong in ({"release_every": "hour"}, {"language": "xx"}, {"noun": "calls"}, {"public": 1}):
        answer = post(world, "/v1/surveys", asked | {"name": "new"} | wrong)
        assert (answer.status_code, reason_of(answer)) == (400, Reason.QUESTION.value)
    assert {one.id for one in world.store.surveys()} == {"calls", "visits"}


def changed_plan():
    plan = json.loads(SURVEY.plan.to_json())
    plan["privacy"]["epsilon"] = 9.0
    return plan


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "calls"},
        {"name": "Calls!", "plan": json.loads(SURVEY.plan.to_json())},
        {"name": "calls", "plan": {}},
        {"name": "calls", "plan": changed_plan()},
        {"name": "calls", "plan": json.loads(SURVEY.plan.to_json()), "late": -1},
        {"name": "calls", "plan": json.loads(SURVEY.plan.to_json()), "late": 10**30},
        {"name": "calls", "plan": json.loads(SURVEY.plan.to_json()) | {"name": "a\0b"}},
        {"name": "calls", "plan": json.loads(SURVEY.plan.to_json()), "title": "a\0b"},
        {"name": "calls", "plan": json.loads(SURVEY.plan.to_json()), "more": 1},
        [],
    ],
    ids=["no plan", "name", "empty plan", "changed plan", "late", "very late", "plan's name", "title", "more", "list"],
)
def test_a_survey_that_is_wrong_is_refused_and_none_is_made(world, asked):
    answer = post(world, "/v1/surveys", asked)
    assert answer.status_code == 400
    assert [one.id for one in world.store.surveys()] == ["visits"]


def test_tokens_are_made_shown_once_listed_by_name_and_taken_back(world):
    made = post(world, "/v1/tokens", {"scope": "read", "survey": "visits", "name": "desk"}).json()["token"]
    assert world.store.tokens.allows(made, Scope.READ, "visits")
    listed = world.client.get("/v1/tokens", headers=world.headers(Scope.ADMIN))
    assert {"name": "desk", "scope": "read", "survey": "visits"} in listed.json()["tokens"]
    assert made not in listed.text
    assert world.client.delete("/v1/tokens/desk", headers=world.headers(Scope.ADMIN)).json() == {"is_revoked": True}
    assert not world.store.tokens.allows(made, Scope.READ, "visits")
    gone = world.client.delete("/v1/tokens/desk", headers=world.headers(Scope.ADMIN))
    assert reason_of(gone) == Reason.UNKNOWN.value


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"scope": "all", "survey": "visits"}, Reason.QUESTION),
        ({"scope": "read"}, Reason.QUESTION),
        ({"scope": "admin", "survey": "visits"}, Reason.QUESTION),
        ({"scope": "read", "survey": "none"}, Reason.UNKNOWN),
        ({"scope": "read", "survey": "visits", "name": "of-read"}, Reason.QUESTION),
        ({"scope": 3}, Reason.QUESTION),
    ],
)
def test_a_token_that_is_asked_for_wrongly_is_refused(world, asked, reason):
    n_tokens = len(world.store.tokens.listed())
    assert reason_of(post(world, "/v1/tokens", asked)) == reason.value
    assert len(world.store.tokens.listed()) == n_tokens


@pytest.mark.parametrize("scope", [Scope.READ, Scope.WRITE])
def test_only_the_administrator_administers(world, scope):
    for method, where in (
        ("GET", "/v1/surveys"),
        ("POST", "/v1/surveys"),
        ("GET", "/v1/tokens"),
        ("POST", "/v1/tokens"),
        ("DELETE", "/v1/tokens/of-read"),
    ):
        assert world.client.request(method, where, headers=world.headers(scope)).status_code == 403
        assert world.client.request(method, where).status_code == 401
    assert len(world.store.tokens.listed()) == 3
