"""A session of Spark with the settings that private data need, and a log that no screen shows."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tacit.errors import SettingError

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
