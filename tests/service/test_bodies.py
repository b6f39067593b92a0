"""The bytes of a request: how many may come, how long they may take, and that nobody waits for what is refused."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from datetime import UTC, datetime
from http.client import HTTPResponse

import httpx2
import pytest
from starlette.requests import Request

from service_worlds import collector, message, survey_of
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.service.access import Access
from tacit.service.app import MESSAGE_TYPE
from tacit.service.refusals import Reason, Refused, problem
from tacit.service.settings import Settings
from tacit.service.tokens import Scope

SETTINGS = Settings(most_bytes=1024, body_seconds=1.0)


def body_of(
    parts: list[bytes], *, length: str | None = None, wait: float = 0.0, asked: list[int] | None = None
) -> bytes:
    """Read a request of these parts; before each it waits, and ``asked`` notes how often it was read from."""
    waiting = list(parts)

    async def receive():
        if asked is not None:
            asked.append(1)
        await asyncio.sleep(wait)
        part = waiting.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(waiting)}

    headers = [] if length is None else [(b"content-length", length.encode())]
    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    return asyncio.run(Access(None, SETTINGS).body(request))


@pytest.mark.parametrize("length", ["1025", "99999999999", "9" * 5000])
def test_what_announces_too_much_is_refused_before_a_byte_is_read(length):
    asked: list[int] = []
    with pytest.raises(Refused) as refused:
        body_of([b"abc"], length=length, asked=asked)
    assert (refused.value.reason, asked) == (Reason.TOO_LARGE, [])


@pytest.mark.parametrize("length", [None, "1024", "-1", "three"])
def test_what_announces_no_more_than_may_come_is_read(length):
    assert body_of([b"a" * 1000, b"b" * 24], length=length) == b"a" * 1000 + b"b" * 24


def test_what_was_not_announced_is_refused_when_it_is_too_much():
    with pytest.raises(Refused) as refused:
        body_of([b"a" * 1000, b"b" * 25])
    assert refused.value.reason is Reason.TOO_LARGE


def test_a_body_that_takes_too_long_is_refused_though_it_never_stops():
    with pytest.raises(Refused, match="within 1 seconds") as refused:
        body_of([b"a"] * 100, wait=0.3)
    status, document, headers = problem(refused.value)
    assert (status, document["type"], headers) == (408, "urn:tacit:problem:too-slow", {"Connection": "close"})


@pytest.mark.slow
def test_a_server_answers_at_once_what_is_too_large_and_in_time_what_is_too_slow(tmp_path, monkeypatch):
    monkeypatch.setenv("TACIT_BODY_SECONDS", "1")
    survey = survey_of(Domain(TimeAxis("2026-01-01", "day"), PlaceAxis.of([f"place {i}" for i in range(5)])))
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, token):
        admin = store.tokens.new(Scope.ADMIN)

        def answered(path: str, length: int, token: str) -> tuple[int, dict[str, object], float]:
            began = time.monotonic()
            with socket.create_connection(("127.0.0.1", running.port), timeout=30) as connection:
                head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
                connection.sendall(
                    f"{head}Content-Length: {length}\r\nContent-Type: {MESSAGE_TYPE}\r\n\r\nabc".encode()
                )
                found = HTTPResponse(connection)
                found.begin()
                return found.status, json.loads(found.read()), time.monotonic() - began

        for path, sent in (("/v1/surveys/visits/reports", token), ("/v1/tokens", admin), ("/surveys/visits/page", "")):
            status, said, _ = answered(path, 99_999_999_999, sent)
            assert (status, said["type"]) == (413, "urn:tacit:problem:too-large"), path
            status, said, seconds = answered(path, 10, sent)
            assert (status, said["type"], seconds >= 1) == (408, "urn:tacit:problem:too-slow", True), path
        today = survey.now(datetime.now(UTC))
        headers = {"Authorization": f"Bearer {token}", "Content-Type": MESSAGE_TYPE}
        sent = httpx2.post(f"{running.url}/reports", content=message(survey, [today]), headers=headers, timeout=30)
        assert sent.status_code == 200
        state = httpx2.get(f"{running.url}/state", headers={"Authorization": f"Bearer {admin}"}, timeout=30).json()
        assert state["refusals"] == {"too-large": 1, "too-slow": 1}
