"""How long ``import tacit`` takes, and what it loads. Run: python benchmarks/imports.py"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

from measure import print_machine, print_table

RUNS = 7
TARGET_SECONDS = 0.3
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
    runs = []
    for _ in range(RUNS + 1):
        fresh = [sys.executable, "-c", FRESH.format(statement=statement)]
        runs.append(json.loads(subprocess.run(fresh, capture_output=True, text=True, check=True).stdout))
    walls, processors, loaded = zip(*runs[1:], strict=True)  # the first run may have written bytecode
    return statistics.median(walls), statistics.median(processors), loaded[-1]


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


if __name__ == "__main__":
    main()
