"""Print the table of planted faults, and see that the tests named for a fault find it.

python tools/table_of_faults.py                   # prints the table
python tools/table_of_faults.py --tests           # runs the tests named for every fault, each with its fault planted
python tools/table_of_faults.py --tests --only "a key is not wiped"    # the same of one fault
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from faults.planting import ALONE, Fault  # noqa: E402 (the suite lies beside the package, not in it)
from faults.table import FAULTS  # noqa: E402

HEAD = "| found by | faults |\n|---|---|\n"


def table() -> str:
    """Return a row for each kind of audit or check with the faults it must find; a star: no other test finds it."""
    found: dict[str, list[str]] = {}
    for fault in FAULTS:
        star = " \\*" if fault.tests == ALONE else ""
        kind = re.sub(r" \(.+\)$", "", fault.refuter.name)  # without the mechanism
        found.setdefault(kind, []).append(fault.name + star)
    return HEAD + "".join(f"| {name} | {'; '.join(faults)} |\n" for name, faults in found.items())


def is_found_by_tests(fault: Fault) -> bool:
    """Return whether the tests named in the table fail with the fault planted."""
    environment = os.environ | {"TACIT_FAULT": fault.name}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "faults.session", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, fault.tests], cwd=ROOT, env=environment, capture_output=True, check=False)
    return done.returncode == 1  # some test failed; other codes say that none could run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", action="store_true", help="run the tests named for each fault with it planted")
    parser.add_argument("--only", metavar="FAULT", help="with --tests: the tests of this fault alone")
    asked = parser.parse_args()
    for fault in FAULTS if asked.tests else ():
        if fault.tests != ALONE and asked.only in (None, fault.name):
            print("found" if is_found_by_tests(fault) else "NOT FOUND", fault.tests, fault.name, sep="\t", flush=True)
    if not asked.tests:
        print(table(), end="")


if __name__ == "__main__":
    main()
