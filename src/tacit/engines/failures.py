"""What Spark says when it fails, in one sentence: the file or column, and what to do. The rest goes to a log."""

from __future__ import annotations

import errno
import logging
import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from tacit.engines.session import kept, log_of
from tacit.errors import DataError, TacitError, UnreadableFile

_log: Final = logging.getLogger("tacit.engines")
_log.addHandler(logging.NullHandler())  # it may quote values: shown to those alone who ask for it

_FILE: Final = re.compile(r"(?:[a-z0-9]+:/+|/)[^\s'\"\],;()]*?([^\s'\"\],;()/]+?)(?:\.?[\s'\"\],;()]|\.?$)")
_READ: Final = re.compile(r"reading file [^\n]*?([^\n/]+?)\. (?=[A-Z])")  # here a name may have blanks
_UNREADABLE: Final = (
    "FAILED_READ_FILE",
    "Could not read footer",
    "Encountered error while reading file",  # Spark 3.5
    "CANNOT_READ_FILE_FOOTER",
    "is not a Parquet file",
    "ParquetDecodingException",
)
_SENTENCES: Final = {
    "UNABLE_TO_INFER_SCHEMA": "holds no Parquet file. Name a folder of Parquet files, or one of them.",
    "TIMESTAMP(NANOS": (
        "has times in nanoseconds, which Spark does not read. Save them in microseconds, or read the file on this "
        "machine alone."
    ),
    "Relative path in absolute URI": "has, or lies beside, a name with a colon, which Spark does not take. Rename it.",
}
_OF_ADDRESSES: Final = {
    "no host": "has no host in its address. Write it after //.",
    "java.net.ConnectException": "is at a host that does not answer. Check the address.",
    "UnknownHostException": "is at a host that cannot be found. Check the address.",
    "UnsupportedFileSystemException": "has an address of a kind that Spark does not know here. Check its beginning.",
    "No FileSystem for scheme": "has an address of a kind that Spark does not know here. Check its beginning.",
    "FileSystem not found": (
        "has an address for which Spark has no connector here. Add it to Spark (spark.jars.packages; S3: hadoop-aws)."
    ),
}
"""What the words of Spark mean for a source, said after its name; the second for addresses alone."""
_LOST: Final = ("ExecutorLostFailure", "SparkContext was shut down", "stopped SparkContext", "ConnectionRefused")


@contextmanager
def speaking(session: SparkSession, name: str) -> Iterator[None]:
    """Put failures of Spark inside this block into one sentence about the source of this name."""
    try:
        yield
        return
    except TacitError:
        raise
    except (PySparkException, Py4JError, OSError) as problem:
        is_full = os.strerror(errno.ENOSPC) in str(problem)
        refusal = said(str(problem), name, is_about_columns=isinstance(problem, AnalysisException))
        details = traceback.format_exc()
    _log.error("%s\n%s", refusal, details)
    if is_full:  # said as where this machine itself writes
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    raise _with_log(refusal, session, details)


def said(problem: str, name: str, *, is_about_columns: bool = False) -> TacitError:
    """The sentence about a failure, of which Spark says ``problem``.

    >>> print(said("[FAILED_READ_FILE.NO_HINT] Error while reading file file:///data/may.parquet. SQLSTATE: KD001", ""))
    may.parquet cannot be read: it is damaged, or not what the others are. Write or copy it again.
    """
    for mark, sentence in (_SENTENCES | _OF_ADDRESSES if "://" in name else _SENTENCES).items():
        if mark in problem:
            return UnreadableFile(f"{name} {sentence}")
    if any(mark in problem for mark in _UNREADABLE):
        after = problem[min(problem.find(mark) for mark in _UNREADABLE if mark in problem) :]
        found = _READ.search(after) or _FILE.search(after)
        file = name if found is None else found[1]
        return UnreadableFile(
            f"{file} cannot be read: it is damaged, or not what the others are. Write or copy it again."
        )
    if any(mark in problem for mark in ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "PARSE_SYNTAX_ERROR")):
        return UnreadableFile(f"{name} is neither a file nor a table that Spark finds. Check its name.")
    if "MISSING_" in problem or "CONVERT" in problem or "PARQUET_COLUMN_DATA_TYPE_MISMATCH" in problem:
        return DataError(f"{name}: its files do not have the same columns, or a column has two types. Make them alike.")
    if is_about_columns:
        return DataError(f"{name} cannot be read as a table of events: Spark refuses one of its columns.")
    if any(mark in problem for mark in _LOST):
        return DataError(f"the cluster that read {name} was lost or stopped. Run the same again when it is up.")
    return DataError(f"Spark failed while it worked on {name}. Run the same again, or on this machine alone.")


def _with_log(refusal: TacitError, session: SparkSession, details: str) -> TacitError:
    """The refusal, with the file that holds what Spark said; none is named where Spark was started by somebody else."""
    try:
        path = log_of(session)
        if path is None:
            return refusal
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(details)
    except (PySparkException, Py4JError, OSError):
        return refusal
    return refusal.about(f"{refusal.problem} What Spark said is in {kept(path)}, for your eyes only.")
