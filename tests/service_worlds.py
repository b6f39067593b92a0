"""A survey, a store on each database, and a collector that runs as a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from tacit.collection.wire import MessageFormat
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import plan_for
from tacit.randomness import SecureRandomness
from tacit.service.app import MESSAGE_TYPE, Collector, make_app
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.tokens import Scope
from warm_processes import WarmProcess

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
TODAY = 16
"""The number of that day's period."""
DAYS = Domain(TimeAxis("2026-11-01", "day"), PlaceAxis.of([f"place {number}" for number in range(17)]))


def survey_of(domain: Domain = DAYS, *, epsilon: float = 2.0, **settings: object) -> Survey:
    """A survey of days and 17 places."""
    return Survey("visits", MessageFormat.of(plan_for(domain, epsilon=epsilon)), **settings)


def message(survey: Survey, days: list[int] | np.ndarray, places: list[int] | np.ndarray | None = None) -> bytes:
    """Reports of events on these days, at place 3 where no places are named."""
    places = np.full(len(days), 3) if places is None else np.asarray(places)
    return survey.form.randomize(np.asarray(days), places, randomness=SecureRandomness())


def free_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def when_up(port: int, process: subprocess.Popen[bytes] | WarmProcess) -> None:
    """Wait until a collector answers."""
    for _ in range(6000):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).read()
            return
        except OSError:
            time.sleep(0.02)
            assert process.poll() is None, "the collector did not start"
    raise AssertionError("the collector does not answer")


@dataclass
class Running:
    """A collector in a process of its own, which can be killed and started again."""

    url: str
    database: str
    folder: Path
    port: int
    log: Path
    process: WarmProcess | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words = ["serve", "--store", self.database, "--folder", str(self.folder), "--port", str(self.port)]
        self.process = WarmProcess.start(words, self.log)
        when_up(self.port, self.process)

    def stop(self, how: int = signal.SIGKILL) -> int:
        """Kill it, or ask it to end; returns its exit code."""
        assert self.process is not None
        self.process.send_signal(how)
        return self.process.wait(60)


@contextmanager
def collector(database: str, folder: Path, survey: Survey) -> Iterator[tuple[Running, Store, str]]:
    """A collector of a survey, its store, and a token to send reports."""
    store = Store(database)
    store.add_survey(survey)
    token = store.tokens.new(Scope.WRITE, survey.id)
    port = free_port()
    url = f"http://127.0.0.1:{port}/v1/surveys/{survey.id}"
    running = Running(url, database, folder, port, folder.with_name("log"))
    running.start()
    try:
        yield running, store, token
    finally:
        if running.process is not None and running.process.poll() is None:
            running.stop()
        store.close()


class Clock:
    """A clock that tests turn."""

    now = NOON

    def __call__(self):
        return self.now


class World:
    """A collector of one survey with all of its tokens, and a client to ask it."""

    def __init__(self, store, folder, survey, settings=None):
        self.store, self.clock = store, Clock()
        self.store.add_survey(survey)
        self.tokens = {scope: store.tokens.new(scope, survey.id, name=f"of-{scope.value}") for scope in Scope}
        self.collector = Collector(store, folder, settings=settings, clock=self.clock)
        self.client = TestClient(make_app(self.collector), raise_server_exceptions=False)

    def headers(self, scope, kind=None):
        return {"Authorization": f"Bearer {self.tokens[scope]}"} | ({} if kind is None else {"Content-Type": kind})

    def send(self, data, kind=MESSAGE_TYPE, scope=Scope.WRITE):
        return self.client.post("/v1/surveys/visits/reports", content=data, headers=self.headers(scope, kind))

    def get(self, what, scope=Scope.READ):
        return self.client.get(f"/v1/surveys/visits/{what}", headers=self.headers(scope))
