"""Forecasts as tables: Parquet or CSV, a row for every period and place, and for all places together."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.csv_cells import harmless
from tacit._base.extras import require
from tacit._base.files import write_whole
from tacit.counts.count_law import CountLaw
from tacit.errors import SettingError
from tacit.forecast.crews import DEFAULT_QUANTILE, crews_for
from tacit.forecast.forecast import Forecast

ALL_PLACES: Final = "all"
_KEY: Final = b"tacit"


def check_ending(path: Path) -> None:
    """Refuse a path whose ending names no form of a table."""
    if path.suffix not in (".parquet", ".csv"):
        raise SettingError(f"a forecast is written as .parquet or .csv; got path={path}.")


def table_columns(
    forecast: Forecast,
    *,
    levels: Sequence[float] = (0.80, 0.95),
    quantile: float = DEFAULT_QUANTILE,
    per_crew: float | None = None,
) -> dict[str, NDArray[Any]]:
    """The table: period, place, what is expected, limits of each level, what is not exceeded with the quantile."""
    n_times, n_places = forecast.domain.shape
    law = _with_all(forecast)
    columns: dict[str, NDArray[Any]] = {
        "period": np.repeat(np.array(forecast.domain.time.labels(), object), n_places + 1),
        "place": np.tile(np.array([*forecast.domain.place.cells, ALL_PLACES], object), n_times),
        "expected": np.round(law.means, 3).ravel(),
    }
    for level in levels:
        for end, limit in zip(("lower", "upper"), law.intervals(level), strict=True):
            columns[f"{end}_{100 * level:g}"] = limit.ravel().astype(np.int64)
    columns[f"at_most_{100 * quantile:g}"] = law.quantiles(quantile).ravel().astype(np.int64)
    if per_crew is not None:
        columns["crews"] = crews_for(law, quantile=quantile, per_crew=per_crew).ravel()
    return columns


def remarks_of(forecast: Forecast) -> list[str]:
    """What must be known of a forecast wherever its numbers go."""
    said = [f"A forecast by Tacit ({forecast.forecaster}). No raw data was used; it costs no privacy budget."]
    if forecast.is_simulation:
        said.append("SIMULATION: the noise came from a known seed, so the release behind it protects nobody.")
    if forecast.origin:
        said.append(f"Made of the release whose checksum begins with {forecast.origin[:12]}.")
    return [*said, *forecast.notes]


def write_forecast(forecast: Forecast, path: str | Path, **settings: Any) -> None:
    """Write the table of :func:`table_columns` by the path's ending; the file appears whole or not at all."""
    path = Path(path)
    check_ending(path)
    columns = table_columns(forecast, **settings)
    write_whole(path, _parquet(forecast, columns) if path.suffix == ".parquet" else _csv(forecast, columns))


def _with_all(forecast: Forecast) -> CountLaw:
    """The law of places and, last, of all together."""
    return CountLaw(
        np.column_stack([forecast.counts.means, forecast.totals.means]),
        np.column_stack([forecast.counts.variances, forecast.totals.variances]),
    )


def _parquet(forecast: Forecast, columns: dict[str, NDArray[Any]]) -> bytes:
    pa, pq = require("pyarrow", extra="events"), require("pyarrow.parquet", extra="events")
    about = {
        "kind": "forecast",
        "forecaster": forecast.forecaster,
        "release": forecast.origin,
        "is_simulation": forecast.is_simulation,
        "remarks": remarks_of(forecast),
    }
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about, ensure_ascii=False).encode()})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def _csv(forecast: Forecast, columns: dict[str, NDArray[Any]]) -> bytes:
    out = io.StringIO()
    for remark in remarks_of(forecast):
        out.write(f"# {remark}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(map(harmless, column.tolist()) for column in columns.values()), strict=True))
    return out.getvalue().encode()
