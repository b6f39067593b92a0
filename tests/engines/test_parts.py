"""Parts that tasks read and orders that tasks draw add up to the whole, for any parts; without a cluster."""

from __future__ import annotations

import errno
import pickle
import subprocess
import sys
from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.collection.randomizing import PlanCounts
from tacit.collection.wire.cell_counts import CellCounts
from tacit.collection.wire.randomizing_writer import sorted_pieces
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import FormatError, SettingError, UnreadableFile
from tacit.events import DayDigest, EventColumns, ReadOptions, open_events
from tacit.events.counts import CountKeeper, TableWatcher
from tacit.events.passes import Pass
from tacit.events.sources import FIRST_ROW_OF_FRAME
from tacit.mechanisms.registry import mechanism_of, plan_for

drawing = pytest.importorskip("tacit.engines.drawing")
failures = pytest.importorskip("tacit.engines.session")
merging = pytest.importorskip("tacit.engines.tasks")
tasks = pytest.importorskip("tacit.engines.tasks")

DOMAIN = Domain(TimeAxis.between("2018-01-01", "2018-01-09"), PlaceAxis.of(["North", "South"]))
PLAN = plan_for(DOMAIN, epsilon=1.0)
COLUMNS = EventColumns(time="when", place="town", count="n")
WRITTEN = ReadOptions(date_format="year-first")
rows = st.lists(
    st.tuples(
        st.sampled_from(["2018-01-01", "2018-01-05", "2018-01-31", "no date", ""]),
        st.sampled_from(["North", "South", "Nowhere", ""]),
        st.sampled_from([0, 1, 3]),
    ),
    max_size=30,
)


def table_of(some: list[tuple[str, str, int]]) -> pa.Table:
    days, towns, counts = zip(*some, strict=True) if some else ((), (), ())
    columns = {
        "when": pa.array(days, pa.string()),
        "town": pa.array(towns, pa.string()),
        "n": pa.array(counts, pa.int64()),
    }
    return pa.table(columns)


def made(events: Any, start: Pass[Any]) -> Pass[Any]:
    """The pass over all rows, here."""
    events._run(start, None, None)
    return start


@settings(max_examples=40)
@given(parts=st.lists(rows, min_size=1, max_size=4), n_rows=st.integers(1, 9))
def test_tasks_over_parts_add_up_to_one_pass(parts, n_rows) -> None:
    whole = table_of([row for part in parts for row in part])
    events = open_events(whole, columns=COLUMNS, domain=DOMAIN, options=WRITTEN)
    reader = events._reader(None, None)

    def empty(kind: type) -> Pass[Any]:
        total: Any = PlanCounts(PLAN) if kind is PlanCounts else CountKeeper(DOMAIN, "x", TableWatcher())
        return Pass(total, DayDigest(bytes(16), DOMAIN))

    for kind in (CountKeeper, PlanCounts):
        found = []
        for part in parts:
            sent = pickle.loads(pickle.dumps(empty(kind)))
            batches = table_of(part).to_batches(max_chunksize=2)
            (given_back,) = tasks.take_rows(iter(batches), tables=tasks.FrameTables(n_rows), reader=reader, start=sent)
            shared = {"domain": DOMAIN, "plan": PLAN}
            found.append(tasks.unpacked(given_back.column(1)[0].as_py(), shared))
        start = empty(kind)
        start.n_records = FIRST_ROW_OF_FRAME
        there, here = reduce(add, found, start), made(events, empty(kind))
        assert there.digest.digests() == here.digest.digests()
        assert there.account.bad.summary() == here.account.bad.summary()
        assert there.account.n_rows == here.account.n_rows
        if kind is PlanCounts:
            assert there.total.counts().digest() == here.total.counts().digest()
        else:
            ended = {"n_rows": 0, "n_left_out": 0, "bad_rows": here.account.bad.summary()}
            one, other = there.total.finish(**ended), here.total.finish(**ended)
            assert (one.counts == other.counts).all()
            assert one.table == other.table


@settings(max_examples=15)
@given(
    counted=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(1, 40_000)), min_size=1, max_size=12),
    size=st.sampled_from([1000, 70_000, 1 << 20]),
)
def test_orders_of_any_size_give_the_reports_of_one_machine(tmp_path_factory, counted, size) -> None:
    public, private, numbers = np.array(counted, np.int64).T.copy()
    counts, mechanism = CellCounts.of(2, public, private, numbers), mechanism_of(PLAN)
    beside, key = tmp_path_factory.getbasetemp(), bytes(32)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(drawing, "ORDER_REPORTS", size)
        asked = list(drawing.orders_of(counts, key))
        there = [reports for orders in asked for reports in drawn_here(mechanism, orders)]
    assert (np.concatenate(there) == np.concatenate(list(sorted_pieces(mechanism, counts, key, beside)))).all()
    for orders in asked:
        assert len(orders) == 1 or len(orders[0].bins) == 1, "bins are whole, or cut alone"
        for order in orders:
            blocks = drawing.blocks_of(order.reports)
            assert list(order.keys) == list(blocks), "an order has the keys of its blocks alone"


def drawn_here(mechanism: Any, orders: list[Any]) -> Iterator[Any]:
    """What tasks make of orders, one after the other."""
    packed = [pickle.dumps(order) for order in orders]
    if len(packed) == 1:
        yield np.frombuffer(drawing.expand(packed[0], mechanism=mechanism), np.uint8).reshape(
            -1, mechanism.report_bytes
        )
        return
    splitters = drawing.splitters_of(mechanism, 5)
    slices: dict[int, list[Any]] = {}
    for one in packed:
        for number, runs in drawing.cut_up(one, mechanism=mechanism, splitters=splitters):
            slices.setdefault(number, []).append((number, runs))
    for number in sorted(slices):
        for runs in drawing.join(slices[number]):
            yield from drawing.spelled_out(runs)


@given(part=st.integers(-70_000, 70_000))
def test_neighbours_are_merged_with_neighbours(part) -> None:
    group = merging.group_of(part)
    assert (group < 0) == (part < 0)
    assert abs(merging.group_of(part + 1) - group) <= 1
    others = [other for other in range(part - 20, part + 20) if merging.group_of(other) == group]
    assert len(others) <= merging.FAN_IN


@settings(max_examples=25)
@given(parts=st.lists(rows, min_size=1, max_size=9), order=st.randoms(use_true_random=False))
def test_results_that_tasks_merge_are_those_of_one_pass(parts, order) -> None:
    whole = table_of([row for part in parts for row in part])
    events = open_events(whole, columns=COLUMNS, domain=DOMAIN, options=WRITTEN)
    reader, shared = events._reader(None, None), {"domain": DOMAIN, "plan": PLAN}
    results = []
    for number, part in enumerate(parts):
        start = Pass(PlanCounts(PLAN), DayDigest(bytes(16), DOMAIN))
        batches = iter(table_of(part).to_batches())
        (one,) = tasks.take_rows(batches, tables=tasks.FrameTables(9), reader=reader, start=start)
        results.append((number, one.column(1)[0].as_py()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merging, "FAN_IN", 2)
        while len(results) > 1:
            order.shuffle(results)
            results = list(merging.merge([merging._grouped(one) for one in results], shared=shared))
    there = tasks.unpacked(results[0][1], shared)
    there = Pass(PlanCounts(PLAN), DayDigest(bytes(16), DOMAIN), n_records=FIRST_ROW_OF_FRAME) + there
    here = made(events, Pass(PlanCounts(PLAN), DayDigest(bytes(16), DOMAIN)))
    assert there.digest.digests() == here.digest.digests()
    assert there.account.bad.summary() == here.account.bad.summary()
    assert there.total.counts().digest() == here.total.counts().digest()


def test_a_part_that_is_written_twice_at_a_time_is_the_same_and_unreadable_until_all_are_there(tmp_path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from tacit.collection.wire import ReportFile
    from tacit.collection.wire.reports import finish
    from tacit.counts.provenance import Provenance
    from tacit.engines.parts import write_part

    counts = CellCounts.of(2, np.array([0, 1]), np.array([1, 0]), np.array([900, 20]))
    ((order,),) = drawing.orders_of(counts, bytes(32))
    asked = 7, pickle.dumps(order)
    settings = {"folder": tmp_path, "mechanism": mechanism_of(PLAN), "provenance": Provenance(PLAN.fingerprint)}
    with ThreadPoolExecutor(4) as pool:
        done = set(pool.map(lambda _: write_part(asked, **settings), range(8)))
    ((name, n_reports, checksum),) = done
    assert (name, n_reports) == ("000007.reports", 920)
    assert [one.name for one in tmp_path.iterdir()] == [name], "nothing else is left"
    with pytest.raises(FormatError, match="is not a report file"):
        ReportFile.open(tmp_path / name)
    finish(tmp_path / name)
    assert ReportFile.open(tmp_path / name).checksum == checksum


def test_what_a_task_refuses_is_raised_with_its_sentence() -> None:
    content = tasks.packed(UnreadableFile("may.csv: the rows from here on cannot be told apart."))
    with pytest.raises(UnreadableFile, match=r"^may\.csv: the rows"):
        tasks.unpacked(content, {})


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("[PATH_NOT_FOUND] Path does not exist: file:/x", "events is neither a file nor a table that Spark finds."),
        ("Could not read footer for file: file:/data/a%20b/may.parquet", "may.parquet cannot be read"),
        ("ExecutorLostFailure (executor 1 exited)", "the cluster that read events was lost or stopped."),
        ("anything\n\tat org.apache.spark", "Spark failed while it worked on events."),
    ],
)
def test_a_failure_is_one_sentence_without_javas_words(said, sentence) -> None:
    found = str(failures.said(said, "events"))
    assert found.startswith(sentence)
    assert "\n" not in found


@pytest.mark.slow
def test_tacit_loads_no_spark_and_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import tacit, tacit.cli.randomize\n"
        "try:\n    import tacit.engines\nexcept tacit.errors.MissingExtra as missing:\n    print(missing)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'tacit[spark]'" in ran.stdout


@pytest.mark.parametrize("master", ["nonsense", "", "http://host:7077", "local[", "spark://"])
def test_an_address_that_no_master_has_is_refused_before_java_starts(master) -> None:
    from tacit.engines.session import start

    with pytest.raises(SettingError, match=r"^the address of Spark's master must be such as spark://host:7077"):
        start(master)


def test_a_full_disk_of_a_task_is_said_as_one_of_this_machine() -> None:
    from tacit.engines.session import speaking

    with pytest.raises(OSError, match="No space left") as refused, speaking(None, "the counts"):
        raise OSError("a task failed: [Errno 28] No space left on device")
    assert refused.value.errno == errno.ENOSPC


def test_a_log_that_no_message_names_is_removed(tmp_path) -> None:
    from tacit.engines.session import _forget, kept

    for name in ("named", "unnamed"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spark.log").touch()
    kept(str(tmp_path / "named" / "spark.log"))
    for name in ("named", "unnamed"):
        _forget(tmp_path / name / "spark.log")
    assert [path.name for path in tmp_path.iterdir()] == ["named"]
