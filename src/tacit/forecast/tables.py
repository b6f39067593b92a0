"""Forecasts as tables and frames, and series of frames.

A table, Parquet or CSV, has a row for every period and place, and for all together; where events have kinds, for every
place and kind, place and group of kinds, and for sums over all places and all kinds. Frames follow the convention of
forecasting libraries: ``unique_id, ds, y`` in, ``unique_id, ds, <model>, ...`` out. Any frame with the Arrow capsule
goes in: pandas, polars, pyarrow, DuckDB.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray
from tacit._base.extras import require
from tacit._base.files import csv_bytes, write_whole
from tacit._base.validation import check_one_of, confidence_of
from tacit.counts.count_distribution import CountDistribution
from tacit.counts.series import Observations, Series
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.domain.step import floor, parse_step
from tacit.errors import DataError, MissingColumn, SettingError
from tacit.forecast.forecast import DEFAULT_QUANTILE, Forecast, crews_for

KINDS: Final = ("pyarrow", "pandas", "polars")
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
    """Return the table: period, place, what is expected, limits of each level, what is not exceeded with the quantile.

    Where events have kinds, a column ``kind`` follows the place, and ``kind_level`` says what it names: a kind, a group
    of them, or all.
    """
    labels, parts = forecast.domain.time.labels(), _with_sums(forecast)
    distribution = CountDistribution.joined([part for _, part in parts], axis=1)
    names = [name for some, _ in parts for name in some]
    heads = ("place", "kind", "kind_level")[: len(names[0])]
    columns: dict[str, NDArray[Any]] = {"period": np.repeat(np.array(labels, object), len(names))}
    for head, cells in zip(heads, zip(*names, strict=True), strict=True):
        columns[head] = np.tile(np.array(cells, object), len(labels))
    columns["expected"] = np.round(distribution.means, 3).ravel()
    for level in levels:
        for end, limit in zip(("lower", "upper"), distribution.intervals(level), strict=True):
            columns[f"{end}_{100 * level:g}"] = limit.ravel().astype(np.int64)
    columns[f"at_most_{100 * quantile:g}"] = distribution.quantiles(quantile).ravel().astype(np.int64)
    if per_crew is not None:
        columns["crews"] = crews_for(distribution, quantile=quantile, per_crew=per_crew).ravel()
    return columns


def remarks_of(forecast: Forecast) -> list[str]:
    """Return what must be known of a forecast wherever its numbers go."""
    said = [f"A forecast by Tacit ({forecast.forecaster}). No raw data was used; it costs no privacy budget."]
    if forecast.is_simulation:
        said.append("SIMULATION: the noise came from a known seed, so the release behind it protects nobody.")
    if forecast.origin:
        said.append(f"Made of the release whose checksum begins with {forecast.origin[:12]}.")
    return [*said, *forecast.notes]


def labelled(forecast: Forecast, columns: dict[str, NDArray[Any]], *labels: str) -> dict[str, list[Any]]:
    """Return the columns of a CSV table, with what its rows must say wherever they go: the model, and any label."""
    said = [*labels, *(["SIMULATION: the release behind it protects nobody"] if forecast.is_simulation else [])]
    about = {"model": forecast.forecaster} | ({"label": "; ".join(said)} if said else {})
    n_rows = len(columns["period"])
    return {name: column.tolist() for name, column in columns.items()} | {
        name: [value] * n_rows for name, value in about.items()
    }


def write_forecast(forecast: Forecast, path: str | Path, **settings: Any) -> int:
    """Write the table of :func:`table_columns` by the path's ending, whole or not at all; return its number of rows."""
    path = Path(path)
    check_ending(path)
    columns = table_columns(forecast, **settings)
    is_parquet = path.suffix == ".parquet"
    write_whole(path, _parquet(forecast, columns) if is_parquet else csv_bytes(labelled(forecast, columns)))
    return len(columns["period"])


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


def series_of_frame(frame: Any, *, step: str = "day", zone: str = "UTC", level: str = "place") -> Series:
    """Return the series of a frame with the columns ``unique_id`` (the place), ``ds`` (when) and ``y`` (how many).

    A column ``variance`` says how noisy each ``y`` is; without it the counts are taken for exact, and must be public.
    A bin without any row, or whose every ``y`` is blank, is missing. Where only some places lack a row, their counts
    are taken for unknown. Noise of different places is taken for independent. Every step between the first and the
    last ``ds`` has a bin.
    """
    places, when, counts, variances = _columns(frame)
    if not len(counts):
        raise DataError("the frame has no row. Pass at least one count.")
    axis = TimeAxis(floor(when.min().item(), parse_step(step)), step, zone)
    time = axis.with_end(int(axis.bins_of_local(when.max()[None])[0]) + 1)
    names, firsts, cells = np.unique(places, return_index=True, return_inverse=True)
    first_seen = np.argsort(firsts)
    domain = Domain(time, PlaceAxis.of([str(names[cell]) for cell in first_seen], level))
    where = time.bins_of_local(when), np.argsort(first_seen)[cells]
    if n_twice := int((np.bincount(np.ravel_multi_index(where, domain.shape)) > 1).sum()):
        raise DataError(
            f"{n_twice} pairs of unique_id and {step} have more than one row. Add them up, or name a finer step."
        )
    values, errors = np.full(domain.shape, np.nan), np.zeros(domain.shape)
    values[where] = counts
    if variances is not None:
        errors[where] = variances
    return _series(domain, values, errors, is_exact=variances is None)


def frame_of(
    forecast: Forecast, *, level: Sequence[int | float] = (80, 95), kind: str = "pyarrow", with_total: bool = True
) -> Any:
    """Return a frame: ``unique_id``, ``ds``, the model's name, and ``<model>-lo-80``, ``<model>-hi-80``, ....

    Rows of the places come first, then, ``with_total``, those of all places together under ``all``. Where events have
    kinds, a place and a kind are named together ("Dole, fire"), and ``with_total`` adds each place ("Dole, all"), each
    group and kind ("all, fire") and all together. ``kind`` is pyarrow, pandas or polars.
    """
    check_one_of(KINDS, kind=kind)
    shares, alone = levels_of(level), ([(name,) for name in forecast.domain.columns], forecast.counts)
    parts = _with_sums(forecast) if with_total else [alone]
    found = CountDistribution.joined([part for _, part in parts], axis=1)
    starts = forecast.domain.time.starts()
    if not forecast.domain.time.step.endswith(("hour", "hours")):
        starts = starts.astype("datetime64[D]")
    names = [ALL_PLACES if set(name[:2]) == {ALL_PLACES} else ", ".join(name[:2]) for some, _ in parts for name in some]
    columns: dict[str, NDArray[Any]] = {
        "unique_id": np.repeat(np.array(names, object), len(starts)),
        "ds": np.tile(starts, len(names)),
        forecast.forecaster: found.means.T.ravel(),
    }
    for share in shares:
        for end, limit in zip(("lo", "hi"), found.intervals(share), strict=True):
            columns[f"{forecast.forecaster}-{end}-{100 * share:g}"] = limit.T.ravel()
    table = require("pyarrow", extra="events").table(columns)
    if kind == "pandas":
        require("pandas", extra="test")
        return table.to_pandas()
    return require("polars", extra="test").from_arrow(table) if kind == "polars" else table


def levels_of(levels: Sequence[int | float]) -> tuple[float, ...]:
    """Return levels as shares of one, the smallest first; each may be given so or in percent.

    >>> levels_of([95, 0.8])
    (0.8, 0.95)
    """
    shares = sorted({float(confidence_of(level)) for level in levels})
    if not levels or len(shares) < len(levels):
        raise SettingError("level must be one or more different levels. Give for example 80 and 95.")
    return tuple(shares)


def _with_sums(forecast: Forecast) -> list[tuple[list[tuple[str, ...]], CountDistribution]]:
    """Return names and distributions (bins x names): of each kind, group and all kinds every place, then all places.

    A name is a place, or a place, a kind and its level. All kinds together come last.
    """
    places = (*forecast.domain.place.cells, ALL_PLACES)
    first, *others = forecast.by_kinds()
    found = []
    for level, kind, part in (*others, first):
        of_kind = () if forecast.domain.kind is None else (kind or ALL_PLACES, level)
        distribution = CountDistribution.joined([part.counts, part.totals[:, None]], axis=1)
        found.append(([(place, *of_kind) for place in places], distribution))
    return found


def _columns(frame: Any) -> tuple[NDArray[Any], NDArray[np.datetime64], FloatArray, FloatArray | None]:
    pa = require("pyarrow", extra="events")
    if not hasattr(frame, "__arrow_c_stream__"):
        raise DataError("a frame must be of pandas, polars, pyarrow or another library that speaks Arrow. Convert it.")
    try:
        table = pa.RecordBatchReader.from_stream(frame).read_all()
    except (pa.ArrowException, TypeError, ValueError):
        raise DataError("the frame cannot be handed over as Arrow: a column holds mixed kinds of values.") from None
    for name in ("unique_id", "ds", "y"):
        if name not in table.column_names:
            raise MissingColumn(f"the frame has no column {name!r}. It needs unique_id, ds and y; rename its columns.")
    for name in ("unique_id", "ds"):
        if table[name].null_count:
            raise DataError(f"column {name!r} is blank in {table[name].null_count} rows. Fill or drop them.")
    if getattr(table["ds"].type, "tz", None) is not None:
        raise DataError("column 'ds' must be local times without a zone. Drop the zone, and name it: zone=...")
    places = np.array(table["unique_id"].cast(pa.string()).to_pylist(), object)
    variances = _numbers(table, "variance") if "variance" in table.column_names else None
    counts = _numbers(table, "y")
    if variances is not None and not (variances[~np.isnan(counts)] >= 0).all():
        raise DataError("column 'variance' must hold numbers of at least 0 wherever y has one. Correct it.")
    return places, _cast(table, "ds", pa.timestamp("s"), "dates or times").astype("datetime64[s]"), counts, variances


def _numbers(table: Any, name: str) -> FloatArray:
    numbers: FloatArray = _cast(table, name, "float64", "numbers")
    if np.isinf(numbers).any():
        raise DataError(f"column {name!r} must hold finite numbers. Correct or blank the others.")
    return numbers


def _cast(table: Any, name: str, kind: Any, words: str) -> NDArray[Any]:
    pa = require("pyarrow", extra="events")
    try:
        return np.asarray(table[name].cast(kind, safe=False).to_numpy())
    except pa.ArrowException:
        raise DataError(f"column {name!r} must hold {words}. Convert it.") from None


def _series(domain: Domain, values: FloatArray, errors: FloatArray, *, is_exact: bool) -> Series:
    is_blank = np.isnan(values)
    missing = np.asarray(is_blank.all(axis=1), bool)
    counts = np.where(is_blank, 0.0, values)
    if is_exact and not (is_blank & ~missing[:, None]).any():
        if (counts < 0).any():
            raise DataError("counts without a variance are taken for exact, and some are below 0. Add their variance.")
        return Series.exact(domain, counts, missing=missing)
    ones, noise, none = np.ones(len(counts)), np.where(is_blank, 0.0, errors), np.zeros((1, counts.shape[1]))
    return Series(domain, Observations(ones, counts, noise, none, False, False, ~is_blank, noise.sum(axis=1)))
