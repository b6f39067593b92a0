"""Rebuild every table and figure, and end with one page to open.

python -m experiments.reproduce                    # all of them, two at a time
python -m experiments.reproduce --only paper_table3
python -m experiments.reproduce --reduced          # a small size of each, to see that they run
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from experiments.findings import FILE, ROOT, read_findings
from experiments.reproduction_page import Outcome, make_page

LOG = "log.txt"
UNSAID_MINUTES = 2.0


@dataclass(frozen=True)
class Experiment:
    """A folder with a run.py, and about how long it takes at full size on two cores."""

    name: str
    minutes: float


@dataclass
class Running:
    """An experiment under way."""

    experiment: Experiment
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    since: float

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.since


def discover(folder: Path) -> list[Experiment]:
    """Every experiment of a folder, the longest first, so that the last to end ends soon."""
    found = []
    for run in sorted(folder.glob("*/run.py")):
        params = run.with_name("params.toml")
        said = tomllib.loads(params.read_text(encoding="utf-8")) if params.is_file() else {}
        found.append(Experiment(run.parent.name, float(said.get("run", {}).get("minutes", UNSAID_MINUTES))))
    return sorted(found, key=lambda one: -one.minutes)


def start(experiment: Experiment, *, root: Path, out: Path, is_reduced: bool) -> Running:
    folder = out / experiment.name
    folder.mkdir(parents=True, exist_ok=True)
    # what an earlier run found must not stand for one that fails now
    (folder / FILE).unlink(missing_ok=True)
    command = [sys.executable, "-m", f"experiments.{experiment.name}.run", "--out", str(folder)]
    log = (folder / LOG).open("wb")
    process = subprocess.Popen(
        command + (["--reduced"] if is_reduced else []),
        cwd=root,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
    return Running(experiment, process, log, time.monotonic())


def run_all(
    experiments: Sequence[Experiment], *, root: Path, out: Path, is_reduced: bool, at_once: int
) -> Iterator[Outcome]:
    """Run experiments, so many at once, and say of each how it ended; one that fails stops no other."""
    waiting, running = list(experiments), list[Running]()
    n_done = 0
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(start(waiting.pop(0), root=root, out=out, is_reduced=is_reduced))
                begun = running[-1].experiment
                expected = "" if is_reduced else f", about {_clock(60 * begun.minutes)} min"
                print(f"         {begun.name} begins{expected}", flush=True)
            time.sleep(0.05)
            for one in [one for one in running if one.process.poll() is not None]:
                running.remove(one)
                one.log.close()
                n_done += 1
                is_finished = (out / one.experiment.name / FILE).is_file()
                outcome = Outcome(one.experiment.name, one.process.returncode, one.seconds, is_finished)
                done = f"[{n_done}/{len(experiments)}]"
                print(f"{done:<8} {outcome.experiment}: {outcome.words}, {_clock(one.seconds)} min", flush=True)
                yield outcome
    finally:
        for one in running:
            # with the processes that it started itself
            os.killpg(one.process.pid, signal.SIGTERM)
            one.process.wait()
            one.log.close()


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    experiments = discover(root / "experiments")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", action="append", metavar="NAME", choices=[one.name for one in experiments], help="may be repeated"
    )
    parser.add_argument("--reduced", action="store_true", help="a small size of each, in seconds")
    parser.add_argument("--out", type=Path, default=root / "out", help="where findings and the page are left")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="how many run at the same time")
    chosen = parser.parse_args(arguments)
    asked = [one for one in experiments if not chosen.only or one.name in chosen.only]
    if not chosen.reduced:
        expected = max(sum(one.minutes for one in asked) / chosen.at_once, max(one.minutes for one in asked))
        plural = "s" if len(asked) > 1 else ""
        print(f"{len(asked)} experiment{plural}, {chosen.at_once} at a time, in about {_clock(60 * expected)} minutes.")
    if not os.environ.get("TACIT_DATA"):
        print("On generators that come with Tacit; TACIT_DATA may name a folder with real data.")
    outcomes = list(
        run_all(asked, root=root, out=chosen.out, is_reduced=chosen.reduced, at_once=max(1, chosen.at_once))
    )
    left = [chosen.out / one.name for one in sorted(experiments, key=lambda one: one.name)]
    page = make_page(
        chosen.out / "reproduction.html",
        [read_findings(folder) for folder in left if (folder / FILE).is_file()],
        sorted(outcomes, key=lambda outcome: outcome.experiment),
    )
    for outcome in outcomes:
        if outcome.code:
            log = chosen.out / outcome.experiment / LOG
            print(f"FAILED   {outcome.experiment}: {outcome.words}. What it said: {log}")
    print(f"Open {page}")
    return 1 if any(outcome.code for outcome in outcomes) else 0


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Stopped.")
