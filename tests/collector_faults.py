"""Faults of a collector under load. Tests run them small, benchmarks/collector_faults.py large.

Senders send every message until it is acknowledged, as clients do. A trial ends with a recount: the store's tally must
be the sum of what was sent, each message once.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from starlette.testclient import TestClient

from postgres_server import Server
from service_worlds import NOON, Running, message, survey_of
from tacit.collection.wire import ReportFile
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.randomness import SecureRandomness
from tacit.service.app import MESSAGE_TYPE, Collector, make_app
from tacit.service.mixing import mix, report_file
from tacit.service.store import Store
from tacit.service.tokens import Scope

SURVEY = survey_of(Domain(TimeAxis("2026-01-01", "day"), PlaceAxis.of([f"place {n}" for n in range(17)])), late=3)
AGAIN = (429, 503)
"""The answers after which a client sends the same again; any other but 200 is a failure of the trial."""


@dataclass
class Load:
    """Messages, who sends them, and what was answered."""

    n_messages: int
    n_reports: int
    ports: list[int]
    token: str
    answers: Counter[int] = field(default_factory=Counter)
    """How often each status came; 0 for a connection that was lost."""
    waiting: list[bytes] = field(default_factory=list)
    expected: np.ndarray = field(default_factory=lambda: np.zeros(17, np.int64))
    threads: list[threading.Thread] = field(default_factory=list)

    def __post_init__(self) -> None:
        form, today = SURVEY.form, SURVEY.now(datetime.now(UTC))
        for _ in range(self.n_messages):
            cells = np.arange(self.n_reports) % 17
            data = form.randomize(np.full(self.n_reports, today), cells, randomness=SecureRandomness())
            batch = form.parse(data)
            self.expected += form.mechanism.statistics(batch.reports, batch.run_lengths)[0]
            self.waiting.append(data)

    @property
    def is_over(self) -> bool:
        return not any(thread.is_alive() for thread in self.threads)

    def start(self, n_senders: int = 3) -> None:
        self.threads = [threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(n_senders)]
        for thread in self.threads:
            thread.start()

    def finish(self, seconds: float = 300) -> None:
        """Wait until everything is acknowledged."""
        for thread in self.threads:
            thread.join(seconds)
        assert self.is_over, "not everything was acknowledged in time"

    def _work(self, number: int) -> None:
        while self.waiting:
            try:
                body = self.waiting.pop()
            except IndexError:
                return
            while self._status(body, number) != 200:
                number += 1  # the next server
                time.sleep(0.02)

    def _status(self, body: bytes, number: int) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[number % len(self.ports)], timeout=60)
        headers = {"Content-Type": MESSAGE_TYPE, "Authorization": f"Bearer {self.token}"}
        try:
            connection.request("POST", f"/v1/surveys/{SURVEY.id}/reports", body, headers)
            answer = connection.getresponse()
            content = answer.read()
            status = answer.status
            if status not in (200, *AGAIN) or (status != 200 and "type" not in json.loads(content)):
                self.answers[-status] += 1
        except (OSError, http.client.HTTPException):
            status = 0
        finally:
            connection.close()
        self.answers[status] += 1
        return status


@dataclass(frozen=True)
class Trial:
    """What came of a trial."""

    n_faults: int
    n_messages: int
    n_again: int
    """How often a message was sent again: refused for now, or without an answer."""
    n_refused: int
    """How many of these were refusals with a problem document."""
    is_right: bool
    """Whether the tally is the sum of all messages, each once, and every answer was one of those expected."""


def judged(load: Load, store: Store, n_faults: int) -> Trial:
    """Wait for the senders and count again."""
    load.finish()
    tally = store.tally(SURVEY)
    recounted = np.zeros_like(load.expected)
    n_kept = 0
    for period in {SURVEY.period_of(bin) for bin in np.flatnonzero(tally.reports).tolist()}:
        for _, rows in store.runs(SURVEY, period):
            recounted += SURVEY.form.mechanism.statistics(rows, np.array([len(rows)]))[0]
            n_kept += len(rows)
    is_right = (
        tally.n_reports == n_kept == load.n_messages * load.n_reports
        and tally.statistics.sum(axis=0).tolist() == load.expected.tolist() == recounted.tolist()
        and not any(status < 0 for status in load.answers)
        and load.answers[200] == load.n_messages
    )
    again = load.answers.total() - load.answers[200]
    return Trial(n_faults, load.n_messages, again, sum(load.answers[one] for one in AGAIN), is_right)


@contextmanager
def servers(database: str, folder: Path, n: int = 1) -> Iterator[tuple[list[Running], Store, str]]:
    """Collectors that share a database, each a process of its own."""
    store = Store(database)
    store.add_survey(SURVEY)
    token = store.tokens.new(Scope.WRITE, SURVEY.id)
    made = []
    try:
        for number in range(n):
            port = free_port()
            url = f"http://127.0.0.1:{port}/v1/surveys/{SURVEY.id}"
            made.append(Running(url, database, folder / "collected", port, folder / f"log {number}"))
        for one in made:
            one.start()
        yield made, store, token
    finally:
        for one in made:
            if one.process is not None and one.process.poll() is None:
                one.stop()
        store.close()


def killed(database: str, folder: Path, *, n_kills: int, n_messages: int) -> Trial:
    """Kill the collector at random moments."""
    rng = np.random.default_rng()
    with servers(database, folder) as ((running,), store, token):
        load = Load(n_messages, 10, [running.port], token)
        load.start()
        done = 0
        while done < n_kills and not load.is_over:
            time.sleep(rng.uniform(0, 0.3))
            running.stop(signal.SIGKILL)
            running.start()
            done += 1
        return judged(load, store, done)


def cut(server: Server, database: str, folder: Path, *, n_cuts: int, n_messages: int) -> Trial:
    """Two collectors on one PostgreSQL: cut the senders' connections, and those of the collectors to the database."""
    rng = np.random.default_rng()
    gone = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{_name_of(database)}'"
    with servers(database, folder, 2) as (running, store, token), Cuts([one.port for one in running]) as cuts:
        load = Load(n_messages, 10, cuts.ports, token)
        load.start()
        done = 0
        while done < n_cuts and not load.is_over:
            time.sleep(rng.uniform(0, 0.1))
            if done % 2:
                server.run(gone)
            else:
                cuts.cut()
            done += 1
        return judged(load, store, done)


def stopped(server: Server, database: str, folder: Path, *, n_stops: int, n_messages: int) -> Trial:
    """Stop PostgreSQL, crashed and in order by turns, and start it again; the collector runs on."""
    with servers(database, folder) as ((running,), store, token):
        load = Load(n_messages, 10, [running.port], token)
        load.start()
        done = 0
        while done < n_stops and not load.is_over:
            server.stop("fast" if done % 2 else "immediate")
            _wait_for_refusals(load)
            server.start()
            done += 1
        assert running.process is not None
        assert running.process.poll() is None, "the collector ended"
        return judged(load, store, done)


def filled(
    database: str, folder: Path, *, n_times: int, n_messages: int, n_reports: int, full: Callable[[int], Room]
) -> Trial:
    """Let the disk be full, and make room again; the collector runs on. ``full`` is told its process."""
    with servers(database, folder) as ((running,), store, token):
        assert running.process is not None
        load = Load(n_messages, n_reports, [running.port], token)
        room, done = full(running.process.pid), 0
        load.start()
        while not load.is_over:
            _wait_for_refusals(load)
            room()
            done += 1
            if done == n_times:
                break
            room = full(running.process.pid)
        assert running.process.poll() is None, "the collector ended"
        return judged(load, store, done)


Room = Callable[[], None]
"""Makes room again."""


def limited(n_bytes: int, server: Server | None = None) -> Callable[[int], Room]:
    """Let no file of the collector, or of a PostgreSQL server, grow beyond a size: writing fails as on a full disk."""

    def limit(processes: list[int], size: str) -> None:
        prefix = () if server is None else server.prefix  # a process is limited by its own user
        calls = "; ".join(f"prlimit --pid={one} --fsize={size}:unlimited" for one in processes)
        # those that have ended meanwhile need no limit
        subprocess.run([*prefix, "sh", "-c", calls], stderr=subprocess.DEVNULL, cwd="/")

    def full(process: int) -> Room:
        def processes() -> list[int]:
            return [process] if server is None else children(server)

        limit(processes(), str(n_bytes))
        return lambda: limit(processes(), "unlimited")

    return full


def children(server: Server) -> list[int]:
    """The processes of a PostgreSQL server; new ones inherit the limits of the first."""
    first = server.process()
    listed = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    return [first, *map(int, listed)]


def turned(database: str, folder: Path, *, n_jumps: int) -> Trial:
    """Two collectors whose clocks jump by days, back and forth, each on its own. What is closed must stay closed."""
    rng = np.random.default_rng()
    clocks = [Clock(), Clock()]
    stores = [Store(database) for _ in clocks]
    survey = survey_of(late=1, is_open=True)
    stores[0].add_survey(survey)
    made = [Collector(store, folder / "collected", clock=clock) for store, clock in zip(stores, clocks, strict=True)]
    acknowledged: Counter[tuple[int, bytes]] = Counter()
    n_closed, answers, n_messages = 0, Counter[int](), 0
    with ExitStack() as stack:
        clients = [stack.enter_context(TestClient(make_app(one), raise_server_exceptions=False)) for one in made]
        for _ in range(n_jumps):
            clocks[rng.integers(2)].now += timedelta(days=int(rng.integers(-3, 5)))
            for number in rng.permutation(2).tolist():
                day = max(0, survey.now(clocks[number].now) - int(rng.integers(0, 2)))
                data = message(survey, [day] * 3)
                answer = clients[number].post(
                    f"/v1/surveys/{survey.id}/reports", content=data, headers={"Content-Type": MESSAGE_TYPE}
                )
                answers[answer.status_code] += 1
                n_messages += 1
                if answer.status_code == 200:
                    acknowledged.update((day, row.tobytes()) for row in survey.form.parse(data).reports)
                if rng.integers(3) == 0:
                    clients[number].portal.call(made[number].tend_once)
                now_closed = stores[number].n_closed(survey)
                assert now_closed >= n_closed, "a closed period was opened"
                n_closed = now_closed
    mix(stores[0], survey, folder / "collected")
    kept: Counter[tuple[int, bytes]] = Counter()
    for period in range(n_closed):
        path = report_file(survey, period, folder / "collected")
        if path.exists():
            for _, _, rows in ReportFile.open(path).batches():
                kept.update((period, row.tobytes()) for row in rows)
    for period in range(n_closed, n_closed + 100 * n_jumps):
        for _, rows in stores[0].runs(survey, period):
            kept.update((period, row.tobytes()) for row in rows)
        if period > max((day for day, _ in acknowledged), default=0):
            break
    is_right = kept == acknowledged and stores[0].tally(survey).n_reports == acknowledged.total()
    is_right = is_right and set(answers) <= {200, 409} and answers[200] > 0
    for store in stores:
        store.close()
    return Trial(n_jumps, n_messages, 0, answers[409], is_right)


class Clock:
    """A clock that is turned."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@contextmanager
def small_disk(n_bytes: int) -> Iterator[tuple[Path, Callable[[int], Room]]]:
    """A disk of its own in memory (needs root). It is filled up by one file, which is deleted to make room."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", folder], check=True)

    def full(_: int) -> Room:
        ballast = folder / "ballast"
        try:
            with ballast.open("wb", 0) as file:
                while True:
                    file.write(bytes(4096))
        except OSError:
            return ballast.unlink

    try:
        yield folder, full
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for_refusals(load: Load, n: int = 3, seconds: float = 60) -> None:
    """Wait until some messages were refused since now."""
    before, end = load.answers[503], time.monotonic() + seconds
    while load.answers[503] < before + n and not load.is_over:
        assert time.monotonic() < end, "nothing was refused"
        time.sleep(0.01)


class Cuts:
    """Stands between senders and servers, and cuts all connections when told to."""

    def __init__(self, targets: list[int]) -> None:
        self._targets = targets
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._listening: list[asyncio.Server] = []
        self.ports: list[int] = []

    def __enter__(self) -> Cuts:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(30)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    def cut(self) -> None:
        """Cut every connection, without a word to either side."""
        self._loop.call_soon_threadsafe(lambda: [one.transport.abort() for one in self._open])

    async def _listen(self) -> None:
        for target in self._targets:

            async def meet(reader, writer, target=target):
                await self._join(reader, writer, target)

            self._listening.append(await asyncio.start_server(meet, "127.0.0.1", 0))
            self.ports.append(self._listening[-1].sockets[0].getsockname()[1])

    async def _end(self) -> None:
        for one in self._listening:
            one.close()
        for writer in self._open:
            writer.transport.abort()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others, timeout=10) if others else None

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: int) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.transport.abort()
            return
        pair = {writer, there_writer}
        self._open |= pair
        await asyncio.gather(_pump(reader, there_writer), _pump(there_reader, writer))
        self._open -= pair


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def new_database(server: Server) -> str:
    name = f"faults_{secrets.token_hex(6)}"
    server.run(f"CREATE DATABASE {name}")
    return server.url(name)


def growing_database(server: Server) -> str:
    """A database that does not compress reports, which are sorted and come to little; it fills a disk sooner."""
    url = new_database(server)
    Store(url).close()
    server.run("ALTER TABLE run ALTER reports SET STORAGE EXTERNAL", _name_of(url))
    return url


def _name_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]
