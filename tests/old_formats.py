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


def as_before_the_third_format(about: dict[str, Any]) -> dict[str, Any]:
    """The document of a release whose events nothing else was made of, as the second format had it."""
    statement = {name: part for name, part in about["statement"].items() if name != "guarantee"}
    label = about["provenance"]
    return about | {
        "statement": statement | {"prior_epsilon": 0.0},
        "provenance": {"plan": label["plan"], "is_simulation": label["is_simulation"], "prior_epsilon": 0.0},
    }
