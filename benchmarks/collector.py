"""How many reports a collector counts, beside the same server that forgets them and a bare handler that writes rows.

    python benchmarks/collector.py              # PostgreSQL and SQLite; needs the environment of the tests
    python benchmarks/collector.py --singles 5  # single reports alone, five times, and the fastest of each
    python benchmarks/collector.py --releasing  # single reports while a release of 90 places and 365 days is made

The server and the senders share the machine, so figures are ratios of one run. Messages have 20,000 reports of 17
places; single reports are JSON at 500 a second. Every count is checked against what was sent. PostgreSQL waits for the
disk, as does SQLite, ours and the peer's; how long the disk takes without any of them stands above each table. Faults
are tried by ``collector_faults.py``.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from postgres_server import running as postgres_running  # noqa: E402
from tacit.collection.wire import MessageFormat  # noqa: E402
from tacit.domain import Domain, PlaceAxis, TimeAxis  # noqa: E402
from tacit.mechanisms.registry import plan_for  # noqa: E402
from tacit.randomness import SecureRandomness  # noqa: E402
from tacit.service.app import MESSAGE_TYPE, Collector, make_app  # noqa: E402
from tacit.service.commits import Outcome  # noqa: E402
from tacit.service.making import Apart  # noqa: E402
from tacit.service.serving import settle  # noqa: E402
from tacit.service.settings import Settings  # noqa: E402
from tacit.service.store import Store  # noqa: E402
from tacit.service.survey import Survey  # noqa: E402

SERVERS = {"discard": "parsed and forgotten", "ours": "counted", "rows": "rows, bare handler"}
RELEASING = {"here": "in the same process", "apart": "in its own process"}
ADMIN = "a" * 43
N_PLACES = 17
PER_MESSAGE = 20_000
N_MESSAGES = 200
N_SINGLE, PER_SECOND = 5_000, 500
ADDRESS = "/v1/surveys/visits/reports"


def survey() -> Survey:
    places = PlaceAxis.of([f"place {number}" for number in range(N_PLACES)])
    plan = plan_for(Domain(TimeAxis("2026-01-01", "day"), places), epsilon=2.0)
    return Survey("visits", MessageFormat.of(plan), late=3, is_open=True)


class Forgetful(Store):
    """A store that notes nothing."""

    def add(self, additions: Any) -> list[Outcome]:
        return [Outcome.COUNTED] * len(additions)


def bare(database: str) -> Any:
    """A handler that writes a row for every report, as one would without us."""
    import sqlalchemy as sa
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    engine = sa.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    if engine.dialect.name == "sqlite":  # else its writers refuse each other

        @sa.event.listens_for(engine, "connect")
        def prepare(connection: Any, _: object) -> None:
            for pragma in ("journal_mode = WAL", "synchronous = FULL", "busy_timeout = 30000"):
                connection.execute(f"PRAGMA {pragma}")

    table = sa.Table("rows", sa.MetaData(), sa.Column("day", sa.BigInteger), sa.Column("report", sa.LargeBinary))
    table.metadata.create_all(engine)
    form = survey().form

    async def take(request: Request) -> JSONResponse:
        data = await request.body()

        def write() -> int:
            if request.headers["content-type"] == "application/json":
                rows = [{"day": 0, "report": bytes.fromhex(json.loads(data)["report"])}]
            else:
                batch = form.parse(data)
                days = np.repeat(batch.bins, batch.run_lengths).tolist()
                rows = [{"day": day, "report": row.tobytes()} for day, row in zip(days, batch.reports, strict=True)]
            with engine.begin() as connection:
                connection.execute(sa.insert(table), rows)
            return len(rows)

        return JSONResponse({"n_reports": await run_in_threadpool(write)})

    return Starlette(routes=[Route(ADDRESS, take, methods=["POST"]), Route("/health", lambda _: JSONResponse({}))])


def serve(kind: str, database: str, port: int) -> None:
    """Run one of the servers; called in a process of its own."""
    import uvicorn

    if kind == "rows":
        app = bare(database)
    else:
        store = (Forgetful if kind == "discard" else Store)(database)
        store.add_survey(survey())
        folder = Path(tempfile.mkdtemp())
        if kind in RELEASING:
            store.tokens.configure_admin(ADMIN)
            add_year(store)
        apart = Apart() if kind == "apart" else None
        app = make_app(Collector(store, folder, settings=Settings(per_second=1e9, close_every=3600), apart=apart))
    settle()  # the peer too
    uvicorn.run(app, port=port, access_log=False, log_level="error")


def add_year(store: Store) -> None:
    """Make a survey of 90 places with a year of reports, 200 a day."""
    places = PlaceAxis.of([f"place {number}" for number in range(90)])
    today = datetime.now(UTC)
    domain = Domain(TimeAxis(f"{today - timedelta(days=366):%Y-%m-%d}", "day"), places)
    year = Survey("year", MessageFormat.of(plan_for(domain, epsilon=2.0)), late=400)
    store.add_survey(year)
    days = np.repeat(np.arange(365), 200)
    data = year.form.randomize(days, np.arange(days.size) % 90, randomness=SecureRandomness())
    store.add([year.addition(data, today)])
    store.close_periods(year, 365)


def while_releasing(kind: str, database: str) -> str:
    """Time single reports before and while a release is made, and how long that took."""
    port = free_port()
    with served(kind, database, port):
        one_by_one(port, 200)
        before = one_by_one(port, N_SINGLE // 5)
        took: list[float] = []

        def release() -> None:
            start = time.perf_counter()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
            connection.request("POST", "/v1/surveys/year/close", headers={"Authorization": f"Bearer {ADMIN}"})
            answer = json.loads(connection.getresponse().read())
            assert answer["release"] == 1, answer
            took.append(time.perf_counter() - start)

        thread, found = threading.Thread(target=release), []
        thread.start()
        while thread.is_alive():
            found.append(one_by_one(port, N_SINGLE // 10))  # a second of them
        thread.join()
    median, high = np.median(found, axis=0)
    return (
        f"  made {RELEASING[kind]:20} in {took[0]:.1f} s; singles at {PER_SECOND}/s: p99 {before[1]:.1f} ms before, "
        f"{high:.1f} ms (median {median:.1f} ms) meanwhile"
    )


@contextmanager
def served(kind: str, database: str, port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, __file__, "--serve", kind, database, str(port)])
    try:
        for _ in range(600):
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/health")
                connection.getresponse().read()
                break
            except OSError:
                time.sleep(0.1)
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def post(connection: http.client.HTTPConnection, body: bytes, kind: str) -> dict[str, Any]:
    connection.request("POST", ADDRESS, body, {"Content-Type": kind})
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise RuntimeError(content)
    return dict(json.loads(content))


def messages(n: int, per_message: int) -> list[bytes]:
    form = survey().form
    today = survey().now(datetime.now(UTC))
    rng = np.random.default_rng(1)
    return [
        form.randomize(
            np.full(per_message, today), rng.integers(0, N_PLACES, per_message), randomness=SecureRandomness()
        )
        for _ in range(n)
    ]


def in_batches(port: int, sent: list[bytes], n_senders: int = 4) -> float:
    """Reports a second."""

    def work(part: list[bytes]) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for body in part:
            post(connection, body, MESSAGE_TYPE)

    threads = [threading.Thread(target=work, args=(sent[i::n_senders],)) for i in range(n_senders)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(sent) * PER_MESSAGE / (time.perf_counter() - start)


def one_by_one(port: int, n: int = N_SINGLE, n_senders: int = 64) -> tuple[float, float]:
    """The median and the 99th percentile of the milliseconds until an answer, at a fixed rate.

    A report is due at its time whatever became of those before it, and its wait counts from then on. Requests are made
    before, and sent as bytes: the senders share the machine, and should need little of it.
    """
    form = survey().form
    today = datetime.now(UTC).isoformat()
    reports = form.mechanism.randomize(np.arange(n) % N_PLACES, randomness=SecureRandomness())
    requests = []
    for row in reports:
        body = json.dumps({"id": secrets.token_hex(16), "report": row.tobytes().hex(), "time": today})
        head = f"POST {ADDRESS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        requests.append(f"{head}\r\n\r\n{body}".encode())
    took: list[float] = []
    start = time.perf_counter() + 0.2

    def work(first: int) -> None:
        with socket.create_connection(("127.0.0.1", port), 60) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for number in range(first, n, n_senders):
                due = start + number / PER_SECOND
                time.sleep(max(0.0, due - time.perf_counter()))
                connection.sendall(requests[number])
                answer = connection.recv(4096)
                while not answer.endswith(b"}"):
                    answer += connection.recv(4096)
                took.append(1e3 * (time.perf_counter() - due))
                if not answer.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(answer)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(n_senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(took) == n
    return float(np.quantile(took, 0.5)), float(np.quantile(took, 0.99))


def singles(database: Callable[[str], str], n_times: int) -> None:
    """Time single reports by turns, and show the fastest run of each server, and its processor time a report."""
    with ExitStack() as stack:
        ports, processes = {}, {}
        for kind in SERVERS:
            ports[kind] = free_port()
            processes[kind] = stack.enter_context(served(kind, database(kind), ports[kind]))
            one_by_one(ports[kind], 200)
        found: dict[str, list[tuple[float, float, float, float]]] = {kind: [] for kind in SERVERS}
        for _ in range(n_times):
            for kind in SERVERS:
                before, taken = processor_seconds(processes[kind].pid), taken_seconds()
                median, high = one_by_one(ports[kind], N_SINGLE // 2)
                spent = 1e3 * (processor_seconds(processes[kind].pid) - before) / (N_SINGLE // 2)
                found[kind].append((high, median, spent, taken_seconds() - taken))
    for kind, words in SERVERS.items():
        high, median, spent, _ = min(found[kind])
        among = ", ".join(f"{one[0]:.0f} ({1e3 * one[3]:.0f})" for one in found[kind])
        print(
            f"  {words:22} single ones at {PER_SECOND}/s: median {median:.1f} ms, p99 {high:.1f} ms; "
            f"{spent:.2f} ms of processor time each; p99 of all runs (and ms that the host took): {among}"
        )


def processor_seconds(process: int) -> float:
    """How long a process has run on a processor."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def taken_seconds() -> float:
    """How long the processors of this machine were taken away by its host."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def waits_for_disk(folder: Path, n: int = 300) -> str:
    """Say how long the disk takes to keep a page of a log, and the machine to wake a process, while no server works."""
    page, on_disk, awake = secrets.token_bytes(8192), [], []
    with (folder / "page").open("wb", buffering=0) as file:
        file.write(bytes(n * len(page)))
        os.fsync(file.fileno())
        for number in range(n):
            due = time.perf_counter() + 1 / PER_SECOND
            time.sleep(1 / PER_SECOND)
            start = time.perf_counter()
            awake.append(start - due)
            os.pwrite(file.fileno(), page, number * len(page))
            os.fdatasync(file.fileno())
            on_disk.append(time.perf_counter() - start)
    disk, late = (np.quantile(1e3 * np.array(one), (0.5, 0.99)) for one in (on_disk, awake))
    return (
        f"(the disk alone: median {disk[0]:.1f} ms, p99 {disk[1]:.1f} ms; waking up late: median {late[0]:.1f} ms, "
        f"p99 {late[1]:.1f} ms; load {os.getloadavg()[0]:.1f})"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options.add_argument("--singles", type=int, default=0, metavar="N", help="time single reports alone, N times")
    options.add_argument("--releasing", action="store_true", help="time single reports while a release is made")
    given = options.parse_args()
    if given.serve:
        serve(given.serve[0], given.serve[1], int(given.serve[2]))
        return
    sent = messages(N_MESSAGES, PER_MESSAGE)
    with postgres_running(is_durable=True, has_small_log=False) as server, tempfile.TemporaryDirectory() as folder:
        for name in ("PostgreSQL", "SQLite"):

            def database(kind: str, name: str = name) -> str:
                if name == "SQLite":
                    return f"sqlite:///{folder}/{kind}.sqlite"
                server.run(f"CREATE DATABASE {kind}")
                return str(server.url(kind))

            print(f"{name}   {waits_for_disk(Path(folder))}")
            if given.releasing:
                for kind in RELEASING:
                    print(while_releasing(kind, database(kind)), flush=True)
                continue
            if given.singles:
                singles(database, given.singles)
                continue
            rates = {}
            for kind, words in (
                ("discard", "parsed and forgotten"),
                ("ours", "counted"),
                ("rows", "rows, bare handler"),
            ):
                part = sent[: N_MESSAGES // 10] if kind == "rows" else sent
                address, port = database(kind), free_port()
                with served(kind, address, port):
                    in_batches(port, messages(2, 10))  # loads what is compiled
                    rates[kind] = in_batches(port, part)
                    single = one_by_one(port)
                print(
                    f"  {words:22} {rates[kind] / 1e6:6.2f} M reports/s in messages   single ones at {PER_SECOND}/s: "
                    f"median {single[0]:.1f} ms, p99 {single[1]:.1f} ms"
                )
                if kind == "ours":
                    n_reports = Store(address).tally(survey()).n_reports
                    assert n_reports == len(sent) * PER_MESSAGE + 20 + N_SINGLE, n_reports
            print(f"  counted / forgotten: {rates['ours'] / rates['discard']:.2f}   counted / rows: "
                  f"{rates['ours'] / rates['rows']:.0f}")  # fmt: skip


if __name__ == "__main__":
    main()
