"""Told to stop under load, a collector answers what was begun, ends with 0 soon, and counted what it acknowledged."""

from __future__ import annotations

import gc
import signal
import socket
import threading
import time
from datetime import UTC, datetime

import httpx2
import pytest

from service_worlds import collector, message, survey_of
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.service.app import MESSAGE_TYPE
from tacit.service.serving import settle
from tacit.service.store import Outcome

N_SENDERS, N_BEFORE = 6, 20


def test_what_is_loaded_at_the_start_is_not_searched_for_garbage():
    before = gc.get_freeze_count()
    try:
        settle()
        assert gc.get_freeze_count() > before + 10_000
        assert len(gc.get_objects()) < 10_000
    finally:
        gc.unfreeze()


@pytest.mark.slow
def test_every_message_that_was_acknowledged_before_the_end_is_counted_once(database, tmp_path):
    survey = survey_of(Domain(TimeAxis("2026-01-01", "day"), PlaceAxis.of([f"place {n}" for n in range(17)])), late=3)
    today = survey.now(datetime.now(UTC))
    with collector(database, tmp_path / "collected", survey) as (running, store, token):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": MESSAGE_TYPE}
        acknowledged, unknown = [], []

        def send() -> None:
            with httpx2.Client(timeout=60) as client:
                while True:
                    data = message(survey, [today] * 7)
                    try:
                        answer = client.post(f"{running.url}/reports", content=data, headers=headers)
                    except httpx2.HTTPError:
                        unknown.append(data)  # it may be counted or not: a device sends it again
                        return
                    assert answer.status_code == 200
                    acknowledged.append(data)

        senders = [threading.Thread(target=send) for _ in range(N_SENDERS)]
        for sender in senders:
            sender.start()
        while len(acknowledged) < N_BEFORE:
            time.sleep(0.01)
        assert running.stop(signal.SIGTERM) == 0  # which waits for a minute at most
        for sender in senders:
            sender.join(60)
        counted = store.tally(survey).n_reports // 7
        assert len(acknowledged) <= counted <= len(acknowledged) + len(unknown)
        again = [survey.addition(data, datetime.now(UTC)) for data in (*acknowledged, *unknown)]
        outcomes = store.add(again)
        assert set(outcomes[: len(acknowledged)]) == {Outcome.SEEN}
        assert store.tally(survey).n_reports == 7 * (len(acknowledged) + len(unknown))


@pytest.mark.slow
def test_a_request_that_was_begun_is_answered_and_no_other_is_taken(tmp_path):
    survey = survey_of(Domain(TimeAxis("2026-01-01", "day"), PlaceAxis.of([f"place {n}" for n in range(17)])))
    data = message(survey, [survey.now(datetime.now(UTC))] * 500)
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, token):
        with socket.create_connection(("127.0.0.1", running.port), timeout=30) as begun:
            head = f"POST /v1/surveys/visits/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            begun.sendall(f"{head}Content-Type: {MESSAGE_TYPE}\r\nContent-Length: {len(data)}\r\n\r\n".encode())
            begun.sendall(data[:100])
            time.sleep(0.5)  # so that the request is begun before the signal comes
            running.process.send_signal(signal.SIGTERM)
            while _listens(running.port):
                time.sleep(0.01)
            begun.sendall(data[100:])
            answer = b"".join(iter(lambda: begun.recv(10_000), b""))  # it may come in parts, until the server hangs up
        assert answer.startswith(b"HTTP/1.1 200")
        assert b'"n_reports":500' in answer
        assert running.process.wait(30) == 0
        assert store.tally(survey).n_reports == 500


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        return True
    except OSError:
        return False
