"""What `import tacit` offers and what it must not load."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import tacit

HEAVY = (
    "numba",
    "polars",
    "xgboost",
    "pyarrow",
    "pandas",
    "scipy",
    "shapely",
    "pyproj",
    "altair",
    "typer",
    "sqlalchemy",
)


def test_neither_importing_tacit_nor_using_its_names_loads_anything_heavy():
    script = f"import json, sys; from tacit import *; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == []


def test_public_names_are_pinned():
    """Adding or removing a public name is a decision; make it here too."""
    assert sorted(tacit.__all__) == [
        "Answer",
        "Box",
        "Budget",
        "CENTRAL_MECHANISMS",
        "Cost",
        "Domain",
        "Estimate",
        "ExactTally",
        "Gazetteer",
        "Ledger",
        "MECHANISMS",
        "PlaceAxis",
        "Plan",
        "PrivacyStatement",
        "RandomizingWriter",
        "Randomness",
        "Release",
        "ReportFile",
        "SecureRandomness",
        "SeededRandomness",
        "Spend",
        "TacitError",
        "Tally",
        "TimeAxis",
        "Unit",
        "answer_ranges",
        "central_mechanism_of",
        "central_plan_for",
        "curate_events",
        "estimate_tally",
        "mechanism_of",
        "plan_for",
        "tally_reports",
    ]
    assert all(hasattr(tacit, name) for name in tacit.__all__)
    assert set(tacit._HOMES) == set(tacit.__all__) <= set(dir(tacit))


def test_an_unknown_name_is_refused_as_python_does():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tacit.nonsense


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert tacit.__version__ == version("tacit")
