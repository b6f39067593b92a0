"""How long ``import tacit`` and small commands take, and what they load. Run: python benchmarks/imports.py"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import print_machine, print_table

from tacit import Domain, PlaceAxis, Release, SeededRandomness, TimeAxis, estimate_tally, mechanism_of, plan_for
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally

RUNS = 7
TARGET_SECONDS = 0.3
COMMAND_SECONDS = {"--help": 0.3, "query --measured": 0.8, "query": 1.0}
DAYS, PLACES, PER_CELL = 4_748, 17, 5
"""The size of the paper's release: thirteen years of days in seventeen regions, about 380,000 events."""
HEAVY = (
    "numba", "polars", "pyarrow", "pandas", "scipy", "sklearn", "xgboost", "altair", "shapely", "pyproj",
    "sqlalchemy", "typer", "rich", "holidays",
)  # fmt: skip

FRESH = """
import json, sys, time
before = set(sys.modules)
start = time.perf_counter(), time.process_time()
{statement}
wall, processor = time.perf_counter() - start[0], time.process_time() - start[1]
print(json.dumps([wall, processor, sorted({{name.split(".")[0] for name in set(sys.modules) - before}})]))
"""


def import_in_fresh_processes(statement: str) -> tuple[float, float, list[str]]:
    """Return the median wall and processor time of a statement in new interpreters, and the packages it loaded."""
    # with bytecode on disk, as users have it, whatever the environment says
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    runs = []
    for _ in range(RUNS + 1):
        fresh = [sys.executable, "-c", FRESH.format(statement=statement)]
        ran = subprocess.run(fresh, capture_output=True, text=True, check=True, env=environment)
        runs.append(json.loads(ran.stdout))
    walls, processors, loaded = zip(*runs[1:], strict=True)  # the first run may have written bytecode
    return statistics.median(walls), statistics.median(processors), loaded[-1]


COMMAND = """
import contextlib, io, sys
sys.argv = ["tacit", *{words!r}]
from tacit.cli import main
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
    main()
"""


def write_releases(folder: Path) -> dict[str, list[str]]:
    """Write a smoothed release; return the words of the commands to be measured."""
    last = str(np.datetime64("2006-01-01") + DAYS - 1)
    domain = Domain(TimeAxis.between("2006-01-01", last), PlaceAxis.of([f"region {n}" for n in range(PLACES)]))
    plan, per_day = plan_for(domain, epsilon=2.2), np.full(DAYS, PLACES * PER_CELL)
    mechanism, cells = mechanism_of(plan), np.repeat(np.tile(np.arange(PLACES), DAYS), PER_CELL)
    reports = mechanism.randomize(cells, randomness=SeededRandomness(1))
    tally = Tally(Provenance(plan.fingerprint, is_simulation=True), mechanism.statistics(reports, per_day), per_day)
    Release.of(plan, estimate_tally(tally, plan), refine="smooth").write(folder / "smooth.parquet")
    asked = ["--from", "2017-01", "--to", "2017-03", "--place", "region 3"]
    return {
        "--help": ["--help"],
        "query --measured": ["query", str(folder / "smooth.parquet"), *asked, "--measured"],
        "query": ["query", str(folder / "smooth.parquet"), *asked],
    }


def measure_commands() -> None:
    """Print how long small commands take from their first line on; the interpreter's own start comes before."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, words in write_releases(Path(folder)).items():
            wall, processor, loaded = import_in_fresh_processes(COMMAND.format(words=words))
            heavy = ", ".join(sorted(set(HEAVY) & set(loaded)))
            verdict = "reached" if wall < COMMAND_SECONDS[name] else "MISSED"
            rows.append([f"tacit {name}", f"{wall:.2f} s", f"{processor:.2f} s", heavy])
            rows[-1].append(f"{COMMAND_SECONDS[name]} s: {verdict}")
    print_table([f"median of {RUNS} fresh processes", "time", "processor time", "heavy packages", "target"], rows)


def main() -> None:
    print_machine("tacit", "numpy", "cryptography")
    rows, walls = [], {}
    for statement in (
        "import tacit",
        "from tacit import *",
        "import numpy",
        "import cryptography.hazmat.primitives.ciphers",
    ):
        walls[statement], processor, loaded = import_in_fresh_processes(statement)
        heavy = ", ".join(sorted(set(HEAVY) & set(loaded))) or "none"
        rows.append([statement, f"{walls[statement]:.3f} s", f"{processor:.3f} s", heavy])
    print_table([f"median of {RUNS} fresh processes", "time", "processor time", "heavy packages loaded"], rows)
    verdict = "reached" if walls["import tacit"] < TARGET_SECONDS else "MISSED"
    print(f"target: import tacit under {TARGET_SECONDS} s: {verdict}")
    measure_commands()


if __name__ == "__main__":
    main()
