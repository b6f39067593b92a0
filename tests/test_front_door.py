"""What `import tacit` offers and what it must not load."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

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


def test_all_that_is_listed_can_be_looked_at_without_spark():
    script = "import sys; sys.modules['pyspark'] = None; import inspect, tacit; print(len(inspect.getmembers(tacit)))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(ran.stdout) > len(tacit.__all__)


def test_public_names_are_pinned():
    """Adding or removing a public name is a decision; make it here too."""
    assert sorted(tacit.__all__) == [
        "Answer",
        "BoundChoice",
        "Box",
        "Budget",
        "CENTRAL_MECHANISMS",
        "Cost",
        "Domain",
        "Estimate",
        "EventColumns",
        "ExactTally",
        "Gazetteer",
        "KindAxis",
        "Ledger",
        "MECHANISMS",
        "PlaceAxis",
        "Plan",
        "Preview",
        "PrivacyStatement",
        "Publication",
        "RandomizingWriter",
        "Randomness",
        "ReadOptions",
        "Release",
        "ReportFile",
        "SecureRandomness",
        "SeededRandomness",
        "SourceDescription",
        "Spend",
        "TacitError",
        "Tally",
        "TimeAxis",
        "Unit",
        "answer_ranges",
        "audit_plan",
        "central_mechanism_of",
        "central_plan_for",
        "choose_bound",
        "curate_events",
        "estimate_tally",
        "forecaster_named",
        "mechanism_of",
        "open",
        "open_events",
        "plan_for",
        "publish",
        "randomize_events",
        "series_of",
        "tally_reports",
    ]
    assert all(hasattr(tacit, name) for name in tacit.__all__)


def test_only_public_names_and_rooms_are_listed():
    rooms = {path.stem for path in Path(tacit.__file__).parent.iterdir() if path.suffix in ("", ".py")}
    public = {room for room in rooms if not room.startswith("_")} - {"cli"}
    public -= {"engines"}  # which cannot be looked at without Spark
    assert dir(tacit) == sorted({*tacit.__all__, *public})


def test_rooms_and_what_they_offer_are_reached_without_another_import():
    script = (
        "import tacit; print(tacit.audit.audit_plan.__name__, tacit.forecast.ShareForecaster.__name__, "
        "tacit.mechanisms.planner.choose.__name__, tacit.forecast.holidays.public_holidays.__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["audit_plan", "ShareForecaster", "choose", "public_holidays"]


@pytest.mark.parametrize("room", [tacit.forecast, tacit.postprocess])
def test_every_name_that_a_room_lists_is_there(room):
    assert dir(room) == sorted(room.__all__)
    assert all(hasattr(room, name) for name in room.__all__)


def test_every_forecaster_of_the_table_is_offered():
    assert {entry.type for entry in tacit.forecast.FORECASTERS.values()} <= set(tacit.forecast.__all__)


def test_an_unknown_name_is_refused_as_python_does():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tacit.nonsense


def test_the_version_is_the_packages():
    from importlib.metadata import version

    assert tacit.__version__ == version("tacit")
