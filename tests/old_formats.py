"""Documents inside release files, and what files of earlier formats held, made of what today's hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def document_of(path: Path) -> dict[str, Any]:
    """The document that makes a Parquet file a release."""
    return dict(json.loads(pq.read_schema(path).metadata[b"tacit"]))


def put_document(path: Path, about: dict[str, Any], *, without: Sequence[str] = ()) -> None:
    """Write a file again with another document, and without some of its columns."""
    table = pq.read_table(path).drop_columns(list(without))
    pq.write_table(table.replace_schema_metadata({b"tacit": json.dumps(about).encode()}), path)


def as_before_the_fifth_format(about: dict[str, Any]) -> dict[str, Any]:
    """The document of a release with the names that the third format had in noise models; 4 where there are kinds."""
    names = {
        "distribution": "law",
        "distributions": "laws",
        "process_variance": "deviations",
        "noise_variance": "errors",
        "regressors": "basis",
        "state_variances": "series",
        "coefficient_variances": "coefficients",
        "shift_variance": "shocks",
        "phi": "memory",
        "share_variance": "share_variances",
        "count_variance": "day_variances",
        "count_skew": "day_skews",
        "count_weights": "day_weights",
    }
    kinds = {"linear map": "linear image", "no stated noise": "unstated"}

    def renamed(part: Any) -> Any:
        if isinstance(part, list):
            return [renamed(one) for one in part]
        if not isinstance(part, dict):
            return part
        before = {names.get(name, name): renamed(one) for name, one in part.items()}
        return before | {"kind": kinds.get(before["kind"], before["kind"])} if "kind" in before else before

    return about | {"format": 4 if "kind" in about["plan"]["domain"] else 3, "noise": renamed(about["noise"])}


def as_before_the_third_format(about: dict[str, Any]) -> dict[str, Any]:
    """The document of a release whose events nothing else was made of, as the second format had it."""
    about = as_before_the_fifth_format(about)
    statement = {name: part for name, part in about["statement"].items() if name != "guarantee"}
    label = about["provenance"]
    return about | {
        "format": 2,
        "statement": statement | {"prior_epsilon": 0.0},
        "provenance": {"plan": label["plan"], "is_simulation": label["is_simulation"], "prior_epsilon": 0.0},
    }
