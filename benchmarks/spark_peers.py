"""The same central count on Spark by Tacit, Tumult Analytics and PipelineDP: 17 towns x 4,748 days under epsilon 1.

From a Parquet file to noisy counts of every cell, one event protected, end to end with the start of Spark. Each runs in
the environment it is installed in, in a process of its own, one after the other:

    python benchmarks/spark_peers.py --rows 1_000_000 --tumult ~/tumult/bin/python --pipeline-dp ~/pdp/bin/python

Tumult Analytics pins NumPy below 2 and pandas below 2, so it needs an environment of its own (`pip install
tmlt.analytics`); so does PipelineDP (`pip install pipeline-dp 'pyspark<4' pandas pyarrow setuptools`). Noise is Laplace
of scale 1 everywhere, keys are public, and every library says its version. The sum of the noisy counts is printed: it
must lie near the number of rows. *cpu* are the seconds that all processes, Java's among them, spent on processors; they
hardly depend on who else works there.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

DAYS = ("2006-01-01", "2018-12-31")
TOWNS = [f"Town {number}" for number in range(17)]
MASTER = f"local[{os.cpu_count()}]"


SAMPLE_SECONDS = 0.3  # a process that ends loses less than this of its time; halved, looking takes twice as long


class Processors:
    """Seconds on processors of this process and all it started.

    Looked at again and again, as Spark's Python processes end without anybody who is told what they took.
    """

    def __init__(self) -> None:
        self._spent: dict[tuple[int, str], int] = {}
        self._lock = threading.Lock()
        threading.Thread(target=self._look_on, daemon=True).start()

    def _look_on(self) -> None:
        while True:
            self.seconds()
            time.sleep(SAMPLE_SECONDS)

    def seconds(self) -> float:
        with self._lock:
            found = {}
            for one in Path("/proc").iterdir():
                if one.name.isdigit():
                    try:
                        fields = (one / "stat").read_text().rpartition(")")[2].split()
                    except OSError:
                        continue
                    # its parent, when it began (numbers of processes come again), user and system time
                    found[int(one.name)] = int(fields[1]), fields[19], int(fields[11]) + int(fields[12])
            mine = {os.getpid()} | {one for one, began in self._spent if one in found and found[one][1] == began}
            while new := {one for one, (parent, _, _) in found.items() if parent in mine} - mine:
                mine |= new
            self._spent |= {(one, found[one][1]): found[one][2] for one in mine if one in found}
            return sum(self._spent.values()) / os.sysconf("SC_CLK_TCK")


PROCESSORS: list[Processors] = []


def cpu_of_tree() -> float:
    """Seconds on processors of this process and all it started, those that have ended among them."""
    if not PROCESSORS:
        PROCESSORS.append(Processors())
    return PROCESSORS[0].seconds()


def tacit(path: str) -> float:
    from spark import COLUMNS, DOMAIN

    from tacit.collection.curating import curate_events
    from tacit.engines.frames import FrameSource
    from tacit.engines.session import start
    from tacit.engines.spark import SparkEngine
    from tacit.mechanisms.central.table import central_plan_for
    from tacit.privacy.ledger import Ledger

    engine = SparkEngine(start(MASTER))
    events = engine.open(FrameSource(engine.session.read.parquet(path)), columns=COLUMNS, domain=DOMAIN)
    plan = central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")
    ledger = Ledger(Path(path).with_suffix(".ledger"))
    return float(curate_events(events, plan, ledger=ledger, data_set="x").estimate.values.sum())


def tumult(path: str) -> float:
    import pandas
    from pyspark.sql import SparkSession, functions
    from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

    spark = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false").getOrCreate()
    frame = spark.read.parquet(path).select(functions.to_date("when").cast("string").alias("day"), "town")
    session = Session.from_dataframe(PureDPBudget(1), "events", frame, protected_change=AddOneRow())
    days = [str(day.date()) for day in pandas.date_range(*DAYS)]
    query = QueryBuilder("events").groupby(KeySet.from_dict({"day": days, "town": TOWNS})).count()
    return float(session.evaluate(query, PureDPBudget(1)).toPandas()["count"].sum())


def pipeline_dp(path: str) -> float:
    import operator

    import pipeline_dp as library
    from pyspark.sql import SparkSession, functions

    spark = SparkSession.builder.master(MASTER).config("spark.ui.enabled", "false").getOrCreate()
    # days from 1970 on, as numbers, and a number of its own for every row: each is a person
    frame = spark.read.parquet(path).select(
        functions.monotonically_increasing_id(), functions.unix_date(functions.to_date("when")), "town"
    )
    rows = frame.rdd.map(tuple)
    budget = library.NaiveBudgetAccountant(total_epsilon=1, total_delta=0)
    engine = library.DPEngine(budget, library.SparkRDDBackend(spark.sparkContext))
    asked = library.AggregateParams(
        metrics=[library.Metrics.COUNT],
        noise_kind=library.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
    )
    extractors = library.DataExtractors(
        privacy_id_extractor=operator.itemgetter(0),
        partition_extractor=operator.itemgetter(1, 2),
        value_extractor=lambda row: 0,
    )
    cells = [(day, town) for day in range(13_149, 13_149 + 4748) for town in TOWNS]
    noisy = engine.aggregate(rows, asked, extractors, public_partitions=cells)
    budget.compute_budgets()
    return float(noisy.map(lambda pair: pair[1].count).sum())


ROLES = {"tacit": (tacit, "tacit"), "tumult": (tumult, "tmlt.analytics"), "pipeline-dp": (pipeline_dp, "pipeline-dp")}


def run(role: str, path: str) -> None:
    began = time.perf_counter()
    cpu_of_tree()  # looks on from here
    work, package = ROLES[role]
    total = work(path)
    took, cpu = time.perf_counter() - began, cpu_of_tree()
    version = f"{package} {importlib.metadata.version(package)}, pyspark {importlib.metadata.version('pyspark')}"
    print(f"RESULT {took:.1f} {cpu:.1f} {total:.0f} {version}")


def measured(role: str, python: str, path: Path) -> None:
    environment = os.environ | {"PYSPARK_PYTHON": python, "SPARK_LOCAL_IP": "127.0.0.1"}
    asked = [python, str(Path(__file__).absolute()), "--role", role, "--file", str(path)]
    # beside the file, for Tumult Analytics leaves a folder of tables where it runs
    ran = subprocess.run(asked, env=environment, cwd=path.parent, capture_output=True, text=True)
    lines = [line for line in ran.stdout.splitlines() if line.startswith("RESULT ")]
    if ran.returncode or not lines:
        why = (ran.stderr.strip().splitlines() or ["no word"])[-1]
        print(f"{role:<12} failed: {why}", flush=True)
        return
    _, took, cpu, total, version = lines[0].split(maxsplit=4)
    print(
        f"{role:<12} {float(took):>8.1f} s wall {float(cpu):>8.1f} s cpu   noisy sum {int(total):>12,}   {version}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: int(text.replace("_", "")), default=1_000_000)
    parser.add_argument("--tumult", metavar="PYTHON", help="the interpreter of an environment with tmlt.analytics")
    parser.add_argument("--pipeline-dp", metavar="PYTHON", help="the interpreter of an environment with pipeline-dp")
    parser.add_argument("--role", choices=ROLES, help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.role is not None:
        run(asked.role, asked.file)
        return
    from spark import make_file

    print(f"{asked.rows:,} rows, Spark on {MASTER}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.parquet"
        make_file(path, asked.rows)
        for role, python in (("tacit", sys.executable), ("tumult", asked.tumult), ("pipeline-dp", asked.pipeline_dp)):
            if python is None:
                print(f"{role:<12} left out: give its interpreter with --{role}")
            else:
                measured(role, python, path)


if __name__ == "__main__":
    main()
