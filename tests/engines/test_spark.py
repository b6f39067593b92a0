"""Spark gives what one machine gives. One test holds all that needs a cluster, so that one process starts one.

The cluster has two executors in processes of their own (``local-cluster``); a machine without Java cannot say that it
works, and fails.
"""

from __future__ import annotations

import gzip
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.collection.curating import CountedEvents, count_events
from tacit.collection.poisoning import tally_and_watch
from tacit.collection.randomizing import randomize_events
from tacit.collection.tallying import tally_reports
from tacit.collection.wire import ReportFile
from tacit.collection.wire.randomizing_writer import OneFile
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import AlreadyRandomized, BadRows, DataError, FormatError, SettingError, UnreadableFile
from tacit.events import ContributionBound, EventColumns, Events, ReadOptions, open_events
from tacit.mechanisms.registry import plan_for
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-20"), PlaceAxis.of(["North", "South", "East"]))
COLUMNS = EventColumns(time="when", place="town")
WRITTEN = ReadOptions(date_format="year-first", encoding="utf-8", separator=",")
KEY = bytes(range(32))
N_ROWS = 3000
BAD_LINES = 'too,many,fields\n\n"2018-01-03","No"rth,1,7\n2018-02-30,North,1,7\n2018-01-02,,1,7\n'


@dataclass(frozen=True)
class World:
    """A running cluster, files of the same events, and a folder."""

    spark: Any
    folder: Path
    table: pa.Table

    @property
    def frame(self) -> Any:
        return self.spark.read.parquet(str(self.folder / "events.parquet"))

    def here(
        self, name: str = "events.parquet", columns: EventColumns = COLUMNS, domain: Domain = DOMAIN, **options: Any
    ) -> Events:
        return open_events(self.folder / name, columns=columns, domain=domain, options=options_of(name, **options))

    def there(
        self, name: str = "events.parquet", columns: EventColumns = COLUMNS, domain: Domain = DOMAIN, **options: Any
    ) -> Events:
        from tacit.engines.frames import open_named
        from tacit.engines.spark import SparkEngine

        read = options_of(name, **options)
        source = open_named(self.spark, str(self.folder / name), read)
        return SparkEngine(self.spark).open(source, columns=columns, domain=domain, options=read)


def options_of(name: str, **options: Any) -> ReadOptions:
    written = {"date_format": "year-first", "encoding": "utf-8", "separator": ","} if ".csv" in name else {}
    return ReadOptions(**written | options)


def seen(counted: CountedEvents) -> object:
    """All that was counted, to be compared."""
    rest = (counted.n_rows, counted.n_left_out, counted.n_beyond, counted.n_rows_beyond, counted.bad_rows)
    return counted.tally.reveal().tolist(), counted.days, counted.table, *rest


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, seed: int) -> Iterator[World]:
    """A cluster whose own files lie in a folder of the test, and events on it."""
    import pyspark

    from tacit.engines.session import start

    folder = tmp_path_factory.mktemp("spark")
    home = folder / "home"
    home.mkdir()
    for part in Path(pyspark.__file__).parent.iterdir():  # executors work in SPARK_HOME/work
        (home / part.name).symlink_to(part)
    patched = pytest.MonkeyPatch()
    patched.setenv("SPARK_HOME", str(home))
    # Java compiles quickly and never with all care: a fifth less processor time for so little data
    patched.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
    (folder / "local").mkdir()
    few = {
        "spark_sql_shuffle_partitions": "2",  # 200 tasks of nothing take minutes
        "spark_sql_adaptive_enabled": "false",
        "spark_speculation": "true",
    }
    spark = start("local-cluster[2,1,1024]", spark_local_dir=str(folder / "local"), **few)
    random = np.random.default_rng(seed)
    days = np.datetime64("2018-01-01") + random.integers(0, 22, N_ROWS).astype("timedelta64[D]")
    table = pa.table(
        {
            "when": pa.array(days.astype("datetime64[us]")),
            "town": np.array(["North", "South", "East", "Nowhere"])[random.integers(0, 4, N_ROWS)],
            "n": random.integers(0, 4, N_ROWS),
            "user": random.integers(0, 90, N_ROWS).astype(str),
        }
    )
    pq.write_table(table, folder / "events.parquet", row_group_size=700)
    lines = [
        f"{day},{town},{n},{user}"
        for day, town, n, user in zip(
            days.astype(str), *map(list, map(table.column, ["town", "n", "user"])), strict=True
        )
    ]
    (folder / "events.csv").write_text("when,town,n,user\n" + "\n".join(lines) + "\n" + BAD_LINES)
    yield World(spark, folder, table)
    spark.stop()
    patched.undo()


def counts_digests_and_bad_rows_are_equal(world: World) -> None:
    of_counts = EventColumns(time="when", place="town", count="n")
    for name, columns in (("events.parquet", COLUMNS), ("events.csv", COLUMNS), ("events.csv", of_counts)):
        assert seen(count_events(world.there(name, columns), key=KEY)) == seen(
            count_events(world.here(name, columns), key=KEY)
        )


def partitions_and_the_order_of_rows_do_not_matter(world: World) -> None:
    from tacit.engines.spark import count, randomize

    plan = plan_for(DOMAIN, epsilon=1.0)
    randomize_events(world.here(), plan, world.folder / "here", ledger=None, data_set="x", seed=5)
    expected = count_events(world.here(), key=KEY)
    for frame in (world.frame.coalesce(1), world.frame.repartition(5, "town"), world.frame.orderBy("n", "user")):
        counted = count(frame, DOMAIN, columns=COLUMNS, key=KEY)
        assert (counted.tally.reveal() == expected.tally.reveal()).all()
        assert (counted.days, counted.bad_rows.counts) == (expected.days, expected.bad_rows.counts)
    randomize(frame, plan, world.folder / "there", columns=COLUMNS, ledger=None, data_set="x", seed=5)
    assert (world.folder / "there").read_bytes() == (world.folder / "here").read_bytes()


def persons_are_bounded_as_here(world: World) -> None:
    whose = EventColumns(time="when", place="town", user="user", count="n")
    for unit in (
        Unit("person", most=5, most_per_cell=2),
        Unit("person", most=3, window="week"),
        Unit("user-day", most=1),
    ):
        there, here = (
            count_events(events, key=KEY, unit=unit)
            for events in (world.there(columns=whose), world.here(columns=whose))
        )
        assert here.n_beyond > 0
        assert seen(there) == seen(here)


def results_of_many_parts_meet_before_the_driver(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.engines import tasks
    from tacit.engines.spark import count

    came = []
    unpacked = tasks.unpacked

    def seen_here(*asked: Any) -> Any:
        came.append(1)
        return unpacked(*asked)

    monkeypatch.setattr(tasks, "FAN_IN", 2)
    monkeypatch.setattr(tasks, "unpacked", seen_here)
    expected = count_events(world.here(), key=KEY)
    counted = count(world.frame.repartitionByRange(5, "n"), DOMAIN, columns=COLUMNS, key=KEY)
    assert (counted.tally.reveal() == expected.tally.reveal()).all()
    assert (counted.days, counted.bad_rows.counts) == (expected.days, expected.bad_rows.counts)
    assert len(came) <= 2


def a_time_axis_needs_no_end(world: World) -> None:
    endless = Domain(TimeAxis("2018-01-01", "day"), DOMAIN.place)
    whose = EventColumns(time="when", place="town", user="user")
    for columns, bound in ((COLUMNS, None), (whose, ContributionBound(3, key=KEY))):
        there, here = (
            events.count(bound=bound)
            for events in (world.there(columns=columns, domain=endless), world.here(columns=columns, domain=endless))
        )
        assert there.domain == here.domain
        assert (there.counts == here.counts).all()
    late = pa.table({"when": np.array(["9999-01-01"], "datetime64[us]"), "town": ["North"]})
    pq.write_table(late, world.folder / "late.parquet")
    hours = Domain(TimeAxis("2018-01-01", "hour"), PlaceAxis.of(["North", "a", "b", "c"]))
    with pytest.raises(DataError, match=r"^late\.parquet: the date in one of its rows lies so far in the future"):
        world.there("late.parquet", domain=hours).count()


def rows_set_aside_are_listed_as_here(world: World) -> None:
    lists = [world.folder / "here.bad", world.folder / "there.bad"]
    world.here("events.csv", bad_rows=lists[0]).count()
    world.there("events.csv", bad_rows=lists[1]).count()
    assert lists[0].read_bytes() == lists[1].read_bytes()
    assert len(lists[0].read_text().splitlines()) > 5


def reports_are_the_same_bytes_in_orders_of_any_size(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.engines import drawing
    from tacit.engines import spark as engine

    monkeypatch.setattr(drawing, "ORDER_REPORTS", 700)
    monkeypatch.setattr(drawing, "WAVE_BYTES", 2000)
    plan = plan_for(DOMAIN, epsilon=2.0, private=("time", "place"))  # one bin for all: tasks sort it by ranges of value
    randomize_events(world.here(), plan, world.folder / "here", ledger=None, data_set="x", seed=5)
    engine.randomize(world.frame, plan, world.folder / "there", columns=COLUMNS, ledger=None, data_set="x", seed=5)
    assert (world.folder / "there").read_bytes() == (world.folder / "here").read_bytes()


def tasks_write_folders_of_reports(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.engines import drawing
    from tacit.engines import spark as engine

    monkeypatch.setattr("tacit.collection.wire.randomizing_writer._GATHERED_REPORTS", 500)
    monkeypatch.setattr(drawing, "ORDER_REPORTS", 500)
    asked: dict[str, Any] = {"columns": COLUMNS, "ledger": None, "data_set": "x", "seed": 6, "in_parts": True}
    for private in (("place",), ("time", "place")):
        plan = plan_for(DOMAIN, epsilon=1.0, private=private)
        randomize_events(world.here(), plan, world.folder / "here", ledger=None, data_set="x", seed=6)
        engine.randomize(world.frame, plan, world.folder / "parts", **asked)
        files = sorted((world.folder / "parts").iterdir())
        opened = [ReportFile.open(file) for file in files]
        assert len(files) > 1 or private != ("place",)
        bins = [one.bins for one in opened]
        assert (np.concatenate(bins) == ReportFile.open(world.folder / "here").bins).all(), "a bin is in one file"
        assert payload_of(files) == payload_of([world.folder / "here"])
        assert tally_reports(files, plan) == tally_reports([world.folder / "here"], plan)


def a_run_that_stopped_after_paying_is_finished_anywhere(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.engines import drawing
    from tacit.engines import spark as engine

    plan, ledger = plan_for(DOMAIN, epsilon=1.5), Ledger(world.folder / "ledger.sqlite")
    asked: dict[str, Any] = {"columns": COLUMNS, "ledger": ledger, "data_set": "events"}
    with monkeypatch.context() as broken:
        broken.setattr(drawing, "expand", lost_task)
        with pytest.raises(
            DataError, match=r"^Spark failed while it worked on the counts\. .* for your eyes only\."
        ) as stopped:
            engine.randomize(world.frame, plan, world.folder / "paid", **asked)
    assert "Run the same again" in stopped.value.__notes__[0]
    assert "Traceback" not in str(stopped.value)
    assert not (world.folder / "paid").exists()
    done = engine.randomize(world.frame, plan, world.folder / "paid", **asked)
    assert done.is_resumed
    with pytest.raises(AlreadyRandomized):
        engine.randomize(world.frame, plan, world.folder / "more", **asked)
    assert tally_reports([world.folder / "paid"], plan).n_reports == done.n_reports


def lost_task(order: Any, *, mechanism: Any) -> Any:
    """A task that fails whenever it is tried."""
    raise OSError("the disk of the executor is full")


def an_executor_may_be_killed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.engines import drawing
    from tacit.engines import spark as engine

    plan = plan_for(DOMAIN, epsilon=1.0)
    randomize_events(world.here(), plan, world.folder / "here", ledger=None, data_set="x", seed=9)
    monkeypatch.setattr(drawing, "ORDER_REPORTS", 300)
    monkeypatch.setattr("tacit.collection.wire.randomizing_writer._GATHERED_REPORTS", 300)
    monkeypatch.setattr(drawing, "WAVE_BYTES", 2400)  # several waves: the next one is under way when an executor goes
    killed = []

    def pieces(*asked: Any) -> Iterator[Any]:
        for number, piece in enumerate(engine.SparkEngine(world.spark).pieces(*asked)):
            if number == 1:
                killed.append(kill_an_executor())
            yield piece

    output = OneFile(pieces)
    randomize_events(world.there(), plan, world.folder / "there", ledger=None, data_set="x", seed=9, output=output)
    assert killed
    assert (world.folder / "there").read_bytes() == (world.folder / "here").read_bytes()


def a_task_may_be_killed_while_it_writes_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import cloudpickle

    from tacit.engines import drawing, parts
    from tacit.engines import spark as engine

    monkeypatch.setattr("tacit.collection.wire.randomizing_writer._GATHERED_REPORTS", 500)
    monkeypatch.setattr(drawing, "ORDER_REPORTS", 500)
    plan, found = plan_for(DOMAIN, epsilon=1.0), world.folder / "killed"
    randomize_events(world.here(), plan, world.folder / "here", ledger=None, data_set="x", seed=8)
    killing = partial(killed_once, found=found)
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # executors do not know this file
    try:
        with monkeypatch.context() as patched:
            patched.setattr(parts, "write_part", killing)
            asked: dict[str, Any] = {"columns": COLUMNS, "ledger": None, "data_set": "x", "seed": 8, "in_parts": True}
            engine.randomize(world.frame, plan, world.folder / "retried", **asked)
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert "FormatError" in found.read_text(), "a part was begun"
    assert "readable" not in found.read_text()
    files = sorted((world.folder / "retried").iterdir())
    assert payload_of(files) == payload_of([world.folder / "here"])
    assert all(file.suffix == ".reports" for file in files)
    assert not list(world.folder.glob(".retried*"))


def killed_once(asked: Any, *, found: Path, **settings: Any) -> Any:
    """Write a part; the process that is the first to do so is killed before the file is whole."""
    import os
    import signal

    from tacit.collection.wire import ReportFile, reports
    from tacit.engines import parts
    from tacit.errors import TacitError

    try:
        found.touch(exist_ok=False)
    except FileExistsError:
        return parts.write_part(asked, **settings)
    write_sorted = reports.write_sorted

    def opened(path: Path) -> str:
        try:
            ReportFile.open(path)
        except TacitError as refusal:
            return type(refusal).__name__
        return "readable"

    def begin(path: Path, provenance: Any, n_bytes: int, bins: Any, run_lengths: Any, pieces: Any, **how: Any) -> Any:
        def begun() -> Any:
            for _ in range(30):  # more than is held back before it is written
                yield pieces[0]
            found.write_text(" ".join(map(opened, path.parent.iterdir())))
            os.kill(os.getpid(), signal.SIGKILL)

        return write_sorted(path, provenance, n_bytes, bins, run_lengths, begun(), **how)

    parts.write_sorted = begin
    return parts.write_part(asked, **settings)


def payload_of(files: list[Path]) -> bytes:
    """The reports of files, one after the other."""
    return b"".join(rows.tobytes() for file in files for _, _, rows in ReportFile.open(file).batches())


LOST = """
import os, signal, sys
from pathlib import Path
from tacit.collection.wire import randomizing_writer
from tacit.engines import drawing, parts
from tacit.engines.session import start
from tacit.engines.spark import randomize
from tacit.events import EventColumns
from tacit.plan import Plan
from tacit.privacy.ledger import Ledger
folder = Path(sys.argv[1])
randomizing_writer._GATHERED_REPORTS = drawing.ORDER_REPORTS = 500
parts._WAVE_ORDERS = 2
wave = parts.Parts._wave
def stopped(*asked):
    wave(*asked)
    os.kill(os.getpid(), signal.SIGKILL)
parts.Parts._wave = stopped
randomize(
    start("local[1]").read.parquet(str(folder.parent / "events.parquet")),
    Plan.read(folder / "plan.toml"),
    folder / "out",
    columns=EventColumns(time="when", place="town"),
    ledger=Ledger(folder / "ledger.sqlite"),
    data_set="events",
    in_parts=True,
)
"""


def a_cluster_may_be_lost_as_a_whole(world: World) -> None:
    from tacit.engines import spark as engine

    plan, lost, copy = plan_for(DOMAIN, epsilon=1.0), world.folder / "lost", world.folder / "copy"
    lost.mkdir()
    plan.write(lost / "plan.toml")
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    ran = subprocess.run([sys.executable, "-c", LOST, lost], env=environment, capture_output=True)
    assert ran.returncode == -signal.SIGKILL, ran.stderr[-2000:]
    assert not (lost / "out").exists()
    left = [file for folder in lost.glob(".out.*") for file in folder.iterdir()]
    assert len(left) == 2
    for file in left:
        with pytest.raises(FormatError):
            ReportFile.open(file)
    shutil.copytree(lost, copy)  # the same run, to be taken up twice
    asked: dict[str, Any] = {"data_set": "events"}
    here = randomize_events(world.here(), plan, copy / "out", ledger=Ledger(copy / "ledger.sqlite"), **asked)
    ledger = Ledger(lost / "ledger.sqlite")
    there = engine.randomize(world.frame, plan, lost / "out", columns=COLUMNS, ledger=ledger, in_parts=True, **asked)
    assert here.is_resumed
    assert there.is_resumed
    assert not list(lost.glob(".out.*"))
    assert payload_of(sorted((lost / "out").iterdir())) == payload_of([copy / "out"])
    assert len(ledger.history()) == 1
    with pytest.raises(AlreadyRandomized):
        engine.randomize(world.frame, plan, lost / "more", columns=COLUMNS, ledger=ledger, **asked)


def kill_an_executor() -> int:
    """Kill an executor of this process' own cluster, and return its number."""
    mine = {os.getpid()}
    found = []
    for one in sorted(
        (path for path in Path("/proc").iterdir() if path.name.isdigit()), key=lambda path: int(path.name)
    ):
        try:
            parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            words = (one / "cmdline").read_bytes()
        except OSError:
            continue
        if parent in mine:
            mine.add(int(one.name))
            if b"CoarseGrainedExecutorBackend" in words:
                found.append(int(one.name))
    os.kill(found[0], signal.SIGKILL)
    return found[0]


def tallies_are_equal_and_damaged_files_refused(world: World) -> None:
    from tacit.engines.tallying import tallies_and_runs, tally

    plan, files = plan_for(DOMAIN, epsilon=1.0), []
    for number in range(3):
        files.append(world.folder / f"{number}.reports")
        randomize_events(world.here(), plan, files[-1], ledger=None, data_set="x", seed=number)

    def counted(*asked: Any, **settings: Any) -> Any:
        return tallies_and_runs(world.spark, *asked, **settings)

    assert tally_and_watch(files, plan, tallies=counted) == tally_and_watch(files, plan)
    assert tally(world.spark, [], plan) == tally_reports([], plan)
    content = bytearray(files[0].read_bytes())
    content[-40] ^= 1
    (world.folder / "damaged.reports").write_bytes(content)
    for count in (tally_reports, lambda *asked: tally(world.spark, *asked)):
        with pytest.raises(FormatError, match="damaged: its checksum does not agree"):
            count([files[1], world.folder / "damaged.reports"], plan)
    (world.folder / "damaged.reports").unlink()


def failures_are_one_sentence(world: World) -> None:
    from tacit.engines.frames import open_named

    plan, content = plan_for(DOMAIN, epsilon=1.0), (world.folder / "events.parquet").read_bytes()
    (world.folder / "mixed").mkdir()
    (world.folder / "mixed" / "good.parquet").write_bytes(content)
    (world.folder / "mixed" / "cut.parquet").write_bytes(content[:2000] + b"PAR1")
    pq.write_table(pa.table({"when": [1, 2], "town": ["North", "South"]}), world.folder / "numbers.parquet")
    (world.folder / "cut.csv.gz").write_bytes(gzip.compress((world.folder / "events.csv").read_bytes())[:-900])
    (world.folder / "footer.parquet").write_bytes(content[:-12] + bytes(4) + content[-8:])
    (world.folder / "empty").mkdir()
    finer = pa.table({"when": world.table["when"].cast(pa.timestamp("ns")), "town": world.table["town"]})
    pq.write_table(finer, world.folder / "finer.parquet")
    expected = {
        "cut.csv.gz": (UnreadableFile, r"^cut\.csv\.gz cannot be read: .*"),
        "empty": (UnreadableFile, r"^empty holds no Parquet file\. .*"),
        "finer.parquet": (UnreadableFile, r"^finer\.parquet has times in nanoseconds, .*"),
        "footer.parquet": (UnreadableFile, r"^footer\.parquet .*"),
        "mixed": (UnreadableFile, r"^cut\.parquet cannot be read: .*"),
        "nowhere": (UnreadableFile, r"^nowhere does not exist\. .*"),
        "numbers.parquet": (DataError, r"^numbers\.parquet: the column of dates holds int64, not dates or text\. .*"),
    }
    for name, (kind, words) in expected.items():
        ledger = Ledger(world.folder / f"{name}.ledger")
        with pytest.raises(kind, match=words) as refused:
            randomize_events(world.there(name), plan, world.folder / "none", ledger=ledger, data_set="x")
        assert not ledger.history()
        assert not any(mark in str(refused.value) for mark in ("\n", "Exception", "org.apache"))
    with pytest.raises(UnreadableFile, match=r"^no_such_table is neither a file nor a table that Spark finds\. .*"):
        open_named(world.spark, "no_such_table", ReadOptions())
    with pytest.raises(UnreadableFile, match=r"^nothing://there/events has an address of a kind that .*"):
        open_named(world.spark, "nothing://there/events", ReadOptions())
    with pytest.raises(BadRows, match=r"^events\.csv: \d+ rows cannot be counted"):
        count_events(world.there("events.csv", strict=True), key=KEY)
    for settings, words in (({"fields_span_lines": True}, "span lines"), ({"encoding": "utf-16"}, "utf-16")):
        with pytest.raises(SettingError, match=words):
            world.there("events.csv", **settings)


def names_are_no_patterns(world: World) -> None:
    """A file whose name means something in a pattern is the file that is read, not one that the pattern finds."""
    folder = world.folder / "{a} *[1]?"
    folder.mkdir()
    pq.write_table(world.table.slice(0, 5), folder / "events[1].parquet")
    pq.write_table(world.table, folder / "events1.parquet")
    (folder / "events[1].csv").write_text("when,town\n2018-01-01,North\n2018-01-02,South\n")
    for name, n_rows in (("events[1].parquet", 5), ("events[1].csv", 2)):
        assert count_events(world.there(f"{folder.name}/{name}"), key=KEY).n_rows == n_rows
    (folder / "events[1].csv").unlink()
    assert count_events(world.there(folder.name), key=KEY).n_rows == N_ROWS + 5


def commands_take_spark_as_their_engine(world: World, tacit: Callable[..., Any]) -> None:
    source = world.folder / "events.parquet"
    where = ("--time", "when", "--place", "town")
    (world.folder / "places.csv").write_text("region\nNorth\nSouth\nEast\n")
    made = tacit(
        "plan",
        "--from",
        "2018-01-01",
        "--to",
        "2018-01-20",
        "--zone",
        "UTC",
        "--places",
        world.folder / "places.csv",
        "--epsilon",
        1,
        "--out",
        world.folder / "plan.toml",
    )
    assert made.code == 0, made.err
    plan = ("--plan", world.folder / "plan.toml")
    for engine in ("local", "spark"):
        ran = tacit(
            "randomize",
            source,
            *where,
            *plan,
            "--seed",
            3,
            "--accept-loss",
            "--engine",
            engine,
            "--out",
            world.folder / f"{engine}.out",
        )
        assert ran.code == 0, ran.err
        ran = tacit(
            "tally",
            world.folder / f"{engine}.out",
            *plan,
            "--engine",
            engine,
            "--out",
            world.folder / f"{engine}.tally",
        )
        assert ran.code == 0, ran.err
    assert (world.folder / "spark.out").read_bytes() == (world.folder / "local.out").read_bytes()
    assert (world.folder / "spark.tally").read_bytes() == (world.folder / "local.tally").read_bytes()
    said = [tacit("check", source, *where, *plan, "--engine", engine) for engine in ("local", "spark")]
    assert said[0].out == said[1].out
    (world.folder / "many").mkdir()
    for number in range(2):
        (world.folder / "many" / f"{number}.parquet").write_bytes(source.read_bytes())
    columns = tacit("check", world.folder / "many", "--engine", "spark")
    assert "4 columns: when, town, n, user." in columns.out, columns.err
    for named in (world.folder / "many", f"file://{world.folder / 'many'}"):
        folder = tacit("check", named, *where, *plan, "--engine", "spark")
        assert f"{2 * N_ROWS:,} rows read" in folder.out, folder.err
    refused = tacit(
        "randomize", world.folder / "mixed", *where, *plan, "--engine", "spark", "--out", world.folder / "no"
    )
    assert refused.code == UnreadableFile.exit_code
    assert "cut.parquet cannot be read" in refused.err.replace("\n", " ")
    assert not (world.folder / "no").exists()
    assert "Add --engine spark" in tacit("tally", world.folder / "no", *plan, "--master", "local").err


GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "beyond-one-machine.md"


def examples_of_the_guide_run(world: World, tacit: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    home = world.folder / "guide"  # where no other ledger is
    home.mkdir()
    for name in ("events.parquet", "plan.toml"):
        shutil.copy(world.folder / name, home)
    monkeypatch.chdir(home)
    names: dict[str, object] = {"__name__": "example"}
    blocks = re.findall(r"^```(python|console) cluster[^\n]*\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    assert {language for language, _ in blocks} == {"python", "console"}
    for language, text in blocks:
        if language == "python":
            # Java was started in another folder
            found = text.replace('"events.parquet"', repr(str(home / "events.parquet")))
            exec(compile(found, GUIDE.name, "exec"), names)
            continue
        for line in text.splitlines():
            ran = tacit(*shlex.split(line.removeprefix("$ tacit ")))
            assert ran.code == 0, (line, ran.err)
    assert Tally.read(home / "parts.tally").n_reports == Tally.read(home / "towns.tally").n_reports


STOPPED = """
import os, signal, sys
from pathlib import Path
from tacit.engines import streaming
from tacit.engines.session import start
from tacit.plan import Plan
folder = Path(sys.argv[1])
plan = Plan.read(folder / "stream.toml")
store = streaming.TallyStore(folder / "store", plan)
add = store.add
def stopped(*asked):
    add(*asked)
    os.kill(os.getpid(), signal.SIGKILL)
store.add = stopped
streaming.watch(start("local[1]"), folder / "arriving", plan, store, checkpoint=folder / "checkpoint")
"""


def a_stream_of_files_counts_each_once(world: World) -> None:
    from tacit.engines import streaming

    plan = plan_for(DOMAIN, epsilon=1.0)
    plan.write(world.folder / "stream.toml")
    (world.folder / "arriving").mkdir()
    files = []
    for number in range(3):
        files.append(world.folder / "arriving" / f"{number}.reports")
        randomize_events(world.here(), plan, files[-1], ledger=None, data_set="x", seed=number + 50)
        if number == 0:  # killed after the batch was stored, before Spark knows: it will run the batch again
            environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
            ran = subprocess.run([sys.executable, "-c", STOPPED, world.folder], env=environment, capture_output=True)
            assert ran.returncode == -signal.SIGKILL, ran.stderr[-2000:]
    (world.folder / "arriving" / "copy.reports").write_bytes(files[2].read_bytes())
    store = streaming.TallyStore(world.folder / "store", plan)
    for _ in range(2):
        counted = streaming.watch(
            world.spark, world.folder / "arriving", plan, store, checkpoint=world.folder / "checkpoint"
        )
        assert counted == tally_reports(files, plan)
    (world.folder / "arriving" / "cut.reports").write_bytes(files[2].read_bytes()[:-1])
    with pytest.raises(FormatError, match=r"cut\.reports has \d+ bytes and should have"):
        streaming.watch(world.spark, world.folder / "arriving", plan, store, checkpoint=world.folder / "checkpoint")
    assert store.tally() == counted


def a_stream_passes_over_no_file(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.engines import streaming

    plan, inbox, checkpoint = plan_for(DOMAIN, epsilon=1.0), world.folder / "inbox[1]", world.folder / "of-inbox"
    inbox.mkdir()
    store = streaming.TallyStore(world.folder / "inbox.store", plan)
    watch = partial(streaming.watch, world.spark, inbox, plan, checkpoint=checkpoint)
    files = [world.folder / f"{number}.made" for number in range(6)]
    for number, file in enumerate(files):
        randomize_events(world.here(), plan, file, ledger=None, data_set="x", seed=number + 60)
    shutil.copy(files[0], inbox / "0.reports")
    (inbox / "1.reports").touch()
    with pytest.raises(FormatError, match=r"1\.reports is empty"):  # which Spark leaves out of a batch
        watch(store)
    shutil.copy(files[1], inbox / "1.reports")
    assert watch(store) == tally_reports(files[:2], plan)
    shutil.copy(files[2], inbox / "0.reports")  # names that Spark has seen
    (inbox / "parts").mkdir()
    shutil.copy(files[3], inbox / "parts" / "000000.reports")
    shutil.copy(files[4], inbox / "4.reports")
    os.utime(inbox / "4.reports", (0, 0))  # older than Spark looks for
    assert watch(store) == tally_reports(files[:5], plan)

    class Interrupted(Exception):
        pass

    def interrupted(*asked: Any) -> None:
        add(*asked)
        raise Interrupted

    monkeypatch.setattr(streaming, "_LOOK_SECONDS", 1)
    add = store.add
    with monkeypatch.context() as patched:
        patched.setattr(store, "add", interrupted)
        shutil.copy(files[5], inbox / "0.reports")
        with pytest.raises(Interrupted):
            watch(store, until_empty=False)
    assert store.tally() == tally_reports(files, plan)
    store.path.unlink()
    with pytest.raises(FormatError, match=r"does not know what was counted under"):
        watch(streaming.TallyStore(store.path, plan))
    shutil.rmtree(checkpoint)  # the way out: what is still there counts again
    assert watch(streaming.TallyStore(store.path, plan)).n_reports == 4 * counted_in(files[0])
    shutil.rmtree(checkpoint)
    assert watch(streaming.TallyStore(store.path, plan)).n_reports == 4 * counted_in(files[0])


def counted_in(path: Path) -> int:
    return ReportFile.open(path).n_reports


def nothing_readable_is_left_on_the_disks(world: World) -> None:
    assert world.spark.conf.get("spark.io.encryption.enabled") == "true"
    names = [b"Nowhere", b"TACITRPT"]
    for path in [*(world.folder / "local").rglob("*"), *(world.folder / "home" / "work").rglob("*")]:
        if path.is_file() and path.suffix != ".jar":
            content = path.read_bytes()
            assert not any(name in content for name in names), path


CHECKS = (
    counts_digests_and_bad_rows_are_equal,
    partitions_and_the_order_of_rows_do_not_matter,
    results_of_many_parts_meet_before_the_driver,
    persons_are_bounded_as_here,
    a_time_axis_needs_no_end,
    rows_set_aside_are_listed_as_here,
    tasks_write_folders_of_reports,
    reports_are_the_same_bytes_in_orders_of_any_size,
    a_run_that_stopped_after_paying_is_finished_anywhere,
    tallies_are_equal_and_damaged_files_refused,
    failures_are_one_sentence,
    names_are_no_patterns,
    commands_take_spark_as_their_engine,
    examples_of_the_guide_run,
    a_task_may_be_killed_while_it_writes_parts,
    a_cluster_may_be_lost_as_a_whole,
    an_executor_may_be_killed,
    a_stream_of_files_counts_each_once,
    a_stream_passes_over_no_file,
    nothing_readable_is_left_on_the_disks,
)


@pytest.mark.slow
@pytest.mark.false_failure(0)
# Spark leaves sockets to the garbage collector
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_gives_what_one_machine_gives(world, subtests, monkeypatch, tacit):
    given = SimpleNamespace(world=world, tacit=tacit)
    for check in CHECKS:
        wanted = check.__code__.co_varnames[: check.__code__.co_argcount]
        with subtests.test(check.__name__), monkeypatch.context() as patched:
            check(*(patched if name == "monkeypatch" else getattr(given, name) for name in wanted))
