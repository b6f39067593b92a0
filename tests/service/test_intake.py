"""What a collector says that it takes now: asked before anything is randomized, and it leaves no trace."""

from __future__ import annotations

from datetime import timedelta

import pytest

from service_worlds import DAYS, NOON, TODAY, World, message, survey_of
from tacit.domain import Domain, TimeAxis
from tacit.mechanisms.registry import plan_for
from tacit.service.app import Collector
from tacit.service.store import Store
from tacit.service.tokens import Scope

SURVEY = survey_of(late=1)


def asked(world, token=None):
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = world.client.get("/v1/surveys/visits/intake", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


def test_it_says_which_periods_are_taken_and_that_the_token_may_send(world):
    assert asked(world, world.tokens[Scope.WRITE]) == {
        "plan": SURVEY.form.plan_id,
        "access": "allowed",
        "is_simulation": False,
        "first": TODAY - 1,
        "last": TODAY,
        "first_label": "2026-11-16",
        "last_label": "2026-11-17",
    }


@pytest.mark.parametrize(("token", "access"), [(None, "no-token"), ("wrong", "no-right"), (Scope.READ, "no-right")])
def test_it_says_why_a_token_may_not(world, token, access):
    assert asked(world, world.tokens.get(token, token))["access"] == access


def test_what_it_says_is_what_is_counted(world):
    told = asked(world, world.tokens[Scope.WRITE])
    for day in range(TODAY - 3, TODAY + 3):
        is_taken = told["first"] <= day <= told["last"]
        assert (world.send(message(SURVEY, [day])).status_code == 200) is is_taken


def test_a_period_that_was_closed_by_hand_is_not_taken(world):
    world.client.post("/v1/surveys/visits/close?until=2026-11-16", headers=world.headers(Scope.ADMIN))
    assert asked(world)["first"] == TODAY
    world.client.post("/v1/surveys/visits/close?until=2026-11-17", headers=world.headers(Scope.ADMIN))
    told = asked(world)
    assert (told["first"], told["last"], told["first_label"], told["last_label"]) == (None,) * 4


def test_before_the_first_period_nothing_is_taken(world):
    world.clock.now = NOON - timedelta(days=60)
    assert asked(world)["first"] is None


def test_asking_leaves_no_trace(world):
    before = world.store.n_rows()
    asked(world, world.tokens[Scope.WRITE])
    asked(world, "wrong")
    asked(world)
    world.collector.ingest.flush()
    assert world.store.n_rows() == before
    assert world.store.refusals(SURVEY) == {}
    assert world.collector.ingest.activity.hours("visits") == Collector(
        world.store, world.collector.folder, clock=world.clock
    ).ingest.activity.hours("visits")


def test_a_survey_that_hides_the_time_is_one_period_and_an_open_one_needs_no_token(tmp_path):
    domain = Domain(TimeAxis.between("2026-11-01", "2026-11-30"), DAYS.place)
    survey = survey_of(domain, is_open=True)
    hidden = type(survey)(
        "visits", type(survey.form).of(plan_for(domain, epsilon=2.0, private=("time", "place"))), is_open=True
    )
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    world = World(store, tmp_path, hidden)
    with world.client:
        told = asked(world)
        assert (told["access"], told["first"], told["last"], told["last_label"]) == ("allowed", 0, 0, "all")
        world.clock.now = NOON + timedelta(days=60)
        assert asked(world)["first"] is None
    store.close()
