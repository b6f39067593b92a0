"""What a device loads to read a plan and make a report: no smoother, no planner, no audit, nothing of a curator."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from small_worlds import days_and_places
from tacit.mechanisms.registry import plan_for

REPORT = """
import json, sys
import numpy as np
from tacit import Plan, SecureRandomness, mechanism_of
device = mechanism_of(Plan.read(sys.argv[1]))
device.randomize(np.array([1]), randomness=SecureRandomness())
print(json.dumps([name for name in sys.modules if name.startswith("tacit.")]))
"""
MAY_LOAD = {
    "_base": None,  # whatever is there
    "counts": {"estimate", "exact_intervals", "noise", "norm_sub", "oracle_distributions", "provenance", "tally"}
    | {"table_least_squares", "tree_least_squares"},
    "domain": None,
    "errors": None,
    "mechanisms": {"local", "registry", "table_design"},
    "plan": None,
    "privacy": {"cost", "device", "epsilon", "guarantee", "questions", "unit", "windows"},
    "randomness": {"bernoulli", "integers", "source"},
}
NOISE = {"model", "oracle", "sampled"}


@pytest.mark.parametrize("mechanism", ["unary", "hashing", "hierarchical"])
def test_a_device_loads_only_what_a_report_takes(mechanism, tmp_path):
    private = ("time",) if mechanism == "hierarchical" else ("place",)
    plan_for(days_and_places(8, 8), epsilon=2.0, mechanism=mechanism, private=private).write(tmp_path / "plan.json")
    ran = subprocess.run(
        [sys.executable, "-c", REPORT, str(tmp_path / "plan.json")], capture_output=True, text=True, check=True
    )
    parts = [name.split(".")[1:] for name in json.loads(ran.stdout)]
    assert {room for room, *_ in parts} <= MAY_LOAD.keys()
    for room, *inside in parts:
        allowed = MAY_LOAD[room]
        assert allowed is None or not inside or inside[0] in allowed, f"a device loads {room}.{inside[0]}"
    assert {inside[1] for room, *inside in parts if inside[:1] == ["noise"] and len(inside) > 1} <= NOISE
