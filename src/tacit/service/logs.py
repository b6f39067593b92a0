"""Logs: one JSON object a line, about the process and about sums. Nothing of a request is in them.

An event of ours has a name and fields that we choose: names of surveys, reasons, numbers. Of a library's record only
the library, the level and the type of an error are written, never its words: they may quote what was sent. Times are
whole minutes of UTC.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

_NAME: Final = "tacit.service"
_LOG: Final = logging.getLogger(_NAME)
_FIELDS: Final = "tacit_fields"


def log(event: str, *, level: int = logging.INFO, error: BaseException | None = None, **fields: str | int) -> None:
    """Write an event. Of an error its type and the place in our files are written, and nothing that it says."""
    _LOG.log(level, event, exc_info=error, extra={_FIELDS: fields})


class JsonLines(logging.Formatter):
    """Turns a record into a line."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {"at": f"{moment:%Y-%m-%dT%H:%MZ}", "level": record.levelname.lower()}
        if record.name == _NAME:
            line |= {"event": record.msg, **getattr(record, _FIELDS, {})}
        else:
            line |= {"event": "library", "library": record.name.partition(".")[0]}
        if record.exc_info and record.exc_info[1] is not None:
            line |= _error(record.exc_info[1])
        return json.dumps(line)


def write_logs(stream: TextIO) -> None:
    """Send all logs of this process to a stream, also what threads fail with and what Python warns of."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    _LOG.setLevel(logging.INFO)
    logging.captureWarnings(True)
    threading.excepthook = lambda failed: log("fault", level=logging.ERROR, error=failed.exc_value)
    sys.unraisablehook = lambda failed: log("fault", level=logging.ERROR, error=failed.exc_value)


def _error(error: BaseException) -> dict[str, str]:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "tacit" in Path(frame.filename).parts] or frames
    where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else ""
    return {"error": type(error).__name__, "where": where}
