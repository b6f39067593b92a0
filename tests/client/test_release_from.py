"""tacit release --from: a release made here of what a real collector has counted, and everything that can be wrong."""

from __future__ import annotations

import contextlib
import threading
from datetime import timedelta

import numpy as np
import pytest
import uvicorn

from service_worlds import DAYS, NOON, TODAY, message, survey_of
from tacit.collection.tallying import estimate_tally
from tacit.mechanisms.registry import plan_for
from tacit.release import Release, SigningKey
from tacit.service.app import Collector, make_app
from tacit.service.mixing import close_due
from tacit.service.store import Store
from tacit.service.tokens import Scope

SURVEY = survey_of(late=1)


@contextlib.contextmanager
def served(application):
    """The address of a server in a thread of this process."""
    server = uvicorn.Server(uvicorn.Config(application, port=0, log_config=None, lifespan="off"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(20)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A collector with thirty reports, of which twenty are of closed days."""
    folder = tmp_path_factory.mktemp("collector")
    store = Store(f"sqlite:///{folder / 'collector.sqlite'}")
    store.add_survey(SURVEY)
    store.add([SURVEY.addition(message(SURVEY, [TODAY - 1] * 12 + [TODAY] * 8), NOON)])
    store.add([SURVEY.addition(message(SURVEY, [TODAY + 2] * 10), NOON + timedelta(days=2))])
    close_due(store, SURVEY, NOON + timedelta(days=2), folder)
    SURVEY.plan.write(folder / "plan.toml")
    plan_for(DAYS, epsilon=3.0).write(folder / "other.toml")
    with served(make_app(Collector(store, folder))) as address:
        yield folder, f"{address}/v1/surveys/visits", store, store.tokens.new(Scope.READ, "visits")
    store.close()


def test_closed_periods_are_released_with_all_options(world, tacit, tmp_path):
    folder, url, store, token = world
    SigningKey.create(tmp_path / "a.key")
    ran = tacit("release", "--from", url, "--token", token, "--out", "r.parquet", "--sign-with", "a.key")
    assert ran.code == 0, ran.err
    made = Release.read(tmp_path / "r.parquet", signed_by=tmp_path / "a.pub")
    assert made.plan.fingerprint == SURVEY.plan.fingerprint
    expected = estimate_tally(store.tally(SURVEY, n_bins=SURVEY.n_bins(TODAY + 1)), SURVEY.plan)
    assert np.array_equal(made.unbiased.values, expected.values)
    assert made.unbiased.totals.sum() == 20
    options = ("--by", "week", "--suppress", "count < 1", "--revises", "r.parquet", "--plan", str(folder / "plan.toml"))
    ran = tacit("release", "--from", f"{url}/", "--token", token, "--out", "w.parquet", *options)
    assert ran.code == 0, ran.err
    assert (Release.read(tmp_path / "w.parquet").version.number, "Version 2" in ran.out) == (2, True)


def test_the_reports_themselves_are_fetched_where_they_are_needed(world, tacit, tmp_path):
    _, url, _, token = world
    ran = tacit("release", "--from", url, "--token", token, "--out", "r.parquet", "--refine", "likelihood")
    assert ran.code == 0, ran.err
    assert Release.read(tmp_path / "r.parquet").refinement == "likelihood of reports"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ((), 2, "token to read"),
        (("--token", "wrong"), 2, "token to read"),
        (("--token", "{token}", "--plan", "{other}"), 4, "was made under plan"),
        (("--token", "{token}", "--reports", "x"), 2, "Leave --reports out"),
        (("x.tally", "--token", "{token}"), 2, "Give one of them"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(world, tacit, tmp_path, words, code, said, monkeypatch):
    folder, url, _, token = world
    monkeypatch.delenv("TACIT_TOKEN", raising=False)
    given = [word.format(token=token, other=folder / "other.toml") for word in words]
    refine = ("--refine", "likelihood") if "--reports" in given else ()
    ran = tacit("release", "--from", url, "--out", "r.parquet", *given, *refine)
    assert said in ran.err
    assert ran.code == code, ran.err
    assert not (tmp_path / "r.parquet").exists()


def test_addresses_that_lead_nowhere(world, tacit, tmp_path):
    _, url, _, token = world
    with served(_teapot()) as teapot:
        for address, said in (
            ("http://127.0.0.1:1/v1/surveys/visits", "does not answer"),
            ("visits", "begins with https://"),
            ("http://[bad", "does not answer"),
            (f"{teapot}/v1/surveys/visits", "there is no collector"),
            (url.replace("visits", "none"), "no survey of this name"),
        ):
            ran = tacit("release", "--from", address, "--token", token, "--out", "r.parquet")
            assert (said in ran.err, ran.code != 0, "Traceback" in ran.err) == (True, True, False), ran.err
    assert not (tmp_path / "r.parquet").exists()


def test_a_survey_without_closed_reports_says_so(tacit, tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    store.add_survey(SURVEY)
    token = store.tokens.new(Scope.READ, "visits")
    with served(make_app(Collector(store, tmp_path))) as address:
        ran = tacit("release", "--from", f"{address}/v1/surveys/visits", "--token", token, "--out", "r.parquet")
    assert ran.code == 1, ran.err
    assert "no period with reports is closed yet" in ran.err
    store.close()


def _teapot():
    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 418, "headers": []})
        await send({"type": "http.response.body", "body": b"short and stout"})

    return answer


def test_a_collector_that_lies_is_not_believed(tacit, tmp_path):
    """A plan whose thresholds do not give its epsilon, a tally that is none, a tally of another plan."""
    other = survey_of(epsilon=3.0)
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    store.add_survey(other)
    store.add([other.addition(message(other, [TODAY] * 5), NOON)])
    path = tmp_path / "other.tally"
    store.tally(other).write(path)
    store.close()
    good = SURVEY.plan.to_json().encode()
    weaker = good.replace(b'"epsilon":2.0', b'"epsilon":0.5').replace(b'"epsilon": 2.0', b'"epsilon": 0.5')
    assert weaker != good
    for plan, tally, said in (
        (weaker, b"", "gave no plan"),
        (b"[]", b"", "gave no plan"),
        (good, b"no tally", "damaged tally"),
        (good, path.read_bytes(), "was made under plan"),
    ):
        with served(_answering({"/s/plan": plan, "/s/tally": tally})) as address:
            ran = tacit("release", "--from", f"{address}/s", "--out", "r.parquet")
        assert said in ran.err, ran.err
        assert ran.code != 0
        assert not (tmp_path / "r.parquet").exists()


def _answering(contents):
    async def answer(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": contents[scope["path"]]})

    return answer
