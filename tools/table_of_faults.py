"""Plant every fault, time what finds it, and write the table of the guide.

python tools/table_of_faults.py            # writes the table, about two minutes
python tools/table_of_faults.py --tests    # also runs the tests named in the table, each with its fault planted
python tools/table_of_faults.py --tests --new    # the same of rows that are not in the guide yet; the others stay
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from faults.planting import ALONE, Fault, Setting, planted  # noqa: E402 (the suite lies beside the package, not in it)
from faults.table import FAULTS  # noqa: E402

GUIDE = ROOT / "docs" / "guides" / "planted-faults.md"
BEGIN, END = "<!-- made by tools/table_of_faults.py -->\n", "<!-- end -->\n"
HEAD = "| fault | found by | tests that find it too | seconds |\n|---|---|---|---|\n"


def cells(fault: Fault) -> tuple[str, ...]:
    """A row without its time."""
    return fault.name, fault.refuter.name, fault.tests


def shown(text: str) -> dict[tuple[str, ...], float]:
    """The rows of a guide, each with its time."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {tuple(row[:-1]): float(row[-1]) for row in rows[1:]}


def table(seconds: list[float]) -> str:
    """The table with the time that each refuter took."""
    rows = [(*cells(fault), f"{took:.1f}") for fault, took in zip(FAULTS, seconds, strict=True)]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def timed(fault: Fault, seed: int) -> float:
    """The processor's seconds until a fault is found."""
    with tempfile.TemporaryDirectory() as folder, planted(fault):
        start = time.process_time()
        if not fault.refuter.find(Setting(seed, Path(folder))):
            sys.exit(f"not found: {fault.name}")
        return time.process_time() - start


def is_found_by_tests(fault: Fault) -> bool:
    """Whether the tests named in the table fail with the fault planted."""
    environment = os.environ | {"TACIT_FAULT": fault.name}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "faults.session", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, fault.tests], cwd=ROOT, env=environment, capture_output=True, check=False)
    return done.returncode == 1  # some test failed; other codes say that none could run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--new", action="store_true", help="only rows that are not in the guide as they are")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    before, _, rest = GUIDE.read_text(encoding="utf-8").partition(BEGIN)
    old, _, after = rest.partition(END)
    known = shown(old) if asked.new else {}
    for fault in FAULTS if asked.tests else ():
        if fault.tests != ALONE and cells(fault) not in known:
            print("found" if is_found_by_tests(fault) else "NOT FOUND", fault.tests, fault.name, sep="\t", flush=True)
    times = (known.get(cells(fault)) for fault in FAULTS)
    made = table(
        [timed(fault, asked.seed) if took is None else took for fault, took in zip(FAULTS, times, strict=True)]
    )
    GUIDE.write_text(before + BEGIN + "\n" + made + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
