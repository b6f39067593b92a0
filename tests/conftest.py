"""Shared by all tests: a seed that differs on every run, as the suite must pass on any; the command line; a browser."""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from postgres_server import Server

SEED = int(os.environ.get("TACIT_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
os.environ["TACIT_TEST_SEED"] = str(SEED)  # the processes of a run that is shared out have one seed, the one printed

for _library in ("OPENBLAS", "OMP", "MKL"):
    # A run has a process for every processor already. Threads of linear algebra beside them wait by spinning: on two
    # busy processors a decomposition then takes 20 times the processor time.
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

_MEMORY = Path("/dev/shm")
if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > 4 << 30:
    # Ledgers and counters are synced to the disk thousands of times, 10 ms each; files in memory are synced at once.
    # The largest tests write 100 MB. What a lost sync would do is tested by tests/lossy_disk.py.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))

settings.register_profile("tacit", max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("tacit"), max_examples=10)
settings.load_profile("tacit")

_TESTS = Path(__file__).parent
_WHOLE_HOUSE = ("docs", "end_to_end", "experiments", "faults", "tools")
"""Folders that belong to no room; their tests take minutes."""
_WAITING = ("engines", "service", "pages", "clients", "client", "end_to_end")
"""Folders whose tests wait for other processes: Spark, whose one test is the longest, collectors, browsers, Node."""
_VARIANTS = 1
"""How many variants of a parametrized test a quick run has; each more takes a quarter longer."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="the fastest tests of every room, in under two minutes")
    parser.addoption(
        "--luck", action="store_true", help="list the tests that may fail by bad luck, the likeliest first"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("quick"):
        settings.load_profile("quick")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the folders of the whole house from a quick run before their modules are imported."""
    is_left_out = collection_path.parent == _TESTS and collection_path.name in _WHOLE_HOUSE
    return True if is_left_out and config.getoption("quick") else None


def pytest_xdist_auto_num_workers() -> int:
    """Return twice as many processes as there are processors.

    Some tests wait for others, and a run with half as many again left a fifth of the processors' time unused.
    """
    return 2 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests that wait first, so that others work meanwhile; leave out what a quick run does not have.

    A shared run gives each process a part of the list, and one that is done takes from the end of another's. So one
    process begins with the tests that wait, and at the end there are short ones left to share out.
    """
    order = {_TESTS / name: number for number, name in enumerate(_WAITING)}
    places = {
        path: min((order[one] for one in path.parents if one in order), default=len(order))
        for path in {item.path for item in items}
    }
    items.sort(key=lambda item: places[item.path])
    if config.getoption("quick"):
        _keep_quick(config, items)


def _keep_quick(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is marked as slow, browsers, and later variants."""
    seen: Counter[str] = Counter()
    chosen, left_out = [], []
    for item in items:
        seen[item.nodeid.partition("[")[0]] += 1
        is_slow = bool({"slow", "browser"} & {mark.name for mark in item.iter_markers()})
        is_late = seen[item.nodeid.partition("[")[0]] > _VARIANTS
        (left_out if is_slow or is_late else chosen).append(item)
    missed = {_room(item) for item in left_out} - {_room(item) for item in chosen}
    if missed:
        raise pytest.UsageError(f"a quick run would have no test of {', '.join(sorted(missed))}.")
    config.hook.pytest_deselected(items=left_out)
    items[:] = chosen


def pytest_collection_finish() -> None:
    """Leave modules and tests out of searches for garbage: a full one takes half a second, and finds none of them."""
    gc.collect()
    gc.freeze()


def pytest_report_collectionfinish(config: pytest.Config, items: list[pytest.Item]) -> list[str]:
    """The statistical tests with their stated probabilities, where they are asked for."""
    if not config.getoption("luck"):
        return []
    stated = Counter[str]()
    for item in items:
        stated[item.nodeid.partition("[")[0]] += false_failure(item)
    lines = [f"{probability:.0e} {name}" for name, probability in stated.most_common() if probability]
    return [*lines, f"{stated.total():.1e} all {len(lines)} together"]


def false_failure(item: pytest.Item) -> float:
    """Return the stated probability that a test fails by bad luck; 0 where none is stated."""
    mark = item.get_closest_marker("false_failure")
    return 0.0 if mark is None else float(mark.args[0])


def _room(item: pytest.Item) -> str:
    """Return the folder of tests, or of the code, that a test stands in."""
    home = _TESTS if item.path.is_relative_to(_TESTS) else _TESTS.parent / "src" / "tacit"
    return item.path.relative_to(home).parts[0]


def pytest_report_header() -> str:
    return f"statistical tests: repeat this run with TACIT_TEST_SEED={SEED}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say the seed again below what failed, where a quiet run says it for the first time."""
    if terminalreporter.stats.get("failed") or terminalreporter.stats.get("error"):
        terminalreporter.write_line(pytest_report_header())


@pytest.fixture(scope="session")
def seed() -> int:
    """A seed for simulated randomness; fails no more often than a test's stated false-failure probability."""
    return SEED


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def tacit(monkeypatch, capsys, tmp_path) -> Callable[..., Ran]:
    """Call the ``tacit`` command in an empty folder with a ledger of its own."""
    from tacit.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACIT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("TACIT_DEBUG", raising=False)

    def run(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["tacit", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        code = left.value.code
        assert "Traceback" not in captured.err + captured.out
        return Ran(code if isinstance(code, int) else int(code is not None), captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def chromium() -> Path:
    """The browser; a machine without one cannot say that pages work."""
    named = os.environ.get("TACIT_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None or not Path(found).exists():
        pytest.fail(
            "pages are tested in Chromium, and none was found. Run: apt-get install chromium, "
            "or set TACIT_CHROMIUM to its path."
        )
    return Path(found)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server; a machine without one cannot say that queries work."""
    from postgres_server import running

    with running() as server:
        yield server
