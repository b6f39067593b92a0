"""Which kind of file a path holds, as far as its beginning tells: for a refusal of one that was taken for another."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Final

_HEAD: Final = 1 << 12
"""Bytes looked at. The kind stands in the first two hundred of every file of ours; twice as many tell no more."""
_FOOTER: Final = 1 << 24
"""Bytes of a Parquet footer that are looked at: that of a smoothed release of 80,716 cells has 4 MiB."""

_BEGINNINGS: Final = (
    (b"TACITRPT", "a report file"),
    (b"SQLite format 3", "a ledger, or another SQLite database"),
    (b"# A Tacit plan.", "a plan"),
    (b"# How a source of events is written.", "a description of a source"),
    (b"<!doctype html", "a page"),
)
_PARTS: Final = {
    "statistics.npy": "a tally",
    "model.json": "a model",
    "xl/workbook.xml": "a spreadsheet",
}
_SAID: Final = {
    b"release": "a release",
    b"forecast": "a forecast",
    b"synthetic rows": "a table of synthetic events",
    b"counter history": "a counter history",
    b"counter state": "a counter's state",
    b"counter persons": "a counter's file of persons",
    b"memo": "a device's memo",
}
_KIND: Final = re.compile(rb'"kind": ?"(' + b"|".join(_SAID) + rb')"')


def kind_of_file(path: str | Path) -> str | None:
    """Return what a file is, such as ``"a tally"``; None if it cannot be read or is none of ours."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_HEAD)
            if head.startswith(b"PAR1"):
                end = file.seek(0, 2)
                file.seek(max(end - _FOOTER, 0))
                return _said(file.read().rpartition(b"\x05tacit")[2])
        if head.startswith(b"PK\x03\x04"):
            with zipfile.ZipFile(path) as archive:
                return next((kind for part, kind in _PARTS.items() if part in archive.namelist()), None)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return None
    if head.startswith(b"id,time,") and b"\nsynthetic-" in head:  # a plain table says it in its rows
        return _SAID[b"synthetic rows"]
    known = (kind for mark, kind in _BEGINNINGS if head.lower().startswith(mark.lower()))
    return next(known, _said(head) if head.startswith((b"{", b"#")) else None)


def another_kind(path: str | Path, kind: str) -> str | None:
    """Return a sentence about a file that is of another kind than the one asked for; None where nothing tells."""
    found = kind_of_file(path)
    return None if found is None or found == kind.replace("whole ", "") else f"{path} is {found}, not {kind}."


def _said(document: bytes) -> str | None:
    found = _KIND.search(document)
    return None if found is None else _SAID[found[1]]
