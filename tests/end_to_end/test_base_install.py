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
    with tacit.RandomizingWriter(f"{name}.reports", plan, randomness=tacit.SecureRandomness()) as writer:
        writer.add(np.zeros(30_000, np.int64), np.arange(30_000) % 3)
    estimate = tacit.estimate_tally(tacit.tally_reports([f"{name}.reports"], plan), plan)
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


CLIENT = """
import json, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
import tacit
from tacit.client import Device

domain = tacit.Domain(tacit.TimeAxis("2018-01-01", "year"), tacit.PlaceAxis.of(["north", "south", "west"]))
plan = tacit.plan_for(domain, epsilon=1.0, mechanism="longitudinal")
intake = {"plan": plan.fingerprint, "access": "allowed", "is_simulation": False, "first": 0, "last": 99}

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(json.dumps(intake).encode() if self.path.endswith("/intake") else plan.to_json().encode())
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(b'{"outcome": "counted"}')
    def answer(self, content):
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
    def log_message(self, *_):
        pass

server = HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
device = Device(f"http://127.0.0.1:{server.server_port}/v1/surveys/visits", "device")
device.report("south")
print(device.send().n_counted)
server.shutdown()
server.server_close()
"""


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bare") / "venv"
    venv.create(folder)
    python = folder / "bin" / "python"
    # nothing but Tacit, what it needs and a client's HTTP library; only the modules that are imported are compiled
    install = ["install", "--quiet", "--disable-pip-version-check", "--no-compile", f"{ROOT}[client]"]
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    return python


def test_the_base_install_is_enough_for_a_device(bare_python, tmp_path):
    ran = subprocess.run([bare_python, "-W", "error", "-c", DEVICE], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split()[0] == "unary"


def test_a_client_needs_one_library_more(bare_python, tmp_path):
    ran = subprocess.run([bare_python, "-W", "error", "-c", CLIENT], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split()[0] == "1"


def test_the_command_line_of_the_base_install_says_what_to_install(bare_python, tmp_path):
    ran = subprocess.run([bare_python.parent / "tacit", "demo"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 2
    assert "pip install 'tacit[desk]'" in ran.stderr
    assert "Traceback" not in ran.stderr
