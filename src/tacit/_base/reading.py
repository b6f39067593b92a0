"""Reading files that come from elsewhere: damage of any kind ends in one error that names the file and says what to do.

Parsers need not know what damage does. They run inside :func:`reading`, which turns every exception into a refusal,
and bounds what compressed parts may grow to.

How much a file may ask for: checked before anything is allocated or computed for it.

Each limit is far above what counts of a country need, and far below what stops a desktop computer. They are stated in
``docs/file-formats.md``.
"""

from __future__ import annotations

import json
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from tacit.errors import FormatError, MissingExtra, PlanError, Remedy, TacitError

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
    "xl/workbook.xml": "a spreadsheet",
}
_SAID: Final = {
    b"release": "a release",
    b"forecast": "a forecast",
    b"forecaster": "a model",
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


_left: ContextVar[int] = ContextVar("bytes that compressed parts of the file being read may still grow to")
_GIB: Final = 1 << 30  # bytes


@contextmanager
def reading(
    path: str | Path,
    kind: str,
    remedy: Remedy | str,
    *,
    missing: Remedy | str = "",
    refusal: type[TacitError] = FormatError,
    keeps: tuple[type[TacitError], ...] = (FormatError, PlanError, MissingExtra),
) -> Iterator[None]:
    """Parse a file inside this block: whatever goes wrong is raised as one refusal that begins with the file's name.

    ``kind`` is what the file should be ("a tally"), ``remedy`` what to do if it is damaged, ``missing`` what to do if
    it is not there. Errors of ours that are among ``keeps`` keep their type, all others become a ``refusal``.
    """
    token = _left.set(LARGEST_EXPANDED)
    try:
        yield
    except FileNotFoundError:
        raise refusal(f"there is no {kind.split(' ', 1)[-1]} at {path}.", remedy=missing or remedy) from None
    except MissingExtra:
        raise
    except TacitError as problem:
        if (other := another_kind(path, kind)) is not None:
            raise refusal(other, remedy=missing or remedy) from None
        words = problem.problem if str(path) in problem.problem else f"{path}: {problem.problem}"
        raise problem.about(words, None if isinstance(problem, keeps) else refusal) from None
    except Exception:  # damage fails in many ways, and none of them is a fault of the program
        other = another_kind(path, kind)
        if other is not None:
            raise refusal(other, remedy=missing or remedy) from None
        raise refusal(f"{path} is not {kind}, or is damaged.", remedy=remedy) from None
    finally:
        _left.reset(token)


def claim(n_bytes: int) -> None:
    """Ask for memory for a compressed part of a file, before it is expanded; refused beyond what a file may have."""
    left = _left.get(LARGEST_EXPANDED)
    if not 0 <= n_bytes <= left:
        raise FormatError(
            f"its compressed parts would grow beyond {LARGEST_EXPANDED / _GIB:g} GiB. Do not read it; ask for it again."
        )
    if n_bytes and _left.get(None) is not None:
        _left.set(left - n_bytes)


def read_document(path: Path) -> bytes:
    """Return the bytes of a file that is to be parsed whole; what is no regular file, or too large, is refused."""
    check_regular(path)
    if path.stat().st_size > LARGEST_DOCUMENT:
        raise FormatError(f"{path} has more than {LARGEST_DOCUMENT >> 20} MiB, too much to read. Ask for it again.")
    return path.read_bytes()


def check_regular(path: Path) -> None:
    """Refuse a device, a pipe or a folder: reading some of them never ends."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise FormatError(f"{path} is not a regular file. Name a file.")


def parse_json(text: str | bytes) -> dict[str, Any]:
    """Return a JSON document that is one object; a name that stands twice in an object is refused."""
    if len(text) > LARGEST_DOCUMENT:
        raise FormatError(f"its document has more than {LARGEST_DOCUMENT >> 20} MiB, too much to read.")
    content = json.loads(text, object_pairs_hook=_once)
    if not isinstance(content, dict):
        raise ValueError("not an object")
    return content


def exact_fraction(text: object) -> Fraction:
    """Return a fraction written as ``"1/3"`` or ``"2"``; its digits are counted before it is computed with.

    >>> exact_fraction("1/3")
    Fraction(1, 3)
    """
    if not isinstance(text, str):
        raise ValueError("a fraction must be text")
    parts = text.split("/")
    if len(parts) > 2 or not all(part.isascii() and part.isdecimal() and len(part) <= MOST_DIGITS for part in parts):
        raise ValueError("no fraction")
    return Fraction(*map(int, parts))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a name stands twice")
    return content


MOST_CELLS: Final = 1 << 26
"""Periods times places: 67 million, 512 MiB as 64-bit numbers. Every hour of 13 years in 571 towns has 65 million."""

LARGEST_DOCUMENT: Final = 1 << 27
"""Bytes of one JSON or TOML document, 128 MiB: a release of 80,716 cells, smoothed, has 4 MiB."""

LARGEST_EXPANDED: Final = 1 << 30
"""Bytes of all compressed parts of one file together, once expanded, 1 GiB: twice the counts of MOST_CELLS cells."""

MOST_REPORTS: Final = 1 << 53
"""Reports or counts added up: the largest number up to which every whole number is a 64-bit float."""

LARGEST_NUMBER: Final = 1e60
"""Size of a float: fourth powers of it are still floats. The variance of MOST_REPORTS counts is below 1e32."""

MOST_DIGITS: Final = 400
"""Digits of the numerator and of the denominator of a fraction: the smallest float has 324 in its denominator."""
