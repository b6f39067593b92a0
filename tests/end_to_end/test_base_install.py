"""A device: a bare virtual environment with the base install alone can randomize, tally and estimate."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

DEVICE = """
import importlib.util, sys
import numpy as np
import tacit
from tacit.mechanisms.registry import MECHANISMS

for absent in ("polars", "pyarrow", "numba", "typer", "rich", "scipy", "altair"):
    assert importlib.util.find_spec(absent) is None, absent

domain = tacit.Domain(tacit.TimeAxis.between("2018-01-01", None), tacit.PlaceAxis.of(["north", "south", "west"]))
for name in MECHANISMS:
    plan = tacit.plan_for(domain, epsilon=1.0, mechanism=name)
    device = tacit.mechanism_of(plan)
    one = device.randomize(np.array([1]), randomness=tacit.SecureRandomness())
    assert one.shape == (1, device.report_bytes)
    with tacit.RandomizingWriter("a.reports", plan, randomness=tacit.SecureRandomness()) as writer:
        writer.add(np.zeros(30_000, np.int64), np.arange(30_000) % 3)
    estimate = tacit.estimate_tally(tacit.tally_reports(["a.reports"], plan), plan)
    assert abs(estimate.values.sum() - 30_000) < 30_000, name
    print(name, tacit.Gazetteer.builtin("doubs").names("region")[0])

try:
    tacit.Release.of(plan, estimate).write("release.parquet")
except tacit.TacitError as refused:
    assert "pip install 'tacit[events]'" in str(refused)
else:
    raise AssertionError("a release was written without pyarrow")
tacit.Release.of(plan, estimate).write("release.csv")
with open("release.csv", encoding="utf-8-sig") as file:
    assert file.readline().startswith("place,period,estimate,low,high,")
"""


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(folder)
    python = folder / "bin" / "python"
    # nothing but Tacit and what it needs; only the modules that are imported are compiled
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-compile", ROOT]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    return python


def test_the_base_install_is_enough_for_a_device(bare_python, tmp_path):
    ran = subprocess.run([bare_python, "-W", "error", "-c", DEVICE], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split()[0] == "unary"


def test_the_command_line_of_the_base_install_says_what_to_install(bare_python, tmp_path):
    ran = subprocess.run([bare_python.parent / "tacit", "demo"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 1
    assert "pip install 'tacit[desk]'" in ran.stderr
    assert "Traceback" not in ran.stderr
