"""Heavy libraries are loaded when they are needed, and missing ones are named with the command that installs them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tacit.errors import MissingExtra
from tacit.events import EventCounts, SqlQuery

HEAVY = ("pyarrow", "polars", "pandas", "shapely", "pyproj", "sqlalchemy", "numba")


def test_importing_events_loads_nothing_heavy() -> None:
    code = f"import sys, tacit.events; print([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(("module", "extra"), [("pyarrow", "events"), ("sqlalchemy", "sql"), ("shapely", "geography")])
def test_a_missing_library_is_answered_with_the_command_that_installs_it(
    write: Callable[..., Path],
    count: Callable[..., EventCounts],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    extra: str,
) -> None:
    csv = write("SDate,Town,Where\n2018-01-01,Ornans,(1, 2)\n")
    settings = {"location": "Where", "polygons": write('{"features": []}', "towns.geojson")}
    source: object = SqlQuery("sqlite://", "select 1") if module == "sqlalchemy" else csv
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"this needs {module}, .*pip install 'tacit\[{extra}\]'"):
        count(source, **(settings if module == "shapely" else {}))


def test_reading_needs_neither_polars_nor_pandas(
    count: Callable[..., EventCounts], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("polars", "pandas"):
        monkeypatch.setitem(sys.modules, module, None)
    assert count(pa.table({"SDate": ["2018-01-01"], "Town": ["Ornans"]})).n_counted == 1
