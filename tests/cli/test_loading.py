"""Commands load what they need: which modules stay away from `--help`, `query` and a device."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from small_worlds import simulated_estimate
from tacit.cli.app import COMMANDS, load_command
from tacit.collection.wire import RandomizingWriter
from tacit.randomness import SeededRandomness
from tacit.release import Release

LOADED = "; import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"


def modules_after(code: str) -> set[str]:
    """The modules that a fresh Python has loaded once the code has run."""
    ran = subprocess.run(
        [sys.executable, "-c", code + LOADED], capture_output=True, text=True, check=True, env={**os.environ}
    )
    return set(json.loads(ran.stderr.splitlines()[-1]))


def modules_of_command(*words: str) -> set[str]:
    call = f"import sys, contextlib; sys.argv = {['tacit', *words]!r}\nfrom tacit.cli import main\n"
    return modules_after(call + "with contextlib.suppress(SystemExit): main()\npass")


def rooms_of(modules: set[str]) -> set[str]:
    return {name.split(".")[1] for name in modules if name.startswith("tacit.")}


def test_help_loads_no_room_but_the_command_line_and_no_arrays():
    loaded = modules_of_command("--help")
    assert rooms_of(loaded) == {"_base", "cli", "errors"}
    assert {name for name in loaded if name.startswith("tacit.cli.")} == {"tacit.cli.app", "tacit.cli.console"}
    assert not {"numpy", "pyarrow", "scipy", "numba", "rich.progress"} & loaded


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.slow
def test_query_loads_neither_smoother_nor_pandas_nor_mechanisms(tmp_path, ending):
    plan, estimate = simulated_estimate(np.full((4, 3), 50))
    path = tmp_path / f"release.{ending}"
    Release.of(plan, estimate, refine="project").write(path)
    loaded = modules_of_command("query", str(path), "--place", "place 1")
    assert "tacit.counts.query" in loaded  # it was answered
    assert not {"pandas", "polars", "scipy", "numba", "altair", "shapely", "sqlalchemy", "rich.table"} & loaded
    assert not {"events", "mechanisms", "collection", "forecast", "audit", "pages"} & rooms_of(loaded)
    assert not {name for name in loaded if name.startswith("tacit.postprocess.smoothing")}
    assert ("pyarrow" in loaded) == (ending == "parquet")


@pytest.mark.slow
def test_release_and_tally_load_no_events_no_pages_and_no_counters(tmp_path):
    plan, _ = simulated_estimate(np.full((4, 3), 50))
    plan.write(tmp_path / "plan.toml")
    reports, tally, release = (str(tmp_path / name) for name in ("all.reports", "all.tally", "release.parquet"))
    with RandomizingWriter(reports, plan, randomness=SeededRandomness(1)) as writer:
        writer.add(np.arange(4), np.zeros(4, np.int64))
    for words in (("tally", reports, "--out", tally), ("release", tally, "--refine", "project", "--out", release)):
        loaded = modules_of_command(*words, "--plan", str(tmp_path / "plan.toml"))
        assert {"forecast", "audit", "service", "engines", "publication", "events"}.isdisjoint(rooms_of(loaded))
        unused = "tacit.pages.", "tacit.client.", "tacit.mechanisms.continual."
        assert not {name for name in loaded if name.startswith(unused)}
    assert Release.read(release).plan.fingerprint == plan.fingerprint


def test_a_device_loads_no_smoother():
    loaded = modules_after(
        "import numpy as np\n"
        "from tacit import Domain, PlaceAxis, SecureRandomness, TimeAxis, mechanism_of, plan_for\n"
        "domain = Domain(TimeAxis.between('2018-01-01', '2018-01-02'), PlaceAxis.of(['north', 'south', 'west']))\n"
        "device = mechanism_of(plan_for(domain, epsilon=2.0))\n"
        "device.randomize(np.array([1]), randomness=SecureRandomness())"
    )
    assert rooms_of(loaded) == {"_base", "counts", "domain", "errors", "mechanisms", "plan", "privacy", "randomness"}


def test_without_typer_the_command_line_says_what_to_install_and_ends_with_2():
    code = "import sys; sys.modules['typer'] = None; from tacit.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "pip install 'tacit[desk]'" in ran.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_of_a_command_is_the_first_of_its_own_help(name):
    assert load_command(name).help.split("\n\n")[0] == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_lines_of_help_end_where_the_screen_does_and_not_where_the_source_does(name):
    command = load_command(name)
    for one in (command, *getattr(command, "commands", {}).values()):
        assert all("\n" not in paragraph for paragraph in one.help.split("\n\n"))


def test_a_command_that_is_misspelt_gets_a_suggestion(tacit):
    ran = tacit("qury")
    assert ran.code == 2
    assert "query" in ran.err
