"""A session of Spark with the settings that private data need, and a log that no screen shows.

What Spark says when it fails becomes one sentence: the file or column, and what to do. The rest goes to the log.
"""

from __future__ import annotations

import atexit
import errno
import logging
import os
import re
import shutil
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import AnalysisException, PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tacit.errors import DataError, SettingError, TacitError, UnreadableFile

BATCH_ROWS: Final = 131_072
"""Rows of a batch between Spark and Python, as many as the reader takes at a time here. Spark's own 10,000 cost a third
more calls; doubled, each Python process holds twice the memory."""
LOG_NAME: Final = "spark.tacit.log"  # the setting that remembers where the log is; Spark ignores names it does not know

_COMPILING: Final = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
"""Java compiles a method with all care after ten times its usual number of calls. A start of Spark calls thousands of
methods a few thousand times, and compiling them took a third of its processor time; a scan of rows calls its own
millions of times, and is as fast as before. Other factors than ten were not measured; without the careful compiler
scans took three times as long."""
_COLLECTING: Final = "-XX:+UseParallelGC"  # the collector for throughput: Spark's pauses hurt nobody here

_MASTER: Final = re.compile(
    r"local|local\[.+\]|local-cluster\[.+\]|yarn|(spark|k8s)://.+"
)  # as Spark's own launcher asks

_LOGGING: Final = """\
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss}} %p %c: %m%n%ex
"""


def start(master: str | None = None, *, name: str = "tacit", **settings: str) -> SparkSession:
    """Return the session that is active, or a new one on ``master``, else on all cores of this machine.

    What Spark writes to disks while it works is enciphered (``spark.io.encryption.enabled``), nothing listens on the
    network but what the cluster needs, and messages of Java go to a private file. ``settings`` are Spark's own, with
    underscores for dots, and come last.
    """
    if (active := SparkSession.getActiveSession()) is not None:
        return active
    builder: Any = SparkSession.builder
    builder = builder.appName(name)
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ  # then spark-submit has said where, and Java runs already
    if master is not None or not is_submitted:
        builder = builder.master(master or "local[*]")
    if not is_submitted:
        if master is not None and _MASTER.fullmatch(master) is None:
            raise SettingError(
                f"the address of Spark's master must be such as spark://host:7077, yarn or local[4]; got {master}."
            )
        _check_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
        if master is not None and master.startswith("local-cluster"):
            import pyspark

            os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    usual = {
        "spark.io.encryption.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }
    if not is_submitted:
        usual |= _started_by_us()
        if master is None or master.startswith("local"):
            usual |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    chosen = usual | {key.replace("_", "."): value for key, value in settings.items()}
    for key, value in chosen.items():
        builder = builder.config(key, value)
    try:
        if not is_submitted and getattr(SparkContext, "_gateway", None) is None:
            _start_java({"spark.app.name": name, "spark.master": master or "local[*]"} | chosen)
        session: SparkSession = builder.getOrCreate()
    except Exception:
        log = usual.get(LOG_NAME)
        where = "" if log is None else f" Its log: {kept(log)}"
        problem = SettingError(
            f"Spark does not start on {master or 'this machine'}. Check its address and Java.{where}"
        )
    else:
        return session
    raise problem


def log_of(session: SparkSession) -> str | None:
    """Return the file that messages of Java go to, None where whoever started Spark decides it."""
    return session.conf.get(LOG_NAME, None)


_KEPT: Final[set[str]] = set()


def kept(log: str) -> str:
    """Return the name of a log, which then outlives this process: a message names it."""
    _KEPT.add(log)
    return log


def _start_java(settings: Mapping[str, str]) -> None:
    """Start Java and a context on it, which the session takes up; what Java would print goes to the log.

    Some of that comes before any setting of logging holds: a warning of modules at every start, and stack traces.
    """
    conf = SparkConf()
    for key, value in settings.items():
        conf.set(key, value)
    with Path(settings[LOG_NAME]).open("ab") as screen:
        launch: Any = launch_gateway  # which has no types
        gateway = launch(conf, {"stdout": screen, "stderr": screen})
    SparkContext(conf=conf, gateway=gateway)


def _forget(log: Path) -> None:
    """Remove the folder of a log that no message named."""
    if str(log) not in _KEPT:
        shutil.rmtree(log.parent, ignore_errors=True)


def _started_by_us() -> dict[str, str]:
    """The settings of Java: a fast start, and messages to a private file, for they may quote what a row holds."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-spark-"))  # for its owner alone
    atexit.register(_forget, folder / "spark.log")
    log, how = folder / "spark.log", folder / "log4j2.properties"
    how.write_text(_LOGGING.format(path=log), encoding="utf-8")
    logging = f"-Dlog4j2.configurationFile=file:{how} -Dlog4j.configurationFile=file:{how}"
    return {
        LOG_NAME: str(log),
        "spark.driver.extraJavaOptions": f"{logging} {_COMPILING} {_COLLECTING}",
        "spark.executor.defaultJavaOptions": _COMPILING,  # comes before the options that a cluster has of its own
    }


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and (home is None or not (Path(home) / "bin" / "java").exists()):
        raise SettingError(
            "Spark needs Java 17 or later, and no java was found. Install it (Debian: apt-get install "
            "openjdk-17-jre-headless), or set JAVA_HOME."
        )


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
